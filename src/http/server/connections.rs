//! All connections of a server: what each is doing, since when, and which of them must close.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::Limits;
use crate::doorward::ConnectionCounts;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The head of a request is arriving, or the connection is new.
    Head,
    /// The body of a request is arriving. The code that reads it has its own deadline, also while the answer is sent.
    Body,
    /// The handler is running, or makes its answer part by part. It has its own deadline.
    Answering,
    /// A write waits for the client to read.
    Writing,
    /// The connection is between two requests.
    Idle,
}

const TICK_MILLIS: i64 = 500;

/// All connections of a server.
pub(super) struct Connections {
    limits: Limits,
    counts: Arc<ConnectionCounts>,
    started: Instant,
    clock: Arc<TickClock>,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    last_id: AtomicU64,
    /// How many evicted connections are still open.
    evicted: AtomicUsize,
    /// When the server has begun to stop. Answers say since then that their connection ends.
    stopping_since: OnceLock<Instant>,
    /// Whether no connection waits for another request any more.
    shutting_down: AtomicBool,
    closed: Notify,
}

impl Connections {
    /// How often timeouts are checked, and so their precision.
    const TICK: Duration = Duration::from_millis(TICK_MILLIS as u64);

    pub(super) fn new(limits: Limits, counts: Arc<ConnectionCounts>) -> Arc<Self> {
        counts.set_limit(limits.connections);
        Arc::new(Self {
            limits,
            counts,
            started: Instant::now(),
            clock: Arc::new(TickClock::new(limits.write)),
            open: Mutex::default(),
            last_id: AtomicU64::new(0),
            evicted: AtomicUsize::new(0),
            stopping_since: OnceLock::new(),
            shutting_down: AtomicBool::new(false),
            closed: Notify::new(),
        })
    }

    /// A slot for a new connection. If all slots are taken, this evicts silent connections.
    pub(super) fn take_slot(self: &Arc<Self>) -> Slot {
        if self.count().saturating_sub(self.evicted.load(Ordering::Relaxed))
            >= self.limits.connections
        {
            self.evict_silent();
        }
        let connection = Arc::new(Connection::new(Arc::clone(&self.clock)));
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        self.open().insert(id, Arc::clone(&connection));
        // What follows does not wake one that is accepted while the server stops.
        let is_late = self.stopping_since.get().is_some();
        if is_late {
            connection.close.notify_one();
        }
        self.counts.accepted.add_one();
        self.counts.open.add_one();
        Slot { id, connection, is_late, connections: Arc::clone(self) }
    }

    /// Closes the connections that have been silent longest. It closes several at once, because finding them takes a
    /// scan of all connections.
    pub(super) fn evict_silent(&self) {
        let at_once = (self.limits.connections / 64).max(1);
        let open = self.open();
        let mut silent: Vec<_> = open
            .values()
            .filter(|connection| connection.phase() != Phase::Answering && !connection.is_evicted())
            .map(|connection| (connection.last_activity.load(Ordering::Relaxed), connection))
            .collect();
        let at_once = at_once.min(silent.len());
        if at_once > 0 {
            silent.select_nth_unstable_by_key(at_once - 1, |(last_activity, _)| *last_activity);
        }
        for (_, connection) in &silent[..at_once] {
            connection.evicted.store(true, Ordering::Relaxed);
            connection.close.notify_one();
        }
        self.evicted.fetch_add(at_once, Ordering::Relaxed);
        self.counts.evicted.add(at_once as u64);
    }

    /// Closes connections that have timed out, for as long as it is polled.
    pub(super) async fn enforce_timeouts(&self) {
        loop {
            tokio::time::sleep(Self::TICK).await;
            self.close_timed_out();
        }
    }

    /// Closes connections that have timed out and returns their number.
    pub(super) fn close_timed_out(&self) -> usize {
        self.advance_clock();
        let open = self.open();
        let late = open.values().filter(|connection| self.has_timed_out(connection));
        late.map(|connection| connection.close.notify_one()).count()
    }

    fn advance_clock(&self) {
        let tick = self.started.elapsed().as_millis() / Self::TICK.as_millis();
        let tick = u64::try_from(tick).unwrap_or(u64::MAX >> 3);
        self.clock.tick.store(tick, Ordering::Relaxed);
    }

    fn has_timed_out(&self, connection: &Connection) -> bool {
        let allowed = match connection.phase() {
            Phase::Head => self.limits.head,
            Phase::Writing => connection.write_budget(),
            Phase::Idle => self.limits.idle,
            Phase::Body | Phase::Answering => return false,
        };
        // The phase may have begun at the end of its tick, so that tick does not count.
        let ticks = self.clock.now().saturating_sub(connection.since() + 1);
        u128::from(ticks) * Self::TICK.as_millis() >= allowed.as_millis()
    }

    /// Announces the end of every connection with its next answer, and waits until all that are open now have ended, at most for
    /// [`Limits::grace`].
    pub(super) async fn let_go(&self) {
        const CHECK: Duration = Duration::from_millis(20);
        let since = *self.stopping_since.get_or_init(Instant::now);
        self.open().values().for_each(|connection| connection.close.notify_one());
        let newest = self.last_id.load(Ordering::Relaxed);
        while self.open().keys().any(|id| *id < newest) && since.elapsed() < self.limits.grace {
            tokio::time::sleep(CHECK).await;
        }
    }

    /// Closes every connection, at once or after the running answer.
    pub(super) fn close_all(&self) {
        self.shutting_down.store(true, Ordering::Release);
        self.open().values().for_each(|connection| connection.close.notify_one());
    }

    pub(super) async fn all_closed(&self) {
        loop {
            let closed = self.closed.notified();
            if self.count() == 0 {
                return;
            }
            closed.await;
        }
    }

    pub(super) fn count(&self) -> usize {
        self.open().len()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The slot of one connection. Dropping it frees the slot.
pub(super) struct Slot {
    id: u64,
    connection: Arc<Connection>,
    /// Whether it was accepted while the server stops.
    is_late: bool,
    connections: Arc<Connections>,
}

impl Slot {
    pub(super) fn connection(&self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }

    /// Resolves when the connection has timed out or is evicted, or the server begins to stop or shuts down.
    pub(super) async fn close_requested(&self) {
        self.connection.close.notified().await;
    }

    /// Makes [`Self::close_requested`] resolve once more.
    pub(super) fn request_close(&self) {
        self.connection.close.notify_one();
    }

    pub(super) fn is_shutting_down(&self) -> bool {
        self.connections.shutting_down.load(Ordering::Acquire)
    }

    /// Whether the connection has to close because the server stops: then it gets what it has begun.
    pub(super) fn is_closed_by_stop(&self) -> bool {
        self.is_shutting_down() || self.is_stopping() && !self.connection.is_evicted()
    }

    /// Whether the connection ends with its next answer because the server stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.connections.stopping_since.get().is_some()
    }

    /// How long the connection waits for one more request: a client that sends one now and then is told before the end.
    pub(super) fn time_for_last_request(&self) -> Duration {
        let grace = self.connections.limits.grace;
        self.left_of_grace().min(grace.saturating_sub(self.connection.idle_for()))
    }

    /// How long the connection waits for the rest of a handshake or of a head. One that is accepted while the server stops delays
    /// nothing, so it has what is left of the grace, and no longer than at any other time.
    pub(super) fn time_for_head(&self) -> Duration {
        match self.is_late && !self.connections.has_timed_out(&self.connection) {
            true => self.left_of_grace(),
            false => Duration::ZERO,
        }
    }

    fn left_of_grace(&self) -> Duration {
        match self.connections.stopping_since.get() {
            Some(since) if !self.is_shutting_down() => {
                self.connections.limits.grace.saturating_sub(since.elapsed())
            }
            _ => Duration::ZERO,
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.remove(&self.id);
        self.connections.counts.open.subtract_one();
        if self.connection.is_evicted() {
            self.connections.evicted.fetch_sub(1, Ordering::Relaxed);
        }
        drop(open);
        self.connections.closed.notify_waiters();
    }
}

/// The time in ticks, and the order in which connections were active. Reading the system clock four times per request
/// would cost as much as routing it.
struct TickClock {
    tick: AtomicU64,
    activities: AtomicU64,
    /// How many milliseconds writes may wait for a client.
    write_millis: i64,
}

impl TickClock {
    fn new(write: Duration) -> Self {
        let write_millis = i64::try_from(write.as_millis()).unwrap_or(i64::MAX);
        Self { tick: AtomicU64::new(0), activities: AtomicU64::new(0), write_millis }
    }

    fn now(&self) -> u64 {
        self.tick.load(Ordering::Relaxed)
    }

    fn next_activity(&self) -> u64 {
        self.activities.fetch_add(1, Ordering::Relaxed)
    }
}

/// What one connection is doing, and since when.
pub(super) struct Connection {
    clock: Arc<TickClock>,
    /// The tick in which the phase began, and the phase in the lowest three bits.
    phase_since: AtomicU64,
    /// The number of the last activity: the smallest one belongs to the connection that has been silent longest.
    last_activity: AtomicU64,
    /// For how many milliseconds more writes may wait for the client. Below zero if they have waited too long.
    write_budget_millis: AtomicI64,
    close: Notify,
    /// Whether it has been evicted. A connection is evicted only once.
    evicted: AtomicBool,
    /// Whether a body has been in the read buffer since that was last wiped.
    body_buffered: AtomicBool,
    /// Whether the body of the current request has not arrived as a whole, and is still wanted.
    body_open: AtomicBool,
    /// Whether what follows the current request must not be read as another one.
    closes_after_answer: AtomicBool,
    answer: AtomicU8,
    unread: AtomicU8,
}

/// Nothing is known of bytes that are not read, or there were none.
const NOTHING_UNREAD: u8 = 0;
/// The next read looks for them.
const LOOK: u8 = 1;
/// The kernel has some.
const UNREAD: u8 = 2;

/// No answer of the service is being sent.
const NO_ANSWER: u8 = 0;
/// The service has received a request, and hyper has not buffered the whole answer.
const ANSWER_OPEN: u8 = 1;
/// hyper has buffered the whole answer, but not written all of it.
const ANSWER_BUFFERED: u8 = 2;

impl Connection {
    /// The slowest rate at which a client may read: each byte adds a millisecond to its budget.
    const MILLIS_PER_BYTE: i64 = 1;

    fn new(clock: Arc<TickClock>) -> Self {
        let connection = Self {
            write_budget_millis: AtomicI64::new(clock.write_millis),
            clock,
            phase_since: AtomicU64::new(0),
            last_activity: AtomicU64::new(0),
            close: Notify::new(),
            evicted: AtomicBool::new(false),
            body_buffered: AtomicBool::new(false),
            body_open: AtomicBool::new(false),
            closes_after_answer: AtomicBool::new(false),
            answer: AtomicU8::new(NO_ANSWER),
            unread: AtomicU8::new(NOTHING_UNREAD),
        };
        connection.enter(Phase::Head);
        connection
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.phase_since.store(self.clock.now() << 3 | phase as u64, Ordering::Relaxed);
        if phase != Phase::Answering {
            self.last_activity.store(self.clock.next_activity(), Ordering::Relaxed);
        }
    }

    /// Records that a part of a body has arrived: the connection is not silent. The time that the phase may take goes on.
    pub(super) fn body_progressed(&self) {
        self.last_activity.store(self.clock.next_activity(), Ordering::Relaxed);
    }

    /// Records that the client has read some bytes of an answer that had to wait. The waiting time is deducted from the
    /// budget and the bytes add to it. A client that reads only a byte now and then runs out of budget.
    pub(super) fn bytes_read_by_client(&self, bytes: usize) {
        let ticks = self.clock.now().saturating_sub(self.since());
        let waited = i64::try_from(ticks).unwrap_or(i64::MAX).saturating_mul(TICK_MILLIS);
        let earned = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(Self::MILLIS_PER_BYTE);
        let left = self.write_budget_millis.load(Ordering::Relaxed).saturating_sub(waited);
        let left = left.saturating_add(earned).min(self.clock.write_millis);
        self.write_budget_millis.store(left, Ordering::Relaxed);
    }

    /// Records that the client has read a whole answer without delay.
    pub(super) fn refill_write_budget(&self) {
        self.write_budget_millis.store(self.clock.write_millis, Ordering::Relaxed);
    }

    fn write_budget(&self) -> Duration {
        let millis = self.write_budget_millis.load(Ordering::Relaxed);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    pub(super) fn phase(&self) -> Phase {
        match self.phase_since.load(Ordering::Relaxed) & 7 {
            0 => Phase::Head,
            1 => Phase::Body,
            2 => Phase::Answering,
            3 => Phase::Writing,
            _ => Phase::Idle,
        }
    }

    /// Records that the service has received a request.
    pub(super) fn answer_begun(&self) {
        self.answer.store(ANSWER_OPEN, Ordering::Relaxed);
    }

    /// Records that hyper has buffered the whole answer.
    pub(super) fn answer_buffered(&self) {
        self.answer.store(ANSWER_BUFFERED, Ordering::Relaxed);
        self.resume();
    }

    /// Enters the phase that follows the end of a body, of an answer or of a wait for the client.
    pub(super) fn resume(&self) {
        self.enter(if self.is_body_open() {
            Phase::Body
        } else if self.answer.load(Ordering::Relaxed) == ANSWER_OPEN {
            Phase::Answering
        } else {
            Phase::Idle
        });
    }

    /// Records that the body of a request begins to arrive.
    pub(super) fn body_begun(&self) {
        self.body_open.store(true, Ordering::Relaxed);
        self.enter(Phase::Body);
    }

    /// Records that a body has arrived as a whole.
    pub(super) fn body_ended(&self) {
        self.body_open.store(false, Ordering::Relaxed);
        self.resume();
    }

    /// Records that nobody reads the rest of a body. What follows it cannot be told from it.
    pub(super) fn body_abandoned(&self) {
        self.close_after_answer();
        self.body_ended();
    }

    /// Whether the bytes that are read belong to the body of a request, and not to a head.
    pub(super) fn is_body_open(&self) -> bool {
        self.body_open.load(Ordering::Relaxed)
    }

    /// Records that everything that hyper has buffered is written.
    pub(super) fn answer_flushed(&self) {
        if self.answer.load(Ordering::Relaxed) == ANSWER_BUFFERED {
            self.answer.store(NO_ANSWER, Ordering::Relaxed);
        }
    }

    /// Whether the bytes that are written belong to an answer of the service.
    pub(super) fn is_answer_open(&self) -> bool {
        self.answer.load(Ordering::Relaxed) != NO_ANSWER
    }

    pub(super) fn mark_body_buffered(&self) {
        self.body_buffered.store(true, Ordering::Relaxed);
    }

    /// Whether a body has to be wiped. The caller wipes it.
    pub(super) fn take_body_mark(&self) -> bool {
        self.body_buffered.load(Ordering::Relaxed)
            && self.body_buffered.swap(false, Ordering::Relaxed)
    }

    /// Lets the connection end with the next answer.
    pub(super) fn close_after_answer(&self) {
        self.closes_after_answer.store(true, Ordering::Relaxed);
    }

    pub(super) fn closes_after_answer(&self) -> bool {
        self.closes_after_answer.load(Ordering::Relaxed)
    }

    /// How long ago the phase began, at least: it may have begun at the end of its tick, so that tick does not count.
    fn idle_for(&self) -> Duration {
        let ticks = self.clock.now().saturating_sub(self.since() + 1);
        Duration::from_millis(ticks.saturating_mul(TICK_MILLIS.unsigned_abs()))
    }

    /// Has the next read record whether the client has sent bytes that are not read yet.
    pub(super) fn look_for_unread(&self) {
        self.unread.store(LOOK, Ordering::Relaxed);
    }

    /// Whether a read that finds nothing records what the kernel has.
    pub(super) fn is_looking_for_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed) == LOOK
    }

    pub(super) fn set_unread(&self, is_unread: bool) {
        self.unread.store(if is_unread { UNREAD } else { NOTHING_UNREAD }, Ordering::Relaxed);
    }

    pub(super) fn has_unread(&self) -> bool {
        self.unread.load(Ordering::Relaxed) == UNREAD
    }

    pub(super) fn is_evicted(&self) -> bool {
        self.evicted.load(Ordering::Relaxed)
    }

    fn since(&self) -> u64 {
        self.phase_since.load(Ordering::Relaxed) >> 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_asked_to_close(slot: &Slot) -> bool {
        use futures_util::FutureExt;
        slot.close_requested().now_or_never().is_some()
    }

    fn connections(max: usize) -> Arc<Connections> {
        Connections::new(Limits { connections: max, ..Limits::default() }, Arc::default())
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_server_evicts_the_connection_that_has_been_silent_longest() {
        let connections = connections(3);
        let mut slots = Vec::new();
        for phase in [Phase::Answering, Phase::Idle, Phase::Head] {
            let slot = connections.take_slot();
            slot.connection.enter(phase);
            slots.push(slot);
            tokio::time::advance(Duration::from_secs(1)).await;
            connections.advance_clock();
        }
        let _new_slot = connections.take_slot();
        let asked: Vec<_> = slots.iter().map(is_asked_to_close).collect();
        assert_eq!(asked, [false, true, false]);
    }

    #[tokio::test]
    async fn no_connection_is_evicted_twice() {
        let connections = connections(2);
        let slots = [(); 4].map(|()| connections.take_slot());
        let asked = slots.iter().filter(|slot| is_asked_to_close(slot)).count();
        assert_eq!((asked, connections.evicted.load(Ordering::Relaxed)), (2, 2));
        drop(slots);
        assert_eq!((connections.count(), connections.evicted.load(Ordering::Relaxed)), (0, 0));
    }

    #[tokio::test]
    async fn within_one_tick_the_connection_that_was_active_first_is_evicted() {
        let connections = connections(3);
        let slots = [(); 3].map(|()| connections.take_slot());
        slots[0].connection.enter(Phase::Answering);
        slots[0].connection.enter(Phase::Idle);
        let _new_slot = connections.take_slot();
        let asked = slots.each_ref().map(is_asked_to_close);
        assert_eq!(asked, [false, true, false], "the first was active last");
    }

    /// How long a connection may stay in a phase that begins in the middle of a tick.
    async fn time_in(phase: Phase) -> Option<Duration> {
        let connections = connections(10);
        tokio::time::advance(Connections::TICK * 3 / 2).await;
        connections.advance_clock();
        let slot = connections.take_slot();
        slot.connection.enter(phase);
        let began = Instant::now();
        tokio::time::advance(Connections::TICK / 2).await;
        while began.elapsed() < Duration::from_secs(600) {
            connections.advance_clock();
            if connections.has_timed_out(&slot.connection) {
                return Some(began.elapsed());
            }
            tokio::time::advance(Connections::TICK).await;
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn every_phase_but_body_and_answering_times_out() {
        for (phase, seconds) in [(Phase::Head, 10), (Phase::Writing, 10), (Phase::Idle, 75)] {
            let least = Duration::from_secs(seconds);
            let time = time_in(phase).await.unwrap();
            assert!((least..least + 2 * Connections::TICK).contains(&time), "{phase:?}: {time:?}");
        }
        assert_eq!(time_in(Phase::Answering).await, None);
        assert_eq!(time_in(Phase::Body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn no_connection_counts_as_idle_for_longer_than_it_is() {
        let (connections, step) = (connections(10), Connections::TICK / 5);
        // The phase begins at each fifth of a tick.
        for _ in 0..5 {
            let slot = connections.take_slot();
            slot.connection.enter(Phase::Idle);
            let began = Instant::now();
            for _ in 0..21 {
                tokio::time::advance(step).await;
                connections.advance_clock();
                let (idle, counted) = (began.elapsed(), slot.connection.idle_for());
                assert!(counted <= idle, "{counted:?} of {idle:?}");
                assert!(idle < counted + 2 * Connections::TICK, "{counted:?} of {idle:?}");
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_accepted_in_a_stop_has_the_rest_of_the_grace_for_its_head() {
        let seconds = Duration::from_secs;
        let limits = Limits { grace: seconds(30), head: seconds(10), ..Limits::default() };
        let connections = Connections::new(limits, Arc::default());
        let before = connections.take_slot();
        connections.stopping_since.set(Instant::now()).unwrap();
        tokio::time::advance(seconds(3)).await;
        connections.advance_clock();
        let late = connections.take_slot();
        assert!(is_asked_to_close(&late), "it would not learn of the stop");
        assert_eq!((before.time_for_head(), late.time_for_head()), (Duration::ZERO, seconds(27)));
        tokio::time::advance(seconds(9)).await;
        connections.advance_clock();
        assert_eq!(late.time_for_head(), seconds(18));
        // As long as at any other time.
        tokio::time::advance(seconds(2)).await;
        connections.advance_clock();
        assert_eq!(late.time_for_head(), Duration::ZERO);
        let late = connections.take_slot();
        assert_eq!(late.time_for_head(), seconds(16));
        connections.close_all();
        assert_eq!(late.time_for_head(), Duration::ZERO);
    }

    /// How long a client may read an answer at this rate, once per second.
    async fn time_reading(bytes_per_second: usize) -> Option<Duration> {
        let connections = connections(10);
        connections.advance_clock();
        let slot = connections.take_slot();
        let began = Instant::now();
        slot.connection.enter(Phase::Writing);
        while began.elapsed() < Duration::from_secs(600) {
            for _ in 0..2 {
                tokio::time::advance(Connections::TICK).await;
                connections.advance_clock();
                if connections.has_timed_out(&slot.connection) {
                    return Some(began.elapsed());
                }
            }
            slot.connection.bytes_read_by_client(bytes_per_second);
            slot.connection.enter(Phase::Idle);
            slot.connection.enter(Phase::Writing);
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_reads_too_slowly_times_out_and_a_slow_phone_does_not() {
        let seconds = async |rate| time_reading(rate).await.map(|time| time.as_secs());
        assert_eq!(seconds(1).await, Some(11));
        assert_eq!(seconds(512).await, Some(21));
        assert_eq!(seconds(4096).await, None);
        assert_eq!(seconds(1000).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn reading_the_next_answer_without_delay_refills_the_write_budget() {
        let connections = connections(10);
        let slot = connections.take_slot();
        slot.connection.enter(Phase::Writing);
        tokio::time::advance(Duration::from_secs(9)).await;
        connections.advance_clock();
        slot.connection.bytes_read_by_client(100);
        assert_eq!(slot.connection.write_budget(), Duration::from_millis(1100));
        slot.connection.refill_write_budget();
        assert_eq!(slot.connection.write_budget(), Limits::default().write);
    }

    #[tokio::test]
    async fn dropping_the_last_slot_resolves_all_closed() {
        let connections = connections(10);
        let slot = connections.take_slot();
        assert_eq!(connections.count(), 1);
        let ((), ()) = tokio::join!(connections.all_closed(), async { drop(slot) });
        assert_eq!(connections.count(), 0);
    }
}
