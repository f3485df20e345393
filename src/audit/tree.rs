//! The Merkle tree over all events: the hashes of RFC 6962, stored in tiles of 256 as C2SP `tlog-tiles` lays them out. It only
//! grows, and a proof needs a few tiles.

use std::collections::{BTreeMap, BTreeSet};

use crate::sha256::{Sha256, sha256};

/// A SHA-256 hash of a leaf or of a subtree.
pub type Hash = [u8; 32];

/// The number of hashes in a full tile.
pub const TILE_WIDTH: usize = 256;
/// The height of the subtree that a full tile stands for.
const TILE_HEIGHT: u32 = 8;

/// The hash of an entry, which is given in parts.
pub fn leaf_hash(entry: &[&[u8]]) -> Hash {
    hash(0, entry)
}

fn node_hash(left: &Hash, right: &Hash) -> Hash {
    hash(1, &[left, right])
}

/// The first byte tells leaves from nodes, so that no node can be passed off as an entry.
fn hash(domain: u8, parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    digest.update([domain]);
    parts.iter().for_each(|part| digest.update(part));
    digest.finish()
}

/// The place of a tile: level 0 has the hashes of entries, each higher level those of full tiles of the level below.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TileId {
    pub level: u32,
    pub index: u64,
}

impl TileId {
    /// The name of the tile in C2SP `tlog-tiles`, such as `0/x001/234`.
    pub fn path(self) -> String {
        let (mut rest, mut path) = (self.index / 1000, format!("{:03}", self.index % 1000));
        while rest > 0 {
            path = format!("x{:03}/{path}", rest % 1000);
            rest /= 1000;
        }
        format!("{}/{path}", self.level)
    }

    pub fn parse(path: &str) -> Option<Self> {
        let (level, index) = path.split_once('/')?;
        let digits: String = index.chars().filter(|c| c.is_ascii_digit()).collect();
        let id = Self { level: level.parse().ok()?, index: digits.parse().ok()? };
        (id.path() == path).then_some(id)
    }
}

/// The tiles that a tree of this size does not have full: those that change when it grows.
pub fn growing_tiles(size: u64) -> Vec<TileId> {
    let levels = (0..).map_while(|level| {
        let count = size.checked_shr(TILE_HEIGHT * level).filter(|count| *count > 0)?;
        Some((level, count))
    });
    let width = TILE_WIDTH as u64;
    let growing = levels.filter(|(_, count)| count % width != 0);
    growing.map(|(level, count)| TileId { level, index: count / width }).collect()
}

/// All tiles of a tree of this size, each with the number of hashes in it.
pub fn all_tiles(size: u64) -> impl Iterator<Item = (TileId, usize)> {
    let width = TILE_WIDTH as u64;
    let levels = (0..8).map(move |level| (level, size >> (TILE_HEIGHT * level)));
    levels.take_while(|(_, count)| *count > 0).flat_map(move |(level, count)| {
        (0..count.div_ceil(width)).map(move |index| {
            let hashes = (count - index * width).min(width);
            (TileId { level, index }, hashes as usize)
        })
    })
}

/// Where the hashes of full subtrees come from.
trait Subtrees {
    /// The hash of the subtree with this height and index; `None` if it is not known.
    fn hash_of(&mut self, height: u32, index: u64) -> Option<Hash>;
}

/// Some tiles of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tiles(BTreeMap<TileId, Vec<Hash>>);

impl Tiles {
    /// Adds a tile as it is stored: its hashes one after the other. Returns false if it is not one.
    pub fn add(&mut self, id: TileId, stored: &[u8]) -> bool {
        let (hashes, rest) = stored.as_chunks::<32>();
        let is_tile = rest.is_empty() && (1..=TILE_WIDTH).contains(&hashes.len());
        if is_tile {
            self.0.insert(id, hashes.to_vec());
        }
        is_tile
    }

    /// The hashes of a tile.
    pub fn hashes(&self, id: TileId) -> &[Hash] {
        self.0.get(&id).map_or(&[], Vec::as_slice)
    }

    /// Appends entries to a tree of this size, whose growing tiles are here, and returns the tiles that have changed.
    pub fn append(&mut self, size: u64, leaves: &[Hash]) -> BTreeSet<TileId> {
        let mut changed = BTreeSet::new();
        for (position, leaf) in (size..).zip(leaves) {
            let (mut level, mut position, mut hash) = (0, position, *leaf);
            loop {
                let id = TileId { level, index: position / TILE_WIDTH as u64 };
                let tile = self.0.entry(id).or_default();
                tile.push(hash);
                changed.insert(id);
                if tile.len() < TILE_WIDTH {
                    break;
                }
                hash = perfect_hash(tile);
                (level, position) = (level + 1, id.index);
            }
        }
        changed
    }

    /// The root of a tree of this size; `None` if a tile is missing.
    pub fn root(&self, size: u64) -> Option<Hash> {
        root(&mut &*self, size)
    }

    /// The hashes that prove that an entry is in a tree of this size, from the bottom to the top.
    pub fn inclusion_proof(&self, index: u64, size: u64) -> Option<Vec<Hash>> {
        inclusion(&mut &*self, index, 0, size)
    }

    /// The hashes that prove that a tree of `old` entries is the beginning of one with `size` entries.
    pub fn consistency_proof(&self, old: u64, size: u64) -> Option<Vec<Hash>> {
        consistency(&mut &*self, old, size)
    }
}

impl Subtrees for &Tiles {
    fn hash_of(&mut self, height: u32, index: u64) -> Option<Hash> {
        let (id, offset, count) = place(height, index);
        self.0.get(&id)?.get(offset..offset + count).map(perfect_hash)
    }
}

/// The tiles that a computation reads.
#[derive(Default)]
struct NeededTiles(BTreeSet<TileId>);

impl Subtrees for NeededTiles {
    fn hash_of(&mut self, height: u32, index: u64) -> Option<Hash> {
        self.0.insert(place(height, index).0);
        Some(Hash::default())
    }
}

/// The tiles that the root of a tree of this size is computed from.
#[cfg(test)]
fn tiles_for_root(size: u64) -> BTreeSet<TileId> {
    let mut needed = NeededTiles::default();
    root(&mut needed, size);
    needed.0
}

pub fn tiles_for_inclusion(index: u64, size: u64) -> BTreeSet<TileId> {
    let mut needed = NeededTiles::default();
    inclusion(&mut needed, index, 0, size);
    needed.0
}

pub fn tiles_for_consistency(old: u64, size: u64) -> BTreeSet<TileId> {
    let mut needed = NeededTiles::default();
    consistency(&mut needed, old, size);
    needed.0
}

/// The tile that has the hashes of a subtree, the first of them and their number.
fn place(height: u32, index: u64) -> (TileId, usize, usize) {
    let (level, above) = (height / TILE_HEIGHT, height % TILE_HEIGHT);
    let first = index << above;
    let width = TILE_WIDTH as u64;
    (TileId { level, index: first / width }, (first % width) as usize, 1 << above)
}

/// The hash over a number of hashes that is a power of two.
fn perfect_hash(hashes: &[Hash]) -> Hash {
    match hashes {
        [] => hash_of_nothing(),
        [one] => *one,
        more => {
            let (left, right) = more.split_at(more.len() / 2);
            node_hash(&perfect_hash(left), &perfect_hash(right))
        }
    }
}

fn hash_of_nothing() -> Hash {
    sha256("")
}

fn root(subtrees: &mut impl Subtrees, size: u64) -> Option<Hash> {
    if size == 0 { Some(hash_of_nothing()) } else { range(subtrees, 0, size) }
}

/// The hash of the entries from `begin` up to `end`. As in RFC 6962, the left part is the largest full subtree.
fn range(subtrees: &mut impl Subtrees, begin: u64, end: u64) -> Option<Hash> {
    let count = end - begin;
    if count.is_power_of_two() {
        return subtrees.hash_of(count.ilog2(), begin >> count.ilog2());
    }
    let middle = begin + split(count);
    let left = range(subtrees, begin, middle)?;
    Some(node_hash(&left, &range(subtrees, middle, end)?))
}

/// The largest power of two that is smaller than this number.
fn split(count: u64) -> u64 {
    count.next_power_of_two() / 2
}

fn inclusion(subtrees: &mut impl Subtrees, index: u64, begin: u64, end: u64) -> Option<Vec<Hash>> {
    if index < begin || index >= end {
        return None;
    }
    if end - begin == 1 {
        return Some(Vec::new());
    }
    let middle = begin + split(end - begin);
    let (mut proof, sibling) = if index < middle {
        (inclusion(subtrees, index, begin, middle)?, range(subtrees, middle, end)?)
    } else {
        (inclusion(subtrees, index, middle, end)?, range(subtrees, begin, middle)?)
    };
    proof.push(sibling);
    Some(proof)
}

fn consistency(subtrees: &mut impl Subtrees, old: u64, size: u64) -> Option<Vec<Hash>> {
    if old > size {
        return None;
    }
    if old == 0 || old == size {
        return Some(Vec::new());
    }
    subproof(subtrees, old, 0, size, true)
}

/// `SUBPROOF` of RFC 6962, section 2.1.2.
fn subproof(
    subtrees: &mut impl Subtrees,
    old: u64,
    begin: u64,
    end: u64,
    is_whole: bool,
) -> Option<Vec<Hash>> {
    if old == end {
        return Some(if is_whole { Vec::new() } else { vec![range(subtrees, begin, end)?] });
    }
    let middle = begin + split(end - begin);
    let (mut proof, sibling) = if old <= middle {
        (subproof(subtrees, old, begin, middle, is_whole)?, range(subtrees, middle, end)?)
    } else {
        (subproof(subtrees, old, middle, end, false)?, range(subtrees, begin, middle)?)
    };
    proof.push(sibling);
    Some(proof)
}

/// Computes roots while entries are appended, without keeping them.
#[derive(Clone, Debug, Default)]
pub struct RootBuilder {
    size: u64,
    /// The full subtrees of the tree, from left to right.
    subtrees: Vec<Hash>,
}

impl RootBuilder {
    pub fn push(&mut self, leaf: Hash) {
        let mut hash = leaf;
        // As many subtrees are completed as the size has ones at its end.
        for _ in 0..self.size.trailing_ones() {
            let left = self.subtrees.pop().expect("there is a subtree for each one of the size");
            hash = node_hash(&left, &hash);
        }
        self.subtrees.push(hash);
        self.size += 1;
    }

    /// The root of what was appended so far.
    pub fn root(&self) -> Hash {
        let from_right = self.subtrees.iter().rev().copied();
        from_right.reduce(|right, left| node_hash(&left, &right)).unwrap_or_else(hash_of_nothing)
    }

    /// The root of these entries.
    pub fn root_of(leaves: &[Hash]) -> Hash {
        let mut builder = Self::default();
        leaves.iter().for_each(|leaf| builder.push(*leaf));
        builder.root()
    }
}

/// Whether the proof shows that the entry with this hash is in the tree.
pub fn proves_inclusion(leaf: &Hash, index: u64, size: u64, proof: &[Hash], root: &Hash) -> bool {
    if index >= size {
        return false;
    }
    let (mut node, mut last, mut hash) = (index, size - 1, *leaf);
    for sibling in proof {
        if last == 0 {
            return false;
        }
        if node % 2 == 1 || node == last {
            hash = node_hash(sibling, &hash);
            // The last node of a level without a sibling moves up unchanged.
            while node % 2 == 0 && node != 0 {
                (node, last) = (node / 2, last / 2);
            }
        } else {
            hash = node_hash(&hash, sibling);
        }
        (node, last) = (node / 2, last / 2);
    }
    last == 0 && hash == *root
}

/// Whether the proof shows that the old tree is the beginning of the new one.
pub fn proves_consistency(
    old: u64,
    old_root: &Hash,
    size: u64,
    root: &Hash,
    proof: &[Hash],
) -> bool {
    if old == 0 {
        return proof.is_empty();
    }
    if old >= size {
        return old == size && proof.is_empty() && old_root == root;
    }
    // A tree whose size is a power of two is a subtree of the new one.
    let mut hashes = proof.iter();
    let first = if old.is_power_of_two() { Some(old_root) } else { hashes.next() };
    let Some(first) = first else { return false };
    let (mut node, mut last) = (old - 1, size - 1);
    while node % 2 == 1 {
        (node, last) = (node / 2, last / 2);
    }
    let (mut old_hash, mut new_hash) = (*first, *first);
    for sibling in hashes {
        if last == 0 {
            return false;
        }
        if node % 2 == 1 || node == last {
            old_hash = node_hash(sibling, &old_hash);
            new_hash = node_hash(sibling, &new_hash);
            while node % 2 == 0 && node != 0 {
                (node, last) = (node / 2, last / 2);
            }
        } else {
            new_hash = node_hash(&new_hash, sibling);
        }
        (node, last) = (node / 2, last / 2);
    }
    last == 0 && old_hash == *old_root && new_hash == *root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(count: u64) -> Vec<Hash> {
        (0..count).map(|number| leaf_hash(&[&number.to_be_bytes()])).collect()
    }

    fn tree(count: u64) -> Tiles {
        let mut tiles = Tiles::default();
        tiles.append(0, &leaves(count));
        tiles
    }

    /// `MTH` as RFC 6962 defines it.
    fn definition(leaves: &[Hash]) -> Hash {
        match leaves {
            [] => hash_of_nothing(),
            [one] => *one,
            more => {
                let (left, right) = more.split_at(split(more.len() as u64) as usize);
                node_hash(&definition(left), &definition(right))
            }
        }
    }

    fn hex(hash: &[u8]) -> String {
        hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The entries and roots that the implementations of Certificate Transparency test with.
    #[test]
    fn the_roots_are_those_of_certificate_transparency() {
        let entries: [&[u8]; 8] = [
            b"",
            b"\x00",
            b"\x10",
            b"\x20\x21",
            b"\x30\x31",
            b"\x40\x41\x42\x43",
            b"\x50\x51\x52\x53\x54\x55\x56\x57",
            b"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f",
        ];
        let mut tiles = Tiles::default();
        tiles.append(0, &entries.map(|entry| leaf_hash(&[entry])));
        let root = |size| hex(&tiles.root(size).unwrap());
        assert_eq!(root(0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        assert_eq!(root(1), "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d");
        assert_eq!(root(5), "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4");
        assert_eq!(root(8), "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328");
    }

    #[test]
    fn a_tree_that_grows_in_steps_has_the_roots_of_its_definition() {
        let all = leaves(70_000);
        let (mut tiles, mut size) = (Tiles::default(), 0);
        for step in [1, 2, 253, 1, 255, 300, 1000, 63_000, 5000, 188] {
            let edge = growing_tiles(size);
            // Only the growing tiles are needed.
            let mut known = Tiles(edge.iter().map(|id| (*id, tiles.0[id].clone())).collect());
            let changed = known.append(size, &all[size as usize..][..step]);
            changed.iter().for_each(|id| drop(tiles.0.insert(*id, known.0[id].clone())));
            size += step as u64;
            assert_eq!(tiles.root(size), Some(definition(&all[..size as usize])), "{size}");
            assert_eq!(tiles.root(size), Some(RootBuilder::root_of(&all[..size as usize])));
            let expected: Vec<_> = all_tiles(size).collect();
            let stored: Vec<_> = tiles.0.iter().map(|(id, tile)| (*id, tile.len())).collect();
            assert_eq!(stored, expected, "{size}");
        }
        assert_eq!(size, 70_000);
    }

    #[test]
    fn every_entry_is_proved_in_every_tree_and_nowhere_else() {
        let tiles = tree(70);
        let all = leaves(70);
        for size in 1..=70 {
            let root = tiles.root(size).unwrap();
            for index in 0..size {
                let proof = tiles.inclusion_proof(index, size).unwrap();
                let leaf = &all[index as usize];
                assert!(proves_inclusion(leaf, index, size, &proof, &root), "{index} of {size}");
                let others = [index + 1, index ^ 1, size].into_iter().filter(|n| *n != index);
                for other in others {
                    assert!(!proves_inclusion(leaf, other, size, &proof, &root), "{other}");
                }
                let mut longer = proof.clone();
                longer.push(root);
                assert!(!proves_inclusion(leaf, index, size, &longer, &root));
                for changed in 0..proof.len() {
                    let mut proof = proof.clone();
                    proof[changed][7] ^= 1;
                    assert!(!proves_inclusion(leaf, index, size, &proof, &root));
                }
            }
            assert_eq!(tiles.inclusion_proof(size, size), None);
        }
    }

    #[test]
    fn every_tree_is_proved_to_be_the_beginning_of_a_larger_one() {
        let tiles = tree(70);
        for size in 1..=70 {
            let root = tiles.root(size).unwrap();
            for old in 1..=size {
                let old_root = tiles.root(old).unwrap();
                let proof = tiles.consistency_proof(old, size).unwrap();
                assert!(proves_consistency(old, &old_root, size, &root, &proof), "{old} {size}");
                if old < size {
                    assert!(!proves_consistency(old, &root, size, &root, &proof), "{old} {size}");
                    assert!(!proves_consistency(old, &old_root, size, &old_root, &proof));
                }
                for changed in 0..proof.len() {
                    let mut proof = proof.clone();
                    proof[changed][31] ^= 128;
                    assert!(!proves_consistency(old, &old_root, size, &root, &proof));
                }
            }
        }
    }

    #[test]
    fn a_proof_needs_only_the_tiles_that_it_names() {
        let tiles = tree(70_000);
        let only = |ids: BTreeSet<TileId>| {
            Tiles(ids.into_iter().map(|id| (id, tiles.0[&id].clone())).collect())
        };
        let root = only(tiles_for_root(70_000)).root(70_000);
        assert_eq!((root.is_some(), root), (true, tiles.root(70_000)));
        let needed = tiles_for_inclusion(12_345, 69_999);
        assert!(needed.len() <= 5, "{needed:?}");
        let proof = only(needed).inclusion_proof(12_345, 69_999);
        assert_eq!((proof.is_some(), &proof), (true, &tiles.inclusion_proof(12_345, 69_999)));
        let proof = only(tiles_for_consistency(300, 66_000)).consistency_proof(300, 66_000);
        assert_eq!((proof.is_some(), &proof), (true, &tiles.consistency_proof(300, 66_000)));
    }

    #[test]
    fn a_tile_has_the_path_of_tlog_tiles() {
        for (level, index, path) in [
            (0, 0, "0/000"),
            (0, 255, "0/255"),
            (1, 1234, "1/x001/234"),
            (3, 1_234_067, "3/x001/x234/067"),
        ] {
            let id = TileId { level, index };
            assert_eq!(id.path(), path);
            assert_eq!(TileId::parse(path), Some(id));
        }
        for other in ["", "0", "0/0", "0/x000/001", "0/1234", "0/x001234", "-1/000"] {
            assert_eq!(TileId::parse(other), None, "{other}");
        }
    }
}
