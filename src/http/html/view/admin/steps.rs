//! Why a guard decides as it does: the parts of its condition as a tree, with the part that decides.

use askama::{Template, filters::HtmlSafe};

use super::super::{
    super::text::{AdminTexts, Texts},
    refused::indentation,
};
use crate::access::guard::{ExplainedHeader, Explanation, Missing, Step};

/// The parts of a condition with their values.
#[derive(Template)]
#[template(path = "admin/steps.html", whitespace = "minimize")]
pub(super) struct Steps<'a> {
    t: &'static Texts,
    a: &'static AdminTexts,
    condition: Option<&'a str>,
    /// What the person lacks and can reach.
    missing: Option<&'static str>,
    cause: Option<&'a Step>,
    /// Each part, its indentation, and whether it decides.
    steps: Vec<(&'a Step, String, bool)>,
    /// What the app gets, if the guard admits.
    headers: Vec<(&'a str, String)>,
}

impl HtmlSafe for Steps<'_> {}

impl<'a> Steps<'a> {
    pub(super) fn new(
        t: &'static Texts,
        condition: Option<&'a str>,
        explanation: Option<&'a Explanation>,
        missing: Option<Missing>,
        headers: &'a [ExplainedHeader],
        is_admitted: bool,
    ) -> Self {
        let cause = explanation.map(|explanation| &explanation.cause).filter(|_| !is_admitted);
        let mut is_found = false;
        let step = |step: &'a Step| {
            let is_cause = !is_found
                && cause.is_some_and(|cause| cause.text == step.text && cause.value == step.value);
            is_found |= is_cause;
            (step, indentation(step.depth), is_cause)
        };
        let value = |header: &'a ExplainedHeader| {
            let error = header.error.as_ref().map(|error| format!("error: {error}"));
            (&*header.name, error.unwrap_or_else(|| header.value.clone()))
        };
        let steps = explanation.map_or(&[][..], |explanation| &explanation.steps);
        Self {
            t,
            a: &t.admin,
            condition,
            missing: missing.map(|missing| t.missing(missing)),
            cause,
            steps: steps.iter().map(step).collect(),
            headers: headers.iter().map(value).collect(),
        }
    }
}
