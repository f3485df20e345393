//! Argon2 as it is computed: by the fastest code that the CPU can run, in memory that is kept from one hash to the next.

use argon2::{Algorithm, Params, Version};
use argon2_rust::{
    Argon2, Error, Hasher,
    params::{Memory, TagLen},
};

/// Which Argon2, and at what cost.
#[derive(Clone)]
pub(super) struct Recipe {
    pub(super) algorithm: Algorithm,
    pub(super) version: Version,
    pub(super) params: Params,
}

impl Recipe {
    /// What new passwords are hashed with.
    pub(super) fn argon2id(params: Params) -> Self {
        Self { algorithm: Algorithm::Argon2id, version: Version::V0x13, params }
    }

    fn read(&self, output: &[u8]) -> Result<Argon2, Error> {
        let params = argon2_rust::Params::builder()
            .memory(Memory::kib(self.params.m_cost().into()))
            .passes(self.params.t_cost())
            .lanes(self.params.p_cost())
            .tag_len(TagLen::bytes(output.len() as u64))
            .build()?;
        let algorithm = match self.algorithm {
            Algorithm::Argon2d => argon2_rust::Algorithm::Argon2d,
            Algorithm::Argon2i => argon2_rust::Algorithm::Argon2i,
            Algorithm::Argon2id => argon2_rust::Algorithm::Argon2id,
        };
        let version = match self.version {
            Version::V0x10 => argon2_rust::Version::V0x10,
            Version::V0x13 => argon2_rust::Version::V0x13,
        };
        Ok(Argon2::new(algorithm, version, params))
    }
}

/// Why there is no hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoHash {
    /// The system has no memory for it at present.
    NoMemory,
    /// Argon2 does not allow the recipe or one of the lengths.
    NotAllowed,
}

impl From<Error> for NoHash {
    fn from(error: Error) -> Self {
        match error {
            Error::MemoryAllocationError => Self::NoMemory,
            _ => Self::NotAllowed,
        }
    }
}

/// Computes one hash after the other. Holds no memory before the first: fresh pages cost a fifth of a hash.
#[derive(Default)]
pub(super) struct Kernel(Option<Hasher>);

impl Kernel {
    /// Fills `output` with the hash of a password.
    pub(super) fn hash(
        &mut self,
        recipe: &Recipe,
        password: &[u8],
        salt: &[u8],
        output: &mut [u8],
    ) -> Result<(), NoHash> {
        let argon2 = recipe.read(output)?;
        let hasher = self.0.get_or_insert_with(|| argon2.hasher());
        hasher.set_argon2(argon2);
        Ok(hasher.hash_into(password, salt, output)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_another_implementation() {
        let mut kernel = Kernel::default();
        for algorithm in [Algorithm::Argon2id, Algorithm::Argon2i, Algorithm::Argon2d] {
            for version in [Version::V0x10, Version::V0x13] {
                for (memory, passes, lanes, salt, length) in [
                    (19_456, 2, 1, 16, 32),
                    (8, 1, 1, 8, 4),
                    (9, 3, 1, 9, 64),
                    (100, 1, 3, 48, 65),
                    (1024, 4, 4, 16, 128),
                    (4099, 1, 1, 16, 32),
                ] {
                    let params = Params::new(memory, passes, lanes, None).unwrap();
                    let recipe = Recipe { algorithm, version, params: params.clone() };
                    let salt = vec![7; salt];
                    for password in [&b""[..], b"correct horse", &[0xff; 300]] {
                        let (mut ours, mut theirs) = (vec![0; length], vec![0; length]);
                        kernel.hash(&recipe, password, &salt, &mut ours).unwrap();
                        argon2::Argon2::new(algorithm, version, params.clone())
                            .hash_password_into(password, &salt, &mut theirs)
                            .unwrap();
                        assert_eq!(ours, theirs, "{algorithm} {version:?} {params:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn hashes_are_those_of_rfc_9106_as_others_compute_them() {
        // From the tests of the reference implementation: argon2id, version 19, 64 MiB, 2 passes.
        let recipe = Recipe::argon2id(Params::new(65_536, 2, 1, None).unwrap());
        let mut output = [0; 32];
        Kernel::default().hash(&recipe, b"password", b"somesalt", &mut output).unwrap();
        let text: String = output.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(text, "09316115d5cf24ed5a15a31a3ba326e5cf32edc24702987c02b6566f61913cf7");
    }
}
