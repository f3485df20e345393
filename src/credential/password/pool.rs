//! The threads that hash passwords, and their priority.

use std::{
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

use super::{backend::Backend, queue::Queue};
use crate::network::Network;

/// Work for a hashing thread. Dropping it without running it returns an error to the caller.
pub(super) type Job = Box<dyn FnOnce(&mut Backend) + Send>;

/// What waits, runs and was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Jobs that wait for a thread.
    pub waiting: usize,
    pub running: usize,
    /// Jobs that were dropped since the start because the queue was full.
    pub dropped: u64,
    /// Jobs that were dropped since the start because they had waited too long.
    pub expired: u64,
}

/// The memory for hashing is freed after this time without work.
const IDLE_TIMEOUT: Duration = Duration::from_secs(60);

/// The priority of a hashing thread. While the CPU has room, hashing runs at low priority, so that guards do not wait for
/// it. While other work starves it, it runs at normal priority, so that logins keep about half of their rate under constant
/// guard load. A thread cannot raise its own priority, so each priority has its own threads. `lab/login-floor`
/// measures both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Priority {
    Normal,
    Low,
}

impl Priority {
    const ALL: [Self; 2] = [Self::Normal, Self::Low];

    fn niceness(self) -> i32 {
        match self {
            Self::Normal => 0,
            Self::Low => 19,
        }
    }
}

/// Selects the priority of the next job by the CPU share of earlier ones.
struct Scheduler {
    priority: Priority,
    /// Whether the priority never changes.
    is_fixed: bool,
    /// Consecutive jobs of low priority that were starved.
    starved: u32,
    /// Low priority is not tried before this time.
    low_again_at: Instant,
}

impl Scheduler {
    /// A job of low priority that gets less of a core than this is starved.
    const STARVED: f64 = 0.5;
    /// A job of normal priority that gets more of a core than this would get as much at low priority.
    const UNDISTURBED: f64 = 0.95;
    /// The time from a starved job to the next try of low priority. It doubles each time, up to [`Self::MAX_WAIT`].
    const FIRST_WAIT: Duration = Duration::from_millis(250);
    const MAX_WAIT: Duration = Duration::from_secs(32);

    fn new(now: Instant) -> Self {
        Self { priority: Priority::Normal, is_fixed: false, starved: 0, low_again_at: now }
    }

    fn always_low(now: Instant) -> Self {
        Self { priority: Priority::Low, is_fixed: true, ..Self::new(now) }
    }

    /// Records the share of a core that a job of this priority had. Jobs that began before a change are ignored.
    fn record(&mut self, priority: Priority, share: f64, now: Instant) {
        match priority {
            _ if priority != self.priority || self.is_fixed => {}
            Priority::Low if share < Self::STARVED => {
                let wait = Self::FIRST_WAIT * 2_u32.pow(self.starved.min(7));
                self.low_again_at = now + wait.min(Self::MAX_WAIT);
                self.starved += 1;
                self.priority = Priority::Normal;
            }
            Priority::Low => self.starved = 0,
            Priority::Normal if share > Self::UNDISTURBED && now >= self.low_again_at => {
                self.priority = Priority::Low;
            }
            Priority::Normal => {}
        }
    }

    /// Returns to normal priority: after a pause the load of the machine is unknown, and a single login must not be slow.
    fn reset(&mut self) {
        if !self.is_fixed {
            self.priority = Priority::Normal;
        }
    }
}

/// A pool of hashing threads with a bounded queue.
pub(super) struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    /// The maximum number of jobs that run at the same time.
    limit: usize,
    state: Mutex<State>,
    /// Wakes the threads of each priority.
    arrived: [Condvar; 2],
}

struct State {
    queue: Queue<Job>,
    /// Idle backends with their memory.
    backends: Vec<Backend>,
    running: usize,
    scheduler: Scheduler,
    last_job_ended: Instant,
    closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived(&self, priority: Priority) -> &Condvar {
        &self.arrived[priority as usize]
    }

    /// Waits for the next job for a thread of this priority; `None` if the pool is closed.
    fn next(&self, priority: Priority) -> Option<(Job, Backend)> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if state.scheduler.priority == priority
                && state.running < self.limit
                && let Some(job) = state.queue.pop(Instant::now())
            {
                state.running += 1;
                return Some((job, state.backends.pop().unwrap_or_default()));
            }
            let waited = self.arrived(priority).wait_timeout(state, IDLE_TIMEOUT);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.running == 0 && state.last_job_ended.elapsed() >= IDLE_TIMEOUT {
                state.backends = Vec::new();
            }
        }
    }

    /// Records that a job of this priority is done and what share of a core it had.
    fn done(&self, priority: Priority, backend: Backend, share: f64) {
        let mut state = self.state();
        state.running -= 1;
        state.backends.push(backend);
        let now = Instant::now();
        state.last_job_ended = now;
        state.scheduler.record(priority, share, now);
        if state.scheduler.priority != priority {
            self.arrived(state.scheduler.priority).notify_all();
        }
    }
}

impl Pool {
    pub(super) fn new(threads: NonZeroUsize, capacity: usize) -> Self {
        Self::start("hash", threads, capacity, Scheduler::new(Instant::now()), &Priority::ALL)
    }

    /// One thread, which runs at low priority however little CPU it gets.
    pub(super) fn in_background(capacity: usize) -> Self {
        let (threads, scheduler) = (NonZeroUsize::MIN, Scheduler::always_low(Instant::now()));
        Self::start("imported-hash", threads, capacity, scheduler, &[Priority::Low])
    }

    fn start(
        name: &str,
        threads: NonZeroUsize,
        capacity: usize,
        scheduler: Scheduler,
        priorities: &[Priority],
    ) -> Self {
        let state = State {
            queue: Queue::new(capacity),
            backends: Vec::new(),
            running: 0,
            scheduler,
            last_job_ended: Instant::now(),
            closed: false,
        };
        let shared = Arc::new(Shared {
            limit: threads.get(),
            state: Mutex::new(state),
            arrived: Default::default(),
        });
        for (number, priority) in (0..threads.get())
            .flat_map(|number| priorities.iter().map(move |priority| (number, *priority)))
        {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name(format!("{name}-{number}"))
                .spawn(move || work(&shared, priority))
                .expect("the system can start a thread");
        }
        Self { shared }
    }

    /// Queues a job. A full queue drops this job or one of a network with more jobs.
    pub(super) fn submit(&self, network: Network, job: Job) {
        /// After a pause of this length the recorded CPU shares are outdated.
        const PAUSE: Duration = Duration::from_secs(1);
        let (mut state, now) = (self.shared.state(), Instant::now());
        if state.running == 0 && now.saturating_duration_since(state.last_job_ended) > PAUSE {
            state.scheduler.reset();
        }
        state.queue.push(network, job, now);
        self.shared.arrived(state.scheduler.priority).notify_one();
    }
}

impl Pool {
    pub(super) fn load(&self) -> Load {
        let state = self.shared.state();
        let (queue, running) = (&state.queue, state.running);
        let (dropped, expired) = (queue.dropped(), queue.expired());
        Load { waiting: queue.waiting(), running, dropped, expired }
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.arrived.iter().for_each(Condvar::notify_all);
    }
}

fn work(shared: &Shared, priority: Priority) {
    if let Err(error) = rustix::process::setpriority_process(None, priority.niceness()) {
        tracing::warn!(%error, "cannot lower the priority of hashing threads");
    }
    while let Some((job, mut backend)) = shared.next(priority) {
        let (began, cpu_before) = (Instant::now(), cpu_time());
        // The caller gets an error because the job is dropped, and the thread takes the next job.
        if catch_unwind(AssertUnwindSafe(|| job(&mut backend))).is_err() {
            tracing::error!("hashing a password panicked");
            backend = Backend::default();
        }
        let cpu = cpu_time().saturating_sub(cpu_before);
        shared.done(priority, backend, cpu.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-9));
    }
}

/// The CPU time that this thread has used.
fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::{
        net::Ipv4Addr,
        sync::{
            atomic::{AtomicUsize, Ordering},
            mpsc,
        },
    };

    use super::*;

    const LONG: Duration = Duration::from_secs(30);

    fn network() -> Network {
        Network::at(Ipv4Addr::LOCALHOST.into())
    }

    #[test]
    fn a_starved_job_raises_the_priority_and_an_undisturbed_one_lowers_it() {
        use Priority::{Low, Normal};
        let now = Instant::now();
        let mut scheduler = Scheduler::new(now);
        for (priority, share, expected) in [
            (Normal, 0.6, Normal),
            (Normal, 1.0, Low),
            (Normal, 0.1, Low),
            (Low, 0.6, Low),
            (Low, 0.1, Normal),
            (Low, 1.0, Normal),
        ] {
            scheduler.record(priority, share, now);
            assert_eq!(scheduler.priority, expected, "{priority:?} {share}");
        }
        scheduler.reset();
        assert_eq!(scheduler.priority, Normal);
    }

    #[test]
    fn a_job_in_the_background_stays_there() {
        let now = Instant::now();
        let mut scheduler = Scheduler::always_low(now);
        for share in [0.01, 0.6, 1.0] {
            scheduler.record(Priority::Low, share, now);
            scheduler.reset();
            assert_eq!(scheduler.priority, Priority::Low, "{share}");
        }
        let pool = Pool::in_background(4);
        let (done, finished) = mpsc::channel();
        pool.submit(network(), Box::new(move |_| done.send(()).unwrap()));
        finished.recv_timeout(LONG).expect("the job is done");
    }

    #[test]
    fn low_priority_is_tried_less_and_less_often_while_it_starves() {
        let start = Instant::now();
        let (mut scheduler, mut now, mut tries) = (Scheduler::new(start), start, 0);
        while now < start + Duration::from_secs(60) {
            scheduler.record(Priority::Normal, 1.0, now);
            if scheduler.priority == Priority::Low {
                tries += 1;
                scheduler.record(Priority::Low, 0.01, now);
            }
            now += Duration::from_millis(10);
        }
        assert!((6..10).contains(&tries), "{tries}");
    }

    #[test]
    fn the_threads_of_both_priorities_together_run_at_most_the_limit_of_jobs() {
        let pool = Pool::new(NonZeroUsize::new(2).unwrap(), 64);
        let (running, done) = (Arc::new(AtomicUsize::new(0)), mpsc::channel());
        for number in 0..60 {
            let (running, done) = (Arc::clone(&running), done.0.clone());
            pool.submit(
                network(),
                Box::new(move |_| {
                    let others = running.fetch_add(1, Ordering::SeqCst);
                    // One job in three uses the CPU, the others sleep.
                    if number % 3 == 0 {
                        let busy = Instant::now();
                        while busy.elapsed() < Duration::from_millis(2) {}
                    } else {
                        thread::sleep(Duration::from_millis(2));
                    }
                    running.fetch_sub(1, Ordering::SeqCst);
                    done.send(others).unwrap();
                }),
            );
        }
        for _ in 0..60 {
            assert!(done.1.recv_timeout(LONG).expect("every job is done") < 2);
        }
    }

    #[test]
    fn a_pool_continues_after_a_job_that_panics() {
        let threads = NonZeroUsize::new(2).unwrap();
        let pool = Pool::new(threads, 16);
        for _ in 0..4 {
            pool.submit(network(), Box::new(|_| panic!("a job that panics on purpose")));
        }
        // Both threads are still there: each of the two jobs waits for the other.
        let both = Arc::new(std::sync::Barrier::new(2));
        let (done, finished) = mpsc::channel();
        for _ in 0..2 {
            let (both, done) = (Arc::clone(&both), done.clone());
            pool.submit(
                network(),
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
