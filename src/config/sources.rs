//! Where settings come from: flags override the environment, which overrides the file, which overrides the defaults.

use std::{ffi::OsString, fmt, fs, path::PathBuf, sync::Arc};

use toml::de::DeValue;

use super::{
    Settings, SettingsError, admin,
    file::{self, FileValue, SettingsFile},
    guards,
    key::{Key, VARIABLE_PREFIX},
    logins,
    sections::{key_by_name, keys},
    value::NONE,
};
use crate::spelling;

/// The variable that names the settings file.
pub const CONFIG_VARIABLE: &str = "DOORWARD_CONFIG";
/// The variable in which `doorward dev` tells the command that it runs where it listens. It is not a setting.
pub const URL_VARIABLE: &str = "DOORWARD_URL";
/// The suffix of a variable that names the file of a secret.
const FILE_SUFFIX: &str = "_FILE";
/// The table of the file that declares guards.
const GUARDS: &str = "guards";
/// The table of the file that declares which roles administer the service.
const ADMIN: &str = "admin";
/// The table of the file that declares other providers that people sign in with.
const LOGINS: &str = "logins";

/// Where settings are read from.
#[derive(Clone)]
pub struct Sources {
    /// From the command line: settings and their values.
    pub flags: Vec<(&'static Key, String)>,
    /// The file that the command line names.
    pub file: Option<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
}

impl Sources {
    /// The given flags and file, and the environment of this process.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn from_process(flags: Vec<(&'static Key, String)>, file: Option<PathBuf>) -> Self {
        Self { flags, file, environment: std::env::vars_os().collect() }
    }
}

/// Where the value of a setting comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// No source has it.
    #[default]
    Default,
    /// A line of the settings file.
    File {
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    Variable(String),
    Flag(String),
}

impl Origin {
    /// The kind of source, for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::File { .. } => "file",
            Self::Variable(_) => "variable",
            Self::Flag(_) => "flag",
        }
    }
}

/// The place for people: `doorward.toml:3`, `DOORWARD_LISTEN`, `--listen` or `default`.
impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) | Self::Flag(name) => f.write_str(name),
        }
    }
}

/// Where the value of each setting comes from.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    /// The settings file, if there is one.
    pub file: Option<PathBuf>,
    /// Later ones override earlier ones.
    found: Vec<(&'static str, Origin)>,
}

impl Origins {
    /// Where the value of this setting comes from.
    pub fn of(&self, key: &Key) -> Origin {
        let found = self.found.iter().rfind(|(name, _)| *name == key.name);
        found.map(|(_, origin)| origin.clone()).unwrap_or_default()
    }
}

impl Settings {
    /// Reads the settings from all sources.
    ///
    /// # Errors
    /// For the first setting that is unknown or cannot be used.
    pub(crate) fn from_sources(sources: Sources) -> Result<Self, SettingsError> {
        Self::with_origins(sources).map(|(settings, _)| settings)
    }

    /// As [`Self::from_sources`], with where each value comes from.
    ///
    /// # Errors
    /// As [`Self::from_sources`].
    pub(crate) fn with_origins(sources: Sources) -> Result<(Self, Origins), SettingsError> {
        let environment = Environment::read(sources.environment)?;
        let (mut settings, mut origins) = (Self::default(), Origins::default());
        if let Some(file) = SettingsFile::read(sources.file.or(environment.config_file))? {
            for (key, offset) in settings.apply_file(&file)? {
                let (path, line) = (file.path().to_owned(), file.line(offset));
                origins.found.push((key.name, Origin::File { path, line }));
            }
            origins.file = Some(file.path().to_owned());
        }
        for (key, variable, value) in environment.values {
            key.set(&mut settings, &value, &variable)?;
            origins.found.push((key.name, Origin::Variable(variable)));
        }
        for (key, value) in sources.flags {
            let flag = format!("--{}", key.flag());
            key.set(&mut settings, &value, &flag)?;
            origins.found.push((key.name, Origin::Flag(flag)));
        }
        settings.check()?;
        Ok((settings, origins))
    }

    /// Applies the values of a file. Returns the settings that it has, each with the offset of its name.
    pub(super) fn apply_file(
        &mut self,
        file: &SettingsFile,
    ) -> Result<Vec<(&'static Key, usize)>, SettingsError> {
        let mut table = file.parse()?;
        if let Some(guards) = table.remove(GUARDS) {
            let DeValue::Table(tables) = guards.get_ref() else {
                let message = "guards: not a table: write [guards.NAME]";
                return Err(file.error(guards.span().start, message));
            };
            self.guards = Arc::new(guards::read(file, tables)?);
        }
        if let Some(logins) = table.remove(LOGINS) {
            let DeValue::Table(tables) = logins.get_ref() else {
                let message = "logins: not a table: write [logins.NAME]";
                return Err(file.error(logins.span().start, message));
            };
            self.logins = Arc::new(logins::read(file, tables)?);
        }
        if let Some(roles) = table.remove(ADMIN) {
            let DeValue::Table(tables) = roles.get_ref() else {
                let message = "admin: not a table: write [admin.ROLE]";
                return Err(file.error(roles.span().start, message));
            };
            self.admin_roles = admin::read(file, tables)?;
        }
        let (mut values, mut applied) = (Vec::new(), Vec::new());
        file::flatten("", &table, &mut values);
        for FileValue { name, offset, span, text, items } in values {
            let key =
                key_by_name(&name).map_err(|unknown| file.error(offset, &unknown.to_string()))?;
            let place = |offset| format!("{}: {name}", file.place(offset));
            let text = match items {
                Some(items) if key.is_list() => {
                    // Sets each item by itself first, so that an error has its position.
                    for (offset, item) in &items {
                        key.set(&mut self.clone(), item, &place(*offset))?;
                    }
                    let items: Vec<_> = items.into_iter().map(|(_, item)| item).collect();
                    if items.is_empty() { NONE.into() } else { items.join(" ") }
                }
                _ => text,
            };
            key.set(self, &text, &place(offset)).map_err(|error| match key.fault_in(&text) {
                Some((at, message)) => {
                    file.error(file.within(span, &text, at), &format!("{name}: {message}"))
                }
                None => error,
            })?;
            applied.push((key, offset));
        }
        Ok(applied)
    }
}

struct Environment {
    config_file: Option<PathBuf>,
    /// Settings, their variables and values.
    values: Vec<(&'static Key, String, String)>,
}

impl Environment {
    fn read(variables: Vec<(OsString, OsString)>) -> Result<Self, SettingsError> {
        let mut environment = Self { config_file: None, values: Vec::new() };
        for (variable, value) in variables {
            let Some(variable) = variable.to_str().filter(|name| name.starts_with(VARIABLE_PREFIX))
            else {
                continue;
            };
            if variable == URL_VARIABLE {
                continue;
            }
            if variable == CONFIG_VARIABLE {
                environment.config_file = Some(value.into());
                continue;
            }
            let Ok(value) = value.into_string() else {
                return Err(SettingsError(format!("{variable}: the value is not UTF-8")));
            };
            let (key, value) = Self::key_and_value(variable, value)?;
            if environment.values.iter().any(|(other, ..)| other.name == key.name) {
                let name = key.variable();
                return Err(SettingsError(format!(
                    "{name} and {name}{FILE_SUFFIX}: set only one of them"
                )));
            }
            environment.values.push((key, variable.to_owned(), value));
        }
        Ok(environment)
    }

    fn key_and_value(
        variable: &str,
        value: String,
    ) -> Result<(&'static Key, String), SettingsError> {
        if let Some(key) = keys().find(|key| key.variable() == variable) {
            return Ok((key, value));
        }
        let names_file = |key: &&Key| key.is_secret() && variable == key.variable() + FILE_SUFFIX;
        if let Some(key) = keys().find(names_file) {
            let read = fs::read_to_string(&value);
            let text =
                read.map_err(|error| SettingsError(format!("{variable}: {value}: {error}")))?;
            return Ok((key, text.trim_end().to_owned()));
        }
        let names: Vec<_> = keys().map(Key::variable).collect();
        let names = names.iter().map(String::as_str).chain([CONFIG_VARIABLE]);
        // Without the common prefix, which would make all names similar.
        let meant = spelling::suggest(without_prefix(variable), names.map(without_prefix));
        let hint = match meant {
            Some(name) => format!("did you mean {VARIABLE_PREFIX}{name}?"),
            None => format!(
                "every variable that begins with {VARIABLE_PREFIX} is a setting, so unset or rename this one"
            ),
        };
        Err(SettingsError(format!("{variable}: unknown setting: {hint}")))
    }
}

fn without_prefix(variable: &str) -> &str {
    variable.strip_prefix(VARIABLE_PREFIX).unwrap_or(variable)
}
