//! The forms of the page of a user: one for each order about them.

use axum::response::Response;

use super::{
    super::{form_refusal::FormFailure, text::Done, view::Secret},
    AdminVisit,
    user::{Outcome, UserPath, page},
};
use crate::{
    account::{
        order::{
            Delete, Edit, EndSession, EndSessions, GrantRole, MakeFactorReset, MakeResetCode,
            RequireNewPassword, RevokeRole, Secure, SetPassword, Unlock,
        },
        secure::{RemovedFactors, SecuredAccount, WayIn},
        user_order::{Order, subject},
    },
    http::{Error, form::PageForm},
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

    /// Carries out the order that the person may give.
    async fn carry_out(&self, order: O, user: &User) -> Result<O::Outcome, FormFailure> {
        Ok(order.carry_out(self.doorward(), user, &self.by).await?)
    }

    /// Carries out an order without fields. The page of the user says that it was.
    async fn give(
        &self,
        id: UserPath,
        order: O,
        form: &'static str,
        done: Done,
    ) -> Result<Response, Error> {
        let user = self.subject(id).await?;
        match self.carry_out(order, &user).await {
            Ok(_) => Ok(self.done(&path(&user), done)),
            Err(failure) => self.refused_order(&user, form, Vec::new(), failure).await,
        }
    }
}

/// `POST /admin/users/{id}/change`
pub(in crate::http) async fn change(
    visit: AdminVisit<Edit>,
    id: UserPath,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    let typed = vec![("name", form.typed("name")), ("email", form.typed("email"))];
    let fields = (form.required("name", Name::parse), form.required("email", Email::parse));
    let changed = match fields {
        (Ok(name), Ok(email)) => {
            let edit = Edit { name: Some(name), email: Some(email), ..Edit::default() };
            visit.carry_out(edit, &user).await
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    match changed {
        Ok(_) => Ok(visit.done(&path(&user), Done::Changed)),
        Err(failure) => visit.refused_order(&user, "change", typed, failure).await,
    }
}

/// `POST /admin/users/{id}/require-new-password`
pub(in crate::http) async fn require_new_password(
    visit: AdminVisit<RequireNewPassword>,
    id: UserPath,
) -> Result<Response, Error> {
    let done = Done::NewPasswordRequired;
    visit.give(id, RequireNewPassword, "require-new-password", done).await
}

/// `POST /admin/users/{id}/verify`
pub(in crate::http) async fn verify(
    visit: AdminVisit<Edit>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let verified = form.typed("verified") == "true";
    let done = if verified { Done::Verified } else { Done::Unverified };
    visit.give(id, Edit::verified(verified), "verify", done).await
}

/// `POST /admin/users/{id}/grant`
pub(in crate::http) async fn grant(
    visit: AdminVisit<GrantRole>,
    id: UserPath,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    let typed = form.typed("role");
    let granted = match form.required("role", Ok) {
        Ok(role) => visit.carry_out(GrantRole { role: role.trim().to_owned() }, &user).await,
        Err(_) => Err(FormFailure::faults_of(form)),
    };
    match granted {
        Ok(_) => Ok(visit.done(&path(&user), Done::Granted)),
        Err(failure) => visit.refused_order(&user, "grant", vec![("role", typed)], failure).await,
    }
}

/// `POST /admin/users/{id}/revoke`
pub(in crate::http) async fn revoke(
    visit: AdminVisit<RevokeRole>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    // A role that is gone already, as after a double click, is what the administrator wants.
    visit.give(id, RevokeRole { role: form.typed("role") }, "revoke", Done::Revoked).await
}

/// `POST /admin/users/{id}/unlock`
pub(in crate::http) async fn unlock(
    visit: AdminVisit<Unlock>,
    id: UserPath,
) -> Result<Response, Error> {
    visit.give(id, Unlock, "unlock", Done::Unlocked).await
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
    visit.give(id, EndSession { session }, "end-session", Done::SessionEnded).await
}

/// `POST /admin/users/{id}/end-sessions`
pub(in crate::http) async fn end_sessions(
    visit: AdminVisit<EndSessions>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    match visit.carry_out(EndSessions, &user).await {
        Ok(ended) if ended.keys_left == 0 => Ok(visit.done(&path(&user), Done::SessionsEnded)),
        Ok(_) => Ok(visit.done(&path(&user), Done::OnlySessionsEnded)),
        Err(failure) => visit.refused_order(&user, "end-sessions", Vec::new(), failure).await,
    }
}

/// `POST /admin/users/{id}/password`
pub(in crate::http) async fn set_password(
    visit: AdminVisit<SetPassword>,
    id: UserPath,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    let set = match form.required("password", Ok) {
        Ok(password) => visit.carry_out(SetPassword { password }, &user).await,
        Err(_) => Err(FormFailure::faults_of(form)),
    };
    match set {
        Ok(()) => Ok(visit.done(&path(&user), Done::PasswordSet)),
        Err(failure) => visit.refused_order(&user, "password", Vec::new(), failure).await,
    }
}

/// `POST /admin/users/{id}/reset-code`: the answer shows the code once.
pub(in crate::http) async fn make_reset_code(
    visit: AdminVisit<MakeResetCode>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    let t = visit.texts();
    match visit.carry_out(MakeResetCode, &user).await {
        Ok(code) => {
            let reset_page = format!("{}/reset", visit.doorward().public_base());
            let secret = Secret {
                explanation: t.admin.reset_code_made.into(),
                lines: vec![(t.code, code.as_str().into()), (t.admin.reset_link, reset_page)],
            };
            page(&visit, &user, Outcome { secret: Some(&secret), ..Outcome::default() }).await
        }
        Err(failure) => visit.refused_order(&user, "reset-code", Vec::new(), failure).await,
    }
}

/// `POST /admin/users/{id}/factor-reset`: the answer shows the link once.
pub(in crate::http) async fn make_factor_reset(
    visit: AdminVisit<MakeFactorReset>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    match visit.carry_out(MakeFactorReset, &user).await {
        Ok(ticket) => {
            let text = ticket.link.unwrap_or_else(|| ticket.secret.as_str().into());
            let explanation = visit.texts().admin.factor_reset_made.into();
            let secret = Secret { explanation, lines: vec![("", text)] };
            page(&visit, &user, Outcome { secret: Some(&secret), ..Outcome::default() }).await
        }
        Err(failure) => visit.refused_order(&user, "factor-reset", Vec::new(), failure).await,
    }
}

/// `POST /admin/users/{id}/secure`: the answer shows what ended, and the code once if no link is mailed.
pub(in crate::http) async fn secure(
    visit: AdminVisit<Secure>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    let factors = match form.typed("all-factors").is_empty() {
        true => RemovedFactors::DEFAULT,
        false => RemovedFactors::All,
    };
    let order = Secure { factors, may_mail: form.typed("by-hand").is_empty() };
    match visit.carry_out(order, &user).await {
        Ok(secured) => {
            let secret = way_in(&visit, &secured);
            let outcome = Outcome { secret: Some(&secret), ..Outcome::default() };
            page(&visit, &secured.user, outcome).await
        }
        Err(failure) => visit.refused_order(&user, "secure", Vec::new(), failure).await,
    }
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
    visit.give(id, Edit::disabled(true), "disable", Done::Disabled).await
}

/// `POST /admin/users/{id}/enable`
pub(in crate::http) async fn enable_user(
    visit: AdminVisit<Edit>,
    id: UserPath,
) -> Result<Response, Error> {
    visit.give(id, Edit::disabled(false), "enable", Done::Enabled).await
}

/// `POST /admin/users/{id}/delete`
pub(in crate::http) async fn delete(
    visit: AdminVisit<Delete>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.subject(id).await?;
    match visit.carry_out(Delete::default(), &user).await {
        Ok(()) => Ok(visit.done("/admin/users", Done::Deleted)),
        Err(failure) => visit.refused_order(&user, "delete", Vec::new(), failure).await,
    }
}
