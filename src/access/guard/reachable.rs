//! What a refused person can still reach by themselves, and whether the guard would admit them then.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{CallerFacts, Guard, RequestFacts};
use crate::{session::Session, user::User};

/// What a person can still reach by themselves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reachable {
    /// They can verify their address with a mail.
    verified_email: bool,
}

impl Reachable {
    /// What this user can reach, where the service sends mail or not.
    pub fn by(user: &User, sends_mail: bool) -> Self {
        Self { verified_email: sends_mail && !user.email_verified }
    }
}

/// What a refused person lacks and can reach. With it, the guard would admit the same request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    VerifiedEmail,
}

impl Missing {
    /// What operators are told about a refusal.
    pub fn sentence(self) -> String {
        format!("would be admitted with {self}")
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::VerifiedEmail => "a verified address",
        })
    }
}

impl Guard {
    /// What a user lacks whom the guard has just refused. Evaluates the condition at most once, and caches nothing.
    pub fn missing(
        &self,
        user: &User,
        session: &Session,
        request: &RequestFacts<'_>,
        reachable: Reachable,
    ) -> Option<Missing> {
        if !reachable.verified_email {
            return None;
        }
        let verified = User { email_verified: true, ..user.clone() };
        let facts = CallerFacts::new(&verified, session);
        self.condition.holds(&facts, request).is_ok().then_some(Missing::VerifiedEmail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::guard::{Declaration, Memo, sample};

    fn missing(allow: &str, is_verified: bool, sends_mail: bool) -> Option<Missing> {
        let declaration =
            Declaration { name: "app".into(), allow: allow.into(), ..Declaration::default() };
        let guard = Guard::declare(declaration).unwrap_or_else(|_| panic!("{allow}"));
        let user = User { email_verified: is_verified, ..sample::user() };
        let session = sample::session(&user, [192, 0, 2, 7].into());
        let (memo, request) = (Memo::default(), sample::request());
        let decision = guard.decide(&user, &session, &memo, &request);
        let reachable = Reachable::by(&user, sends_mail);
        let missing = guard.missing(&user, &session, &request, reachable);
        assert_eq!(guard.decide(&user, &session, &memo, &request), decision, "{allow}");
        missing
    }

    #[test]
    fn a_verified_address_is_missing_only_if_it_can_be_reached_and_suffices() {
        let verified = Some(Missing::VerifiedEmail);
        for (allow, is_verified, sends_mail, expected) in [
            ("user.emailVerified", false, true, verified),
            (r#"user.emailVerified && "staff" in user.roles"#, false, true, verified),
            (r#"user["emailVerified"] && request.method == "GET""#, false, true, verified),
            ("user.emailVerified", false, false, None),
            ("user.emailVerified", true, true, None),
            (r#"user.emailVerified && "boss" in user.roles"#, false, true, None),
            (r#"user.emailVerified && request.method == "POST""#, false, true, None),
            (r#"user.emailVerified && user.roles[9] == """#, false, true, None),
            ("user.disabled", false, true, None),
            ("!user.emailVerified && user.disabled", false, true, None),
        ] {
            assert_eq!(missing(allow, is_verified, sends_mail), expected, "{allow}");
        }
    }

    #[test]
    fn what_is_missing_is_said_in_words() {
        assert_eq!(Missing::VerifiedEmail.sentence(), "would be admitted with a verified address");
    }
}
