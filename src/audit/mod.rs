//! The audit trail as something that can be proved: what is recorded of an event, the tree over all records, its signed checkpoints,
//! proofs, and what a verification finds. It knows no database.

mod checkpoint;
mod ocsf;
mod proof;
mod record;
pub mod tree;
mod verification;
mod witness;

pub use self::{
    checkpoint::{AuditKey, Signature, SignedCheckpoint, VerifierKey, parse_signatures},
    ocsf::to_ocsf,
    proof::Proof,
    record::{Outcome, Record, RecordedActor},
    tree::{Hash, TILE_WIDTH, TileId, Tiles, growing_tiles, leaf_hash},
    verification::{Report, Row, TreeRow, Verification},
    witness::AddCheckpoint,
};
