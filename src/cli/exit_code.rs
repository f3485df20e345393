//! The exit codes of all commands. `docs/commands.md` and `doorward help` list them.

use std::process::ExitCode;

use crate::{OpenError, config::SettingsError, control};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Exit {
    /// It did what it was asked, or the answer is yes.
    Done = 0,
    /// It failed, or the answer is no.
    Failed = 1,
    /// The command line or a setting cannot be used. clap uses the same code.
    Usage = 2,
    /// It needs a running server, and none runs.
    NoServer = 3,
    /// There is no user, invitation, guard, key, refusal or setting of this name.
    NotFound = 4,
}

/// The line of `doorward help` about exit codes.
pub(super) const HELP: &str = "Exit codes: 0 done or yes, 1 failed or no, 2 invalid usage or settings, 3 no server, 4 not found.";

impl Exit {
    /// The exit code of a command that ended with this error.
    pub(super) fn of(error: &anyhow::Error) -> Self {
        if error.is::<NotFound>() {
            return Self::NotFound;
        }
        if error.is::<SettingsError>() || error.is::<clap::Error>() {
            return Self::Usage;
        }
        if let Some(OpenError::Settings(_)) = error.downcast_ref() {
            return Self::Usage;
        }
        match error.downcast_ref::<control::Error>() {
            Some(control::Error::Open(OpenError::Settings(_))) => Self::Usage,
            Some(
                control::Error::NotRunning
                | control::Error::NothingInMemory
                | control::Error::NoFolder
                | control::Error::Unreachable { .. },
            ) => Self::NoServer,
            _ => Self::Failed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// There is nothing of this name.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotFound(pub(super) String);

/// The answer is no, and the command has printed it: [`Exit::Failed`] without another message.
#[derive(Debug, thiserror::Error)]
#[error("the answer is no")]
pub(super) struct Negative;

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn the_kind_of_error_decides_the_code_also_with_context() {
        let settings = || anyhow::Error::from(SettingsError::new("listen: no"));
        assert_eq!(Exit::of(&settings()), Exit::Usage);
        let wrapped = Err::<(), _>(settings()).context("while reading").unwrap_err();
        assert_eq!(Exit::of(&wrapped), Exit::Usage);
        let opening = OpenError::from(SettingsError::new("branding.logo: no"));
        assert_eq!(Exit::of(&control::Error::Open(opening).into()), Exit::Usage);
        assert_eq!(Exit::of(&control::Error::NotRunning.into()), Exit::NoServer);
        assert_eq!(Exit::of(&NotFound("no such user".into()).into()), Exit::NotFound);
        assert_eq!(Exit::of(&Negative.into()), Exit::Failed);
        assert_eq!(Exit::of(&anyhow::anyhow!("anything")), Exit::Failed);
    }

    #[test]
    fn every_code_is_documented() {
        let docs = include_str!("../../docs/commands.md");
        for exit in [Exit::Done, Exit::Failed, Exit::Usage, Exit::NoServer, Exit::NotFound] {
            let code = exit as u8;
            assert!(docs.contains(&format!("\n| {code} | ")), "docs/commands.md: {code}");
            assert!(HELP.contains(&format!("{code} ")), "{HELP}");
        }
    }
}
