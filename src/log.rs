//! What log lines look like: text for people on a terminal, JSON for programs everywhere else, always on stderr.

use std::{io::IsTerminal, panic};

use tracing_subscriber::EnvFilter;

use crate::config::{LogFormat, Settings};

/// Starts logging for the whole process, panics included.
pub fn start(settings: &Settings) {
    let on_terminal = std::io::stderr().is_terminal();
    let filter = settings.log.parse::<EnvFilter>().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(on_terminal)
        .with_target(false)
        .with_writer(std::io::stderr);
    match (settings.log_format, on_terminal) {
        (LogFormat::Json, _) | (LogFormat::Auto, false) => {
            lines.json().flatten_event(true).with_current_span(true).with_span_list(false).init();
        }
        (LogFormat::Text, _) | (LogFormat::Auto, true) => lines.init(),
    }
    panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string);
        tracing::error!(message, place, "panic");
    }));
}
