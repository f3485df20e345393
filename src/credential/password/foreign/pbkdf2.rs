//! PBKDF2 with HMAC-SHA-1, -SHA-256 and -SHA-512.

use std::num::NonZeroU32;

use aws_lc_rs::pbkdf2::{self, PBKDF2_HMAC_SHA1, PBKDF2_HMAC_SHA256, PBKDF2_HMAC_SHA512};

use super::{decode, encode, number, parameter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

impl Digest {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "sha1" => Some(Self::Sha1),
            "sha256" => Some(Self::Sha256),
            "sha512" => Some(Self::Sha512),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }
}

pub(in crate::credential::password) struct Pbkdf2 {
    digest: Digest,
    iterations: NonZeroU32,
    salt: Vec<u8>,
    output: Vec<u8>,
}

impl Pbkdf2 {
    /// The most rounds. A second or less on current machines.
    pub(super) const MAX_ROUNDS: u64 = 2_000_000;

    /// Reads what follows the scheme: `i=600000,l=32$salt$hash`.
    pub(super) fn parse(scheme: &str, rest: &str) -> Option<Self> {
        let (parameters, value) = rest.split_once('$')?;
        let (salt, output) = value.split_once('$')?;
        let output = decode(output)?;
        let length = parameter(parameters, "l");
        if length.is_some_and(|length| length.parse() != Ok(output.len())) {
            return None;
        }
        let digest = Digest::named(scheme.strip_prefix("pbkdf2-")?)?;
        Self::new(digest, number(parameters, "i")?, decode(salt)?, output)
    }

    pub(super) fn new(
        digest: Digest,
        iterations: u32,
        salt: Vec<u8>,
        output: Vec<u8>,
    ) -> Option<Self> {
        let iterations = NonZeroU32::new(iterations)?;
        // A shorter output would match wrong passwords too.
        (output.len() >= 16).then_some(Self { digest, iterations, salt, output })
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let algorithm = match self.digest {
            Digest::Sha1 => PBKDF2_HMAC_SHA1,
            Digest::Sha256 => PBKDF2_HMAC_SHA256,
            Digest::Sha512 => PBKDF2_HMAC_SHA512,
        };
        pbkdf2::verify(algorithm, self.iterations, &self.salt, password, &self.output).is_ok()
    }

    pub(super) fn iterations(&self) -> u32 {
        self.iterations.get()
    }

    /// The number of HMACs: the iterations for each block of the output.
    pub(super) fn rounds(&self) -> u64 {
        let blocks = self.output.len().div_ceil(self.digest.length());
        u64::from(self.iterations.get()) * blocks as u64
    }

    pub(super) fn to_phc(&self) -> String {
        let Self { digest, iterations, salt, output } = self;
        let (digest, length) = (digest.name(), output.len());
        format!("$pbkdf2-{digest}$i={iterations},l={length}${}${}", encode(salt), encode(output))
    }
}
