//! Whom a condition decides about, and so what it can read.

use super::{
    facts::{CALLER, CLAIMS, CallerFacts, EXTERNAL, INVITER, KEY, REGISTRANT},
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
    /// Who signs in at another provider, by what it says of them.
    External,
}

impl Subject {
    /// How much memory patterns may take. Anybody makes keys; the operator writes all other conditions.
    pub(super) fn pattern_limit(self) -> PatternLimit {
        match self {
            Self::Key => PatternLimit::Together(64 << 10),
            Self::Caller | Self::Registrant | Self::Inviter | Self::External => {
                PatternLimit::Each(1 << 20)
            }
        }
    }

    /// The variables that a condition can read, and their fields.
    pub(super) fn variables(self) -> &'static [(&'static str, &'static [&'static str])] {
        match self {
            Self::Caller => &CALLER,
            Self::Registrant => &REGISTRANT,
            Self::Inviter => &INVITER,
            Self::Key => &KEY,
            Self::External => &EXTERNAL,
        }
    }

    /// Whether any condition has a variable of this name.
    pub(super) fn is_variable(name: &str) -> bool {
        let all = [Self::Caller, Self::Key, Self::External];
        all.iter().any(|subject| subject.fields(name).is_some())
    }

    /// Whether a condition may read any field of this variable, because a provider chooses which there are.
    pub(super) fn is_open(self, variable: &str) -> bool {
        self == Self::External && variable == CLAIMS
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
            // Nothing is known of the types of claims.
            Self::External => CallerFacts::of_external(&serde_json::Map::new()),
        }
    }

    /// When a condition about it is evaluated, for messages.
    pub(super) fn moment(self) -> &'static str {
        match self {
            Self::Caller => "when a guard decides",
            Self::Registrant => "when somebody registers",
            Self::Inviter => "when a user invites somebody",
            Self::Key => "when a key is used",
            Self::External => "when somebody signs in at a provider",
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

    fn external(text: &str, claims: &str) -> Result<(), super::super::Unsatisfied> {
        let condition = Condition::parse_about(Subject::External, text);
        let condition = condition.unwrap_or_else(|error| panic!("{text}: {error:?}"));
        let claims = serde_json::from_str(claims).unwrap();
        let address = Some([192, 0, 2, 9].into());
        let request = RequestFacts { address, ..RequestFacts::at(sample::NOW) };
        condition.holds(&CallerFacts::of_external(&claims), &request)
    }

    const CLAIMED: &str = r#"{
        "hd": "example.com", "email": "ada@example.com", "email_verified": true, "age": 37, "score": 1.5,
        "big": 18446744073709551615, "groups": ["staff", "acme/x"], "levels": [1, 2], "gone": null,
        "realm_access": { "roles": ["admin"] }, "address": { "country": { "code": "DE" } },
        "https://example.com/team": "blue", "nested": [["a"]], "maps": [{ "a": 1 }]
    }"#;

    #[test]
    fn a_condition_reads_any_claim_at_any_depth() {
        for text in [
            r#"claims.hd == "example.com" && claims["hd"] == "example.com""#,
            r#"claims.email_verified && claims.email.endsWith("@example.com")"#,
            "claims.email_verified == true && claims.age > 18 && claims.score == 1.5",
            "claims.big > 9223372036854775807u",
            r#""staff" in claims.groups && !("boss" in claims.groups) && 2 in claims.levels"#,
            r#"claims.groups.exists(g, g == "staff") && claims.groups.all(g, g.size() > 1)"#,
            r#"claims.groups.filter(g, g.startsWith("acme/")).size() == 1"#,
            r#""admin" in claims.realm_access.roles"#,
            r#"claims.realm_access["roles"].exists_one(r, r == "admin")"#,
            r#"claims.address.country.code in ["DE", "AT"]"#,
            r#"claims["https://example.com/team"] == "blue""#,
            r#"has(claims.hd) && !has(claims.nothing) && "hd" in claims && !("x" in claims)"#,
            r#"claims.exists(name, name == "hd") && size(claims.realm_access) == 1"#,
            r#"claims.groups[0] == "staff" && claims.groups == ["staff", "acme/x"]"#,
            r#"request.address.inNetwork("192.0.2.0/24") && request.time.getFullYear() == 2027"#,
            r#""at " + claims.hd == "at example.com" && claims.hd + "!" == "example.com!""#,
        ] {
            assert_eq!(external(text, CLAIMED), Ok(()), "{text}");
        }
    }

    #[test]
    fn an_absent_claim_satisfies_no_condition() {
        use super::super::Unsatisfied::Error;
        for text in [
            r#"claims.hd == "example.com""#,
            r#"claims.hd != "example.com""#,
            r#"!("banned" in claims.groups)"#,
            r#"claims.groups.all(g, g != "banned")"#,
            r#"!claims.groups.exists(g, g == "banned")"#,
            r#"claims.address.country.code != "US""#,
            "!claims.suspended",
        ] {
            assert_eq!(external(text, "{}"), Err(Error), "{text}");
        }
        // What is null, and lists that conditions do not read as a whole.
        for text in ["claims.gone == null", "size(claims.nested) > 0", "size(claims.maps) > 0"] {
            assert_eq!(external(text, CLAIMED), Err(Error), "{text}");
        }
        // A value of another type.
        for text in
            [r#"claims.age.startsWith("3")"#, "claims.hd", "claims.hd.x == 1", "!claims.age"]
        {
            assert_eq!(external(text, CLAIMED), Err(Error), "{text}");
        }
    }

    #[test]
    fn a_mistake_in_a_condition_about_claims_is_found() {
        for (text, at, message) in [
            (r#"claim.hd == "x""#, 0, "claim: did you mean claims?"),
            (
                r#"true && user.email == "x""#,
                8,
                "user: cannot be read when somebody signs in at a provider (there are claims and request)",
            ),
            (
                r#"request.path == "/""#,
                7,
                "request.path: cannot be read when somebody signs in at a provider (request has address, time)",
            ),
            (r#"claims.hd.lowr() == "x""#, 14, "lowr(): did you mean lower()?"),
            (
                r#"claims.groups.exists(g, x == g)"#,
                24,
                "x: unknown variable (there are claims and request)",
            ),
            (r#"claims.hd == "x" ? true : "no""#, 26, "gives string, not true or false"),
            (r#"claims.groups.map(g, g)"#, 17, "gives list, not true or false"),
            (r#"claims.a && 1 + "a" == 2"#, 9, "Unsupported binary operator"),
        ] {
            let (found, text_of) = error(Subject::External, text);
            assert!(text_of.starts_with(message), "{text}: {text_of}");
            assert_eq!(found, at, "{text}: {text_of}");
        }
        assert!(
            error(Subject::Caller, r#"claims.hd == "x""#).1.starts_with("claims: unknown variable")
        );
    }
}
