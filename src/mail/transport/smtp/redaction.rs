//! Removes from a server's reply what must not reach a log: the address of the recipient, the password, and secrets in links
//! that the reply quotes from the mail.

use base64::{Engine, prelude::BASE64_STANDARD};
use lettre::address::Envelope;
use zeroize::Zeroizing;

/// The most characters of a reply that are kept.
const MAX_REPLY: usize = 300;
/// The length of a one-time secret. Replies contain no other words of this length that matter.
const SECRET_LENGTH: usize = 43;

/// What is removed from replies.
#[derive(Default)]
pub(super) struct Redaction {
    hidden: Vec<Zeroizing<String>>,
}

impl Redaction {
    pub(super) fn for_mail(envelope: &Envelope) -> Self {
        Self { hidden: envelope.to().iter().map(|to| Zeroizing::new(to.to_string())).collect() }
    }

    pub(super) fn for_login(user: &str, password: &str) -> Self {
        let forms = [
            password.to_owned(),
            BASE64_STANDARD.encode(password),
            BASE64_STANDARD.encode(format!("\0{user}\0{password}")),
        ];
        Self { hidden: forms.map(Zeroizing::new).into() }
    }

    /// The text on one line, without what is hidden.
    pub(super) fn apply(&self, reply: &str) -> String {
        let mut text = reply.to_owned();
        for hidden in &self.hidden {
            text = replace_ignoring_case(&text, hidden);
        }
        let words = text.split(|c: char| c.is_whitespace() || c.is_control());
        let words: Vec<_> = words.filter(|word| !word.is_empty()).map(without_secret).collect();
        let text = words.join(" ");
        match text.char_indices().nth(MAX_REPLY) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
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

/// A word of a reply. The query of a URL and everything that can be a one-time secret is left out.
fn without_secret(word: &str) -> String {
    let is_secret = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let has_long_run = word.split(|c| !is_secret(c)).any(|run| run.len() >= SECRET_LENGTH);
    match word.find(['?', '=']) {
        Some(query) if word.contains("code") || word.contains("://") || has_long_run => {
            format!("{}…", &word[..=query])
        }
        None if has_long_run => "…".into(),
        _ => word.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_contain_no_recipient_password_or_secret() {
        let to = vec!["ada@example.com".parse().unwrap()];
        let mail = Redaction::for_mail(&Envelope::new(None, to).unwrap());
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
        ] {
            assert_eq!(mail.apply(reply), shown);
        }
        assert_eq!(mail.apply(&"é ".repeat(400)).chars().count(), 301);
        let login = Redaction::for_login("ada", "geheim");
        for secret in
            ["geheim".to_owned(), "Z2VoZWlt".into(), BASE64_STANDARD.encode("\0ada\0geheim")]
        {
            assert_eq!(login.apply(&format!("535 wrong: {secret}")), "535 wrong: …");
        }
    }
}
