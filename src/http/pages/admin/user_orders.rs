//! The forms of the page of a user: one for each order about them.

use axum::response::Response;

use super::{
    super::{form_refusal::FormFailure, text::Done, view::Secret},
    AdminVisit, FreshAdminVisit,
    user::{Outcome, UserPath, page},
};
use crate::{
    account::{
        disable,
        edit::{Edit, edit},
        factor_reset, leave, password, reset, roles,
        secure::{RemovedFactors, SecuredAccount, WayIn, secure as secure_account},
        sessions,
        unlock::unlock as unlock_account,
        verify as verification,
    },
    http::{
        Error,
        admin::{UsersDelete, UsersWrite},
        form::PageForm,
    },
    user::{Email, Name, Role, User},
};

/// The page of a user.
fn path(user: &User) -> String {
    format!("/admin/users/{}", user.id)
}

impl<S> AdminVisit<S> {
    /// The answer to an order without fields: the page of the user says that it was carried out.
    async fn ordered<T>(
        &self,
        user: &User,
        form: &'static str,
        done: Done,
        result: Result<T, impl Into<FormFailure>>,
    ) -> Result<Response, Error> {
        match result {
            Ok(_) => Ok(self.done(&path(user), done)),
            Err(error) => self.refused_order(user, form, Vec::new(), error.into()).await,
        }
    }
}

/// `POST /admin/users/{id}/change`
pub(in crate::http) async fn change(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let typed = vec![("name", form.typed("name")), ("email", form.typed("email"))];
    let fields = (form.required("name", Name::parse), form.required("email", Email::parse));
    let changed = match fields {
        (Ok(name), Ok(email)) => {
            let change = Edit { name: Some(name), email: Some(email), ..Edit::default() };
            let changed = edit(visit.doorward(), &user, &change, None, &visit.by).await;
            changed.map_err(FormFailure::from)
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
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let result = password::require_new(visit.doorward(), &user, &visit.by).await;
    visit.ordered(&user, "require-new-password", Done::NewPasswordRequired, result).await
}

/// `POST /admin/users/{id}/verify`
pub(in crate::http) async fn verify(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let verified = form.typed("verified") == "true";
    let result = verification::set_verified(visit.doorward(), &user, verified, &visit.by).await;
    let done = if verified { Done::Verified } else { Done::Unverified };
    visit.ordered(&user, "verify", done, result).await
}

/// `POST /admin/users/{id}/grant`
pub(in crate::http) async fn grant(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let typed = form.typed("role");
    let granted = match form.required("role", Ok) {
        Ok(role) => {
            visit.check_rights(&Role::parse(role.trim()).into_iter().collect())?;
            let granted = roles::grant(visit.doorward(), &user, role.trim(), &visit.by).await;
            granted.map_err(FormFailure::from)
        }
        Err(_) => Err(FormFailure::faults_of(form)),
    };
    match granted {
        Ok(_) => Ok(visit.done(&path(&user), Done::Granted)),
        Err(failure) => visit.refused_order(&user, "grant", vec![("role", typed)], failure).await,
    }
}

/// `POST /admin/users/{id}/revoke`
pub(in crate::http) async fn revoke(
    visit: AdminVisit<UsersWrite>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    // A role that is gone already, as after a double click, is what the administrator wants.
    let result = roles::revoke(visit.doorward(), user.id, &form.typed("role"), &visit.by).await;
    visit.ordered(&user, "revoke", Done::Revoked, result).await
}

/// `POST /admin/users/{id}/unlock`
pub(in crate::http) async fn unlock(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let result = unlock_account(visit.doorward(), &user, &visit.by).await;
    visit.ordered(&user, "unlock", Done::Unlocked, result).await
}

/// `POST /admin/users/{id}/end-session`
pub(in crate::http) async fn end_session(
    visit: AdminVisit<UsersWrite>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    if let Ok(session) = form.typed("session").parse() {
        // A session that has ended already is what the administrator wants.
        sessions::end_of_user(visit.doorward(), user.id, session, &visit.by).await?;
    }
    Ok(visit.done(&path(&user), Done::SessionEnded))
}

/// `POST /admin/users/{id}/end-sessions`
pub(in crate::http) async fn end_sessions(
    visit: AdminVisit<UsersWrite>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let ended = sessions::end_all_of_user(visit.doorward(), user.id, &visit.by).await?;
    let done = if ended.keys_left == 0 { Done::SessionsEnded } else { Done::OnlySessionsEnded };
    Ok(visit.done(&path(&user), done))
}

/// `POST /admin/users/{id}/password`
pub(in crate::http) async fn set_password(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let set = match form.required("password", Ok) {
        Ok(password) => {
            let set = password::set(visit.doorward(), &user, password, &visit.by).await;
            set.map_err(FormFailure::from)
        }
        Err(_) => Err(FormFailure::faults_of(form)),
    };
    visit.ordered(&user, "password", Done::PasswordSet, set).await
}

/// `POST /admin/users/{id}/reset-code`: the answer shows the code once.
pub(in crate::http) async fn make_reset_code(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let (doorward, t) = (visit.doorward(), visit.texts());
    match reset::create_code(doorward, user.id, &visit.by).await {
        Ok(code) => {
            let reset_page = format!("{}/reset", doorward.public_base());
            let secret = Secret {
                explanation: t.admin.reset_code_made.into(),
                lines: vec![(t.code, code.as_str().into()), (t.admin.reset_link, reset_page)],
            };
            page(&visit, &user, Outcome { secret: Some(&secret), ..Outcome::default() }).await
        }
        Err(error) => visit.refused_order(&user, "reset-code", Vec::new(), error.into()).await,
    }
}

/// `POST /admin/users/{id}/factor-reset`: the answer shows the link once.
pub(in crate::http) async fn make_factor_reset(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    match factor_reset::create(visit.doorward(), user.id, &visit.by).await {
        Ok(ticket) => {
            let text = ticket.link.unwrap_or_else(|| ticket.secret.as_str().into());
            let explanation = visit.texts().admin.factor_reset_made.into();
            let secret = Secret { explanation, lines: vec![("", text)] };
            page(&visit, &user, Outcome { secret: Some(&secret), ..Outcome::default() }).await
        }
        Err(error) => visit.refused_order(&user, "factor-reset", Vec::new(), error.into()).await,
    }
}

/// `POST /admin/users/{id}/secure`: the answer shows what ended, and the code once if no link is mailed.
pub(in crate::http) async fn secure(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let (doorward, t) = (visit.doorward(), visit.texts());
    let factors = match form.typed("all-factors").is_empty() {
        true => RemovedFactors::DEFAULT,
        false => RemovedFactors::All,
    };
    let may_mail = form.typed("by-hand").is_empty();
    match secure_account(doorward, user.id, factors, may_mail, &visit.by).await {
        Ok(SecuredAccount { user, ended, way_in, factors: _, earlier_emails }) => {
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
                    lines.push((t.code, code.as_str().into()));
                    lines.push((t.admin.reset_link, format!("{}/reset", doorward.public_base())));
                    t.admin.secured_by_code
                }
            };
            let secret = Secret { explanation: explanation.into(), lines };
            page(&visit, &user, Outcome { secret: Some(&secret), ..Outcome::default() }).await
        }
        Err(error) => visit.refused_order(&user, "secure", Vec::new(), error.into()).await,
    }
}

/// `POST /admin/users/{id}/disable`
pub(in crate::http) async fn disable_user(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let result = disable::disable(visit.doorward(), user.id, &visit.by).await;
    visit.ordered(&user, "disable", Done::Disabled, result).await
}

/// `POST /admin/users/{id}/enable`
pub(in crate::http) async fn enable_user(
    visit: FreshAdminVisit<UsersWrite>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    let result = disable::enable(visit.doorward(), user.id, &visit.by).await;
    visit.ordered(&user, "enable", Done::Enabled, result).await
}

/// `POST /admin/users/{id}/delete`
pub(in crate::http) async fn delete(
    visit: FreshAdminVisit<UsersDelete>,
    id: UserPath,
) -> Result<Response, Error> {
    let user = visit.user_to_change(id).await?;
    match leave::delete(visit.doorward(), user.id, &visit.by).await {
        Ok(()) => Ok(visit.done("/admin/users", Done::Deleted)),
        Err(error) => visit.refused_order(&user, "delete", Vec::new(), error.into()).await,
    }
}
