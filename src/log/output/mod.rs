//! Writes log lines to stderr: text on a terminal, JSON elsewhere.

mod queue;

use std::{io::IsTerminal, panic, sync::OnceLock, thread, time::Duration};

use tracing_subscriber::EnvFilter;

use self::queue::Queue;
use super::{LogFilter, LogFormat};

/// The queue of lines, once logging has started.
static QUEUE: OnceLock<Queue> = OnceLock::new();

/// Starts logging for the whole process, panics included. Code that logs does not wait for the write.
///
/// # Errors
/// If the system cannot start a thread.
pub fn start(filter: &LogFilter, format: LogFormat) -> std::io::Result<()> {
    let on_terminal = std::io::stderr().is_terminal();
    let filter = filter.to_string().parse().unwrap_or_else(|_| EnvFilter::new("info"));
    let queue = Queue::start(std::io::stderr())?;
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(on_terminal)
        .with_target(false)
        .with_writer(QUEUE.get_or_init(|| queue).clone());
    match (format, on_terminal) {
        (LogFormat::Json, _) | (LogFormat::Auto, false) => {
            lines.json().flatten_event(true).with_current_span(true).with_span_list(false).init();
        }
        (LogFormat::Text, _) | (LogFormat::Auto, true) => lines.init(),
    }
    panic::set_hook(Box::new(|panic| {
        let message = panic.payload_as_str().unwrap_or("no message");
        let place = panic.location().map(ToString::to_string);
        tracing::error!(message, place, "panic");
        // A panic in this thread may end the process.
        if thread::current().name() == Some("main") {
            flush();
        }
    }));
    Ok(())
}

/// How many lines were dropped so far.
pub fn dropped() -> u64 {
    QUEUE.get().map_or(0, Queue::dropped)
}

/// Waits until the lines so far are written, for at most a second. Must be called before the process ends.
pub fn flush() {
    /// A reader that does not read must not keep the process from ending.
    const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);
    if let Some(queue) = QUEUE.get() {
        queue.flush(FLUSH_TIMEOUT);
    }
}
