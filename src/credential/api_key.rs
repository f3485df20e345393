//! API keys as their holders send them: a prefix that tells people and scanners what they have found, 30 random characters, and a
//! checksum that refuses typing mistakes without a query. A key has 178 random bits, so its plain SHA-256 can be stored and looked
//! up.

use std::fmt;

use zeroize::Zeroizing;

use crate::{random::random_bytes, sha256::sha256};

/// What every key begins with. No token does.
pub const KEY_PREFIX: &[u8] = b"dw_";

const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const RANDOM_CHARACTERS: usize = 30;
const CHECKSUM_CHARACTERS: usize = 6;
const LENGTH: usize = KeyKind::Machine.prefix().len() + RANDOM_CHARACTERS + CHECKSUM_CHARACTERS;

/// Whom a key belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyKind {
    /// To a program. It has the rights that it was made with.
    Machine,
    /// To a person. It has no right that the person does not have.
    Personal,
}

impl KeyKind {
    /// What its keys begin with. Both prefixes have the same length.
    pub const fn prefix(self) -> &'static str {
        match self {
            Self::Machine => "dw_key_",
            Self::Personal => "dw_pat_",
        }
    }

    /// Its name in the API.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Machine => "machine",
            Self::Personal => "personal",
        }
    }
}

/// A new key, to be shown once.
pub struct KeyText(Zeroizing<String>);

impl KeyText {
    pub fn random(kind: KeyKind) -> Self {
        let mut text = Zeroizing::new(String::with_capacity(LENGTH));
        text.push_str(kind.prefix());
        while text.len() < LENGTH - CHECKSUM_CHARACTERS {
            let bytes = random_bytes::<64>();
            // Six bits are a character, unless they are one of the two values beyond the alphabet.
            let characters = bytes.iter().filter_map(|byte| ALPHABET.get(usize::from(byte % 64)));
            let missing = LENGTH - CHECKSUM_CHARACTERS - text.len();
            text.extend(characters.take(missing).map(|character| char::from(*character)));
        }
        let checksum = checksum(text.as_bytes());
        text.extend(checksum.map(char::from));
        Self(text)
    }

    /// The key itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn digest(&self) -> KeyDigest {
        KeyDigest::of(self.0.as_bytes())
    }
}

impl fmt::Debug for KeyText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyText(…)")
    }
}

/// The SHA-256 of a key, which is all that is stored.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyDigest([u8; 32]);

impl KeyDigest {
    fn of(text: &[u8]) -> Self {
        Self(sha256(text))
    }

    /// The digest of a key that was sent.
    ///
    /// # Errors
    /// If it cannot be a key.
    pub fn of_sent(sent: &[u8]) -> Result<Self, NotAKey> {
        let is_known = [KeyKind::Machine, KeyKind::Personal]
            .iter()
            .any(|kind| sent.starts_with(kind.prefix().as_bytes()));
        if !is_known || sent.len() != LENGTH {
            return Err(NotAKey::OtherForm);
        }
        let (checked, sent_checksum) = sent.split_at(LENGTH - CHECKSUM_CHARACTERS);
        match sent_checksum == checksum(checked) {
            true => Ok(Self::of(sent)),
            false => Err(NotAKey::WrongChecksum),
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The digest from the store; `None` if the bytes are not one.
    pub fn from_store(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for KeyDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyDigest(…)")
    }
}

/// Why something that was sent is not a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAKey {
    /// It has another prefix or length.
    OtherForm,
    /// A character is wrong.
    WrongChecksum,
}

/// The CRC32 of a text in base 62.
fn checksum(text: &[u8]) -> [u8; CHECKSUM_CHARACTERS] {
    let mut rest = crc32(text);
    let mut characters = [ALPHABET[0]; CHECKSUM_CHARACTERS];
    for character in characters.iter_mut().rev() {
        *character = ALPHABET[(rest % 62) as usize];
        rest /= 62;
    }
    characters
}

/// The CRC32 of ISO 3309, as in ZIP and PNG.
fn crc32(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let step = |crc: u32, _| if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
    !bytes.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_crc32_of_zip() {
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc32(b""), 0);
        assert_eq!(&checksum(b"123456789"), b"3jZRME");
        assert_eq!(&checksum(b""), b"000000");
    }

    #[test]
    fn a_key_has_a_prefix_30_random_characters_and_a_checksum() {
        for (kind, prefix) in [(KeyKind::Machine, "dw_key_"), (KeyKind::Personal, "dw_pat_")] {
            let key = KeyText::random(kind);
            let rest = key.as_str().strip_prefix(prefix).unwrap();
            assert_eq!(rest.len(), 36);
            assert!(rest.bytes().all(|b| b.is_ascii_alphanumeric()));
            assert!(key.as_str().as_bytes().starts_with(KEY_PREFIX));
            assert_eq!(KeyDigest::of_sent(key.as_str().as_bytes()), Ok(key.digest()));
            assert_ne!(KeyText::random(kind).digest(), key.digest());
        }
        let all: String = (0..100)
            .map(|_| KeyText::random(KeyKind::Machine).as_str()[7..37].to_owned())
            .collect();
        assert!(ALPHABET.iter().all(|c| all.contains(char::from(*c))));
    }

    #[test]
    fn every_single_typing_mistake_is_found() {
        let key = KeyText::random(KeyKind::Personal);
        let text = key.as_str().as_bytes();
        for at in KeyKind::Personal.prefix().len()..LENGTH {
            for other in ALPHABET.iter().filter(|other| **other != text[at]) {
                let mut typed = text.to_vec();
                typed[at] = *other;
                assert_eq!(KeyDigest::of_sent(&typed), Err(NotAKey::WrongChecksum));
            }
        }
        for at in KeyKind::Personal.prefix().len()..LENGTH - 1 {
            let mut swapped = text.to_vec();
            swapped.swap(at, at + 1);
            let is_same = swapped == text;
            assert_eq!(KeyDigest::of_sent(&swapped).is_ok(), is_same);
        }
        let other_kind = key.as_str().replace("dw_pat_", "dw_key_");
        assert_eq!(KeyDigest::of_sent(other_kind.as_bytes()), Err(NotAKey::WrongChecksum));
    }

    #[test]
    fn what_has_another_form_is_not_a_key() {
        let key = KeyText::random(KeyKind::Machine);
        let text = key.as_str();
        for sent in [
            "",
            "dw_",
            "dw_key_",
            &text[1..],
            &text[..text.len() - 1],
            &format!("{text}0"),
            &format!(" {text}"),
            &text.replace("dw_key_", "dw_abc_"),
            &text.to_uppercase(),
        ] {
            assert_eq!(KeyDigest::of_sent(sent.as_bytes()), Err(NotAKey::OtherForm), "{sent}");
        }
        assert_eq!(KeyDigest::of_sent(&[0xff; LENGTH]), Err(NotAKey::OtherForm));
    }

    #[test]
    fn debug_output_shows_neither_a_key_nor_its_digest() {
        let key = KeyText::random(KeyKind::Machine);
        assert_eq!(format!("{key:?} {:?}", key.digest()), "KeyText(…) KeyDigest(…)");
    }
}
