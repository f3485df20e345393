//! Recognizes misspelled words.

/// The known word that is most similar to `typed`, if one is similar enough.
pub(crate) fn suggest<'a>(typed: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    const CLOSE: f64 = 0.75;
    known
        .map(|word| (strsim::jaro_winkler(typed, word), word))
        .filter(|(similarity, _)| *similarity >= CLOSE)
        .max_by(|(one, _), (other, _)| one.total_cmp(other))
        .map(|(_, word)| word)
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
