//! The hashing lane: a few threads of low priority and a bounded queue in which every client has its own line.

use std::{
    collections::{HashMap, VecDeque},
    num::NonZeroUsize,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::Kernel;
use crate::client::Client;

/// Work for a hashing thread. Dropping it undone tells whoever waits for it.
pub(super) type Job = Box<dyn FnOnce(&mut Kernel) + Send>;

/// Whoever waits longer than this has given up or soon will.
const PATIENCE: Duration = Duration::from_secs(5);
/// A thread without work for this long gives its memory back.
const KEEP_MEMORY: Duration = Duration::from_secs(60);
/// As far below everything else as a thread can be put: requests that need no hash never wait for one.
const NICENESS: i32 = 19;

/// Threads that take one job after the other, in turn from each client that has some waiting.
pub(super) struct Lane {
    shared: Arc<Shared>,
}

struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        // Nothing panics while the lock is held, and a queue is whole between any two statements.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lane {
    pub(super) fn new(threads: NonZeroUsize, capacity: usize) -> Self {
        let shared =
            Arc::new(Shared { queue: Mutex::new(Queue::new(capacity)), arrived: Condvar::new() });
        for number in 0..threads.get() {
            let shared = Arc::clone(&shared);
            thread::Builder::new()
                .name(format!("hash-{number}"))
                .spawn(move || work(&shared))
                .expect("the system has a thread for hashing");
        }
        Self { shared }
    }

    /// Queues a job, or drops one (this or that of a greedier client) when the queue is full.
    pub(super) fn enter(&self, client: Client, job: Job) {
        self.shared.queue().push(client, job, Instant::now());
        self.shared.arrived.notify_one();
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        self.shared.queue().closed = true;
        self.shared.arrived.notify_all();
    }
}

fn work(shared: &Shared) {
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::warn!(%error, "hashing threads run at normal priority");
    }
    let mut kernel = Kernel::default();
    loop {
        let job = {
            let mut queue = shared.queue();
            loop {
                if queue.closed {
                    return;
                }
                if let Some(job) = queue.pop(Instant::now()) {
                    break job;
                }
                let waited = shared.arrived.wait_timeout(queue, KEEP_MEMORY);
                let (again, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                queue = again;
                if timeout.timed_out() {
                    kernel = Kernel::default();
                }
            }
        };
        job(&mut kernel);
    }
}

struct Queue {
    lines: HashMap<Client, VecDeque<(Instant, Job)>>,
    /// The clients that have somebody waiting, the next to be served in front.
    turns: VecDeque<Client>,
    waiting: usize,
    capacity: usize,
    closed: bool,
}

impl Queue {
    fn new(capacity: usize) -> Self {
        Self { lines: HashMap::new(), turns: VecDeque::new(), waiting: 0, capacity, closed: false }
    }

    fn push(&mut self, client: Client, job: Job, now: Instant) {
        if self.waiting == self.capacity && !self.make_room_for(client) {
            return;
        }
        let line = self.lines.entry(client).or_default();
        if line.is_empty() {
            self.turns.push_back(client);
        }
        line.push_back((now, job));
        self.waiting += 1;
    }

    /// Turns away the last in the longest line, if that line is longer than the newcomer's would be.
    fn make_room_for(&mut self, newcomer: Client) -> bool {
        let own = self.lines.get(&newcomer).map_or(0, VecDeque::len);
        let longest = self.lines.values_mut().max_by_key(|line| line.len());
        match longest {
            Some(line) if line.len() > own + 1 => {
                line.pop_back();
                self.waiting -= 1;
                true
            }
            _ => false,
        }
    }

    fn pop(&mut self, now: Instant) -> Option<Job> {
        while let Some(client) = self.turns.pop_front() {
            let Some(line) = self.lines.get_mut(&client) else { continue };
            let next = line.pop_front();
            if line.is_empty() {
                self.lines.remove(&client);
            } else {
                self.turns.push_back(client);
            }
            if let Some((since, job)) = next {
                self.waiting -= 1;
                if now.duration_since(since) <= PATIENCE {
                    return Some(job);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    fn client(last: u8) -> Client {
        Client::at([192, 0, 2, last].into())
    }

    /// A queue whose jobs note their number in `served` when they run.
    struct Served {
        queue: Queue,
        served: Arc<Mutex<Vec<usize>>>,
        now: Instant,
    }

    impl Served {
        fn with_capacity(capacity: usize) -> Self {
            Self { queue: Queue::new(capacity), served: Arc::default(), now: Instant::now() }
        }

        fn push(&mut self, client: Client, number: usize) {
            let served = Arc::clone(&self.served);
            self.queue.push(
                client,
                Box::new(move |_| served.lock().unwrap().push(number)),
                self.now,
            );
        }

        fn run_all(mut self, at: Instant) -> Vec<usize> {
            while let Some(job) = self.queue.pop(at) {
                job(&mut Kernel::default());
            }
            assert_eq!((self.queue.waiting, self.queue.lines.len()), (0, 0));
            Arc::into_inner(self.served).unwrap().into_inner().unwrap()
        }
    }

    #[test]
    fn clients_are_served_in_turn_however_many_jobs_one_of_them_has() {
        let mut lane = Served::with_capacity(100);
        for number in 0..4 {
            lane.push(client(1), number);
        }
        lane.push(client(2), 10);
        lane.push(client(3), 20);
        let now = lane.now;
        assert_eq!(lane.run_all(now), [0, 10, 20, 1, 2, 3]);
    }

    #[test]
    fn a_full_queue_makes_room_for_a_newcomer_at_the_cost_of_the_greediest() {
        let mut lane = Served::with_capacity(4);
        for number in 0..4 {
            lane.push(client(1), number);
        }
        lane.push(client(2), 10);
        lane.push(client(1), 4);
        let now = lane.now;
        assert_eq!(lane.run_all(now), [0, 10, 1, 2], "3 made room, 4 found none");
    }

    #[test]
    fn whoever_waited_too_long_is_not_served_any_more() {
        let mut lane = Served::with_capacity(4);
        lane.push(client(1), 0);
        let late = lane.now + PATIENCE + Duration::from_millis(1);
        lane.now = late;
        lane.push(client(1), 1);
        assert_eq!(lane.run_all(late), [1]);
    }

    #[test]
    fn the_queue_never_holds_more_than_its_capacity() {
        let dropped = Arc::new(AtomicUsize::new(0));
        struct Count(Arc<AtomicUsize>);
        impl Drop for Count {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
        }
        let mut queue = Queue::new(8);
        for number in 0..100_u8 {
            let count = Count(Arc::clone(&dropped));
            let job: Job = Box::new(move |_| drop(count));
            queue.push(client(number % 16), job, Instant::now());
        }
        assert_eq!((queue.waiting, dropped.load(Ordering::Relaxed)), (8, 92));
    }
}
