//! The page to create an account.

use askama::Template;

use super::{
    super::text::{FieldFault, FormError, Texts},
    PageContext, SCRIPT,
    field::{Field, SignInWith, Summary},
    html,
    passkey_button::{Signal, SignalElement},
};
use crate::fault::FaultKind;

/// The page to create an account.
#[derive(Clone, Default)]
pub struct SignUp<'a> {
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
    pub error: Option<FormError>,
    pub name_fault: Option<FieldFault>,
    pub email_fault: Option<FieldFault>,
    pub password_fault: Option<FieldFault>,
    /// What is wrong with the code of the invitation.
    pub invitation_fault: Option<FieldFault>,
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

#[derive(Template)]
#[template(path = "sign_up.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    view: &'a SignUp<'a>,
    heading: String,
    query: String,
    summary: Summary,
    name: Field<'a>,
    email: Field<'a>,
    password: Field<'a>,
    invitation: Option<Field<'a>>,
    sign_in_with: Option<SignInWith<'a>>,
    signal: Option<SignalElement<'a>>,
}

impl SignUp<'_> {
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let mut name = Field::name(t, self.name).with_fault(t, self.name_fault);
        let mut email = Field::email(t, self.email).with_fault(t, self.email_fault);
        let mut invitation = None;
        match self.invitation {
            None => {}
            Some(InvitationEntry::Link(_)) => {
                (email.readonly, email.hint) = (true, Some(t.invited_address.into()));
            }
            Some(InvitationEntry::Typed(code) | InvitationEntry::Optional(code)) => {
                let is_optional = matches!(self.invitation, Some(InvitationEntry::Optional(_)));
                let mut field = Field {
                    id: "invitation",
                    name: "invitation",
                    label: t.invitation_code,
                    ..Field::mail_code(t, code)
                };
                if is_optional {
                    (field.is_optional, field.hint) = (true, Some(t.invitation_code_hint.into()));
                }
                invitation = Some(field.with_fault(t, self.invitation_fault));
            }
        }
        let mut password = Field {
            label: t.password,
            ..Field::new_password(t, self.min_password_length).with_fault(t, self.password_fault)
        };
        let mut sign_in_with = None;
        if self.email_fault == Some(FieldFault::Rule(FaultKind::EmailTaken)) {
            let (base, target) = (page.base, self.target);
            sign_in_with = Some(SignInWith { base, email: self.email, target });
            email.way_out = Some(t.sign_in_with_it);
        }
        let mut fields = vec![&mut name, &mut email, &mut password];
        fields.extend(&mut invitation);
        let summary = Summary::of(t, self.error, &mut fields, Some("name"));
        html(&Html {
            page,
            t,
            view: self,
            heading: match self.app {
                Some(app) => (t.sign_up_for)(app),
                None => t.sign_up_heading.into(),
            },
            query: PageContext::query(self.target),
            summary,
            name,
            email,
            password,
            invitation,
            sign_in_with,
            signal: self.signal.map(SignalElement::from),
        })
    }
}
