//! Everything at once, for moving in and out.

use async_trait::async_trait;
use rusqlite::{Row, params};

use super::{
    SESSION, SqliteStore, USER, endings::end, insert_user, limit_of,
    login_failures::set_known_networks, parsed, session, timestamp, user,
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

const USER_COLUMNS: usize = 11;

#[async_trait]
impl Archive for SqliteStore {
    async fn size(&self) -> Result<Size, Error> {
        self.engine
            .read(|db| {
                let count = |sql| {
                    let count: i64 = db.query_row(sql, [], |row| row.get(0))?;
                    Ok::<_, rusqlite::Error>(u64::try_from(count).unwrap_or(0))
                };
                Ok(Size {
                    users: count("SELECT count(*) FROM users")?,
                    sessions: count("SELECT count(*) FROM sessions")?,
                })
            })
            .await
    }

    async fn user_records(
        &self,
        after: Option<&EmailKey>,
        limit: usize,
    ) -> Result<Vec<UserRecord>, Error> {
        let after = after.map_or(String::new(), |key| key.as_str().to_owned());
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!(
                    "SELECT {USER}, c.digest, c.expires_at, u.known_networks FROM users u
                     LEFT JOIN reset_codes c ON c.user_id = u.id
                     WHERE u.email_key > ?1 ORDER BY u.email_key LIMIT ?2"
                ))?
                .query_map(params![after, limit_of(limit)], user_record)?
                .collect()
            })
            .await
    }

    async fn session_records(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, Error> {
        let after = after.map_or(String::new(), |id| id.to_string());
        self.engine
            .read(move |db| {
                db.prepare_cached(&format!(
                    "SELECT {SESSION} FROM sessions s WHERE s.id > ?1 ORDER BY s.id LIMIT ?2"
                ))?
                .query_map(params![after, limit_of(limit)], session)?
                .collect()
            })
            .await
    }

    async fn ending_records(
        &self,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<(TokenId, Timestamp)>, Error> {
        let after = after.map_or(String::new(), |id| id.to_string());
        self.engine
            .read(move |db| {
                db.prepare_cached(
                    "SELECT token_id, ended_at FROM endings WHERE token_id > ?1
                     ORDER BY token_id LIMIT ?2",
                )?
                .query_map(params![after, limit_of(limit)], |row| {
                    Ok((parsed(row, 0)?, timestamp(row, 1)?))
                })?
                .collect()
            })
            .await
    }

    async fn is_move_unfinished(&self) -> Result<bool, Error> {
        self.engine.read(|db| db.prepare_cached("SELECT id FROM moves")?.exists([])).await
    }

    async fn set_move_unfinished(&self, unfinished: bool) -> Result<(), Error> {
        let statement = if unfinished {
            "INSERT INTO moves (id) VALUES (1) ON CONFLICT (id) DO NOTHING"
        } else {
            "DELETE FROM moves"
        };
        self.engine.write(None, move |db| db.execute(statement, []).map(|_| ())).await
    }

    async fn import(&self, batch: Batch) -> Result<(), Error> {
        self.engine
            .write(None, move |db| {
                for record in &batch.users {
                    take_in_user(db, record)?;
                }
                for session in &batch.sessions {
                    take_in_session(db, session)?;
                }
                batch.endings.iter().try_for_each(|(token, at)| end(db, *token, *at))
            })
            .await
    }
}

fn take_in_user(
    db: &rusqlite::Connection,
    UserRecord { user, reset_code, known_networks }: &UserRecord,
) -> rusqlite::Result<()> {
    insert_user(db, user)?;
    if let Some((digest, end)) = reset_code {
        db.prepare_cached(
            "INSERT INTO reset_codes (user_id, digest, expires_at) VALUES (?1, ?2, ?3)
             ON CONFLICT (user_id) DO NOTHING",
        )?
        .execute(params![user.id.to_string(), digest.as_bytes(), end.millis()])?;
    }
    set_known_networks(db, user.id, known_networks)
}

fn take_in_session(db: &rusqlite::Connection, session: &Session) -> rusqlite::Result<()> {
    db.prepare_cached(
        "INSERT INTO sessions
             (id, user_id, token_id, created_at, last_seen_at, expires_at, address, user_agent)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT (id) DO NOTHING",
    )?
    .execute(params![
        session.id.to_string(),
        session.user_id.to_string(),
        session.token_id.to_string(),
        session.created_at.millis(),
        session.last_seen_at.millis(),
        session.expires_at.millis(),
        session.origin.address.to_string(),
        session.origin.user_agent,
    ])
    .map(|_| ())
}

fn user_record(row: &Row<'_>) -> rusqlite::Result<UserRecord> {
    let digest: Option<Vec<u8>> = row.get(USER_COLUMNS)?;
    let reset_code = match digest {
        Some(digest) => Some((ResetDigest::from_store(digest), timestamp(row, USER_COLUMNS + 1)?)),
        None => None,
    };
    let known_networks = KnownNetworks::from_store(row.get_ref(USER_COLUMNS + 2)?.as_str()?);
    Ok(UserRecord { user: user(row, 0)?, reset_code, known_networks })
}
