//! The operator's commands. A running server receives them over a socket in its data folder. If no server runs, the
//! command line executes them itself.

mod backup;
#[cfg(feature = "cli")]
mod client;
mod diagnosis;
mod embedded;
mod emergency;
mod execution;
mod imports;
mod invitations;
mod operator;
mod outbox;
mod person;
mod protocol;
mod refusals;
mod runner;
mod secret;
mod sender;
mod socket;
mod spool;

#[cfg(feature = "cli")]
pub use self::client::{AdminClient, Answer, succeed};
#[cfg(any(feature = "cli", feature = "internals"))]
pub use self::runner::Error;
pub use self::{
    backup::is_in_use,
    diagnosis::Diagnosis,
    emergency::is_new_passwords,
    execution::execute,
    imports::{ImportOutcome, ImportedHashInfo, UserRecord},
    invitations::{InvitationInfo, Invite, TicketInfo},
    person::PersonExport,
    protocol::{
        BrowserCheck, BudgetState, Command, EmergencyReport, FactorResetInfo, GuardInfo, MailInfo,
        NetworkBudgetState, RecentRefusal, RecentRefusals, RefusedAction, Reply, SampleRequest,
        SampleSession, SessionInfo, ThrottleState, UserInfo, UserRef,
    },
    runner::{CommandRunner, ExportError, run},
    secret::Secret,
    spool::{Content, Sent, request},
};
pub use crate::account::factor_list::{FactorInfo, TrustedDeviceInfo};
