//! The table `one_times`, and what the use of a one-time secret does.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};

use super::{
    SqliteStore,
    credentials::{delete_reset_code, write_password},
    mailing::{delete_one_times, insert_mailing},
    row::{one_time_from_row, one_time_with_user_from_row},
    sessions::{end_sessions, open_session},
    sql_limit,
    users::select_user,
};
use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    mail::Mailing,
    store::{
        Error, MAX_CODES, OneTimeEffect, OneTimeStore,
        columns::{one_time_columns, user_columns},
    },
    token::one_time::{OneTime, OneTimeId, Purpose, SecretDigest},
    user::{EmailKey, User},
};

#[async_trait]
impl OneTimeStore for SqliteStore {
    async fn one_time_by_digest(
        &self,
        purpose: Purpose,
        digest: &SecretDigest,
    ) -> Result<Option<(OneTime, User)>, Error> {
        let digest = digest.clone();
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    one_time_columns!("o."),
                    ", ",
                    user_columns!("u."),
                    " FROM one_times o JOIN users u ON u.id = o.user_id
                     WHERE o.digest = ?1 AND o.purpose = ?2"
                ))?
                .query_row(
                    params![digest.as_bytes(), purpose.as_str()],
                    one_time_with_user_from_row,
                )
                .optional()
            })
            .await
    }

    async fn one_times_by_email(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<Vec<(OneTime, User)>, Error> {
        let email = email.clone();
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    one_time_columns!("o."),
                    ", ",
                    user_columns!("u."),
                    " FROM one_times o JOIN users u ON u.id = o.user_id
                     WHERE o.email_key = ?1 AND o.purpose = ?2 AND o.expires_at > ?3
                     ORDER BY o.expires_at DESC, o.id DESC LIMIT ?4"
                ))?
                .query_map(
                    params![email.as_str(), purpose.as_str(), now.millis(), sql_limit(MAX_CODES)],
                    one_time_with_user_from_row,
                )?
                .collect()
            })
            .await
    }

    async fn charge_guess(
        &self,
        purpose: Purpose,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<usize, Error> {
        let email = email.clone();
        self.engine
            .write(None, move |db| {
                let mut charged = db
                    .prepare_cached(
                        "UPDATE one_times SET guesses = guesses + 1
                         WHERE email_key = ?1 AND purpose = ?2 AND expires_at > ?3",
                    )?
                    .execute(params![email.as_str(), purpose.as_str(), now.millis()])?;
                if purpose == Purpose::Invitation {
                    charged += db
                        .prepare_cached(
                            "UPDATE invitations SET guesses = guesses + 1
                             WHERE email_key = ?1 AND expires_at > ?2",
                        )?
                        .execute(params![email.as_str(), now.millis()])?;
                }
                Ok(charged)
            })
            .await
    }

    async fn pending_email(&self, user: &User, now: Timestamp) -> Result<Option<OneTime>, Error> {
        let (id, email, version) = (user.id, user.email.clone(), user.password_version);
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    one_time_columns!("o."),
                    " FROM one_times o
                     WHERE o.user_id = ?1 AND o.purpose = ?2 AND o.expires_at > ?3
                         AND o.user_email = ?4 AND o.password_version = ?5
                     ORDER BY o.expires_at DESC, o.id DESC LIMIT 1"
                ))?
                .query_row(
                    params![
                        id,
                        Purpose::ChangeEmail.as_str(),
                        now.millis(),
                        email.as_str(),
                        version.number(),
                    ],
                    one_time_from_row,
                )
                .optional()
            })
            .await
    }

    async fn use_one_time(
        &self,
        one_time: &OneTime,
        effect: OneTimeEffect,
        mailing: &Mailing,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        let (one_time, mailing, user_id) = (one_time.clone(), mailing.clone(), one_time.user_id);
        let removes_access =
            matches!(effect, OneTimeEffect::RestoreEmail(_) | OneTimeEffect::ResetPassword(_));
        let work = move |db: &Connection| {
            let user = select_user(db, user_id)?;
            let Some(user) = user.filter(|user| {
                one_time.purpose == effect.purpose() && one_time.is_valid_for(user, now)
            }) else {
                return Ok(None);
            };
            if !use_up(db, &one_time)? {
                return Ok(None);
            }
            apply(db, &one_time, &user, &effect, now)?;
            insert_mailing(db, &mailing)?;
            select_user(db, user.id)
        };
        if removes_access {
            self.engine.write_revocation(user_id, work).await
        } else {
            self.engine.write(Some(user_id), work).await
        }
    }

    async fn delete_one_time(&self, id: OneTimeId) -> Result<bool, Error> {
        self.engine
            .write(None, move |db| {
                let deleted =
                    db.prepare_cached("DELETE FROM one_times WHERE id = ?1")?.execute([id])?;
                Ok(deleted > 0)
            })
            .await
    }
}

/// Deletes a one-time secret of a user. Returns false if it is gone. Nothing in its row changes but the guesses, so the one that
/// the caller has read is as good as the stored one.
fn use_up(db: &Connection, one_time: &OneTime) -> rusqlite::Result<bool> {
    let deleted = db
        .prepare_cached("DELETE FROM one_times WHERE id = ?1 AND user_id = ?2")?
        .execute(params![one_time.id, one_time.user_id])?;
    Ok(deleted > 0)
}

/// What the use of a one-time secret does besides its deletion.
fn apply(
    db: &Connection,
    one_time: &OneTime,
    user: &User,
    effect: &OneTimeEffect,
    now: Timestamp,
) -> rusqlite::Result<()> {
    match effect {
        OneTimeEffect::VerifyEmail => verify_email(db, one_time, now),
        OneTimeEffect::ChangeEmail => {
            set_email(db, one_time, now)?;
            db.prepare_cached("DELETE FROM one_times WHERE user_id = ?1 AND purpose = ?2")?
                .execute(params![user.id, Purpose::ChangeEmail.as_str()])
                .map(drop)
        }
        OneTimeEffect::RestoreEmail(password) => {
            set_email(db, one_time, now)?;
            db.prepare_cached(
                "DELETE FROM one_times
                 WHERE user_id = ?1 AND NOT (purpose = ?2 AND expires_at < ?3)",
            )?
            .execute(params![
                user.id,
                Purpose::RestoreEmail.as_str(),
                one_time.expires_at.millis(),
            ])?;
            reset_password(db, user, password, now)
        }
        OneTimeEffect::ResetPassword(password) => {
            verify_email(db, one_time, now)?;
            db.prepare_cached(
                "DELETE FROM one_times WHERE user_id = ?1 AND purpose = ?2 AND email_key <> ?3",
            )?
            .execute(params![
                user.id,
                Purpose::RestoreEmail.as_str(),
                one_time.email.key().as_str(),
            ])?;
            reset_password(db, user, password, now)
        }
        OneTimeEffect::SignIn(session) => {
            if !user.email_verified {
                end_sessions(db, user.id, None, now)?;
                delete_one_times(db, user.id)?;
            }
            verify_email(db, one_time, now)?;
            open_session(db, user, session).map(drop)
        }
    }
}

/// Verifies the user's address if the secret was sent to it.
fn verify_email(db: &Connection, one_time: &OneTime, now: Timestamp) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE users SET email_verified = 1, updated_at = ?3
         WHERE id = ?1 AND email = ?2 AND NOT email_verified",
    )?
    .execute(params![one_time.user_id, one_time.email.as_str(), now.millis()])
    .map(drop)
}

/// Makes the address that the secret was sent to the user's address.
fn set_email(db: &Connection, one_time: &OneTime, now: Timestamp) -> rusqlite::Result<()> {
    let OneTime { user_id, email, .. } = one_time;
    db.prepare_cached(
        "UPDATE users SET email = ?2, email_key = ?3, email_verified = 1, updated_at = ?4
         WHERE id = ?1",
    )?
    .execute(params![user_id, email.as_str(), email.key().as_str(), now.millis()])
    .map(drop)
}

fn reset_password(
    db: &Connection,
    user: &User,
    password: &PasswordHash,
    now: Timestamp,
) -> rusqlite::Result<()> {
    write_password(db, user.id, password, now)?;
    delete_reset_code(db, user.id)?;
    end_sessions(db, user.id, None, now).map(drop)
}

pub(super) fn delete_expired(
    db: &Connection,
    now: Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(
        "DELETE FROM one_times WHERE id IN
             (SELECT id FROM one_times WHERE expires_at <= ?1 LIMIT ?2)",
    )?
    .execute(params![now.millis(), sql_limit(limit)])
}
