//! The lines of a backup. A record is an object with the name of its table, and in it a value for each column.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value as Json};
use zeroize::Zeroizing;

use crate::{
    clock::Timestamp,
    store::archive::{Column, Kind, Record, RecordCounts, Table, Value},
    token::{
        SigningKey,
        shared_secret::{SecretName, SharedSecret},
    },
};

/// The number of the format that this version writes. Versions that do not know it refuse the file.
pub(super) const FORMAT: u32 = 1;

/// The first line. Every version can read these fields.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    #[serde(rename = "doorwardBackup")]
    pub(super) format: u32,
    pub(super) version: String,
    /// `sqlite` or `postgres`.
    pub(super) database: String,
    /// The number of the last migration of that database.
    pub(super) schema: usize,
    /// As all times, in milliseconds since 1970.
    pub(super) created_at: i64,
    /// Whether the signing key is not in the backup because it is in the operator's file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) keys_in_file: bool,
}

/// A line that is not a record.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Line {
    Key(KeyLine),
    CookieSecret(Zeroizing<String>),
    FactorSecret(Zeroizing<String>),
    AuditSecret(Zeroizing<String>),
}

#[derive(Serialize, Deserialize)]
pub(super) struct KeyLine {
    pub(super) stage: KeyStage,
    pem: Zeroizing<String>,
    /// When the next key begins to sign, if that is known, or until when a retired key verifies.
    pub(super) at: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeyStage {
    Signing,
    Next,
    Retired,
}

/// The last line.
#[derive(Serialize)]
pub(super) struct EndLine<'a> {
    pub(super) end: End<'a>,
}

#[derive(Serialize)]
pub(super) struct End<'a> {
    pub(super) counts: Counts<'a>,
    /// Of all lines before.
    pub(super) sha256: &'a str,
}

/// The number of records of each table, and of signing keys.
#[derive(Serialize)]
pub(super) struct Counts<'a> {
    #[serde(flatten)]
    pub(super) records: &'a RecordCounts,
    pub(super) keys: u64,
}

/// What is wrong with a line. It does not contain a value, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum Invalid {
    #[error("{0} is not valid")]
    Value(&'static str),
    #[error("not a record")]
    NotARecord,
    #[error("there is no table {0}")]
    UnknownTable(String),
    #[error("{table} has no column {column}")]
    UnknownColumn { table: &'static str, column: String },
    #[error("{table}.{column} is missing")]
    MissingColumn { table: &'static str, column: &'static str },
    #[error("{table}.{column} is not {expected}")]
    WrongType { table: &'static str, column: &'static str, expected: &'static str },
    #[error("the row of {table} is not valid")]
    Row { table: &'static str },
}

impl KeyLine {
    pub(super) fn new(stage: KeyStage, key: &SigningKey, at: Option<Timestamp>) -> Self {
        Self { stage, pem: key.to_pem(), at: at.map(Timestamp::millis) }
    }

    pub(super) fn key(self) -> Result<SigningKey, Invalid> {
        SigningKey::from_pem(&self.pem).map_err(|_| Invalid::Value("a signing key"))
    }
}

pub(super) fn secret_line(name: SecretName, secret: &SharedSecret) -> Line {
    let secret = Zeroizing::new(BASE64_STANDARD.encode(secret.as_bytes()));
    match name {
        SecretName::Cookies => Line::CookieSecret(secret),
        SecretName::Factors => Line::FactorSecret(secret),
        SecretName::Audit => Line::AuditSecret(secret),
    }
}

pub(super) fn secret(line: &str) -> Result<SharedSecret, Invalid> {
    let invalid = || Invalid::Value("a secret");
    let bytes = Zeroizing::new(BASE64_STANDARD.decode(line).map_err(|_| invalid())?);
    SharedSecret::from_store(&bytes).ok_or_else(invalid)
}

/// The line of a record.
pub(super) struct RecordLine<'a>(pub(super) &'a Record);

impl Serialize for RecordLine<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut line = serializer.serialize_map(Some(1))?;
        line.serialize_entry(self.0.table().name, &Fields(self.0))?;
        line.end()
    }
}

struct Fields<'a>(&'a Record);

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.fields().map(|(column, value)| (column.name, to_json(value))))
    }
}

fn to_json(value: &Value) -> Json {
    match value {
        Value::Id(id) => id.map(|id| id.to_string()).into(),
        Value::Text(text) => text.as_deref().into(),
        Value::Number(number) => (*number).into(),
        Value::Flag(flag) => (*flag).into(),
        Value::Bytes(bytes) => bytes.as_ref().map(|bytes| BASE64_STANDARD.encode(bytes)).into(),
        // No column that is moved has this type.
        Value::Time(_) => Json::Null,
    }
}

/// The record in a line of a backup of this schema.
pub(super) fn record(line: &[u8], schema: usize) -> Result<Record, Invalid> {
    let line: Map<String, Json> = serde_json::from_slice(line).map_err(|_| Invalid::NotARecord)?;
    let mut entries = line.into_iter();
    let (Some((name, Json::Object(fields))), None) = (entries.next(), entries.next()) else {
        return Err(Invalid::NotARecord);
    };
    let table = Table::by_name(&name, schema);
    let table = table.ok_or_else(|| Invalid::UnknownTable(printable(&name)))?;
    Record::new(table, values(table, fields, schema)?)
        .map_err(|_| Invalid::Row { table: table.name })
}

/// The values of a record, one for each moved column. Columns that the schema does not have yet get their defaults.
fn values(
    table: &'static Table,
    mut fields: Map<String, Json>,
    schema: usize,
) -> Result<Vec<Value>, Invalid> {
    let values = table.moved_columns().map(|column| {
        if let Some(default) = column.default_before(schema) {
            return Ok(default);
        }
        let (table, name) = (table.name, column.name);
        let json = fields.remove(name);
        let json = json.ok_or(Invalid::MissingColumn { table, column: name })?;
        from_json(column, &json).ok_or(Invalid::WrongType {
            table,
            column: name,
            expected: expected(column.kind),
        })
    });
    let values = values.collect::<Result<Vec<_>, _>>()?;
    if let Some((column, _)) = fields.into_iter().next() {
        return Err(Invalid::UnknownColumn { table: table.name, column: printable(&column) });
    }
    Ok(values)
}

/// The start of a name that somebody else may have written.
fn printable(name: &str) -> String {
    name.escape_debug().take(40).collect()
}

/// The value of a column, unless it is of another type.
fn from_json(column: &Column, json: &Json) -> Option<Value> {
    if json.is_null() && !column.is_nullable {
        return None;
    }
    /// Null, or a value of the type.
    fn optional<T>(json: &Json, read: impl FnOnce(&Json) -> Option<T>) -> Option<Option<T>> {
        if json.is_null() { Some(None) } else { read(json).map(Some) }
    }
    Some(match column.kind {
        Kind::Id => Value::Id(optional(json, |json| json.as_str()?.parse().ok())?),
        Kind::Text => Value::Text(optional(json, |json| Some(json.as_str()?.to_owned()))?),
        Kind::Number => Value::Number(optional(json, Json::as_i64)?),
        Kind::Flag => Value::Flag(json.as_bool()?),
        Kind::Bytes => {
            Value::Bytes(optional(json, |json| BASE64_STANDARD.decode(json.as_str()?).ok())?)
        }
    })
}

fn expected(kind: Kind) -> &'static str {
    match kind {
        Kind::Id => "an id",
        Kind::Text => "a text",
        Kind::Number => "a whole number",
        Kind::Flag => "true or false",
        Kind::Bytes => "Base64",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::archive::GROWN;

    fn grown(fields: &str, schema: usize) -> Result<Vec<Value>, String> {
        let fields = serde_json::from_str(fields).unwrap();
        values(&GROWN, fields, schema).map_err(|invalid| invalid.to_string())
    }

    #[test]
    fn a_row_of_an_older_backup_gets_the_default_of_an_added_column() {
        const OLD: &str = r#"{"id":"0190a0a0-0000-4000-8000-00000000000a","name":"Ada"}"#;
        const NEW: &str =
            r#"{"id":"0190a0a0-0000-4000-8000-00000000000a","name":"Ada","locale":"de"}"#;
        assert!(grown(OLD, 2).unwrap()[1..] == ["Ada".into(), "en".into()]);
        assert!(grown(NEW, 3).unwrap()[1..] == ["Ada".into(), "de".into()]);
        // Neither is what a version with that schema has written.
        assert_eq!(grown(OLD, 3).err().unwrap(), "grown.locale is missing");
        assert_eq!(grown(NEW, 2).err().unwrap(), "grown has no column locale");
    }
}
