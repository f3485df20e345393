//! Asserts time limits. On a busy machine the processes under test wait for a CPU or a disk, so each limit is extended by
//! the longest of these waits. They overlap, so their sum would allow more than the machine has taken.

use std::{
    collections::HashMap,
    fs, mem,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

pub struct Stopwatch {
    pub started: Instant,
    /// The machine's stalls at the start; none where the kernel does not report them.
    stalled_before: Option<MachineStalls>,
    waits: Arc<Waits>,
}

impl Stopwatch {
    /// Starts, and watches these processes and their descendants.
    pub fn start(processes: &[u32]) -> Self {
        let waits = Arc::new(Waits::new(processes));
        let sampled = Arc::clone(&waits);
        thread::spawn(move || sampled.sample_until_done());
        Self { stalled_before: MachineStalls::since_boot(), waits, started: Instant::now() }
    }

    /// Asserts that less time has passed than the limit, and the time for which the processes had to wait.
    #[track_caller]
    pub fn must_show_less_than(&self, limit: Duration, what: &str) {
        let took = self.started.elapsed();
        let Some(waited) = self.waited() else {
            println!("{what}: {took:?}, not checked: the kernel does not report waits");
            return;
        };
        println!("{what}: {took:?}, waited for {waited:?}");
        assert!(took < limit + waited, "{what}: {took:?}, waited for {waited:?}");
    }

    /// The longest kind of wait of the processes; none where the kernel does not report waits.
    pub fn waited(&self) -> Option<Duration> {
        let (now, before) = (MachineStalls::since_boot()?, self.stalled_before?);
        Some(longest(self.waits.kinds()?, now.since(before)))
    }
}

impl Drop for Stopwatch {
    fn drop(&mut self) {
        self.waits.is_done.store(true, Ordering::Relaxed);
    }
}

/// How long the threads of some processes were ready to run but did not run.
struct Waits {
    processes: Vec<u32>,
    sampled: Mutex<Sampled>,
    is_done: AtomicBool,
}

struct Sampled {
    /// The wait of each thread at the last sample.
    threads: HashMap<u32, Duration>,
    total: Duration,
    /// How long a thread could not be interrupted, which means that it waited for a disk. The kernel does not report all of
    /// that as pressure: a flush waits for the journal of the file system.
    blocked: Duration,
    last: Instant,
    /// How late the sampling thread woke up: the machine may have been paused, or the CPU quota spent.
    late: Duration,
}

impl Waits {
    fn new(processes: &[u32]) -> Self {
        let threads = threads_below(processes)
            .into_iter()
            .filter_map(|(process, thread)| Some((thread, wait_of(process, thread)?)))
            .collect();
        let (total, blocked, late) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
        let sampled = Sampled { threads, total, blocked, last: Instant::now(), late };
        Self {
            processes: processes.to_vec(),
            sampled: Mutex::new(sampled),
            is_done: AtomicBool::new(false),
        }
    }

    /// Samples often, because the kernel drops a thread's counter when the thread ends.
    fn sample_until_done(&self) {
        const PERIOD: Duration = Duration::from_millis(10);
        const USUALLY_LATE: Duration = Duration::from_millis(1);
        while !self.is_done.load(Ordering::Relaxed) {
            let due = Instant::now() + PERIOD;
            thread::sleep(PERIOD);
            let late = due.elapsed().saturating_sub(USUALLY_LATE);
            self.sample();
            self.sampled.lock().unwrap().late += late;
        }
    }

    fn sample(&self) {
        let threads = threads_below(&self.processes);
        let is_blocked = threads.iter().any(|(process, thread)| is_blocked(*process, *thread));
        let mut sampled = self.sampled.lock().unwrap();
        let since_last = mem::replace(&mut sampled.last, Instant::now()).elapsed();
        if is_blocked {
            sampled.blocked += since_last;
        }
        for (process, thread) in threads {
            if let Some(now) = wait_of(process, thread) {
                let before = sampled.threads.insert(thread, now).unwrap_or_default();
                sampled.total += now.saturating_sub(before);
            }
        }
    }

    /// How long they waited for a CPU, were blocked by a disk, and woke up late.
    fn kinds(&self) -> Option<[Duration; 3]> {
        wait_of(std::process::id(), std::process::id())?;
        self.sample();
        let sampled = self.sampled.lock().unwrap();
        Some([sampled.total, sampled.blocked, sampled.late])
    }
}

fn longest(waits: [Duration; 3], stalls: [Duration; 3]) -> Duration {
    waits.into_iter().chain(stalls).max().unwrap_or_default()
}

/// The threads of these processes and of all their descendants, each with its process.
fn threads_below(processes: &[u32]) -> Vec<(u32, u32)> {
    let (mut left, mut threads) = (processes.to_vec(), Vec::new());
    while let Some(process) = left.pop() {
        let entries = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
        for entry in entries {
            let Some(thread) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            threads.push((process, thread));
            let children = fs::read_to_string(entry.path().join("children")).unwrap_or_default();
            left.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        }
    }
    threads
}

/// Whether a thread is in an uninterruptible sleep.
fn is_blocked(process: u32, thread: u32) -> bool {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/stat"));
    // The name before it may contain anything.
    text.is_ok_and(|text| text.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('D')))
}

/// How long a thread has waited for a CPU since it started.
fn wait_of(process: u32, thread: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?;
    Some(Duration::from_nanos(text.split_whitespace().nth(1)?.parse().ok()?))
}

/// How long threads of the machine have waited for a disk and for memory, and its CPUs for the hypervisor.
#[derive(Clone, Copy)]
struct MachineStalls([Duration; 3]);

impl MachineStalls {
    fn since_boot() -> Option<Self> {
        let pressure = |resource: &str| {
            let text = fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?;
            let some = text.lines().find(|line| line.starts_with("some "))?;
            Some(Duration::from_micros(some.rsplit_once("total=")?.1.parse().ok()?))
        };
        let stat = fs::read_to_string("/proc/stat").ok()?;
        let stolen: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
        Some(Self([pressure("io")?, pressure("memory")?, Duration::from_millis(stolen * 10)]))
    }

    fn since(self, before: Self) -> [Duration; 3] {
        [0, 1, 2].map(|kind| self.0[kind].saturating_sub(before.0[kind]))
    }
}

mod tests {
    use super::{Duration, MachineStalls, longest};

    #[test]
    fn the_longest_wait_extends_a_limit_and_not_their_sum() {
        let seconds = |all: [u64; 3]| all.map(Duration::from_secs);
        let before = MachineStalls(seconds([10, 20, 30]));
        let stalls = MachineStalls(seconds([12, 24, 30])).since(before);
        assert_eq!(stalls, seconds([2, 4, 0]));
        assert_eq!(longest(seconds([3, 1, 0]), stalls), Duration::from_secs(4));
        assert_eq!(longest(seconds([3, 5, 0]), stalls), Duration::from_secs(5));
        assert_eq!(longest(seconds([0; 3]), seconds([0; 3])), Duration::ZERO);
    }
}
