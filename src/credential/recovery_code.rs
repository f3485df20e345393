//! Recovery codes, for people who have lost their other factors. A code has 125 random bits, so its plain SHA-256 can be stored
//! and looked up.

use std::fmt;

use zeroize::Zeroizing;

use crate::{json_schema::text_schema, random::random_bytes, sha256::sha256};

/// How many codes a person has.
pub const COUNT: usize = 8;

/// Crockford's base32: no I, L, O or U.
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH: usize = 25;
const GROUP: usize = 5;

/// A recovery code: 25 characters.
#[derive(Clone)]
pub struct RecoveryCode(Zeroizing<String>);

text_schema!(RecoveryCode as "RecoveryCode" {
    "pattern": "^([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}$",
});

impl RecoveryCode {
    pub fn random() -> Self {
        let bytes = random_bytes::<LENGTH>();
        let mut code = Zeroizing::new(String::with_capacity(LENGTH));
        code.extend(bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])));
        Self(code)
    }

    /// A code as a person typed it: in any case, with or without spaces and hyphens, and with letters that look like digits.
    /// `None` if it cannot be one.
    pub fn parse(typed: &str) -> Option<Self> {
        let is_separator =
            |c: char| c.is_whitespace() || matches!(c, '-' | '\u{2010}'..='\u{2015}' | '\u{2212}');
        let mut code = Zeroizing::new(String::with_capacity(LENGTH));
        for c in typed.chars().filter(|c| !is_separator(*c)) {
            let c = match c.to_ascii_uppercase() {
                'O' => '0',
                'I' | 'L' => '1',
                c => c,
            };
            if code.len() == LENGTH || !ALPHABET.iter().any(|known| char::from(*known) == c) {
                return None;
            }
            code.push(c);
        }
        (code.len() == LENGTH).then_some(Self(code))
    }

    /// The digest, which is all that is stored.
    pub fn digest(&self) -> [u8; 32] {
        sha256(self.0.as_bytes())
    }
}

/// The code itself, in five groups, to be shown once.
impl fmt::Display for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, c) in self.0.chars().enumerate() {
            if at > 0 && at % GROUP == 0 {
                f.write_str("-")?;
            }
            write!(f, "{c}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for RecoveryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RecoveryCode(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_that_is_shown_can_be_typed() {
        let code = RecoveryCode::random();
        let shown = code.to_string();
        assert_eq!(shown.len(), 29);
        assert!(shown.split('-').all(|group| group.len() == 5), "{shown}");
        assert_ne!(RecoveryCode::random().digest(), code.digest());
        for typed in [
            shown.clone(),
            shown.to_lowercase(),
            shown.replace('-', " "),
            shown.replace('-', ""),
            shown.replace('-', "\u{2013}"),
            shown.replace('0', "O").replace('1', "I"),
            shown.replace('0', "o").replace('1', "l"),
            format!(" {shown}\r\n"),
        ] {
            let parsed = RecoveryCode::parse(&typed).unwrap();
            assert_eq!(parsed.digest(), code.digest(), "{typed}");
        }
    }

    #[test]
    fn the_digest_is_the_sha_256_of_the_characters() {
        let code = RecoveryCode::parse("oil00-11111-abcde-fghjk-mnpqr").unwrap();
        assert_eq!(code.to_string(), "01100-11111-ABCDE-FGHJK-MNPQR");
        assert_eq!(code.digest(), sha256("0110011111ABCDEFGHJKMNPQR"));
    }

    #[test]
    fn what_cannot_be_a_code_is_refused() {
        for typed in [
            "",
            "00000-00000-00000-00000-0000",
            "00000-00000-00000-00000-000000",
            "00000-00000-00000-00000-0000U",
            "00000-00000-00000-00000-0000é",
            "00000_00000_00000_00000_00000",
        ] {
            assert!(RecoveryCode::parse(typed).is_none(), "{typed}");
        }
    }

    #[test]
    fn a_code_uses_every_character_and_does_not_show_itself_in_debug() {
        let all: String = (0..200).map(|_| RecoveryCode::random().to_string()).collect();
        assert!(ALPHABET.iter().all(|c| all.contains(char::from(*c))));
        assert_eq!(format!("{:?}", RecoveryCode::random()), "RecoveryCode(…)");
    }
}
