//! The hashing lane: the threads that hash passwords, and how they compete for the CPU with everything else.

use std::{
    num::NonZeroUsize,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use rustix::time::{ClockId, clock_gettime};

use super::{Kernel, queue::Queue};
use crate::network::Network;

/// Work for a hashing thread. Dropping it undone tells whoever waits for it.
pub(super) type Job = Box<dyn FnOnce(&mut Kernel) + Send>;

/// Without work for this long, the memory for hashing is given back.
const KEEP_MEMORY: Duration = Duration::from_secs(60);

/// How hashing competes for the CPU. While it gets the CPU anyway it runs at low priority, so that a guard that is asked
/// while everybody logs in never waits for a hash. When something else takes the CPU it runs at normal priority, so that
/// logins keep about half of their rate while guards are asked without pause. A thread cannot raise its own priority, so there
/// is a set of threads for each. `lab/login-floor` measures both.
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

/// Which threads take the next job, by what the last ones got of the CPU.
struct Choice {
    priority: Priority,
    /// Jobs of low priority that were starved, one after the other.
    starved: u32,
    /// Low priority is not tried before.
    low_again_at: Instant,
}

impl Choice {
    /// A job of low priority that gets less of a core than this is starved.
    const STARVED: f64 = 0.5;
    /// A job of normal priority that gets more of a core than this would get it at low priority as well.
    const UNDISTURBED: f64 = 0.95;
    /// From a starved job to the next try of low priority, doubled each time until [`Self::LONGEST`].
    const FIRST_WAIT: Duration = Duration::from_millis(250);
    const LONGEST: Duration = Duration::from_secs(32);

    fn new(now: Instant) -> Self {
        Self { priority: Priority::Normal, starved: 0, low_again_at: now }
    }

    /// After a job of this priority that had this share of a core. Jobs that began before a change say nothing about it.
    fn judge(&mut self, own: Priority, share: f64, now: Instant) {
        match own {
            _ if own != self.priority => {}
            Priority::Low if share < Self::STARVED => {
                let wait = Self::FIRST_WAIT * 2_u32.pow(self.starved.min(7));
                self.low_again_at = now + wait.min(Self::LONGEST);
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

    /// After a pause nobody knows what else the machine does, and a single login must not be slow.
    fn forget(&mut self) {
        self.priority = Priority::Normal;
    }
}

/// Threads that take one job after the other.
pub(super) struct Lane {
    shared: Arc<Shared>,
}

struct Shared {
    /// Jobs that run at a time.
    limit: usize,
    state: Mutex<State>,
    /// For the threads of each priority.
    arrived: [Condvar; 2],
}

struct State {
    queue: Queue<Job>,
    /// Memory of jobs that are done, for the next ones.
    kernels: Vec<Kernel>,
    running: usize,
    choice: Choice,
    last_job_ended: Instant,
    closed: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, and a queue is whole between any two statements.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn arrived(&self, priority: Priority) -> &Condvar {
        &self.arrived[priority as usize]
    }

    /// The next job for a thread of this priority, however long it takes to arrive; none when the lane is closed.
    fn next(&self, own: Priority) -> Option<(Job, Kernel)> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if state.choice.priority == own
                && state.running < self.limit
                && let Some(job) = state.queue.pop(Instant::now())
            {
                state.running += 1;
                return Some((job, state.kernels.pop().unwrap_or_default()));
            }
            let waited = self.arrived(own).wait_timeout(state, KEEP_MEMORY);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.running == 0 && state.last_job_ended.elapsed() >= KEEP_MEMORY {
                state.kernels = Vec::new();
            }
        }
    }

    /// Notes that a job of this priority is done and what share of a core it had.
    fn done(&self, own: Priority, kernel: Kernel, share: f64) {
        let mut state = self.state();
        state.running -= 1;
        state.kernels.push(kernel);
        let now = Instant::now();
        state.last_job_ended = now;
        state.choice.judge(own, share, now);
        if state.choice.priority != own {
            self.arrived(state.choice.priority).notify_all();
        }
    }
}

impl Lane {
    pub(super) fn new(threads: NonZeroUsize, capacity: usize) -> Self {
        let now = Instant::now();
        let state = State {
            queue: Queue::new(capacity),
            kernels: Vec::new(),
            running: 0,
            choice: Choice::new(now),
            last_job_ended: now,
            closed: false,
        };
        let shared = Arc::new(Shared {
            limit: threads.get(),
            state: Mutex::new(state),
            arrived: Default::default(),
        });
        for (number, priority) in
            (0..threads.get()).flat_map(|number| Priority::ALL.map(|priority| (number, priority)))
        {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name(format!("hash-{number}"))
                .spawn(move || work(&shared, priority))
                .expect("the system has a thread for hashing");
        }
        Self { shared }
    }

    /// Queues a job, or drops one (this or that of a greedier network) when the queue is full.
    pub(super) fn enter(&self, client: Network, job: Job) {
        /// What was found out about the CPU is of no use after a pause.
        const PAUSE: Duration = Duration::from_secs(1);
        let (mut state, now) = (self.shared.state(), Instant::now());
        if state.running == 0 && now.saturating_duration_since(state.last_job_ended) > PAUSE {
            state.choice.forget();
        }
        state.queue.push(client, job, now);
        self.shared.arrived(state.choice.priority).notify_one();
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.shared.state().closed = true;
        self.shared.arrived.iter().for_each(Condvar::notify_all);
    }
}

fn work(shared: &Shared, priority: Priority) {
    if let Err(error) = rustix::process::setpriority_process(None, priority.niceness()) {
        tracing::warn!(%error, "hashing threads run at normal priority");
    }
    while let Some((job, mut kernel)) = shared.next(priority) {
        let (began, cpu_before) = (Instant::now(), cpu_time());
        // Whoever waits for the job is told by its end, and everybody else goes on being served.
        if catch_unwind(AssertUnwindSafe(|| job(&mut kernel))).is_err() {
            tracing::error!("hashing a password panicked");
            kernel = Kernel::default();
        }
        let cpu = cpu_time().saturating_sub(cpu_before);
        shared.done(priority, kernel, cpu.as_secs_f64() / began.elapsed().as_secs_f64().max(1e-9));
    }
}

/// What this thread has had of the CPU.
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

    fn anybody() -> Network {
        Network::at(Ipv4Addr::LOCALHOST.into())
    }

    #[test]
    fn a_starved_job_raises_the_priority_and_an_undisturbed_one_lowers_it() {
        use Priority::{Low, Normal};
        let now = Instant::now();
        let mut choice = Choice::new(now);
        for (own, share, then) in [
            (Normal, 0.6, Normal),
            (Normal, 1.0, Low),
            (Normal, 0.1, Low),
            (Low, 0.6, Low),
            (Low, 0.1, Normal),
            (Low, 1.0, Normal),
        ] {
            choice.judge(own, share, now);
            assert_eq!(choice.priority, then, "{own:?} {share}");
        }
        choice.forget();
        assert_eq!(choice.priority, Normal);
    }

    #[test]
    fn low_priority_is_tried_less_and_less_often_while_it_starves() {
        let start = Instant::now();
        let (mut choice, mut now, mut tries) = (Choice::new(start), start, 0);
        while now < start + Duration::from_secs(60) {
            choice.judge(Priority::Normal, 1.0, now);
            if choice.priority == Priority::Low {
                tries += 1;
                choice.judge(Priority::Low, 0.01, now);
            }
            now += Duration::from_millis(10);
        }
        assert!((6..10).contains(&tries), "{tries}");
    }

    #[test]
    fn both_sets_of_threads_together_run_no_more_jobs_at_a_time_than_the_limit() {
        let lane = Lane::new(NonZeroUsize::new(2).unwrap(), 64);
        let (running, done) = (Arc::new(AtomicUsize::new(0)), mpsc::channel());
        for number in 0..60 {
            let (running, done) = (Arc::clone(&running), done.0.clone());
            lane.enter(
                anybody(),
                Box::new(move |_| {
                    let others = running.fetch_add(1, Ordering::SeqCst);
                    // One job in three uses the CPU all the time, the others let it go.
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
