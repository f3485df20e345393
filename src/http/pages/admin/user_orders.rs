//! The forms of the page of a user: one for each order about them.

use axum::response::Response;

use super::{
    super::{form_refusal::FormFailure, text::Done, view::Secret},
    AdminVisit,
    user::{Outcome, UserPath, page},
};
use crate::{
    account::{
        self,
        order::{
            Delete, Edit, EndSession, EndSessions, GrantRole, MakeFactorReset, MakeResetCode,
            RemoveIdentity, RequireNewPassword, RevokeRole, Secure, SetPassword, Unlock,
        },
        secure::{RemovedFactors, SecuredAccount, WayIn},
        user_order::{Order, subject},
    },
    http::{
        Error,
        form::{FaultRecorded, Form, PageForm},
    },
    user::{Email, Name, User},
};

/// The page of a user.
fn path(user: &User) -> String {
    format!("/admin/users/{}", user.id)
}

impl<O: Order> AdminVisit<O> {
    /// The user in the path, about whom the order is given.
    async fn subject(&self, id: UserPath) -> Result<User, Error> {
        let subject = subject(Some(self.user(id).await?), &self.by);
        subject.map_err(|error| self.in_words(error.into()))
    }

    /// Carries out the order that was read from a form. If that fails, the answer is the page of the user with the form and with what
    /// was typed into it.
    async fn carry_out(
        &self,
        user: &User,
        order: Result<O, FormFailure>,
        typed: Vec<(&'static str, String)>,
    ) -> Result<O::Outcome, Error> {
        let failure = match order {
            Ok(order) => match order.carry_out(self.doorward(), user, &self.by).await {
                Ok(outcome) => return Ok(outcome),
                Err(error) => FormFailure::from(error),
            },
            Err(failure) => failure,
        };
        let page = self.refused_order(user, typed, failure).await?;
        Err(Error::Person(Box::new(page)))
    }

    /// Carries out an order without fields. Returns the user as they were read, and what came of it.
    async fn outcome(&self, id: UserPath, order: O) -> Result<(User, O::Outcome), Error> {
        let user = self.subject(id).await?;
        let outcome = self.carry_out(&user, Ok(order), Vec::new()).await?;
        Ok((user, outcome))
    }

    /// Carries out an order without fields. The page of the user says that it was.
    async fn give(&self, id: UserPath, order: O, done: Done) -> Result<Response, Error> {
        let (user, _) = self.outcome(id, order).await?;
        Ok(self.done(&path(&user), done))
    }

    /// Carries out an order with fields. The page of the user says that it was, or has the form with what was typed into the fields
    /// `shown`.
    async fn give_form(
        &self,
        id: UserPath,
        mut form: Form,
        shown: &[&'static str],
        read: impl FnOnce(&mut Form) -> Result<O, FaultRecorded>,
        done: Done,
    ) -> Result<Response, Error> {
        let user = self.subject(id).await?;
        let typed = shown.iter().map(|name| (*name, form.typed(name))).collect();
        let order = read(&mut form).map_err(|FaultRecorded| FormFailure::faults_of(form));
        self.carry_out(&user, order, typed).await?;
        Ok(self.done(&path(&user), done))
    }
}

/// `POST /admin/users/{id}/change`
pub(in crate::http) async fn change(
    visit: AdminVisit<Edit>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let read = |form: &mut Form| {
        let name = form.required("name", Name::parse);
        let email = form.required("email", Email::parse);
        Ok(Edit { name: Some(name?), email: Some(email?), ..Edit::default() })
    };
    visit.give_form(id, form, &["name", "email"], read, Done::Changed).await
}

/// `POST /admin/users/{id}/require-new-password`
pub(in crate::http) async fn require_new_password(
    visit: AdminVisit<RequireNewPassword>,
    id: UserPath,
) -> Result<Response, Error> {
    visit.give(id, RequireNewPassword, Done::NewPasswordRequired).await
}

/// `POST /admin/users/{id}/verify`
pub(in crate::http) async fn verify(
    visit: AdminVisit<Edit>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let verified = form.typed("verified") == "true";
    let done = if verified { Done::Verified } else { Done::Unverified };
    visit.give(id, Edit::verified(verified), done).await
}

/// `POST /admin/users/{id}/grant`
pub(in crate::http) async fn grant(
    visit: AdminVisit<GrantRole>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let read = |form: &mut Form| {
        let role = form.required("role", Ok)?;
        Ok(GrantRole { role: role.trim().to_owned() })
    };
    visit.give_form(id, form, &["role"], read, Done::Granted).await
}

/// `POST /admin/users/{id}/revoke`
pub(in crate::http) async fn revoke(
    visit: AdminVisit<RevokeRole>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    // A role that is gone already, as after a double click, is what the administrator wants.
    visit.give(id, RevokeRole { role: form.typed("role") }, Done::Revoked).await
}

/// `POST /admin/users/{id}/unlock`
pub(in crate::http) async fn unlock(
    visit: AdminVisit<Unlock>,
    id: UserPath,
) -> Result<Response, Error> {
    visit.give(id, Unlock, Done::Unlocked).await
}

/// `POST /admin/users/{id}/end-session`
pub(in crate::http) async fn end_session(
    visit: AdminVisit<EndSession>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let Ok(session) = form.typed("session").parse() else {
        let user = visit.subject(id).await?;
        return Ok(visit.done(&path(&user), Done::SessionEnded));
    };
    // A session that has ended already is what the administrator wants.
    visit.give(id, EndSession { session }, Done::SessionEnded).await
}

/// `POST /admin/users/{id}/end-sessions`
pub(in crate::http) async fn end_sessions(
    visit: AdminVisit<EndSessions>,
    id: UserPath,
) -> Result<Response, Error> {
    let (user, ended) = visit.outcome(id, EndSessions).await?;
    let done = if ended.keys_left == 0 { Done::SessionsEnded } else { Done::OnlySessionsEnded };
    Ok(visit.done(&path(&user), done))
}

/// `POST /admin/users/{id}/remove-login`
pub(in crate::http) async fn remove_login(
    visit: AdminVisit<RemoveIdentity>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    if let Ok(identity) = form.typed("identity").parse() {
        let order = RemoveIdentity { identity };
        match order.carry_out(visit.doorward(), &user, &visit.by).await {
            // One that is gone already, as after a double click, is what the administrator wants.
            Ok(()) | Err(account::Error::NoSuchIdentity) => {}
            Err(error) => return visit.refused_order(&user, Vec::new(), error.into()).await,
        }
    }
    Ok(visit.done(&path(&user), Done::LoginRemoved))
}

/// `POST /admin/users/{id}/password`
pub(in crate::http) async fn set_password(
    visit: AdminVisit<SetPassword>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let read = |form: &mut Form| {
        let password = form.required("password", Ok)?;
        Ok(SetPassword { password })
    };
    visit.give_form(id, form, &[], read, Done::PasswordSet).await
}

/// `POST /admin/users/{id}/reset-code`: the answer shows the code once.
pub(in crate::http) async fn make_reset_code(
    visit: AdminVisit<MakeResetCode>,
    id: UserPath,
) -> Result<Response, Error> {
    let (user, code) = visit.outcome(id, MakeResetCode).await?;
    let t = visit.texts();
    let reset_page = format!("{}/reset", visit.doorward().public_base());
    let secret = Secret {
        explanation: t.admin.reset_code_made.into(),
        lines: vec![(t.code, code.as_str().into()), (t.admin.reset_link, reset_page)],
    };
    page(&visit, &user, Outcome { secret: Some(&secret), ..Outcome::default() }).await
}

/// `POST /admin/users/{id}/factor-reset`: the answer shows the link once.
pub(in crate::http) async fn make_factor_reset(
    visit: AdminVisit<MakeFactorReset>,
    id: UserPath,
) -> Result<Response, Error> {
    let (user, ticket) = visit.outcome(id, MakeFactorReset).await?;
    let text = ticket.link.unwrap_or_else(|| ticket.secret.as_str().into());
    let explanation = visit.texts().admin.factor_reset_made.into();
    let secret = Secret { explanation, lines: vec![("", text)] };
    page(&visit, &user, Outcome { secret: Some(&secret), ..Outcome::default() }).await
}

/// `POST /admin/users/{id}/secure`: the answer shows what ended, and the code once if no link is mailed.
pub(in crate::http) async fn secure(
    visit: AdminVisit<Secure>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let factors = match form.typed("all-factors").is_empty() {
        true => RemovedFactors::DEFAULT,
        false => RemovedFactors::All,
    };
    let order = Secure { factors, may_mail: form.typed("by-hand").is_empty() };
    let (_, secured) = visit.outcome(id, order).await?;
    let secret = way_in(&visit, &secured);
    let outcome = Outcome { secret: Some(&secret), ..Outcome::default() };
    page(&visit, &secured.user, outcome).await
}

/// What ended, and how the person gets in again.
fn way_in(visit: &AdminVisit<Secure>, secured: &SecuredAccount) -> Secret {
    let t = visit.texts();
    let SecuredAccount { user, ended, way_in, factors: _, earlier_emails } = secured;
    let earlier: Vec<_> = earlier_emails.iter().map(Email::as_str).collect();
    let mut lines = vec![
        (t.sessions, ended.sessions.to_string()),
        (t.admin.keys, ended.api_keys.to_string()),
        (t.admin.second_factors_removed, ended.factors.to_string()),
    ];
    if !earlier.is_empty() {
        lines.push((t.admin.earlier_addresses, earlier.join(", ")));
    }
    let explanation = match way_in {
        WayIn::Mailed => {
            lines.push((t.admin.mailed_to, user.email.as_str().into()));
            t.admin.secured_by_mail
        }
        WayIn::Code(code) => {
            let reset_page = format!("{}/reset", visit.doorward().public_base());
            lines.push((t.code, code.as_str().into()));
            lines.push((t.admin.reset_link, reset_page));
            t.admin.secured_by_code
        }
    };
    Secret { explanation: explanation.into(), lines }
}

/// `POST /admin/users/{id}/disable`
pub(in crate::http) async fn disable_user(
    visit: AdminVisit<Edit>,
    id: UserPath,
) -> Result<Response, Error> {
    visit.give(id, Edit::disabled(true), Done::Disabled).await
}

/// `POST /admin/users/{id}/enable`
pub(in crate::http) async fn enable_user(
    visit: AdminVisit<Edit>,
    id: UserPath,
) -> Result<Response, Error> {
    visit.give(id, Edit::disabled(false), Done::Enabled).await
}

/// `POST /admin/users/{id}/delete`
pub(in crate::http) async fn delete(
    visit: AdminVisit<Delete>,
    id: UserPath,
) -> Result<Response, Error> {
    visit.outcome(id, Delete::default()).await?;
    Ok(visit.done("/admin/users", Done::Deleted))
}
