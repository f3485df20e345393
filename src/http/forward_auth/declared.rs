//! The guards that operators declare: a condition decides about the request of a program with a token. The request of a
//! browser goes on to `app_answer`.

use std::sync::Arc;

use axum::{body::Bytes, http::header, response::Response};

use super::{
    Decided, GuardRoutes,
    admission::{add_app_headers, admission},
    app_request::AppRequest,
    forwarded_request::ForwardedRequest,
    full_answer::asks_for_full_answer,
    identity::Identity,
    sent_key::SentKey,
};
use crate::{
    Doorward,
    access::{
        caller::{AuthError, Caller, Unauthenticated},
        guard::{Decision, Guard, Mode, ProxyStyle, RequestFacts},
        refusals::{Refused, RefusedBy},
    },
    http::{
        bearer::identify,
        error::{Challenge, Error},
    },
    log::FloodLine,
    store,
};

impl GuardRoutes {
    pub(super) async fn declared(
        &self,
        guard: &Arc<Guard>,
        request: ForwardedRequest<'_>,
    ) -> Decided {
        let (doorward, headers) = (&self.doorward, &request.parts.headers);
        let trusted = &doorward.settings().trusted_proxies;
        if guard.preflight && request.is_preflight(guard.proxy, trusted, doorward.now()) {
            return Decided::admitted(doorward, guard, None, &request);
        }
        if !guard.origins.is_empty()
            && let Some(request) = AppRequest::new(guard, request, trusted)
        {
            // Boxed, because the future of every guarded request would otherwise reserve space for it.
            return Box::pin(self.answer_browser(guard, request)).await;
        }
        if guard.keys
            && let Some(sent) = SentKey::of(headers)
        {
            // Boxed, as the request of a browser.
            return Box::pin(self.answer_key(guard, sent, request)).await;
        }
        let refusal = match identify(doorward, headers).await {
            Ok(caller) => match refusal(doorward, guard, &caller, &request) {
                None => return Decided::admitted(doorward, guard, Some(&caller), &request),
                Some(refused) => {
                    let challenge =
                        refused.missing().map_or(Challenge::InsufficientScope, Challenge::Missing);
                    let (decision, caller) = (Decision::Refused, Some(caller));
                    Refusal { decision, challenge, refused, caller }
                }
            },
            Err(AuthError::Unauthenticated(mut reason)) => {
                let has_authorization = headers.contains_key(header::AUTHORIZATION);
                if !guard.origins.is_empty() && !has_authorization {
                    reason = Unauthenticated::OtherOrigin;
                    // nginx turns any other status than 401 and 403 into 500, and asks again for the answer.
                    let is_read = guard.proxy != Some(ProxyStyle::Nginx)
                        || asks_for_full_answer(&request.parts.uri);
                    if is_read
                        && guard
                            .proxy
                            .is_some_and(|style| request.has_malformed_host(style, trusted))
                    {
                        return Decided(Decision::Unauthenticated, Err(Error::Malformed));
                    }
                }
                let by = RefusedBy::Guard(Arc::clone(guard));
                Refusal {
                    decision: Decision::Unauthenticated,
                    challenge: reason.into(),
                    refused: Refused::unauthenticated(by, reason, doorward.now()),
                    caller: None,
                }
            }
            Err(AuthError::Store(error)) => return Decided::unavailable(error),
        };
        self.refuse(guard, refusal, &request)
    }

    /// Refuses a request, or reports that it would have been refused.
    pub(super) fn refuse(
        &self,
        guard: &Guard,
        refusal: Refusal,
        request: &ForwardedRequest<'_>,
    ) -> Decided {
        let Refusal { decision, challenge, refused, caller } = refusal;
        match guard.mode {
            Mode::Enforce => {
                let id = request.record_refusal(&self.doorward, refused);
                Decided(decision, Err(Error::Unauthorized(challenge, Some(id))))
            }
            Mode::Report => report(&self.doorward, guard, refused, caller.as_ref(), request),
        }
    }
}

impl Decided {
    /// The admission of a caller, or of a request without one.
    pub(super) fn admitted(
        doorward: &Doorward,
        guard: &Guard,
        caller: Option<&Caller>,
        request: &ForwardedRequest<'_>,
    ) -> Self {
        Self(Decision::Admitted, Ok(declared_admission(doorward, guard, caller, request)))
    }

    /// The answer without a decision, because the database did not answer.
    pub(super) fn unavailable(error: store::Error) -> Self {
        Self(Decision::Unavailable, Err(error.into()))
    }
}

/// Why a program is refused.
pub(super) struct Refusal {
    /// Where it counts, unless the guard only reports it.
    pub(super) decision: Decision,
    pub(super) challenge: Challenge,
    pub(super) refused: Refused,
    pub(super) caller: Option<Caller>,
}

/// The refusal of a caller whom the guard does not admit. `doorward why` determines the reason from it.
pub(super) fn refusal(
    doorward: &Doorward,
    guard: &Arc<Guard>,
    caller: &Caller,
    request: &ForwardedRequest<'_>,
) -> Option<Refused> {
    if guard.is_known_to_admit(&caller.memo) {
        return None;
    }
    let (trusted, now) = (&doorward.settings().trusted_proxies, doorward.now());
    let facts = request.facts(guard.proxy, trusted, guard.request_fields(), now);
    if doorward.is_admitted_by(guard, caller, &facts) {
        return None;
    }
    Some(Refused::by_condition(guard, caller, &facts, &doorward.reachable(&caller.user)))
}

/// The admission by a guard that only reports whom it would have refused. Anybody can cause the log line.
pub(super) fn report(
    doorward: &Doorward,
    guard: &Guard,
    refused: Refused,
    caller: Option<&Caller>,
    request: &ForwardedRequest<'_>,
) -> Decided {
    let id = request.record_refusal(doorward, refused);
    if FloodLine::WouldBeRefused.is_written("") {
        tracing::info!(guard = guard.name, decision = %id, "would have been refused");
    }
    Decided(Decision::ReportOnly, Ok(declared_admission(doorward, guard, caller, request)))
}

/// The answer of a declared guard that admits a caller, or a request without one.
fn declared_admission(
    doorward: &Doorward,
    guard: &Guard,
    caller: Option<&Caller>,
    request: &ForwardedRequest<'_>,
) -> Response {
    const BODY: &[u8] = br#""You may pass.""#;
    let identity = Identity { caller, grant: guard.grant };
    let mut response = admission(doorward, &guard.name, Bytes::from_static(BODY), identity);
    if !guard.headers.is_empty() {
        let (trusted, now) = (&doorward.settings().trusted_proxies, doorward.now());
        let facts = match guard.headers.request_fields() {
            [] => RequestFacts::at(now),
            fields => request.facts(guard.proxy, trusted, fields, now),
        };
        add_app_headers(response.headers_mut(), guard, caller, &facts);
    }
    response
}
