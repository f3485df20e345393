//! Values and rows in the types of the driver.

use tokio_postgres::types::{FromSqlOwned, ToSql, Type};

use crate::store::{
    row::{Cell, Row},
    value::Value,
};

impl Value {
    pub(super) fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Id(value) => value,
            Self::Text(value) => value,
            Self::Number(value) => value,
            Self::Flag(value) => value,
            Self::Bytes(value) => value,
            Self::Time(value) => value,
        }
    }

    pub(super) fn sql_type(&self) -> Type {
        match self {
            Self::Id(_) => Type::UUID,
            Self::Text(_) => Type::TEXT,
            Self::Number(_) => Type::INT8,
            Self::Flag(_) => Type::BOOL,
            Self::Bytes(_) => Type::BYTEA,
            Self::Time(_) => Type::TIMESTAMPTZ,
        }
    }
}

pub(super) fn row_from_driver(row: &tokio_postgres::Row) -> Row {
    Row::new((0..row.len()).map(|column| cell(row, column)))
}

fn cell(row: &tokio_postgres::Row, column: usize) -> Cell {
    match *row.columns()[column].type_() {
        Type::UUID => value(row, column, Cell::Id),
        Type::TEXT | Type::VARCHAR | Type::NAME => value(row, column, Cell::Text),
        Type::INT8 => value(row, column, Cell::Number),
        Type::INT4 => value(row, column, |number: i32| Cell::Number(number.into())),
        Type::BOOL => value(row, column, Cell::Flag),
        Type::BYTEA => value(row, column, Cell::Bytes),
        Type::TIMESTAMPTZ => value(row, column, Cell::Time),
        _ => Cell::Unknown,
    }
}

fn value<T: FromSqlOwned>(
    row: &tokio_postgres::Row,
    column: usize,
    cell: impl FnOnce(T) -> Cell,
) -> Cell {
    match row.try_get::<_, Option<T>>(column) {
        Ok(value) => value.map_or(Cell::Null, cell),
        Err(_) => Cell::Unknown,
    }
}
