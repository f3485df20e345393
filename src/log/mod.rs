//! Log lines: which are written and in what format. Only the binary writes them; an app that embeds Doorward installs
//! its own subscriber.

mod filter;
mod line_limit;
#[cfg(feature = "cli")]
mod output;

pub use self::filter::LogFilter;
pub(crate) use self::line_limit::{FloodLine, LineLimit};
#[cfg(feature = "cli")]
pub use self::output::{dropped, flush, start};

/// How many lines were dropped so far: none without the command line, which writes them.
#[cfg(not(feature = "cli"))]
pub fn dropped() -> u64 {
    0
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// For people.
    Text,
    /// For programs: one JSON object per line.
    Json,
}
