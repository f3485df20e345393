//! The log of tokens that ended before they expired, in order. The revocation feed reads it.

use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::{clock::Timestamp, session::TokenId};

/// The log of ended tokens. The store fills it from the database when it opens, and then with every ending. It is kept in
/// memory: 24 bytes for each token that ended within the lifetime of a token. It may hold an ending twice.
pub struct Endings {
    log: Mutex<Log>,
    count: watch::Sender<u64>,
}

struct Log {
    /// How many endings have been removed from the log.
    removed: u64,
    /// Each ending with the latest time of all endings up to it. These times never decrease, although endings of several
    /// instances may arrive out of order, so a position is found by bisection.
    entries: VecDeque<(TokenId, Timestamp)>,
}

impl Log {
    fn count(&self) -> u64 {
        self.removed + self.entries.len() as u64
    }

    /// How many entries precede the first with this time or a later one.
    fn entries_before(&self, time: Timestamp) -> usize {
        self.entries.partition_point(|(_, latest)| *latest < time)
    }
}

/// A range of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// How many endings precede it.
    pub start: u64,
    /// How many endings there are up to its last one.
    pub end: u64,
    /// Whether more endings follow it.
    pub more: bool,
}

impl Span {
    /// The most endings in a span. A power of two, because spans start at multiples of powers of two.
    pub const MAX: u64 = 512;
    /// The most endings in a span that must reach a given time.
    const MAX_BY_TIME: u64 = 16 * Self::MAX;

    /// The span for a reader that has read the first `known` endings. It may start a little earlier, so that many positions
    /// share few spans and readers can share a signed page.
    fn since(known: u64, log: &Log) -> Self {
        let count = log.count();
        let behind = count - known;
        // At most an eighth of the span repeats known endings.
        let alignment = (behind.next_power_of_two() / 16).clamp(1, Self::MAX);
        let alignment = if behind > Self::MAX { Self::MAX } else { alignment };
        let aligned = known - known % alignment;
        let end = count.min(aligned + Self::MAX);
        Self { start: aligned.max(log.removed), end, more: end < count }
    }
}

impl Endings {
    pub(crate) fn new() -> Self {
        let log = Log { removed: 0, entries: VecDeque::new() };
        Self { log: Mutex::new(log), count: watch::Sender::new(0) }
    }

    /// Adds endings and wakes the requests that wait for one.
    pub(crate) fn add(&self, endings: impl IntoIterator<Item = (TokenId, Timestamp)>) {
        let mut log = self.log();
        for (id, ended_at) in endings {
            let latest = log.entries.back().map_or(ended_at, |(_, latest)| ended_at.max(*latest));
            log.entries.push_back((id, latest));
        }
        let count = log.count();
        drop(log);
        self.count.send_if_modified(|old| std::mem::replace(old, count) != count);
    }

    /// Removes the endings before this time, whose tokens have expired.
    pub(crate) fn forget(&self, before: Timestamp) {
        let mut log = self.log();
        let old = log.entries_before(before);
        log.entries.drain(..old);
        log.removed += old as u64;
    }

    /// How many endings have been added since the store was opened. The receiver can wait for more.
    pub fn count(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// The first endings in the log.
    pub fn since_start(&self) -> Span {
        let log = self.log();
        let end = log.count().min(log.removed - log.removed % Span::MAX + Span::MAX);
        Span { start: log.removed, end, more: end < log.count() }
    }

    /// The endings after the first `count`, possibly with some before them. None if some of them have been removed, or if
    /// there are fewer than `count`.
    pub fn since(&self, count: u64) -> Option<Span> {
        let log = self.log();
        (log.removed..=log.count()).contains(&count).then(|| Span::since(count, &log))
    }

    /// The endings since this time, possibly with some before it. None if endings of that time may have been removed. The
    /// span reaches the first ending at `beyond` or later: a reader that continues by time would otherwise receive the same
    /// span again when many tokens end at once.
    pub fn since_time(&self, time: Timestamp, beyond: Timestamp) -> Option<Span> {
        let log = self.log();
        if log.removed > 0 && log.entries.front().is_none_or(|(_, oldest)| *oldest > time) {
            return None;
        }
        let known = log.removed + log.entries_before(time) as u64;
        let Span { start, end, .. } = Span::since(known, &log);
        let reach = log.removed + log.entries_before(beyond) as u64 + 1;
        let reach = reach.next_multiple_of(Span::MAX).min(start + Span::MAX_BY_TIME);
        let end = end.max(reach).min(log.count());
        Some(Span { start, end, more: end < log.count() })
    }

    /// The tokens of a span, and the latest time of the endings up to its end. None if some of them have been removed.
    pub fn tokens(&self, span: Span) -> Option<(Vec<TokenId>, Option<Timestamp>)> {
        let log = self.log();
        let index = |position: u64| usize::try_from(position.checked_sub(log.removed)?).ok();
        let (start, end) = (index(span.start)?, index(span.end)?);
        let endings = log.entries.range(start..end);
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
    fn endings_are_read_in_order_from_any_position() {
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
    fn a_reader_that_missed_a_removed_ending_starts_again() {
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
    fn a_reader_with_only_a_time_gets_what_ended_since() {
        let endings = Endings::new();
        endings.add([at(1), at(5), at(9)]);
        let since = |second| since_second(&endings, second);
        assert_eq!(since(5), Some(span(1, 3, false)));
        assert_eq!(since(10), Some(span(3, 3, false)));
        endings.forget(Timestamp::from_seconds(5));
        assert_eq!(since(4), None, "endings of that time may have been removed");
        assert_eq!(since(6), Some(span(2, 3, false)));
    }

    #[test]
    fn an_ending_that_arrives_late_does_not_hide_earlier_ones() {
        let endings = Endings::new();
        endings.add([at(1), at(9), at(5), at(10)]);
        let since = |second| since_second(&endings, second).unwrap().start;
        assert_eq!([since(1), since(2), since(6), since(10)], [0, 1, 1, 3]);
        endings.forget(Timestamp::from_seconds(6));
        assert_eq!(endings.since_start(), span(1, 4, false));
    }

    #[test]
    fn many_positions_share_few_spans() {
        let endings = Endings::new();
        endings.add((0..10_000).map(|number| at(number / 10)));
        let mut spans = std::collections::HashSet::new();
        for known in 0..=10_000 {
            let span = endings.since(known).unwrap();
            assert!(span.start <= known && (span.end > known || !span.more), "{known}: {span:?}");
            assert!(span.end - span.start <= Span::MAX, "{known}: {span:?}");
            if known > 10_000 - 8 {
                assert_eq!(span.start, known, "an up-to-date reader gets nothing twice");
            }
            spans.insert((span.start, span.end));
        }
        assert!(spans.len() < 100, "{}", spans.len());
    }

    #[test]
    fn a_reader_from_the_start_gets_every_ending() {
        let endings = Endings::new();
        let all: Vec<_> = (0..5_000).map(at).collect();
        endings.add(all.iter().copied());
        endings.forget(Timestamp::from_seconds(700));
        let (mut span, mut read) = (endings.since_start(), Vec::new());
        loop {
            read.truncate((span.start - 700) as usize);
            read.extend(tokens(&endings, span));
            if !span.more {
                break;
            }
            span = endings.since(span.end).unwrap();
        }
        assert_eq!(read, all[700..].iter().map(|(id, _)| *id).collect::<Vec<_>>());
    }

    #[test]
    fn a_reader_by_time_advances_although_many_tokens_end_at_once() {
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
    fn only_an_ending_wakes_waiting_readers() {
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
