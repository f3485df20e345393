//! Whom a condition decides about, and so what it can read.

use super::{
    facts::{CALLER, CallerFacts, INVITER, KEY, REGISTRANT},
    prepare::PatternLimit,
    sample,
};

/// Whom a condition decides about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Who makes a guarded request.
    Caller,
    /// Who registers: there is no user and no session yet.
    Registrant,
    /// A user who invites somebody.
    Inviter,
    /// Who uses an API key.
    Key,
}

impl Subject {
    /// How much memory patterns may take. Anybody makes keys; the operator writes all other conditions.
    pub(super) fn pattern_limit(self) -> PatternLimit {
        match self {
            Self::Key => PatternLimit::Together(64 << 10),
            Self::Caller | Self::Registrant | Self::Inviter => PatternLimit::Each(1 << 20),
        }
    }

    /// The variables that a condition can read, and their fields.
    pub(super) fn variables(self) -> &'static [(&'static str, &'static [&'static str])] {
        match self {
            Self::Caller => &CALLER,
            Self::Registrant => &REGISTRANT,
            Self::Inviter => &INVITER,
            Self::Key => &KEY,
        }
    }

    /// Whether any condition has a variable of this name.
    pub(super) fn is_variable(name: &str) -> bool {
        [Self::Caller, Self::Key].iter().any(|subject| subject.fields(name).is_some())
    }

    /// The fields of a variable.
    pub(super) fn fields(self, variable: &str) -> Option<&'static [&'static str]> {
        let known = self.variables().iter().find(|(known, _)| *known == variable);
        known.map(|(_, fields)| *fields)
    }

    /// The facts about a sample of it.
    pub(super) fn sample_facts(self) -> CallerFacts {
        let user = sample::user();
        match self {
            Self::Caller => sample::caller_facts(),
            Self::Registrant => CallerFacts::of_registrant(&user.name, &user.email),
            Self::Inviter => CallerFacts::of_user(&user),
            Self::Key => CallerFacts::of_key(&sample::api_key(), Some("wiki")),
        }
    }

    /// When a condition about it is evaluated, for messages.
    pub(super) fn moment(self) -> &'static str {
        match self {
            Self::Caller => "when a guard decides",
            Self::Registrant => "when somebody registers",
            Self::Inviter => "when a user invites somebody",
            Self::Key => "when a key is used",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Condition, RequestFacts},
        *,
    };

    fn error(subject: Subject, text: &str) -> (usize, String) {
        let error = Condition::parse_about(subject, text).err();
        let error = error.unwrap_or_else(|| panic!("{text} was accepted"));
        (error.at, error.message)
    }

    #[test]
    fn a_condition_reads_only_what_is_known_about_its_subject() {
        use Subject::{Inviter, Key, Registrant};
        for (subject, text) in [
            (Registrant, r#"user.name == "Ada Lövelace" && user.domain == "example.com""#),
            (Registrant, r#"user.email.endsWith(".com") && request.time.getFullYear() > 2000"#),
            (Registrant, r#"request.address.inNetwork("192.0.2.0/24")"#),
            (Registrant, r#"["name", "email", "domain"].all(field, field in user)"#),
            (Inviter, r#""staff" in user.roles && user.emailVerified && !user.disabled"#),
            (Inviter, r#"request.time - user.createdAt > duration("1h")"#),
            (Key, r#"guard.name in ["wiki", "git"] && key.name.startsWith("ci")"#),
            (Key, r#"request.time - key.createdAt < duration("720h") && key.id.size() == 36"#),
            (Key, r#"has(guard.name) && request.address.inNetwork("192.0.2.0/24")"#),
        ] {
            let condition = Condition::parse_about(subject, text);
            let condition = condition.unwrap_or_else(|error| panic!("{text}: {error:?}"));
            let request = RequestFacts {
                address: (subject != Inviter).then_some([192, 0, 2, 9].into()),
                ..RequestFacts::at(sample::request().time)
            };
            assert_eq!(condition.holds(&subject.sample_facts(), &request), Ok(()), "{text}");
        }
        for (subject, text, at, message) in [
            (
                Registrant,
                r#"true && "staff" in user.roles"#,
                23,
                "user.roles: cannot be read when somebody registers (user has name, email, domain)",
            ),
            (
                Registrant,
                "user.emailVerified",
                4,
                "user.emailVerified: cannot be read when somebody registers (user has name, email, domain)",
            ),
            (
                Registrant,
                r#"request["path"] == "/""#,
                7,
                "request.path: cannot be read when somebody registers (request has address, time)",
            ),
            (
                Registrant,
                r#"session.address == "::1""#,
                0,
                "session: cannot be read when somebody registers (there are user and request)",
            ),
            (Registrant, "user.nmae == \"x\"", 4, "user.nmae: did you mean name?"),
            (
                Registrant,
                "somebody == \"x\"",
                0,
                "somebody: unknown variable (there are user and request)",
            ),
            (
                Inviter,
                r#"request.address == "::1""#,
                7,
                "request.address: cannot be read when a user invites somebody (request has time)",
            ),
            (
                Key,
                r#""staff" in user.roles"#,
                11,
                "user: cannot be read when a key is used (there are key, guard and request)",
            ),
            (Key, r#"guard.nmae == "wiki""#, 5, "guard.nmae: did you mean name?"),
        ] {
            assert_eq!(error(subject, text), (at, message.to_owned()), "{text}");
        }
    }

    #[test]
    fn an_unreadable_field_is_not_found_by_other_means_either() {
        let condition = Condition::parse_about(Subject::Registrant, r#"user["ro" + "les"] == []"#);
        let condition = condition.unwrap_or_else(|error| panic!("{error:?}"));
        let facts = Subject::Registrant.sample_facts();
        assert!(condition.holds(&facts, &RequestFacts::at(sample::NOW)).is_err());
        assert!(Condition::parse("user.disabled || true").is_ok());
    }
}
