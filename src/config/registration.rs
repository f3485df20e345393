//! `registration`, `registration_conflict` and `[invitations]`: who may join.

use super::{
    Settings,
    key::Key,
    value::{Choice, Field, Value, enumerate, field},
};
use crate::{
    access::{
        guard::ConditionError,
        registration::{InvitationPolicy, RegistrationPolicy},
    },
    spelling::suggest,
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "registration",
        purpose: "Who may register: open, invited, closed, or a condition about name, address, domain and network",
        value: &PolicyValue {
            field: field!(registration),
            parse: RegistrationPolicy::parse,
            text: RegistrationPolicy::text,
            names: &RegistrationPolicy::NAMES,
        },
    },
    Key {
        name: "registration_conflict",
        purpose: "Whether a registration with a taken address is told so, or its owner gets a mail and nobody is told",
        value: &Choice {
            field: field!(registration_conflict),
            choices: &[
                ("tell", RegistrationConflict::Tell),
                ("silent", RegistrationConflict::Silent),
            ],
        },
    },
    Key {
        name: "invitations.allow",
        purpose: "Condition about the users who may invite others; their own address must be verified",
        value: &PolicyValue {
            field: field!(invitations),
            parse: InvitationPolicy::parse,
            text: InvitationPolicy::text,
            names: &[],
        },
    },
];

/// What somebody is told who registers with a taken address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RegistrationConflict {
    /// That it is taken.
    #[default]
    Tell,
    /// The same as with a free address. The owner of the address gets a mail.
    Silent,
}

/// A condition, or the name of a policy without one.
struct PolicyValue<T: 'static> {
    field: Field<T>,
    parse: fn(&str) -> Result<T, ConditionError>,
    text: fn(&T) -> &str,
    names: &'static [&'static str],
}

impl<T: Sync> Value for PolicyValue<T> {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        *(self.field.get_mut)(settings) = (self.parse)(text).ok()?;
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        (self.text)((self.field.get)(settings)).to_owned()
    }

    fn allowed(&self) -> String {
        enumerate(self.names.iter().copied().chain(["a condition"]), "or")
    }

    fn suggestion(&self, typed: &str) -> Option<&'static str> {
        suggest(typed, self.names.iter().copied())
    }

    fn fault_in(&self, text: &str) -> Option<(usize, String)> {
        // A single word is a misspelled name.
        let is_word = text.trim().bytes().all(|byte| byte.is_ascii_alphanumeric());
        if is_word && !self.names.is_empty() {
            return None;
        }
        (self.parse)(text).err().map(|ConditionError { at, message }| (at, message))
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{Settings, tests::load};

    #[test]
    fn a_broken_condition_is_refused_with_its_place() {
        for (file, error) in [
            (
                "registration = 'user.nmae == \"x\"'\n",
                "doorward.toml:1:21: registration: user.nmae: did you mean name?",
            ),
            (
                "registration = '''\n  true &&\n  \"staff\" in user.roles'''\n",
                "doorward.toml:3:18: registration: user.roles: cannot be read when somebody registers (user has name, \
                 email, domain)",
            ),
            (
                "registration = 'request.address.inNetwork(\"10.0.0.0/33\")'\n",
                "doorward.toml:1:43: registration: inNetwork(): \"10.0.0.0/33\" is not a network or an address, such as \
                 10.0.0.0/8 or ::1",
            ),
            (
                "registration = \"user.name\"\n",
                "doorward.toml:1:21: registration: gives string, not true or false",
            ),
            (
                "registration = \"opened\"\n",
                "doorward.toml:1:1: registration: \"opened\" is not open, invited, closed or a condition: did you mean \
                 open?",
            ),
            (
                "[invitations]\nallow = \"request.path == '/'\"\n",
                "doorward.toml:2:17: invitations.allow: request.path: cannot be read when a user invites somebody \
                 (request has time)",
            ),
            (
                "[invitations]\nallow = \"staff\"\n",
                "doorward.toml:2:10: invitations.allow: staff: unknown variable (there are user and request)",
            ),
        ] {
            assert_eq!(load(&[], &[], file).map(|_| ()), Err(error.into()), "{file}");
        }
        assert_eq!(
            load(&[("registration", "user.nmae == 'x'")], &[], "").map(|_| ()),
            Err("--registration: user.nmae: did you mean name? (at character 5)".into())
        );
        assert!(load(&[], &[("DOORWARD_REGISTRATION", "user.name + 1")], "").is_err());
    }

    #[test]
    fn policies_are_read_from_every_source() {
        let condition = "user.domain == 'example.com'";
        let expected = Settings::new().with("registration", condition);
        assert!(expected.check().is_ok());
        assert_eq!(load(&[("registration", condition)], &[], ""), Ok(expected.clone()));
        assert_eq!(load(&[], &[("DOORWARD_REGISTRATION", condition)], ""), Ok(expected.clone()));
        let file = format!("registration = \"{condition}\"\n");
        assert_eq!(load(&[], &[], &file), Ok(expected));
        let allowed = load(&[], &[], "[invitations]\nallow = true\n");
        assert_eq!(allowed, Ok(Settings::new().with("invitations.allow", "true")));
    }

    #[test]
    fn a_silent_conflict_needs_mail() {
        let silent = Settings::new().with("registration_conflict", "silent");
        assert_eq!(
            silent.check().unwrap_err().to_string(),
            "registration_conflict: \"silent\" needs mail, which tells the owner of the address: set mail.url"
        );
        assert!(Settings::new().with("registration_conflict", "tell").check().is_ok());
    }
}
