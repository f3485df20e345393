//! bcrypt, and the two ways to hash a password with SHA-256 before it: Django's and passlib's.

use aws_lc_rs::{constant_time::verify_slices_are_equal, hmac};
use base64::{
    Engine,
    alphabet::BCRYPT,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use zeroize::Zeroizing;

use super::{decode, number, parameter};
use crate::sha256::sha256;

/// Base64 of bcrypt hashes. Some libraries leave random bits at the end of a salt.
const BCRYPT_BASE64: GeneralPurpose = GeneralPurpose::new(
    &BCRYPT,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::RequireNone)
        .with_decode_allow_trailing_bits(true),
);
const SALT_CHARACTERS: usize = 22;
const OUTPUT_CHARACTERS: usize = 31;
/// bcrypt ignores what follows.
const MAX_PASSWORD_BYTES: usize = 72;

pub(in crate::credential::password) struct Bcrypt {
    pub(super) cost: u32,
    salt: [u8; 16],
    output: [u8; 23],
    first: FirstHash,
}

/// What is done to the password before bcrypt, which ignores everything after 72 bytes.
enum FirstHash {
    None,
    /// The SHA-256 in hexadecimal digits, as Django does it.
    Django,
    /// The HMAC-SHA-256 with the salt as key, in Base64, as passlib does it.
    Passlib {
        salt: String,
    },
}

impl Bcrypt {
    pub(super) const MAX_COST: u32 = 14;

    /// Reads what follows the scheme: `12$…` of bcrypt, `r=12$…$…` of Django, `v=2,t=2b,r=12$…$…` of passlib.
    pub(super) fn parse(scheme: &str, rest: &str) -> Option<Self> {
        let (parameters, value) = rest.split_once('$')?;
        match scheme {
            "django-bcrypt-sha256" => {
                let (salt, output) = value.split_once('$')?;
                let (salt, output) = (decode(salt)?, decode(output)?);
                let cost = number(parameters, "r")?;
                Self::new(cost, &salt, &output, FirstHash::Django)
            }
            "bcrypt-sha256" => {
                let (salt, output) = value.split_once('$')?;
                if parameter(parameters, "v") != Some("2")
                    || parameter(parameters, "t") != Some("2b")
                {
                    return None;
                }
                let first = FirstHash::Passlib { salt: salt.to_owned() };
                let (salt, output) = (from_bcrypt(salt)?, from_bcrypt(output)?);
                Self::new(number(parameters, "r")?, &salt, &output, first)
            }
            _ => {
                if value.len() != SALT_CHARACTERS + OUTPUT_CHARACTERS || !value.is_ascii() {
                    return None;
                }
                let (salt, output) = value.split_at(SALT_CHARACTERS);
                let is_number =
                    parameters.len() == 2 && parameters.bytes().all(|b| b.is_ascii_digit());
                let cost = parameters.parse().ok().filter(|_| is_number)?;
                Self::new(cost, &from_bcrypt(salt)?, &from_bcrypt(output)?, FirstHash::None)
            }
        }
    }

    fn new(cost: u32, salt: &[u8], output: &[u8], first: FirstHash) -> Option<Self> {
        let (salt, output) = (salt.try_into().ok()?, output.try_into().ok()?);
        // A higher cost takes more than a minute, however the hash got into the database.
        (4..=20).contains(&cost).then_some(Self { cost, salt, output, first })
    }

    /// As if the hash was of bcrypt alone.
    #[cfg(test)]
    pub(super) fn ignore_first_hash(&mut self) {
        self.first = FirstHash::None;
    }

    pub(super) fn matches(&self, password: &[u8]) -> bool {
        let key = match &self.first {
            FirstHash::None => Zeroizing::new(password.to_vec()),
            FirstHash::Django => hex(&sha256(password)),
            FirstHash::Passlib { salt } => {
                let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt.as_bytes()), password);
                Zeroizing::new(BASE64_STANDARD.encode(tag.as_ref()).into_bytes())
            }
        };
        // A NUL ends the key, unless it is too long for one.
        let mut ended = Zeroizing::new([0; MAX_PASSWORD_BYTES]);
        let used = key.len().min(MAX_PASSWORD_BYTES);
        ended[..used].copy_from_slice(&key[..used]);
        let ended = &ended[..(used + 1).min(MAX_PASSWORD_BYTES)];
        let computed = bcrypt::bcrypt(self.cost, self.salt, ended);
        verify_slices_are_equal(&computed[..self.output.len()], &self.output).is_ok()
    }
}

/// A hash of bcrypt after Django's SHA-256 as a PHC string.
pub(super) fn django(text: &str) -> Option<String> {
    let (version, rest) = text.strip_prefix('$')?.split_once('$')?;
    let parsed = Bcrypt::parse(version, rest).filter(|_| version.starts_with('2'))?;
    let (salt, output) = (super::encode(&parsed.salt), super::encode(&parsed.output));
    Some(format!("$django-bcrypt-sha256$r={}${salt}${output}", parsed.cost))
}

fn from_bcrypt(text: &str) -> Option<Vec<u8>> {
    BCRYPT_BASE64.decode(text).ok()
}

fn hex(bytes: &[u8]) -> Zeroizing<Vec<u8>> {
    let digit = |value: u8| b"0123456789abcdef"[usize::from(value)];
    // Growing it would leave copies that are not wiped.
    let mut text = Zeroizing::new(Vec::with_capacity(2 * bytes.len()));
    text.extend(bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]));
    text
}
