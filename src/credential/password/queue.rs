//! The bounded queue of the hashing threads. It is fair between networks: turns rotate among the /48s, within each among
//! the /56s, within each among the /64s. A client gains nothing by owning many networks. An IPv4 address counts as one of
//! each.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    time::{Duration, Instant},
};

use crate::network::Network;

/// A job that has waited longer is dropped: its caller has given up or soon will. A full queue takes this long at half the
/// hash rate of one core.
pub(super) const MAX_QUEUE_TIME: Duration = Duration::from_secs(10);

/// Prefix lengths of the nested networks, the widest first. A [`Network`] is the narrowest.
const WIDER: [u32; 2] = [48, 56];

type Path = [Network; WIDER.len() + 1];

/// Jobs that wait, at most `capacity`.
pub(super) struct Queue<J> {
    networks: Networks<J>,
    capacity: usize,
    dropped: u64,
    expired: u64,
}

impl<J> Queue<J> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { networks: Networks::default(), capacity, dropped: 0, expired: 0 }
    }

    /// Queues a job. If the queue is full, drops the last job of the network with the most jobs, which can be this one.
    pub(super) fn push(&mut self, network: Network, job: J, now: Instant) {
        let path = path(network);
        if self.networks.waiting == self.capacity {
            self.dropped += 1;
            if !self.networks.make_room_for(&path) {
                return;
            }
        }
        self.networks.push(&path, job, now);
    }

    /// The next job that has not waited too long.
    pub(super) fn pop(&mut self, now: Instant) -> Option<J> {
        let before = self.networks.waiting;
        let job = self.networks.pop(now);
        let taken = before - self.networks.waiting - usize::from(job.is_some());
        self.expired += taken as u64;
        job
    }

    pub(super) fn waiting(&self) -> usize {
        self.networks.waiting
    }

    /// How many jobs a full queue has dropped.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// How many jobs have waited too long.
    pub(super) fn expired(&self) -> u64 {
        self.expired
    }
}

fn path(network: Network) -> Path {
    [network.supernet(WIDER[0]), network.supernet(WIDER[1]), network]
}

/// Networks of one prefix length that have jobs waiting, and whose turn is next.
struct Networks<J> {
    jobs: HashMap<Network, Jobs<J>>,
    /// Each of the networks once, the next one in front.
    turns: VecDeque<Network>,
    waiting: usize,
}

/// The jobs of one network.
enum Jobs<J> {
    ByNetwork(Networks<J>),
    /// Of a single network, the oldest in front.
    Fifo(VecDeque<(Instant, J)>),
}

impl<J> Default for Networks<J> {
    fn default() -> Self {
        Self { jobs: HashMap::new(), turns: VecDeque::new(), waiting: 0 }
    }
}

impl<J> Networks<J> {
    fn push(&mut self, path: &[Network], job: J, now: Instant) {
        let [network, narrower @ ..] = path else { return };
        let jobs = self.jobs.entry(*network).or_insert_with(|| {
            self.turns.push_back(*network);
            Jobs::empty(narrower)
        });
        self.waiting += 1;
        match jobs {
            Jobs::ByNetwork(networks) => networks.push(narrower, job, now),
            Jobs::Fifo(fifo) => fifo.push_back((now, job)),
        }
    }

    fn pop(&mut self, now: Instant) -> Option<J> {
        while let Some(network) = self.turns.pop_front() {
            let Entry::Occupied(mut jobs) = self.jobs.entry(network) else { continue };
            let before = jobs.get().waiting();
            let job = jobs.get_mut().pop(now);
            let after = jobs.get().waiting();
            self.waiting -= before - after;
            if after == 0 {
                jobs.remove();
            } else {
                self.turns.push_back(network);
            }
            if job.is_some() {
                return job;
            }
        }
        None
    }

    /// Makes room for a job with this path. Drops a job of the network with the most jobs, if it has at least two more than
    /// the network of the new job. Otherwise that network drops one of its own jobs by the same rule.
    /// Returns false if there is no such job.
    fn make_room_for(&mut self, path: &[Network]) -> bool {
        let [network, narrower @ ..] = path else { return false };
        let own = self.jobs.get(network).map_or(0, Jobs::waiting);
        if self.busiest().is_some_and(|(_, most)| most > own + 1) {
            self.drop_last();
            return true;
        }
        let Some(Jobs::ByNetwork(networks)) = self.jobs.get_mut(network) else { return false };
        let made = networks.make_room_for(narrower);
        self.waiting -= usize::from(made);
        made
    }

    /// Drops the newest job of the busiest network in the busiest network.
    fn drop_last(&mut self) {
        let Some((network, most)) = self.busiest() else { return };
        match self.jobs.get_mut(&network) {
            Some(Jobs::ByNetwork(networks)) => networks.drop_last(),
            Some(Jobs::Fifo(fifo)) => drop(fifo.pop_back()),
            None => return,
        }
        self.waiting -= 1;
        if most == 1 {
            self.jobs.remove(&network);
            self.turns.retain(|other| *other != network);
        }
    }

    /// The network with the most jobs; of several the one whose turn comes last.
    fn busiest(&self) -> Option<(Network, usize)> {
        let waiting = |network: &Network| self.jobs.get(network).map_or(0, Jobs::waiting);
        self.turns.iter().map(|network| (*network, waiting(network))).max_by_key(|(_, jobs)| *jobs)
    }
}

impl<J> Jobs<J> {
    fn empty(narrower: &[Network]) -> Self {
        if narrower.is_empty() {
            Self::Fifo(VecDeque::new())
        } else {
            Self::ByNetwork(Networks::default())
        }
    }

    fn waiting(&self) -> usize {
        match self {
            Self::ByNetwork(networks) => networks.waiting,
            Self::Fifo(fifo) => fifo.len(),
        }
    }

    fn pop(&mut self, now: Instant) -> Option<J> {
        match self {
            Self::ByNetwork(networks) => networks.pop(now),
            Self::Fifo(fifo) => {
                while let Some((since, job)) = fifo.pop_front() {
                    if now.duration_since(since) <= MAX_QUEUE_TIME {
                        return Some(job);
                    }
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn address(last: u8) -> Network {
        Network::at([192, 0, 2, last].into())
    }

    /// The /64 with this number in a /48, or in one of its /56s if the number is below 256.
    fn network(subscriber: u16, number: u16) -> Network {
        Network::at(Ipv6Addr::new(0x2001, 0xdb8, subscriber, number, 0, 0, 0, 1).into())
    }

    /// The jobs in the order in which they are served.
    fn drain<J>(mut queue: Queue<J>, now: Instant) -> Vec<J> {
        let jobs = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(queue.networks.waiting, 0);
        assert!(queue.networks.jobs.is_empty() && queue.networks.turns.is_empty());
        jobs
    }

    fn served(capacity: usize, jobs: impl IntoIterator<Item = (Network, usize)>) -> Vec<usize> {
        let (mut queue, now) = (Queue::new(capacity), Instant::now());
        for (network, job) in jobs {
            queue.push(network, job, now);
        }
        drain(queue, now)
    }

    #[test]
    fn networks_are_served_in_turn_however_many_jobs_one_of_them_has() {
        let greedy = (0..4).map(|number| (address(1), number));
        let jobs = greedy.chain([(address(2), 10), (address(3), 20)]);
        assert_eq!(served(100, jobs), [0, 10, 20, 1, 2, 3]);
    }

    #[test]
    fn networks_of_one_48_share_its_turns() {
        let attacker = (0..400).map(|number| (network(1, number), usize::from(number)));
        let jobs =
            attacker.chain([(network(2, 0), 1000), (address(1), 2000), (network(2, 1), 1001)]);
        assert_eq!(served(1000, jobs)[..7], [0, 1000, 2000, 256, 1001, 1, 257]);
    }

    #[test]
    fn networks_of_one_56_share_its_turns() {
        let busy = (0..5).map(|number| (network(1, number), usize::from(number)));
        let jobs = busy.chain([(network(1, 256), 100), (network(1, 256), 101)]);
        assert_eq!(served(100, jobs), [0, 100, 1, 101, 2, 3, 4]);
    }

    #[test]
    fn a_full_queue_drops_a_job_of_the_busiest_network_for_a_new_job() {
        let greedy = (0..4).map(|number| (address(1), number));
        let jobs = greedy.chain([(address(2), 10), (address(1), 4)]);
        assert_eq!(served(4, jobs), [0, 10, 1, 2], "3 is dropped, 4 is refused");
    }

    #[test]
    fn a_full_queue_drops_jobs_of_the_48_with_the_most_jobs() {
        let attacker = (0..400).map(|number| (network(1, number), usize::from(number)));
        let others = (0..26).map(|last| (address(last), 1000 + usize::from(last)));
        let jobs = served(256, attacker.chain(others));
        assert_eq!(jobs.len(), 256);
        assert_eq!(jobs.iter().filter(|job| **job >= 1000).count(), 26, "no other job is dropped");
        let last = jobs.iter().rposition(|job| *job >= 1000);
        assert!(last <= Some(27), "others do not wait for the attacker: {last:?}");
    }

    #[test]
    fn within_the_busiest_48_a_job_of_the_busiest_56_is_dropped() {
        // Three jobs of one /56 and one of another, in the same /48; the fifth is the new job.
        let jobs =
            [(0, 0), (1, 1), (2, 2), (256, 10)].map(|(number, job)| (network(1, number), job));
        let jobs = served(4, jobs.into_iter().chain([(network(1, 512), 20)]));
        assert_eq!(jobs, [0, 10, 20, 1], "2 is dropped");
    }

    #[test]
    fn the_queue_is_shared_evenly_among_48s() {
        let rounds = (0..64).flat_map(|round| (0..8).map(move |subscriber| (subscriber, round)));
        let jobs =
            rounds.map(|(subscriber, round)| (network(subscriber, round), subscriber.into()));
        let jobs = served(64, jobs);
        for subscriber in 0..8 {
            assert_eq!(jobs.iter().filter(|job| **job == subscriber).count(), 8);
        }
    }

    #[test]
    fn a_job_that_waited_too_long_is_dropped_and_takes_no_turn() {
        let (mut queue, now) = (Queue::new(8), Instant::now());
        let late = now + MAX_QUEUE_TIME + Duration::from_millis(1);
        queue.push(address(1), 0, now);
        queue.push(address(2), 10, late);
        queue.push(address(1), 1, late);
        queue.push(address(3), 20, now);
        assert_eq!(drain(queue, late), [1, 10]);
    }

    #[test]
    fn the_queue_never_holds_more_than_its_capacity() {
        let networks = (0..100).map(|number| (network(number % 3, number * 100), 0));
        assert_eq!(served(8, networks).len(), 8);
    }
}
