//! Holds times to a limit. A busy machine delays everything, so the limit is extended by the time for which the machine kept
//! threads from running, and by no more.

use std::{
    fs,
    sync::{
        Once,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

/// A timer is this late on an idle machine.
const USUALLY_LATE: Duration = Duration::from_millis(1);

pub struct Stopwatch {
    pub started: Instant,
    /// The machine's stall until then.
    pub stalled_before: Option<Duration>,
}

impl Stopwatch {
    pub fn start() -> Self {
        static WATCHING: Once = Once::new();
        WATCHING.call_once(|| {
            thread::spawn(watch_for_late_timers);
        });
        Self { stalled_before: stalled(), started: Instant::now() }
    }

    /// Asserts that the time since the start is below the limit, apart from the machine's stall in that time.
    #[track_caller]
    pub fn must_show_less_than(&self, limit: Duration, what: &str) {
        let took = self.started.elapsed();
        let (Some(before), Some(now)) = (self.stalled_before, stalled()) else {
            println!("{what}: {took:?}, not judged: the kernel does not report pressure");
            return;
        };
        let stalled = now.saturating_sub(before);
        println!("{what}: {took:?}, stalled for {stalled:?}");
        assert!(took < limit + stalled, "{what}: {took:?}, stalled for {stalled:?}");
    }
}

/// How late sleeping threads woke in this process, in microseconds.
static LATE: AtomicU64 = AtomicU64::new(0);

/// Finds what the kernel does not count: a machine that was paused, a CPU quota.
fn watch_for_late_timers() {
    const PERIOD: Duration = Duration::from_millis(5);
    loop {
        let due = Instant::now() + PERIOD;
        thread::sleep(PERIOD);
        let late = due.elapsed().saturating_sub(USUALLY_LATE);
        LATE.fetch_add(late.as_micros() as u64, Ordering::Relaxed);
    }
}

/// For how long threads have waited for a CPU, a disk or memory since the machine started, and its CPUs for the
/// hypervisor; none where the kernel does not tell.
fn stalled() -> Option<Duration> {
    let pressure = |resource: &str| {
        let told = fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?;
        let some = told.lines().find(|line| line.starts_with("some "))?;
        Some(Duration::from_micros(some.rsplit_once("total=")?.1.parse().ok()?))
    };
    let stat = fs::read_to_string("/proc/stat").ok()?;
    let cpus = stat.lines().filter(|line| line.starts_with("cpu")).count() - 1;
    let stolen: u64 = stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()?;
    // The kernel averages over the CPUs: a thread that waits for one of two counts half.
    let waited = pressure("cpu")? * cpus as u32 + pressure("io")? + pressure("memory")?;
    let late = Duration::from_micros(LATE.load(Ordering::Relaxed));
    Some(waited + Duration::from_millis(stolen * 10) + late)
}
