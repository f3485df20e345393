//! One field of a form with its label, hint and fault, and the summary of faults at the top of a page.

use askama::{Template, filters::HtmlSafe};

use super::super::text::{FieldFault, FormError, Texts};

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
    pub(super) hint: Option<String>,
    pub(super) fault: Option<String>,
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
            hint: None,
            fault: None,
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
            hint: Some((t.new_password_hint)(minimum)),
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

    pub(super) fn with_fault(mut self, t: &Texts, fault: Option<FieldFault>) -> Self {
        self.fault = fault.map(t.field_fault);
        self
    }
}

/// What is wrong, at the top of the page. It takes the focus.
#[derive(Template)]
#[template(path = "summary.html", whitespace = "minimize")]
pub(super) struct Summary {
    heading: &'static str,
    error: Option<String>,
    faults: Vec<(&'static str, &'static str, String)>,
}

impl HtmlSafe for Summary {}

impl Summary {
    /// The summary of the error of a form and the faults of its fields, if there are any.
    pub(super) fn of(t: &Texts, error: Option<FormError>, fields: &[&Field<'_>]) -> Option<Self> {
        let faults = fields
            .iter()
            .filter_map(|field| Some((field.id, field.label, field.fault.clone()?)))
            .collect::<Vec<_>>();
        let error = error.map(t.form_error);
        let is_empty = error.is_none() && faults.is_empty();
        (!is_empty).then_some(Self { heading: t.problem, error, faults })
    }
}
