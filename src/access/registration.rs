//! Who may register, and which users may invite others.

use std::{net::IpAddr, sync::Arc};

use super::guard::{CallerFacts, Condition, ConditionError, RequestFacts, Subject};
use crate::{
    clock::Timestamp,
    event::RegistrationRefusal,
    user::{Email, Name, User},
};

/// Who may register.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum RegistrationPolicy {
    /// Everybody.
    #[default]
    Open,
    /// Whoever has an invitation.
    Invited,
    /// Nobody, not even with an invitation.
    Closed,
    /// Whoever satisfies the condition or has an invitation.
    If(RegistrationCondition),
}

impl RegistrationPolicy {
    const OPEN: &str = "open";
    const INVITED: &str = "invited";
    const CLOSED: &str = "closed";
    /// The policies that are not a condition.
    pub const NAMES: [&str; 3] = [Self::OPEN, Self::INVITED, Self::CLOSED];

    /// A policy as it is written in the settings.
    ///
    /// # Errors
    /// If it is not the name of a policy, and the condition is not valid.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        match text.trim() {
            Self::OPEN => Ok(Self::Open),
            Self::INVITED => Ok(Self::Invited),
            Self::CLOSED => Ok(Self::Closed),
            _ => RegistrationCondition::parse(Subject::Registrant, text).map(Self::If),
        }
    }

    /// The text that [`Self::parse`] reads.
    pub fn text(&self) -> &str {
        match self {
            Self::Open => Self::OPEN,
            Self::Invited => Self::INVITED,
            Self::Closed => Self::CLOSED,
            Self::If(condition) => condition.text(),
        }
    }

    /// Whether somebody may register with this name and e-mail address, from this network address.
    ///
    /// # Errors
    /// If they may not. The reason is for the log.
    pub fn allows(
        &self,
        name: &Name,
        email: &Email,
        address: IpAddr,
        now: Timestamp,
        invited: bool,
    ) -> Result<(), RegistrationRefusal> {
        match self {
            Self::Open => Ok(()),
            Self::Closed => Err(RegistrationRefusal::Closed),
            Self::Invited | Self::If(_) if invited => Ok(()),
            Self::Invited => Err(RegistrationRefusal::NotInvited),
            Self::If(condition) => {
                let facts = CallerFacts::of_registrant(name, email);
                let address = Some(address.to_canonical());
                let request = RequestFacts { address, ..RequestFacts::at(now) };
                let decided = condition.0.holds(&facts, &request);
                decided.map_err(|_| RegistrationRefusal::Condition)
            }
        }
    }
}

/// Which users may invite others.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum InvitationPolicy {
    /// None: only the operator invites. The usual case needs no condition, whose language takes time to load.
    #[default]
    Nobody,
    /// Users who satisfy the condition.
    If(RegistrationCondition),
}

impl InvitationPolicy {
    const NOBODY: &str = "false";

    /// A policy as it is written in the settings.
    ///
    /// # Errors
    /// If the condition is not valid.
    pub fn parse(text: &str) -> Result<Self, ConditionError> {
        match text.trim() {
            Self::NOBODY => Ok(Self::Nobody),
            _ => RegistrationCondition::parse(Subject::Inviter, text).map(Self::If),
        }
    }

    /// The condition.
    pub fn text(&self) -> &str {
        match self {
            Self::Nobody => Self::NOBODY,
            Self::If(condition) => condition.text(),
        }
    }

    /// Whether this user may invite others. The address of a user who may is verified, because mail to strangers names it.
    pub fn allows(&self, user: &User, now: Timestamp) -> bool {
        let Self::If(condition) = self else { return false };
        let decide = || condition.0.holds(&CallerFacts::of_user(user), &RequestFacts::at(now));
        user.email_verified && !user.disabled && decide().is_ok()
    }
}

/// A condition that clones share.
#[derive(Clone, Debug, PartialEq)]
pub struct RegistrationCondition(Arc<Condition>);

impl RegistrationCondition {
    fn parse(subject: Subject, text: &str) -> Result<Self, ConditionError> {
        Condition::parse_about(subject, text).map(|condition| Self(Arc::new(condition)))
    }

    fn text(&self) -> &str {
        self.0.text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{access::guard::sample, user::Role};

    fn decide(
        policy: &str,
        (name, email, address): (&str, &str, &str),
        invited: bool,
    ) -> Result<(), RegistrationRefusal> {
        let policy = RegistrationPolicy::parse(policy).unwrap_or_else(|e| panic!("{e:?}"));
        let (name, email) = (Name::from_store(name.into()), Email::from_store(email.into()));
        policy.allows(&name, &email, address.parse().unwrap(), sample::NOW, invited)
    }

    #[test]
    fn a_policy_admits_by_name_address_domain_network_or_invitation() {
        use RegistrationRefusal::{Closed, Condition, NotInvited};
        let ada = ("Ada", "Ada@Example.com", "192.0.2.7");
        let bob = ("Bob", "bob@elsewhere.example", "::ffff:10.0.0.1");
        for (policy, for_ada, for_bob, with_invitation) in [
            ("open", Ok(()), Ok(()), Ok(())),
            ("invited", Err(NotInvited), Err(NotInvited), Ok(())),
            ("closed", Err(Closed), Err(Closed), Err(Closed)),
            ("false", Err(Condition), Err(Condition), Ok(())),
            ("true", Ok(()), Ok(()), Ok(())),
            (r#"user.domain == "example.com""#, Ok(()), Err(Condition), Ok(())),
            (r#"user.email.lower() == "ada@example.com""#, Ok(()), Err(Condition), Ok(())),
            (r#"user.name.matches("^B")"#, Err(Condition), Ok(()), Ok(())),
            (r#"request.address.inNetwork("10.0.0.0/8")"#, Err(Condition), Ok(()), Ok(())),
            (r#"request.address.startsWith("10.")"#, Err(Condition), Ok(()), Ok(())),
            (
                r#"request.time < timestamp("2027-01-01T00:00:00Z")"#,
                Err(Condition),
                Err(Condition),
                Ok(()),
            ),
            (
                "user.name.size() / (user.name.size() - 3) > 0",
                Err(Condition),
                Err(Condition),
                Ok(()),
            ),
        ] {
            assert_eq!(decide(policy, ada, false), for_ada, "{policy}");
            assert_eq!(decide(policy, bob, false), for_bob, "{policy}");
            assert_eq!(decide(policy, bob, true), with_invitation, "{policy}");
        }
    }

    #[test]
    fn a_user_who_may_invite_satisfies_the_condition_and_has_a_verified_address() {
        let mut user = sample::user();
        let may = |condition: &str, user: &User| {
            let policy = InvitationPolicy::parse(condition).unwrap_or_else(|e| panic!("{e:?}"));
            policy.allows(user, sample::NOW)
        };
        assert!(!InvitationPolicy::default().allows(&user, sample::NOW));
        assert!(may("true", &user) && may(r#""staff" in user.roles"#, &user));
        assert!(!may(r#""boss" in user.roles"#, &user));
        user.roles.grant(Role::parse("boss").unwrap());
        assert!(may(r#""boss" in user.roles"#, &user));
        assert!(!may("true", &User { disabled: true, ..user.clone() }));
        assert!(!may("true", &User { email_verified: false, ..user }));
    }

    #[test]
    fn a_policy_is_read_as_it_was_written() {
        for text in ["open", "invited", "closed", r#"user.domain == "example.com""#] {
            let policy = RegistrationPolicy::parse(text).unwrap_or_else(|e| panic!("{e:?}"));
            assert_eq!(policy.text(), text);
        }
        let error = RegistrationPolicy::parse("opened").unwrap_err();
        assert_eq!(error.message, "opened: unknown variable (there are user and request)");
    }
}
