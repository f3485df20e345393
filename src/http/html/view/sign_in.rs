//! The page to sign in.

use askama::Template;

use super::{
    super::text::{FormProblem, Notice},
    PageContext, SCRIPT,
    field::{Field, Summary},
    logins::{LoginButton, LoginButtons},
    passkey_button::{PasskeyButton, Signal, SignalElement},
};

/// The page to sign in.
#[derive(Clone, Template)]
#[template(path = "sign_in.html", whitespace = "minimize")]
pub struct SignIn<'a> {
    pub page: PageContext<'a>,
    /// The title of the app that asks for it.
    pub app: Option<&'a str>,
    /// The address as it was typed.
    pub email: &'a str,
    /// Whether "stay signed in" is chosen.
    pub stay: bool,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    /// Whether the service mails links to set a new password.
    pub sends_mail: bool,
    /// Whether people sign in with mailed codes.
    pub has_mail_code: bool,
    /// The challenge that a passkey answers, and what the browser asks it, as JSON.
    pub passkey: Option<(&'a str, &'a str)>,
    pub signal: Option<Signal<'a>>,
    /// Other providers that people sign in with.
    pub logins: &'a [LoginButton],
    /// Whether anybody can create an account.
    pub has_sign_up: bool,
    pub notice: Option<Notice>,
    pub problem: FormProblem,
}

impl SignIn<'_> {
    fn heading(&self) -> String {
        let t = self.page.texts();
        match self.app {
            Some(app) => t.sign_in_to(app),
            None => t.sign_in_heading.into(),
        }
    }

    /// The summary, the address and the password.
    fn form(&self) -> (Summary, Field<'_>, Field<'_>) {
        let t = self.page.texts();
        let mut email = Field::email(t, self.email);
        if self.passkey.is_some() {
            email.autocomplete = "username webauthn";
        }
        let mut password = Field::password(t);
        let forgot = if self.sends_mail { "/forgot" } else { "/reset" };
        let query = PageContext::query(self.target);
        password.aside = Some((format!("{}{forgot}{query}", self.page.base), t.forgot_password));
        let first = if self.email.is_empty() { email.id } else { password.id };
        let summary = Summary::of(t, &self.problem, &mut [&mut email, &mut password], Some(first));
        (summary, email, password)
    }

    fn login_buttons(&self) -> LoginButtons<'_> {
        let query = PageContext::query(self.target);
        LoginButtons { page: self.page, logins: self.logins, query }
    }

    fn button(&self) -> Option<PasskeyButton<'_>> {
        self.passkey.map(|(_, options)| {
            let label = self.page.texts().factors.sign_in_with_passkey;
            let button = PasskeyButton::new(&self.page, "/sign-in/passkey", options, label);
            PasskeyButton { is_quiet: true, fills_in: true, ..button }
        })
    }
}
