//! Reads the entries of a file: the lines of a CSV or JSONL file, or the objects of a JSON file.

use std::fmt;

use anyhow::{Context, anyhow, bail};
use serde_json::{Map, Value};

/// How the entries of a file are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// Comma-separated values with a header line
    Csv,
    /// One JSON object in each line
    Jsonl,
    /// One JSON array, or an object with an array
    Json,
}

impl Format {
    /// The format that a file name tells.
    pub(super) fn of(file: &str) -> Option<Self> {
        match file.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::Jsonl),
            "json" => Some(Self::Json),
            _ => None,
        }
    }
}

/// Where an entry is in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    /// In the line with this number.
    Line(usize),
    /// The object with this number.
    Entry(usize),
}

impl Position {
    /// The number of the line or of the object.
    pub(super) fn number(self) -> usize {
        match self {
            Self::Line(number) | Self::Entry(number) => number,
        }
    }

    /// What it is, in a sentence.
    pub(super) fn named(self) -> String {
        match self {
            Self::Line(number) => format!("line {number}"),
            Self::Entry(number) => format!("entry {number}"),
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "{number}"),
            Self::Entry(number) => write!(f, "entry {number}"),
        }
    }
}

/// The fields of one user, or why they cannot be read.
pub(super) struct Entry {
    pub(super) position: Position,
    pub(super) fields: Result<Map<String, Value>, String>,
}

/// The text of a file. Says what to do if it is not UTF-8.
pub(super) fn text(bytes: Vec<u8>) -> anyhow::Result<String> {
    const ADVICE: &str = "save it as UTF-8, which spreadsheet programs call CSV UTF-8";
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        bail!("the file is UTF-16: {ADVICE}");
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
        anyhow!("line {line} is not UTF-8: {ADVICE}")
    })
}

pub(super) fn entries(text: &str, format: Format) -> anyhow::Result<Vec<Entry>> {
    let text = without_mark(text)?;
    match format {
        Format::Csv => csv_entries(text),
        Format::Jsonl => Ok(jsonl_entries(text)),
        Format::Json => json_entries(text),
    }
}

/// The most columns of a CSV file. Each value of each line is kept in memory with the name of its column.
const MAX_COLUMNS: usize = 1000;

/// The names of the columns of a CSV file.
pub(super) fn columns(text: &str) -> anyhow::Result<Vec<String>> {
    header(&mut Records::new(without_mark(text)?))
}

fn without_mark(text: &str) -> anyhow::Result<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim().is_empty() {
        bail!("the file is empty");
    }
    Ok(text)
}

fn header(records: &mut Records<'_>) -> anyhow::Result<Vec<String>> {
    let (line, header) = records.next().context("the file is empty")?;
    let header = header.map_err(|problem| anyhow!("line {line}: {problem}"))?;
    if header.len() > MAX_COLUMNS {
        bail!(
            "the header has {} columns, at most {MAX_COLUMNS} are read: leave out those that are not needed",
            header.len()
        );
    }
    Ok(header.iter().map(|name| name.trim().to_owned()).collect())
}

fn csv_entries(text: &str) -> anyhow::Result<Vec<Entry>> {
    let mut records = Records::new(text);
    let header = header(&mut records)?;
    let entries = records.map(|(line, values)| {
        let fields = values.and_then(|values| {
            if values.len() != header.len() {
                return Err(format!(
                    "has {} columns, the header has {}",
                    values.len(),
                    header.len()
                ));
            }
            Ok(header.iter().cloned().zip(values.into_iter().map(Value::String)).collect())
        });
        Entry { position: Position::Line(line), fields }
    });
    Ok(entries.collect())
}

/// The records of a CSV file by RFC 4180, each with the number of its first line. Empty lines are left out.
struct Records<'a> {
    rest: &'a str,
    line: usize,
    separator: char,
}

impl<'a> Records<'a> {
    /// Spreadsheet programs separate values by semicolons or tabs in some countries, so the header decides.
    fn new(text: &'a str) -> Self {
        let header = text.trim_start().lines().next().unwrap_or_default();
        let separator = [',', ';', '\t'].into_iter().find(|separator| header.contains(*separator));
        Self { rest: text, line: 1, separator: separator.unwrap_or(',') }
    }
}

impl Iterator for Records<'_> {
    type Item = (usize, Result<Vec<String>, String>);

    fn next(&mut self) -> Option<Self::Item> {
        while let Some(rest) = self.rest.strip_prefix("\r\n").or(self.rest.strip_prefix('\n')) {
            self.rest = rest;
            self.line += 1;
        }
        if self.rest.is_empty() {
            return None;
        }
        let (line, mut values) = (self.line, Vec::new());
        loop {
            match self.value() {
                Ok(value) => values.push(value),
                Err(problem) => {
                    self.skip_line();
                    return Some((line, Err(problem)));
                }
            }
            match self.rest.strip_prefix(self.separator) {
                Some(rest) => self.rest = rest,
                None => {
                    self.skip_line();
                    return Some((line, Ok(values)));
                }
            }
        }
    }
}

impl Records<'_> {
    fn value(&mut self) -> Result<String, String> {
        let Some(mut rest) = self.rest.strip_prefix('"') else {
            let end = self.rest.find([self.separator, '\n']).unwrap_or(self.rest.len());
            let (value, rest) = self.rest.split_at(end);
            self.rest = rest;
            return Ok(value.strip_suffix('\r').unwrap_or(value).to_owned());
        };
        let mut value = String::new();
        loop {
            let Some(end) = rest.find('"') else {
                return Err("a quotation mark is not closed".into());
            };
            value.push_str(&rest[..end]);
            rest = &rest[end + 1..];
            match rest.strip_prefix('"') {
                Some(after) => {
                    value.push('"');
                    rest = after;
                }
                None => break,
            }
        }
        if !(rest.is_empty()
            || rest.starts_with([self.separator, '\n'])
            || rest.starts_with("\r\n"))
        {
            return Err("text follows a closing quotation mark".into());
        }
        self.line += value.matches('\n').count();
        self.rest = rest;
        Ok(value)
    }

    fn skip_line(&mut self) {
        let end = self.rest.find('\n').map_or(self.rest.len(), |end| end + 1);
        self.line += usize::from(end <= self.rest.len() && self.rest[..end].ends_with('\n'));
        self.rest = &self.rest[end..];
    }
}

fn jsonl_entries(text: &str) -> Vec<Entry> {
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let entries = lines.map(|(number, line)| {
        // The parser's message names a position, and no text of the line.
        let fields = serde_json::from_str(line).map_err(|error| match error.classify() {
            serde_json::error::Category::Data => "is not a JSON object".to_owned(),
            _ => format!("is not JSON: column {}", error.column()),
        });
        Entry { position: Position::Line(number), fields }
    });
    entries.collect()
}

fn json_entries(text: &str) -> anyhow::Result<Vec<Entry>> {
    let document: Value = match serde_json::from_str(text) {
        Ok(document) => document,
        Err(error) => bail!("not JSON: line {}, column {}", error.line(), error.column()),
    };
    let list = match document {
        Value::Array(list) => list,
        Value::Object(mut object) => {
            // Of Firebase and Keycloak, of PocketBase, and of a query of Supabase.
            let list = ["users", "items", "data"].into_iter().find_map(|name| object.remove(name));
            match list {
                Some(Value::Array(list)) => list,
                _ => bail!("the JSON has no list of users"),
            }
        }
        _ => bail!("the JSON has no list of users"),
    };
    let entries = (1..).zip(list).map(|(number, value)| {
        let fields = match value {
            Value::Object(fields) => Ok(fields),
            _ => Err("is not a JSON object".to_owned()),
        };
        Entry { position: Position::Entry(number), fields }
    });
    Ok(entries.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<(usize, Result<Vec<String>, String>)> {
        Records::new(text).collect()
    }

    #[test]
    fn csv_is_read_by_rfc_4180() {
        let text = "id,name\r\n1,\"Ada, \"\"Countess\"\"\"\r\n\r\n2,\"two\nlines\"\n3,\n";
        let expected = [
            (1, vec!["id", "name"]),
            (2, vec!["1", "Ada, \"Countess\""]),
            (4, vec!["2", "two\nlines"]),
            (6, vec!["3", ""]),
        ];
        let expected: Vec<_> = expected
            .map(|(line, values)| (line, Ok(values.into_iter().map(str::to_owned).collect())))
            .into();
        assert_eq!(read(text), expected);
    }

    #[test]
    fn semicolons_and_tabs_separate_values_too() {
        for separator in [";", "\t"] {
            let text = "id,name\r\n1,\"a,b\"\r\n2,\r\n".replace(',', separator);
            let value = format!("a{separator}b");
            let rows = [(1, ["id", "name"]), (2, ["1", &value]), (3, ["2", ""])];
            let rows = rows.map(|(line, row)| (line, Ok(row.map(str::to_owned).to_vec())));
            assert_eq!(read(&text), rows);
        }
        let expected = [(1, Ok(vec!["a;b".into(), "c".into()]))];
        assert_eq!(read("a;b,c"), expected, "a comma counts first");
    }

    #[test]
    fn a_file_that_is_not_utf_8_is_refused_with_what_to_do() {
        let refused = |bytes: &[u8]| text(bytes.to_vec()).unwrap_err().to_string();
        for utf_16 in [&b"\xff\xfei\0d\0"[..], b"\xfe\xff\0i\0d"] {
            assert!(refused(utf_16).starts_with("the file is UTF-16: save it as UTF-8"));
        }
        let windows = refused(b"name\nAda\nGr\xfcn\n");
        assert!(windows.starts_with("line 3 is not UTF-8: save it as UTF-8"), "{windows}");
        assert_eq!(text(b"\xef\xbb\xbfid".to_vec()).unwrap(), "\u{feff}id");
    }

    #[test]
    fn an_empty_file_is_refused() {
        for format in [Format::Csv, Format::Jsonl, Format::Json] {
            for text in ["", "\u{feff}", "\r\n\n"] {
                let error = entries(text, format).map(|_| ()).unwrap_err().to_string();
                assert_eq!(error, "the file is empty");
            }
        }
        assert_eq!(entries("id,email\n", Format::Csv).unwrap().len(), 0);
    }

    #[test]
    fn a_bad_csv_line_is_reported_and_the_next_one_is_read() {
        let read = read("a,b\n\"x\"y,1\n2,3");
        assert_eq!(read.len(), 3);
        assert!(read[1].1.is_err() && read[1].0 == 2);
        assert_eq!(read[2], (3, Ok(vec!["2".into(), "3".into()])));
        assert!(Records::new("\"open").next().unwrap().1.is_err());
    }

    #[test]
    fn jsonl_and_json_are_read() {
        let entries = entries("{\"id\":1}\n\n[]\n{\"x", Format::Jsonl).unwrap();
        let read: Vec<_> = entries.iter().map(|e| (e.position, e.fields.is_ok())).collect();
        use Position::Line;
        assert_eq!(read, [(Line(1), true), (Line(3), false), (Line(4), false)]);
        for text in ["[{}, 1]", "{\"users\": [{}, 1]}", "{\"items\": [{}, 1]}"] {
            let entries = super::entries(text, Format::Json).unwrap();
            let read: Vec<_> = entries.iter().map(|e| e.fields.is_ok()).collect();
            assert_eq!(read, [true, false], "{text}");
        }
        for text in ["", "1", "{}", "{\"users\": 1}"] {
            assert!(super::entries(text, Format::Json).is_err(), "{text}");
        }
    }
}
