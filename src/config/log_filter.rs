//! What the setting `log` may be: directives in `RUST_LOG`'s syntax, none of which can match nothing.

use tracing_subscriber::{EnvFilter, filter::LevelFilter};

use crate::spelling::{is_misspelling, suggest};

/// The first part of the target of every event of this crate.
const OWN_TARGET: &str = "doorward";
const LEVELS: [&str; 6] = ["error", "warn", "info", "debug", "trace", "off"];

/// The directives as `tracing` reads them; none if one of them can match nothing.
pub(super) fn parse(text: &str) -> Option<String> {
    let useful = directives(text).all(can_match);
    let directives = directives(text).collect::<Vec<_>>().join(",");
    let valid = useful && !directives.is_empty() && directives.parse::<EnvFilter>().is_ok();
    valid.then_some(directives)
}

/// What was probably meant by the first directive that is not useful.
pub(super) fn suggestion(text: &str) -> Option<&'static str> {
    let useless = directives(text).find(|directive| !can_match(directive))?;
    match useless.split_once('=') {
        Some(_) => Some(OWN_TARGET),
        None => suggest(useless, LEVELS.into_iter().chain([OWN_TARGET])),
    }
}

fn directives(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|directive| !directive.is_empty())
}

/// `tracing` reads a bare word that is no level as a target, so that `infoo` would silence everything else.
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
    fn levels_and_targets_with_a_level_are_useful() {
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
            assert!(parse(text).is_some(), "{text}");
        }
    }

    #[test]
    fn what_can_match_nothing_is_refused_with_what_was_meant() {
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
            assert_eq!((parse(text), suggestion(text)), (None, meant), "{text}");
        }
    }
}
