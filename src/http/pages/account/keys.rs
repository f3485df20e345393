//! `/account/keys`: a person makes API keys, with which their programs pass guards, and sees and revokes them. A new key is shown
//! once, in the answer.

use std::time::Duration;

use axum::response::Response;

use super::super::{
    form_refusal::{FormFailure, FormRefusal},
    signed_in::SignedInVisit,
    text::Notice,
    view::{Keys, html},
};
use crate::{
    access::{
        api_key::{EVERY_GUARD, GUARD_SCOPE, guard_scope},
        guard::GuardSet,
    },
    account::{
        keys::{NewKey, create_personal, of_user, revoke_own},
        proof::is_fresh,
    },
    http::{
        Error,
        form::{FaultRecorded, PageForm},
    },
    user::{ApiKey, Name},
};

const KEYS: &str = "/account/keys";

/// How many days a person can choose. The second is chosen already.
const DAYS: [u64; 3] = [30, 90, 365];

pub(in crate::http) async fn show_keys(visit: SignedInVisit) -> Result<Response, Error> {
    let notice = match visit.parameter("done").as_deref() {
        Some("confirmed") => Some(Notice::Confirmed),
        Some("revoked") => Some(Notice::KeyRevoked),
        _ => None,
    };
    page(&visit, Keys { notice, ..Keys::new(visit.context()) }, None).await
}

pub(in crate::http) async fn create_key(
    visit: SignedInVisit,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = form.typed("name");
    let guard = Some(form.typed("guard")).filter(|guard| !guard.is_empty());
    let days = form.typed("days").parse().ok().filter(|days| DAYS.contains(days));
    let days = days.unwrap_or(DAYS[1]);
    let made = match form.required("name", Name::parse) {
        Ok(name) => {
            let new = NewKey {
                name,
                scopes: vec![guard.as_deref().map_or(EVERY_GUARD.into(), guard_scope)],
                lifetime: Duration::from_secs(days * 24 * 60 * 60),
                condition: None,
            };
            let (doorward, caller) = (visit.doorward(), &visit.caller);
            create_personal(doorward, caller, new, &visit.requester).await.map_err(Into::into)
        }
        Err(FaultRecorded) => Err(FormFailure::faults_of(form)),
    };
    match made {
        Ok(made) => {
            let view = Keys { made: Some(made.text.as_str()), ..Keys::new(visit.context()) };
            page(&visit, view, None).await
        }
        Err(failure) => {
            let refusal = visit.refusal(failure, KEYS, None)?;
            let view = Keys { name: &typed, chosen_days: days, ..Keys::new(visit.context()) };
            page(&visit, view, Some(&refusal)).await
        }
    }
}

pub(in crate::http) async fn revoke_key(
    visit: SignedInVisit,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    if let Ok(id) = form.typed("id").parse() {
        // A key that has ended already, as after a double click, is what the person wants.
        revoke_own(visit.doorward(), visit.caller.user.id, id, &visit.requester).await?;
    }
    Ok(visit.redirect(&format!("{KEYS}?done=revoked")))
}

async fn page(
    visit: &SignedInVisit,
    view: Keys<'_>,
    refusal: Option<&FormRefusal>,
) -> Result<Response, Error> {
    let (doorward, caller) = (visit.doorward(), &visit.caller);
    let (keys, guards) = (of_user(doorward, caller.user.id).await?, doorward.guards());
    let page = Keys {
        now: doorward.now(),
        is_fresh: is_fresh(doorward, &caller.user, &caller.session),
        apps: guards.iter().filter(|guard| guard.keys).collect(),
        days: &DAYS,
        chosen_days: if view.chosen_days == 0 { DAYS[1] } else { view.chosen_days },
        keys: keys.iter().map(|key| (key, apps_of(key, &guards))).collect(),
        problem: refusal.into(),
        ..view
    };
    Ok(visit.form(html(&page), refusal, None))
}

/// The titles of the apps that a key is for, unless it is for every app. A key made on the page is for one app, one of the API may be for
/// several. An app that is not declared is named by its scope.
fn apps_of(key: &ApiKey, guards: &GuardSet) -> Option<String> {
    if key.scopes.to_text() == EVERY_GUARD {
        return None;
    }
    let title = |scope: &str| {
        let guard = scope.strip_prefix(GUARD_SCOPE).and_then(|name| guards.by_name(name));
        guard.map_or_else(|| scope.to_owned(), |guard| guard.title.clone())
    };
    Some(key.scopes.iter().map(title).collect::<Vec<_>>().join(", "))
}
