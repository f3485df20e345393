//! The hashing lane: the threads that hash passwords, and how they compete for the CPU with everything else.

use std::{
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{Kernel, queue::Queue};
use crate::client::Client;

/// Work for a hashing thread. Dropping it undone tells whoever waits for it.
pub(super) type Job = Box<dyn FnOnce(&mut Kernel) + Send>;

/// A thread without work for this long gives its memory back.
const KEEP_MEMORY: Duration = Duration::from_secs(60);

/// Slightly below everything else. A thread of this niceness has two thirds of the weight of a normal one: enough for
/// logins to keep half of their rate while guards are asked without pause, and little enough for a guard that is asked
/// while everybody logs in to get the CPU at once. `lab/login-floor` measures both.
const NICENESS: i32 = 2;

/// Threads that take one job after the other.
pub(super) struct Lane {
    shared: Arc<Shared>,
}

struct Shared {
    state: Mutex<State>,
    arrived: Condvar,
}

struct State {
    queue: Queue<Job>,
    closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, and a queue is whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next job, however long it takes to arrive; none when the lane is closed.
    fn next(&self, kernel: &mut Kernel) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.queue.pop(Instant::now()) {
                return Some(job);
            }
            let waited = self.arrived.wait_timeout(state, KEEP_MEMORY);
            let (again, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state = again;
            if timeout.timed_out() {
                *kernel = Kernel::default();
            }
        }
    }
}

impl Lane {
    pub(super) fn new(threads: NonZeroUsize, capacity: usize) -> Self {
        let state = State { queue: Queue::new(capacity), closed: false };
        let shared = Arc::new(Shared { state: Mutex::new(state), arrived: Condvar::new() });
        for number in 0..threads.get() {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name(format!("hash-{number}"))
                .spawn(move || work(&shared))
                .expect("the system has a thread for hashing");
        }
        Self { shared }
    }

    /// Queues a job, or drops one (this or that of a greedier network) when the queue is full.
    pub(super) fn enter(&self, client: Client, job: Job) {
        self.shared.state().queue.push(client, job, Instant::now());
        self.shared.arrived.notify_one();
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.arrived.notify_all();
    }
}

fn work(shared: &Shared) {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(%error, "hashing threads run at normal priority");
    }
    let mut kernel = Kernel::default();
    while let Some(job) = shared.next(&mut kernel) {
        // Whoever waits for the job is told by its end, and everybody else goes on being served.
        if catch_unwind(AssertUnwindSafe(|| job(&mut kernel))).is_err() {
            tracing::error!("hashing a password panicked");
            kernel = Kernel::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, sync::mpsc};

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn anybody() -> Client {
        Client::at(Ipv4Addr::LOCALHOST.into())
    }

    #[test]
    fn a_lane_goes_on_after_a_job_that_panics() {
        let threads = NonZeroUsize::new(2).unwrap();
        let lane = Lane::new(threads, 16);
        for _ in 0..4 {
            lane.enter(anybody(), Box::new(|_| panic!("a job that panics on purpose")));
        }
        // Both threads are still there: each of the two jobs waits for the other.
        let both = Arc::new(std::sync::Barrier::new(2));
        let (done, finished) = mpsc::channel();
        for _ in 0..2 {
            let (both, done) = (Arc::clone(&both), done.clone());
            lane.enter(
                anybody(),
                Box::new(move |_| {
                    both.wait();
                    done.send(()).unwrap();
                }),
            );
        }
        for _ in 0..2 {
            finished.recv_timeout(LONG).expect("both threads still work");
        }
    }
}
