//! One field of a form with its label, hint and fault, and the summary of faults at the top of a page.

use askama::{Template, filters::HtmlSafe};

use super::super::text::{FormProblem, Texts};

/// A field of a form.
#[derive(Template)]
#[template(path = "field.html", whitespace = "minimize")]
pub(super) struct Field<'a> {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) label: &'static str,
    /// The `type` of the input.
    pub(super) kind: &'static str,
    pub(super) value: &'a str,
    pub(super) autocomplete: &'static str,
    pub(super) minlength: Option<usize>,
    pub(super) inputmode: Option<&'static str>,
    pub(super) readonly: bool,
    pub(super) is_optional: bool,
    pub(super) hint: Option<String>,
    pub(super) fault: Option<String>,
    /// The words of a button behind the fault, which sends [`SignInWith`].
    pub(super) way_out: Option<&'static str>,
    /// A link beside the label: its address and its words. The keyboard reaches it after the field.
    pub(super) aside: Option<(String, &'static str)>,
    pub(super) autofocus: bool,
}

impl HtmlSafe for Field<'_> {}

impl<'a> Field<'a> {
    pub(super) fn new(
        id: &'static str,
        name: &'static str,
        label: &'static str,
        kind: &'static str,
        autocomplete: &'static str,
    ) -> Self {
        Self {
            id,
            name,
            label,
            kind,
            value: "",
            autocomplete,
            minlength: None,
            inputmode: None,
            readonly: false,
            is_optional: false,
            hint: None,
            fault: None,
            way_out: None,
            aside: None,
            autofocus: false,
        }
    }

    pub(super) fn name(t: &Texts, value: &'a str) -> Self {
        Self { value, ..Self::new("name", "name", t.name, "text", "name") }
    }

    /// The address as the name of an account: password managers keep it with the password.
    pub(super) fn email(t: &Texts, value: &'a str) -> Self {
        Self { value, ..Self::new("email", "email", t.email, "email", "username") }
    }

    pub(super) fn password(t: &Texts) -> Self {
        Self::new("password", "password", t.password, "password", "current-password")
    }

    pub(super) fn new_password(t: &'static Texts, minimum: usize) -> Self {
        Self {
            minlength: Some(minimum),
            hint: Some(t.new_password_hint(minimum)),
            ..Self::new("password", "password", t.new_password, "password", "new-password")
        }
    }

    /// The code in a mail. Phones show a keypad for it.
    pub(super) fn mail_code(t: &Texts, value: &'a str) -> Self {
        Self {
            value,
            inputmode: Some("numeric"),
            hint: Some(t.mail_code_hint.into()),
            ..Self::new("code", "code", t.mail_code, "text", "one-time-code")
        }
    }

    /// The code that an authenticator app shows.
    pub(super) fn totp_code(t: &Texts) -> Self {
        Self {
            inputmode: Some("numeric"),
            hint: Some(t.factors.totp_code_hint.into()),
            ..Self::new("code", "code", t.factors.totp_code, "text", "one-time-code")
        }
    }
}

/// The form behind a fault that leads to the sign-in page with the address filled in. It is a form of its own, so that the
/// enter key sends the other one, and no link, so that no URL contains an address.
#[derive(Template)]
#[template(path = "sign_in_with.html", whitespace = "minimize")]
pub(super) struct SignInWith<'a> {
    pub(super) base: &'a str,
    pub(super) email: &'a str,
    /// The return target.
    pub(super) target: Option<&'a str>,
}

impl HtmlSafe for SignInWith<'_> {}

/// What is wrong with a form, at the top of the page. A single fault of a field is said at the field alone.
#[derive(Template)]
#[template(path = "summary.html", whitespace = "minimize")]
pub(super) struct Summary {
    heading: &'static str,
    error: Option<String>,
    /// The ids and the labels of the fields with a fault.
    faults: Vec<(&'static str, &'static str)>,
}

impl HtmlSafe for Summary {}

impl Summary {
    /// The summary of what is wrong with a form. Each of its fields gets the fault of its name. The focus goes to the summary,
    /// or to the only field with a fault, or to the field `first` of a form without any.
    pub(super) fn of(
        t: &Texts,
        problem: &FormProblem,
        fields: &mut [&mut Field<'_>],
        first: Option<&'static str>,
    ) -> Self {
        for field in &mut *fields {
            field.fault = problem.fault(field.name).map(|fault| t.field_fault(fault));
        }
        let with_fault = fields.iter().filter(|field| field.fault.is_some());
        let faults: Vec<_> = with_fault.map(|field| (field.id, field.label)).collect();
        let error = problem.error.map(|error| t.form_error(error));
        let summary = Self { heading: t.problem, error, faults };
        let focused = match summary.faults[..] {
            _ if summary.is_shown() => None,
            [(id, _)] => Some(id),
            _ => first,
        };
        for field in fields {
            field.autofocus = Some(field.id) == focused;
        }
        summary
    }

    /// Whether the form was refused.
    pub(super) fn is_refusal(&self) -> bool {
        self.error.is_some() || !self.faults.is_empty()
    }

    fn is_shown(&self) -> bool {
        self.error.is_some() || self.faults.len() > 1
    }
}
