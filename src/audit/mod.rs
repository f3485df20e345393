//! The audit trail as something that can be proved: what is recorded of an event, the tree over all records, its signed checkpoints,
//! proofs, and what a verification finds. It knows no database.

mod checkpoint;
mod entry;
mod ocsf;
mod proof;
mod pruned;
mod record;
pub mod tree;
mod verification;
mod witness;

pub use self::{
    checkpoint::{AuditKey, Signature, SignedCheckpoint, VerifierKey, parse_signatures},
    entry::Entry,
    ocsf::to_ocsf,
    proof::Proof,
    pruned::PrunedMarks,
    record::{Record, RecordedActor},
    tree::{Hash, TILE_WIDTH, TileId, Tiles, growing_tiles},
    verification::{Report, Row, StoredTile, TreeRow, Verification},
    witness::AddCheckpoint,
};
