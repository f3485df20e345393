//! Answers whose time must not tell whether an address is known. The same work is done for every address, but a stored user still
//! costs some microseconds more than none. So such an answer waits for the next tick after the request.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// Answers leave at multiples of this time after the request.
const TICK: Duration = Duration::from_millis(25);

/// Does the work and waits for the next tick.
pub(super) async fn on_tick<T>(work: impl Future<Output = T>) -> T {
    let started = Instant::now();
    let done = work.await;
    let ticks = started.elapsed().as_nanos() / TICK.as_nanos() + 1;
    sleep_until(started + TICK * u32::try_from(ticks).unwrap_or(u32::MAX)).await;
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn work_of_different_length_ends_on_the_same_tick() {
        for (work, ticks) in [(0, 1), (1, 1), (24, 1), (25, 2), (26, 2), (49, 2), (1000, 41)] {
            let started = Instant::now();
            let done = on_tick(async {
                tokio::time::sleep(Duration::from_millis(work)).await;
                work
            });
            assert_eq!(done.await, work);
            assert_eq!(started.elapsed(), TICK * ticks, "{work} ms");
        }
    }
}
