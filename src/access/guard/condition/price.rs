//! The cost of each operation in instructions, rounded up from measurements.

/// Starting an evaluation: once for the condition, and once for each iteration of a loop.
pub(super) const START: u64 = 400;
pub(super) const VARIABLE: u64 = 300;
/// For each loop scope that a variable lookup passes.
pub(super) const SCOPE: u64 = 60;
pub(super) const FIELD: u64 = 900;
pub(super) const OPERATOR: u64 = 300;
pub(super) const ORDER: u64 = 1_600;
pub(super) const NOT: u64 = 1_200;
pub(super) const CALL: u64 = 2_200;
pub(super) const LIST: u64 = 600;
pub(super) const ENTRY: u64 = 800;
pub(super) const COPY: u64 = 700;
pub(super) const COMPARE: u64 = 60;
/// Parsing or formatting a time or a number.
pub(super) const CONVERSION: u64 = 6_000;
pub(super) const PIECE: u64 = 1_300;
