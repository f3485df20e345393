//! What a write consists of: its scope, its statements, and a result computed from the rows that they changed.

use std::any::Any;

use uuid::Uuid;

use crate::{
    store::{Error, postgres::value::Value},
    token::one_time::OneTimeId,
    user::UserId,
};

/// What a write changes. This determines which rows it locks first, and which instances must read the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::store::postgres) enum WriteScope {
    /// A user who is being added.
    NewUser(UserId),
    /// A user, whose row is locked first.
    User(UserId),
    /// A user and one of their one-time secrets, whose rows are locked first. If either is gone, `prepare` gets no user.
    OneTime(UserId, OneTimeId),
    /// The signing keys, whose rows are locked first.
    SigningKeys,
    /// Rows that no other instance caches.
    Maintenance,
}

impl WriteScope {
    /// The user of the change, as stored in the table `changes`.
    pub(super) fn user_id(self) -> Option<Uuid> {
        match self {
            Self::NewUser(id) | Self::User(id) | Self::OneTime(id, _) => Some(id.uuid()),
            Self::SigningKeys | Self::Maintenance => None,
        }
    }
}

/// Statements of one transaction, sent in one round trip.
#[derive(Default)]
pub(in crate::store::postgres) struct StatementBatch {
    statements: Vec<(&'static str, Vec<Value>)>,
}

/// The number of rows that one statement of a batch changes. [`RowCounts::of`] reads it after the batch has run.
#[derive(Clone, Copy, Debug)]
pub(in crate::store::postgres) struct RowCount(usize);

/// The row counts of a batch that has run.
pub(in crate::store::postgres) struct RowCounts(Vec<u64>);

impl RowCounts {
    pub(super) fn new(counts: Vec<u64>) -> Self {
        Self(counts)
    }

    /// The number of rows that this statement changed.
    pub(in crate::store::postgres) fn of(&self, statement: RowCount) -> usize {
        usize::try_from(self.0[statement.0]).unwrap_or(usize::MAX)
    }
}

impl StatementBatch {
    /// Adds a statement.
    pub(in crate::store::postgres) fn add(
        &mut self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> RowCount {
        self.statements.push((sql, values.into()));
        RowCount(self.statements.len() - 1)
    }

    /// Adds a statement whose row count does not matter.
    pub(in crate::store::postgres) fn with(
        mut self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Self {
        self.add(sql, values);
        self
    }

    /// A write with a result that is known in advance.
    pub(in crate::store::postgres) fn returning<T: Send + 'static>(self, result: T) -> Write<T> {
        self.counting(|_| result)
    }

    /// A write whose result depends on row counts.
    pub(in crate::store::postgres) fn counting<T>(
        self,
        result: impl FnOnce(&RowCounts) -> T + Send + 'static,
    ) -> Write<T> {
        self.deciding(|counts| Verdict::Commit(result(counts)))
    }

    /// A write that is committed or rolled back depending on row counts.
    pub(in crate::store::postgres) fn deciding<T>(
        self,
        verdict: impl FnOnce(&RowCounts) -> Verdict<T> + Send + 'static,
    ) -> Write<T> {
        Write { statements: self.statements, verdict: Box::new(verdict) }
    }
}

/// What happens to a transaction whose statements have run.
pub(in crate::store::postgres) enum Verdict<T> {
    Commit(T),
    /// Nothing is written.
    RollBack(T),
    /// Nothing is written, and the write fails.
    Fail(Error),
}

/// The statements of a write and how its result is computed.
pub(in crate::store::postgres) struct Write<T> {
    pub(super) statements: Vec<(&'static str, Vec<Value>)>,
    pub(super) verdict: Decide<T>,
}

type Decide<T> = Box<dyn FnOnce(&RowCounts) -> Verdict<T> + Send>;

/// The result of a write, of any type.
pub(super) type AnyResult = Box<dyn Any + Send>;

impl<T: Send + 'static> Write<T> {
    /// Changes nothing: the transaction is rolled back.
    pub(in crate::store::postgres) fn nothing(result: T) -> Self {
        StatementBatch::default().returning(result)
    }

    /// One statement, with a result that is known in advance.
    pub(in crate::store::postgres) fn statement(
        sql: &'static str,
        values: impl Into<Vec<Value>>,
        result: T,
    ) -> Self {
        StatementBatch::default().with(sql, values).returning(result)
    }

    /// The same write without its type, so that the code that runs writes is compiled once and not for each of them.
    pub(super) fn untyped(self) -> Write<AnyResult> {
        let Self { statements, verdict } = self;
        let verdict = Box::new(|counts: &RowCounts| match verdict(counts) {
            Verdict::Commit(result) => Verdict::Commit(Box::new(result) as AnyResult),
            Verdict::RollBack(result) => Verdict::RollBack(Box::new(result) as AnyResult),
            Verdict::Fail(error) => Verdict::Fail(error),
        });
        Write { statements, verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_count_belongs_to_its_statement_in_a_batch_of_any_size() {
        let mut batch = StatementBatch::default().with("first", []);
        let second = batch.add("second", []);
        let third = batch.add("third", []);
        let Write { statements, verdict } =
            batch.with("fourth", []).counting(move |rows| (rows.of(third), rows.of(second)));
        let names: Vec<_> = statements.iter().map(|(sql, _)| *sql).collect();
        assert_eq!(names, ["first", "second", "third", "fourth"]);
        let verdict = verdict(&RowCounts::new(vec![1, 20, 300, 4000]));
        assert!(matches!(verdict, Verdict::Commit((300, 20))));
    }
}
