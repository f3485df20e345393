//! The page to create an account.

use askama::Template;

use super::{
    super::text::FormProblem,
    PageContext, SCRIPT,
    field::{Field, SignInWith, Summary},
    logins::{LoginButton, LoginButtons},
    passkey_button::{Signal, SignalElement},
};

/// The page to create an account.
#[derive(Clone, Template)]
#[template(path = "sign_up.html", whitespace = "minimize")]
pub struct SignUp<'a> {
    pub page: PageContext<'a>,
    /// The title of the app that asks to sign in.
    pub app: Option<&'a str>,
    /// The name as it was typed.
    pub name: &'a str,
    /// The address as it was typed.
    pub email: &'a str,
    /// Whether a passkey can stand in for the password.
    pub offers_passkey: bool,
    pub signal: Option<Signal<'a>>,
    /// The invitation that the person has.
    pub invitation: Option<InvitationEntry<'a>>,
    /// Whether "stay signed in" is chosen.
    pub stay: bool,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    /// The fewest characters of a password.
    pub min_password_length: usize,
    /// Other providers that people sign up with.
    pub logins: &'a [LoginButton],
    pub problem: FormProblem,
}

/// How an invitation gets to the page.
#[derive(Clone, Copy)]
pub enum InvitationEntry<'a> {
    /// By a link with this secret. The address is that of the invitation.
    Link(&'a str),
    /// The person types its code.
    Typed(&'a str),
    /// The person may type a code, if they have one.
    Optional(&'a str),
}

impl SignUp<'_> {
    fn login_buttons(&self) -> LoginButtons<'_> {
        let query = PageContext::query(self.target);
        LoginButtons { page: self.page, logins: self.logins, query }
    }

    fn heading(&self) -> String {
        let t = self.page.texts();
        match self.app {
            Some(app) => t.sign_up_for(app),
            None => t.sign_up_heading.into(),
        }
    }

    /// The summary, the name, the address, the password and the code of an invitation.
    fn form(&self) -> (Summary, [Field<'_>; 3], Option<Field<'_>>) {
        let t = self.page.texts();
        let mut name = Field::name(t, self.name);
        let mut email = Field::email(t, self.email);
        if let Some(InvitationEntry::Link(_)) = self.invitation {
            (email.readonly, email.hint) = (true, Some(t.invited_address.into()));
        }
        if self.problem.is_email_taken() {
            email.way_out = Some(t.sign_in_with_it);
        }
        let mut password =
            Field { label: t.password, ..Field::new_password(t, self.min_password_length) };
        let mut invitation = self.invitation_field();
        let mut fields = vec![&mut name, &mut email, &mut password];
        fields.extend(&mut invitation);
        let summary = Summary::of(t, &self.problem, &mut fields, Some("name"));
        (summary, [name, email, password], invitation)
    }

    /// The field for the code of an invitation that did not come by a link.
    fn invitation_field(&self) -> Option<Field<'_>> {
        let t = self.page.texts();
        let (code, is_optional) = match self.invitation? {
            InvitationEntry::Link(_) => return None,
            InvitationEntry::Typed(code) => (code, false),
            InvitationEntry::Optional(code) => (code, true),
        };
        let mut field = Field {
            id: "invitation",
            name: "invitation",
            label: t.invitation_code,
            ..Field::mail_code(t, code)
        };
        if is_optional {
            (field.is_optional, field.hint) = (true, Some(t.invitation_code_hint.into()));
        }
        Some(field)
    }

    fn sign_in_with(&self) -> Option<SignInWith<'_>> {
        let (base, email, target) = (self.page.base, self.email, self.target);
        self.problem.is_email_taken().then_some(SignInWith { base, email, target })
    }
}
