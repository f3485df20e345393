//! The pages that set a second factor up, and the one that changes a passkey.

use askama::Template;

use super::{
    super::text::FormProblem,
    PageContext, SCRIPT,
    field::{Field, Summary},
    passkey_button::{NoScript, PasskeyButton},
    security::passkey_in_words,
};
use crate::{clock::Timestamp, credential::qr::QrPath, user::Passkey};

/// The page that adds a passkey or a security key.
#[derive(Clone, Template)]
#[template(path = "add_passkey.html", whitespace = "minimize")]
pub struct AddPasskey<'a> {
    pub page: PageContext<'a>,
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
    pub problem: FormProblem,
}

impl AddPasskey<'_> {
    fn heading(&self) -> &'static str {
        let f = &self.page.texts().factors;
        if self.is_key { f.add_key } else { f.add_passkey }
    }

    fn explanation(&self) -> &'static str {
        let f = &self.page.texts().factors;
        if self.is_key { f.add_key_explanation } else { f.add_passkey_explanation }
    }

    fn path(&self) -> &'static str {
        if self.is_key { "/account/security/key" } else { "/account/security/passkey" }
    }

    /// The summary and the name.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let mut name = Field {
            autocomplete: "off",
            is_optional: true,
            hint: Some(t.factors.name_hint.into()),
            ..Field::name(t, self.name)
        };
        let summary = Summary::of(t, &self.problem, &mut [&mut name], None);
        (summary, name)
    }

    fn button(&self) -> PasskeyButton<'_> {
        let f = &self.page.texts().factors;
        let label = if self.is_key { f.register_key } else { f.create_passkey };
        let button = PasskeyButton::new(&self.page, self.path(), self.options, label);
        PasskeyButton { failed: f.create_failed, ..button }
    }
}

/// The page that renames or removes a passkey or a security key.
#[derive(Clone, Template)]
#[template(path = "edit_passkey.html", whitespace = "minimize")]
pub struct EditPasskey<'a> {
    pub page: PageContext<'a>,
    /// The time of the request.
    pub now: Timestamp,
    pub passkey: &'a Passkey,
    /// The name as it was typed.
    pub typed: &'a str,
    pub problem: FormProblem,
}

impl EditPasskey<'_> {
    /// The summary and the name.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let mut name = Field { autocomplete: "off", ..Field::name(t, self.typed) };
        let summary = Summary::of(t, &self.problem, &mut [&mut name], None);
        (summary, name)
    }
}

/// The question before a factor is removed.
#[derive(Clone, Copy, Template)]
#[template(path = "remove_factor.html", whitespace = "minimize")]
pub struct RemoveFactor<'a> {
    pub page: PageContext<'a>,
    /// The passkey or security key. Else it is the authenticator app.
    pub passkey: Option<&'a Passkey>,
    /// Whether the person holds no other.
    pub is_last: bool,
}

impl RemoveFactor<'_> {
    fn heading(&self) -> String {
        let f = &self.page.texts().factors;
        f.remove_question(self.passkey.map_or(f.app, |passkey| &passkey.name))
    }

    fn explanation(&self) -> &'static str {
        let f = &self.page.texts().factors;
        match self.passkey {
            Some(_) => f.remove_passkey_explanation,
            None => f.remove_totp_explanation,
        }
    }

    fn path(&self) -> &'static str {
        match self.passkey {
            Some(_) => "/account/security/passkeys/remove",
            None => "/account/security/totp/remove",
        }
    }

    /// The page that shows what was not removed.
    fn back(&self) -> String {
        match self.passkey {
            Some(passkey) => format!("/account/security/passkeys/{}", passkey.id),
            None => "/account/security".into(),
        }
    }
}

/// The page that sets an authenticator app up.
#[derive(Clone, Template)]
#[template(path = "set_up_totp.html", whitespace = "minimize")]
pub struct SetUpTotp<'a> {
    pub page: PageContext<'a>,
    /// `None` if the secret and the names are too long for one.
    pub qr: Option<&'a QrPath>,
    /// The key as text, in groups that a person can copy.
    pub secret: &'a str,
    /// What the app reads from the QR code.
    pub uri: &'a str,
    /// What the code is sent with.
    pub setup: &'a str,
    pub target: Option<&'a str>,
    pub problem: FormProblem,
}

impl SetUpTotp<'_> {
    /// The summary and the code.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let mut code = Field::totp_code(t);
        let summary = Summary::of(t, &self.problem, &mut [&mut code], None);
        (summary, code)
    }
}
