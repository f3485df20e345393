//! Removes from a server's reply what must not reach a log: the address of the recipient, the password, and the code and the
//! secret that the reply quotes from the mail.

use base64::{
    Engine, alphabet,
    engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig},
    prelude::BASE64_STANDARD,
};
use zeroize::Zeroizing;

use crate::mail::Composed;

/// The most characters of a reply that are kept.
const MAX_REPLY: usize = 300;
/// The length of a one-time secret. Replies contain no other words of this length that matter.
const SECRET_LENGTH: usize = 43;
/// A code consists of two groups of so many digits. No longer number is kept: it may be from any mail.
const GROUP_LENGTH: usize = 4;
/// A word that has so many characters in common with the secret of the mail is a part of it.
const PART_LENGTH: usize = 8;
/// The most characters between two digits of a code that is written with separators.
const MAX_SEPARATORS: usize = 8;

/// Reads base64 that begins and ends anywhere.
const FRAGMENTS: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(base64::engine::DecodePaddingMode::Indifferent),
);

/// What is removed from replies.
#[derive(Clone, Default)]
pub(super) struct Redaction {
    hidden: Vec<Zeroizing<String>>,
    /// The digits of the code in the mail.
    code: Zeroizing<String>,
    /// The secret in its link.
    secret: Zeroizing<String>,
}

impl Redaction {
    pub(super) fn for_mail(mail: &Composed) -> Self {
        let digits = |code: &String| code.chars().filter(char::is_ascii_digit).collect();
        let secret = |link: &String| {
            let (_, secret) = link.rsplit_once('=')?;
            Some(secret.to_owned())
        };
        Self {
            hidden: mail.envelope.to().iter().map(|to| Zeroizing::new(to.to_string())).collect(),
            code: Zeroizing::new(mail.contents.code.as_ref().map(digits).unwrap_or_default()),
            secret: Zeroizing::new(
                mail.contents.link.as_ref().and_then(secret).unwrap_or_default(),
            ),
        }
    }

    pub(super) fn for_login(user: &str, password: &str) -> Self {
        let forms = [
            password.to_owned(),
            BASE64_STANDARD.encode(password),
            BASE64_STANDARD.encode(format!("\0{user}\0{password}")),
        ];
        Self { hidden: forms.map(Zeroizing::new).into(), ..Self::default() }
    }

    /// Removes what the other one removes as well.
    pub(super) fn and(&self, login: &Self) -> Self {
        Self { hidden: [&self.hidden[..], &login.hidden[..]].concat(), ..self.clone() }
    }

    /// The text on one line, without what is hidden.
    pub(super) fn apply(&self, reply: &str) -> String {
        let mut text = reply.to_owned();
        for hidden in &self.hidden {
            text = replace_ignoring_case(&text, hidden);
        }
        text = without_separated(&text, &self.code);
        let words = text.split(is_separator).filter(|word| !word.is_empty());
        let words: Vec<_> = words.map(|word| self.without_secret(word)).collect();
        let text = words.join(" ");
        match text.char_indices().nth(MAX_REPLY) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }

    /// A word of a reply. The query of a URL, long numbers and everything that can be a part of a one-time secret is left out.
    fn without_secret(&self, word: &str) -> String {
        let is_secret = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let has_long_run = word.split(|c| !is_secret(c)).any(|run| run.len() >= SECRET_LENGTH);
        if self.is_part_of_secret(word.as_bytes()) || self.is_encoded(word) {
            return "…".into();
        }
        match word.find(['?', '=']) {
            Some(query) if word.contains("code") || word.contains("://") || has_long_run => {
                without_numbers(&format!("{}…", &word[..=query]))
            }
            None if has_long_run => "…".into(),
            _ => without_numbers(word),
        }
    }

    fn is_part_of_secret(&self, word: &[u8]) -> bool {
        let parts = |text| <[u8]>::windows(text, PART_LENGTH);
        parts(word).any(|part| parts(self.secret.as_bytes()).any(|known| known == part))
    }

    /// Whether a word contains the code or a part of the secret in base64.
    fn is_encoded(&self, word: &str) -> bool {
        let is_base64 = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
        let groups = self.code.as_bytes().chunks_exact(GROUP_LENGTH);
        let shows = |decoded: &[u8]| {
            groups.clone().any(|group| decoded.windows(GROUP_LENGTH).any(|part| part == group))
                || self.is_part_of_secret(decoded)
        };
        word.split(|c| !is_base64(c)).any(|run| {
            // A fragment may begin at any of four places of a group.
            (0..4).filter_map(|start| run.get(start..)).any(|run| {
                // One character alone is less than a byte.
                let length = if run.len() % 4 == 1 { run.len() - 1 } else { run.len() };
                FRAGMENTS.decode(&run[..length]).is_ok_and(|decoded| shows(&decoded))
            })
        })
    }
}

/// White space, control characters, and characters that change how others are shown.
fn is_separator(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

fn replace_ignoring_case(text: &str, hidden: &str) -> String {
    if hidden.is_empty() {
        return text.to_owned();
    }
    // ASCII lower case keeps every byte at its place.
    let (lower, hidden) = (text.to_ascii_lowercase(), Zeroizing::new(hidden.to_ascii_lowercase()));
    let (mut result, mut copied) = (String::with_capacity(text.len()), 0);
    for (at, found) in lower.match_indices(hidden.as_str()) {
        result.push_str(&text[copied..at]);
        result.push('…');
        copied = at + found.len();
    }
    result.push_str(&text[copied..]);
    result
}

/// The text without these digits, which may have a few other characters between them that are neither letters nor digits.
fn without_separated(text: &str, digits: &str) -> String {
    if digits.is_empty() {
        return text.to_owned();
    }
    let (mut result, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(next) = rest.chars().next() {
        match length_of_separated(rest, digits) {
            Some(length) => {
                result.push('…');
                rest = &rest[length..];
            }
            None => {
                result.push(next);
                rest = &rest[next.len_utf8()..];
            }
        }
    }
    result
}

/// The length of these digits at the beginning of the text, with what is between them.
fn length_of_separated(text: &str, digits: &str) -> Option<usize> {
    let (mut expected, mut between) = (digits.chars().peekable(), 0);
    for (at, c) in text.char_indices() {
        if Some(&c) == expected.peek() {
            expected.next();
            between = 0;
        } else if at == 0 || c.is_alphanumeric() || between == MAX_SEPARATORS {
            return None;
        } else {
            between += 1;
        }
        if expected.peek().is_none() {
            return Some(at + c.len_utf8());
        }
    }
    None
}

/// The word without long numbers.
fn without_numbers(word: &str) -> String {
    let (mut result, mut rest) = (String::with_capacity(word.len()), word);
    while let Some(start) = rest.find(char::is_numeric) {
        let number = &rest[start..];
        let end = number.find(|c: char| !c.is_numeric()).unwrap_or(number.len());
        result.push_str(&rest[..start]);
        result.push_str(if number[..end].chars().count() < GROUP_LENGTH {
            &number[..end]
        } else {
            "…"
        });
        rest = &number[end..];
    }
    result + rest
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_URL_SAFE_NO_PAD;
    use lettre::address::Envelope;

    use super::*;
    use crate::mail::Contents;

    const CODE: &str = "1234 5678";
    const SECRET: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO-_";

    fn mail() -> Composed {
        let to = vec!["ada@example.com".parse().unwrap()];
        let link = Some(format!("https://auth.example.com/reset?code={SECRET}"));
        let contents = Contents { link, code: Some(CODE.into()), ..Contents::default() };
        Composed { envelope: Envelope::new(None, to).unwrap(), bytes: Vec::new(), contents }
    }

    #[test]
    fn replies_contain_no_recipient_password_or_secret() {
        let mail = Redaction::for_mail(&mail());
        let secret = "q".repeat(43);
        for (reply, shown) in [
            ("550 5.1.1 <Ada@Example.com>: unknown\r\n", "550 5.1.1 <…>: unknown"),
            (
                &format!("554 bad link https://auth.example.com/reset?code={secret}!"),
                "554 bad link https://auth.example.com/reset?…",
            ),
            (&format!("554 bad link code={secret}"), "554 bad link code=…"),
            (&format!("554 {secret} refused"), "554 … refused"),
            ("451 4.7.1 try\tagain\u{7} later", "451 4.7.1 try again later"),
            ("451 4.7.1 \u{202e}txet \u{0}", "451 4.7.1 txet"),
            ("421 4.7.0 [192.0.2.123] port 465 3.2.x", "421 4.7.0 [192.0.2.123] port 465 3.2.x"),
        ] {
            assert_eq!(mail.apply(reply), shown);
        }
        assert_eq!(mail.apply(&"é ".repeat(400)).chars().count(), 301);
        let login = Redaction::for_login("ada", "geheim");
        for secret in
            ["geheim".to_owned(), "Z2VoZWlt".into(), BASE64_STANDARD.encode("\0ada\0geheim")]
        {
            assert_eq!(login.apply(&format!("535 wrong: {secret}")), "535 wrong: …");
            assert_eq!(mail.and(&login).apply(&format!("550 {secret}")), "550 …");
        }
    }

    #[test]
    fn replies_contain_no_code_that_they_quote_in_any_form() {
        let redaction = Redaction::for_mail(&mail());
        let encoded =
            |shift: &str| BASE64_STANDARD.encode(format!("{shift}your code is {CODE}, friend"));
        for quoted in [
            "1234 5678".to_owned(),
            "12345678".into(),
            "1234\u{a0}5678".into(),
            "1234-5678".into(),
            "1234\r\n5678".into(),
            "1234".into(),
            "code:5678.".into(),
            "12 34 56 78".into(),
            "1.2.3.4.5.6.7.8".into(),
            "123 456 78".into(),
            "1234=C2=A05678".into(),
            "1234&nbsp;5678".into(),
            "１２３４ ５６７８".into(),
            encoded(""),
            encoded("x"),
            encoded("xx"),
            BASE64_URL_SAFE_NO_PAD.encode("1234"),
        ] {
            let shown = redaction.apply(&format!("550 5.7.1 your code {quoted} is spam"));
            let rest = shown.strip_prefix("550 5.7.1 your code ").unwrap_or(&shown);
            let digits = rest.chars().filter(|c| c.is_numeric()).count();
            assert!(rest.contains('…') && digits <= 2, "{quoted}: {shown}");
        }
        // A mail that was sent before is not known any more.
        assert_eq!(redaction.apply("550 8765 4321 is spam"), "550 … … is spam");
    }

    #[test]
    fn replies_contain_no_part_of_a_secret_that_they_quote() {
        let redaction = Redaction::for_mail(&mail());
        let (first, second) = SECRET.split_at(20);
        for quoted in [
            format!("code=3D{first}=\r\n{second}"),
            format!("{first} {second}"),
            BASE64_STANDARD.encode(format!("x{SECRET}")),
        ] {
            let shown = redaction.apply(&format!("554 {quoted} refused"));
            let is_shown = SECRET
                .as_bytes()
                .windows(PART_LENGTH)
                .any(|part| shown.as_bytes().windows(PART_LENGTH).any(|other| other == part));
            assert!(!is_shown && shown.ends_with("refused") && shown.len() < 40, "{shown}");
        }
    }
}
