//! The table `sessions`.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use super::{
    SqliteStore,
    ended_tokens::{add_ended_token, delete_and_end, end_reused},
    known_networks::add_known_network,
    mailing::insert_mailing,
    row::{session_from_row, user_from_row},
    sql_limit,
};
use crate::{
    clock::Timestamp,
    mail::Mailing,
    session::{Origin, Session, SessionId, TokenId},
    store::{
        Error, MAX_SESSIONS, ReusedToken, SessionStore,
        columns::{SESSION_COLUMN_COUNT, session_columns, user_columns},
        sessions::idle_ms,
    },
    user::{User, UserId},
};

#[async_trait]
impl SessionStore for SqliteStore {
    async fn add_session(
        &self,
        user: &User,
        session: &Session,
        mailing: &Mailing,
    ) -> Result<bool, Error> {
        let (user, session, mailing) = (user.clone(), session.clone(), mailing.clone());
        self.engine
            .write(Some(user.id), move |db| {
                let added = open_session(db, &user, &session)?;
                if added {
                    insert_mailing(db, &mailing)?;
                }
                Ok(added)
            })
            .await
    }

    async fn session_with_user(&self, id: SessionId) -> Result<Option<(Session, User)>, Error> {
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    session_columns!("s."),
                    ", ",
                    user_columns!("u."),
                    " FROM sessions s JOIN users u ON u.id = s.user_id WHERE s.id = ?1"
                ))?
                .query_row([id], |row| {
                    Ok((session_from_row(row)?, user_from_row(row, SESSION_COLUMN_COUNT)?))
                })
                .optional()
            })
            .await
    }

    async fn sessions_by_user(&self, user: UserId, now: Timestamp) -> Result<Vec<Session>, Error> {
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    session_columns!("s."),
                    " FROM sessions s WHERE s.user_id = ?1 AND s.expires_at > ?2
                     ORDER BY s.created_at, s.id"
                ))?
                .query_map(params![user, now.millis()], session_from_row)?
                .collect()
            })
            .await
    }

    async fn renew_session(
        &self,
        session: &Session,
        token_id: TokenId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let Session { id, token_id: old, user_id, .. } = *session;
        self.engine
            .write(Some(user_id), move |db| {
                let renewed = db
                    .prepare_cached(
                        "UPDATE sessions SET token_id = ?3 WHERE id = ?1 AND token_id = ?2",
                    )?
                    .execute(params![id, old, token_id])?;
                if renewed > 0 {
                    add_ended_token(db, old, now)?;
                }
                Ok(renewed > 0)
            })
            .await
    }

    async fn end_reused_session(
        &self,
        reused: &ReusedToken,
        replaced_by: Timestamp,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<bool, Error> {
        let (reused, mailing) = (*reused, mailing.clone());
        self.engine
            .write_revocation(reused.user_id, move |db| {
                let ended = end_reused(db, &reused, replaced_by, now)?;
                if ended {
                    insert_mailing(db, &mailing)?;
                }
                Ok(ended)
            })
            .await
    }

    async fn end_session(
        &self,
        user: UserId,
        id: SessionId,
        now: Timestamp,
    ) -> Result<bool, Error> {
        self.engine
            .write_revocation(user, move |db| {
                let ended = delete_and_end(
                    db,
                    now,
                    "DELETE FROM sessions WHERE id = ?1 AND user_id = ?2 RETURNING token_id",
                    params![id, user],
                )?;
                Ok(ended > 0)
            })
            .await
    }

    async fn end_sessions(
        &self,
        user: UserId,
        now: Timestamp,
        mailing: &Mailing,
    ) -> Result<usize, Error> {
        let mailing = mailing.clone();
        self.engine
            .write_revocation(user, move |db| {
                let ended = end_sessions(db, user, None, now)?;
                if ended > 0 {
                    insert_mailing(db, &mailing)?;
                }
                Ok(ended)
            })
            .await
    }

    async fn set_last_seen(&self, seen: &[(SessionId, Timestamp)]) -> Result<(), Error> {
        let seen = seen.to_vec();
        self.engine
            .write(None, move |db| {
                let mut statement =
                    db.prepare_cached("UPDATE sessions SET last_seen_at = ?2 WHERE id = ?1")?;
                for (id, at) in seen {
                    statement.execute(params![id, at.millis()])?;
                }
                Ok(())
            })
            .await
    }
}

/// Inserts a session. Returns false if the user is gone, disabled or has a new password, which may happen during a login.
pub(super) fn insert_session(
    db: &Connection,
    user: &User,
    session: &Session,
) -> rusqlite::Result<bool> {
    let Session {
        id,
        user_id: _,
        token_id,
        created_at,
        last_seen_at,
        expires_at,
        idle_timeout,
        origin: Origin { address, user_agent },
    } = session;
    let inserted = db
        .prepare_cached(concat!(
            "INSERT INTO sessions (",
            session_columns!(""),
            ") SELECT ?1, id, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM users
             WHERE id = ?2 AND NOT disabled AND password_version = ?10"
        ))?
        .execute(params![
            id,
            user.id,
            token_id,
            created_at.millis(),
            last_seen_at.millis(),
            expires_at.millis(),
            idle_ms(*idle_timeout),
            address.to_string(),
            user_agent,
            user.password_version.number(),
        ])?;
    Ok(inserted > 0)
}

/// Inserts a session unless one with this id exists, because a move may be resumed.
pub(super) fn import_session(db: &Connection, session: &Session) -> rusqlite::Result<()> {
    let Session {
        id,
        user_id,
        token_id,
        created_at,
        last_seen_at,
        expires_at,
        idle_timeout,
        origin: Origin { address, user_agent },
    } = session;
    db.prepare_cached(concat!(
        "INSERT INTO sessions (",
        session_columns!(""),
        ") VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (id) DO NOTHING"
    ))?
    .execute(params![
        id,
        user_id,
        token_id,
        created_at.millis(),
        last_seen_at.millis(),
        expires_at.millis(),
        idle_ms(*idle_timeout),
        address.to_string(),
        user_agent,
    ])
    .map(drop)
}

/// Adds a session for a user who signs in. Returns false if the user may not.
pub(super) fn open_session(
    db: &Connection,
    user: &User,
    session: &Session,
) -> rusqlite::Result<bool> {
    let added = insert_session(db, user, session)?;
    if added {
        end_oldest_sessions(db, session)?;
        add_known_network(db, session)?;
        db.prepare_cached("UPDATE users SET last_login_at = ?2 WHERE id = ?1")?
            .execute(params![user.id, session.created_at.millis()])?;
    }
    Ok(added)
}

/// Limits the sessions of a user, so that repeated logins do not fill the database.
fn end_oldest_sessions(db: &Connection, newest: &Session) -> rusqlite::Result<usize> {
    let user = newest.user_id;
    // Counting takes a tenth of the time of a DELETE that finds nothing.
    let count: i64 = db
        .prepare_cached("SELECT count(*) FROM sessions WHERE user_id = ?1")?
        .query_row([user], |row| row.get(0))?;
    if count <= sql_limit(MAX_SESSIONS) {
        return Ok(0);
    }
    delete_and_end(
        db,
        newest.created_at,
        "DELETE FROM sessions WHERE user_id = ?1 AND id <> ?2 AND id NOT IN
             (SELECT id FROM sessions WHERE user_id = ?1 AND id <> ?2
              ORDER BY created_at DESC, id DESC LIMIT ?3)
         RETURNING token_id",
        params![user, newest.id, sql_limit(MAX_SESSIONS - 1)],
    )
}

/// Ends all sessions of a user but `keep`.
pub(super) fn end_sessions(
    db: &Connection,
    user: UserId,
    keep: Option<SessionId>,
    now: Timestamp,
) -> rusqlite::Result<usize> {
    // No session has the nil id.
    let keep = keep.unwrap_or(SessionId::from_uuid(Uuid::nil()));
    delete_and_end(
        db,
        now,
        "DELETE FROM sessions WHERE user_id = ?1 AND id <> ?2 RETURNING token_id",
        params![user, keep],
    )
}

pub(super) fn delete_expired(
    db: &Connection,
    now: Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(
        "DELETE FROM sessions WHERE id IN
             (SELECT id FROM sessions WHERE expires_at <= ?1 LIMIT ?2)",
    )?
    .execute(params![now.millis(), sql_limit(limit)])
}
