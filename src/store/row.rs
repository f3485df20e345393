//! A row that a statement has returned, whichever database it is from.

use std::{str::FromStr, time::SystemTime};

use uuid::Uuid;

use super::{Error, value::Value};
use crate::{clock::Timestamp, id::Id};

/// A row. It may contain a secret, so it does not implement `Debug`.
#[derive(Clone)]
pub(super) struct Row(Vec<Cell>);

/// The value of a column as the database returns it. SQLite has ids as bytes and flags as numbers.
#[derive(Clone)]
pub(super) enum Cell {
    Null,
    Id(Uuid),
    Text(String),
    Number(i64),
    Flag(bool),
    Bytes(Vec<u8>),
    /// By the clock of the database.
    Time(SystemTime),
    /// Of a type that no column of ours has.
    Unknown,
}

impl Row {
    pub(super) fn new(cells: impl IntoIterator<Item = Cell>) -> Self {
        Self(cells.into_iter().collect())
    }

    pub(super) fn get<'a, T: FromCell<'a>>(&'a self, column: usize) -> Result<T, Error> {
        self.0.get(column).and_then(T::from_cell).ok_or_else(|| {
            Error::Failed(format!("column {column} of a row is missing or of another type").into())
        })
    }

    /// A value that is stored as text.
    pub(super) fn parsed<T>(&self, column: usize) -> Result<T, Error>
    where
        T: FromStr<Err: std::error::Error + Send + Sync + 'static>,
    {
        self.get::<&str>(column)?.parse().map_err(|error: T::Err| Error::Failed(error.into()))
    }
}

/// The row that a database would return for these values.
impl From<&[Value]> for Row {
    fn from(values: &[Value]) -> Self {
        Self::new(values.iter().cloned().map(Cell::from))
    }
}

impl From<Value> for Cell {
    fn from(value: Value) -> Self {
        match value {
            Value::Id(id) => id.map_or(Self::Null, Self::Id),
            Value::Text(text) => text.map_or(Self::Null, Self::Text),
            Value::Number(number) => number.map_or(Self::Null, Self::Number),
            Value::Flag(flag) => Self::Flag(flag),
            Value::Bytes(bytes) => bytes.map_or(Self::Null, Self::Bytes),
            Value::Time(time) => Self::Time(time),
        }
    }
}

/// A type that a column can be read as.
pub(super) trait FromCell<'a>: Sized {
    /// The value, unless the column has another type.
    fn from_cell(cell: &'a Cell) -> Option<Self>;
}

/// Declares the types that a column can be read as.
macro_rules! from_cells {
    ($($kind:ty => |$cell:ident| $value:expr;)*) => {
        $(impl<'a> FromCell<'a> for $kind {
            fn from_cell($cell: &'a Cell) -> Option<Self> {
                $value
            }
        })*
    };
}

from_cells! {
    Uuid => |cell| match cell {
        Cell::Id(id) => Some(*id),
        Cell::Bytes(bytes) => Uuid::from_slice(bytes).ok(),
        _ => None,
    };
    &'a str => |cell| match cell {
        Cell::Text(text) => Some(text),
        _ => None,
    };
    String => |cell| <&str>::from_cell(cell).map(ToOwned::to_owned);
    i64 => |cell| match cell {
        Cell::Number(number) => Some(*number),
        _ => None,
    };
    bool => |cell| match cell {
        Cell::Flag(flag) => Some(*flag),
        Cell::Number(number) => Some(*number != 0),
        _ => None,
    };
    &'a [u8] => |cell| match cell {
        Cell::Bytes(bytes) => Some(bytes),
        _ => None,
    };
    Vec<u8> => |cell| <&[u8]>::from_cell(cell).map(ToOwned::to_owned);
    SystemTime => |cell| match cell {
        Cell::Time(time) => Some(*time),
        _ => None,
    };
    Timestamp => |cell| i64::from_cell(cell).map(Timestamp::from_millis);
}

impl<T: Id> FromCell<'_> for T {
    fn from_cell(cell: &Cell) -> Option<Self> {
        Uuid::from_cell(cell).map(Self::from_uuid)
    }
}

impl<'a, T: FromCell<'a>> FromCell<'a> for Option<T> {
    fn from_cell(cell: &'a Cell) -> Option<Self> {
        match cell {
            Cell::Null => Some(None),
            cell => T::from_cell(cell).map(Some),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_read_as_its_type_or_not_at_all() {
        let id = Uuid::new_v4();
        let row = Row::new([
            Cell::Id(id),
            Cell::Bytes(id.as_bytes().to_vec()),
            Cell::Number(1),
            Cell::Null,
            Cell::Text("x".into()),
        ]);
        assert!([0, 1].map(|column| row.get::<Uuid>(column).unwrap()) == [id, id]);
        assert!(row.get::<bool>(2).unwrap());
        assert_eq!(row.get::<Option<i64>>(3).unwrap(), None);
        assert_eq!(row.get::<Option<&str>>(4).unwrap(), Some("x"));
        assert!(row.get::<i64>(3).is_err(), "null");
        assert!(row.get::<Option<i64>>(4).is_err(), "a text");
        assert!(row.get::<i64>(5).is_err(), "no such column");
    }
}
