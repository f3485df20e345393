//! The crate argon2-rust: AVX-512, AVX2, SSE or NEON, chosen when it runs.

use argon2::{Algorithm, Version};
use argon2_rust::{
    Argon2, Error, Hasher,
    params::{Memory as MemoryCost, TagLen},
};

use super::{NoHash, Recipe};

/// Memory of one hash after the other.
#[derive(Default)]
pub(super) struct Memory(Option<Hasher>);

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
        let argon2 = read(recipe, output)?;
        let hasher = self.0.get_or_insert_with(|| argon2.hasher());
        hasher.set_argon2(argon2);
        Ok(hasher.hash_into(password, salt, output)?)
    }
}

fn read(recipe: &Recipe, output: &[u8]) -> Result<Argon2, Error> {
    let params = argon2_rust::Params::builder()
        .memory(MemoryCost::kib(recipe.params.m_cost().into()))
        .passes(recipe.params.t_cost())
        .lanes(recipe.params.p_cost())
        .tag_len(TagLen::bytes(output.len() as u64))
        .build()?;
    let algorithm = match recipe.algorithm {
        Algorithm::Argon2d => argon2_rust::Algorithm::Argon2d,
        Algorithm::Argon2i => argon2_rust::Algorithm::Argon2i,
        Algorithm::Argon2id => argon2_rust::Algorithm::Argon2id,
    };
    let version = match recipe.version {
        Version::V0x10 => argon2_rust::Version::V0x10,
        Version::V0x13 => argon2_rust::Version::V0x13,
    };
    Ok(Argon2::new(algorithm, version, params))
}

impl From<Error> for NoHash {
    fn from(error: Error) -> Self {
        match error {
            Error::MemoryAllocationError => Self::NoMemory,
            _ => Self::NotAllowed,
        }
    }
}
