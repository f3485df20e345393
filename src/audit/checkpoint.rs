//! Signed statements about the tree: C2SP `tlog-checkpoint` in a C2SP `signed-note`, with the cosignatures of witnesses.

use std::{fmt, str::FromStr};

use aws_lc_rs::{
    hmac::{HMAC_SHA256, Key, Tag, sign},
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};

use super::tree::Hash;
use crate::{clock::Timestamp, sha256::sha256, token::shared_secret::SharedSecret};

/// What begins the line of a signature.
const SIGNATURE_MARK: &str = "— ";

/// The state of a log: it has this many entries, and this is the root of their tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log it is.
    pub origin: String,
    pub size: u64,
    pub root: Hash,
}

impl Checkpoint {
    /// The text that is signed.
    fn body(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, BASE64_STANDARD.encode(self.root))
    }

    fn parse(body: &str) -> Option<Self> {
        let mut lines = body.strip_suffix('\n')?.split('\n');
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let root = BASE64_STANDARD.decode(root).ok()?.try_into().ok()?;
        let size = decimal(size)?;
        // Further lines are extensions.
        (!origin.is_empty() && lines.all(|line| !line.is_empty())).then(|| Self {
            origin: origin.to_owned(),
            size,
            root,
        })
    }
}

/// A number without leading zeros.
pub(super) fn decimal(text: &str) -> Option<u64> {
    let number: u64 = text.parse().ok()?;
    (number.to_string() == text).then_some(number)
}

/// A checkpoint with its signatures, as it is written to files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedCheckpoint {
    pub checkpoint: Checkpoint,
    /// The signed text. It may have extension lines.
    body: String,
    signatures: Vec<Signature>,
}

/// A line with a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    pub name: String,
    key_id: [u8; 4],
    bytes: Vec<u8>,
}

impl SignedCheckpoint {
    /// # Errors
    /// If the text is not a signed checkpoint.
    pub fn parse(text: &str) -> Result<Self, NotACheckpoint> {
        let (body, signatures) = text.split_once("\n\n").ok_or(NotACheckpoint)?;
        let body = format!("{body}\n");
        let signatures = parse_signatures(signatures).ok_or(NotACheckpoint)?;
        let checkpoint = Checkpoint::parse(&body).ok_or(NotACheckpoint)?;
        Ok(Self { checkpoint, body, signatures })
    }

    /// All checkpoints of a file to which one after the other was appended, in their order.
    ///
    /// # Errors
    /// If there is none.
    pub fn parse_all(text: &str) -> Result<Vec<Self>, NotACheckpoint> {
        let (mut all, mut begin, mut is_signed) = (Vec::new(), 0, false);
        let mut position = 0;
        for line in text.split_inclusive('\n') {
            let is_signature = line.starts_with(SIGNATURE_MARK);
            if is_signed && !is_signature {
                all.extend(Self::parse_end(&text[begin..position]));
                begin = position;
            }
            is_signed = is_signature;
            position += line.len();
        }
        all.extend(Self::parse_end(&text[begin..]));
        if all.is_empty() { Err(NotACheckpoint) } else { Ok(all) }
    }

    /// The checkpoint at the end of a text. A crash while one was appended leaves a part of it before the next.
    fn parse_end(text: &str) -> Option<Self> {
        let starts = text.match_indices('\n').map(|(at, _)| at + 1);
        [0].into_iter().chain(starts).find_map(|start| Self::parse(&text[start..]).ok())
    }

    /// Whether this key has signed it.
    pub fn is_signed_by(&self, key: &VerifierKey) -> bool {
        let id = key.id();
        let mut signatures = self.signatures.iter();
        signatures.any(|signature| {
            signature.name == key.name
                && signature.key_id == id
                && key.verifies(&self.body, &signature.bytes)
        })
    }

    /// Adds the signatures of others, which replace earlier ones of their keys.
    #[must_use]
    pub fn with(mut self, signatures: Vec<Signature>) -> Self {
        for signature in signatures {
            self.signatures
                .retain(|other| (&other.name, other.key_id) != (&signature.name, signature.key_id));
            self.signatures.push(signature);
        }
        self
    }
}

impl fmt::Display for SignedCheckpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.body)?;
        self.signatures.iter().try_for_each(|signature| signature.fmt(f))
    }
}

/// More are refused, because each may have to be checked.
const MAX_SIGNATURES: usize = 16;

/// The lines of signatures; `None` if there is something else, or none.
pub fn parse_signatures(lines: &str) -> Option<Vec<Signature>> {
    let signature = |line: &str| {
        let (name, encoded) = line.strip_prefix(SIGNATURE_MARK)?.split_once(' ')?;
        let bytes = BASE64_STANDARD.decode(encoded).ok()?;
        let (key_id, bytes) = bytes.split_first_chunk::<4>()?;
        let (key_id, bytes) = (*key_id, bytes.to_vec());
        (!name.is_empty()).then(|| Signature { name: name.to_owned(), key_id, bytes })
    };
    let lines = lines.strip_suffix('\n')?;
    if lines.split('\n').count() > MAX_SIGNATURES {
        return None;
    }
    lines.split('\n').map(signature).collect()
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = BASE64_STANDARD.encode([&self.key_id[..], &self.bytes].concat());
        writeln!(f, "{SIGNATURE_MARK}{} {encoded}", self.name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a signed checkpoint")]
pub struct NotACheckpoint;

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    /// Checkpoints of its own log.
    Log = 1,
    /// Checkpoints of others, with the time: C2SP `tlog-cosignature`.
    Witness = 4,
}

/// The public key of a log or a witness. Its text is the `vkey` of C2SP `signed-note`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifierKey {
    pub name: String,
    usage: Use,
    public: [u8; 32],
}

impl VerifierKey {
    fn id(&self) -> [u8; 4] {
        let input = [self.name.as_bytes(), b"\n", &[self.usage as u8], &self.public].concat();
        *sha256(input).first_chunk().expect("SHA-256 has 32 bytes")
    }

    /// Whether it is the key of a witness and not of a log.
    pub fn is_of_witness(&self) -> bool {
        self.usage == Use::Witness
    }

    fn verifies(&self, body: &str, signature: &[u8]) -> bool {
        let public = UnparsedPublicKey::new(&ED25519, &self.public);
        match self.usage {
            Use::Log => public.verify(body.as_bytes(), signature).is_ok(),
            Use::Witness => {
                let Some((time, signature)) = signature.split_first_chunk::<8>() else {
                    return false;
                };
                let message = cosigned(u64::from_be_bytes(*time), body);
                public.verify(message.as_bytes(), signature).is_ok()
            }
        }
    }
}

impl fmt::Display for VerifierKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = BASE64_STANDARD.encode([&[self.usage as u8], &self.public[..]].concat());
        write!(f, "{}+{:08x}+{encoded}", self.name, u32::from_be_bytes(self.id()))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a public key of the form NAME+HASH+KEY, as `doorward audit key` prints it")]
pub struct NotAKey;

impl FromStr for VerifierKey {
    type Err = NotAKey;

    fn from_str(text: &str) -> Result<Self, NotAKey> {
        // The key may contain a plus, the name may not.
        let mut parts = text.splitn(3, '+');
        let (Some(name), Some(_), Some(key)) = (parts.next(), parts.next(), parts.next()) else {
            return Err(NotAKey);
        };
        let key = BASE64_STANDARD.decode(key).map_err(|_| NotAKey)?;
        let (usage, public) = key.split_first().ok_or(NotAKey)?;
        let usage = match usage {
            1 => Use::Log,
            4 => Use::Witness,
            _ => return Err(NotAKey),
        };
        let public = public.try_into().map_err(|_| NotAKey)?;
        let key = Self { name: name.to_owned(), usage, public };
        let is_well_formed = !name.is_empty() && !name.contains(char::is_whitespace);
        if is_well_formed && key.to_string() == text { Ok(key) } else { Err(NotAKey) }
    }
}

fn cosigned(time: u64, body: &str) -> String {
    format!("cosignature/v1\ntime {time}\n{body}")
}

/// What signs the checkpoints of this installation and of those that it witnesses, and marks its events. All of it is derived from
/// one secret.
pub struct AuditKey {
    log: Ed25519KeyPair,
    witness: Ed25519KeyPair,
    /// What salts are made with.
    salts: Key,
    /// What marks of pruned events are made with.
    marks: Key,
}

fn first_half(tag: &Tag) -> [u8; 16] {
    *tag.as_ref().first_chunk().expect("HMAC-SHA-256 has 32 bytes")
}

impl AuditKey {
    pub fn new(secret: &SharedSecret) -> Self {
        let master = Key::new(HMAC_SHA256, secret.as_bytes());
        let derived = |purpose: &str| sign(&master, purpose.as_bytes());
        let pair = |purpose| {
            let pair = Ed25519KeyPair::from_seed_unchecked(derived(purpose).as_ref());
            pair.expect("a seed has 32 bytes")
        };
        Self {
            log: pair("doorward audit log"),
            witness: pair("doorward audit witness"),
            salts: Key::new(HMAC_SHA256, derived("doorward audit salts").as_ref()),
            marks: Key::new(HMAC_SHA256, derived("doorward audit marks").as_ref()),
        }
    }

    /// The name of the log. It follows from the key, so that no setting can change it.
    pub fn origin(&self) -> String {
        name("doorward/", &self.log)
    }

    /// The key that verifies the checkpoints of this installation.
    pub fn public(&self) -> VerifierKey {
        VerifierKey { name: self.origin(), usage: Use::Log, public: public(&self.log) }
    }

    /// The key that verifies its cosignatures of checkpoints of others.
    pub fn public_of_witness(&self) -> VerifierKey {
        let name = name("doorward-witness/", &self.witness);
        VerifierKey { name, usage: Use::Witness, public: public(&self.witness) }
    }

    /// Signs the state of this installation's log.
    pub fn sign(&self, size: u64, root: Hash) -> SignedCheckpoint {
        let key = self.public();
        let checkpoint = Checkpoint { origin: key.name.clone(), size, root };
        let body = checkpoint.body();
        let bytes = self.log.sign(body.as_bytes()).as_ref().to_vec();
        let signature = Signature { key_id: key.id(), name: key.name, bytes };
        SignedCheckpoint { checkpoint, body, signatures: vec![signature] }
    }

    /// Cosigns a checkpoint of another log that was found to continue what was cosigned before.
    pub fn cosign(&self, signed: &SignedCheckpoint, now: Timestamp) -> Signature {
        let key = self.public_of_witness();
        let time = u64::try_from(now.seconds()).unwrap_or(0);
        let signature = self.witness.sign(cosigned(time, &signed.body).as_bytes());
        let bytes = [&time.to_be_bytes(), signature.as_ref()].concat();
        Signature { key_id: key.id(), name: key.name, bytes }
    }

    /// What hides an event whose hash is kept after it was deleted. Nobody can compute it without the secret, so it also shows that
    /// an installation with this secret has written the event.
    pub fn salt(&self, text: &str) -> [u8; 16] {
        first_half(&sign(&self.salts, text.as_bytes()))
    }

    /// What shows that an installation with this secret has written which events of a tile were pruned.
    pub(super) fn mark(&self, tile: &str, pruned: &[u8]) -> [u8; 16] {
        first_half(&sign(&self.marks, &[tile.as_bytes(), b"\n", pruned].concat()))
    }
}

fn public(pair: &Ed25519KeyPair) -> [u8; 32] {
    pair.public_key().as_ref().try_into().expect("the public key has 32 bytes")
}

fn name(prefix: &str, pair: &Ed25519KeyPair) -> String {
    let digest = sha256(pair.public_key());
    let short = digest[..8].iter().map(|byte| format!("{byte:02x}"));
    format!("{prefix}{}", short.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> AuditKey {
        AuditKey::new(&SharedSecret::from_store(&[7; 32]).unwrap())
    }

    #[test]
    fn a_checkpoint_counts_only_with_the_signature_of_its_log() {
        let (key, other) = (key(), AuditKey::new(&SharedSecret::random()));
        let signed = key.sign(17, [9; 32]);
        let text = signed.to_string();
        assert_eq!(SignedCheckpoint::parse(&text), Ok(signed.clone()));
        assert!(signed.is_signed_by(&key.public()));
        assert!(!signed.is_signed_by(&other.public()));
        assert!(!signed.is_signed_by(&key.public_of_witness()));
        let changed = text.replace("\n17\n", "\n18\n");
        assert!(!SignedCheckpoint::parse(&changed).unwrap().is_signed_by(&key.public()));
        let renamed = VerifierKey { name: "another".into(), ..key.public() };
        assert!(!signed.is_signed_by(&renamed));
        for malformed in [
            "",
            "a\n1\n",
            &text.replace("\n17\n", "\n017\n"),
            &text.replace("\n17\n", "\n-1\n"),
            text.trim_end(),
            &text.replace("— ", "- "),
            &text.replacen("doorward/", "\n", 1),
        ] {
            assert_eq!(SignedCheckpoint::parse(malformed), Err(NotACheckpoint), "{malformed:?}");
        }
    }

    #[test]
    fn a_cosignature_holds_for_its_time_and_its_checkpoint() {
        let (log, witness) = (key(), AuditKey::new(&SharedSecret::random()));
        let now = Timestamp::from_seconds(1_800_000_000);
        let signed = log.sign(3, [1; 32]);
        let cosigned = signed.clone().with(vec![witness.cosign(&signed, now)]);
        assert!(cosigned.is_signed_by(&log.public()));
        assert!(cosigned.is_signed_by(&witness.public_of_witness()));
        assert!(!cosigned.is_signed_by(&log.public_of_witness()));
        // A later one replaces it.
        let again = cosigned.clone().with(vec![witness.cosign(&signed, now)]);
        assert_eq!(again, cosigned);
        let other = log.sign(4, [1; 32]).with(vec![witness.cosign(&signed, now)]);
        assert!(!other.is_signed_by(&witness.public_of_witness()));
    }

    #[test]
    fn a_file_has_one_checkpoint_after_the_other() {
        let key = key();
        let all = [key.sign(1, [1; 32]), key.sign(5, [2; 32]), key.sign(9, [3; 32])];
        let text: String = all.iter().map(ToString::to_string).collect();
        assert_eq!(SignedCheckpoint::parse_all(&text), Ok(all.to_vec()));
        let cut = &text[..text.len() - 20];
        assert_eq!(SignedCheckpoint::parse_all(cut), Ok(all[..2].to_vec()), "after a crash");
        assert_eq!(SignedCheckpoint::parse_all("something"), Err(NotACheckpoint));
        // What a crash leaves, and the checkpoints that are appended to it later.
        for end in 1..text.len() / 3 {
            let torn = format!("{}\n{text}", &text[..text.floor_char_boundary(end)]);
            let read = SignedCheckpoint::parse_all(&torn).unwrap();
            assert!(read.ends_with(&all[1..]) && read.len() >= 3, "{end}: {torn}");
        }
    }

    #[test]
    fn a_public_key_is_read_as_it_is_written() {
        for key in [key().public(), key().public_of_witness()] {
            let text = key.to_string();
            assert_eq!(text.parse(), Ok(key));
            for other in
                [text.replace('+', " "), text.replacen("doorward", "other", 1), text[1..].into()]
            {
                assert_eq!(other.parse::<VerifierKey>(), Err(NotAKey), "{other}");
            }
        }
        // From the documentation of golang.org/x/mod/sumdb/note.
        let known = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
        assert_eq!(known.parse::<VerifierKey>().unwrap().to_string(), known);
    }

    #[test]
    fn salts_depend_on_the_secret_and_on_the_event() {
        let (key, other) = (key(), AuditKey::new(&SharedSecret::random()));
        assert_eq!(key.salt("a"), key.salt("a"));
        assert_ne!(key.salt("a"), key.salt("b"));
        assert_ne!(key.salt("a"), other.salt("a"));
    }
}
