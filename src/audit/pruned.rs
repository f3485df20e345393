//! Which events of a tile have reached the end of their retention: a bit for each, and a mark of the installation. So a verification
//! tells an event that was pruned from one that somebody has removed.

use super::{
    checkpoint::AuditKey,
    tree::{TILE_WIDTH, TileId},
};

const BITS: usize = TILE_WIDTH / 8;

/// The events of a tile that were pruned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrunedMarks {
    bits: [u8; BITS],
}

impl PrunedMarks {
    pub const NONE: Self = Self { bits: [0; BITS] };

    /// What is stored for a tile; `None` if an installation with this key has not written it.
    pub fn read(tile: TileId, stored: Option<&[u8]>, key: &AuditKey) -> Option<Self> {
        let Some(stored) = stored else { return Some(Self::NONE) };
        let (bits, mark) = stored.split_first_chunk()?;
        (key.mark(&tile.path(), bits) == mark).then_some(Self { bits: *bits })
    }

    /// Marks the bits with another key, for a trail that goes on after the loss of its secret.
    pub fn marked_anew(tile: &str, stored: &[u8], key: &AuditKey) -> Option<Vec<u8>> {
        let (bits, _) = stored.split_first_chunk::<BITS>()?;
        Some([&bits[..], &key.mark(tile, bits)].concat())
    }

    /// What is stored: the bits and the mark.
    pub fn to_bytes(&self, tile: TileId, key: &AuditKey) -> Vec<u8> {
        [&self.bits[..], &key.mark(&tile.path(), &self.bits)].concat()
    }

    /// Marks an event by its number.
    pub fn add(&mut self, number: u64) {
        let offset = number as usize % TILE_WIDTH;
        self.bits[offset / 8] |= 1 << (offset % 8);
    }

    pub fn contains(&self, number: u64) -> bool {
        let offset = number as usize % TILE_WIDTH;
        self.bits[offset / 8] & 1 << (offset % 8) != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::shared_secret::SharedSecret;

    #[test]
    fn marks_are_those_of_one_tile_and_one_installation() {
        let key = AuditKey::new(&SharedSecret::random());
        let tile = |index| TileId { level: 0, index };
        let mut marks = PrunedMarks::NONE;
        [3, 255].into_iter().for_each(|number| marks.add(256 + number));
        let stored = marks.to_bytes(tile(1), &key);
        assert_eq!(PrunedMarks::read(tile(1), Some(&stored), &key), Some(marks.clone()));
        let marked: Vec<_> = (256..512).filter(|number| marks.contains(*number)).collect();
        assert_eq!(marked, [259, 511]);
        assert_eq!(PrunedMarks::read(tile(2), Some(&stored), &key), None);
        let other = AuditKey::new(&SharedSecret::random());
        assert_eq!(PrunedMarks::read(tile(1), Some(&stored), &other), None);
        let anew = PrunedMarks::marked_anew(&tile(1).path(), &stored, &other).unwrap();
        assert_eq!(PrunedMarks::read(tile(1), Some(&anew), &other), Some(marks));
        let mut changed = stored;
        changed[0] ^= 1;
        assert_eq!(PrunedMarks::read(tile(1), Some(&changed), &key), None);
        assert_eq!(PrunedMarks::read(tile(1), None, &key), Some(PrunedMarks::NONE));
    }
}
