//! The page to create an account.

use askama::Template;

use super::{
    super::text::{FieldFault, FormError, Texts},
    PageContext,
    field::{Field, Summary},
    html,
};

/// The page to create an account.
#[derive(Clone, Default)]
pub struct SignUp<'a> {
    /// The title of the app that asks to sign in.
    pub app: Option<&'a str>,
    /// The name as it was typed.
    pub name: &'a str,
    /// The address as it was typed.
    pub email: &'a str,
    /// Whether "stay signed in" is chosen.
    pub stay: bool,
    /// The return target, passed on in the field `for`.
    pub target: Option<&'a str>,
    /// The fewest characters of a password.
    pub min_password_length: usize,
    /// Why the form was refused.
    pub error: Option<FormError>,
    /// What is wrong with the name.
    pub name_fault: Option<FieldFault>,
    /// What is wrong with the address.
    pub email_fault: Option<FieldFault>,
    /// What is wrong with the password.
    pub password_fault: Option<FieldFault>,
}

#[derive(Template)]
#[template(path = "sign_up.html", whitespace = "minimize")]
struct Html<'a> {
    page: &'a PageContext<'a>,
    t: &'static Texts,
    view: &'a SignUp<'a>,
    heading: String,
    query: String,
    summary: Option<Summary>,
    name: Field<'a>,
    email: Field<'a>,
    password: Field<'a>,
}

impl SignUp<'_> {
    /// The HTML of the page.
    pub fn render(&self, page: &PageContext<'_>) -> String {
        let t = page.texts();
        let mut name = Field::name(t, self.name).with_fault(t, self.name_fault);
        let email = Field::email(t, self.email).with_fault(t, self.email_fault);
        let password = Field {
            label: t.password,
            ..Field::new_password(t, self.min_password_length).with_fault(t, self.password_fault)
        };
        let summary = Summary::of(t, self.error, &[&name, &email, &password]);
        name.autofocus = summary.is_none();
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
        })
    }
}
