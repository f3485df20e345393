//! The operator's commands. A running server receives them over a socket in its data folder. If no server runs, the
//! command line executes them itself.

mod backup;
mod browser_check;
mod diagnosis;
mod embedded;
mod execution;
mod imports;
mod invitations;
mod outbox;
mod protocol;
mod refusals;
mod runner;
mod secret;
mod socket;

#[cfg(any(feature = "cli", feature = "internals"))]
pub use self::runner::Error;
pub use self::{
    backup::{SentBackup, is_in_use, request_backup},
    diagnosis::Diagnosis,
    execution::{ReadSettings, execute, reload_guards},
    imports::{ImportOutcome, UserRecord, export_folder},
    invitations::{InvitationInfo, Invite, TicketInfo},
    protocol::{
        BrowserCheck, Command, GuardInfo, KeyInfo, MailInfo, RecentRefusal, RecentRefusals,
        RefusedAction, Reply, SampleRequest, SessionInfo, UserInfo, UserRef,
    },
    runner::{CommandRunner, run},
    secret::Secret,
};
