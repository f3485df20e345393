//! A progress line on standard error, for commands that take longer than a second. Only a terminal shows it. It clears itself
//! at the end.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};

/// A command that takes no longer shows no line.
const SHOWN_AFTER: Duration = Duration::from_secs(1);
/// The least time from one drawing to the next.
const REDRAW_AFTER: Duration = Duration::from_millis(100);
const CLEAR: &str = "\r\x1b[2K";

/// The progress line of a command. Dropping it clears the line.
pub(super) struct ProgressLine<W: Write = io::Stderr> {
    output: Option<W>,
    started: Instant,
    drawn: Option<Instant>,
    /// The current step, when it began and how much of it was done then.
    step: Option<(&'static str, Instant, u64)>,
}

impl ProgressLine {
    /// A line on standard error, or none if that is not a terminal.
    pub(super) fn new() -> Self {
        let output = io::stderr();
        Self::on(output.is_terminal().then_some(output), Instant::now())
    }

    /// Says how much of a step is done. Rate and remaining time start over with each step.
    pub(super) fn set(&mut self, step: &'static str, done: u64, total: u64) {
        if self.output.is_some() {
            self.set_at(step, done, total, Instant::now());
        }
    }
}

impl<W: Write> ProgressLine<W> {
    fn on(output: Option<W>, started: Instant) -> Self {
        Self { output, started, drawn: None, step: None }
    }

    fn set_at(&mut self, step: &'static str, done: u64, total: u64, now: Instant) {
        let (since, base) = match self.step {
            Some((current, since, base)) if current == step => (since, base),
            _ => (now, done),
        };
        self.step = Some((step, since, base));
        let is_due = self.drawn.is_none_or(|drawn| now.duration_since(drawn) >= REDRAW_AFTER);
        if !is_due || now.duration_since(self.started) < SHOWN_AFTER {
            return;
        }
        self.drawn = Some(now);
        let elapsed = now.duration_since(since).as_secs_f64();
        let line = line(step, done, total, done.saturating_sub(base) as f64 / elapsed);
        self.write(&format!("{CLEAR}{line}"));
    }

    /// A closed terminal does not stop the command.
    fn write(&mut self, text: &str) {
        if let Some(output) = &mut self.output {
            let _ = output.write_all(text.as_bytes());
            let _ = output.flush();
        }
    }
}

impl<W: Write> Drop for ProgressLine<W> {
    fn drop(&mut self) {
        if self.drawn.is_some() {
            self.write(CLEAR);
        }
    }
}

/// What the line says. It fits into 80 columns.
fn line(step: &str, done: u64, total: u64, rate: f64) -> String {
    const WIDTH: usize = 16;
    let part = if total == 0 { 1.0 } else { (done as f64 / total as f64).min(1.0) };
    let filled = "#".repeat((part * WIDTH as f64) as usize);
    let mut line = format!("{step} [{filled:WIDTH$}] {done}/{total}");
    if rate.is_finite() && rate > 0.0 {
        let left = total.saturating_sub(done) as f64 / rate;
        line += &format!("  {rate:.0}/s  {} left", minutes(left.ceil() as u64));
    }
    line
}

fn minutes(seconds: u64) -> String {
    match seconds / 60 {
        0 => format!("{seconds}s"),
        minutes => format!("{minutes}m{:02}s", seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(at: &[(u64, &'static str, u64)]) -> String {
        let (started, mut output) = (Instant::now(), Vec::new());
        let mut progress = ProgressLine::on(Some(&mut output), started);
        for (millis, step, done) in at {
            progress.set_at(step, *done, 1000, started + Duration::from_millis(*millis));
        }
        drop(progress);
        String::from_utf8(output).unwrap()
    }

    #[test]
    fn a_quick_command_shows_no_line() {
        assert_eq!(drawn(&[(0, "reading", 0), (500, "reading", 900), (999, "reading", 1000)]), "");
    }

    #[test]
    fn the_line_shows_rate_and_remaining_time_and_clears_itself() {
        let text = drawn(&[(0, "reading", 0), (2000, "reading", 500)]);
        assert_eq!(
            text,
            format!("{CLEAR}reading [########        ] 500/1000  250/s  2s left{CLEAR}")
        );
    }

    #[test]
    fn the_line_is_drawn_at_most_ten_times_a_second() {
        let calls: Vec<_> = (0..2000).map(|millis| (1000 + millis, "reading", millis)).collect();
        assert_eq!(drawn(&calls).matches("reading").count(), 20);
    }

    #[test]
    fn a_new_step_has_its_own_rate() {
        let text = drawn(&[(0, "reading", 0), (1000, "writing", 100), (3000, "writing", 300)]);
        assert!(text.contains("writing [####            ] 300/1000  100/s  7s left"), "{text}");
    }

    #[test]
    fn a_long_time_is_told_in_minutes() {
        assert_eq!([0, 59, 60, 3605].map(minutes), ["0s", "59s", "1m00s", "60m05s"]);
    }
}
