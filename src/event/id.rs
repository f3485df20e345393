//! The ids of events, which sort by time.

use uuid::Builder;

use crate::{clock::Timestamp, id::id};

id!(
    /// The id of an event: a UUID of version 7, which begins with the time of the event.
    EventId
);

impl EventId {
    /// A new id of an event at this time.
    pub fn at(at: Timestamp) -> Self {
        let random = *Self::random().0.as_bytes().last_chunk().expect("a UUID has 16 bytes");
        Self::new(at, &random)
    }

    /// The lowest id of all events at this time or later.
    pub fn first_at(at: Timestamp) -> Self {
        Self::new(at, &[0; 10])
    }

    fn new(at: Timestamp, random: &[u8; 10]) -> Self {
        let millis = u64::try_from(at.millis()).unwrap_or(0);
        Self(Builder::from_unix_timestamp_millis(millis, random).into_uuid())
    }

    /// When the event happened.
    pub fn time(self) -> Timestamp {
        let millis = self.0.as_u128() >> 80;
        Timestamp::from_millis(i64::try_from(millis).unwrap_or(i64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_tell_it() {
        let (early, late) =
            (Timestamp::from_millis(1_800_000_000_123), Timestamp::from_millis(1_800_000_000_124));
        for _ in 0..100 {
            let (first, second) = (EventId::at(early), EventId::at(late));
            assert!(EventId::first_at(early) <= first && first < EventId::first_at(late));
            assert!(first < second);
            assert_eq!(first.time(), early);
        }
        assert_ne!(EventId::at(early), EventId::at(early));
    }
}
