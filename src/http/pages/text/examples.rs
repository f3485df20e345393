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
        http::pages::text::{FieldFault, Texts},
        language::Language,
        user::{Email, Role},
    };

    /// The texts that show an example, in both languages.
    fn texts() -> Vec<String> {
        [Language::English, Language::German]
            .into_iter()
            .flat_map(|language| {
                let t = Texts::of(language);
                let fault =
                    (t.field_fault)(FieldFault::Rule(crate::fault::FaultKind::InvalidEmail));
                [t.admin.key_condition_hint.into(), t.admin.emergency_role_hint.into(), fault]
            })
            .collect()
    }

    #[test]
    fn every_example_is_accepted_by_the_field_that_shows_it() {
        parse_condition(condition!()).unwrap();
        Role::parse(role!()).unwrap();
        Email::parse(email!().into()).unwrap();
        for text in texts() {
            let examples = [condition!(), role!(), email!()];
            assert!(examples.iter().any(|example| text.contains(example)), "{text}");
        }
    }
}
