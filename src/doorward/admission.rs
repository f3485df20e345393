//! Whom policies, guards and the administration admit. Where everybody needs a second factor, it is asked for here and nowhere
//! else. A session without one opens its own account, which asks for none of these.

use super::Doorward;
use crate::access::{
    caller::Caller,
    guard::{Guard, Missing, RequestFacts},
    policy::Policy,
    scope::Scopes,
};

/// The caller may do nothing in the administration, because they lack a second factor.
pub(crate) struct LacksFactor {
    /// What they can do about it by themselves.
    pub(crate) missing: Option<Missing>,
}

impl Doorward {
    /// What a policy grants to a caller.
    ///
    /// # Errors
    /// With what the caller lacks, if they can reach it.
    pub(crate) fn granted_by<P: Policy>(
        &self,
        policy: &P,
        caller: &Caller,
    ) -> Result<P::Grant, Option<Missing>> {
        let granted = policy.admit(caller).ok_or(None)?;
        match self.lacks_factor(caller) {
            false => Ok(granted),
            true => Err(self.missing_factor(caller)),
        }
    }

    /// Whether a guard admits a request of a caller.
    pub(crate) fn is_admitted_by(
        &self,
        guard: &Guard,
        caller: &Caller,
        request: &RequestFacts<'_>,
    ) -> bool {
        // In this order: a guard remembers whom its condition admits.
        !self.lacks_factor(caller)
            && guard.decide(&caller.user, &caller.session, &caller.memo, request).is_ok()
    }

    /// What a signed-in user may do in the administration with a request.
    pub(crate) fn scopes_of(
        &self,
        caller: &Caller,
        request: &RequestFacts<'_>,
    ) -> Result<Scopes, LacksFactor> {
        match self.lacks_factor(caller) {
            false => Ok(self.settings().admin_roles.scopes_of(caller, request)),
            true => Err(LacksFactor { missing: self.missing_factor(caller) }),
        }
    }

    /// Whether everybody needs a second factor, and the session of the caller has proved only one.
    fn lacks_factor(&self, caller: &Caller) -> bool {
        !self.settings().factors.admits(&caller.session)
    }

    /// What a caller without a second factor can do about it by themselves.
    fn missing_factor(&self, caller: &Caller) -> Option<Missing> {
        let Caller { user, session, .. } = caller;
        self.reachable(user).missing(user, session, self.now(), |_, _| true)
    }
}
