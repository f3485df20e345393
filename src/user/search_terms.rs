//! What users are searched by: the words of the name and of the address, the roles, and whether the user is disabled.

use std::collections::BTreeSet;

use super::User;

/// The term of disabled users. No word starts with a colon.
pub const DISABLED: &str = ":disabled";

/// More words of an address and a name are not searched. Longer ones are cut off.
const MAX_WORDS: usize = 32;
const MAX_WORD_BYTES: usize = 64;

/// The term of users with this role.
pub fn role_term(role: &str) -> String {
    format!(":role:{role}")
}

/// The words of a text, in lower case: letters and digits that follow each other.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(|word| {
        let mut word = word.to_lowercase();
        word.truncate(word.floor_char_boundary(MAX_WORD_BYTES));
        word
    })
}

impl User {
    /// The terms that find the user. The index of the database has each of them.
    pub fn search_terms(&self) -> BTreeSet<String> {
        let mut terms = BTreeSet::new();
        for word in words(self.email.as_str()).chain(words(self.name.as_str())) {
            if terms.len() < MAX_WORDS {
                terms.insert(word);
            }
        }
        terms.extend(self.roles.iter().map(role_term));
        terms.extend(self.disabled.then(|| DISABLED.to_owned()));
        terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        clock::Timestamp,
        user::{Email, Name, Role},
    };

    #[test]
    fn a_user_is_found_by_words_roles_and_state() {
        let name = Name::parse("Ünal  O'Brien-Ünal".into()).unwrap();
        let email = Email::parse("U.Nal+news@Mail.example".into()).unwrap();
        let mut user = User::new(name, email, None, Timestamp::from_seconds(0));
        let terms = |user: &User| user.search_terms().into_iter().collect::<Vec<_>>().join(" ");
        assert_eq!(terms(&user), "brien example mail nal news o u ünal");
        user.roles.grant(Role::parse("staff").unwrap());
        user.disabled = true;
        assert!(terms(&user).starts_with(":disabled :role:staff brien "));
    }

    #[test]
    fn a_name_of_many_words_does_not_hide_the_address() {
        let letters: Vec<_> =
            ('a'..='z').flat_map(|c| [c.to_string(), format!("{c}{c}")]).collect();
        let name = Name::parse(letters.join(" ")).unwrap();
        let email = Email::parse("eve@mail.example".into()).unwrap();
        let terms = User::new(name, email, None, Timestamp::from_seconds(0)).search_terms();
        assert_eq!(terms.len(), MAX_WORDS);
        assert!(["eve", "mail", "example"].iter().all(|word| terms.contains(*word)));
    }

    #[test]
    fn words_are_bounded() {
        let word = words(&"ß".repeat(50)).next().unwrap();
        assert_eq!(word, "ß".repeat(32));
        assert_eq!(words(" .%_@ ").count(), 0);
    }
}
