//! What was refused, until it is written to the audit trail. There is no change that it could be stored with, and anybody can cause
//! it, so it is written in batches and at a bounded rate, which is shared fairly. What is above the rate is counted.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
    hash::Hash,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{Event, EventKind, LeftOut};
use crate::{
    network::Network,
    user::{EmailKey, UserId},
};

/// Events that wait to be recorded.
#[derive(Default)]
pub struct Unrecorded(Mutex<Waiting>);

#[derive(Default)]
struct Waiting {
    events: Vec<Event>,
    /// A flood of one group does not displace the others.
    budgets: Budgets,
    left_out: LeftOutCounts,
}

/// How many events may be recorded, for each group of them.
struct Budgets {
    /// About a user.
    users: Budget,
    /// About nobody who is known.
    strangers: Budget,
    /// What guards have refused.
    guards: Budget,
    /// Sign-ins that lack the second factor.
    challenges: Budget,
}

impl Budgets {
    fn of(&mut self, event: &Event) -> &mut Budget {
        match (&event.kind, event.subject) {
            (EventKind::FactorAsked { .. }, _) => &mut self.challenges,
            (EventKind::GuardRefused { .. }, _) => &mut self.guards,
            (_, None) => &mut self.strangers,
            (_, Some(_)) => &mut self.users,
        }
    }

    /// The most events at once.
    fn most(&self) -> usize {
        let Self { users, strangers, guards, challenges } = self;
        [users, strangers, guards, challenges].into_iter().map(Budget::most).sum()
    }
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            users: Budget::new(500, 5.0),
            strangers: Budget::new(500, 2.0),
            guards: Budget::new(100, 1.0),
            challenges: Budget::new(500, 10.0),
        }
    }
}

/// How many events of a group may be recorded. An event needs a share of one of both: a flood about one user leaves room for others
/// in the same network, and a flood about many users from one network leaves room for other networks.
struct Budget {
    by_whom: Shares<Whom>,
    by_network: Shares<Option<Network>>,
}

/// Whom an event concerns.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Whom {
    User(UserId),
    /// The address that was typed.
    Address(EmailKey),
    Nobody,
}

impl Budget {
    fn new(most: usize, per_second: f64) -> Self {
        let (by_whom, by_network) =
            (Shares::new(most, per_second / 2.0), Shares::new(most, per_second / 2.0));
        Self { by_whom, by_network }
    }

    fn charge(&mut self, event: &Event, now: Instant) -> bool {
        let whom = match (&event.kind, event.subject) {
            (_, Some(user)) => Whom::User(user),
            (EventKind::SignInFailed { email, .. }, None) => Whom::Address(email.clone()),
            (_, None) => Whom::Nobody,
        };
        self.by_whom.charge(whom, now) || self.by_network.charge(network_of(event), now)
    }

    /// The most events at once.
    fn most(&self) -> usize {
        self.by_whom.most + self.by_network.most
    }
}

/// Where the request came from. The networks of one IPv6 subscriber count as one.
fn network_of(event: &Event) -> Option<Network> {
    event.client.as_ref().map(|client| Network::at(client.address).subscriber())
}

/// A budget that is shared. Whoever has used some of it gets more only while more than that is left. So one who takes all they can get
/// leaves half of it, two leave a third, and whoever has used nothing is not refused before as many others as the budget has places
/// have used something.
struct Shares<K> {
    most: usize,
    per_second: f64,
    used: HashMap<K, usize>,
    total: usize,
    /// What can be used again, and when that was computed.
    refilled: f64,
    changed_at: Instant,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    fn new(most: usize, per_second: f64) -> Self {
        let (used, changed_at) = (HashMap::new(), Instant::now());
        Self { most, per_second, used, total: 0, refilled: 0.0, changed_at }
    }

    fn charge(&mut self, key: K, now: Instant) -> bool {
        self.refill(now);
        let used = self.used.get(&key).copied().unwrap_or(0);
        let has_share = used < self.most - self.total;
        if has_share {
            self.used.insert(key, used + 1);
            self.total += 1;
        }
        has_share
    }

    /// Gives back what the time allows, one by one to whoever has used most.
    fn refill(&mut self, now: Instant) {
        let elapsed = now.saturating_duration_since(self.changed_at).as_secs_f64();
        self.changed_at = now.max(self.changed_at);
        self.refilled += elapsed * self.per_second;
        if self.refilled >= self.total as f64 {
            self.used.clear();
            (self.total, self.refilled) = (0, 0.0);
        }
        while self.refilled >= 1.0 {
            self.refilled -= 1.0;
            self.total -= 1;
            let most = self.used.iter().max_by_key(|(_, used)| **used);
            let key = most.map(|(key, _)| key.clone()).expect("somebody has used what is used");
            match self.used.get_mut(&key) {
                Some(used) if *used > 1 => *used -= 1,
                _ => drop(self.used.remove(&key)),
            }
        }
    }
}

/// How many events were not recorded.
#[derive(Default)]
struct LeftOutCounts {
    kinds: BTreeMap<&'static str, u64>,
    subjects: HashMap<UserId, u64>,
    networks: HashMap<Network, u64>,
}

impl LeftOutCounts {
    /// The most users, and the most networks, that are counted.
    const MOST: usize = 10_000;
    /// The most that are named.
    const NAMED: usize = 20;

    fn add(&mut self, event: &Event) {
        *self.kinds.entry(event.kind.name()).or_default() += 1;
        event.subject.inspect(|user| add_to(&mut self.subjects, *user, 1));
        network_of(event).inspect(|network| add_to(&mut self.networks, *network, 1));
    }

    fn take(&mut self) -> Option<LeftOut> {
        let Self { kinds, subjects, networks } = mem::take(self);
        let left_out = LeftOut {
            kinds: kinds.into_iter().collect(),
            subjects: largest(subjects),
            networks: largest(networks),
        };
        (!left_out.kinds.is_empty()).then_some(left_out)
    }
}

/// Counts some more of one. When there are too many, those with the fewest are forgotten.
fn add_to<K: Eq + Hash>(counts: &mut HashMap<K, u64>, key: K, count: u64) {
    if counts.len() >= LeftOutCounts::MOST && !counts.contains_key(&key) {
        let fewest = counts.values().min().copied().unwrap_or(0);
        counts.retain(|_, count| *count > fewest);
    }
    *counts.entry(key).or_default() += count;
}

/// Those with the most, the largest first.
fn largest<K>(counts: HashMap<K, u64>) -> Vec<(K, u64)> {
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| Reverse(*count));
    counts.truncate(LeftOutCounts::NAMED);
    counts
}

impl Unrecorded {
    /// Keeps an event to be recorded, or counts it.
    pub(super) fn add(&self, event: &Event, now: Instant) {
        let mut waiting = self.lock();
        // Whoever gives orders does not cause a flood.
        if event.administrator().is_some() || waiting.budgets.of(event).charge(event, now) {
            waiting.events.push(event.clone());
        } else {
            waiting.left_out.add(event);
        }
    }

    /// Removes and returns the first events that wait, up to so many.
    pub fn take(&self, most: usize) -> TakenEvents<'_> {
        let events = &mut self.lock().events;
        let count = events.len().min(most);
        TakenEvents { unrecorded: self, events: events.drain(..count).collect() }
    }

    /// Puts events back that could not be recorded. They are bounded as others are: what does not fit is counted.
    pub fn put_back(&self, events: Vec<Event>) {
        let mut waiting = self.lock();
        let most = waiting.budgets.most();
        let newer = mem::replace(&mut waiting.events, events);
        waiting.events.extend(newer);
        while waiting.events.len() > most {
            let event = waiting.events.pop().expect("there are more than none");
            waiting.left_out.add(&event);
        }
    }

    /// Removes and returns how many events were not recorded; `None` if all were.
    pub fn take_left_out(&self) -> Option<LeftOut> {
        self.lock().left_out.take()
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Events that are being recorded. They wait again when this is dropped, also if whoever records them is stopped in the middle. An
/// event that is recorded twice is one event, by its id.
#[must_use]
pub struct TakenEvents<'a> {
    unrecorded: &'a Unrecorded,
    events: Vec<Event>,
}

impl TakenEvents<'_> {
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// They wait no more.
    pub fn recorded(mut self) {
        self.events.clear();
    }
}

impl Drop for TakenEvents<'_> {
    fn drop(&mut self) {
        if !self.events.is_empty() {
            self.unrecorded.put_back(mem::take(&mut self.events));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::{
        clock::Timestamp,
        event::LoginRefusal,
        network::{ClientInfo, Requester},
    };

    /// A failure about a user or nobody, from a network.
    fn failed(user: Option<UserId>, network: u16) -> Event {
        let [high, low] = network.to_be_bytes();
        let requester = Requester::new(ClientInfo::new([192, 0, high, low].into(), "curl/8"));
        Event::by_unknown(user, &requester, Timestamp::from_millis(0), EventKind::ResetFailed)
    }

    /// Takes all events that wait.
    fn take(unrecorded: &Unrecorded) -> Vec<Event> {
        let taken = unrecorded.take(usize::MAX);
        let events = taken.events().to_vec();
        taken.recorded();
        events
    }

    fn recorded_about(unrecorded: &Unrecorded, user: UserId) -> usize {
        take(unrecorded).iter().filter(|event| event.subject == Some(user)).count()
    }

    #[test]
    fn a_flood_is_recorded_at_a_bounded_rate_and_the_rest_is_counted() {
        let (unrecorded, begin) = (Unrecorded::default(), Instant::now());
        let (users, networks) = ([UserId::random(), UserId::random()], [1, 2]);
        for millis in 0..60_000 {
            let event = failed(Some(users[millis % 2]), networks[millis / 2 % 2]);
            unrecorded.add(&event, begin + Duration::from_millis(millis as u64));
        }
        let recorded = take(&unrecorded).len();
        // A third of both budgets is left to others.
        assert!((960..=970).contains(&recorded), "{recorded}");
        let left_out = unrecorded.take_left_out().unwrap();
        assert_eq!(left_out.kinds, [("reset_failed", 60_000 - recorded as u64)]);
        let total = |counts: Vec<u64>| counts.iter().sum::<u64>() as usize + recorded;
        assert_eq!(total(left_out.subjects.iter().map(|(_, count)| *count).collect()), 60_000);
        assert_eq!(total(left_out.networks.iter().map(|(_, count)| *count).collect()), 60_000);
        assert_eq!((take(&unrecorded), unrecorded.take_left_out()), (vec![], None));
    }

    #[test]
    fn however_many_flood_for_however_long_the_failures_of_others_are_recorded() {
        for flooding in [1, 2, 3, 5, 10, 20, 40] {
            let begin = Instant::now();
            let flood: Vec<_> = (0..flooding).map(|_| UserId::random()).collect();
            let victim = UserId::random();
            for (networks, of_victim) in [(1, 0), (flooding, 1000)] {
                let unrecorded = Unrecorded::default();
                // 500 failures a second, for a minute.
                for tick in 0..30_000_u64 {
                    let now = begin + Duration::from_millis(2 * tick);
                    let one = tick as u16 % flooding;
                    let event = failed(Some(flood[usize::from(one)]), one % networks);
                    unrecorded.add(&event, now);
                    if tick % 6000 == 5999 {
                        unrecorded.add(&failed(Some(victim), of_victim), now);
                    }
                }
                let recorded = recorded_about(&unrecorded, victim);
                assert_eq!(recorded, 5, "{flooding} users in {networks} networks flood");
            }
        }
    }

    #[test]
    fn a_flood_about_one_user_does_not_hide_guesses_at_another_one() {
        let (unrecorded, begin) = (Unrecorded::default(), Instant::now());
        let [flooding, admin, third] = [(); 3].map(|()| UserId::random());
        for second in 0..600 {
            let now = begin + Duration::from_secs(second);
            (0..25).for_each(|_| unrecorded.add(&failed(Some(flooding), 1), now));
            if (300..310).contains(&second) {
                (0..4).for_each(|_| unrecorded.add(&failed(Some(admin), 1), now));
                unrecorded.add(&failed(Some(third), 1), now);
            }
        }
        let events = take(&unrecorded);
        let about = |user| events.iter().filter(|event| event.subject == Some(user)).count();
        assert_eq!((about(admin), about(third)), (40, 10));
        let left_out = unrecorded.take_left_out().unwrap();
        assert_eq!(left_out.subjects.iter().map(|(user, _)| *user).collect::<Vec<_>>(), [flooding]);
    }

    #[test]
    fn a_flood_about_many_users_from_one_network_does_not_hide_another_network() {
        let (unrecorded, now) = (Unrecorded::default(), Instant::now());
        (0..10_000).for_each(|_| unrecorded.add(&failed(Some(UserId::random()), 1), now));
        let user = UserId::random();
        (0..10).for_each(|_| unrecorded.add(&failed(Some(user), 2), now));
        assert_eq!(recorded_about(&unrecorded, user), 10);
        let left_out = unrecorded.take_left_out().unwrap();
        assert_eq!((left_out.subjects.len(), left_out.networks.len()), (20, 1), "bounded");
    }

    #[test]
    fn typed_addresses_that_nobody_has_are_shared_by_address_and_network() {
        let (unrecorded, now) = (Unrecorded::default(), Instant::now());
        let add = |typed: &str, network| {
            let (reason, email) = (LoginRefusal::AccountThrottled, EmailKey::of(typed));
            let kind = EventKind::SignInFailed { reason, email };
            unrecorded.add(&Event { kind, ..failed(None, network) }, now);
        };
        (0..10_000).for_each(|number| add(&format!("{number}@example.com"), 1));
        take(&unrecorded);
        add("admin@example.com", 2);
        assert_eq!(take(&unrecorded).len(), 1);
    }

    #[test]
    fn a_flood_without_accounts_does_not_displace_failures_of_users() {
        let (unrecorded, now) = (Unrecorded::default(), Instant::now());
        (0..10_000).for_each(|number| unrecorded.add(&failed(None, number), now));
        let user = UserId::random();
        unrecorded.add(&failed(Some(user), 1), now);
        assert_eq!(recorded_about(&unrecorded, user), 1);
    }

    #[test]
    fn who_has_the_most_left_out_is_named_however_many_others_there_are() {
        let (mut counts, often) = (LeftOutCounts::default(), UserId::random());
        for number in 0..50_000 {
            counts.add(&failed(Some(UserId::random()), 1));
            if number % 1000 == 0 {
                counts.add(&failed(Some(often), 1));
            }
            assert!(counts.subjects.len() <= LeftOutCounts::MOST);
        }
        assert_eq!(counts.take().unwrap().subjects[0], (often, 50));
    }

    #[test]
    fn events_that_cannot_be_recorded_wait_in_a_bounded_space() {
        let unrecorded = Unrecorded::default();
        unrecorded.put_back((0..5000).map(|_| failed(None, 1)).collect());
        assert_eq!(take(&unrecorded).len(), 3200);
        let left_out = unrecorded.take_left_out().unwrap();
        assert_eq!(left_out.kinds, [("reset_failed", 1800)]);
    }

    #[test]
    fn events_wait_again_if_whoever_records_them_is_stopped() {
        let (unrecorded, now) = (Unrecorded::default(), Instant::now());
        let all: Vec<_> = (0..5).map(|number| failed(None, number)).collect();
        all.iter().for_each(|event| unrecorded.add(event, now));
        drop(unrecorded.take(3));
        let first = unrecorded.take(2);
        assert_eq!(first.events(), &all[..2]);
        first.recorded();
        assert_eq!(take(&unrecorded), all[2..]);
    }
}
