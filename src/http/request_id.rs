//! The id of a request, in its answer and in the log. It reveals nothing else.

use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::http::{HeaderName, HeaderValue};

/// The header that carries the id of a request.
pub(crate) const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The id of one request, in its answer and in the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RequestId(u64);

impl RequestId {
    /// An id that no other request of this process has. It is an encrypted counter whose key only this process knows, so
    /// that two ids do not reveal how many requests were between them.
    pub fn next() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        static CIPHER: LazyLock<Speck> = LazyLock::new(Speck::with_random_key);
        Self(CIPHER.encrypt(COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    /// The id as the value of its header.
    pub fn header(self) -> HeaderValue {
        let [high, low] = [self.0 >> 32, self.0 & 0xffff_ffff].map(|half| digits(half as u32));
        let mut text = [0; 16];
        text[..8].copy_from_slice(&high);
        text[8..].copy_from_slice(&low);
        HeaderValue::from_bytes(&text).expect("digits are valid in a header")
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Eight hexadecimal digits, computed together, which costs a third of computing them one by one.
fn digits(number: u32) -> [u8; 8] {
    // Spreads each group of four bits into its own byte.
    let spread = u64::from(number);
    let spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let spread = (spread | spread << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    // A one in each byte above nine, whose digit is a letter.
    let letters = (spread + 0x0606_0606_0606_0606) >> 4 & 0x0101_0101_0101_0101;
    let gap = u64::from(b'a' - b'0' - 10);
    (spread + 0x3030_3030_3030_3030 + letters * gap).to_be_bytes()
}

/// The block cipher Speck64/128, which takes a few instructions per round on any CPU.
struct Speck {
    keys: [u32; Self::ROUNDS],
}

impl Speck {
    const ROUNDS: usize = 27;

    fn with_random_key() -> Self {
        let random = || RandomState::new().hash_one(0);
        let [one, two] = [random(), random()];
        Self::new([(one >> 32) as u32, one as u32, (two >> 32) as u32, two as u32])
    }

    /// The cipher with this key, whose last word is used first.
    fn new([l2, l1, l0, k0]: [u32; 4]) -> Self {
        let (mut keys, mut left) = ([k0; Self::ROUNDS], [l0, l1, l2]);
        for round in 0..Self::ROUNDS - 1 {
            let (word, key) = mix(left[round % 3], keys[round], round as u32);
            left[round % 3] = word;
            keys[round + 1] = key;
        }
        Self { keys }
    }

    fn encrypt(&self, block: u64) -> u64 {
        let halves = ((block >> 32) as u32, block as u32);
        let (high, low) = self.keys.iter().fold(halves, |(high, low), key| mix(high, low, *key));
        u64::from(high) << 32 | u64::from(low)
    }
}

fn mix(high: u32, low: u32, key: u32) -> (u32, u32) {
    let high = high.rotate_right(8).wrapping_add(low) ^ key;
    (high, low.rotate_left(3) ^ high)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_cipher_matches_the_published_test_vector() {
        let cipher = Speck::new([0x1b1a_1918, 0x1312_1110, 0x0b0a_0908, 0x0302_0100]);
        assert_eq!(cipher.encrypt(0x3b72_6574_7475_432d), 0x8c6f_a548_454e_028b);
    }

    #[test]
    fn the_header_and_the_log_show_the_same_digits() {
        for number in [0, 1, 0x0123_4567_89ab_cdef, u64::MAX, 0xa0a0_9090_f0f0_0909] {
            let id = RequestId(number);
            assert_eq!(id.header().to_str().unwrap(), id.to_string());
        }
    }

    #[test]
    fn ids_differ_and_do_not_reveal_how_many_requests_were_between() {
        let ids: Vec<_> = (0..1000).map(|_| RequestId::next().0).collect();
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len());
        let steps: HashSet<_> = ids.windows(2).map(|two| two[1].wrapping_sub(two[0])).collect();
        assert!(steps.len() > 990, "the steps between ids differ");
    }
}
