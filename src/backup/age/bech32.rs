//! Bech32 (BIP 173), in which age writes keys: a prefix, a 1, the data in groups of five bits, and a checksum.

use zeroize::Zeroizing;

const ALPHABET: &[u8; 32] = b"qpzry9x8gf2tvdw0s3jn54khce6mua7l";
const CHECKSUM_GROUPS: usize = 6;
/// The checksum of a valid text.
const VALID: u32 = 1;

/// The 32 bytes of a key with this prefix in lower case. The text is in lower case or in upper case.
pub(super) fn decode(prefix: &str, text: &str) -> Option<Zeroizing<[u8; 32]>> {
    let lower = Zeroizing::new(text.to_ascii_lowercase());
    if *lower != text && text.contains(|c: char| c.is_ascii_lowercase()) {
        return None;
    }
    let data = lower.strip_prefix(prefix)?.strip_prefix('1')?;
    // With its capacity from the start, so that growing leaves no copy behind.
    let mut groups = Zeroizing::new(Vec::with_capacity(data.len()));
    for c in data.bytes() {
        groups.push(ALPHABET.iter().position(|letter| *letter == c)? as u8);
    }
    if checksum(prefix, &groups) != VALID {
        return None;
    }
    let groups = &groups[..groups.len().checked_sub(CHECKSUM_GROUPS)?];
    let (mut key, mut length) = (Zeroizing::new([0; 32]), 0);
    let (mut bits, mut count) = (0_u32, 0);
    for group in groups {
        bits = bits << 5 | u32::from(*group);
        count += 5;
        if count >= 8 {
            count -= 8;
            *key.get_mut(length)? = (bits >> count) as u8;
            length += 1;
            bits &= (1 << count) - 1;
        }
    }
    // The last group is filled up with zeros.
    (length == key.len() && count < 5 && bits == 0).then_some(key)
}

/// The remainder of the text as a polynomial.
fn checksum(prefix: &str, groups: &[u8]) -> u32 {
    const GENERATORS: [u32; 5] = [0x3b6a_57b2, 0x2650_8e6d, 0x1ea1_19fa, 0x3d42_33dd, 0x2a14_62b3];
    let high = prefix.bytes().map(|c| c >> 5);
    let low = prefix.bytes().map(|c| c & 31);
    let values = high.chain([0]).chain(low).chain(groups.iter().copied());
    values.fold(1, |remainder: u32, value| {
        let top = remainder >> 25;
        let next = (remainder & 0x1ff_ffff) << 5 ^ u32::from(value);
        (0..5).filter(|bit| top >> bit & 1 == 1).fold(next, |next, bit| next ^ GENERATORS[bit])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by age-keygen 1.1.1.
    const RECIPIENT: &str = "age1qkefcm3zj079rna73kqtehjrmtjdmn2qzcjfaqcapdfafcjgf3rqu7xeqx";

    #[test]
    fn a_recipient_of_age_is_decoded() {
        let key = decode("age", RECIPIENT).unwrap();
        assert_eq!(key[..4], [0x05, 0xb2, 0x9c, 0x6e]);
        assert_eq!(decode("age", &RECIPIENT.to_uppercase()), Some(key));
    }

    #[test]
    fn every_other_text_is_refused() {
        for number in 0..RECIPIENT.len() {
            let mut text = RECIPIENT.to_owned().into_bytes();
            text[number] = if text[number] == b'q' { b'p' } else { b'q' };
            assert_eq!(decode("age", str::from_utf8(&text).unwrap()), None, "at {number}");
        }
        let mixed = RECIPIENT.replacen('z', "Z", 1);
        let other = RECIPIENT.replacen("age", "aga", 1);
        let (short, long) = (&RECIPIENT[..RECIPIENT.len() - 1], format!("{RECIPIENT}q"));
        for text in ["", "age1", "age", &mixed, &other, short, &long, "age1ü"] {
            assert_eq!(decode("age", text), None, "{text}");
        }
    }
}
