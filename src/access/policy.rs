//! Policies: rules that admit a caller and determine what a guarded handler receives.

use std::sync::Arc;

use super::caller::Caller;
use crate::user::{User, UserId};

/// A rule that decides about an authenticated caller.
///
/// A decision is pure: it depends only on the caller and on the policy itself. A policy without data derives `Default`.
/// A policy with data takes it from the app's state by [`FromState`](crate::FromState).
pub trait Policy {
    /// The name of the policy in the list of refusals (`doorward why`).
    const NAME: &'static str;

    /// What the guarded handler receives.
    type Grant;

    /// What the caller is granted, or `None` to refuse.
    fn admit(&self, caller: &Caller) -> Option<Self::Grant>;
}

/// Admits every caller with a valid token. The handler receives only the id of the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Authenticated;

impl Policy for Authenticated {
    const NAME: &str = "Authenticated";

    type Grant = UserId;

    fn admit(&self, caller: &Caller) -> Option<UserId> {
        Some(caller.user.id)
    }
}

/// Admits every caller with a valid token. The handler receives the user and the session.
#[derive(Clone, Copy, Debug, Default)]
pub struct SignedIn;

impl Policy for SignedIn {
    const NAME: &str = "SignedIn";

    type Grant = Caller;

    fn admit(&self, caller: &Caller) -> Option<Caller> {
        Some(caller.clone())
    }
}

/// Admits users with the designated name, in any letter case. The handler receives the user.
#[derive(Clone, Debug)]
pub struct Designated {
    name: Arc<str>,
}

impl Designated {
    /// The policy for this name.
    pub fn new(name: &str) -> Self {
        Self { name: name.into() }
    }

    /// The designated name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Policy for Designated {
    const NAME: &str = "Designated";

    type Grant = Arc<User>;

    fn admit(&self, caller: &Caller) -> Option<Arc<User>> {
        let designated = caller.user.name.matches_ignoring_case(&self.name);
        designated.then(|| Arc::clone(&caller.user))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(name: &str) -> Caller {
        Caller::example(name, "someone@example.com")
    }

    #[test]
    fn authenticated_admits_anybody_and_grants_the_id() {
        let caller = caller("Anybody");
        assert_eq!(Authenticated.admit(&caller), Some(caller.user.id));
    }

    #[test]
    fn designated_admits_one_name_in_any_letter_case_and_grants_the_user() {
        let policy = Designated::new("Miles Davis");
        for name in ["Miles Davis", "miles davis", "MILES DAVIS"] {
            let caller = caller(name);
            assert_eq!(policy.admit(&caller), Some(caller.user));
        }
        for name in ["Miles", "Miles  Davis", "John Coltrane", "Miles Davis II"] {
            assert_eq!(policy.admit(&caller(name)), None, "{name}");
        }
    }
}
