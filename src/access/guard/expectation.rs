//! Examples beside a condition: whom it should allow and whom not, tried whenever it is read.

use std::net::IpAddr;

use super::{CallerFacts, Condition, RequestFacts, host_of, path_of};
use crate::{
    access::guard::hypothetical,
    user::{Email, Name, Role},
};

/// One example.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// What the guard should say.
    pub expected: Expected,
    /// About whom.
    pub user: MadeUpUser,
    /// Asking for what.
    pub request: MadeUpRequest,
    /// From where the user signed in.
    pub session_address: Option<IpAddr>,
}

/// What a guard should say to an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// A user as far as an example says something about them; the rest is somebody's.
#[derive(Clone, Debug, Default)]
pub struct MadeUpUser {
    /// The name.
    pub name: Option<Name>,
    /// The address.
    pub email: Option<Email>,
    /// Whether the address is verified; not unless given.
    pub email_verified: bool,
    /// The roles; none unless given.
    pub roles: Vec<Role>,
    /// Whether the user is disabled.
    pub disabled: bool,
}

/// A request as far as an example says something about it; the rest is any.
#[derive(Clone, Debug, Default)]
pub struct MadeUpRequest {
    /// The method, `GET` unless given.
    pub method: Option<String>,
    /// The host.
    pub host: Option<String>,
    /// The path, `/` unless given.
    pub path: Option<String>,
    /// The scheme, `https` unless given.
    pub scheme: Option<String>,
    /// Where it comes from.
    pub address: Option<IpAddr>,
}

impl MadeUpRequest {
    /// The facts of the request.
    pub fn facts(&self, time: crate::clock::Timestamp) -> RequestFacts<'_> {
        RequestFacts {
            method: Some(self.method.as_deref().unwrap_or("GET").into()),
            host: Some(host_of(self.host.as_deref().unwrap_or("localhost"))),
            path: path_of(self.path.as_deref().unwrap_or("/")),
            scheme: Some(self.scheme.as_deref().unwrap_or("https").into()),
            address: Some(self.address.unwrap_or([127, 0, 0, 1].into())),
            time,
        }
    }
}

/// An example that turned out otherwise.
#[derive(Debug)]
pub struct Unmet {
    /// What the guard should have said.
    pub expected: Expected,
    /// The part of the condition that decided, and its value.
    pub because: String,
}

impl Expectation {
    /// Tries the example out.
    ///
    /// # Errors
    /// If the condition says otherwise.
    pub fn check(&self, condition: &Condition) -> Result<(), Unmet> {
        let facts = self.caller_facts();
        let request = self.request.facts(hypothetical::NOW);
        let expected = self.expected;
        match (expected, condition.holds(&facts, &request)) {
            (Expected::Allow, Ok(())) | (Expected::Deny, Err(_)) => Ok(()),
            (Expected::Deny, Ok(())) => {
                Err(Unmet { expected, because: format!("{} is true", condition.text()) })
            }
            (Expected::Allow, Err(_)) => {
                let culprit = condition.explain(&facts, &request).culprit;
                Err(Unmet { expected, because: format!("{} is {}", culprit.text, culprit.value) })
            }
        }
    }

    fn caller_facts(&self) -> CallerFacts {
        let mut user = hypothetical::user();
        user.name = self.user.name.clone().unwrap_or(Name::from_store("Somebody".into()));
        user.email =
            self.user.email.clone().unwrap_or(Email::from_store("somebody@example.com".into()));
        user.email_verified = self.user.email_verified;
        user.roles = self.user.roles.iter().cloned().collect();
        user.disabled = self.user.disabled;
        let address = self.session_address.unwrap_or([127, 0, 0, 1].into());
        CallerFacts::of(&hypothetical::caller_of(user, address))
    }
}
