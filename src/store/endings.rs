//! Tokens that have ended before their time, in the order in which they did: what verifiers elsewhere have to be told.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{clock::Timestamp, session::TokenId};

/// The log of endings that a store fills, from the database when it opens and then with whatever ends. It is kept in
/// memory whole: 24 bytes for each token that ended within a token's life. The same ending may be in it twice.
pub struct Endings {
    log: Mutex<Log>,
    count: watch::Sender<u64>,
}

struct Log {
    /// How many endings are no longer in the log.
    forgotten: u64,
    /// Each with the latest time of any ending up to it. These times never decrease, although those of endings from
    /// several instances may, so a position is found by bisection.
    kept: VecDeque<(TokenId, Timestamp)>,
}

impl Log {
    fn count(&self) -> u64 {
        self.forgotten + self.kept.len() as u64
    }

    /// How many of the kept endings lie before the first that ended at this time or later.
    fn kept_before(&self, time: Timestamp) -> usize {
        self.kept.partition_point(|(_, latest)| *latest < time)
    }
}

/// A stretch of the log: the endings from one position up to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// How many endings came before it.
    pub start: u64,
    /// How many endings there have been up to its last.
    pub end: u64,
    /// Whether there are others behind it.
    pub more: bool,
}

impl Span {
    /// Endings in one span. A power of two, because spans begin at multiples of powers of two.
    pub const MOST: u64 = 512;
    /// Endings in a span that has to reach beyond a time.
    const MOST_BEYOND: u64 = 16 * Self::MOST;

    /// The span for somebody who knows the endings up to `known`. It may begin a little before: there are then few
    /// different spans, however many different positions are asked about, and a span can be shared by all who get it.
    fn since(known: u64, log: &Log) -> Self {
        let count = log.count();
        let behind = count - known;
        // At most an eighth of what is told has been told before.
        let grain = (behind.next_power_of_two() / 16).clamp(1, Self::MOST);
        let grain = if behind > Self::MOST { Self::MOST } else { grain };
        let aligned = known - known % grain;
        let end = count.min(aligned + Self::MOST);
        Self { start: aligned.max(log.forgotten), end, more: end < count }
    }
}

impl Endings {
    pub(super) fn new() -> Self {
        let log = Log { forgotten: 0, kept: VecDeque::new() };
        Self { log: Mutex::new(log), count: watch::Sender::new(0) }
    }

    /// Adds endings and wakes whoever waits for some.
    pub(super) fn add(&self, endings: impl IntoIterator<Item = (TokenId, Timestamp)>) {
        let mut log = self.log();
        for (id, ended_at) in endings {
            let latest = log.kept.back().map_or(ended_at, |(_, latest)| ended_at.max(*latest));
            log.kept.push_back((id, latest));
        }
        let count = log.count();
        drop(log);
        self.count.send_if_modified(|told| std::mem::replace(told, count) != count);
    }

    /// Forgets the endings before this time, whose tokens have expired.
    pub(super) fn forget(&self, before: Timestamp) {
        let mut log = self.log();
        let old = log.kept_before(before);
        log.kept.drain(..old);
        log.forgotten += old as u64;
    }

    /// How many endings there have been since the store was opened, and a way to wait for more.
    pub fn count(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// The first endings that are kept.
    pub fn since_start(&self) -> Span {
        let log = self.log();
        let end = log.count().min(log.forgotten - log.forgotten % Span::MOST + Span::MOST);
        Span { start: log.forgotten, end, more: end < log.count() }
    }

    /// The endings behind the first `count`, with some that came before; none if some of them have been forgotten, or
    /// there never were so many.
    pub fn since(&self, count: u64) -> Option<Span> {
        let log = self.log();
        (log.forgotten..=log.count()).contains(&count).then(|| Span::since(count, &log))
    }

    /// The endings from the first on that came after this time, with some that came before it; none if those of that
    /// time may have been forgotten. It reaches up to the first ending at `beyond` or later: whoever goes on by times
    /// alone would otherwise be told the same again when many tokens end at once.
    pub fn since_time(&self, time: Timestamp, beyond: Timestamp) -> Option<Span> {
        let log = self.log();
        if log.forgotten > 0 && log.kept.front().is_none_or(|(_, oldest)| *oldest > time) {
            return None;
        }
        let known = log.forgotten + log.kept_before(time) as u64;
        let Span { start, end, .. } = Span::since(known, &log);
        let reach = log.forgotten + log.kept_before(beyond) as u64 + 1;
        let reach = reach.next_multiple_of(Span::MOST).min(start + Span::MOST_BEYOND);
        let end = end.max(reach).min(log.count());
        Some(Span { start, end, more: end < log.count() })
    }

    /// The tokens of a span and the latest time at which one up to its end has ended; none if some of them have been
    /// forgotten since it was found.
    pub fn tokens(&self, span: Span) -> Option<(Vec<TokenId>, Option<Timestamp>)> {
        let log = self.log();
        let place = |position: u64| usize::try_from(position.checked_sub(log.forgotten)?).ok();
        let (start, end) = (place(span.start)?, place(span.end)?);
        let endings = log.kept.range(start..end);
        let latest = endings.clone().next_back().map(|(_, latest)| *latest);
        Some((endings.map(|(id, _)| *id).collect(), latest))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> (TokenId, Timestamp) {
        (TokenId::random(), Timestamp::from_seconds(second))
    }

    fn span(start: u64, end: u64, more: bool) -> Span {
        Span { start, end, more }
    }

    fn tokens(endings: &Endings, span: Span) -> Vec<TokenId> {
        endings.tokens(span).unwrap().0
    }

    fn since_second(endings: &Endings, second: i64) -> Option<Span> {
        let time = Timestamp::from_seconds;
        endings.since_time(time(second), time(second + 61))
    }

    #[test]
    fn endings_are_told_in_their_order_from_any_point_on() {
        let endings = Endings::new();
        let all = [at(1), at(2), at(3)];
        endings.add(all);
        let [one, two, three] = all.map(|(id, _)| id);
        assert_eq!(endings.since_start(), span(0, 3, false));
        assert_eq!(tokens(&endings, endings.since_start()), [one, two, three]);
        assert_eq!(endings.since(2), Some(span(2, 3, false)));
        assert_eq!(tokens(&endings, span(2, 3, false)), [three]);
        assert_eq!(endings.since(3), Some(span(3, 3, false)));
        assert_eq!(tokens(&endings, span(3, 3, false)), []);
        assert_eq!(endings.since(4), None);
    }

    #[test]
    fn whoever_missed_a_forgotten_ending_is_told_from_the_start() {
        let endings = Endings::new();
        endings.add([at(1), at(2), at(3)]);
        let all = endings.since_start();
        endings.forget(Timestamp::from_seconds(3));
        assert_eq!(endings.tokens(all), None);
        assert_eq!(endings.since(1), None);
        assert_eq!(endings.since(2), Some(span(2, 3, false)));
        assert_eq!(endings.since_start(), span(2, 3, false));
        endings.forget(Timestamp::from_seconds(9));
        assert_eq!(endings.since_start(), span(3, 3, false));
        assert_eq!(endings.since(3), Some(endings.since_start()));
    }

    #[test]
    fn whoever_comes_from_elsewhere_is_told_what_ended_since() {
        let endings = Endings::new();
        endings.add([at(1), at(5), at(9)]);
        let since = |second| since_second(&endings, second);
        assert_eq!(since(5), Some(span(1, 3, false)));
        assert_eq!(since(10), Some(span(3, 3, false)));
        endings.forget(Timestamp::from_seconds(5));
        assert_eq!(since(4), None, "what ended then may be forgotten");
        assert_eq!(since(6), Some(span(2, 3, false)));
    }

    #[test]
    fn an_ending_that_is_told_late_does_not_hide_those_before_it() {
        let endings = Endings::new();
        endings.add([at(1), at(9), at(5), at(10)]);
        let since = |second| since_second(&endings, second).unwrap().start;
        assert_eq!([since(1), since(2), since(6), since(10)], [0, 1, 1, 3]);
        endings.forget(Timestamp::from_seconds(6));
        assert_eq!(endings.since_start(), span(1, 4, false));
    }

    #[test]
    fn however_many_positions_are_asked_about_there_are_few_spans() {
        let endings = Endings::new();
        endings.add((0..10_000).map(|number| at(number / 10)));
        let mut spans = std::collections::HashSet::new();
        for known in 0..=10_000 {
            let span = endings.since(known).unwrap();
            assert!(span.start <= known && (span.end > known || !span.more), "{known}: {span:?}");
            assert!(span.end - span.start <= Span::MOST, "{known}: {span:?}");
            if known > 10_000 - 8 {
                assert_eq!(span.start, known, "nothing is told twice to whoever is up to date");
            }
            spans.insert((span.start, span.end));
        }
        assert!(spans.len() < 100, "{}", spans.len());
    }

    #[test]
    fn whoever_follows_from_the_start_is_told_every_ending() {
        let endings = Endings::new();
        let all: Vec<_> = (0..5_000).map(at).collect();
        endings.add(all.iter().copied());
        endings.forget(Timestamp::from_seconds(700));
        let (mut span, mut told) = (endings.since_start(), Vec::new());
        loop {
            told.truncate((span.start - 700) as usize);
            told.extend(tokens(&endings, span));
            if !span.more {
                break;
            }
            span = endings.since(span.end).unwrap();
        }
        assert_eq!(told, all[700..].iter().map(|(id, _)| *id).collect::<Vec<_>>());
    }

    #[test]
    fn whoever_goes_on_by_times_alone_gets_on_although_many_tokens_end_at_once() {
        let endings = Endings::new();
        let burst = std::iter::repeat_n(100, 5_000);
        endings.add((0..600).chain(burst.chain(200..900)).map(at));
        let (mut second, mut answers) = (0, 0);
        loop {
            let span = since_second(&endings, second - 60).unwrap();
            answers += 1;
            if !span.more {
                break;
            }
            let (_, latest) = endings.tokens(span).unwrap();
            let reached = latest.unwrap().seconds();
            assert!(reached > second, "{second}: {span:?}");
            second = reached;
        }
        assert!(answers < 10, "{answers}");
    }

    #[test]
    fn only_an_ending_wakes_whoever_waits() {
        let endings = Endings::new();
        endings.add([at(1)]);
        let waiting = endings.count();
        endings.add([]);
        endings.forget(Timestamp::from_seconds(9));
        assert!(!waiting.has_changed().unwrap());
        endings.add([at(2)]);
        assert!(waiting.has_changed().unwrap());
    }
}
