//! The page on which a person gives a second factor, or proves once more who they are.

use askama::Template;
use form_urlencoded::byte_serialize;

use super::{
    super::text::{Before, Follows, FormProblem, Notice},
    PageContext, SCRIPT,
    field::{Field, Summary},
    logins::{LoginButton, LoginButtons},
    passkey_button::{NoScript, PasskeyButton},
};
use crate::access::guard::Ask;

/// The page on which a person gives a second factor, or proves once more who they are.
#[derive(Clone, Template)]
#[template(path = "prove.html", whitespace = "minimize")]
pub struct Prove<'a> {
    pub page: PageContext<'a>,
    pub prove_for: ProveFor<'a>,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    /// What a factor answers.
    pub challenge: Option<&'a str>,
    /// What the browser asks a passkey or a security key, as JSON.
    pub passkey: Option<&'a str>,
    /// Whether only security keys can answer.
    pub has_only_keys: bool,
    /// Whether the code of an authenticator app can answer.
    pub has_code: bool,
    pub has_recovery_code: bool,
    pub has_password: bool,
    /// Other providers that can ask the person again.
    pub logins: &'a [LoginButton],
    /// Whether a mailed code can take the place of those.
    pub has_mail_code: bool,
    /// What is asked for after the password.
    pub follows: Option<Follows>,
    /// Whether the person chose to trust the browser. `None` if they cannot.
    pub trusts: Option<bool>,
    pub notice: Option<Notice>,
    pub problem: FormProblem,
    /// Whether the refused form is that for recovery codes.
    pub is_recovery: bool,
}

/// Why the person has to prove who they are.
#[derive(Clone, Copy)]
pub enum ProveFor<'a> {
    /// To sign in.
    SignIn,
    /// Something that a signed-in person wants.
    StepUp {
        /// The title of the app that asks for it.
        app: Option<&'a str>,
        ask: Ask,
        /// The fields that tell both to the next page.
        ask_name: &'static str,
        next: Option<&'a str>,
        /// What the person is about to do on that page.
        before: Option<Before>,
        /// The address of the person.
        email: &'a str,
    },
}

impl Prove<'_> {
    fn heading(&self) -> String {
        let f = &self.page.texts().factors;
        match self.prove_for {
            ProveFor::SignIn => f.factor_heading.into(),
            ProveFor::StepUp { app: Some(app), ask, before: None, .. } => f.step_up_for(app, ask),
            ProveFor::StepUp { .. } => f.step_up_heading.into(),
        }
    }

    fn reason(&self) -> Option<&'static str> {
        let f = &self.page.texts().factors;
        match self.prove_for {
            ProveFor::SignIn => None,
            ProveFor::StepUp { app: Some(_), ask, before: None, .. } => Some(f.step_up_reason(ask)),
            ProveFor::StepUp { before, .. } => before.map(|before| before.in_words(f.language)),
        }
    }

    fn explanation(&self) -> String {
        let f = &self.page.texts().factors;
        match self.prove_for {
            ProveFor::SignIn => f.factor_explanation.into(),
            ProveFor::StepUp { email, .. } => f.step_up_explanation(email),
        }
    }

    fn login_buttons(&self) -> LoginButtons<'_> {
        let query = match self.prove_for {
            ProveFor::SignIn => PageContext::query(self.target),
            ProveFor::StepUp { ask_name, next, .. } => {
                let next: String = byte_serialize(next.unwrap_or_default().as_bytes()).collect();
                let target = PageContext::query(self.target).replacen('?', "&", 1);
                format!("?again=1&ask={ask_name}&next={next}{target}")
            }
        };
        LoginButtons { page: self.page, logins: self.logins, query }
    }

    fn path(&self) -> &'static str {
        if self.signs_in() { "/sign-in/factor" } else { "/step-up" }
    }

    /// The summary and the fields, as far as they are there: the code, the password and the recovery code.
    fn form(&self) -> (Summary, [Option<Field<'_>>; 3]) {
        let t = self.page.texts();
        let f = &t.factors;
        let password = || {
            let hint = self.follows.map(|follows| follows.in_words(t.language).into());
            Field { hint, ..Field::password(t) }
        };
        let recovery = || {
            let hint = Some(f.recovery_code_hint.into());
            Field { hint, ..Field::new("recovery", "code", f.recovery_code, "text", "off") }
        };
        let mut fields = [
            self.has_code.then(|| Field::totp_code(t)),
            self.has_password.then(password),
            self.has_recovery_code.then(recovery),
        ];
        let first = if self.has_code { "code" } else { "password" };
        // Two forms send a code by the same name. Only one of them was refused.
        let other = if self.is_recovery { "code" } else { "recovery" };
        let mut refused: Vec<_> =
            fields.iter_mut().flatten().filter(|field| field.id != other).collect();
        let summary = Summary::of(t, &self.problem, &mut refused, Some(first));
        (summary, fields)
    }

    fn button(&self) -> Option<PasskeyButton<'_>> {
        let f = &self.page.texts().factors;
        let label = if self.has_only_keys { f.use_key } else { f.use_passkey };
        self.passkey.map(|options| PasskeyButton {
            is_quiet: self.has_code,
            ..PasskeyButton::new(&self.page, self.path(), options, label)
        })
    }

    /// Names and values that every form passes on.
    fn hidden(&self) -> Vec<(&'static str, &str)> {
        let (ask, next) = match self.prove_for {
            ProveFor::SignIn => (None, None),
            ProveFor::StepUp { ask_name, next, .. } => (Some(ask_name), next),
        };
        let fields = [("for", self.target), ("ask", ask), ("next", next)];
        fields.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn signs_in(&self) -> bool {
        matches!(self.prove_for, ProveFor::SignIn)
    }

    /// Whether there is a form for a code or a passkey.
    fn has_factor(&self) -> bool {
        self.has_code || self.passkey.is_some()
    }
}
