//! A settings file: its text, its values and their positions.

use std::{
    fs::File,
    io::{self, Read},
    ops::Range,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use toml::de::{DeTable, DeValue};

use super::{SettingsError, absolute};
use crate::private_file::WRITABLE_BY_EVERYBODY;

/// The text of a settings file and where it came from.
pub(super) struct SettingsFile {
    path: PathBuf,
    text: String,
}

/// Who can change a file.
#[derive(Clone, Copy)]
struct Permissions {
    owner: u32,
    mode: u32,
}

impl SettingsFile {
    /// Where the file is if nothing names one: in the working directory, or else that of packages, so that the service and
    /// the commands that an operator types in any folder have the same settings.
    const DEFAULTS: [&str; 2] = ["doorward.toml", "/etc/doorward/doorward.toml"];

    /// Reads the named file, which must exist, or a default one, which need not.
    pub(super) fn read(named: Option<PathBuf>) -> Result<Option<Self>, SettingsError> {
        match named {
            Some(path) => match Self::open(&path) {
                Ok((file, _)) => Ok(Some(file)),
                Err(error) => Err(unreadable(&path, &error)),
            },
            None => Self::first_existing(Self::DEFAULTS.map(Path::new)),
        }
    }

    fn first_existing([near, installed]: [&Path; 2]) -> Result<Option<Self>, SettingsError> {
        let Some((file, permissions)) = Self::open_default(near)? else {
            return Ok(Self::open_default(installed)?.map(|(file, _)| file));
        };
        // The working directory may be one where everybody can create files, such as /tmp.
        match permissions.distrust(rustix::process::geteuid().as_raw()) {
            None => Ok(Some(file)),
            Some(reason) => Err(SettingsError(format!(
                "{}: not read because {reason}. To use it nevertheless, name it with --config or DOORWARD_CONFIG",
                absolute(near).display()
            ))),
        }
    }

    fn open_default(path: &Path) -> Result<Option<(Self, Permissions)>, SettingsError> {
        match Self::open(path) {
            Ok(opened) => Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            // A command without the operator's settings would use another database.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                Err(SettingsError(format!(
                    "{}: run the command as root, or name another file with --config or DOORWARD_CONFIG",
                    unreadable(path, &error)
                )))
            }
            Err(error) => Err(unreadable(path, &error)),
        }
    }

    fn open(path: &Path) -> io::Result<(Self, Permissions)> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        let permissions = Permissions { owner: metadata.uid(), mode: metadata.mode() };
        Ok((Self { path: path.to_owned(), text }, permissions))
    }

    /// A text that is not from a file.
    pub(super) fn from_text(text: &str) -> Self {
        Self { path: "settings".into(), text: text.to_owned() }
    }

    pub(super) fn parse(&self) -> Result<DeTable<'_>, SettingsError> {
        let parsed = DeTable::parse(&self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            self.unquoted_value(at).unwrap_or_else(|| self.error(at, error.message()))
        })?;
        Ok(parsed.into_inner())
    }

    /// The error for a line that cannot be parsed because its value is a text without quotes, such as an address. Does not repeat
    /// the value, which may be a secret.
    fn unquoted_value(&self, at: usize) -> Option<SettingsError> {
        let start =
            self.text[..self.text.floor_char_boundary(at)].rfind('\n').map_or(0, |end| end + 1);
        let line = self.text[start..].lines().next()?;
        let (name, value) = line.split_once('=')?;
        let (name, offset) = (name.trim(), start + line.len() - value.trim_start().len());
        let is_name = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            return None;
        }
        match value.trim().chars().next() {
            None | Some('#') => Some(self.error(offset, &format!("{name}: the value is missing"))),
            // A text, a list or a table has begun, and something else is wrong with it.
            Some('"' | '\'' | '[' | '{') => None,
            Some(_) => {
                let message = format!("{name}: write the value in quotes: {name} = \"…\"");
                Some(self.error(offset, &message))
            }
        }
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

impl Permissions {
    /// Why this user must not trust the file, if so.
    fn distrust(self, user: u32) -> Option<String> {
        const ROOT: u32 = 0;
        if self.owner != user && self.owner != ROOT {
            return Some(format!("it belongs to another user (id {})", self.owner));
        }
        (self.mode & WRITABLE_BY_EVERYBODY != 0)
            .then(|| "every user can change it: remove the permission with `chmod o-w FILE`".into())
    }
}

fn unreadable(path: &Path, error: &io::Error) -> SettingsError {
    SettingsError(format!("{}: {error}", absolute(path).display()))
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
    use std::{fs, os::unix::fs::PermissionsExt};

    use super::*;
    use crate::config::{
        Key, Settings, keys,
        tests::{key, load},
    };

    #[test]
    fn the_first_default_file_that_exists_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let [near, far] = ["near.toml", "far.toml"].map(|name| folder.path().join(name));
        let read =
            || SettingsFile::first_existing([&near, &far]).map(|file| file.map(|file| file.path));
        assert_eq!(read(), Ok(None));
        fs::write(&far, "").unwrap();
        assert_eq!(read(), Ok(Some(far.clone())));
        fs::write(&near, "").unwrap();
        assert_eq!(read(), Ok(Some(near.clone())));
        fs::remove_file(&near).unwrap();
        fs::create_dir(&near).unwrap();
        let error = read().unwrap_err().to_string();
        assert!(error.starts_with(&format!("{}: ", near.display())), "{error}");
    }

    #[test]
    fn a_file_in_the_working_directory_that_every_user_can_change_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [near, far] = ["near.toml", "far.toml"].map(|name| folder.path().join(name));
        let read = || SettingsFile::first_existing([&near, &far]).map(|file| file.is_some());
        for file in [&near, &far] {
            fs::write(file, "").unwrap();
            fs::set_permissions(file, fs::Permissions::from_mode(0o666)).unwrap();
        }
        let error = read().unwrap_err().to_string();
        let start = format!("{}: not read because every user can change it", near.display());
        assert!(error.starts_with(&start), "{error}");
        assert!(SettingsFile::read(Some(near.clone())).is_ok(), "named");
        // A container may mount it with any owner and mode.
        fs::remove_file(&near).unwrap();
        assert_eq!(read(), Ok(true));
    }

    #[test]
    fn a_file_of_another_user_than_root_is_distrusted() {
        let distrust = |owner, mode, user| Permissions { owner, mode }.distrust(user);
        assert_eq!(distrust(1000, 0o664, 1000), None);
        assert_eq!(distrust(0, 0o644, 1000), None);
        for user in [0, 1001] {
            let reason = distrust(1000, 0o600, user).unwrap();
            assert_eq!(reason, "it belongs to another user (id 1000)");
        }
        assert!(distrust(0, 0o646, 0).is_some());
    }

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
