//! Commands about one user: their arguments, and what they ask the API.

use super::{Output, no_such_user, within};
use crate::control;

/// A user.
#[derive(clap::Args)]
pub(super) struct UserArguments {
    /// E-mail address or id
    pub(super) user: String,
    #[command(flatten)]
    pub(super) output: Output,
}

pub(super) const USERS: &str = "/api/admin/users";

/// The path of a user.
pub(super) fn path_of(user: &str) -> String {
    within(USERS, user)
}

/// The path of something of a user.
pub(super) fn path_below(user: &str, what: &str) -> String {
    format!("{}/{what}", path_of(user))
}

/// The answer about a user, who must exist.
pub(super) fn of_known_user<T>(answer: Result<T, control::Error>) -> anyhow::Result<T> {
    answer.map_err(|error| match error.is_not_found() {
        true => no_such_user(),
        false => error.into(),
    })
}
