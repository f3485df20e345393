//! Reads a table of the settings file into a type that derives `Deserialize`. An error has the place in the file, the path of
//! the key, what is wrong, and a suggestion for a misspelled key.

use std::{fmt, vec};

use serde::{
    Deserialize,
    de::{
        self, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
        value::StrDeserializer,
    },
    forward_to_deserialize_any,
};
use serde_spanned::{
    Spanned,
    de::{SpannedDeserializer, is_spanned},
};
use toml::de::{DeString, DeTable, DeValue};

use super::{
    SettingsError,
    file::SettingsFile,
    sections::{is_setting_of_file, move_up},
};
use crate::spelling::suggest;

/// Reads the table with this name within `parent`, such as `staff` within `guards`.
pub(super) fn read<'t, T: Deserialize<'t>>(
    file: &SettingsFile,
    parent: &str,
    name: &'t Spanned<DeString<'_>>,
    table: &'t Spanned<DeValue<'_>>,
) -> Result<T, SettingsError> {
    let path = format!("{parent}.{}", name.get_ref());
    let read = match table.get_ref() {
        DeValue::Table(_) => T::deserialize(ValueReader { value: table, path: path.clone() }),
        other => Err(TableError::wrong_type(other, "a table")),
    };
    read.map_err(|error| {
        let (at, path) = error.place.unwrap_or((name.span().start, path));
        file.error(at, &format!("{path}: {}", error.message))
    })
}

/// A value that is written as a text with its own syntax.
pub(super) trait FromText: Sized {
    /// # Errors
    /// What is wrong with the text.
    fn from_text(text: String) -> Result<Self, String>;
}

/// Such a value in a table.
pub(super) struct Text<T>(pub(super) T);

impl<'de, T: FromText> Deserialize<'de> for Text<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::from_text(String::deserialize(deserializer)?).map(Self).map_err(de::Error::custom)
    }
}

/// A text on pages of at most `MAX` characters.
pub(super) struct ShortText<const MAX: usize>(pub(super) String);

impl<const MAX: usize> FromText for ShortText<MAX> {
    fn from_text(text: String) -> Result<Self, String> {
        let short = text.trim();
        match (1..=MAX).contains(&short.chars().count()) && !text.chars().any(char::is_control) {
            true => Ok(Self(short.to_owned())),
            false => Err(format!("not a text of 1 to {MAX} printable characters")),
        }
    }
}

/// What is wrong in a table, and where.
#[derive(Debug)]
struct TableError {
    /// The byte in the file and the path of the key. The innermost reader knows them.
    place: Option<(usize, String)>,
    message: String,
}

impl TableError {
    fn wrong_type(got: &DeValue<'_>, wanted: &str) -> Self {
        de::Error::custom(format_args!("a value of type {} is not {wanted}", got.type_str()))
    }

    fn or_at(mut self, at: usize, path: &str) -> Self {
        self.place.get_or_insert_with(|| (at, path.to_owned()));
        self
    }
}

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message.fmt(f)
    }
}

impl std::error::Error for TableError {}

impl de::Error for TableError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { place: None, message: message.to_string() }
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        let hint = match suggest(name, known.iter().copied()) {
            _ if is_setting_of_file(name) => {
                format!("{name} is not of this table: {}", move_up(name))
            }
            Some(meant) => format!("did you mean {meant}?"),
            None => format!("there are {}", known.join(", ")),
        };
        Self::custom(format_args!("unknown setting: {hint}"))
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        let meant = suggest(name, known.iter().copied());
        let hint = meant.map(|meant| format!(": did you mean {meant}?")).unwrap_or_default();
        Self::custom(format_args!("\"{name}\" is not one of {}{hint}", known.join(", ")))
    }

    fn missing_field(name: &'static str) -> Self {
        Self::custom(format_args!("{name} is missing"))
    }
}

/// A value with the path of its key.
struct ValueReader<'t, 'i> {
    value: &'t Spanned<DeValue<'i>>,
    path: String,
}

impl<'t> IntoDeserializer<'t, TableError> for ValueReader<'t, '_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'t> ValueReader<'t, '_> {
    fn text(&self) -> Result<&'t str, TableError> {
        match self.value.get_ref() {
            DeValue::String(text) => Ok(text),
            other => Err(TableError::wrong_type(other, "a text")),
        }
    }
}

impl<'t> Deserializer<'t> for ValueReader<'t, '_> {
    type Error = TableError;

    fn deserialize_any<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, TableError> {
        match self.value.get_ref() {
            DeValue::String(text) => visitor.visit_str(text),
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            DeValue::Array(_) => self.deserialize_seq(visitor),
            DeValue::Table(table) => visitor.visit_map(TableReader::new(table, self.path)),
            number @ DeValue::Integer(integer) => match integer.to_string().parse() {
                Ok(integer) => visitor.visit_i64(integer),
                Err(_) => Err(TableError::wrong_type(number, "a number of 64 bits")),
            },
            other @ (DeValue::Float(_) | DeValue::Datetime(_)) => {
                Err(TableError::wrong_type(other, "a whole number, a text, a list or a table"))
            }
        }
    }

    fn deserialize_str<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, TableError> {
        visitor.visit_str(self.text()?)
    }

    fn deserialize_string<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, TableError> {
        self.deserialize_str(visitor)
    }

    fn deserialize_bool<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, TableError> {
        match self.value.get_ref() {
            DeValue::Boolean(flag) => visitor.visit_bool(*flag),
            other => Err(TableError::wrong_type(other, "true or false")),
        }
    }

    fn deserialize_option<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, TableError> {
        visitor.visit_some(self)
    }

    fn deserialize_seq<V: Visitor<'t>>(self, visitor: V) -> Result<V::Value, TableError> {
        match self.value.get_ref() {
            DeValue::Array(items) => {
                visitor.visit_seq(ListReader { items: items.iter(), path: self.path })
            }
            other => Err(TableError::wrong_type(other, "a list")),
        }
    }

    fn deserialize_struct<V: Visitor<'t>>(
        self,
        name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TableError> {
        if is_spanned(name) {
            let span = self.value.span();
            return visitor.visit_map(SpannedDeserializer::new(self, span));
        }
        match self.value.get_ref() {
            DeValue::Table(table) => visitor.visit_map(TableReader::new(table, self.path)),
            other => Err(TableError::wrong_type(other, "a table")),
        }
    }

    fn deserialize_enum<V: Visitor<'t>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, TableError> {
        visitor.visit_enum(StrDeserializer::new(self.text()?))
    }

    forward_to_deserialize_any! {
        <V: Visitor<'t>>
        i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct newtype_struct tuple
        tuple_struct map identifier ignored_any
    }
}

/// The items of a list. They have the path of the list.
struct ListReader<'t, 'i> {
    items: std::slice::Iter<'t, Spanned<DeValue<'i>>>,
    path: String,
}

impl<'t> SeqAccess<'t> for ListReader<'t, '_> {
    type Error = TableError;

    fn next_element_seed<T: DeserializeSeed<'t>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, TableError> {
        let Some(value) = self.items.next() else { return Ok(None) };
        let read = seed.deserialize(ValueReader { value, path: self.path.clone() });
        read.map(Some).map_err(|error| error.or_at(value.span().start, &self.path))
    }
}

type Entry<'t, 'i> = (&'t Spanned<DeString<'i>>, &'t Spanned<DeValue<'i>>);

/// The keys and values of a table.
struct TableReader<'t, 'i> {
    entries: vec::IntoIter<Entry<'t, 'i>>,
    /// The value of the key that was read last, and its path.
    pending: Option<(&'t Spanned<DeValue<'i>>, String)>,
    path: String,
}

impl<'t, 'i> TableReader<'t, 'i> {
    fn new(table: &'t DeTable<'i>, path: String) -> Self {
        let entries: Vec<_> = table.iter().collect();
        Self { entries: entries.into_iter(), pending: None, path }
    }
}

impl<'t> MapAccess<'t> for TableReader<'t, '_> {
    type Error = TableError;

    fn next_key_seed<K: DeserializeSeed<'t>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, TableError> {
        let Some((key, value)) = self.entries.next() else { return Ok(None) };
        let path = format!("{}.{}", self.path, key.get_ref());
        let read = seed.deserialize(StrDeserializer::new(key.get_ref()));
        let read = read.map_err(|error: TableError| error.or_at(key.span().start, &path))?;
        self.pending = Some((value, path));
        Ok(Some(read))
    }

    fn next_value_seed<V: DeserializeSeed<'t>>(&mut self, seed: V) -> Result<V::Value, TableError> {
        let Some((value, path)) = self.pending.take() else {
            return Err(de::Error::custom("a value without a key"));
        };
        let read = seed.deserialize(ValueReader { value, path: path.clone() });
        read.map_err(|error| error.or_at(value.span().start, &path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, PartialEq)]
    #[serde(deny_unknown_fields)]
    struct Hook {
        url: Spanned<String>,
        #[serde(default)]
        tries: Option<u32>,
    }

    fn hook(text: &str) -> Result<Hook, String> {
        let file = SettingsFile::from_text(text);
        let hooks = file.parse().unwrap();
        let (name, table) = hooks.iter().next().unwrap();
        read(&file, "hooks", name, table).map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_is_read_with_the_places_of_its_values() {
        let read = hook("[a]\nurl = 'https://x'\ntries = 3").unwrap();
        assert_eq!(read, Hook { url: Spanned::new(10..21, "https://x".into()), tries: Some(3) });
    }

    #[test]
    fn an_error_has_its_place_its_path_and_a_suggestion() {
        for (text, error) in [
            ("a = 1", "settings:1:1: hooks.a: a value of type integer is not a table"),
            ("[a]\ntries = 1", "settings:1:2: hooks.a: url is missing"),
            ("[a]\nurl = 1", "settings:2:7: hooks.a.url: a value of type integer is not a text"),
            ("[a]\ntrys = 1", "settings:2:1: hooks.a.trys: unknown setting: did you mean tries?"),
            ("[a]\nx = 'x'", "settings:2:1: hooks.a.x: unknown setting: there are url, tries"),
            (
                "[a]\nlisten = 'x'",
                "settings:2:1: hooks.a.listen: unknown setting: listen is not of this table: move it above the first [table]",
            ),
        ] {
            assert_eq!(hook(text).unwrap_err(), error, "{text}");
        }
        let negative = hook("[a]\nurl = 'x'\ntries = -1").unwrap_err();
        assert!(negative.starts_with("settings:3:9: hooks.a.tries: "), "{negative}");
    }
}
