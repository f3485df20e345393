//! The button that asks for a passkey, and what browsers are told about passkeys. Both are for the script.

use askama::{Template, filters::HtmlSafe};

use super::{super::text::Texts, PageContext};

/// A button in a form, which sends the form with the answer of a passkey. It is hidden where no script runs.
#[derive(Template)]
#[template(path = "passkey_button.html", whitespace = "minimize")]
pub(super) struct PasskeyButton<'a> {
    /// What the browser is asked, as JSON.
    pub(super) options: &'a str,
    /// Where the form is sent to.
    pub(super) action: String,
    pub(super) label: &'static str,
    /// What is shown if the browser cannot do it.
    pub(super) failed: &'static str,
    pub(super) is_quiet: bool,
    /// Whether the field for the address offers passkeys too.
    pub(super) fills_in: bool,
}

impl HtmlSafe for PasskeyButton<'_> {}

impl<'a> PasskeyButton<'a> {
    pub(super) fn new(
        page: &PageContext<'_>,
        path: &str,
        options: &'a str,
        label: &'static str,
    ) -> Self {
        let failed = page.texts().factors.passkey_failed;
        let action = format!("{}{path}", page.base);
        Self { options, action, label, failed, is_quiet: false, fills_in: false }
    }
}

/// Something that password managers are told about passkeys, so that they offer no others.
#[derive(Clone, Copy)]
pub enum Signal<'a> {
    /// The passkeys that the person has, as JSON.
    AllAccepted(&'a str),
    /// One that does not exist, as JSON.
    Unknown(&'a str),
}

#[derive(Template)]
#[template(
    source = r#"<template data-signal="{{ method }}" data-passkey="{{ values }}"></template>"#,
    ext = "html"
)]
pub(super) struct SignalElement<'a> {
    method: &'static str,
    values: &'a str,
}

impl HtmlSafe for SignalElement<'_> {}

impl<'a> From<Signal<'a>> for SignalElement<'a> {
    fn from(signal: Signal<'a>) -> Self {
        match signal {
            Signal::AllAccepted(values) => Self { method: "signalAllAcceptedCredentials", values },
            Signal::Unknown(values) => Self { method: "signalUnknownCredential", values },
        }
    }
}

/// What is said where no script runs.
#[derive(Template)]
#[template(source = r#"<noscript><p class="empty">{{ words }}</p></noscript>"#, ext = "html")]
pub(super) struct NoScript {
    words: &'static str,
}

impl HtmlSafe for NoScript {}

impl NoScript {
    pub(super) fn new(t: &Texts) -> Self {
        Self { words: t.factors.needs_script }
    }
}
