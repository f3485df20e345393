//! The filter of log lines: directives in the syntax of `RUST_LOG`, each of which can match something.

use std::fmt;

use tracing::level_filters::LevelFilter;

use crate::spelling::{is_misspelling, suggest};

/// The first part of the target of every event of this crate.
const OWN_TARGET: &str = "doorward";

/// Which events are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFilter(String);

impl Default for LogFilter {
    fn default() -> Self {
        Self("info".into())
    }
}

impl LogFilter {
    pub(crate) const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

    /// `None` if `tracing` cannot read the directives, or one of them can match nothing.
    pub fn parse(text: &str) -> Option<Self> {
        let useful = directives(text).all(can_match);
        let directives = directives(text).collect::<Vec<_>>().join(",");
        let valid = useful && !directives.is_empty() && has_filter_syntax(&directives);
        valid.then_some(Self(directives))
    }

    /// What the first directive that can match nothing was probably meant to be.
    pub(crate) fn suggestion(text: &str) -> Option<&'static str> {
        let useless = directives(text).find(|directive| !can_match(directive))?;
        match useless.split_once('=') {
            Some(_) => Some(OWN_TARGET),
            None => suggest(useless, Self::LEVELS.into_iter().chain([OWN_TARGET])),
        }
    }
}

impl fmt::Display for LogFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(feature = "cli")]
fn has_filter_syntax(directives: &str) -> bool {
    directives.parse::<tracing_subscriber::EnvFilter>().is_ok()
}

/// An app that embeds Doorward logs by its own filter: only the levels are checked.
#[cfg(not(feature = "cli"))]
fn has_filter_syntax(directives: &str) -> bool {
    let level = |directive: &str| directive.rsplit_once('=').map(|(_, level)| level.to_owned());
    directives
        .split(',')
        .filter(|directive| !directive.contains('['))
        .filter_map(level)
        .all(|level| level.parse::<LevelFilter>().is_ok())
}

fn directives(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|directive| !directive.is_empty())
}

/// `tracing` reads a bare word that is not a level as a target, so that `infoo` would silence everything else.
fn can_match(directive: &str) -> bool {
    if directive.contains('[') {
        return true;
    }
    let target = directive.split(['=', ':']).next().unwrap_or_default();
    match target == OWN_TARGET {
        true => true,
        false if directive.contains('=') => !is_misspelling(target, OWN_TARGET),
        false => directive.parse::<LevelFilter>().is_ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_targets_with_a_level_are_allowed() {
        for text in [
            "info",
            "INFO",
            "off",
            "3",
            "info,doorward=debug",
            "doorward=debug,hyper=warn",
            " warn , hyper=info,",
            "doorward",
            "doorward::api=trace",
            "doorward::api",
            "warn,[request{id=7}]=debug",
        ] {
            assert!(LogFilter::parse(text).is_some(), "{text}");
        }
    }

    #[test]
    fn a_directive_that_can_match_nothing_is_refused_with_a_suggestion() {
        for (text, meant) in [
            ("infoo", Some("info")),
            ("wran", Some("warn")),
            ("warning", Some("warn")),
            ("info,debgu", Some("debug")),
            ("info,dorward=debug", Some("doorward")),
            ("doorwrd::api=debug", Some("doorward")),
            ("doorwad", Some("doorward")),
            ("hyper", None),
            ("6", None),
            ("loud", None),
            ("", None),
            (" ,", None),
        ] {
            assert_eq!(
                (LogFilter::parse(text), LogFilter::suggestion(text)),
                (None, meant),
                "{text}"
            );
        }
    }
}
