//! What guards have decided, counted by guard.

use crate::count::{Counters, labels};

/// What a guard has decided about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The request is admitted.
    Admitted,
    /// The request is admitted although it would be refused, because the guard only reports.
    ReportOnly,
    /// Nobody is signed in, or another site has caused the request.
    Unauthenticated,
    /// The caller is known, and the policy or the condition refuses.
    Refused,
    /// The browser is on its way through sign-in, or to sign-out.
    SigningIn,
    /// The guard cannot decide, for example because the database cannot be read.
    Unavailable,
}

labels!(Decision {
    Admitted => "admitted",
    ReportOnly => "report_only",
    Unauthenticated => "unauthenticated",
    Refused => "refused",
    SigningIn => "signing_in",
    Unavailable => "unavailable",
});

/// The decisions of one guard since the start.
pub type Decisions = Counters<Decision, 6>;
