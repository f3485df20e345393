//! `GET /refused/<decision>`: which app refused a request, and for operators why.

use axum::{
    extract::{Path, rejection::PathRejection},
    http::StatusCode,
    response::Response,
};

use super::{
    text::Message,
    view::{MessagePage, Refused, Why, WhyStep},
    visit::Visit,
};
use crate::{
    access::{caller::Caller, guard::Step, refusals::Refusal},
    http::Error,
};

/// The role of people who may see why a guard refuses.
const OPERATOR: &str = "admin";

/// Whether a person may see why a guard refuses.
pub(super) fn is_operator(caller: &Caller) -> bool {
    caller.user.roles.contains(OPERATOR)
}

pub(in crate::http) async fn show(
    visit: Visit,
    id: Result<Path<String>, PathRejection>,
) -> Result<Response, Error> {
    let doorward = visit.doorward();
    let is_operator = visit
        .caller()
        .is_some_and(|caller| is_operator(caller) && !doorward.opens_only_account(caller));
    let refusal = id.ok().and_then(|Path(id)| match is_operator {
        true => doorward.refusal(&id),
        false => doorward.refusal_without_reason(&id),
    });
    let Some(refusal) = refusal else {
        let page = MessagePage { message: Message::UnknownDecision, link: None };
        return Ok(visit.page(StatusCode::NOT_FOUND, page.render(&visit.context())));
    };
    let guards = doorward.guards();
    let guard = guards.by_name(&refusal.guard);
    let somebody_else = format!("{}/sign-in?other=1", visit.context().base);
    let user = visit.caller().map(|caller| &caller.user);
    let user_id = user.map(|user| user.id.to_string());
    let is_own = user_id.is_some() && user_id == refusal.user;
    // The decision does not keep which page was asked for.
    let start = guard.filter(|_| is_own).and_then(|guard| guard.origins.first());
    let start = start.map(|origin| format!("{origin}/"));
    let page = Refused {
        app: guard.map_or(&refusal.guard, |guard| &guard.title),
        is_own,
        signed_in_as: user.map(|user| (user.name.as_str(), user.email.as_str())),
        try_again: start.as_deref(),
        somebody_else: user.is_some().then_some(&*somebody_else),
        decision: &refusal.id,
        decision_link: None,
        missing: refusal.missing.filter(|_| is_own || is_operator),
        why: is_operator.then(|| why(&refusal)),
    };
    Ok(visit.page(StatusCode::OK, page.render(&visit.context())))
}

fn why(refusal: &Refusal) -> Why<'_> {
    let explanation = refusal.explanation.as_ref();
    Why {
        guard: &refusal.guard,
        condition: refusal.condition.as_deref(),
        cause: explanation.map(|explanation| step(&explanation.cause)),
        steps: explanation
            .map_or_else(Vec::new, |explanation| explanation.steps.iter().map(step).collect()),
    }
}

fn step(step: &Step) -> WhyStep<'_> {
    WhyStep { expression: &step.text, value: &step.value, depth: step.depth }
}
