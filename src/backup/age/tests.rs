//! Files of Debian's age 1.1.1 are read here; `tests/backup` has the other direction.

use std::io::{Read, Write};

use base64::{Engine, prelude::BASE64_STANDARD};

use super::*;

const RECIPIENT: &str = "age1qkefcm3zj079rna73kqtehjrmtjdmn2qzcjfaqcapdfafcjgf3rqu7xeqx";
const IDENTITY: &str = "# created: 2026-11-16T06:58:03Z\n\
    AGE-SECRET-KEY-1NYG5SFYF54NY5GVERZ60PTSDAVGWM8SYSVR6C04K9QLAKT5DL6UQS6HPVS\n";
const BY_AGE: &str = "YWdlLWVuY3J5cHRpb24ub3JnL3YxCi0+IFgyNTUxOSBMZkZpRXcrTUpLaXE2OHBBMHpPM1pPYngrajZvMVV3RE5YZjZX\
    UG14ZDFFCmNqTUxMbGRPQnlKamFwZ0ZXblZUV0FMN1JqcWU5MjhYTWFxRWxSWlZCNE0KLS0tIDB4bEtvU3lyWTJnWkpCSGt0SmovRWh4dVlWV3M1VURqYj\
    VmWHpkTFRZNEEK+1wf1SnkjXxrciVHiygq4umc6RHm+pPTuqzmch9+b15H6iyGCXVI6m1UNGs=";
const OTHER_IDENTITY: &str =
    "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";

fn encrypted(plain: &[u8]) -> Vec<u8> {
    let recipients = [Recipient::parse(RECIPIENT).unwrap()];
    let mut encryptor = Encryptor::new(Vec::new(), &recipients).unwrap();
    // In pieces that do not divide a part.
    plain.chunks(10_007).for_each(|piece| encryptor.write_all(piece).unwrap());
    encryptor.finish().unwrap()
}

fn decrypted(file: &[u8]) -> io::Result<Vec<u8>> {
    let identities = Identities::parse_file(IDENTITY).unwrap();
    let mut plain = Vec::new();
    Decryptor::new(file, &identities)?.read_to_end(&mut plain)?;
    Ok(plain)
}

#[test]
fn a_file_of_age_is_decrypted() {
    let file = BASE64_STANDARD.decode(BY_AGE).unwrap();
    assert_eq!(decrypted(&file).unwrap(), b"hello of age");
}

#[test]
fn files_of_every_size_are_decrypted() {
    for size in [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 3 * CHUNK_BYTES] {
        let plain: Vec<u8> = (0..size).map(|number| (number % 251) as u8).collect();
        let file = encrypted(&plain);
        assert!(is_encrypted(&file));
        assert!(decrypted(&file).unwrap() == plain, "{size} bytes");
    }
}

#[test]
fn a_change_of_any_byte_is_an_error() {
    let file = encrypted(b"a secret");
    for number in 0..file.len() {
        for bit in [0x01, 0x80] {
            let mut damaged = file.clone();
            damaged[number] ^= bit;
            assert!(decrypted(&damaged).is_err(), "byte {number}");
        }
    }
}

#[test]
fn a_file_that_was_cut_or_extended_is_an_error() {
    let short = encrypted(b"a secret");
    (0..short.len()).for_each(|length| assert!(decrypted(&short[..length]).is_err(), "{length}"));
    let long = encrypted(&vec![7; 2 * CHUNK_BYTES + 5]);
    let parts_end = long.len() - 5 - TAG_BYTES;
    for length in [parts_end - CHUNK_BYTES - TAG_BYTES, parts_end, parts_end + 1, long.len() - 1] {
        assert!(decrypted(&long[..length]).is_err(), "{length}");
    }
    assert!(decrypted(&[&long[..], b"x"].concat()).is_err());
    // The second part moved to the front.
    let first = long.len() - 5 - 3 * TAG_BYTES - 2 * CHUNK_BYTES;
    let second = first + CHUNK_BYTES + TAG_BYTES;
    let swapped =
        [&long[..first], &long[second..parts_end], &long[first..second], &long[parts_end..]];
    assert!(decrypted(&swapped.concat()).is_err());
}

#[test]
fn only_the_right_identity_decrypts() {
    let other = Identities::parse_file(OTHER_IDENTITY).unwrap();
    let outcome = Decryptor::new(&encrypted(b"a secret")[..], &other).map(drop);
    let error = outcome.unwrap_err().downcast::<Error>().unwrap();
    assert!(matches!(error, Error::WrongIdentity), "{error:?}");
    let both = Identities::parse_file(&format!("{OTHER_IDENTITY}\n\n{IDENTITY}")).unwrap();
    assert!(Decryptor::new(&encrypted(b"a secret")[..], &both).is_ok());
}

#[test]
fn keys_that_are_none_are_refused() {
    for text in ["", "age1", "ssh-ed25519 AAAA", OTHER_IDENTITY] {
        assert!(matches!(Recipient::parse(text), Err(Error::NotARecipient(_))), "{text}");
    }
    // An identity in the place of a recipient is not shown.
    let secret = OTHER_IDENTITY.lines().last().unwrap();
    assert!(!Recipient::parse_file(OTHER_IDENTITY).unwrap_err().to_string().contains(secret));
    for text in ["", "# nothing\n", RECIPIENT, "AGE-SECRET-KEY-1"] {
        assert!(matches!(Identities::parse_file(text), Err(Error::NotAnIdentity)), "{text}");
    }
    assert!(matches!(Recipient::parse_file("# nobody\n\n"), Err(Error::NoRecipients)));
    let file = format!("# one\n{RECIPIENT}\n\n{RECIPIENT}\n");
    assert_eq!(Recipient::parse_file(&file).unwrap().len(), 2);
    // All zeros is a point of low order.
    let zero =
        Recipient::parse("age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq5cu47z").unwrap();
    assert!(Encryptor::new(Vec::new(), &[zero]).is_err());
}
