//! A settings file: its text, and how to point at a place in it.

use std::{
    fs, io,
    ops::Range,
    path::{Path, PathBuf},
};

use toml::de::DeTable;

use super::Error;

/// The text of a settings file and where it came from.
pub(super) struct SettingsFile {
    path: PathBuf,
    text: String,
}

impl SettingsFile {
    const USUAL: &str = "doorward.toml";

    /// Reads the file that was named, which must exist, or the usual one, which need not.
    pub(super) fn read(named: Option<PathBuf>) -> Result<Option<Self>, Error> {
        let optional = named.is_none();
        let path = named.unwrap_or_else(|| Self::USUAL.into());
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(Self { path, text })),
            Err(error) if optional && error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error(format!("{}: {error}", path.display()))),
        }
    }

    pub(super) fn parse(&self) -> Result<DeTable<'_>, Error> {
        let parsed = DeTable::parse(&self.text).map_err(|error| {
            self.error(error.span().map_or(0, |span| span.start), error.message())
        })?;
        Ok(parsed.into_inner())
    }

    /// File, line and column of a byte.
    pub(super) fn place(&self, offset: usize) -> String {
        let before = &self.text[..self.text.floor_char_boundary(offset)];
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        format!("{}:{line}:{column}", Path::new(&self.path).display())
    }

    pub(super) fn error(&self, offset: usize, message: &str) -> Error {
        Error(format!("{}: {message}", self.place(offset)))
    }

    /// Where a byte of a string value stands in the file; the value's beginning if it was written with escapes.
    pub(super) fn within(&self, span: Range<usize>, value: &str, at: usize) -> usize {
        match self.text[span.clone()].find(value) {
            Some(quote) => span.start + quote + at,
            None => span.start,
        }
    }
}
