//! What pages show as examples of input. A test gives each of them to the parser of its field.

/// A condition of an API key.
macro_rules! condition {
    () => {
        "request.address.inNetwork(\"192.0.2.0/24\")"
    };
}

/// A role.
macro_rules! role {
    () => {
        "admin"
    };
}

/// An e-mail address.
macro_rules! email {
    () => {
        "ada@example.com"
    };
}

pub(super) use {condition, email, role};

#[cfg(test)]
mod tests {
    use crate::{
        access::api_key::parse_condition,
        fault::FaultKind,
        http::html::text::{FieldFault, Texts},
        language::Language,
        user::{Email, Role},
    };

    #[test]
    fn every_example_is_accepted_by_its_field_and_shown_by_its_text() {
        parse_condition(condition!()).unwrap();
        Role::parse(role!()).unwrap();
        Email::parse(email!().into()).unwrap();
        for language in [Language::English, Language::German] {
            let t = Texts::of(language);
            let email_fault = t.field_fault(FieldFault::Rule(FaultKind::InvalidEmail));
            for (text, example) in [
                (t.admin.key_condition_hint, condition!()),
                (t.admin.emergency_role_hint, role!()),
                (&*email_fault, email!()),
            ] {
                assert!(text.contains(&format!(" {example}")), "{example}: {text}");
            }
        }
    }
}
