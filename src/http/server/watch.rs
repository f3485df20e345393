//! Who is connected, what each is doing since when, and who has to go.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use super::Limits;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The head of a request is arriving, or has not begun to on a new connection.
    Head,
    /// The body of a request is arriving; whoever reads it has a deadline of its own.
    Body,
    /// A request is being answered; its handler has a deadline of its own.
    Answering,
    /// The client does not take what is sent to it.
    Writing,
    /// Between two requests.
    Idle,
}

/// How often the watch looks round, in milliseconds.
const ROUND_MILLIS: i64 = 500;

/// All connections of a server.
pub(super) struct Connections {
    limits: Limits,
    started: Instant,
    clock: Arc<Rounds>,
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    last_id: AtomicU64,
    /// How many have been asked to make room and are still there.
    leaving: AtomicUsize,
    closing: AtomicBool,
    left: Notify,
}

impl Connections {
    /// How often the watch looks round: the grain of all timeouts.
    const ROUND: Duration = Duration::from_millis(ROUND_MILLIS as u64);

    pub(super) fn new(limits: Limits) -> Arc<Self> {
        Arc::new(Self {
            limits,
            started: Instant::now(),
            clock: Arc::new(Rounds::new(limits.write)),
            open: Mutex::default(),
            last_id: AtomicU64::new(0),
            leaving: AtomicUsize::new(0),
            closing: AtomicBool::new(false),
            left: Notify::new(),
        })
    }

    /// A place for a new connection, if need be at the cost of the one that has been silent longest.
    pub(super) fn seat(self: &Arc<Self>) -> Seat {
        if self.count().saturating_sub(self.leaving.load(Ordering::Relaxed))
            >= self.limits.connections
        {
            self.make_room();
        }
        let connection = Arc::new(Connection::new(Arc::clone(&self.clock)));
        let id = self.last_id.fetch_add(1, Ordering::Relaxed);
        self.open().insert(id, Arc::clone(&connection));
        Seat { id, connection, connections: Arc::clone(self) }
    }

    /// Sends some of those away that have been silent longest: several, because finding them takes a look at all.
    pub(super) fn make_room(&self) {
        let at_once = (self.limits.connections / 64).max(1);
        let open = self.open();
        let mut silent: Vec<_> = open
            .values()
            .filter(|connection| connection.phase() != Phase::Answering && !connection.is_leaving())
            .map(|connection| (connection.turn.load(Ordering::Relaxed), connection))
            .collect();
        let at_once = at_once.min(silent.len());
        if at_once > 0 {
            silent.select_nth_unstable_by_key(at_once - 1, |(turn, _)| *turn);
        }
        for (_, connection) in &silent[..at_once] {
            connection.leaving.store(true, Ordering::Relaxed);
            connection.leave.notify_one();
        }
        self.leaving.fetch_add(at_once, Ordering::Relaxed);
    }

    /// Looks round for ever and sends those away whose time is up.
    pub(super) async fn watch(&self) {
        loop {
            tokio::time::sleep(Self::ROUND).await;
            self.look_round();
        }
    }

    /// Sends those away whose time is up; how many that are.
    pub(super) fn look_round(&self) -> usize {
        self.begin_round();
        let open = self.open();
        let late = open.values().filter(|connection| self.time_is_up(connection));
        late.map(|connection| connection.leave.notify_one()).count()
    }

    fn begin_round(&self) {
        let round = self.started.elapsed().as_millis() / Self::ROUND.as_millis();
        let round = u64::try_from(round).unwrap_or(u64::MAX >> 3);
        self.clock.round.store(round, Ordering::Relaxed);
    }

    fn time_is_up(&self, connection: &Connection) -> bool {
        let allowed = match connection.phase() {
            Phase::Head => self.limits.head,
            Phase::Writing => connection.write_time(),
            Phase::Idle => self.limits.idle,
            Phase::Body | Phase::Answering => return false,
        };
        // Its round may have been almost over when the phase began: nobody has less than the whole time.
        let rounds = self.clock.now().saturating_sub(connection.since() + 1);
        u128::from(rounds) * Self::ROUND.as_millis() >= allowed.as_millis()
    }

    /// Asks everybody to leave: at once, or after the answer that is being made.
    pub(super) fn close_all(&self) {
        self.closing.store(true, Ordering::Release);
        self.open().values().for_each(|connection| connection.leave.notify_one());
    }

    pub(super) async fn all_gone(&self) {
        loop {
            let left = self.left.notified();
            if self.count() == 0 {
                return;
            }
            left.await;
        }
    }

    pub(super) fn count(&self) -> usize {
        self.open().len()
    }

    fn open(&self) -> MutexGuard<'_, HashMap<u64, Arc<Connection>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The place of one connection. Dropping it gives the place back.
pub(super) struct Seat {
    id: u64,
    connection: Arc<Connection>,
    connections: Arc<Connections>,
}

impl Seat {
    pub(super) fn connection(&self) -> Arc<Connection> {
        Arc::clone(&self.connection)
    }

    /// Resolves when the connection's time is up, its place is needed or the server stops.
    pub(super) async fn asked_to_leave(&self) {
        self.connection.leave.notified().await;
    }

    /// Whether everybody has been asked to leave, because the server stops.
    pub(super) fn is_closing(&self) -> bool {
        self.connections.closing.load(Ordering::Acquire)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut open = self.connections.open();
        open.remove(&self.id);
        if self.connection.is_leaving() {
            self.connections.leaving.fetch_sub(1, Ordering::Relaxed);
        }
        drop(open);
        self.connections.left.notify_waiters();
    }
}

/// The time in rounds of the watch, and who fell silent before whom. Reading a real clock four times a request would cost
/// as much as routing it.
struct Rounds {
    round: AtomicU64,
    turns: AtomicU64,
    /// How many milliseconds a client may keep an answer waiting.
    write_millis: i64,
}

impl Rounds {
    fn new(write: Duration) -> Self {
        let write_millis = i64::try_from(write.as_millis()).unwrap_or(i64::MAX);
        Self { round: AtomicU64::new(0), turns: AtomicU64::new(0), write_millis }
    }

    fn now(&self) -> u64 {
        self.round.load(Ordering::Relaxed)
    }

    fn next_turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }
}

/// What one connection is doing, and since when.
pub(super) struct Connection {
    clock: Arc<Rounds>,
    /// The round in which the phase began, and the phase in the lowest three bits.
    doing: AtomicU64,
    /// Larger than that of whoever has been silent for longer.
    turn: AtomicU64,
    /// For how many milliseconds more the client may keep an answer waiting; below zero when it has done so for longer.
    write_millis: AtomicI64,
    leave: Notify,
    /// Whether it has been asked to make room; nobody is asked twice.
    leaving: AtomicBool,
    /// Whether a body lies, or lay, in its read buffer since that was last wiped.
    had_body: AtomicBool,
}

impl Connection {
    /// The slowest that a client may take an answer: each byte that it takes gives it a millisecond more.
    const MILLIS_PER_BYTE: i64 = 1;

    fn new(clock: Arc<Rounds>) -> Self {
        let connection = Self {
            write_millis: AtomicI64::new(clock.write_millis),
            clock,
            doing: AtomicU64::new(0),
            turn: AtomicU64::new(0),
            leave: Notify::new(),
            leaving: AtomicBool::new(false),
            had_body: AtomicBool::new(false),
        };
        connection.enter(Phase::Head);
        connection
    }

    pub(super) fn enter(&self, phase: Phase) {
        self.doing.store(self.clock.now() << 3 | phase as u64, Ordering::Relaxed);
        if phase != Phase::Answering {
            self.turn.store(self.clock.next_turn(), Ordering::Relaxed);
        }
    }

    /// Notes that the client has taken some bytes of an answer that it kept waiting. The time that it waited is gone, and
    /// the bytes give some of it back: a client that takes a byte now and then runs out of it.
    pub(super) fn written(&self, bytes: usize) {
        let rounds = self.clock.now().saturating_sub(self.since());
        let waited = i64::try_from(rounds).unwrap_or(i64::MAX).saturating_mul(ROUND_MILLIS);
        let earned = i64::try_from(bytes).unwrap_or(i64::MAX).saturating_mul(Self::MILLIS_PER_BYTE);
        let left = self.write_millis.load(Ordering::Relaxed).saturating_sub(waited);
        let left = left.saturating_add(earned).min(self.clock.write_millis);
        self.write_millis.store(left, Ordering::Relaxed);
    }

    /// Notes that the client has taken a whole answer at once.
    pub(super) fn keeps_up(&self) {
        self.write_millis.store(self.clock.write_millis, Ordering::Relaxed);
    }

    fn write_time(&self) -> Duration {
        let millis = self.write_millis.load(Ordering::Relaxed);
        Duration::from_millis(u64::try_from(millis).unwrap_or(0))
    }

    pub(super) fn phase(&self) -> Phase {
        match self.doing.load(Ordering::Relaxed) & 7 {
            0 => Phase::Head,
            1 => Phase::Body,
            2 => Phase::Answering,
            3 => Phase::Writing,
            _ => Phase::Idle,
        }
    }

    pub(super) fn note_body(&self) {
        self.had_body.store(true, Ordering::Relaxed);
    }

    /// Whether there is a body to be wiped; whoever asks wipes it.
    pub(super) fn take_body(&self) -> bool {
        self.had_body.load(Ordering::Relaxed) && self.had_body.swap(false, Ordering::Relaxed)
    }

    fn is_leaving(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    fn since(&self) -> u64 {
        self.doing.load(Ordering::Relaxed) >> 3
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(seat: &Seat) -> bool {
        use futures_util::FutureExt;
        seat.asked_to_leave().now_or_never().is_some()
    }

    fn connections(most: usize) -> Arc<Connections> {
        Connections::new(Limits { connections: most, ..Limits::default() })
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_house_sends_away_whoever_has_been_silent_longest() {
        let connections = connections(3);
        let mut seats = Vec::new();
        for phase in [Phase::Answering, Phase::Idle, Phase::Head] {
            let seat = connections.seat();
            seat.connection.enter(phase);
            seats.push(seat);
            tokio::time::advance(Duration::from_secs(1)).await;
            connections.begin_round();
        }
        let _newcomer = connections.seat();
        let asked: Vec<_> = seats.iter().map(asked).collect();
        assert_eq!(asked, [false, true, false]);
    }

    #[tokio::test]
    async fn nobody_is_asked_twice_to_make_room() {
        let connections = connections(2);
        let seats =
            [connections.seat(), connections.seat(), connections.seat(), connections.seat()];
        let asked = seats.iter().filter(|seat| asked(seat)).count();
        assert_eq!((asked, connections.leaving.load(Ordering::Relaxed)), (2, 2));
        drop(seats);
        assert_eq!((connections.count(), connections.leaving.load(Ordering::Relaxed)), (0, 0));
    }

    #[tokio::test]
    async fn of_those_silent_since_the_same_round_the_first_to_fall_silent_goes() {
        let connections = connections(3);
        let seats = [connections.seat(), connections.seat(), connections.seat()];
        seats[0].connection.enter(Phase::Answering);
        seats[0].connection.enter(Phase::Idle);
        let _newcomer = connections.seat();
        assert_eq!(seats.each_ref().map(asked), [false, true, false], "the first has just asked");
    }

    /// How long a connection may stay in a phase that begins in the middle of a round.
    async fn time_in(phase: Phase) -> Option<Duration> {
        let connections = connections(10);
        tokio::time::advance(Connections::ROUND * 3 / 2).await;
        connections.begin_round();
        let seat = connections.seat();
        seat.connection.enter(phase);
        let began = Instant::now();
        tokio::time::advance(Connections::ROUND / 2).await;
        while began.elapsed() < Duration::from_secs(600) {
            connections.begin_round();
            if connections.time_is_up(&seat.connection) {
                return Some(began.elapsed());
            }
            tokio::time::advance(Connections::ROUND).await;
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn every_phase_but_answering_has_its_time() {
        for (phase, seconds) in [(Phase::Head, 10), (Phase::Writing, 10), (Phase::Idle, 75)] {
            let least = Duration::from_secs(seconds);
            let time = time_in(phase).await.unwrap();
            assert!((least..least + 2 * Connections::ROUND).contains(&time), "{phase:?}: {time:?}");
        }
        assert_eq!(time_in(Phase::Answering).await, None);
        assert_eq!(time_in(Phase::Body).await, None);
    }

    /// How long a client may take an answer that it reads at this rate, in pieces of a second.
    async fn time_reading(bytes_a_second: usize) -> Option<Duration> {
        let connections = connections(10);
        connections.begin_round();
        let seat = connections.seat();
        let began = Instant::now();
        seat.connection.enter(Phase::Writing);
        while began.elapsed() < Duration::from_secs(600) {
            for _ in 0..2 {
                tokio::time::advance(Connections::ROUND).await;
                connections.begin_round();
                if connections.time_is_up(&seat.connection) {
                    return Some(began.elapsed());
                }
            }
            seat.connection.written(bytes_a_second);
            seat.connection.enter(Phase::Idle);
            seat.connection.enter(Phase::Writing);
        }
        None
    }

    #[tokio::test(start_paused = true)]
    async fn whoever_takes_an_answer_too_slowly_is_sent_away_and_a_slow_phone_is_not() {
        let seconds = async |rate| time_reading(rate).await.map(|time| time.as_secs());
        assert_eq!(seconds(1).await, Some(11));
        assert_eq!(seconds(512).await, Some(21));
        assert_eq!(seconds(4096).await, None);
        assert_eq!(seconds(1000).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_takes_the_next_answer_at_once_has_all_its_time_again() {
        let connections = connections(10);
        let seat = connections.seat();
        seat.connection.enter(Phase::Writing);
        tokio::time::advance(Duration::from_secs(9)).await;
        connections.begin_round();
        seat.connection.written(100);
        assert_eq!(seat.connection.write_time(), Duration::from_millis(1100));
        seat.connection.keeps_up();
        assert_eq!(seat.connection.write_time(), Limits::default().write);
    }

    #[tokio::test]
    async fn a_place_is_given_back_and_the_last_one_out_is_noticed() {
        let connections = connections(10);
        let seat = connections.seat();
        assert_eq!(connections.count(), 1);
        let (gone, ()) = tokio::join!(connections.all_gone(), async { drop(seat) });
        assert_eq!((gone, connections.count()), ((), 0));
    }
}
