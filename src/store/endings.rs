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
    kept: VecDeque<(TokenId, Timestamp)>,
}

impl Log {
    fn count(&self) -> u64 {
        self.forgotten + self.kept.len() as u64
    }
}

/// Some endings in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The tokens.
    pub ended: Vec<TokenId>,
    /// How many endings there have been up to the last of these.
    pub up_to: u64,
    /// Whether there are others behind these.
    pub more: bool,
}

impl Endings {
    pub(super) fn new() -> Self {
        let log = Log { forgotten: 0, kept: VecDeque::new() };
        Self { log: Mutex::new(log), count: watch::Sender::new(0) }
    }

    /// Adds endings and wakes whoever waits for some.
    pub(super) fn add(&self, endings: impl IntoIterator<Item = (TokenId, Timestamp)>) {
        let mut log = self.log();
        log.kept.extend(endings);
        let count = log.count();
        drop(log);
        self.count.send_if_modified(|told| std::mem::replace(told, count) != count);
    }

    /// Forgets the endings before this time, whose tokens have expired.
    pub(super) fn forget(&self, before: Timestamp) {
        let mut log = self.log();
        let young = log.kept.iter().position(|(_, ended_at)| *ended_at >= before);
        let old = young.unwrap_or(log.kept.len());
        log.kept.drain(..old);
        log.forgotten += old as u64;
    }

    /// How many endings there have been since the store was opened, and a way to wait for more.
    pub fn count(&self) -> watch::Receiver<u64> {
        self.count.subscribe()
    }

    /// Up to `limit` endings from the oldest on.
    pub fn from_start(&self, limit: usize) -> Page {
        let log = self.log();
        page(&log, log.forgotten, limit)
    }

    /// Up to `limit` endings behind the first `count`; none if some of them have been forgotten, or there never were so
    /// many.
    pub fn since(&self, count: u64, limit: usize) -> Option<Page> {
        let log = self.log();
        (log.forgotten..=log.count()).contains(&count).then(|| page(&log, count, limit))
    }

    /// Up to `limit` endings from the first on that came after this time, with some that came before it; none if those
    /// of that time may have been forgotten.
    pub fn since_time(&self, time: Timestamp, limit: usize) -> Option<Page> {
        let log = self.log();
        if log.forgotten > 0 && log.kept.front().is_none_or(|(_, oldest)| *oldest > time) {
            return None;
        }
        let before = log.kept.iter().take_while(|(_, ended_at)| *ended_at < time).count() as u64;
        Some(page(&log, log.forgotten + before, limit))
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn page(log: &Log, since: u64, limit: usize) -> Page {
    let skipped = usize::try_from(since - log.forgotten).unwrap_or(usize::MAX);
    let ended: Vec<_> = log.kept.iter().skip(skipped).take(limit).map(|(id, _)| *id).collect();
    let up_to = since + ended.len() as u64;
    Page { ended, up_to, more: up_to < log.count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> (TokenId, Timestamp) {
        (TokenId::random(), Timestamp::from_seconds(second))
    }

    #[test]
    fn endings_are_told_in_their_order_from_any_point_on() {
        let endings = Endings::new();
        let all = [at(1), at(2), at(3)];
        endings.add(all);
        let [one, two, three] = all.map(|(id, _)| id);
        assert_eq!(endings.from_start(2), Page { ended: vec![one, two], up_to: 2, more: true });
        assert_eq!(endings.since(2, 2), Some(Page { ended: vec![three], up_to: 3, more: false }));
        assert_eq!(endings.since(3, 2), Some(Page { ended: vec![], up_to: 3, more: false }));
        assert_eq!(endings.since(4, 2), None);
    }

    #[test]
    fn whoever_missed_a_forgotten_ending_is_told_from_the_start() {
        let endings = Endings::new();
        endings.add([at(1), at(2), at(3)]);
        endings.forget(Timestamp::from_seconds(3));
        assert_eq!(endings.since(1, 9), None);
        assert_eq!(endings.since(2, 9).unwrap().ended.len(), 1);
        assert_eq!(endings.from_start(9).up_to, 3);
        endings.forget(Timestamp::from_seconds(9));
        assert_eq!(endings.from_start(9), Page { ended: vec![], up_to: 3, more: false });
        assert_eq!(endings.since(3, 9), Some(endings.from_start(9)));
    }

    #[test]
    fn whoever_comes_from_elsewhere_is_told_what_ended_since() {
        let endings = Endings::new();
        endings.add([at(1), at(5), at(9)]);
        let since = |second| endings.since_time(Timestamp::from_seconds(second), 9);
        assert_eq!(since(5).unwrap().ended.len(), 2);
        assert_eq!(since(10).unwrap().ended.len(), 0);
        endings.forget(Timestamp::from_seconds(5));
        assert_eq!(since(4), None, "what ended then may be forgotten");
        assert_eq!(since(6).unwrap().ended.len(), 1);
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
