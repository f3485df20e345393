//! Everything at once, for moving in and out.

use async_trait::async_trait;
use tokio_postgres::Row;
use uuid::Uuid;

use super::{
    PostgresStore, column, ending,
    engine::{About, Plan},
    limit_of, session, session_values, statements as sql, timestamp, user, user_values,
};
use crate::{
    clock::Timestamp,
    credential::reset_code::ResetDigest,
    session::{Session, SessionId, TokenId},
    store::{
        Error,
        archive::{Archive, Batch, Size, UserRecord},
    },
    throttle::KnownNetworks,
    user::EmailKey,
};

#[async_trait]
impl Archive for PostgresStore {
    async fn size(&self) -> Result<Size, Error> {
        let rows = self.engine.read_at_length(sql::SIZE).await?;
        let row = rows.first().ok_or_else(|| Error::Failed("no size".into()))?;
        let count = |at| column::<i64>(row, at).map(|count| u64::try_from(count).unwrap_or(0));
        Ok(Size { users: count(0)?, sessions: count(1)? })
    }

    async fn user_records(
        &self,
        after: Option<&EmailKey>,
        limit: usize,
    ) -> Result<Vec<UserRecord>, Error> {
        let after = after.map_or("", EmailKey::as_str);
        let rows = self.engine.read(sql::USER_RECORDS, [after.into(), limit_of(limit)]).await?;
        rows.iter().map(user_record).collect()
    }

    async fn session_records(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, Error> {
        // No id comes before this one.
        let after = after.map_or(Uuid::nil(), SessionId::uuid);
        let rows = self.engine.read(sql::SESSION_RECORDS, [after.into(), limit_of(limit)]).await?;
        rows.iter().map(session).collect()
    }

    async fn ending_records(
        &self,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<(TokenId, Timestamp)>, Error> {
        let after = after.map_or(Uuid::nil(), TokenId::uuid);
        let rows = self.engine.read(sql::ENDING_RECORDS, [after.into(), limit_of(limit)]).await?;
        rows.iter().map(|row| ending(row, 0)).collect()
    }

    async fn is_move_unfinished(&self) -> Result<bool, Error> {
        Ok(!self.engine.read(sql::MOVES, []).await?.is_empty())
    }

    async fn set_move_unfinished(&self, unfinished: bool) -> Result<(), Error> {
        let statement = if unfinished { sql::BEGIN_MOVE } else { sql::END_MOVE };
        let decide = move |_, _: Option<&_>| Plan::new(()).then(statement, []);
        self.engine.write(About::Housekeeping, decide).await
    }

    async fn import(&self, batch: Batch) -> Result<(), Error> {
        let decide = move |_, _: Option<&_>| {
            let mut plan = Plan::new(());
            for UserRecord { user, reset_code, known_networks } in &batch.users {
                let mut values = user_values(user);
                let (digest, end) = reset_code.clone().unzip();
                values.push(digest.map(|digest| digest.as_bytes().to_vec()).into());
                values.push(end.into());
                plan = plan.then(sql::TAKE_IN_USER, values);
                let known = [user.id.into(), known_networks.to_text().into()];
                plan = plan.then(sql::SET_KNOWN_NETWORKS, known);
            }
            for session in &batch.sessions {
                plan = plan.then(sql::TAKE_IN_SESSION, session_values(session));
            }
            for (token, at) in &batch.endings {
                let values = [(*token).into(), Uuid::nil().into(), (*at).into()];
                plan = plan.then(sql::TAKE_IN_ENDING, values);
            }
            plan
        };
        self.engine.write(About::Housekeeping, decide).await
    }
}

fn user_record(row: &Row) -> Result<UserRecord, Error> {
    let digest: Option<Vec<u8>> = column(row, sql::USER_COLUMNS)?;
    let reset_code = match digest {
        Some(digest) => {
            let end = timestamp(row, sql::USER_COLUMNS + 1)?;
            Some((ResetDigest::from_store(digest), end))
        }
        None => None,
    };
    let known_networks = KnownNetworks::from_store(column(row, sql::USER_COLUMNS + 2)?);
    Ok(UserRecord { user: user(row, 0)?, reset_code, known_networks })
}
