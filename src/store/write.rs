//! What a write consists of: its scope, its statements, and a result computed from the rows that they changed. It is decided in
//! Rust, so it is the same for both databases.

use std::{any::Any, sync::Arc};

use uuid::Uuid;

use super::{
    Changes, Error, recorded_event::event_insertion, rights::right_statements,
    user_record::UserRecord, value::Value,
};
use crate::{
    audit::AuditKey,
    clock::Timestamp,
    event::{Authority, Event, EventKind},
    token::one_time::OneTimeId,
    user::{Roles, User, UserId},
};

/// What a write changes. This determines which rows it locks first, whose cached records are outdated, and which instances
/// must read the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteScope {
    /// A user who is being added.
    NewUser(UserId),
    /// A user, whose row is locked first.
    User(UserId),
    /// A user and one of their one-time secrets, whose rows are locked first. If either is gone, `prepare` gets no user.
    OneTime(UserId, OneTimeId),
    /// All users, whose rows are locked first. It may take longer than other writes.
    Everybody,
    /// The signing keys, whose rows are locked first.
    SigningKeys,
    /// Rows that nobody caches.
    Uncached,
}

impl WriteScope {
    /// The user whose record `prepare` gets.
    pub(super) fn locked_user(self) -> Option<UserId> {
        match self {
            Self::User(id) | Self::OneTime(id, _) => Some(id),
            Self::NewUser(_) | Self::Everybody | Self::SigningKeys | Self::Uncached => None,
        }
    }

    /// Whether sessions may end with it.
    pub(super) fn may_end_sessions(self) -> bool {
        match self {
            Self::User(_) | Self::OneTime(..) | Self::Everybody => true,
            Self::NewUser(_) | Self::SigningKeys | Self::Uncached => false,
        }
    }

    /// Counts the change, so that nobody uses outdated cache entries.
    pub(super) fn count_in(self, changes: &Changes) {
        match self {
            Self::User(id) | Self::OneTime(id, _) => changes.mark(id),
            Self::Everybody => changes.mark_all(),
            Self::NewUser(_) | Self::SigningKeys | Self::Uncached => {}
        }
    }
}

/// A write as an engine runs it.
pub(super) struct Transaction {
    pub(super) scope: WriteScope,
    /// Whether it revokes access. Then it may use the space that is reserved for a full disk, and counts as done while its
    /// outcome is unknown.
    pub(super) revokes_access: bool,
    pub(super) prepare: Box<Prepare>,
}

impl Transaction {
    /// With a key, the events of the write are rows of the audit trail in the same transaction.
    pub(super) fn new<T: Send + 'static>(
        scope: WriteScope,
        revokes_access: bool,
        key: Option<Arc<AuditKey>>,
        prepare: impl Fn(Uuid, Option<&UserRecord>) -> Write<T> + Send + Sync + 'static,
    ) -> Self {
        let prepare = Box::new(move |id, record: Option<&UserRecord>| {
            let write = prepare(id, record);
            match write.check_authority(record.map(|record| &record.user)) {
                Ok(()) => write.by_right().untyped(key.as_ref()),
                Err(error) => Write::<T>::failing(error).untyped(None),
            }
        });
        Self { scope, revokes_access, prepare }
    }
}

/// Makes the statements of a write. It gets the id of the change and the record of the user in the scope, and may be called more
/// than once.
pub(super) type Prepare = dyn Fn(Uuid, Option<&UserRecord>) -> Write<AnyResult> + Send + Sync;

/// A statement with its values.
pub(super) type Statement = (&'static str, Vec<Value>);

/// Statements of one transaction. PostgreSQL gets them in one round trip.
#[derive(Default)]
pub(super) struct StatementBatch {
    statements: Vec<Statement>,
    after_commit: AfterCommit,
    given: Vec<Roles>,
}

/// What follows the commit of a write.
#[derive(Default)]
pub(super) struct AfterCommit {
    pub(super) events: Vec<Event>,
    /// Whether mail waits to be sent.
    pub(super) has_mail: bool,
}

/// The number of rows that one statement of a batch changes. [`RowCounts::of`] reads it after the batch has run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RowCount(usize);

/// The row counts of a batch that has run.
pub(super) struct RowCounts(Vec<u64>);

impl RowCounts {
    pub(super) fn new(counts: Vec<u64>) -> Self {
        Self(counts)
    }

    /// Whether each of the first statements has changed a row, and the counts of the others.
    fn split_at(&self, first: usize) -> (bool, Self) {
        let (first, rest) = self.0.split_at(first);
        (first.iter().all(|count| *count > 0), Self(rest.to_vec()))
    }

    /// The number of rows that this statement changed.
    pub(super) fn of(&self, statement: RowCount) -> usize {
        usize::try_from(self.0[statement.0]).unwrap_or(usize::MAX)
    }
}

impl StatementBatch {
    pub(super) fn add(&mut self, sql: &'static str, values: impl Into<Vec<Value>>) -> RowCount {
        self.statements.push((sql, values.into()));
        RowCount(self.statements.len() - 1)
    }

    /// Publishes events and sends mail after the commit.
    pub(super) fn follow_up(&mut self, events: &[Event], has_mail: bool) {
        self.after_commit.events.extend_from_slice(events);
        self.after_commit.has_mail |= has_mail;
    }

    /// Notes roles that a statement of the batch gives to somebody, or to whoever will use an invitation.
    pub(super) fn gives(&mut self, roles: &Roles) {
        if !roles.is_empty() {
            self.given.push(roles.clone());
        }
    }

    /// Adds a statement whose row count does not matter.
    pub(super) fn with(mut self, sql: &'static str, values: impl Into<Vec<Value>>) -> Self {
        self.add(sql, values);
        self
    }

    /// A write with a result that is known in advance.
    pub(super) fn returning<T: Send + 'static>(self, result: T) -> Write<T> {
        self.counting(|_| result)
    }

    /// A write whose result depends on row counts.
    pub(super) fn counting<T>(
        self,
        result: impl FnOnce(&RowCounts) -> T + Send + 'static,
    ) -> Write<T> {
        self.deciding(|counts| Verdict::Commit(result(counts)))
    }

    /// A write that is committed or rolled back depending on row counts.
    pub(super) fn deciding<T>(
        self,
        verdict: impl FnOnce(&RowCounts) -> Verdict<T> + Send + 'static,
    ) -> Write<T> {
        let Self { statements, after_commit, given } = self;
        Write { statements, verdict: Box::new(verdict), after_commit, given, complete: None }
    }
}

/// What happens to a transaction whose statements have run.
pub(super) enum Verdict<T> {
    Commit(T),
    /// These statements run before the commit. Their values depend on the row counts.
    CommitAfter(Vec<Statement>, T),
    /// Nothing is written.
    RollBack(T),
    /// Nothing is written, and the write fails.
    Fail(Error),
}

impl Verdict<bool> {
    /// Whether something has changed. If not, nothing is written.
    pub(super) fn commit_if(changed: bool) -> Self {
        if changed { Self::Commit(true) } else { Self::RollBack(false) }
    }
}

/// The statements of a write and how its result is computed.
pub(super) struct Write<T> {
    pub(super) statements: Vec<Statement>,
    pub(super) verdict: Decide<T>,
    after_commit: AfterCommit,
    /// The roles that it gives to others.
    given: Vec<Roles>,
    complete: Option<Complete<T>>,
}

/// The result of a write, and what follows it if it was committed.
pub(super) struct Done<T> {
    pub(super) result: T,
    pub(super) after_commit: AfterCommit,
}

type Decide<T> = Box<dyn FnOnce(&RowCounts) -> Verdict<T> + Send>;

/// Completes an event, and returns whether it has happened.
type Complete<T> = Box<dyn Fn(&T, &mut Event) -> bool + Send>;

impl<T: 'static> Done<T> {
    /// What an engine returns for a write with a result of this type.
    pub(super) fn of(result: AnyResult) -> Self {
        *result.downcast().expect("the write has a result of this type")
    }
}

/// A [`Done`] write with a result of any type.
pub(super) type AnyResult = Box<dyn Any + Send>;

impl<T: Send + 'static> Write<T> {
    /// Whether whoever has ordered it may change the user whom it locks, as that user is at this moment, and give the roles that it gives.
    /// An event of the write names who has ordered it, so no order is overtaken by a role that the user has just got.
    fn check_authority(&self, locked: Option<&User>) -> Result<(), Error> {
        let Some((by, _)) = self.ordered_by() else { return Ok(()) };
        if locked.is_some_and(|user| !by.covers(&user.roles)) {
            return Err(Error::BeyondAuthority);
        }
        match self.given.iter().all(|roles| by.covers(roles)) {
            true => Ok(()),
            false => Err(Error::RoleBeyondAuthority),
        }
    }

    /// By what authority it is ordered, and when. One person orders a write.
    fn ordered_by(&self) -> Option<(&Authority, Timestamp)> {
        let mut events = self.after_commit.events.iter();
        events.find_map(|event| Some((event.authority.as_ref()?, event.at)))
    }

    /// Lets the write fail if whoever has ordered it has lost the right to.
    fn by_right(mut self) -> Self {
        let asked = self.ordered_by().map(|(by, at)| right_statements(by.right(), at));
        let Some(asked) = asked else { return self };
        let (count, verdict) = (asked.len(), self.verdict);
        // Before the others: an order may end the own session.
        self.statements.splice(0..0, asked);
        self.verdict = Box::new(move |counts| match counts.split_at(count) {
            (true, rest) => verdict(&rest),
            (false, _) => Verdict::Fail(Error::RightLost),
        });
        self
    }

    /// Changes nothing and fails.
    fn failing(error: Error) -> Self {
        StatementBatch::default().deciding(|_| Verdict::Fail(error))
    }

    /// Changes nothing: the transaction is rolled back.
    pub(super) fn nothing(result: T) -> Self {
        StatementBatch::default().deciding(|_| Verdict::RollBack(result))
    }

    /// One statement, with a result that is known in advance.
    pub(super) fn statement(sql: &'static str, values: impl Into<Vec<Value>>, result: T) -> Self {
        StatementBatch::default().with(sql, values).returning(result)
    }

    /// Completes each event with figures of the result, such as the number of ended sessions. They are known when the statements
    /// have run, which is before the commit.
    pub(super) fn complete_events(
        self,
        complete: impl Fn(&T, &mut EventKind) + Send + 'static,
    ) -> Self {
        self.choose_events(move |result, event| {
            complete(result, &mut event.kind);
            true
        })
    }

    /// Completes the events by the result, and leaves out those for which `complete` returns false.
    pub(super) fn choose_events(
        self,
        complete: impl Fn(&T, &mut Event) -> bool + Send + 'static,
    ) -> Self {
        Self { complete: Some(Box::new(complete)), ..self }
    }

    /// The write without its type, so that the code that runs writes is compiled once and not for each of them. Its events
    /// become rows of the audit trail. Those that have figures of the result are inserted when the other statements have run.
    pub(super) fn untyped(self, key: Option<&Arc<AuditKey>>) -> Write<AnyResult> {
        let Self { mut statements, verdict, mut after_commit, given: _, complete } = self;
        let key = key.cloned();
        let rows_of = move |events: &[Event]| -> Vec<Statement> {
            let Some(key) = &key else { return Vec::new() };
            events.iter().map(|event| event_insertion(event, key)).collect()
        };
        if complete.is_none() {
            statements.extend(rows_of(&after_commit.events));
        }
        let verdict = Box::new(move |counts: &RowCounts| match verdict(counts) {
            Verdict::Commit(result) => {
                let Some(complete) = complete else {
                    return Verdict::Commit(Box::new(Done { result, after_commit }) as AnyResult);
                };
                after_commit.events.retain_mut(|event| complete(&result, event));
                let rows = rows_of(&after_commit.events);
                Verdict::CommitAfter(rows, Box::new(Done { result, after_commit }) as AnyResult)
            }
            Verdict::CommitAfter(rows, result) => {
                Verdict::CommitAfter(rows, Box::new(Done { result, after_commit }) as AnyResult)
            }
            Verdict::RollBack(result) => {
                let after_commit = AfterCommit::default();
                Verdict::RollBack(Box::new(Done { result, after_commit }) as AnyResult)
            }
            Verdict::Fail(error) => Verdict::Fail(error),
        });
        let (after_commit, given) = (AfterCommit::default(), Vec::new());
        Write { statements, verdict, after_commit, given, complete: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{event::Administrator, token::shared_secret::SharedSecret};

    #[test]
    fn a_row_count_belongs_to_its_statement_in_a_batch_of_any_size() {
        let mut batch = StatementBatch::default().with("first", []);
        let second = batch.add("second", []);
        let third = batch.add("third", []);
        let Write { statements, verdict, .. } =
            batch.with("fourth", []).counting(move |rows| (rows.of(third), rows.of(second)));
        let names: Vec<_> = statements.iter().map(|(sql, _)| *sql).collect();
        assert_eq!(names, ["first", "second", "third", "fourth"]);
        let verdict = verdict(&RowCounts::new(vec![1, 20, 300, 4000]));
        assert!(matches!(verdict, Verdict::Commit((300, 20))));
    }

    /// The events that follow a write of one statement, whose row count is the number of ended sessions.
    fn events_after(rows: u64) -> Vec<EventKind> {
        let kind = EventKind::SessionsEnded { count: None };
        let event =
            Event::by_administrator(&Administrator::APP, None, Timestamp::from_millis(0), kind);
        let mut batch = StatementBatch::default();
        batch.follow_up(&[event], false);
        let ended = batch.add("end sessions", []);
        let write = batch.deciding(move |rows| match rows.of(ended) {
            0 => Verdict::RollBack(0),
            count => Verdict::Commit(count),
        });
        let write = write.complete_events(|ended, kind| {
            if let EventKind::SessionsEnded { count } = kind {
                *count = Some(*ended);
            }
        });
        let key = Arc::new(AuditKey::new(&SharedSecret::random()));
        let Write { statements, verdict, .. } = write.untyped(Some(&key));
        assert_eq!(statements.len(), 1, "the event is not complete yet");
        let (recorded, result) = match verdict(&RowCounts::new(vec![rows])) {
            Verdict::CommitAfter(recorded, result) => (recorded.len(), result),
            Verdict::RollBack(result) => (0, result),
            Verdict::Commit(_) | Verdict::Fail(_) => {
                panic!("an event is recorded, or nothing is written")
            }
        };
        assert_eq!(recorded as u64, rows.min(1));
        let Done { result, after_commit } = Done::<usize>::of(result);
        assert_eq!(result as u64, rows);
        after_commit.events.into_iter().map(|event| event.kind).collect()
    }

    #[test]
    fn the_events_of_a_committed_write_have_the_figures_of_its_result() {
        assert_eq!(events_after(2), [EventKind::SessionsEnded { count: Some(2) }]);
    }

    #[test]
    fn no_event_follows_a_write_that_is_rolled_back() {
        assert_eq!(events_after(0), []);
    }
}
