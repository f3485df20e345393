//! What was done to a trail behind Doorward's back. It reads the rows and the hashes of the tree once, in the order of their numbers,
//! and compares them with each other and with signed checkpoints.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    checkpoint::{AuditKey, Checkpoint, SignedCheckpoint, VerifierKey},
    entry::Entry,
    pruned::PrunedMarks,
    tree::{Hash, RootBuilder, TILE_WIDTH, TileId, all_tiles},
};
use crate::event::EventName;

/// The most findings of a report.
const MAX_FINDINGS: usize = 10_000;
/// How many tiles may be missing. If it is more, the size was changed.
const MAX_MISSING_TILES: u64 = 1000;

/// A row of the trail, as it is stored.
#[derive(Clone, Debug)]
pub struct Row {
    pub number: Option<u64>,
    pub entry: Entry,
}

impl Row {
    fn id(&self) -> String {
        self.entry.id.clone()
    }

    fn leaf(&self) -> Hash {
        self.entry.leaf()
    }

    fn is_authentic(&self, key: &AuditKey) -> bool {
        self.entry.is_authentic(key)
    }
}

/// A tile with the hashes of events, as it is stored.
#[derive(Clone, Debug, Default)]
pub struct StoredTile {
    pub hashes: Vec<u8>,
    /// Which of them were pruned.
    pub pruned: Option<Vec<u8>>,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "finding", rename_all = "camelCase")]
#[schemars(rename = "AuditFinding")]
pub enum Finding {
    /// The event is not what was logged.
    Changed { number: u64, id: String },
    /// Events were removed that have not reached the end of their retention.
    Removed { first: u64, last: u64 },
    /// The event stands in the place of another one.
    Reordered { number: u64, id: String, belongs_at: u64 },
    /// The event was never logged by this installation.
    Inserted { id: String },
    /// A checkpoint has more events than the trail.
    CutOff { first: u64, last: u64 },
    /// The trail is not the continuation of a checkpoint.
    NotContinued { after: u64, checkpoint: u64 },
    /// What an event says of its person was erased, although that user was not deleted.
    Erased { id: String },
    /// Stored hashes were changed, removed or added.
    HashesChanged { tile: String },
    /// What is stored about pruned events was changed.
    MarksChanged { tile: String },
    /// The stored size or root of the tree is not that of its hashes.
    TreeChanged,
    /// A checkpoint is not signed with the key.
    NotSigned { checkpoint: u64 },
}

impl std::fmt::Display for Finding {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Changed { number, id } => write!(f, "event {number} ({id}) was changed"),
            Self::Removed { first, last } if first == last => {
                write!(f, "event {first} was removed")
            }
            Self::Removed { first, last } => write!(f, "events {first} to {last} were removed"),
            Self::Reordered { number, id, belongs_at } => {
                write!(f, "event {belongs_at} ({id}) was moved to the place of event {number}")
            }
            Self::Inserted { id } => {
                write!(f, "event {id} was inserted: this installation has not logged it")
            }
            Self::CutOff { first, last } => write!(
                f,
                "events {first} to {last} are missing, which a checkpoint has: they were cut off, or the database was rolled back \
                 to an older backup"
            ),
            Self::NotContinued { after: 0, checkpoint } => write!(
                f,
                "the trail does not continue the checkpoint of {checkpoint} events: it was rewritten, or the database was rolled \
                 back to an older backup"
            ),
            Self::NotContinued { after, checkpoint } => write!(
                f,
                "the trail does not continue the checkpoint of {checkpoint} events: something between event {after} and event \
                 {} was rewritten, or the database was rolled back to an older backup",
                checkpoint - 1
            ),
            Self::HashesChanged { tile } => {
                write!(f, "the stored hashes {tile} of the tree were changed")
            }
            Self::Erased { id } => write!(
                f,
                "the address, the device and the names in event {id} were erased, although its user was not deleted"
            ),
            Self::MarksChanged { tile } => {
                write!(f, "what is stored about pruned events in {tile} of the tree was changed")
            }
            Self::TreeChanged => write!(f, "the stored size or root of the tree was changed"),
            Self::NotSigned { checkpoint } => write!(
                f,
                "the checkpoint of {checkpoint} events is not signed with this key: it was changed, or belongs to another installation"
            ),
        }
    }
}

/// The result of a verification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AuditReport")]
pub struct Report {
    /// How many events the tree has.
    pub size: u64,
    /// How many of them are stored. The others have reached the end of their retention, or were removed.
    pub stored: u64,
    /// How many events have no place in the tree yet.
    pub waiting: u64,
    /// How many events were marked with a secret that is lost. Only checkpoints of then tell whether they were changed.
    #[serde(default)]
    pub marked_before: u64,
    /// How many checkpoints the trail was compared with.
    pub checkpoints: usize,
    pub findings: Vec<Finding>,
    /// How many further findings there are.
    pub more: u64,
}

/// The state of a tree, as it is stored.
#[derive(Clone, Debug, Default)]
pub struct TreeRow {
    pub size: u64,
    /// `None` if it is not a hash.
    pub root: Option<Hash>,
    /// The latest checkpoint.
    pub checkpoint: Option<String>,
}

/// A verification that is under way.
pub struct Verification<'a> {
    key: &'a AuditKey,
    /// The stored size of the tree, or what its tiles allow if they are fewer.
    size: u64,
    /// The stored root of the tree.
    root: Option<Hash>,
    /// The checkpoints to compare with, by size.
    checkpoints: BTreeMap<u64, Vec<Checkpoint>>,
    report: Report,
    /// The number of the next event.
    next: u64,
    /// The hashes of the tile that is being read.
    tile: Vec<Hash>,
    /// The root of the stored hashes.
    root_of_tiles: RootBuilder,
    /// The root of the rows. Where an event is not stored, it has the stored hash.
    root_of_rows: RootBuilder,
    /// Places without an event, as ranges.
    missing: Vec<(u64, u64)>,
    /// Rows that are not what the tree has in their places.
    mismatches: Vec<Mismatch>,
    /// The places whose hash no row has.
    unmatched: HashMap<Hash, u64>,
    /// Users of whom an event was erased, with one such event.
    erased: BTreeMap<String, String>,
    /// Users who were deleted.
    deleted: HashSet<String>,
    /// The size of the largest checkpoint that the stored hashes agree with.
    agreed: u64,
    /// The sizes of the others, each with whether the rows agree.
    disagreed: Vec<(u64, bool)>,
    /// The hashes of full tiles, by level. The tiles above must have them.
    above: Vec<Vec<Hash>>,
    tiles_seen: BTreeMap<TileId, bool>,
}

struct Mismatch {
    number: u64,
    id: String,
    leaf: Hash,
    is_authentic: bool,
}

impl<'a> Verification<'a> {
    /// For a tree, and checkpoints that must be signed with `public`. The checkpoint that is stored with the tree is signed with the
    /// key of the installation.
    pub fn new(
        key: &'a AuditKey,
        public: &VerifierKey,
        tree: Option<TreeRow>,
        checkpoints: &[SignedCheckpoint],
    ) -> Self {
        let has_tree = tree.is_some();
        let TreeRow { size, root, checkpoint } = tree.unwrap_or_default();
        let mut report = Report {
            size,
            stored: 0,
            waiting: 0,
            marked_before: 0,
            checkpoints: checkpoints.len(),
            findings: Vec::new(),
            more: 0,
        };
        let mut by_size = BTreeMap::<_, Vec<_>>::new();
        let mut add = |signed: &SignedCheckpoint, public: &VerifierKey| {
            let checkpoint = signed.checkpoint.clone();
            if checkpoint.origin == public.name && signed.is_signed_by(public) {
                by_size.entry(checkpoint.size).or_default().push(checkpoint);
            } else {
                report.add(Finding::NotSigned { checkpoint: checkpoint.size });
            }
        };
        checkpoints.iter().for_each(|signed| add(signed, public));
        match checkpoint.as_deref().map(SignedCheckpoint::parse) {
            Some(Ok(signed)) => add(&signed, &key.public()),
            Some(Err(_)) => report.add(Finding::TreeChanged),
            None => {}
        }
        if has_tree && root.is_none() {
            report.add(Finding::TreeChanged);
        }
        Self {
            key,
            size,
            root,
            checkpoints: by_size,
            report,
            next: 0,
            tile: Vec::new(),
            root_of_tiles: RootBuilder::default(),
            root_of_rows: RootBuilder::default(),
            missing: Vec::new(),
            mismatches: Vec::new(),
            unmatched: HashMap::new(),
            erased: BTreeMap::new(),
            deleted: HashSet::new(),
            agreed: 0,
            disagreed: Vec::new(),
            above: Vec::new(),
            tiles_seen: BTreeMap::new(),
        }
    }

    /// The secret that marks events was lost: this row, which was marked with the one of now, says from which number on it counts.
    pub fn begin_at(&mut self, row: &Row) {
        if row.entry.kind == EventName::AuditSecretReplaced.as_str() && row.is_authentic(self.key) {
            let before = row.entry.record().and_then(|record| record.number("before"));
            self.report.marked_before = self.report.marked_before.max(before.unwrap_or(0));
        }
    }

    /// Compares the size of the tree with the tiles that are stored. If the tree had many more of them, it would not be read to its
    /// end. It then has those that follow each other, and the last of them is returned for [`Self::end_with`].
    pub fn begin(&mut self, paths: &[String]) -> Option<TileId> {
        self.compare_with_checkpoints();
        let width = TILE_WIDTH as u64;
        let stored: BTreeSet<_> = paths.iter().filter_map(|path| TileId::parse(path)).collect();
        let count = self.size.div_ceil(width);
        let first = |index| TileId { level: 0, index };
        let present = stored.range(first(0)..first(count)).count() as u64;
        if count - present <= MAX_MISSING_TILES {
            return None;
        }
        self.report.add(Finding::TreeChanged);
        let following = (0..).take_while(|index| stored.contains(&first(*index))).count() as u64;
        self.size = following * width;
        following.checked_sub(1).map(first)
    }

    /// Ends the tree with the hashes of its last tile.
    pub fn end_with(&mut self, last: TileId, stored: Option<&[u8]>) {
        let hashes = stored.map_or(0, |stored| stored.len() / size_of::<Hash>()).min(TILE_WIDTH);
        self.size = last.index * TILE_WIDTH as u64 + hashes as u64;
    }

    /// The tile with the hashes of the next events, if the tree has more events.
    pub fn next_tile(&self) -> Option<TileId> {
        let index = self.next / TILE_WIDTH as u64;
        (self.next < self.size).then_some(TileId { level: 0, index })
    }

    /// Compares the rows of a tile, in the order of their numbers, with its stored hashes.
    pub fn add_tile(&mut self, id: TileId, stored: &StoredTile, rows: &[Row]) {
        let expected = (self.size - self.next).min(TILE_WIDTH as u64) as usize;
        let (hashes, rest) = stored.hashes.as_chunks::<32>();
        let pruned = PrunedMarks::read(id, stored.pruned.as_deref(), self.key);
        let pruned = pruned.unwrap_or_else(|| {
            self.report.add(Finding::MarksChanged { tile: id.path() });
            PrunedMarks::NONE
        });
        let is_whole = rest.is_empty() && hashes.len() == expected;
        self.tiles_seen.insert(id, is_whole);
        self.tile = hashes.to_vec();
        let end = self.next + expected as u64;
        let is_here =
            |row: &&Row| row.number.is_some_and(|number| (self.next..end).contains(&number));
        let (rows, others): (Vec<_>, Vec<_>) = rows.iter().partition(is_here);
        let mut rows = rows.into_iter().peekable();
        for offset in 0..expected {
            let number = self.next;
            let mut here = Vec::new();
            while let Some(row) = rows.next_if(|row| row.number == Some(number)) {
                here.push(row);
            }
            self.add_place(number, hashes.get(offset), &here, pruned.contains(number));
            self.next += 1;
            self.compare_with_checkpoints();
        }
        rows.chain(others).for_each(|row| self.add_other_row(row));
        self.add_full_tile(id);
    }

    /// Compares what is stored for one number.
    fn add_place(&mut self, number: u64, hash: Option<&Hash>, rows: &[&Row], is_pruned: bool) {
        let matching = rows.iter().find(|row| Some(&row.leaf()) == hash);
        if let Some(row) = matching {
            self.report.stored += 1;
            if self.is_authentic(row) {
                self.note_erasure(&row.entry);
            } else {
                self.report.add(Finding::Changed { number, id: row.id() });
            }
        }
        let chosen = matching.or(rows.first());
        for row in rows {
            if matching.is_some_and(|matching| matching.entry.id == row.entry.id) {
                continue;
            }
            let is_chosen = chosen.is_some_and(|chosen| chosen.entry.id == row.entry.id);
            let is_authentic = self.is_authentic(row);
            if !is_chosen && !is_authentic {
                self.report.add(Finding::Inserted { id: row.id() });
            } else if self.mismatches.len() < MAX_FINDINGS {
                let (id, leaf) = (row.id(), row.leaf());
                self.mismatches.push(Mismatch { number, id, leaf, is_authentic });
            } else {
                self.report.more += 1;
            }
        }
        if rows.is_empty() && !is_pruned {
            match self.missing.last_mut() {
                Some((_, last)) if *last + 1 == number => *last = number,
                _ => self.missing.push((number, number)),
            }
        }
        if let (None, Some(hash)) = (matching, hash)
            && self.unmatched.len() < MAX_FINDINGS
        {
            self.unmatched.insert(*hash, number);
        }
        let of_tile = hash.copied().unwrap_or_default();
        self.root_of_tiles.push(of_tile);
        self.root_of_rows.push(chosen.map_or(of_tile, |row| row.leaf()));
    }

    fn is_authentic(&self, row: &Row) -> bool {
        let is_of_before = row.number.is_some_and(|number| number < self.report.marked_before);
        if is_of_before { row.entry.is_consistent() } else { row.is_authentic(self.key) }
    }

    /// Takes note of who was deleted, and of whom something was erased.
    fn note_erasure(&mut self, entry: &Entry) {
        if matches!(
            EventName::parse(&entry.kind),
            Some(EventName::UserDeleted | EventName::UnverifiedUserDeleted)
        ) {
            self.deleted.extend(entry.subject.clone());
        }
        if entry.commitment.is_some() {
            match entry.person() {
                Some(person) => drop(self.erased.insert(person, entry.id.clone())),
                None => self.report.add(Finding::Erased { id: entry.id.clone() }),
            }
        }
    }

    fn compare_with_checkpoints(&mut self) {
        for checkpoint in self.checkpoints.get(&self.next).into_iter().flatten() {
            if self.root_of_tiles.root() == checkpoint.root {
                self.agreed = self.agreed.max(self.next);
            } else {
                let rows_agree = self.root_of_rows.root() == checkpoint.root;
                self.disagreed.push((self.next, rows_agree));
            }
        }
    }

    /// Adds the hash of a full tile to the level above.
    fn add_full_tile(&mut self, id: TileId) {
        let width = TILE_WIDTH as u64;
        if self.next != (id.index + 1) * width {
            return;
        }
        let mut hash = RootBuilder::root_of(&self.tile);
        for level in 0.. {
            if self.above.len() == level {
                self.above.push(Vec::new());
            }
            self.above[level].push(hash);
            if !self.above[level].len().is_multiple_of(TILE_WIDTH) {
                return;
            }
            let full = &self.above[level][self.above[level].len() - TILE_WIDTH..];
            hash = RootBuilder::root_of(full);
        }
    }

    /// The tiles above those with the hashes of events.
    pub fn upper_tiles(&self) -> Vec<TileId> {
        all_tiles(self.size).map(|(id, _)| id).filter(|id| id.level > 0).collect()
    }

    /// Compares a tile with the hashes of those below it.
    pub fn add_upper_tile(&mut self, id: TileId, stored: Option<&[u8]>) {
        let begin = id.index as usize * TILE_WIDTH;
        let level = self.above.get(id.level as usize - 1).map_or(&[][..], Vec::as_slice);
        let expected = &level[begin.min(level.len())..(begin + TILE_WIDTH).min(level.len())];
        let is_whole = stored == Some(expected.concat().as_slice());
        self.tiles_seen.insert(id, is_whole);
    }

    /// A tile that is stored.
    pub fn add_path(&mut self, path: &str) {
        let is_known = TileId::parse(path).is_some_and(|id| self.tiles_seen.contains_key(&id));
        if !is_known {
            self.report.add(Finding::HashesChanged { tile: path.to_owned() });
        }
    }

    /// A row whose number the tree does not have, or that has none yet.
    pub fn add_other_row(&mut self, row: &Row) {
        match row.number {
            None => {
                self.report.waiting += 1;
                if self.is_authentic(row) {
                    self.note_erasure(&row.entry);
                    return;
                }
                self.report.add(Finding::Inserted { id: row.id() });
            }
            Some(number) => {
                let (id, leaf, is_authentic) = (row.id(), row.leaf(), self.is_authentic(row));
                self.mismatches.push(Mismatch { number, id, leaf, is_authentic });
            }
        }
    }

    pub fn finish(mut self) -> Report {
        let changed: Vec<_> =
            self.tiles_seen.iter().filter(|(_, is_whole)| !**is_whole).map(|(id, _)| *id).collect();
        for id in changed {
            self.report.add(Finding::HashesChanged { tile: id.path() });
        }
        if self.root.is_some_and(|root| root != self.root_of_tiles.root()) {
            if self.root == Some(self.root_of_rows.root()) {
                self.disagreed.push((self.size, true));
            } else {
                self.report.add(Finding::TreeChanged);
            }
        }
        for (person, id) in std::mem::take(&mut self.erased) {
            if !self.deleted.contains(&person) {
                self.report.add(Finding::Erased { id });
            }
        }
        for Mismatch { number, id, leaf, is_authentic } in std::mem::take(&mut self.mismatches) {
            self.report.stored += 1;
            let finding = match self.unmatched.get(&leaf) {
                Some(belongs_at) => Finding::Reordered { number, id, belongs_at: *belongs_at },
                // The tree had more events.
                None if number >= self.size && is_authentic => Finding::TreeChanged,
                None if number >= self.size => Finding::Inserted { id },
                // The row is genuine, and a checkpoint has it in this place.
                None if is_authentic && self.rows_agree_beyond(number) => {
                    Finding::HashesChanged { tile: tile_of(number).path() }
                }
                None => Finding::Changed { number, id },
            };
            self.report.add(finding);
        }
        self.add_removed();
        if let Some((checkpoint, _)) =
            self.disagreed.iter().find(|(_, rows_agree)| !rows_agree).copied()
        {
            let below = self.checkpoints.keys().filter(|size| **size < checkpoint);
            let disagreed = |size: &u64| self.disagreed.iter().any(|(other, _)| other == size);
            let after = below.filter(|size| !disagreed(size)).max().copied().unwrap_or(0);
            self.report.add(Finding::NotContinued { after, checkpoint });
        }
        if let Some((largest, _)) = self.checkpoints.last_key_value()
            && *largest > self.size
        {
            self.report.add(Finding::CutOff { first: self.size, last: largest - 1 });
        }
        self.report.findings.sort();
        self.report.findings.dedup();
        self.report
    }

    /// Adds the events that are stored nowhere. One that stands in the place of another is not removed, but that one is.
    fn add_removed(&mut self) {
        let (mut moved, mut replaced) = (BTreeSet::new(), BTreeSet::new());
        for finding in &self.report.findings {
            if let Finding::Reordered { number, belongs_at, .. } = finding {
                moved.insert(*belongs_at);
                replaced.insert(*number);
            }
        }
        for number in replaced.difference(&moved).filter(|number| **number < self.size) {
            self.missing.push((*number, *number));
        }
        for (first, last) in std::mem::take(&mut self.missing) {
            let mut begin = first;
            let found: Vec<_> = moved.range(begin..=last.max(begin)).copied().collect();
            for end in found.into_iter().chain([last + 1]) {
                if begin < end {
                    self.report.add(Finding::Removed { first: begin, last: end - 1 });
                }
                begin = begin.max(end + 1);
            }
        }
    }

    /// Whether the rows up to and including this number are those of a checkpoint that the stored hashes do not agree with.
    fn rows_agree_beyond(&self, number: u64) -> bool {
        self.disagreed.iter().any(|(size, rows_agree)| *size > number && *rows_agree)
    }
}

fn tile_of(number: u64) -> TileId {
    TileId { level: 0, index: number / TILE_WIDTH as u64 }
}

impl Report {
    fn add(&mut self, finding: Finding) {
        if self.findings.len() < MAX_FINDINGS {
            self.findings.push(finding);
        } else {
            self.more += 1;
        }
    }

    pub fn is_intact(&self) -> bool {
        self.findings.is_empty() && self.more == 0
    }
}
