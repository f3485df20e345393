//! Keeps a part of the service running: a panic ends neither the process nor the other parts, and the part starts again.

use std::{
    any::Any,
    panic::AssertUnwindSafe,
    time::{Duration, Instant},
};

use futures_util::FutureExt;

/// A part starts again after this time, doubled after each further panic up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_millis(100);
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// Runs a part of the service to its end. After a panic, the part starts again, after a pause.
///
/// The part is dropped where it has panicked. What it shares with others must bear that: locks are taken over even if they are
/// poisoned, and what must not be lost stands outside of the part.
pub(crate) async fn supervise<F: Future>(part: &str, start: impl Fn() -> F) -> F::Output {
    let mut pause = MIN_PAUSE;
    loop {
        let started = Instant::now();
        let running = AssertUnwindSafe(async { run(part, start()).await }).catch_unwind();
        let panic = match running.await {
            Ok(output) => return output,
            Err(panic) => panic,
        };
        if started.elapsed() > MAX_PAUSE {
            pause = MIN_PAUSE;
        }
        let cause = message(&*panic);
        tracing::error!(part, cause, ?pause, "a part of the service has panicked; it starts again");
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// What a panic says.
pub(crate) fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}

#[cfg(not(test))]
fn run<F: Future>(_: &str, part: F) -> F {
    part
}

#[cfg(test)]
use self::planted::run;

/// Panics that a test plants in the parts that run on its thread.
#[cfg(test)]
pub(crate) mod planted {
    use std::{cell::Cell, future::poll_fn, pin::pin};

    thread_local! {
        static PART: Cell<Option<&'static str>> = const { Cell::new(None) };
    }

    /// Makes this part panic when it is polled next.
    pub(crate) fn panic_in(part: &'static str) {
        PART.set(Some(part));
    }

    /// Whether the panic is still to come.
    pub(crate) fn is_pending() -> bool {
        PART.get().is_some()
    }

    pub(super) async fn run<F: Future>(name: &str, part: F) -> F::Output {
        let mut part = pin!(part);
        poll_fn(|context| {
            if PART.get() == Some(name) {
                PART.set(None);
                panic!("planted in {name}");
            }
            part.as_mut().poll(context)
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_part_that_panics_starts_again_after_pauses_that_grow() {
        let starts = RefCell::new(Vec::new());
        let begun = tokio::time::Instant::now();
        let output = supervise("test", || async {
            starts.borrow_mut().push(begun.elapsed().as_millis());
            assert!(starts.borrow().len() == 10, "planted");
            "done"
        });
        assert_eq!(output.await, "done");
        assert_eq!(
            starts.into_inner(),
            [0, 100, 300, 700, 1500, 3100, 6300, 12_700, 22_700, 32_700]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_panic_before_the_first_poll_is_caught_as_well() {
        let is_first = std::cell::Cell::new(true);
        let output = supervise("test", || {
            assert!(!is_first.replace(false), "planted");
            async { "done" }
        });
        assert_eq!(output.await, "done");
    }

    #[tokio::test]
    async fn the_message_of_a_panic_is_its_text() {
        let caught = |panics: fn()| std::panic::catch_unwind(panics).unwrap_err();
        assert_eq!(message(&*caught(|| panic!("text"))), "text");
        assert_eq!(message(&*caught(|| panic!("{} {}", 1, 2))), "1 2");
        assert_eq!(message(&*caught(|| std::panic::panic_any(1))), "no message");
    }
}
