//! Computes, parses and compares password hashes, which are PHC strings.

use std::fmt;

use argon2::{
    Algorithm, Params, Version,
    password_hash::phc::{Output, ParamsString, PasswordHash as Phc, Salt},
};
use aws_lc_rs::constant_time::verify_slices_are_equal;

use super::{
    Busy, Password,
    backend::{Backend, HashError, HashSpec},
};
use crate::random::random_bytes;

/// A stored hash with a higher memory cost counts as damaged.
const MAX_MEMORY_KIB: u32 = 1 << 20;

/// What our hashes with the default cost begin with.
pub(super) const DEFAULT_PREFIX: &str = "$argon2id$v=19$m=19456,t=2,p=1$";

/// A password hash as a PHC string, of our own or of another system.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    pub fn from_store(stored: String) -> Self {
        Self(stored)
    }

    /// The PHC string, only for the store.
    pub fn as_phc(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PasswordHash(…)")
    }
}

/// What one hash costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    pub memory_kib: u32,
    /// Passes over that memory.
    pub passes: u32,
}

impl Default for Cost {
    /// As OWASP recommends for Argon2id.
    fn default() -> Self {
        Self { memory_kib: 19_456, passes: 2 }
    }
}

impl Cost {
    pub(super) const HASH_BYTES: usize = 32;

    pub(super) fn params(self) -> Result<Params, argon2::Error> {
        Params::new(self.memory_kib, self.passes, 1, Some(Self::HASH_BYTES))
    }
}

/// The parts of a stored hash.
pub(super) struct ParsedHash {
    spec: HashSpec,
    salt: Salt,
    output: Output,
}

impl ParsedHash {
    pub(super) fn parse(stored: &PasswordHash) -> Option<Self> {
        let phc = Phc::new(&stored.0).ok()?;
        let algorithm = Algorithm::try_from(phc.algorithm.as_str()).ok()?;
        let version = Version::try_from(phc.version?).ok()?;
        let params = Params::try_from(&phc).ok()?;
        if params.m_cost() > MAX_MEMORY_KIB {
            return None;
        }
        let spec = HashSpec { algorithm, version, params };
        Some(Self { spec, salt: phc.salt?, output: phc.hash? })
    }

    pub(super) fn matches(&self, password: &Password, backend: &mut Backend) -> Result<bool, Busy> {
        let mut computed = vec![0; self.output.len()];
        match backend.hash(&self.spec, password.0.as_bytes(), &self.salt, &mut computed) {
            Ok(()) => Ok(verify_slices_are_equal(&computed, self.output.as_bytes()).is_ok()),
            Err(HashError::Rejected) => Ok(false),
            Err(HashError::OutOfMemory) => Err(Busy),
        }
    }

    /// Whether it is a hash as we make it, with this cost.
    pub(super) fn has_cost(&self, params: &Params) -> bool {
        let HashSpec { algorithm, version, params: own } = &self.spec;
        (own.m_cost(), own.t_cost(), own.p_cost())
            == (params.m_cost(), params.t_cost(), params.p_cost())
            && (*algorithm, *version) == (Algorithm::Argon2id, Version::V0x13)
            && self.output.len() == Cost::HASH_BYTES
    }

    pub(super) fn memory_kib(&self) -> u64 {
        self.spec.params.m_cost().into()
    }

    /// Memory in KiB times the passes over it, which determines the time.
    pub(super) fn memory_passes(&self) -> u64 {
        self.memory_kib() * u64::from(self.spec.params.t_cost())
    }
}

pub(super) fn hash(
    password: &Password,
    params: &Params,
    backend: &mut Backend,
) -> Result<PasswordHash, Busy> {
    let salt = Salt::generate();
    let mut output = [0; Cost::HASH_BYTES];
    let spec = HashSpec::argon2id(params.clone());
    // The hasher has checked the cost and no password is 4 GiB long, so the only possible error is a lack of memory.
    backend.hash(&spec, password.0.as_bytes(), &salt, &mut output).map_err(|_| Busy)?;
    Ok(phc(params, salt, &output))
}

/// A hash that no password matches. Verifying against it costs as much as against any other.
pub(super) fn dummy(params: &Params) -> PasswordHash {
    phc(params, Salt::generate(), &random_bytes())
}

fn phc(params: &Params, salt: Salt, output: &[u8; Cost::HASH_BYTES]) -> PasswordHash {
    let phc = Phc {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: ParamsString::try_from(params).expect("numbers fit a PHC string"),
        salt: Some(salt),
        hash: Some(Output::new(output).expect("32 bytes are a valid output")),
    };
    PasswordHash(phc.to_string())
}
