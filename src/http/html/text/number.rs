//! Numbers as people read them.

/// A number in groups of three digits, separated by thin spaces.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join("\u{202f}")
}

/// A number with its noun, in the singular or the plural.
pub fn counted(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", grouped(number), if number == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_groups_of_three() {
        for (number, words) in
            [(0, "0"), (999, "999"), (1000, "1\u{202f}000"), (1_234_567, "1\u{202f}234\u{202f}567")]
        {
            assert_eq!(grouped(number), words);
        }
    }

    #[test]
    fn a_noun_agrees_with_its_number() {
        for (number, words) in [(0, "0 keys"), (1, "1 key"), (1000, "1\u{202f}000 keys")] {
            assert_eq!(counted(number, "key", "keys"), words);
        }
    }
}
