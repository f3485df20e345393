//! The pages that set a second factor up, and the one that changes a passkey.

use askama::Template;

use super::{
    super::text::{FactorTexts, FieldFault, FormError, Texts},
    PageContext, PasskeyRow, SCRIPT,
    field::{Field, Summary},
    html,
    passkey_button::{NoScript, PasskeyButton},
};
use crate::{clock::Timestamp, credential::qr::QrPath};

/// The page that adds a passkey or a security key.
#[derive(Clone, Default)]
pub struct AddPasskey<'a> {
    /// Whether it is a security key, which follows a password.
    pub is_key: bool,
    /// What the browser is asked to make, as JSON.
    pub options: &'a str,
    /// What the answer is sent with.
    pub setup: &'a str,
    pub target: Option<&'a str>,
    /// Whether the account has a password.
    pub has_password: bool,
    /// The name as it was typed.
    pub name: &'a str,
    pub error: Option<FormError>,
    pub name_fault: Option<FieldFault>,
}

#[derive(Template)]
#[template(path = "add_passkey.html", whitespace = "minimize")]
struct AddPasskeyHtml<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    f: &'static FactorTexts,
    view: &'a AddPasskey<'a>,
    heading: &'static str,
    explanation: &'static str,
    path: &'static str,
    summary: Summary,
    name: Field<'a>,
    button: PasskeyButton<'a>,
    no_script: NoScript,
    query: String,
}

impl AddPasskey<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let f = &t.factors;
        let (heading, explanation, path, label) = match self.is_key {
            true => (f.add_key, f.add_key_explanation, "/account/security/key", f.register_key),
            false => (
                f.add_passkey,
                f.add_passkey_explanation,
                "/account/security/passkey",
                f.create_passkey,
            ),
        };
        let mut name = Field {
            autocomplete: "off",
            is_optional: true,
            hint: Some(f.name_hint.into()),
            ..Field::name(t, self.name)
        };
        name = name.with_fault(t, self.name_fault);
        let summary = Summary::of(t, self.error, &mut [&mut name], None);
        let button = PasskeyButton::new(page, path, self.options, label);
        html(&AddPasskeyHtml {
            page,
            t,
            f,
            view: self,
            heading,
            explanation,
            path,
            summary,
            name,
            button: PasskeyButton { failed: f.create_failed, ..button },
            no_script: NoScript::new(t),
            query: PageContext::query(self.target),
        })
    }
}

/// The page that renames or removes a passkey or a security key.
#[derive(Clone)]
pub struct EditPasskey<'a> {
    /// The time of the request.
    pub now: Timestamp,
    pub passkey: PasskeyRow<'a>,
    /// The name as it was typed.
    pub typed: &'a str,
    pub error: Option<FormError>,
    pub name_fault: Option<FieldFault>,
}

#[derive(Template)]
#[template(path = "edit_passkey.html", whitespace = "minimize")]
struct EditPasskeyHtml<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    f: &'static FactorTexts,
    view: &'a EditPasskey<'a>,
    summary: Summary,
    name: Field<'a>,
}

impl EditPasskey<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let field = Field { autocomplete: "off", ..Field::name(t, self.typed) };
        let mut name = field.with_fault(t, self.name_fault);
        let summary = Summary::of(t, self.error, &mut [&mut name], None);
        html(&EditPasskeyHtml { page, t, f: &t.factors, view: self, summary, name })
    }
}

/// The question before a factor is removed.
#[derive(Clone, Copy)]
pub struct RemoveFactor<'a> {
    /// The id and the name of a passkey or a security key. Else it is the authenticator app.
    pub passkey: Option<(&'a str, &'a str)>,
    /// Whether the person holds no other.
    pub is_last: bool,
}

#[derive(Template)]
#[template(path = "remove_factor.html", whitespace = "minimize")]
struct RemoveFactorHtml<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    f: &'static FactorTexts,
    view: &'a RemoveFactor<'a>,
    heading: String,
    explanation: &'static str,
    path: &'static str,
    /// The page that shows what was not removed.
    back: String,
}

impl RemoveFactor<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let f = &t.factors;
        let security = "/account/security";
        let (name, explanation, path, back) = match self.passkey {
            Some((id, name)) => (
                name,
                f.remove_passkey_explanation,
                "/account/security/passkeys/remove",
                format!("{security}/passkeys/{id}"),
            ),
            None => (
                f.app,
                f.remove_totp_explanation,
                "/account/security/totp/remove",
                security.to_owned(),
            ),
        };
        let heading = (f.remove_question)(name);
        html(&RemoveFactorHtml { page, t, f, view: self, heading, explanation, path, back })
    }
}

/// The page that sets an authenticator app up.
#[derive(Clone)]
pub struct SetUpTotp<'a> {
    /// `None` if the secret and the names are too long for one.
    pub qr: Option<&'a QrPath>,
    /// The key as text, in groups that a person can copy.
    pub secret: &'a str,
    /// What the app reads from the QR code.
    pub uri: &'a str,
    /// What the code is sent with.
    pub setup: &'a str,
    pub target: Option<&'a str>,
    pub error: Option<FormError>,
    pub code_fault: Option<FieldFault>,
}

#[derive(Template)]
#[template(path = "set_up_totp.html", whitespace = "minimize")]
struct SetUpTotpHtml<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    f: &'static FactorTexts,
    view: &'a SetUpTotp<'a>,
    summary: Summary,
    code: Field<'a>,
    query: String,
}

impl SetUpTotp<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let mut code = Field::totp_code(t).with_fault(t, self.code_fault);
        let summary = Summary::of(t, self.error, &mut [&mut code], None);
        html(&SetUpTotpHtml {
            page,
            t,
            f: &t.factors,
            view: self,
            summary,
            code,
            query: PageContext::query(self.target),
        })
    }
}
