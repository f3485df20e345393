//! The kinds of values that settings have. Each states its bounds once: the check, the error text and the help text
//! are made from them.

use std::{fmt::Display, ops::RangeInclusive, path::PathBuf, str::FromStr, time::Duration};

use super::Settings;
use crate::spelling;

/// The value of one setting: how to read, show and describe it.
pub(super) trait Value: Sync {
    /// Sets the value; `None` if the text is not allowed.
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()>;

    /// The value as a text that [`Self::set`] accepts. A secret part is left out.
    fn show(&self, settings: &Settings) -> String;

    /// The allowed values, as a phrase that follows "is not".
    fn allowed(&self) -> String;

    /// The bounds for the help text, unless the purpose states them.
    fn bounds(&self) -> Option<String> {
        None
    }

    /// The allowed value that the text probably misspells.
    fn suggestion(&self, _typed: &str) -> Option<&'static str> {
        None
    }

    /// What is wrong with a text that [`Self::set`] refuses, and the byte where. `None` if the whole text is.
    fn fault_in(&self, _text: &str) -> Option<(usize, String)> {
        None
    }

    /// What is wrong with a text that is not allowed, if that can be said more exactly than by what is allowed. Does not
    /// repeat a secret.
    fn refusal(&self, _typed: &str) -> Option<String> {
        None
    }

    /// Whether it is an array in `doorward.toml`.
    fn is_list(&self) -> bool {
        false
    }

    /// Whether error messages must not repeat the value. A secret can also be read from a file that the variable with
    /// `_FILE` names.
    fn is_secret(&self) -> bool {
        false
    }
}

/// Where a value is in [`Settings`].
pub(super) struct Field<T: 'static> {
    pub(super) get: fn(&Settings) -> &T,
    pub(super) get_mut: fn(&mut Settings) -> &mut T,
}

/// The [`Field`] with this path.
macro_rules! field {
    ($($path:ident).+) => {
        $crate::config::value::Field {
            get: |settings| &settings.$($path).+,
            get_mut: |settings| &mut settings.$($path).+,
        }
    };
}

pub(super) use field;

/// A number within bounds.
pub(super) struct Number<T: 'static> {
    pub(super) field: Field<T>,
    pub(super) range: RangeInclusive<T>,
}

impl<T: FromStr + PartialOrd + Display + Copy + Sync> Value for Number<T> {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        let number = text.parse().ok().filter(|number| self.range.contains(number))?;
        *(self.field.get_mut)(settings) = number;
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        (self.field.get)(settings).to_string()
    }

    fn allowed(&self) -> String {
        format!("a number from {} to {}", self.range.start(), self.range.end())
    }

    fn bounds(&self) -> Option<String> {
        Some(format!("{} to {}", self.range.start(), self.range.end()))
    }
}

/// A duration in whole seconds, within bounds.
pub(super) struct Seconds {
    pub(super) field: Field<Duration>,
    pub(super) range: RangeInclusive<Duration>,
    pub(super) examples: &'static str,
}

impl Value for Seconds {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        let duration = parse_duration(text).filter(|duration| self.range.contains(duration))?;
        *(self.field.get_mut)(settings) = duration;
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        show_duration(*(self.field.get)(settings))
    }

    fn allowed(&self) -> String {
        let (least, most) = (show_duration(*self.range.start()), show_duration(*self.range.end()));
        format!("a duration from {least} to {most}, such as {}", self.examples)
    }

    fn bounds(&self) -> Option<String> {
        Some(format!(
            "{} to {}",
            show_duration(*self.range.start()),
            show_duration(*self.range.end())
        ))
    }
}

/// A number of bytes within bounds.
pub(super) struct Bytes {
    pub(super) field: Field<usize>,
    pub(super) range: RangeInclusive<usize>,
    pub(super) examples: &'static str,
}

impl Value for Bytes {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        let size = parse_size(text).filter(|size| self.range.contains(size))?;
        *(self.field.get_mut)(settings) = size;
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        show_size(*(self.field.get)(settings))
    }

    fn allowed(&self) -> String {
        let (least, most) = (show_size(*self.range.start()), show_size(*self.range.end()));
        format!("a size from {least} to {most}, such as {}", self.examples)
    }

    fn bounds(&self) -> Option<String> {
        Some(format!("{} to {}", show_size(*self.range.start()), show_size(*self.range.end())))
    }
}

/// One of a few named values.
pub(super) struct Choice<T: 'static> {
    pub(super) field: Field<T>,
    pub(super) choices: &'static [(&'static str, T)],
}

/// The choices of a setting that is on or off.
pub(super) const TRUE_OR_FALSE: &[(&str, bool)] = &[("true", true), ("false", false)];

impl<T: Copy + PartialEq + Sync> Choice<T> {
    fn names(&self) -> impl Iterator<Item = &'static str> {
        self.choices.iter().map(|(name, _)| *name)
    }
}

impl<T: Copy + PartialEq + Sync> Value for Choice<T> {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        let (_, choice) = self.choices.iter().find(|(name, _)| *name == text)?;
        *(self.field.get_mut)(settings) = *choice;
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        let current = (self.field.get)(settings);
        let named = self.choices.iter().find(|(_, choice)| choice == current);
        named.map_or_else(String::new, |(name, _)| (*name).to_owned())
    }

    fn allowed(&self) -> String {
        enumerate(self.names(), "or")
    }

    fn bounds(&self) -> Option<String> {
        Some(self.allowed())
    }

    fn suggestion(&self, typed: &str) -> Option<&'static str> {
        spelling::suggest(typed, self.names())
    }
}

/// A text of visible ASCII characters.
pub(super) struct Identifier {
    pub(super) field: Field<String>,
    pub(super) length: RangeInclusive<usize>,
}

impl Value for Identifier {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        let visible = text.chars().all(|c| c.is_ascii_graphic());
        (self.length.contains(&text.len()) && visible)
            .then(|| *(self.field.get_mut)(settings) = text.to_owned())
    }

    fn show(&self, settings: &Settings) -> String {
        (self.field.get)(settings).clone()
    }

    fn allowed(&self) -> String {
        let (least, most) = (self.length.start(), self.length.end());
        format!("a text of {least} to {most} ASCII characters without spaces")
    }
}

/// A path, or none.
pub(super) struct OptionalPath {
    pub(super) field: Field<Option<PathBuf>>,
    /// What the path leads to.
    pub(super) target: &'static str,
}

impl Value for OptionalPath {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        (!text.is_empty())
            .then(|| *(self.field.get_mut)(settings) = (text != NONE).then(|| text.into()))
    }

    fn show(&self, settings: &Settings) -> String {
        let path = (self.field.get)(settings).as_ref();
        path.map_or_else(|| NONE.into(), |path| path.display().to_string())
    }

    fn allowed(&self) -> String {
        format!("{NONE}, or the path of a {}", self.target)
    }
}

/// A value with its own syntax.
pub(super) struct Custom<T: 'static> {
    pub(super) field: Field<T>,
    pub(super) parse: fn(&str) -> Option<T>,
    pub(super) show: fn(&T) -> String,
    pub(super) allowed: fn() -> String,
    pub(super) secret: bool,
}

impl<T: Sync> Value for Custom<T> {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        *(self.field.get_mut)(settings) = (self.parse)(text)?;
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        (self.show)((self.field.get)(settings))
    }

    fn allowed(&self) -> String {
        (self.allowed)()
    }

    fn is_secret(&self) -> bool {
        self.secret
    }
}

/// Any number of items: an array in `doorward.toml`, separated by spaces or commas elsewhere.
pub(super) struct List<L: 'static, T: 'static> {
    pub(super) field: Field<L>,
    pub(super) parse: fn(&str) -> Option<T>,
    /// The list of these items; `None` if it is not valid.
    pub(super) collect: fn(Vec<T>) -> Option<L>,
    pub(super) show: fn(&L) -> Vec<String>,
    pub(super) allowed: fn() -> String,
    /// All possible items, if they are few.
    pub(super) choices: &'static [&'static str],
    /// Why an item is not allowed, if that can be said more exactly than by what is allowed. Follows the item.
    pub(super) reason: fn(&str) -> Option<String>,
    pub(super) secret: bool,
}

/// The items of a list on the command line and in the environment.
fn items_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c == ',' || c.is_whitespace()).filter(|item| !item.is_empty())
}

impl<L: Sync, T: Sync> Value for List<L, T> {
    fn set(&self, settings: &mut Settings, text: &str) -> Option<()> {
        let items = match text {
            NONE => Vec::new(),
            text => items_of(text).map(self.parse).collect::<Option<_>>()?,
        };
        *(self.field.get_mut)(settings) = (self.collect)(items)?;
        Some(())
    }

    fn show(&self, settings: &Settings) -> String {
        let items = (self.show)((self.field.get)(settings));
        if items.is_empty() { NONE.into() } else { items.join(" ") }
    }

    fn allowed(&self) -> String {
        (self.allowed)()
    }

    fn bounds(&self) -> Option<String> {
        (!self.choices.is_empty()).then(|| enumerate(self.choices.iter().copied(), "and"))
    }

    fn suggestion(&self, typed: &str) -> Option<&'static str> {
        spelling::suggest(typed, self.choices.iter().copied())
    }

    fn refusal(&self, typed: &str) -> Option<String> {
        let refused = |item: &str| (self.reason)(item).map(|reason| format!("\"{item}\" {reason}"));
        items_of(typed).find_map(refused)
    }

    fn is_list(&self) -> bool {
        true
    }

    fn is_secret(&self) -> bool {
        self.secret
    }
}

/// Stands for an empty list or no path on the command line.
pub(super) const NONE: &str = "none";

/// `a, b or c`.
pub(super) fn enumerate<'n>(names: impl Iterator<Item = &'n str>, conjunction: &str) -> String {
    let names: Vec<_> = names.collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} {conjunction} {last}", others.join(", ")),
        None => String::new(),
    }
}

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MINUTE: Duration = Duration::from_secs(60);
pub(super) const HOUR: Duration = Duration::from_secs(60 * 60);

pub(super) const fn days(count: u64) -> Duration {
    Duration::from_secs(count * 24 * 60 * 60)
}

const SECONDS_PER_UNIT: [(char, u64); 4] =
    [('d', 24 * 60 * 60), ('h', 60 * 60), ('m', 60), ('s', 1)];

/// A number with a unit, such as `90m` or `7d`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    let (unit, seconds) = SECONDS_PER_UNIT.into_iter().find(|(unit, _)| text.ends_with(*unit))?;
    let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
    count.checked_mul(seconds).map(Duration::from_secs)
}

/// In the largest unit that divides it.
pub(crate) fn show_duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    let fits = |each| seconds > 0 && seconds.is_multiple_of(each);
    let whole = SECONDS_PER_UNIT.into_iter().find(|(_, each)| fits(*each));
    let (unit, each) = whole.unwrap_or(('s', 1));
    format!("{}{unit}", seconds / each)
}

const BYTES_PER_UNIT: [(&str, usize); 2] = [("MiB", 1 << 20), ("KiB", 1 << 10)];

fn parse_size(text: &str) -> Option<usize> {
    let unit = BYTES_PER_UNIT.into_iter().find(|(unit, _)| text.ends_with(unit));
    let (unit, bytes) = unit.unwrap_or(("", 1));
    text.strip_suffix(unit)?.trim_end().parse::<usize>().ok()?.checked_mul(bytes)
}

fn show_size(size: usize) -> String {
    let whole = BYTES_PER_UNIT.into_iter().find(|(_, each)| size.is_multiple_of(*each));
    let (unit, each) = whole.unwrap_or(("", 1));
    format!("{}{unit}", size / each)
}
