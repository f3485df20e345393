//! The log filter: directives in the syntax of `RUST_LOG`. A directive that can match no event is refused.

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

    /// `None` if `tracing` cannot parse the directives, or one of them can match no event.
    pub fn parse(text: &str) -> Option<Self> {
        let all_can_match = directives(text).all(can_match);
        let directives = directives(text).collect::<Vec<_>>().join(",");
        let valid = all_can_match && !directives.is_empty() && has_filter_syntax(&directives);
        valid.then_some(Self(directives))
    }

    /// The probable meaning of the first directive that can match no event.
    pub(crate) fn suggestion(text: &str) -> Option<&'static str> {
        let unmatched = directives(text).find(|directive| !can_match(directive))?;
        match unmatched.split_once('=') {
            Some(_) => Some(OWN_TARGET),
            None => suggest(unmatched, Self::LEVELS.into_iter().chain([OWN_TARGET])),
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

/// An app that embeds Doorward has its own log filter, so only the levels are checked.
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

/// `tracing` parses a word that is not a level as a target, so `infoo` would silence everything.
fn can_match(directive: &str) -> bool {
    if directive.contains('[') {
        return true;
    }
    let target = directive.split(['=', ':']).next().unwrap_or_default();
    if target == OWN_TARGET {
        true
    } else if directive.contains('=') {
        !is_misspelling(target, OWN_TARGET)
    } else {
        directive.parse::<LevelFilter>().is_ok()
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
            "doorward::http=trace",
            "doorward::http",
            "warn,[request{id=7}]=debug",
        ] {
            assert!(LogFilter::parse(text).is_some(), "{text}");
        }
    }

    #[test]
    fn a_directive_that_can_match_no_event_is_refused_with_a_suggestion() {
        for (text, meant) in [
            ("infoo", Some("info")),
            ("wran", Some("warn")),
            ("warning", Some("warn")),
            ("info,debgu", Some("debug")),
            ("info,dorward=debug", Some("doorward")),
            ("doorwrd::http=debug", Some("doorward")),
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
