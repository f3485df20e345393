//! Common passwords. `script/common-passwords` generates the table and names its sources.

use zeroize::Zeroizing;

use crate::sha256::sha256;

/// The first bytes of the SHA-256 of each password in lower case, sorted. The table is read-only data of the binary, so
/// it takes no memory before it is first used.
const TABLE: &[u8] = include_bytes!("common.bin");
/// With 40 bits, one in 20 million other passwords is mistaken for a common one.
const PREFIX_BYTES: usize = 5;

/// Whether a password is common, ignoring case.
pub(super) fn is_common(password: &str) -> bool {
    let lower = Zeroizing::new(password.to_lowercase());
    let digest = sha256(lower.as_bytes());
    let (table, _) = TABLE.as_chunks::<PREFIX_BYTES>();
    let wanted = digest.first_chunk::<PREFIX_BYTES>();
    wanted.is_some_and(|prefix| table.binary_search(prefix).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_has_more_than_50_000_passwords() {
        let (table, rest) = TABLE.as_chunks::<PREFIX_BYTES>();
        assert!(table.len() > 50_000 && rest.is_empty());
        assert!(table.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn common_passwords_are_found_in_any_case() {
        for common in [
            "12345678",
            "password",
            "123456789",
            "1234567890",
            "qwertyuiop",
            "iloveyou",
            "princess",
            "sunshine",
            "football",
            "baseball",
            "superman",
            "trustno1",
            "starwars",
            "password1",
            "qwerty123",
            "1q2w3e4r",
            "1qaz2wsx",
            "michelle",
            "computer",
            "whatever",
            "letmein",
            "passw0rd",
            "abcd1234",
            "liverpool",
            "charlie1",
            "asdfghjkl",
            "zxcvbnm",
            "11111111",
            "Password",
            "PASSWORD1",
            "QwErTy123",
            "пароль",
        ] {
            assert!(is_common(common), "{common}");
        }
    }

    #[test]
    fn other_passwords_are_not_common() {
        for other in ["correct horse", "correct horse battery", "", "        ", "Tr0ub4dor&3x"] {
            assert!(!is_common(other), "{other}");
        }
        // One in 20 million would be mistaken for a common one.
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            assert!(!is_common(&format!("{state:016x}")), "{state:016x}");
        }
    }
}
