//! The arguments of commands about one user.

use super::Output;

/// A user.
#[derive(clap::Args)]
pub(super) struct UserArguments {
    /// E-mail address or id
    pub(super) user: String,
    #[command(flatten)]
    pub(super) output: Output,
}
