//! The bounded queue of the hashing threads. The networks whose jobs wait take turns, so that none waits for the many jobs of
//! another. A network is an IPv4 address or an IPv6 /48: a client gains nothing by using many /64s.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use crate::network::Network;

/// A job that has waited longer is dropped: its caller has given up or soon will. A full queue takes this long at half the
/// hash rate of one core.
pub(super) const MAX_QUEUE_TIME: Duration = Duration::from_secs(10);

/// Jobs that wait, at most `capacity`.
pub(super) struct Queue<J> {
    /// The networks that have jobs, each once. The next turn is that of the first one.
    turns: VecDeque<Jobs<J>>,
    capacity: usize,
    dropped: u64,
    expired: u64,
}

/// The jobs of one network, at least one.
struct Jobs<J> {
    network: Network,
    /// With the time since when it waits, the oldest in front.
    fifo: VecDeque<(Instant, J)>,
}

impl<J> Queue<J> {
    pub(super) fn new(capacity: usize) -> Self {
        Self { turns: VecDeque::new(), capacity, dropped: 0, expired: 0 }
    }

    /// Queues a job. If the queue is full, drops the newest job of the network with the most jobs, if that has at least two
    /// more than the network of the new job. Otherwise drops the new job.
    pub(super) fn push(&mut self, network: Network, job: J, now: Instant) {
        let network = network.subscriber();
        if self.waiting() == self.capacity {
            self.dropped += 1;
            let own = self.jobs_of(network).map_or(0, |jobs| jobs.fifo.len());
            // Of several, the one whose turn comes last.
            let busiest = self.turns.iter_mut().max_by_key(|jobs| jobs.fifo.len());
            let Some(busiest) = busiest.filter(|jobs| jobs.fifo.len() > own + 1) else { return };
            busiest.fifo.pop_back();
        }
        match self.jobs_of(network) {
            Some(jobs) => jobs.fifo.push_back((now, job)),
            None => self.turns.push_back(Jobs { network, fifo: VecDeque::from([(now, job)]) }),
        }
    }

    /// The next job that has not waited too long.
    pub(super) fn pop(&mut self, now: Instant) -> Option<J> {
        while let Some(mut jobs) = self.turns.pop_front() {
            while let Some((since, job)) = jobs.fifo.pop_front() {
                if now.duration_since(since) > MAX_QUEUE_TIME {
                    self.expired += 1;
                    continue;
                }
                if !jobs.fifo.is_empty() {
                    self.turns.push_back(jobs);
                }
                return Some(job);
            }
        }
        None
    }

    fn jobs_of(&mut self, network: Network) -> Option<&mut Jobs<J>> {
        self.turns.iter_mut().find(|jobs| jobs.network == network)
    }

    pub(super) fn waiting(&self) -> usize {
        self.turns.iter().map(|jobs| jobs.fifo.len()).sum()
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

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    fn address(last: u8) -> Network {
        Network::at([192, 0, 2, last].into())
    }

    /// The /64 with this number in the /48 of a subscriber.
    fn network(subscriber: u16, number: u16) -> Network {
        Network::at(Ipv6Addr::new(0x2001, 0xdb8, subscriber, number, 0, 0, 0, 1).into())
    }

    /// The jobs in the order in which they are served.
    fn drain<J>(mut queue: Queue<J>, now: Instant) -> Vec<J> {
        let jobs = std::iter::from_fn(|| queue.pop(now)).collect();
        assert_eq!(queue.waiting(), 0);
        assert!(queue.turns.is_empty());
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
        assert_eq!(served(1000, jobs)[..7], [0, 1000, 2000, 1, 1001, 2, 3]);
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
