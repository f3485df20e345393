//! `/admin/keys`: the API keys of machines and people. An administrator makes those of machines, which are shown once, and revokes any.

use std::time::Duration;

use axum::response::Response;

use super::{
    super::{
        form_refusal::{FormFailure, FormRefusal},
        text::Done,
        view::{ApiKeys, Place, RefusedForm, Secret},
    },
    AdminVisit, PAGE_ROWS,
};
use crate::{
    access::{
        api_key::{EVERY_GUARD, guard_scope},
        scope::Scope,
    },
    account::{
        self,
        keys::{self, NewKey},
        order::{MakeKey, RevokeKey},
    },
    fault::{Fault, FaultKind},
    http::{Error, admin::KeysRead, form::PageForm},
    user::Name,
};

const KEYS: &str = "/admin/keys";

pub(in crate::http) async fn show(visit: AdminVisit<KeysRead>) -> Result<Response, Error> {
    page(&visit, &[], None, None).await
}

/// `POST /admin/keys/create`: the answer shows the key once.
pub(in crate::http) async fn create(
    visit: AdminVisit<MakeKey>,
    PageForm(mut form): PageForm,
) -> Result<Response, Error> {
    let typed = ["name", "days", "allow"].map(|name| (name, form.typed(name))).to_vec();
    let chosen: Vec<_> = offered(&visit)
        .into_iter()
        .filter(|scope| !form.typed(&format!("scope-{scope}")).is_empty())
        .collect();
    let name = form.required("name", Name::parse);
    let condition = form.optional("allow", Ok);
    let days = form.required("days", |days| {
        days.trim().parse::<u64>().map_err(|_| Fault::malformed("Not a number of days"))
    });
    let mut reason = None;
    let made = match (name, days, condition) {
        (Ok(name), Ok(days), Ok(condition)) => {
            let lifetime = Duration::from_secs(days.saturating_mul(24 * 60 * 60));
            let new = NewKey { name, scopes: chosen.clone(), lifetime, condition };
            let made = keys::create_machine(visit.doorward(), &visit.by, visit.scopes, new).await;
            // What is wrong with a condition is said in English, as everywhere.
            made.map_err(|error| {
                if let account::Error::Invalid(invalid) = &error
                    && invalid.fault.kind() == FaultKind::InvalidCondition
                {
                    reason = Some(invalid.message().to_owned());
                }
                FormFailure::from(error).renamed(&[("lifetime", "days")])
            })
        }
        _ => Err(FormFailure::faults_of(form)),
    };
    let a = &visit.texts().admin;
    match made {
        Ok(made) => {
            let lines = vec![("", made.text.as_str().to_owned())];
            let secret = Secret { explanation: a.key_made.into(), lines };
            page(&visit, &[], Some(&secret), None).await
        }
        Err(failure) => {
            let refusal = failure.refusal()?;
            let mut refused = visit.refused_form(typed, &refusal);
            if let (Some(reason), Some((_, words))) = (reason, refused.faults.first_mut()) {
                *words = format!("{words} {reason}");
            }
            page(&visit, &chosen, None, Some((&refused, &refusal))).await
        }
    }
}

/// `POST /admin/keys/revoke`
pub(in crate::http) async fn revoke(
    visit: AdminVisit<RevokeKey>,
    PageForm(form): PageForm,
) -> Result<Response, Error> {
    if let Ok(id) = form.typed("id").parse() {
        // A key that has ended already, as after a double click, is what the administrator wants.
        let revoked = keys::revoke(visit.doorward(), &visit.by, id).await;
        revoked.map_err(|error| visit.in_words(error.into()))?;
    }
    Ok(visit.done(KEYS, Done::Revoked))
}

/// The scopes that the administrator can give to a key: their own, and guards.
fn offered<S>(visit: &AdminVisit<S>) -> Vec<String> {
    let guards = visit.doorward().guards();
    let mut guards: Vec<_> =
        guards.iter().filter(|guard| guard.keys).map(|guard| guard_scope(&guard.name)).collect();
    guards.sort();
    let own = visit.scopes.iter().map(|scope| scope.name().to_owned());
    [EVERY_GUARD.to_owned()].into_iter().chain(guards).chain(own).collect()
}

async fn page<S>(
    visit: &AdminVisit<S>,
    chosen: &[String],
    secret: Option<&Secret>,
    refused: Option<(&RefusedForm, &FormRefusal)>,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let after = visit.parameter("after").and_then(|after| after.parse().ok());
    let found = match visit.may(Scope::KeysRead) {
        true => keys::list(doorward, after, PAGE_ROWS + 1).await?,
        false => Vec::new(),
    };
    let (has_more, found) = (found.len() > PAGE_ROWS, &found[..found.len().min(PAGE_ROWS)]);
    let users = visit.users(found.iter().filter_map(|key| key.owner).collect()).await?;
    let last = found.last().filter(|_| has_more);
    let offered = offered(visit).into_iter().map(|scope| {
        let is_chosen = chosen.contains(&scope);
        (scope, is_chosen)
    });
    let (refused, refusal) = refused.unzip();
    let view = ApiKeys {
        page: visit.context(),
        frame: visit.frame(Place::Keys, refused),
        now: doorward.now(),
        keys: found,
        users: &users,
        next: last.map(|last| format!("{}{KEYS}?after={}", visit.context().base, last.id)),
        may_write: visit.may(Scope::KeysWrite),
        scopes: offered.collect(),
        secret,
        refused,
    };
    Ok(visit.admin_page(&view, refusal))
}
