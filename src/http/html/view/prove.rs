//! The page on which a person gives a second factor, or proves once more who they are.

use askama::Template;

use super::{
    super::text::{Before, FactorTexts, FieldFault, Follows, FormError, Notice, Texts},
    PageContext, SCRIPT,
    field::{Field, Summary},
    html,
    passkey_button::{NoScript, PasskeyButton},
};
use crate::access::guard::Ask;

/// The page on which a person gives a second factor, or proves once more who they are.
#[derive(Clone, Default)]
pub struct Prove<'a> {
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
    /// What is asked for after the password.
    pub follows: Option<Follows>,
    /// Whether the person chose to trust the browser. `None` if they cannot.
    pub trusts: Option<bool>,
    pub notice: Option<Notice>,
    pub error: Option<FormError>,
    pub code_fault: Option<FieldFault>,
    pub recovery_fault: Option<FieldFault>,
    pub password_fault: Option<FieldFault>,
}

/// Why the person has to prove who they are.
#[derive(Clone, Copy, Default)]
pub enum ProveFor<'a> {
    /// To sign in.
    #[default]
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

#[derive(Template)]
#[template(path = "prove.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    f: &'static FactorTexts,
    view: &'a Prove<'a>,
    heading: String,
    reason: Option<&'static str>,
    explanation: String,
    path: &'static str,
    /// Names and values that every form passes on.
    hidden: Vec<(&'static str, &'a str)>,
    notice: Option<&'static str>,
    summary: Summary,
    code: Option<Field<'a>>,
    passkey: Option<PasskeyButton<'a>>,
    password: Option<Field<'a>>,
    recovery: Option<Field<'a>>,
    no_script: NoScript,
    query: String,
}

impl Prove<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let f = &t.factors;
        let (heading, reason, explanation, path) = match self.prove_for {
            ProveFor::SignIn => {
                (f.factor_heading.into(), None, f.factor_explanation.into(), "/sign-in/factor")
            }
            ProveFor::StepUp { app, ask, before, email, .. } => {
                let (heading, reason) = match (app, before) {
                    (Some(app), None) => ((f.step_up_for)(app, ask), Some((f.step_up_reason)(ask))),
                    _ => (f.step_up_heading.into(), before.map(f.before)),
                };
                (heading, reason, (f.step_up_explanation)(email), "/step-up")
            }
        };
        let code = || Field::totp_code(t).with_fault(t, self.code_fault);
        let password = || {
            let hint = self.follows.map(|follows| (f.follows)(follows).into());
            Field { hint, ..Field::password(t) }.with_fault(t, self.password_fault)
        };
        let recovery = || {
            let field = Field::new("recovery", "code", f.recovery_code, "text", "off");
            let hint = Some(f.recovery_code_hint.into());
            Field { hint, ..field }.with_fault(t, self.recovery_fault)
        };
        let mut code = self.has_code.then(code);
        let mut password = self.has_password.then(password);
        let mut recovery = self.has_recovery_code.then(recovery);
        let first = if self.has_code { "code" } else { "password" };
        let mut fields: Vec<_> =
            [&mut code, &mut password, &mut recovery].into_iter().flatten().collect();
        let summary = Summary::of(t, self.error, &mut fields, Some(first));
        let label = if self.has_only_keys { f.use_key } else { f.use_passkey };
        let passkey = self.passkey.map(|options| PasskeyButton {
            is_quiet: self.has_code,
            ..PasskeyButton::new(page, path, options, label)
        });
        html(&Html {
            page,
            t,
            f,
            view: self,
            heading,
            reason,
            explanation,
            path,
            hidden: self.hidden(),
            notice: self.notice.map(t.notice),
            summary,
            code,
            passkey,
            password,
            recovery,
            no_script: NoScript::new(t),
            query: PageContext::query(self.target),
        })
    }

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
