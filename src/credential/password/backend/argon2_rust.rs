//! The crate `argon2-rust`: AVX-512, AVX2, SSE or NEON, selected at run time.

use argon2::{Algorithm, Version};
use argon2_rust::{
    Argon2, Error, Hasher,
    params::{Memory as MemoryCost, TagLen},
};

use super::{HashError, HashSpec};

/// Memory that is reused from hash to hash.
#[derive(Default)]
pub(super) struct Memory(Option<Hasher>);

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
        let argon2 = to_argon2(spec, output)?;
        let hasher = self.0.get_or_insert_with(|| argon2.hasher());
        hasher.set_argon2(argon2);
        Ok(hasher.hash_into(password, salt, output)?)
    }
}

fn to_argon2(spec: &HashSpec, output: &[u8]) -> Result<Argon2, Error> {
    let params = argon2_rust::Params::builder()
        .memory(MemoryCost::kib(spec.params.m_cost().into()))
        .passes(spec.params.t_cost())
        .lanes(spec.params.p_cost())
        .tag_len(TagLen::bytes(output.len() as u64))
        .build()?;
    let algorithm = match spec.algorithm {
        Algorithm::Argon2d => argon2_rust::Algorithm::Argon2d,
        Algorithm::Argon2i => argon2_rust::Algorithm::Argon2i,
        Algorithm::Argon2id => argon2_rust::Algorithm::Argon2id,
    };
    let version = match spec.version {
        Version::V0x10 => argon2_rust::Version::V0x10,
        Version::V0x13 => argon2_rust::Version::V0x13,
    };
    Ok(Argon2::new(algorithm, version, params))
}

impl From<Error> for HashError {
    fn from(error: Error) -> Self {
        match error {
            Error::MemoryAllocationError => Self::OutOfMemory,
            _ => Self::Rejected,
        }
    }
}
