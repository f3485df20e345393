//! `log` and `log_format`: what is logged, and in which format.

use super::{
    Settings,
    key::Key,
    value::{Choice, Value, enumerate, field},
};
use crate::log::{LogFilter, LogFormat};

pub(super) const KEYS: &[Key] = &[
    Key { name: "log", purpose: "What to log", value: &Filter },
    Key {
        name: "log_format",
        purpose: "Format of the log; auto is text on a terminal and json elsewhere",
        value: &Choice {
            field: field!(log_format),
            choices: &[
                ("auto", LogFormat::Auto),
                ("text", LogFormat::Text),
                ("json", LogFormat::Json),
            ],
        },
    },
];

struct Filter;

impl Value for Filter {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        settings.log = LogFilter::parse(text)?;
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        settings.log.to_string()
    }

    fn allowed(&self) -> String {
        let levels = LogFilter::LEVELS.join(", ");
        format!("a level ({levels}), or targets with a level such as info,doorward=debug")
    }

    fn bounds(&self) -> Option<String> {
        let levels = enumerate(LogFilter::LEVELS.into_iter(), "or");
        Some(format!("{levels}, or the syntax of RUST_LOG"))
    }

    fn suggestion(&self, typed: &str) -> Option<&'static str> {
        LogFilter::suggestion(typed)
    }
}
