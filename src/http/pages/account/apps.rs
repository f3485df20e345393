//! "Your apps": the guards with origins that admit the person, or will when their session has proved more, as links.

use std::net::IpAddr;

use super::super::view::AppLink;
use crate::{
    Doorward,
    access::{
        caller::Caller,
        guard::{AppOrigin, Guard, GuardSet, Missing, Mode, RequestFacts, host_of},
    },
};

/// The apps that admit the person. Each link leads to the start page of the app's first origin, so the guard decides about
/// a request for just that page: a condition that reads the request has one to read, and a link that is shown works.
pub(super) fn apps<'g>(
    doorward: &Doorward,
    guards: &'g GuardSet,
    caller: &Caller,
    address: IpAddr,
) -> Vec<AppLink<'g>> {
    let with_origin = guards.iter().filter_map(|guard| Some((guard, guard.origins.first()?)));
    let open =
        with_origin.filter(|(guard, origin)| opens(doorward, guard, origin, caller, address));
    open.map(|(guard, origin)| AppLink { title: &guard.title, url: origin.as_str() }).collect()
}

fn opens(
    doorward: &Doorward,
    guard: &Guard,
    origin: &AppOrigin,
    caller: &Caller,
    address: IpAddr,
) -> bool {
    let (scheme, host) = origin.as_str().split_once("://").unwrap_or_default();
    let request = RequestFacts {
        method: Some("GET".into()),
        host: Some(host_of(host)),
        path: Some("/".into()),
        scheme: Some(scheme.into()),
        address: Some(address),
        time: doorward.now(),
    };
    let Caller { user, session, .. } = caller;
    let has_to_prove_more = || {
        let missing = guard.missing(user, session, &request, &doorward.reachable(user));
        matches!(missing, Some(Missing::SecondFactor | Missing::Passkey | Missing::StepUp(_)))
    };
    guard.mode == Mode::Report
        || doorward.is_admitted_by(guard, caller, &request)
        || has_to_prove_more()
}
