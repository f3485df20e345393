//! Export and import of the whole database.

use async_trait::async_trait;
use rusqlite::{Connection, Row, params};
use uuid::Uuid;

use super::{
    SqliteStore,
    credentials::import_reset_code,
    ended_tokens::add_ended_token,
    imported_hashes::add_imported_hash,
    invitations::import_invitation,
    known_networks::set_known_networks,
    mailing::{insert_mail, insert_one_time},
    row::{
        invitation_from_row, mail_from_row, one_time_from_row, session_from_row, timestamp,
        user_from_row,
    },
    sessions::import_session,
    sql_limit,
    users::import_user,
};
use crate::{
    clock::Timestamp,
    credential::reset_code::ResetDigest,
    mail::MailId,
    session::{Session, SessionId, TokenId},
    store::{
        Error, QueuedMail,
        archive::{Archive, DatabaseKind, Page, Records, Size, Snapshot, UserRecord},
        columns::{
            USER_COLUMN_COUNT, invitation_columns, mail_columns, one_time_columns, session_columns,
            user_columns,
        },
    },
    throttle::KnownNetworks,
    token::one_time::{OneTime, OneTimeId, SecretDigest},
    user::{EmailKey, Invitation},
};

/// Runs reads on one of the connections of a database.
pub(super) trait Reads: Send + Sync {
    fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> impl Future<Output = Result<T, Error>> + Send;
}

impl Reads for SqliteStore {
    async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Error> {
        self.engine.read(work).await
    }
}

#[async_trait]
impl<R: Reads> Records for R {
    async fn size(&self) -> Result<Size, Error> {
        self.read(|db| {
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
        self.read(move |db| {
            db.prepare_cached(concat!(
                "SELECT ",
                user_columns!("u."),
                ", c.digest, c.expires_at, u.known_networks, i.imported_at FROM users u
                     LEFT JOIN reset_codes c ON c.user_id = u.id
                     LEFT JOIN imported_hashes i ON i.user_id = u.id
                     WHERE u.email_key > ?1 ORDER BY u.email_key LIMIT ?2"
            ))?
            .query_map(params![after, sql_limit(limit)], user_record_from_row)?
            .collect()
        })
        .await
    }

    async fn session_records(
        &self,
        after: Option<SessionId>,
        limit: usize,
    ) -> Result<Vec<Session>, Error> {
        // Every id sorts after the nil one.
        let after = after.unwrap_or(SessionId::from_uuid(Uuid::nil()));
        self.read(move |db| {
            db.prepare_cached(concat!(
                "SELECT ",
                session_columns!("s."),
                " FROM sessions s WHERE s.id > ?1 ORDER BY s.id LIMIT ?2"
            ))?
            .query_map(params![after, sql_limit(limit)], session_from_row)?
            .collect()
        })
        .await
    }

    async fn ending_records(
        &self,
        after: Option<TokenId>,
        limit: usize,
    ) -> Result<Vec<(TokenId, Timestamp)>, Error> {
        let after = after.unwrap_or(TokenId::from_uuid(Uuid::nil()));
        self.read(move |db| {
            db.prepare_cached(
                "SELECT token_id, ended_at FROM ended_tokens WHERE token_id > ?1
                     ORDER BY token_id LIMIT ?2",
            )?
            .query_map(params![after, sql_limit(limit)], |row| {
                Ok((row.get(0)?, timestamp(row, 1)?))
            })?
            .collect()
        })
        .await
    }

    async fn one_time_records(
        &self,
        after: Option<OneTimeId>,
        limit: usize,
    ) -> Result<Vec<OneTime>, Error> {
        let after = after.unwrap_or(OneTimeId::from_uuid(Uuid::nil()));
        self.read(move |db| {
            db.prepare_cached(concat!(
                "SELECT ",
                one_time_columns!("o."),
                " FROM one_times o WHERE o.id > ?1 ORDER BY o.id LIMIT ?2"
            ))?
            .query_map(params![after, sql_limit(limit)], one_time_from_row)?
            .collect()
        })
        .await
    }

    async fn mail_records(
        &self,
        after: Option<MailId>,
        limit: usize,
    ) -> Result<Vec<QueuedMail>, Error> {
        let after = after.unwrap_or(MailId::from_uuid(Uuid::nil()));
        self.read(move |db| {
            db.prepare_cached(concat!(
                "SELECT ",
                mail_columns!(),
                " FROM outbox WHERE id > ?1 ORDER BY id LIMIT ?2"
            ))?
            .query_map(params![after, sql_limit(limit)], mail_from_row)?
            .collect()
        })
        .await
    }

    async fn invitation_records(
        &self,
        after: Option<&EmailKey>,
        limit: usize,
    ) -> Result<Vec<(Invitation, SecretDigest)>, Error> {
        let after = after.map_or(String::new(), |key| key.as_str().to_owned());
        self.read(move |db| {
            db.prepare_cached(concat!(
                "SELECT ",
                invitation_columns!(),
                " FROM invitations WHERE email_key > ?1 ORDER BY email_key LIMIT ?2"
            ))?
            .query_map(params![after, sql_limit(limit)], invitation_from_row)?
            .collect()
        })
        .await
    }
}

#[async_trait]
impl Archive for SqliteStore {
    async fn snapshot(&self) -> Result<Snapshot, Error> {
        let records = Box::new(self.engine.snapshot()?);
        Ok(Snapshot { records, database: DatabaseKind::Sqlite, keys: None })
    }

    async fn is_move_unfinished(&self) -> Result<bool, Error> {
        self.engine
            .read(|db| db.prepare_cached("SELECT id FROM unfinished_moves")?.exists([]))
            .await
    }

    async fn set_move_unfinished(&self, unfinished: bool) -> Result<(), Error> {
        let statement = if unfinished {
            "INSERT INTO unfinished_moves (id) VALUES (1) ON CONFLICT (id) DO NOTHING"
        } else {
            "DELETE FROM unfinished_moves"
        };
        self.engine.write(None, move |db| db.execute(statement, []).map(drop)).await
    }

    async fn import(&self, page: Page) -> Result<(), Error> {
        self.engine
            .write(None, move |db| {
                let Page { users, sessions, endings, one_times, mails, invitations } = &page;
                users.iter().try_for_each(|record| import_user_record(db, record))?;
                sessions.iter().try_for_each(|session| import_session(db, session))?;
                endings.iter().try_for_each(|(token, at)| add_ended_token(db, *token, *at))?;
                one_times.iter().try_for_each(|one_time| insert_one_time(db, one_time))?;
                mails.iter().try_for_each(|mail| insert_mail(db, mail, None))?;
                invitations
                    .iter()
                    .try_for_each(|(invitation, digest)| import_invitation(db, invitation, digest))
            })
            .await
    }
}

fn import_user_record(db: &Connection, record: &UserRecord) -> rusqlite::Result<()> {
    let UserRecord { user, reset_code, known_networks, hash_imported_at } = record;
    import_user(db, user)?;
    if let Some(imported_at) = hash_imported_at {
        add_imported_hash(db, user, *imported_at)?;
    }
    if let Some((digest, expires_at)) = reset_code {
        import_reset_code(db, user.id, digest, *expires_at)?;
    }
    set_known_networks(db, user.id, known_networks)
}

fn user_record_from_row(row: &Row<'_>) -> rusqlite::Result<UserRecord> {
    let digest: Option<Vec<u8>> = row.get(USER_COLUMN_COUNT)?;
    let reset_code = match digest {
        Some(digest) => {
            Some((ResetDigest::from_store(digest), timestamp(row, USER_COLUMN_COUNT + 1)?))
        }
        None => None,
    };
    let known_networks = KnownNetworks::from_store(row.get_ref(USER_COLUMN_COUNT + 2)?.as_str()?);
    let imported_at: Option<i64> = row.get(USER_COLUMN_COUNT + 3)?;
    let hash_imported_at = imported_at.map(Timestamp::from_millis);
    Ok(UserRecord { user: user_from_row(row, 0)?, reset_code, known_networks, hash_imported_at })
}
