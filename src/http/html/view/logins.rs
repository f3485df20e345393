//! What pages show of other providers: the buttons that lead there, the question before an account there is linked, and the page that
//! asks for an address.

use askama::{Template, filters::HtmlSafe};

use super::{
    super::text::FormProblem,
    PageContext,
    field::{Field, Summary},
};
use crate::{event::ExternalFailure, federation::Preset};

/// The way to sign in with another provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginButton {
    pub name: String,
    pub label: String,
    pub preset: Preset,
}

/// The mark of a provider, as it asks to be shown. One with a single colour has that of the text.
#[derive(Clone, Copy)]
pub(super) struct Mark(&'static str);

impl LoginButton {
    pub(super) fn mark(&self) -> Mark {
        Mark(match self.preset {
            Preset::Google => include_str!("../../../../assets/logins/google.svg"),
            Preset::GitHub => include_str!("../../../../assets/logins/github.svg"),
            Preset::Microsoft => include_str!("../../../../assets/logins/microsoft.svg"),
            Preset::Apple => include_str!("../../../../assets/logins/apple.svg"),
            Preset::GitLab => include_str!("../../../../assets/logins/gitlab.svg"),
            Preset::Oidc => include_str!("../../../../assets/logins/oidc.svg"),
        })
    }
}

impl Mark {
    pub(super) fn svg(self) -> &'static str {
        self.0.trim_end()
    }
}

/// The buttons that lead to other providers.
#[derive(Template)]
#[template(path = "login_buttons.html", whitespace = "minimize")]
pub(super) struct LoginButtons<'a> {
    pub(super) page: PageContext<'a>,
    pub(super) logins: &'a [LoginButton],
    /// What each of their addresses ends with.
    pub(super) query: String,
}

impl HtmlSafe for LoginButtons<'_> {}

impl LoginButtons<'_> {
    fn words(&self, login: &LoginButton) -> String {
        self.page.texts().logins.continue_with(&login.label)
    }
}

/// The question before an account at another provider is linked.
#[derive(Clone, Template)]
#[template(path = "link_login.html", whitespace = "minimize")]
pub struct LinkLogin<'a> {
    pub page: PageContext<'a>,
    /// What the login is called.
    pub label: &'a str,
    /// What the person recognises the account by.
    pub display: &'a str,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    pub problem: FormProblem,
}

impl LinkLogin<'_> {
    fn summary(&self) -> Summary {
        Summary::of(self.page.texts(), &self.problem, &mut [], None)
    }
}

/// The page on which a person proves an address that another provider does not vouch for.
#[derive(Clone, Template)]
#[template(path = "prove_address.html", whitespace = "minimize")]
pub struct ProveAddress<'a> {
    pub page: PageContext<'a>,
    /// What the login is called.
    pub label: &'a str,
    /// Who has come back from the provider, sealed.
    pub person: &'a str,
    pub email: &'a str,
    /// Whether a code is on its way to the address.
    pub is_sent: bool,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    pub problem: FormProblem,
}

impl ProveAddress<'_> {
    /// The summary, and the address, or the code that was sent to it.
    fn form(&self) -> (Summary, Field<'_>) {
        let t = self.page.texts();
        let mut field = match self.is_sent {
            true => Field::mail_code(t, ""),
            false => Field::email(t, self.email),
        };
        let first = field.id;
        let summary = Summary::of(t, &self.problem, &mut [&mut field], Some(first));
        (summary, field)
    }

    fn explanation(&self) -> String {
        let t = self.page.texts();
        match self.is_sent {
            true => t.code_mailed(self.email),
            false => t.logins.prove_explanation(self.label),
        }
    }
}

/// The question whose an account is that nobody has verified, and that has the address of whoever has come back from a provider.
#[derive(Clone, Copy, Template)]
#[template(path = "unverified_account.html", whitespace = "minimize")]
pub struct UnverifiedAccount<'a> {
    pub page: PageContext<'a>,
    pub email: &'a str,
    /// Who has come back from the provider, sealed.
    pub person: &'a str,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
}

impl NotSignedIn<'_> {
    fn buttons(&self) -> LoginButtons<'_> {
        let query = PageContext::query(self.target);
        LoginButtons { page: self.page, logins: self.others, query }
    }
}

/// The page that says why a login has signed nobody in, with the other ways.
#[derive(Clone, Copy, Template)]
#[template(path = "not_signed_in.html", whitespace = "minimize")]
pub struct NotSignedIn<'a> {
    pub page: PageContext<'a>,
    /// What the login is called.
    pub label: &'a str,
    pub failure: ExternalFailure,
    /// The logins that may do better.
    pub others: &'a [LoginButton],
    /// The return target, passed on to the other ways.
    pub target: Option<&'a str>,
    /// The page of which a signed-in person has come; `None` for whoever signs in.
    pub way_back: Option<&'a str>,
}
