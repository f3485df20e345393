//! Password hashes of other systems. They are stored as PHC strings, verified at login, and replaced by ours then. Their cost is
//! bounded, because a stored hash decides what a login costs.

mod bcrypt;
mod cost;
mod decoy;
mod fbscrypt;
mod input;
mod pbkdf2;
mod scrypt;

use base64::{
    Engine,
    alphabet::STANDARD,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};

pub(super) use self::decoy::{Decoy, slowest};
use self::{bcrypt::Bcrypt, fbscrypt::Fbscrypt, pbkdf2::Pbkdf2, scrypt::Scrypt};
pub use self::{
    cost::HashCost,
    input::{FirebaseKeys, HashOptions, ScryptCost},
};
use super::{
    Busy, Cost, Password, PasswordHash,
    backend::Backend,
    hash::{self, ParsedHash},
};

/// The most memory that verifying an imported hash may take: scrypt with N = 2^17 and r = 8.
const MAX_MEMORY_KIB: u64 = 128 << 10;
/// The most memory that a hashing thread keeps from hash to hash.
const MAX_KEPT_MEMORY_KIB: u64 = 33 << 10;
/// Base64 of PHC strings: no padding is written, any is read.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a hash cannot be imported. The text does not contain the hash.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HashFault {
    /// No format that Doorward reads.
    #[error("it has none of the formats that docs/import.md lists")]
    Unknown,
    /// A format that Doorward does not verify.
    #[error("{0} is not supported, because it protects a password too little")]
    Unsupported(&'static str),
    /// A part is missing or has the wrong form.
    #[error("it is not a valid {0} hash, perhaps because it is cut off")]
    Damaged(&'static str),
    /// Verifying it would take too long or too much memory.
    #[error("verifying it costs too much: {0}")]
    TooCostly(String),
    /// It cannot be verified without an option of the command.
    #[error("it needs {0}")]
    NeedsOption(&'static str),
}

/// A hash of another system.
pub(super) enum ForeignHash {
    /// Argon2 of any variant and cost.
    Argon2(ParsedHash),
    Bcrypt(Bcrypt),
    Fbscrypt(Fbscrypt),
    Pbkdf2(Pbkdf2),
    Scrypt(Scrypt),
}

impl ForeignHash {
    /// Reads a hash in the form in which it is stored.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.strip_prefix('$')?.split_once('$')?;
        Some(match scheme {
            "argon2i" | "argon2d" | "argon2id" => {
                Self::Argon2(ParsedHash::parse(&PasswordHash::from_store(text.to_owned()))?)
            }
            "2a" | "2b" | "2y" | "bcrypt-sha256" | "django-bcrypt-sha256" => {
                Self::Bcrypt(Bcrypt::parse(scheme, rest)?)
            }
            "fbscrypt" => Self::Fbscrypt(Fbscrypt::parse(rest)?),
            "pbkdf2-sha1" | "pbkdf2-sha256" | "pbkdf2-sha512" => {
                Self::Pbkdf2(Pbkdf2::parse(scheme, rest)?)
            }
            "scrypt" => Self::Scrypt(Scrypt::parse(rest)?),
            _ => return None,
        })
    }

    /// Whether this is the hash of the password.
    pub(super) fn matches(&self, password: &Password, backend: &mut Backend) -> Result<bool, Busy> {
        let password_bytes = password.0.as_bytes();
        match self {
            // The backend keeps its memory from hash to hash, so a large hash gets its own.
            Self::Argon2(hash) if hash.memory_kib() > MAX_KEPT_MEMORY_KIB => {
                hash.matches(password, &mut Backend::default())
            }
            Self::Argon2(hash) => hash.matches(password, backend),
            Self::Bcrypt(hash) => Ok(hash.matches(password_bytes)),
            Self::Fbscrypt(hash) => Ok(hash.matches(password_bytes)),
            Self::Pbkdf2(hash) => Ok(hash.matches(password_bytes)),
            Self::Scrypt(hash) => Ok(hash.matches(password_bytes)),
        }
    }

    /// Refuses a hash that would make logins too slow or take too much memory. `own` is the cost of our hashes, which is
    /// always allowed.
    fn check_cost(&self, own: Cost) -> Result<(), HashFault> {
        if let Self::Argon2(hash) = self
            && own.params().is_ok_and(|params| hash.has_cost(&params))
        {
            return Ok(());
        }
        if self.memory_kib() > MAX_MEMORY_KIB {
            let (takes, most) = (self.memory_kib() >> 10, MAX_MEMORY_KIB >> 10);
            return Err(HashFault::TooCostly(format!(
                "it takes {takes} MiB, at most {most} MiB are allowed"
            )));
        }
        match self {
            Self::Argon2(hash) => {
                within("memory in KiB times passes", hash.memory_passes(), 1 << 20)
            }
            Self::Bcrypt(hash) => within("cost", hash.cost.into(), Bcrypt::MAX_COST.into()),
            Self::Fbscrypt(hash) => hash.scrypt.check_work(),
            Self::Pbkdf2(hash) => within("iterations", hash.rounds(), Pbkdf2::MAX_ROUNDS),
            Self::Scrypt(hash) => hash.check_work(),
        }
    }

    fn memory_kib(&self) -> u64 {
        match self {
            Self::Argon2(hash) => hash.memory_kib(),
            Self::Bcrypt(_) | Self::Pbkdf2(_) => 4,
            Self::Fbscrypt(hash) => hash.scrypt.memory_kib(),
            Self::Scrypt(hash) => hash.memory_kib(),
        }
    }

    /// Roughly how many microseconds it takes. Exact enough to find the slowest of one scheme.
    fn estimated_micros(&self) -> u64 {
        match self {
            Self::Argon2(hash) => hash.memory_passes() / 2,
            Self::Bcrypt(hash) => 85 << hash.cost,
            Self::Fbscrypt(hash) => hash.scrypt.work() * 2 / 5,
            Self::Pbkdf2(hash) => hash.rounds() / 2,
            Self::Scrypt(hash) => hash.work() * 2 / 5,
        }
    }
}

fn within(what: &str, value: u64, most: u64) -> Result<(), HashFault> {
    if value <= most {
        return Ok(());
    }
    Err(HashFault::TooCostly(format!("{what}: {value}, at most {most} is allowed")))
}

impl PasswordHash {
    /// Reads a hash in the form of another system and converts it to the form in which it is stored.
    ///
    /// # Errors
    /// If the form is unknown, the hash is damaged, or verifying it would cost too much.
    pub fn import(text: &str, options: &HashOptions) -> Result<Self, HashFault> {
        let stored = input::to_stored(text, options)?;
        let foreign = ForeignHash::parse(&stored).ok_or(HashFault::Unknown)?;
        foreign.check_cost(options.own_cost)?;
        Ok(Self::from_store(stored))
    }

    /// The scheme and cost of a hash in the form in which it is stored, unless a login keeps it because it has the cost of ours.
    pub fn foreign_scheme(stored: &str, own: Cost) -> Option<String> {
        let hash = Self::from_store(stored.to_owned());
        let is_own = ParsedHash::parse(&hash)
            .is_some_and(|hash| own.params().is_ok_and(|params| hash.has_cost(&params)));
        hash.foreign_prefix().filter(|_| !is_own).map(str::to_owned)
    }

    /// The scheme and cost of a hash that is not ours with the default cost: its text up to the salt.
    pub(crate) fn foreign_prefix(&self) -> Option<&str> {
        let text = self.as_phc();
        let end = match text.strip_prefix('$')?.split('$').next()? {
            scheme if scheme.starts_with("argon2") => nth_dollar(text, 4)?,
            _ => nth_dollar(text, 3)?,
        };
        let prefix = &text[..end];
        (prefix != hash::DEFAULT_PREFIX).then_some(prefix)
    }
}

/// The position after the nth dollar sign.
fn nth_dollar(text: &str, n: usize) -> Option<usize> {
    text.match_indices('$').nth(n - 1).map(|(position, _)| position + 1)
}

/// The value of a parameter, such as `8` of `r` in `ln=14,r=8,p=1`.
fn parameter<'a>(parameters: &'a str, name: &str) -> Option<&'a str> {
    parameters.split(',').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn number<T: std::str::FromStr>(parameters: &str, name: &str) -> Option<T> {
    parameter(parameters, name)?.parse().ok()
}

/// Decodes Base64 of at most as many bytes as a salt, key or output has.
fn decode(text: &str) -> Option<Vec<u8>> {
    BASE64.decode(text).ok().filter(|bytes| bytes.len() <= 512)
}

fn encode(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

#[cfg(test)]
mod tests;
