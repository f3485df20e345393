//! "Your apps": the guards with origins that admit the person, as links.

use std::net::IpAddr;

use super::super::view::AppLink;
use crate::{
    access::{
        caller::Caller,
        guard::{AppOrigin, Guard, GuardSet, Mode, RequestFacts, host_of},
    },
    clock::Timestamp,
};

/// The apps that admit the person. Each link leads to the start page of the app's first origin, so the guard decides about
/// a request for just that page: a condition that reads the request has one to read, and a link that is shown works.
pub(super) fn apps<'g>(
    guards: &'g GuardSet,
    caller: &Caller,
    address: IpAddr,
    now: Timestamp,
) -> Vec<AppLink<'g>> {
    let with_origin = guards.iter().filter_map(|guard| Some((guard, guard.origins.first()?)));
    let admitted =
        with_origin.filter(|(guard, origin)| admits(guard, origin, caller, address, now));
    admitted.map(|(guard, origin)| AppLink { title: &guard.title, url: origin.as_str() }).collect()
}

fn admits(
    guard: &Guard,
    origin: &AppOrigin,
    caller: &Caller,
    address: IpAddr,
    now: Timestamp,
) -> bool {
    let (scheme, host) = origin.as_str().split_once("://").unwrap_or_default();
    let request = RequestFacts {
        method: Some("GET".into()),
        host: Some(host_of(host)),
        path: Some("/".into()),
        scheme: Some(scheme.into()),
        address: Some(address),
        time: now,
    };
    guard.mode == Mode::Report
        || guard.decide(&caller.user, &caller.session, &caller.memo, &request).is_ok()
}
