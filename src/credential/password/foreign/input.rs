//! Reads hashes in the forms of other systems and converts them to the stored form.

use base64::{Engine, prelude::BASE64_STANDARD};

use super::{
    Cost, HashFault, bcrypt, decode, fbscrypt,
    pbkdf2::{Digest, Pbkdf2},
    scrypt::Scrypt,
};

/// What a hash alone does not say.
#[derive(Clone, Debug, Default)]
pub struct HashOptions {
    /// The cost of our hashes, which is always allowed.
    pub own_cost: Cost,
    /// The cost of hashes of the form `salt:hash`, which do not say it.
    pub scrypt: Option<ScryptCost>,
}

/// The cost of scrypt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScryptCost {
    /// The number of blocks, a power of two.
    pub n: u64,
    /// The size of a block.
    pub r: u32,
    /// The number of passes.
    pub p: u32,
}

/// The parameters of a Firebase project, which are the same for all its users.
#[derive(Clone)]
pub struct FirebaseKeys {
    signer_key: Vec<u8>,
    salt_separator: Vec<u8>,
    rounds: u32,
    mem_cost: u8,
}

impl std::fmt::Debug for FirebaseKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FirebaseKeys(…)")
    }
}

impl FirebaseKeys {
    /// Reads the parameters as Firebase's console shows them. `None` if the key or the separator is not Base64.
    pub fn parse(
        signer_key: &str,
        salt_separator: &str,
        rounds: u32,
        mem_cost: u8,
    ) -> Option<Self> {
        let (signer_key, salt_separator) = (web_decode(signer_key)?, web_decode(salt_separator)?);
        Some(Self { signer_key, salt_separator, rounds, mem_cost })
    }

    /// The stored form of a user's hash.
    ///
    /// # Errors
    /// If the hash or the salt is not Base64.
    pub fn to_stored(&self, hash: &str, salt: &str) -> Result<String, HashFault> {
        let read = |text| web_decode(text).ok_or(HashFault::Damaged("Firebase"));
        let (hash, salt) = (read(hash)?, read(salt)?);
        if hash.len() != self.signer_key.len() {
            return Err(HashFault::Damaged("Firebase"));
        }
        let Self { signer_key, salt_separator, rounds, mem_cost } = self;
        Ok(fbscrypt::to_phc(*mem_cost, *rounds, salt_separator, signer_key, &salt, &hash))
    }
}

/// Firebase writes Base64 in both alphabets.
fn web_decode(text: &str) -> Option<Vec<u8>> {
    decode(&text.trim().replace('-', "+").replace('_', "/"))
}

/// Forms that Doorward does not verify, by what they begin with.
const UNSUPPORTED: &[(&str, &str)] = &[
    ("md5$", "MD5"),
    ("sha1$", "SHA-1"),
    ("unsalted_", "an unsalted hash"),
    ("crypt$", "crypt"),
    ("$1$", "md5crypt"),
    ("$apr1$", "md5crypt"),
    ("$5$", "sha256crypt"),
    ("$6$", "sha512crypt"),
    ("$2x$", "the faulty bcrypt variant 2x"),
    ("{SSHA", "a salted SHA hash"),
    ("{SHA", "an unsalted SHA hash"),
    ("{MD5", "MD5"),
];

/// The stored form of a hash. Its cost is not checked.
pub(super) fn to_stored(text: &str, options: &HashOptions) -> Result<String, HashFault> {
    let text = text.trim();
    if !text.is_ascii() || text.len() > 2048 {
        return Err(HashFault::Unknown);
    }
    if let Some((_, name)) = UNSUPPORTED.iter().find(|(start, _)| text.starts_with(start)) {
        return Err(HashFault::Unsupported(name));
    }
    let (scheme, rest) = match text.strip_prefix('$') {
        Some(phc) => return from_phc(text, phc),
        None => text.split_once('$').unwrap_or(("", text)),
    };
    let damaged = HashFault::Damaged;
    match scheme {
        "argon2" => to_stored(&format!("${rest}"), options),
        "bcrypt" if rest.starts_with("$2") => to_stored(rest, options),
        "bcrypt_sha256" => bcrypt::django(rest).ok_or(damaged("Django bcrypt_sha256")),
        "pbkdf2_sha256" => django_pbkdf2(Digest::Sha256, rest).ok_or(damaged("Django PBKDF2")),
        "pbkdf2_sha1" => django_pbkdf2(Digest::Sha1, rest).ok_or(damaged("Django PBKDF2")),
        "scrypt" => django_scrypt(rest).ok_or(damaged("Django scrypt")),
        _ if scheme.starts_with("pbkdf2:") => {
            werkzeug_pbkdf2(scheme, rest).ok_or(damaged("Werkzeug PBKDF2"))
        }
        _ if scheme.starts_with("scrypt:") => {
            werkzeug_scrypt(scheme, rest).ok_or(damaged("Werkzeug scrypt"))
        }
        "" if text.contains(':') => salt_and_hash(text, options),
        "" => aspnet(text),
        _ => Err(HashFault::Unknown),
    }
}

/// A string that begins with a dollar sign: PHC, modular crypt or passlib's form.
fn from_phc(text: &str, phc: &str) -> Result<String, HashFault> {
    let (scheme, rest) = phc.split_once('$').ok_or(HashFault::Unknown)?;
    let parsed = |name, text: String| match super::ForeignHash::parse(&text) {
        Some(_) => Ok(text),
        None => Err(HashFault::Damaged(name)),
    };
    match scheme {
        // A string without a version is of version 16.
        "argon2i" | "argon2d" | "argon2id" if !rest.starts_with("v=") => {
            parsed("Argon2", format!("${scheme}$v=16${rest}"))
        }
        "argon2i" | "argon2d" | "argon2id" => parsed("Argon2", text.to_owned()),
        "2a" | "2b" | "2y" => parsed("bcrypt", text.to_owned()),
        "bcrypt-sha256" | "django-bcrypt-sha256" => parsed("bcrypt_sha256", text.to_owned()),
        "fbscrypt" => parsed("Firebase", text.to_owned()),
        "scrypt" => {
            let parsed = Scrypt::parse(rest).ok_or(HashFault::Damaged("scrypt"))?;
            Ok(parsed.to_phc())
        }
        "pbkdf2" | "pbkdf2-sha1" | "pbkdf2-sha256" | "pbkdf2-sha512" => {
            let scheme = if scheme == "pbkdf2" { "pbkdf2-sha1" } else { scheme };
            // passlib writes the iterations without a name, and a dot for the plus sign of Base64.
            let rest = match rest.split_once('$') {
                Some((iterations, value)) if iterations.bytes().all(|b| b.is_ascii_digit()) => {
                    format!("i={iterations}${}", value.replace('.', "+"))
                }
                _ => rest.to_owned(),
            };
            let parsed = Pbkdf2::parse(scheme, &rest).ok_or(HashFault::Damaged("PBKDF2"))?;
            Ok(parsed.to_phc())
        }
        _ => Err(HashFault::Unknown),
    }
}

/// `iterations$salt$hash`. The salt is text, the hash Base64.
fn django_pbkdf2(digest: Digest, rest: &str) -> Option<String> {
    let (iterations, value) = rest.split_once('$')?;
    let (salt, hash) = value.split_once('$')?;
    let (salt, hash) = (salt.as_bytes().to_vec(), decode(hash)?);
    Some(Pbkdf2::new(digest, iterations.parse().ok()?, salt, hash)?.to_phc())
}

/// `N$salt$r$p$hash`. The salt is text, the hash Base64.
fn django_scrypt(rest: &str) -> Option<String> {
    let parts: Vec<_> = rest.split('$').collect();
    let [n, salt, r, p, hash] = parts[..] else { return None };
    let (r, p) = (r.parse().ok()?, p.parse().ok()?);
    scrypt_phc(n.parse().ok()?, r, p, salt.as_bytes().to_vec(), decode(hash)?)
}

/// `pbkdf2:sha256:600000` and `salt$hash`. The salt is text, the hash hexadecimal.
fn werkzeug_pbkdf2(scheme: &str, rest: &str) -> Option<String> {
    let (digest, iterations) = scheme.strip_prefix("pbkdf2:")?.split_once(':')?;
    let (salt, hash) = rest.split_once('$')?;
    let (salt, hash) = (salt.as_bytes().to_vec(), from_hex(hash)?);
    Some(Pbkdf2::new(Digest::named(digest)?, iterations.parse().ok()?, salt, hash)?.to_phc())
}

/// `scrypt:32768:8:1` and `salt$hash`. The salt is text, the hash hexadecimal.
fn werkzeug_scrypt(scheme: &str, rest: &str) -> Option<String> {
    let parts: Vec<_> = scheme.split(':').collect();
    let [_, n, r, p] = parts[..] else { return None };
    let (salt, hash) = rest.split_once('$')?;
    let (r, p) = (r.parse().ok()?, p.parse().ok()?);
    scrypt_phc(n.parse().ok()?, r, p, salt.as_bytes().to_vec(), from_hex(hash)?)
}

/// `salt:hash` of programs for Node.js. The text of the salt is the salt.
fn salt_and_hash(text: &str, options: &HashOptions) -> Result<String, HashFault> {
    let (salt, hash) = text.split_once(':').ok_or(HashFault::Unknown)?;
    let hash = from_hex(hash).filter(|_| from_hex(salt).is_some()).ok_or(HashFault::Unknown)?;
    let ScryptCost { n, r, p } = options.scrypt.ok_or(HashFault::NeedsOption("--scrypt N,R,P"))?;
    let phc = scrypt_phc(n, r, p, salt.as_bytes().to_vec(), hash);
    phc.ok_or(HashFault::Damaged("scrypt"))
}

fn scrypt_phc(n: u64, r: u32, p: u32, salt: Vec<u8>, hash: Vec<u8>) -> Option<String> {
    let log_n = n.is_power_of_two().then(|| n.trailing_zeros() as u8)?;
    Some(Scrypt::new(log_n, r, p, salt, hash)?.to_phc())
}

/// The Base64 of ASP.NET Identity. Version 2 has a fixed cost; version 3 states digest, iterations and the length of the salt.
fn aspnet(text: &str) -> Result<String, HashFault> {
    const NAME: &str = "ASP.NET Identity";
    let bytes = BASE64_STANDARD.decode(text).map_err(|_| HashFault::Unknown)?;
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 4)?;
        Some(u32::from_be_bytes(bytes.try_into().ok()?))
    };
    let (digest, iterations, salt, output) = match bytes.first() {
        Some(0) if bytes.len() == 49 => (Digest::Sha1, 1000, &bytes[1..17], &bytes[17..]),
        Some(1) => {
            let read = || {
                let digest = match number(1)? {
                    0 => Digest::Sha1,
                    1 => Digest::Sha256,
                    2 => Digest::Sha512,
                    _ => return None,
                };
                let salt = usize::try_from(number(9)?).ok()?;
                let end = 13_usize.checked_add(salt)?;
                Some((digest, number(5)?, bytes.get(13..end)?, bytes.get(end..)?))
            };
            read().ok_or(HashFault::Damaged(NAME))?
        }
        _ => return Err(HashFault::Unknown),
    };
    let hash = Pbkdf2::new(digest, iterations, salt.to_vec(), output.to_vec());
    Ok(hash.ok_or(HashFault::Damaged(NAME))?.to_phc())
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let is_hex =
        !text.is_empty() && text.len() <= 512 && text.bytes().all(|b| b.is_ascii_hexdigit());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    let byte = |pair: &[u8; 2]| u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok();
    pairs.iter().map(byte).collect::<Option<Vec<_>>>().filter(|_| is_hex && rest.is_empty())
}
