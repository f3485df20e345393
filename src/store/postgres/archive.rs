//! Export and import of the whole database.

use async_trait::async_trait;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{
    PostgresStore,
    engine::{StatementBatch, Write},
    imports::imported_hash_insertions,
    invitations::invitation_values,
    mailing::{mail_values, one_time_values},
    row::{
        column, ending_from_row, invitation_from_row, mail_from_row, one_time_from_row,
        session_from_row, user_record_from_row,
    },
    sessions::session_values,
    snapshot::PostgresSnapshot,
    statements as sql,
    users::user_values,
    value::{Value, sql_limit},
};
use crate::{
    clock::Timestamp,
    mail::MailId,
    session::{Session, SessionId, TokenId},
    store::{
        Error, QueuedMail,
        archive::{Archive, DatabaseKind, Page, Records, Size, Snapshot, UserRecord},
    },
    token::one_time::{OneTime, OneTimeId, SecretDigest},
    user::{EmailKey, Invitation},
};

/// Implements [`Records`] for a type with the methods `rows` and `all_rows`, which run a query.
macro_rules! records {
    ($source:ty) => {
        #[async_trait]
        impl Records for $source {
            async fn size(&self) -> Result<Size, Error> {
                let rows = self.all_rows(sql::SIZE).await?;
                let row = rows
                    .first()
                    .ok_or_else(|| Error::Failed("the size query returned no row".into()))?;
                let count = |index| {
                    column::<i64>(row, index).map(|count| u64::try_from(count).unwrap_or(0))
                };
                Ok(Size { users: count(0)?, sessions: count(1)? })
            }

            async fn user_records(
                &self,
                after: Option<&EmailKey>,
                limit: usize,
            ) -> Result<Vec<UserRecord>, Error> {
                let after = after.map_or("", EmailKey::as_str);
                let rows = self.rows(sql::USER_RECORDS, [after.into(), sql_limit(limit)]).await?;
                rows.iter().map(user_record_from_row).collect()
            }

            async fn session_records(
                &self,
                after: Option<SessionId>,
                limit: usize,
            ) -> Result<Vec<Session>, Error> {
                // Every id sorts after the nil one.
                let after = after.map_or(Uuid::nil(), SessionId::uuid);
                let rows =
                    self.rows(sql::SESSION_RECORDS, [after.into(), sql_limit(limit)]).await?;
                rows.iter().map(session_from_row).collect()
            }

            async fn ending_records(
                &self,
                after: Option<TokenId>,
                limit: usize,
            ) -> Result<Vec<(TokenId, Timestamp)>, Error> {
                let values = [after.map_or(Uuid::nil(), TokenId::uuid).into(), sql_limit(limit)];
                let rows = self.rows(sql::ENDED_TOKEN_RECORDS, values).await?;
                rows.iter().map(|row| ending_from_row(row, 0)).collect()
            }

            async fn one_time_records(
                &self,
                after: Option<OneTimeId>,
                limit: usize,
            ) -> Result<Vec<OneTime>, Error> {
                let values = [after.map_or(Uuid::nil(), OneTimeId::uuid).into(), sql_limit(limit)];
                let rows = self.rows(sql::ONE_TIME_RECORDS, values).await?;
                rows.iter().map(one_time_from_row).collect()
            }

            async fn mail_records(
                &self,
                after: Option<MailId>,
                limit: usize,
            ) -> Result<Vec<QueuedMail>, Error> {
                let values = [after.map_or(Uuid::nil(), MailId::uuid).into(), sql_limit(limit)];
                let rows = self.rows(sql::MAIL_RECORDS, values).await?;
                rows.iter().map(mail_from_row).collect()
            }

            async fn invitation_records(
                &self,
                after: Option<&EmailKey>,
                limit: usize,
            ) -> Result<Vec<(Invitation, SecretDigest)>, Error> {
                let after = after.map_or("", EmailKey::as_str);
                let values = [after.into(), sql_limit(limit)];
                let rows = self.rows(sql::INVITATION_RECORDS, values).await?;
                rows.iter().map(invitation_from_row).collect()
            }
        }
    };
}

records!(PostgresStore);
records!(PostgresSnapshot);

impl PostgresStore {
    async fn rows(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Row>, Error> {
        self.engine.read(sql, values).await
    }

    async fn all_rows(&self, sql: &'static str) -> Result<Vec<Row>, Error> {
        self.engine.read_without_limit(sql).await
    }
}

#[async_trait]
impl Archive for PostgresStore {
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        let snapshot = PostgresSnapshot::begin(self.engine.connector()).await?;
        let keys = Some(snapshot.keys().await?);
        Ok(Snapshot { records: Box::new(snapshot), database: DatabaseKind::Postgres, keys })
    }

    async fn is_move_unfinished(&self) -> Result<bool, Error> {
        Ok(!self.engine.read(sql::UNFINISHED_MOVES, []).await?.is_empty())
    }

    async fn set_move_unfinished(&self, unfinished: bool) -> Result<(), Error> {
        let statement = if unfinished { sql::BEGIN_MOVE } else { sql::END_MOVE };
        self.engine.maintain(move || Write::statement(statement, [], ())).await
    }

    async fn import(&self, page: Page) -> Result<(), Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                for (sql, values) in insertions(&page).into_iter().chain(hash_insertions(&page)) {
                    batch.add(sql, values);
                }
                batch.returning(())
            })
            .await
    }
}

/// The statements that insert the rows of a page, one row each. They skip rows whose ids exist already.
pub(super) fn insertions(page: &Page) -> Vec<(&'static str, Vec<Value>)> {
    let Page { users, sessions, endings, one_times, mails, invitations } = page;
    let mut statements = Vec::new();
    for record in users {
        statements.push((sql::IMPORT_USER, user_record_values(record)));
    }
    for session in sessions {
        statements.push((sql::IMPORT_SESSION, session_values(session)));
    }
    for (token, at) in endings {
        let values = vec![(*token).into(), Uuid::nil().into(), (*at).into()];
        statements.push((sql::IMPORT_ENDED_TOKEN, values));
    }
    for one_time in one_times {
        statements.push((sql::ADD_ONE_TIME, one_time_values(one_time)));
    }
    for mail in mails {
        statements.push((sql::ADD_MAIL, mail_values(mail, None)));
    }
    for (invitation, digest) in invitations {
        statements.push((sql::IMPORT_INVITATION, invitation_values(invitation, digest)));
    }
    statements
}

/// The statements that record the imported password hashes of a page's users.
pub(super) fn hash_insertions(page: &Page) -> Vec<(&'static str, Vec<Value>)> {
    let imported = page
        .users
        .iter()
        .filter_map(|UserRecord { user, hash_imported_at, .. }| Some((user, (*hash_imported_at)?)));
    imported_hash_insertions(imported)
}

fn user_record_values(record: &UserRecord) -> Vec<Value> {
    // The time of an imported hash is in another table.
    let UserRecord { user, reset_code, known_networks, hash_imported_at: _ } = record;
    let (digest, expires_at) = reset_code.clone().unzip();
    let mut values = user_values(user);
    values.push(digest.map(|digest| digest.as_bytes().to_vec()).into());
    values.push(expires_at.into());
    values.push(known_networks.to_text().into());
    values
}
