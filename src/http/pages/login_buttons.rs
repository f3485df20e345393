//! The ways that lead to other providers, on the pages that offer them.

use std::sync::Arc;

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::Response,
};

use super::{
    return_target::{AppTarget, with_target},
    text::{LinkTo, Message},
    view::LoginButton,
    visit::{Visit, Visitor},
};
use crate::{
    Doorward,
    account::{external, identities},
    federation::Login,
    http::Error,
    user::{Identity, UserId},
};

/// The logins that a page offers.
pub(super) fn buttons(doorward: &Doorward) -> Vec<LoginButton> {
    doorward.logins().iter().map(button).collect()
}

/// The logins that can ask a user again who they are.
pub(super) async fn buttons_to_ask_again(
    doorward: &Doorward,
    user: UserId,
) -> Result<Vec<LoginButton>, Error> {
    let identities = identities::of_user(doorward, user).await?;
    let is_theirs = |login: &&Arc<Login>| {
        login.preset.tells_auth_time()
            && identities.iter().any(|identity| identity.login == login.name)
    };
    Ok(doorward.logins().iter().filter(is_theirs).map(button).collect())
}

fn button(login: &Arc<Login>) -> LoginButton {
    LoginButton { name: login.name.clone(), label: login.label.clone(), preset: login.shown_as }
}

/// Leads on to the provider of a login. A redirect after a form could not: browsers hold it to the content security policy, too.
pub(super) fn lead_to(visit: &Visit, login: &Login, app: Option<&AppTarget>) -> Response {
    let path = with_target(&way_to(&login.name), app);
    let to = LinkTo::ContinueWith(&login.label);
    let mut page = visit.message(StatusCode::OK, Message::SignInElsewhere, to, &path);
    let refresh = format!("0; url={}{path}", visit.context().base);
    if let Ok(refresh) = HeaderValue::try_from(refresh) {
        page.headers_mut().insert(header::REFRESH, refresh);
    }
    page
}

/// The path that leads to the provider of a login.
pub(super) fn way_to(login: &str) -> String {
    format!("/sign-in/with/{login}")
}

/// The path that leads to the provider and back without a question, for a person whose session has lasted as long as its login allows.
pub(super) async fn way_to_renew(visit: &Visit) -> Result<Option<String>, Error> {
    let renewable = renewable(visit).await?;
    Ok(renewable.map(|identity| format!("{}?renew=1", way_to(&identity.login))))
}

pub(super) async fn renewable(visit: &Visit) -> Result<Option<Identity>, Error> {
    match visit.visitor {
        Visitor::SignedOut(Some(session)) => {
            Ok(external::renewable(visit.doorward(), session).await?)
        }
        _ => Ok(None),
    }
}

pub(super) fn declared(doorward: &Doorward, name: &str) -> Result<Arc<Login>, Error> {
    doorward.logins().by_name(name).cloned().ok_or(Error::NotFound)
}
