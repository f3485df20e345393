//! Export and import of the whole database.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore,
    engine::{StatementBatch, Write},
    invitations::invitation_values,
    mailing::{mail_values, one_time_values},
    row::{
        column, ending_from_row, invitation_from_row, mail_from_row, one_time_from_row,
        session_from_row, user_record_from_row,
    },
    sessions::session_values,
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
        archive::{Archive, Page, Size, UserRecord},
    },
    token::one_time::{OneTime, OneTimeId, SecretDigest},
    user::{EmailKey, Invitation},
};

#[async_trait]
impl Archive for PostgresStore {
    async fn size(&self) -> Result<Size, Error> {
        let rows = self.engine.read_without_limit(sql::SIZE).await?;
        let row =
            rows.first().ok_or_else(|| Error::Failed("the size query returned no row".into()))?;
        let count =
            |index| column::<i64>(row, index).map(|count| u64::try_from(count).unwrap_or(0));
        Ok(Size { users: count(0)?, sessions: count(1)? })
    }

    async fn user_records(
        &self,
        after: Option<&EmailKey>,
        limit: usize,
    ) -> Result<Vec<UserRecord>, Error> {
        let after = after.map_or("", EmailKey::as_str);
        let rows = self.engine.read(sql::USER_RECORDS, [after.into(), sql_limit(limit)]).await?;
        rows.iter().map(user_record_from_row).collect()
    }

    async fn session_records(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, Error> {
        // Every id sorts after the nil one.
        let after = after.map_or(Uuid::nil(), SessionId::uuid);
        let rows = self.engine.read(sql::SESSION_RECORDS, [after.into(), sql_limit(limit)]).await?;
        rows.iter().map(session_from_row).collect()
    }

    async fn ending_records(
        &self,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<(TokenId, Timestamp)>, Error> {
        let values = [after.map_or(Uuid::nil(), TokenId::uuid).into(), sql_limit(limit)];
        let rows = self.engine.read(sql::ENDED_TOKEN_RECORDS, values).await?;
        rows.iter().map(|row| ending_from_row(row, 0)).collect()
    }

    async fn one_time_records(
        &self,
        after: Option<OneTimeId>,
        limit: usize,
    ) -> Result<Vec<OneTime>, Error> {
        let values = [after.map_or(Uuid::nil(), OneTimeId::uuid).into(), sql_limit(limit)];
        let rows = self.engine.read(sql::ONE_TIME_RECORDS, values).await?;
        rows.iter().map(one_time_from_row).collect()
    }

    async fn mail_records(
        &self,
        after: Option<MailId>,
        limit: usize,
    ) -> Result<Vec<QueuedMail>, Error> {
        let values = [after.map_or(Uuid::nil(), MailId::uuid).into(), sql_limit(limit)];
        let rows = self.engine.read(sql::MAIL_RECORDS, values).await?;
        rows.iter().map(mail_from_row).collect()
    }

    async fn invitation_records(
        &self,
        after: Option<&EmailKey>,
        limit: usize,
    ) -> Result<Vec<(Invitation, SecretDigest)>, Error> {
        let after = after.map_or("", EmailKey::as_str);
        let values = [after.into(), sql_limit(limit)];
        let rows = self.engine.read(sql::INVITATION_RECORDS, values).await?;
        rows.iter().map(invitation_from_row).collect()
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
                let Page { users, sessions, endings, one_times, mails, invitations } = &page;
                let mut batch = StatementBatch::default();
                for record in users {
                    batch.add(sql::IMPORT_USER, user_record_values(record));
                }
                for session in sessions {
                    batch.add(sql::IMPORT_SESSION, session_values(session));
                }
                for (token, at) in endings {
                    let values = [(*token).into(), Uuid::nil().into(), (*at).into()];
                    batch.add(sql::IMPORT_ENDED_TOKEN, values);
                }
                for one_time in one_times {
                    batch.add(sql::ADD_ONE_TIME, one_time_values(one_time));
                }
                for mail in mails {
                    batch.add(sql::ADD_MAIL, mail_values(mail));
                }
                for (invitation, digest) in invitations {
                    batch.add(sql::IMPORT_INVITATION, invitation_values(invitation, digest));
                }
                batch.returning(())
            })
            .await
    }
}

fn user_record_values(record: &UserRecord) -> Vec<Value> {
    let UserRecord { user, reset_code, known_networks } = record;
    let (digest, expires_at) = reset_code.clone().unzip();
    let mut values = user_values(user);
    values.push(digest.map(|digest| digest.as_bytes().to_vec()).into());
    values.push(expires_at.into());
    values.push(known_networks.to_text().into());
    values
}
