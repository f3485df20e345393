//! Examples in the declaration of a guard: a user, a request and the expected decision. They are checked when the guard
//! is declared.

use std::{net::IpAddr, time::Duration};

use super::{CallerFacts, Condition, RequestFacts, condition::sample, host_of, path_of};
use crate::{
    clock::Timestamp,
    credential::factor::Factors,
    session::{Method, Methods, Session},
    user::{Email, Name, Role, User},
};

/// An example of what a guard should decide.
#[derive(Clone, Debug)]
pub struct Expectation {
    pub expected: Expected,
    pub user: ExampleUser,
    pub request: ExampleRequest,
    pub session: ExampleSession,
}

/// What a guard should decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    Allow,
    Deny,
}

/// The user of an example. Other fields have default values.
#[derive(Clone, Debug, Default)]
pub struct ExampleUser {
    pub name: Option<Name>,
    pub email: Option<Email>,
    /// Whether the address is verified. False by default.
    pub email_verified: bool,
    /// The roles. None by default.
    pub roles: Vec<Role>,
    /// The kinds of second factors that they hold. None by default.
    pub factors: Factors,
    pub disabled: bool,
}

/// The session of an example.
#[derive(Clone, Debug, Default)]
pub struct ExampleSession {
    /// The address from which the user signed in, by default the loopback address.
    pub address: Option<IpAddr>,
    /// How the user has proved who they are, by default with a password.
    pub methods: Option<Vec<Method>>,
    /// How long before the request they did. Zero by default.
    pub verified_ago: Duration,
}

impl ExampleSession {
    /// The session of this user at this time.
    pub fn of(&self, user: &User, now: Timestamp) -> Session {
        let address = self.address.unwrap_or([127, 0, 0, 1].into());
        let (methods, verified_at) =
            (self.methods.as_deref().unwrap_or(&[Method::Password]), now - self.verified_ago);
        Session {
            methods: Methods::at(verified_at, methods.iter().copied()),
            authenticated_at: verified_at,
            ..sample::session(user, address)
        }
    }
}

/// The request of an example. Other fields have default values.
#[derive(Clone, Debug, Default)]
pub struct ExampleRequest {
    /// The method, by default `GET`.
    pub method: Option<String>,
    /// The host, by default `localhost`.
    pub host: Option<String>,
    /// The path, by default `/`.
    pub path: Option<String>,
    /// The scheme, by default `https`.
    pub scheme: Option<String>,
    /// The address of the client, by default the loopback address.
    pub address: Option<IpAddr>,
}

impl ExampleRequest {
    pub fn facts(&self, time: Timestamp) -> RequestFacts<'_> {
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

/// An example for which the guard decides differently.
#[derive(Debug)]
pub struct FailedExpectation {
    pub expected: Expected,
    /// The part of the condition that decided, and its value.
    pub because: String,
}

impl Expectation {
    /// Checks the example.
    ///
    /// # Errors
    /// If the condition decides differently.
    pub fn check(&self, condition: &Condition) -> Result<(), FailedExpectation> {
        let facts = self.caller_facts();
        let request = self.request.facts(sample::NOW);
        let expected = self.expected;
        match (expected, condition.holds(&facts, &request)) {
            (Expected::Allow, Ok(())) | (Expected::Deny, Err(_)) => Ok(()),
            (Expected::Deny, Ok(())) => Err(FailedExpectation {
                expected,
                because: format!("{} is true", condition.text()),
            }),
            (Expected::Allow, Err(_)) => {
                let cause = condition.explain(&facts, &request).cause;
                Err(FailedExpectation {
                    expected,
                    because: format!("{} is {}", cause.text, cause.value),
                })
            }
        }
    }

    fn caller_facts(&self) -> CallerFacts {
        let mut user = sample::user();
        user.name = self.user.name.clone().unwrap_or(Name::from_store("Somebody".into()));
        user.email =
            self.user.email.clone().unwrap_or(Email::from_store("somebody@example.com".into()));
        user.email_verified = self.user.email_verified;
        user.roles = self.user.roles.iter().cloned().collect();
        user.factors = self.user.factors.clone();
        user.disabled = self.user.disabled;
        CallerFacts::new(&user, &self.session.of(&user, sample::NOW))
    }
}
