//! Reads and inserts the rows of all tables in pages, for backups and for moves to another database. The statements are made from
//! the descriptions of the tables.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, LazyLock},
};

use async_trait::async_trait;
use serde::Serialize;
use uuid::Uuid;

#[cfg(test)]
pub use super::tables::GROWN;
use super::{
    Error, Store,
    columns::{IDENTITY_COLUMN_COUNT, identity_columns, user_columns},
    engine::SnapshotReader,
    identities::identity_from_row,
    recorded_event::new_event_row,
    row::Row,
    statements::statements,
    tables::{AUDIT_EVENTS, Source},
    user_record::user_from_row,
    value::sql_limit,
    write::{StatementBatch, Write},
};
pub use super::{
    engine::{DatabaseKind, KeySnapshot},
    tables::{Column, INVITATIONS, Kind, ONE_TIME_SECRETS, SESSIONS, Table, USERS},
    value::Value,
};
use crate::{
    audit::AuditKey,
    clock::Timestamp,
    event::Event,
    token::{KeyId, key_store::KeyStore},
    user::{EmailKey, Identity, LoginRoles, User},
};

statements! {
    UNFINISHED_MOVES = "SELECT id FROM unfinished_moves";
    BEGIN_MOVE = "INSERT INTO unfinished_moves (id) VALUES (1) ON CONFLICT (id) DO NOTHING";
    END_MOVE = "DELETE FROM unfinished_moves";
    USERS_BY_ADDRESS = concat!(
        "SELECT ", user_columns!("u."), " FROM users u WHERE u.email_key > $1 ORDER BY u.email_key LIMIT $2"
    );
    /// Those of the users after one address up to another one.
    IDENTITIES_BY_ADDRESS = concat!(
        "SELECT ", identity_columns!("i."),
        ", u.login_roles FROM users u JOIN identities i ON i.user_id = u.id WHERE u.email_key > $1 AND u.email_key <= $2"
    );
}

/// The maximum number of rows in a page.
const PAGE_ROWS: usize = 500;

/// The statements of each table, by its name.
static TABLE_STATEMENTS: LazyLock<BTreeMap<&'static str, TableStatements>> =
    LazyLock::new(|| Table::all().map(|table| (table.name, TableStatements::of(table))).collect());

/// Counts the rows of all tables, in their order.
static COUNT_RECORDS: LazyLock<String> = LazyLock::new(|| {
    let counts = Table::all().map(|table| format!("(SELECT count(*) FROM {})", table.name));
    format!("SELECT {}", counts.collect::<Vec<_>>().join(", "))
});

/// The statements of a table.
struct TableStatements {
    /// The moved columns of up to $2 rows after the key $1.
    page: String,
    /// Inserts a row, unless one with its key exists.
    insert: String,
}

impl TableStatements {
    fn of(table: &Table) -> Self {
        let Table { name, since: _, key, columns, check: _ } = table;
        let read: Vec<_> = table.moved_columns().map(|column| column.name).collect();
        let written = columns.iter().filter(|column| !matches!(column.source, Source::Database));
        let written: Vec<_> = written.map(|column| column.name).collect();
        let parameters: Vec<_> = (1..=written.len()).map(|number| format!("${number}")).collect();
        let (read, written, parameters) =
            (read.join(", "), written.join(", "), parameters.join(", "));
        Self {
            page: format!("SELECT {read} FROM {name} WHERE {key} > $1 ORDER BY {key} LIMIT $2"),
            insert: format!(
                "INSERT INTO {name} ({written}) VALUES ({parameters}) ON CONFLICT ({key}) DO NOTHING"
            ),
        }
    }

    fn by_table(table: &Table) -> &'static Self {
        &TABLE_STATEMENTS[table.name]
    }
}

/// The statements that are made from the descriptions of tables.
#[cfg(test)]
pub(super) fn made_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    let of_tables = TABLE_STATEMENTS.iter().flat_map(|(name, TableStatements { page, insert })| {
        [(*name, page.as_str()), (*name, insert.as_str())]
    });
    of_tables.chain([("COUNT_RECORDS", COUNT_RECORDS.as_str())])
}

/// A row of a table. It may contain a secret, so it does not implement `Debug`.
#[derive(Clone)]
pub struct Record {
    table: &'static Table,
    /// In the order of [`Table::moved_columns`].
    values: Vec<Value>,
}

impl Record {
    /// A row with these values, one for each moved column and of its type.
    ///
    /// # Errors
    /// If the service could not read it.
    pub fn new(table: &'static Table, values: Vec<Value>) -> Result<Self, Error> {
        (table.check)(&Row::from(&values[..]))?;
        Ok(Self { table, values })
    }

    /// The row of an event.
    ///
    /// # Errors
    /// If the service could not read it.
    pub fn of_event(event: &Event, key: &AuditKey) -> Result<Self, Error> {
        Self::new(&AUDIT_EVENTS, new_event_row(event, key))
    }

    fn from_row(table: &'static Table, row: &Row) -> Result<Self, Error> {
        (table.check)(row)?;
        let columns = table.moved_columns().enumerate();
        let values = columns.map(|(index, column)| column.value_in(row, index));
        Ok(Self { table, values: values.collect::<Result<_, _>>()? })
    }

    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// The moved columns, each with its value.
    pub fn fields(&self) -> impl Iterator<Item = (&'static Column, &Value)> {
        self.table.moved_columns().zip(&self.values)
    }

    /// The statement that inserts it, unless a row with its key exists.
    pub(super) fn insertion(&self) -> (&'static str, Vec<Value>) {
        let mut moved = self.values.iter().cloned();
        let value = |column: &Column| match column.source {
            Source::Moved => moved.next(),
            Source::KeyOf(address) => self.value_of(address).map(compared_form),
            Source::Fixed(value) => Some(value()),
            Source::Database => None,
        };
        let values = self.table.columns.iter().filter_map(value).collect();
        (&TableStatements::by_table(self.table).insert, values)
    }

    fn value_of(&self, name: &str) -> Option<&Value> {
        self.fields().find(|(column, _)| column.name == name).map(|(_, value)| value)
    }
}

/// The key of an address.
fn compared_form(address: &Value) -> Value {
    match address {
        Value::Text(Some(address)) => EmailKey::of(address).as_str().into(),
        other => other.clone(),
    }
}

/// A key that is lower than that of every row: no id is nil, and no text is empty.
fn lowest_key(table: &Table) -> Value {
    let key = table.columns.iter().find(|column| column.name == table.key);
    match key.map(|column| column.kind) {
        Some(Kind::Text) => "".into(),
        _ => Uuid::nil().into(),
    }
}

/// The number of rows of each table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordCounts(BTreeMap<&'static str, u64>);

impl Default for RecordCounts {
    fn default() -> Self {
        Self(Table::all().map(|table| (table.name, 0)).collect())
    }
}

impl RecordCounts {
    pub fn of(&self, table: &Table) -> u64 {
        self.0.get(table.name).copied().unwrap_or(0)
    }

    pub fn total(&self) -> u64 {
        self.0.values().sum()
    }

    /// Those of the tables that this schema has.
    pub fn in_schema(&self, schema: usize) -> Self {
        let tables = Table::all().filter(|table| table.since <= schema);
        Self(tables.map(|table| (table.name, self.of(table))).collect())
    }

    pub fn add(&mut self, record: &Record) {
        *self.0.entry(record.table.name).or_default() += 1;
    }

    fn from_row(row: &Row) -> Result<Self, Error> {
        let count = |(index, table): (usize, &'static Table)| {
            let count = row.get::<i64>(index)?;
            Ok((table.name, u64::try_from(count).unwrap_or(0)))
        };
        Ok(Self(Table::all().enumerate().map(count).collect::<Result<_, Error>>()?))
    }
}

/// The contents of a database at one moment.
pub struct Snapshot {
    pub(super) reader: Box<dyn SnapshotReader>,
    pub database: DatabaseKind,
    /// The keys, if the database holds them.
    pub keys: Option<KeySnapshot>,
}

impl Snapshot {
    /// The number of rows.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn counts(&self) -> Result<RecordCounts, Error> {
        let rows = self.reader.read(&COUNT_RECORDS, Vec::new()).await?;
        let row = rows.first().ok_or_else(|| Error::Failed("no row has the counts".into()))?;
        RecordCounts::from_row(row)
    }

    /// All rows.
    pub fn pages(&self) -> RowPages<'_> {
        RowPages { snapshot: self, tables: Table::all().collect(), after: None }
    }

    /// Users in the order of their addresses, from the first one after `after`.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error> {
        let after = after.map_or("", EmailKey::as_str);
        let rows = self.reader.read(USERS_BY_ADDRESS, vec![after.into(), sql_limit(limit)]).await?;
        rows.iter().map(|row| user_from_row(row, 0)).collect()
    }

    /// The identities of the users after one address up to another one, each with all roles that logins give its user.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn identities(
        &self,
        after: Option<&EmailKey>,
        last: &EmailKey,
    ) -> Result<Vec<(Identity, LoginRoles)>, Error> {
        let values = vec![after.map_or("", EmailKey::as_str).into(), last.as_str().into()];
        let rows = self.reader.read(IDENTITIES_BY_ADDRESS, values).await?;
        let read = |row: &Row| {
            let roles = row.get::<Option<&str>>(IDENTITY_COLUMN_COUNT)?.unwrap_or_default();
            Ok((identity_from_row(row)?, LoginRoles::from_store(roles)))
        };
        rows.iter().map(read).collect()
    }
}

/// The rows of a snapshot, one table after the other, each in the order of its key.
pub struct RowPages<'a> {
    snapshot: &'a Snapshot,
    /// The tables that are not read to their end yet. The first one is being read.
    tables: VecDeque<&'static Table>,
    /// The last key that was read of the first table.
    after: Option<Value>,
}

impl RowPages<'_> {
    /// The next page that has rows; none at the end.
    ///
    /// # Errors
    /// If the database cannot be read.
    pub async fn next(&mut self) -> Result<Option<Vec<Record>>, Error> {
        while let Some(table) = self.tables.front().copied() {
            let after = self.after.take().unwrap_or_else(|| lowest_key(table));
            let page = &TableStatements::by_table(table).page;
            let rows = self.snapshot.reader.read(page, vec![after, sql_limit(PAGE_ROWS)]).await?;
            let records = rows.iter().map(|row| Record::from_row(table, row));
            let records: Vec<_> = records.collect::<Result<_, _>>()?;
            match records.last() {
                Some(last) => {
                    self.after = last.value_of(table.key).cloned();
                    return Ok(Some(records));
                }
                None => self.tables.pop_front(),
            };
        }
        Ok(None)
    }
}

/// What a service has stored.
pub struct Installation {
    pub store: Arc<Store>,
    pub key_store: Arc<dyn KeyStore>,
}

/// Replaces the contents of a database in one transaction. Dropping it changes nothing.
#[async_trait]
pub trait Restoration: Send {
    /// The ids of the signing keys that are replaced.
    fn replaced_keys(&self) -> &[KeyId];

    async fn add(&mut self, records: &[Record]) -> Result<(), Error>;

    /// Adds the keys. `signs_at` is when the next key starts to sign, unless its time is known.
    async fn add_keys(&mut self, keys: &KeySnapshot, signs_at: Timestamp) -> Result<(), Error>;

    async fn commit(self: Box<Self>) -> Result<(), Error>;
}

impl Store {
    /// Begins to read the contents at this moment. Every write that was acknowledged before is in it.
    pub async fn snapshot(&self) -> Result<Snapshot, Error> {
        let reader = self.engine.snapshot().await?;
        let keys = reader.keys().await?;
        Ok(Snapshot { reader, database: self.engine.kind(), keys })
    }

    /// Whether a move into this database has started and not finished.
    pub async fn is_move_unfinished(&self) -> Result<bool, Error> {
        Ok(!self.read(UNFINISHED_MOVES, []).await?.is_empty())
    }

    /// Sets whether a move into this database is unfinished.
    pub async fn set_move_unfinished(&self, unfinished: bool) -> Result<(), Error> {
        let statement = if unfinished { BEGIN_MOVE } else { END_MOVE };
        self.write_uncached(move || Write::statement(statement, [], ())).await
    }

    /// Inserts rows in one transaction. Skips rows whose keys exist already.
    pub async fn import(&self, records: Vec<Record>) -> Result<(), Error> {
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            for (sql, values) in records.iter().map(Record::insertion) {
                batch.add(sql, values);
            }
            batch.returning(())
        })
        .await
    }
}
