//! The crate `argon2` of RustCrypto: slower, with less `unsafe`.

use argon2::{Argon2, Block};

use super::{HashError, HashSpec};

/// Memory that is reused from hash to hash.
#[derive(Default)]
pub(super) struct Memory(Vec<Block>);

impl Memory {
    /// Never inlined, so that every hash uses the same stack addresses.
    #[inline(never)]
    pub(super) fn hash(
        &mut self,
        spec: &HashSpec,
        password: &[u8],
        salt: &[u8],
        output: &mut [u8],
    ) -> Result<(), HashError> {
        let blocks = spec.params.block_count();
        let missing = blocks.saturating_sub(self.0.len());
        self.0.try_reserve_exact(missing).map_err(|_| HashError::OutOfMemory)?;
        self.0.resize(self.0.len() + missing, Block::default());
        let HashSpec { algorithm, version, params } = spec;
        Argon2::new(*algorithm, *version, params.clone())
            .hash_password_into_with_memory(password, salt, output, &mut self.0[..blocks])
            .map_err(|_| HashError::Rejected)
    }
}
