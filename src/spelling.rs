//! Recognizes misspelled words.

/// The known word that is most similar to `typed`, if one is similar enough: with few mistakes, or abbreviated. What both start with,
/// such as the name of a table, does not count.
pub(crate) fn suggest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    known
        .filter(|word| {
            let (typed, word) = without_common_parts(typed, word);
            is_close(&typed.to_lowercase(), &word.to_lowercase())
        })
        .map(|word| (strsim::jaro_winkler(typed, word), word))
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, word)| word)
}

/// Both without the parts that they have in common at the start, up to the last part.
fn without_common_parts<'a>(typed: &'a str, word: &'a str) -> (&'a str, &'a str) {
    let is_separator = |byte: u8| matches!(byte, b'.' | b'_');
    let same = typed.bytes().zip(word.bytes()).take_while(|(one, other)| one == other);
    let common = same.enumerate().filter(|(_, (byte, _))| is_separator(*byte)).last();
    let start = common.map_or(0, |(at, _)| at + 1);
    (&typed[start..], &word[start..])
}

/// Whether few mistakes turn one word into the other, or one is the start or the end of the other.
fn is_close(typed: &str, word: &str) -> bool {
    const SHORTEST_ABBREVIATION: usize = 3;
    let longest = typed.chars().count().max(word.chars().count());
    // Another first letter is another word.
    let same_start = typed.chars().next() == word.chars().next();
    let mistakes = if same_start { longest.div_ceil(3) } else { longest / 4 };
    let (short, long) = if typed.len() < word.len() { (typed, word) } else { (word, typed) };
    let is_part = long.starts_with(short) || long.ends_with(short);
    strsim::osa_distance(typed, word) <= mistakes || is_part && short.len() >= SHORTEST_ABBREVIATION
}

/// Whether `typed` is `word` with a typing mistake, in another notation or abbreviated. Stricter than [`suggest`], because
/// a match refuses a request that would otherwise succeed.
pub(crate) fn is_misspelling(typed: &str, word: &str) -> bool {
    /// Shorter words are one mistake away from too many others.
    const SHORT: usize = 5;
    const SHORTEST_ABBREVIATION: usize = 4;
    let typed: String =
        typed.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let mistakes = (word.len() / 4).max(1);
    if typed.is_empty() || typed.chars().count() > word.len() + mistakes {
        return false;
    }
    if typed.len() >= SHORTEST_ABBREVIATION && word.starts_with(&typed) {
        return true;
    }
    let same_start = typed.chars().next() == word.chars().next();
    let same_end = typed.chars().last() == word.chars().last();
    match strsim::osa_distance(&typed, word) {
        0 => true,
        1 => word.len() >= SHORT || same_start || sorted(&typed) == sorted(word),
        // Not "passport" for "password".
        distance => distance <= mistakes && same_start && same_end,
    }
}

fn sorted(word: &str) -> Vec<char> {
    let mut letters: Vec<_> = word.chars().collect();
    letters.sort_unstable();
    letters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_suggested_for_a_few_mistakes_or_a_part_of_it() {
        let known = [
            "listen",
            "log",
            "log_format",
            "database_url",
            "token.lifetime",
            "token.issuer",
            "session.idle_timeout",
            "mail.url",
            "roles",
            "emailVerified",
            "tries",
        ];
        let suggested = |typed| suggest(typed, known.into_iter());
        for (typed, meant) in [
            ("listn", "listen"),
            ("lsiten", "listen"),
            ("listen_address", "listen"),
            ("log_level", "log"),
            ("log_fromat", "log_format"),
            ("database", "database_url"),
            ("tokn.lifetime", "token.lifetime"),
            ("token.lifetme", "token.lifetime"),
            ("session.timeout", "session.idle_timeout"),
            ("role", "roles"),
            ("rolls", "roles"),
            ("emailverified", "emailVerified"),
            ("trys", "tries"),
        ] {
            assert_eq!(suggested(typed), Some(meant), "{typed}");
        }
        // Another word in the same table, or a word that only looks alike.
        for typed in
            ["token.secret", "token.audience", "session.secret", "mail.port", "title", "x", ""]
        {
            assert_eq!(suggested(typed), None, "{typed}");
        }
    }

    #[test]
    fn typing_mistakes_other_notations_and_abbreviations_are_misspellings() {
        for (word, misspellings) in [
            (
                "password",
                "passwrod passwd pasword passowrd password1 passwords Password PASSWORD pass_word pass-word \
                 passwor pass passw paßword apssword",
            ),
            ("email", "e-mail E-Mail e_mail Email mail emial emai eamil emails"),
            ("name", "Name nmae nam names anme nane NAME"),
            ("current", "curent currnet Current curr currents"),
            ("new", "nwe New news ne enw"),
            ("code", "Code cod codes ocde coed"),
        ] {
            for typed in misspellings.split_whitespace() {
                assert!(is_misspelling(typed, word), "{typed} for {word}");
            }
        }
    }

    #[test]
    fn another_word_is_not_a_misspelling() {
        for (word, others) in [
            (
                "password",
                "pwd passphrase password_hash passwordHash passwordConfirm confirmPassword secret passport pas p",
            ),
            ("email", "username emailVerified mailbox male address e"),
            ("name", "username surname nickname firstName fname lname node none game same n"),
            ("current", "currency currentPassword present old"),
            ("new", "newPassword newsletter few view w"),
            ("code", "mode node token countryCode qrcode"),
        ] {
            for typed in others.split_whitespace().chain(["", "-", "日本語"]) {
                assert!(!is_misspelling(typed, word), "{typed} for {word}");
            }
        }
    }
}
