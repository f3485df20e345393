//! The crate argon2 of RustCrypto: slower and with less `unsafe`.

use argon2::{Argon2, Block};

use super::{NoHash, Recipe};

/// Memory of one hash after the other.
#[derive(Default)]
pub(super) struct Memory(Vec<Block>);

impl Memory {
    /// Never inlined, so that every hash uses the same places on the stack.
    #[inline(never)]
    pub(super) fn hash(
        &mut self,
        recipe: &Recipe,
        password: &[u8],
        salt: &[u8],
        output: &mut [u8],
    ) -> Result<(), NoHash> {
        let blocks = recipe.params.block_count();
        let missing = blocks.saturating_sub(self.0.len());
        self.0.try_reserve_exact(missing).map_err(|_| NoHash::NoMemory)?;
        self.0.resize(self.0.len() + missing, Block::default());
        let Recipe { algorithm, version, params } = recipe;
        Argon2::new(*algorithm, *version, params.clone())
            .hash_password_into_with_memory(password, salt, output, &mut self.0[..blocks])
            .map_err(|_| NoHash::NotAllowed)
    }
}
