//! `POST /api/me/password`: a new password for whoever knows the old one. All other sessions end.

use axum::extract::State;

use crate::{
    Doorward,
    access::policy::SignedIn,
    credential::password::Password,
    http::{
        Challenge, Error,
        answer::NoContent,
        api::proof::{confirm, own_password},
        client_ip::RequestOrigin,
        form::Form,
        only::Only,
    },
    store::OldPassword,
};

pub(crate) async fn change(
    State(doorward): State<Doorward>,
    caller: Only<SignedIn>,
    RequestOrigin { requester, .. }: RequestOrigin,
    mut form: Form,
) -> Result<NoContent, Error> {
    let rules = doorward.settings().password_rules;
    let current = own_password(&mut form, "current", &caller.user);
    let user = &caller.user;
    let new = form.required("new", |sent| {
        Password::parse(sent, rules)?.reject_identity(
            user.name.as_str(),
            user.email.as_str(),
            rules,
        )
    });
    let (Ok(current), Ok(new), Ok(())) = (current, new, form.reject_misspelled()) else {
        return Err(form.into_error());
    };
    let user = confirm(&doorward, &caller.user, current, requester).await?;
    let hash = doorward.hasher().hash(new, requester.network).await?;
    let (old, kept) = (OldPassword::Known(user.password_version), Some(caller.session.id));
    // Another change was faster: what was sent as the current password no longer is.
    if !doorward.store().set_password(user.id, old, &hash, kept, doorward.now()).await? {
        return Err(Error::Unauthorized(Challenge::InsufficientScope, None));
    }
    tracing::info!(user = %user.id, "password changed");
    Ok(NoContent)
}
