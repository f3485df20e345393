//! Names of users.

use crate::{fault::Fault, json_schema::text_schema};

/// Whether a character changes how the text around it is shown: control characters, bidirectional embeddings, overrides and
/// isolates, and the separators of lines and paragraphs.
pub(crate) fn is_control(character: char) -> bool {
    character.is_control() || matches!(character, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// The name of a user: trimmed, 2 to 200 characters, no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(String);

text_schema!(Name as "Name" {
    "description": format!(
        "{} to {} characters after trimming, without control characters, bidirectional controls and separators of lines",
        Name::MIN_CHARACTERS,
        Name::MAX_CHARACTERS,
    ),
    "pattern": Name::pattern(),
});

impl Name {
    pub(crate) const MIN_CHARACTERS: usize = 2;
    pub(crate) const MAX_CHARACTERS: usize = 200;

    /// The rule of [`Self::parse`] as a regular expression.
    fn pattern() -> String {
        // What `str::trim` removes, and `is_control`.
        const SPACE: &str = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000";
        const CONTROL: &str = r"\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069";
        let (end, inner) = (format!("[^{SPACE}{CONTROL}]"), Self::MAX_CHARACTERS - 2);
        format!("^[{SPACE}]*{end}[^{CONTROL}]{{0,{inner}}}{end}[{SPACE}]*$")
    }

    /// Trims and validates a name.
    ///
    /// # Errors
    /// A message for the user if the name is not valid.
    pub fn parse(sent: String) -> Result<Self, Fault> {
        let trimmed = sent.trim();
        let characters = trimmed.chars().count();
        if characters < Self::MIN_CHARACTERS {
            Err(Fault::too_short(Self::MIN_CHARACTERS))
        } else if characters > Self::MAX_CHARACTERS {
            Err(Fault::too_long(Self::MAX_CHARACTERS))
        } else if trimmed.chars().any(is_control) {
            Err(Fault::INVALID_NAME)
        } else {
            Ok(Self(trimmed.to_owned()))
        }
    }

    /// A stored name, which has been validated before, perhaps by other rules.
    pub(crate) fn from_store(stored: String) -> Self {
        Self(stored)
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the names are equal, ignoring letter case.
    #[inline]
    pub fn matches_ignoring_case(&self, other: &str) -> bool {
        fn lower(text: &str) -> impl Iterator<Item = char> {
            text.chars().flat_map(char::to_lowercase)
        }
        self.0 == other || lower(&self.0).eq(lower(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(sent: &str) -> Result<String, String> {
        Name::parse(sent.to_owned()).map(|n| n.0).map_err(|fault| fault.message().to_owned())
    }

    #[test]
    fn a_name_of_one_character_is_refused() {
        let message = "String must contain at least 2 character(s)".to_owned();
        assert_eq!(name(""), Err(message.clone()));
        assert_eq!(name("x"), Err(message.clone()));
        assert_eq!(name("  x  "), Err(message.clone()));
        assert_eq!(name("😀"), Err(message));
    }

    #[test]
    fn a_name_is_trimmed_and_may_have_200_characters() {
        assert_eq!(name("  Miles Davis\n"), Ok("Miles Davis".into()));
        assert_eq!(name(&"é".repeat(200)), Ok("é".repeat(200)));
        assert_eq!(
            name(&"é".repeat(201)),
            Err("String must contain at most 200 character(s)".into())
        );
    }

    #[test]
    fn a_control_character_in_a_name_is_refused() {
        for bad in ["a\u{0}b", "a\nb", "a\u{1b}[31mb", "a\u{85}b"] {
            assert_eq!(name(bad), Err("Invalid name".into()), "{bad:?}");
        }
    }

    #[test]
    fn a_name_cannot_change_the_direction_or_the_lines_of_other_text() {
        for bad in ('\u{2028}'..='\u{202e}').chain('\u{2066}'..='\u{2069}') {
            assert_eq!(name(&format!("a{bad}b")), Err("Invalid name".into()), "{bad:?}");
        }
        let neighbours = ['\u{2027}', '\u{202f}', '\u{2065}', '\u{206a}'];
        // A mark of direction and a joiner are part of real names.
        for good in neighbours.into_iter().chain(['\u{200f}', '\u{200d}', '\u{61c}']) {
            assert!(name(&format!("a{good}b")).is_ok(), "{good:?}");
        }
        let stored = Name::from_store("a\u{202e}b".into());
        assert_eq!(stored.as_str(), "a\u{202e}b", "a stored name stays");
    }

    #[test]
    fn names_match_in_any_letter_case() {
        let miles = Name::parse("MILES davis".into()).unwrap();
        assert!(miles.matches_ignoring_case("Miles Davis"));
        assert!(!miles.matches_ignoring_case("Miles Davi"));
        assert!(Name::parse("ÉLODIE Ünal".into()).unwrap().matches_ignoring_case("élodie ünal"));
    }
}
