//! Makes text that others have written harmless before it reaches a terminal: a stored name, a field of an imported file, the reply
//! of a mail server. Control characters and bidirectional controls are shown as escapes.

use std::{
    borrow::Cow,
    fmt::Write as _,
    io::{self, Write},
};

use crate::user::is_control;

/// A longer text is cut when it is quoted.
const MAX_QUOTED: usize = 80;

/// The text of one or more lines. Line breaks and tabs stay.
pub(super) fn visible(text: &str) -> Cow<'_, str> {
    escaped(
        text,
        |character| !matches!(character, '\n' | '\t') && is_control(character),
        |character, escaped| {
            escaped.extend(character.escape_unicode());
        },
    )
}

/// A name of unknown length in a sentence: on one line, and cut if it is long.
pub(super) fn quoted(text: &str) -> String {
    let mut characters = text.chars();
    let mut start: String = characters.by_ref().take(MAX_QUOTED).collect();
    if characters.next().is_some() {
        start.push('…');
    }
    visible(&start).replace('\n', "\\n").replace('\t', "\\t")
}

/// Names in a sentence. Of many only the first ones.
pub(super) fn quoted_list<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    const MOST: usize = 20;
    let left = names.len().saturating_sub(MOST);
    let list: Vec<_> = names.take(MOST).map(quoted).collect();
    let more = if left == 0 { String::new() } else { format!(" and {left} more") };
    list.join(", ") + &more
}

/// A JSON document with the same meaning.
pub(super) fn visible_json(json: &str) -> Cow<'_, str> {
    let is_formatting = |character| matches!(character, '\n' | '\r' | '\t');
    // Such characters are only in strings.
    let is_escaped = |character| is_control(character) && !is_formatting(character);
    escaped(json, is_escaped, |character, escaped| {
        let _ = write!(escaped, "\\u{:04x}", u32::from(character));
    })
}

fn escaped(
    text: &str,
    is_escaped: impl Fn(char) -> bool,
    escape: impl Fn(char, &mut String),
) -> Cow<'_, str> {
    if !text.chars().any(&is_escaped) {
        return text.into();
    }
    let mut visible = String::with_capacity(text.len() + 16);
    for character in text.chars() {
        if is_escaped(character) {
            escape(character, &mut visible);
        } else {
            visible.push(character);
        }
    }
    visible.into()
}

/// Standard output for a serializer of JSON, which writes whole strings.
pub(super) struct JsonOutput;

impl Write for JsonOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match str::from_utf8(bytes) {
            Ok(json) => io::stdout().write_all(visible_json(json).as_bytes())?,
            Err(_) => io::stdout().write_all(bytes)?,
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_reaches_the_terminal() {
        assert_eq!(visible("Ada\nLovelace"), "Ada\nLovelace");
        assert_eq!(
            visible("a\u{1b}[31mb\u{9b}2J\u{7f}\r\u{202e}c\u{2066}\u{2029}"),
            "a\\u{1b}[31mb\\u{9b}2J\\u{7f}\\u{d}\\u{202e}c\\u{2066}\\u{2029}"
        );
        assert_eq!(visible("Zoë 😀 مريم"), "Zoë 😀 مريم");
    }

    #[test]
    fn a_quoted_name_stays_on_its_line_and_is_cut() {
        assert_eq!(quoted("a\nb\u{1b}"), "a\\nb\\u{1b}");
        assert_eq!(quoted(&"é".repeat(80)), "é".repeat(80));
        assert_eq!(quoted(&"é".repeat(81)), "é".repeat(80) + "…");
        let names: Vec<_> = (0..23).map(|number| number.to_string()).collect();
        let list = quoted_list(names.iter().map(String::as_str));
        assert!(list.starts_with("0, 1, ") && list.ends_with("18, 19 and 3 more"), "{list}");
    }

    #[test]
    fn escaped_json_means_the_same() {
        let name = "a\u{1b}\u{7f}\u{9b}\u{202e}\u{2028}\"\\\n😀";
        let json = serde_json::to_string_pretty(&[name]).unwrap();
        let visible = visible_json(&json);
        assert!(visible.chars().all(|character| character == '\n' || !is_control(character)));
        assert_eq!(serde_json::from_str::<Vec<String>>(&visible).unwrap(), [name]);
    }
}
