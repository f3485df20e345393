//! The operator's commands. They are requests to the admin API: a running server receives them over a socket in its data folder. If no
//! server runs, the command line asks the same router in its own process.

#[cfg(feature = "cli")]
mod client;
mod embedded;
mod error;
mod operator;
mod socket;

#[cfg(feature = "cli")]
pub use self::client::{AdminClient, Answer, BodyReader, next_part, read_all, read_json, succeed};
pub use self::error::Error;

use crate::event::Administrator;

/// Who runs this command, for one that opens the database itself.
#[cfg(feature = "cli")]
pub fn this_operator() -> Administrator {
    operator::Operator::of_this_process().administrator()
}
