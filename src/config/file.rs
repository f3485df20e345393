//! A settings file: its text, its values and their positions.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use toml::de::{DeTable, DeValue};

use super::{SettingsError, absolute};

/// The text of a settings file and where it came from.
pub(super) struct SettingsFile {
    path: PathBuf,
    text: String,
}

impl SettingsFile {
    const DEFAULT: &str = "doorward.toml";

    /// Reads the named file, which must exist, or the default one, which need not.
    pub(super) fn read(named: Option<PathBuf>) -> Result<Option<Self>, SettingsError> {
        let optional = named.is_none();
        let path = named.unwrap_or_else(|| Self::DEFAULT.into());
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Self { path, text })),
            Err(error) if optional && error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(SettingsError(format!("{}: {error}", absolute(&path).display()))),
        }
    }

    /// A text that is not from a file.
    pub(super) fn from_text(text: &str) -> Self {
        Self { path: "settings".into(), text: text.to_owned() }
    }

    pub(super) fn parse(&self) -> Result<DeTable<'_>, SettingsError> {
        let parsed = DeTable::parse(&self.text).map_err(|error| {
            self.error(error.span().map_or(0, |span| span.start), error.message())
        })?;
        Ok(parsed.into_inner())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The line of a byte, counted from 1.
    pub(super) fn line(&self, offset: usize) -> usize {
        self.text[..self.text.floor_char_boundary(offset)].matches('\n').count() + 1
    }

    /// The file, line and column of a byte.
    pub(super) fn place(&self, offset: usize) -> String {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line = self.line(offset);
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{}:{line}:{column}", Path::new(&self.path).display())
    }

    pub(super) fn error(&self, offset: usize, message: &str) -> SettingsError {
        SettingsError(format!("{}: {message}", self.place(offset)))
    }

    /// The offset in the file of a byte of a string value, or the start of the value if it contains escapes.
    pub(super) fn within(&self, span: Range<usize>, value: &str, at: usize) -> usize {
        match self.text[span.clone()].find(value) {
            Some(quote) => span.start + quote + at,
            None => span.start,
        }
    }
}

/// A value of the settings file, with the place of its key.
pub(super) struct FileValue {
    /// Its dotted name.
    pub(super) name: String,
    pub(super) offset: usize,
    /// Where the value itself is.
    pub(super) span: Range<usize>,
    pub(super) text: String,
    /// The items of an array, each with its offset.
    pub(super) items: Option<Vec<(usize, String)>>,
}

/// Lists the values of a table.
pub(super) fn flatten(prefix: &str, table: &DeTable<'_>, values: &mut Vec<FileValue>) {
    for (key, value) in table {
        let name = format!("{prefix}{}", key.get_ref());
        let items = match value.get_ref() {
            DeValue::Table(inner) => {
                flatten(&format!("{name}."), inner, values);
                continue;
            }
            DeValue::Array(items) => Some(
                items.iter().map(|item| (item.span().start, text_of(item.get_ref()))).collect(),
            ),
            _ => None,
        };
        let (offset, text) = (key.span().start, text_of(value.get_ref()));
        values.push(FileValue { name, offset, span: value.span(), text, items });
    }
}

fn text_of(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        other => format!("a value of type {}", other.type_str()),
    }
}

#[cfg(test)]
mod tests {
    use crate::config::{
        Key, Settings, keys,
        tests::{key, load},
    };

    #[test]
    fn lists_are_arrays_in_the_file_and_separated_by_spaces_or_commas_elsewhere() {
        let proxies = |settings: Result<Settings, String>| {
            settings.map(|settings| key("trusted_proxies").value(&settings))
        };
        let two = Ok("10.0.0.0/8 ::1/128".into());
        let array = "trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\n";
        assert_eq!(proxies(load(&[], &[], array)), two);
        for text in ["10.0.0.0/8 ::1", "10.0.0.0/8,::1", "10.0.0.0/8, ::1/128"] {
            assert_eq!(proxies(load(&[], &[("DOORWARD_TRUSTED_PROXIES", text)], "")), two);
            assert_eq!(proxies(load(&[("trusted_proxies", text)], &[], "")), two);
        }
        assert_eq!(proxies(load(&[], &[], "trusted_proxies = []\n")), Ok("none".into()));
        assert_eq!(
            proxies(load(&[], &[], "trusted_proxies = [\n  \"::1\",\n  \"10.0.0.0/33\",\n]\n")),
            Err("doorward.toml:3:3: trusted_proxies: \"10.0.0.0/33\" is not a list of networks or addresses, such as \
                 127.0.0.0/8 and ::1/128, or none".into())
        );
        assert_eq!(
            proxies(load(&[], &[], "identity_headers = [\"remot\"]\n")),
            Err("doorward.toml:1:21: identity_headers: \"remot\" is not remote, x-auth-request, a list of both, or \
                 none: did you mean remote?".into())
        );
    }

    #[test]
    fn a_file_of_printed_values_is_the_same_settings() {
        let some = [("identity_headers", "remote x-auth-request"), ("trusted_proxies", "none")];
        for flags in [&[][..], &some] {
            let settings = load(flags, &[], "").unwrap();
            let line = |key: &Key| format!("{} = {}\n", key.name, key.toml_value(&settings));
            let file: String = keys().map(line).collect();
            assert_eq!(load(&[], &[], &file), Ok(settings), "{file}");
        }
    }
}
