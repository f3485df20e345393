//! Time-based one-time passwords (RFC 6238), as all authenticator apps compute them: SHA-1, six digits, 30 seconds.

use std::fmt;

use aws_lc_rs::{
    constant_time::verify_slices_are_equal,
    hmac::{self, HMAC_SHA1_FOR_LEGACY_USE_ONLY},
};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use zeroize::Zeroizing;

use crate::{clock::Timestamp, random::random_bytes};

const DIGITS: u32 = 6;
const SECONDS_PER_STEP: i64 = 30;
/// RFC 4648.
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
/// What a URI need not encode.
const ENCODED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'@');

/// A period of 30 seconds. Each code belongs to one, and may be used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Step(pub i64);

pub fn step_of(now: Timestamp) -> Step {
    Step(now.seconds().div_euclid(SECONDS_PER_STEP))
}

/// The secret that an authenticator app and the service share.
#[derive(Clone)]
pub struct TotpSecret(Zeroizing<Vec<u8>>);

impl TotpSecret {
    /// A new secret of 160 bits, as RFC 4226 recommends.
    pub fn random() -> Self {
        Self(Zeroizing::new(random_bytes::<20>().to_vec()))
    }

    /// A secret of 10 to 64 bytes. RFC 4226 demands at least 16, but many services that people come from make 10.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (10..=64).contains(&bytes.len()).then(|| Self(Zeroizing::new(bytes.to_vec())))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// A secret as other services write it: upper or lower case, with or without spaces, hyphens and padding.
    pub fn from_base32(text: &str) -> Option<Self> {
        let text = text.trim().trim_end_matches('=');
        let mut bytes = Zeroizing::new(Vec::with_capacity(text.len()));
        let (mut number, mut bits) = (0_u32, 0);
        for c in text.bytes().filter(|c| !matches!(c, b' ' | b'-')) {
            let digit = BASE32.iter().position(|digit| *digit == c.to_ascii_uppercase())?;
            number = number << 5 | u32::try_from(digit).ok()?;
            bits += 5;
            if bits >= 8 {
                bits -= 8;
                bytes.push(u8::try_from(number >> bits).ok()?);
                number &= (1 << bits) - 1;
            }
        }
        // A character too many, or bits behind the last byte, which a mistyped character leaves.
        if bits >= 5 || number != 0 {
            return None;
        }
        Self::from_bytes(&bytes)
    }

    pub fn base32(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(self.0.len() * 8 / 5 + 1));
        for chunk in self.0.chunks(5) {
            let number = (0..5).fold(0_u64, |number, at| {
                number << 8 | u64::from(chunk.get(at).copied().unwrap_or(0))
            });
            for at in 0..(chunk.len() * 8).div_ceil(5) {
                text.push(char::from(BASE32[(number >> (35 - 5 * at) & 31) as usize]));
            }
        }
        text
    }

    /// The secret in groups of four characters, for people who type it.
    pub fn to_text(&self) -> Zeroizing<String> {
        let base32 = self.base32();
        let mut text = Zeroizing::new(String::with_capacity(base32.len() * 5 / 4));
        for (at, c) in base32.chars().enumerate() {
            if at > 0 && at % 4 == 0 {
                text.push(' ');
            }
            text.push(c);
        }
        text
    }

    /// The address that authenticator apps read from a QR code. A colon in a name would separate the issuer from the account.
    pub fn otpauth_uri(&self, issuer: &str, account: &str) -> Zeroizing<String> {
        let encoded =
            |name: &str| utf8_percent_encode(&name.replace(':', " "), ENCODED).to_string();
        let (issuer, account) = (encoded(issuer), encoded(account));
        Zeroizing::new(format!(
            "otpauth://totp/{issuer}:{account}?secret={}&issuer={issuer}&algorithm=SHA1&digits={DIGITS}&period={SECONDS_PER_STEP}",
            *self.base32()
        ))
    }

    /// The step of this code, if it is the current one, the one before or the one after: clocks differ, and people take time to
    /// type. Accept it only if it is later than the last step that was used.
    pub fn matching_step(&self, code: &str, now: Timestamp) -> Option<Step> {
        let typed: Zeroizing<String> =
            Zeroizing::new(code.chars().filter(|c| !c.is_whitespace()).collect());
        let Step(current) = step_of(now);
        // All three are compared, so that the time does not tell which one matched.
        let steps = [current - 1, current, current + 1].map(Step);
        let matching = steps.map(|step| {
            verify_slices_are_equal(self.code(step).as_bytes(), typed.as_bytes()).is_ok()
        });
        steps.into_iter().zip(matching).rfind(|(_, is_match)| *is_match).map(|(step, _)| step)
    }

    fn code(&self, step: Step) -> Zeroizing<String> {
        let number = self.truncated(step) % 10_u32.pow(DIGITS);
        Zeroizing::new(format!("{number:0width$}", width = DIGITS as usize))
    }

    /// RFC 4226, section 5.3.
    fn truncated(&self, Step(step): Step) -> u32 {
        let key = hmac::Key::new(HMAC_SHA1_FOR_LEGACY_USE_ONLY, &self.0);
        let tag = hmac::sign(&key, &step.to_be_bytes());
        let tag = tag.as_ref();
        let offset = usize::from(tag[tag.len() - 1] & 0xf);
        let (bytes, _) = tag[offset..].split_first_chunk().expect("the tag has 20 bytes");
        u32::from_be_bytes(*bytes) & 0x7fff_ffff
    }
}

impl fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TotpSecret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> TotpSecret {
        TotpSecret::from_bytes(b"12345678901234567890").unwrap()
    }

    #[test]
    fn the_vectors_of_rfc_6238_are_met() {
        for (seconds, eight_digits) in [
            (59, 94_287_082),
            (1_111_111_109, 7_081_804),
            (1_111_111_111, 14_050_471),
            (1_234_567_890, 89_005_924),
            (2_000_000_000, 69_279_037),
            (20_000_000_000, 65_353_130),
        ] {
            let now = Timestamp::from_seconds(seconds);
            assert_eq!(secret().truncated(step_of(now)) % 100_000_000, eight_digits);
            let code = format!("{:06}", eight_digits % 1_000_000);
            assert_eq!(secret().matching_step(&code, now), Some(step_of(now)));
        }
    }

    #[test]
    fn a_code_is_accepted_one_step_early_and_one_step_late() {
        let code = "005924";
        let at = |seconds| {
            let step = secret().matching_step(code, Timestamp::from_seconds(seconds));
            step.map(|Step(step)| step)
        };
        // The step begins at 1_234_567_890.
        let step = Some(41_152_263);
        assert_eq!(at(1_234_567_859), None);
        for seconds in [1_234_567_860, 1_234_567_890, 1_234_567_919, 1_234_567_949] {
            assert_eq!(at(seconds), step, "{seconds}");
        }
        assert_eq!(at(1_234_567_950), None);
    }

    #[test]
    fn a_code_may_have_spaces_and_nothing_else() {
        let now = Timestamp::from_seconds(1_234_567_890);
        for code in ["005924", "005 924", " 00 59 24 ", "005\u{a0}924"] {
            assert!(secret().matching_step(code, now).is_some(), "{code:?}");
        }
        for code in ["", "5924", "0005924", "005925", "005924x", "005-924", "००५९२४"] {
            assert!(secret().matching_step(code, now).is_none(), "{code:?}");
        }
    }

    #[test]
    fn base32_is_written_and_read() {
        assert_eq!(*secret().base32(), "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ");
        assert_eq!(*secret().to_text(), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ");
        let read = |text: &str| TotpSecret::from_base32(text).map(|secret| secret.0.to_vec());
        for text in [
            "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
            "gezd gnbv gy3t qojq gezd gnbv gy3t qojq",
            " gezd-gnbv-gy3t-qojq-gezd-gnbv-gy3t-qojq== ",
        ] {
            assert_eq!(read(text).as_deref(), Some(secret().as_bytes()), "{text}");
        }
        for length in 10..=64 {
            let bytes: Vec<u8> = (0..length).map(|at| 255 - at * 3).collect();
            let secret = TotpSecret::from_bytes(&bytes).unwrap();
            assert_eq!(read(&secret.base32()), Some(bytes));
        }
        for text in [
            "",
            // 9 bytes, and 65.
            "AAAAAAAAAAAAAAA",
            &"A".repeat(104),
            // A character too many, bits behind the last byte, no base32.
            "AAAAAAAAAAAAAAAAAAAAAAAAAAA",
            "AAAAAAAAAAAAAAAAAAAAAAAAAB",
            "AAAAAAAAAAAAAAAAAAAAAAAAA1",
            "AAAAAAAAAAAAAAAAAAAAAAAAé",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn the_uri_names_issuer_and_account() {
        assert_eq!(
            *secret().otpauth_uri("Ada: Söhne & Co", "ada+x@example.com"),
            "otpauth://totp/Ada%20%20S%C3%B6hne%20%26%20Co:ada%2Bx@example.com\
             ?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Ada%20%20S%C3%B6hne%20%26%20Co\
             &algorithm=SHA1&digits=6&period=30"
        );
    }

    #[test]
    fn a_secret_is_random_and_does_not_show_itself() {
        assert_ne!(TotpSecret::random().as_bytes(), TotpSecret::random().as_bytes());
        assert_eq!(TotpSecret::random().as_bytes().len(), 20);
        assert_eq!(format!("{:?}", secret()), "TotpSecret(…)");
    }
}
