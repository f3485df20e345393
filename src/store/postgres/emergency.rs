//! Revoking everything, in one transaction.

use async_trait::async_trait;
use uuid::Uuid;

use super::{
    PostgresStore, connection::Connection, engine::Engine, error_class::ErrorClass,
    statements as sql, value::Value,
};
use crate::{
    clock::Timestamp,
    store::{
        EmergencyStore, Error, NewPasswords, Revoked,
        emergency::{MAIL_WITH_SECRET, role_between_spaces},
    },
};

#[async_trait]
impl EmergencyStore for PostgresStore {
    /// On a connection of its own, because it takes longer than a write may if there are many users.
    async fn revoke_everything(
        &self,
        new_passwords: &NewPasswords,
        now: Timestamp,
    ) -> Result<Revoked, Error> {
        const ATTEMPTS: usize = 10;
        let mut attempts = 0;
        let revoked = loop {
            attempts += 1;
            let db = self.engine.connector().connect().await?;
            match revoke(&self.engine, &db, new_passwords, now).await {
                Err(Failure::Conflict) if attempts < ATTEMPTS => {}
                Err(Failure::Conflict) => {
                    let cause = "other transactions keep changing the same rows: try again";
                    return Err(Error::Unavailable(cause.into()));
                }
                Err(Failure::Store(error)) => return Err(error),
                Ok(revoked) => break revoked,
            }
        };
        self.engine.changes().mark_all();
        self.engine.keys_changed().send_replace(());
        Ok(revoked)
    }
}

enum Failure {
    /// Nothing was written; a retry may succeed.
    Conflict,
    Store(Error),
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        match ErrorClass::of(&error) {
            ErrorClass::Conflict => Self::Conflict,
            _ => Self::Store(error.into()),
        }
    }
}

async fn revoke(
    engine: &Engine,
    db: &Connection,
    new_passwords: &NewPasswords,
    now: Timestamp,
) -> Result<Revoked, Failure> {
    let change_id = Uuid::new_v4();
    let change = async |sql: &'static str, values: &[Value]| {
        let changed = db.execute(sql, values).await?;
        Ok::<_, Failure>(usize::try_from(changed).unwrap_or(usize::MAX))
    };
    db.batch(sql::BEGIN).await?;
    // Without a user: other instances forget all users and read the keys again.
    change(sql::ADD_CHANGE, &[change_id.into(), None::<Uuid>.into()]).await?;
    // Whoever signs in locks the user first. So their session is ended below, or begins after the commit.
    db.query(sql::LOCK_USERS, &[]).await?;
    let passwords = match new_passwords {
        NewPasswords::All => change(sql::REMOVE_PASSWORDS, &[now.into()]).await?,
        NewPasswords::WithRole(role) => {
            let role = role_between_spaces(role);
            change(sql::REMOVE_PASSWORDS_OF_ROLE, &[now.into(), role.into()]).await?
        }
        NewPasswords::None => 0,
    };
    change(sql::DELETE_IMPORTED_HASHES_WITHOUT_PASSWORD, &[]).await?;
    let reset_codes = change(sql::DELETE_ALL_RESET_CODES, &[]).await?;
    change(sql::END_ALL_TOKENS, &[change_id.into(), now.into()]).await?;
    let revoked = Revoked {
        sessions: change(sql::DELETE_ALL_SESSIONS, &[]).await?,
        one_times: reset_codes + change(sql::DELETE_ALL_ONE_TIMES, &[]).await?,
        mails: change(sql::DELETE_MAIL_LIKE, &[MAIL_WITH_SECRET.into()]).await?,
        invitations: change(sql::DELETE_ALL_INVITATIONS, &[]).await?,
        passwords,
    };
    db.clear_warnings();
    let is_lost = match db.batch(sql::COMMIT).await {
        Ok(()) => db.was_warned(),
        Err(error) if ErrorClass::of(&error) == ErrorClass::Connection => true,
        Err(error) => return Err(error.into()),
    };
    if is_lost && !engine.has_committed(change_id).await.map_err(Failure::Store)? {
        let cause = "the commit failed: nothing was revoked";
        return Err(Failure::Store(Error::Unavailable(cause.into())));
    }
    Ok(revoked)
}
