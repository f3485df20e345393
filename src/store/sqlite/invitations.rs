//! The table `invitations`.

use async_trait::async_trait;
use rusqlite::{Connection, OptionalExtension, params};

use super::{SqliteStore, mailing::insert_mailing, row::invitation_from_row, sql_limit};
use crate::{
    clock::Timestamp,
    mail::Mailing,
    store::{Error, InvitationStore, columns::invitation_columns},
    token::one_time::SecretDigest,
    user::{EmailKey, Invitation, InvitationId, User, UserId},
};

macro_rules! insert_invitation {
    () => {
        concat!(
            "INSERT INTO invitations (",
            invitation_columns!(),
            ", email_key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        )
    };
}

#[async_trait]
impl InvitationStore for SqliteStore {
    async fn add_invitation(
        &self,
        invitation: &Invitation,
        digest: &SecretDigest,
        mailing: &Mailing,
    ) -> Result<(), Error> {
        let (invitation, digest, mailing) = (invitation.clone(), digest.clone(), mailing.clone());
        self.engine
            .write(None, move |db| {
                db.prepare_cached("DELETE FROM invitations WHERE email_key = ?1")?
                    .execute([invitation.email.key().as_str()])?;
                execute_insert(db, insert_invitation!(), &invitation, &digest)?;
                insert_mailing(db, &mailing)
            })
            .await
    }

    async fn invitation_by_digest(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error> {
        let digest = digest.clone();
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    invitation_columns!(),
                    " FROM invitations WHERE digest = ?1 AND expires_at > ?2"
                ))?
                .query_row(params![digest.as_bytes(), now.millis()], |row| {
                    invitation_from_row(row).map(|(invitation, _)| invitation)
                })
                .optional()
            })
            .await
    }

    async fn invitation_by_email(
        &self,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error> {
        let email = email.clone();
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    invitation_columns!(),
                    " FROM invitations WHERE email_key = ?1 AND expires_at > ?2"
                ))?
                .query_row(params![email.as_str(), now.millis()], |row| {
                    invitation_from_row(row).map(|(invitation, _)| invitation)
                })
                .optional()
            })
            .await
    }

    async fn invitations(
        &self,
        invited_by: Option<UserId>,
        after: Option<&EmailKey>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Invitation>, Error> {
        // Every key sorts after the empty one.
        let after = after.map_or(String::new(), |key| key.as_str().to_owned());
        self.engine
            .read(move |db| {
                db.prepare_cached(concat!(
                    "SELECT ",
                    invitation_columns!(),
                    " FROM invitations
                     WHERE email_key > ?1 AND expires_at > ?2 AND (?3 IS NULL OR invited_by = ?3)
                     ORDER BY email_key LIMIT ?4"
                ))?
                .query_map(params![after, now.millis(), invited_by, sql_limit(limit)], |row| {
                    invitation_from_row(row).map(|(invitation, _)| invitation)
                })?
                .collect()
            })
            .await
    }

    async fn delete_invitation(&self, id: InvitationId) -> Result<bool, Error> {
        self.engine
            .write(None, move |db| {
                let deleted =
                    db.prepare_cached("DELETE FROM invitations WHERE id = ?1")?.execute([id])?;
                Ok(deleted > 0)
            })
            .await
    }
}

/// Inserts an invitation unless there is one to this address, because a move may be resumed.
pub(super) fn import_invitation(
    db: &Connection,
    invitation: &Invitation,
    digest: &SecretDigest,
) -> rusqlite::Result<()> {
    let sql = concat!(insert_invitation!(), " ON CONFLICT (email_key) DO NOTHING");
    execute_insert(db, sql, invitation, digest)
}

fn execute_insert(
    db: &Connection,
    sql: &str,
    invitation: &Invitation,
    digest: &SecretDigest,
) -> rusqlite::Result<()> {
    let Invitation { id, email, roles, invited_by, is_mailed, created_at, expires_at, guesses } =
        invitation;
    db.prepare_cached(sql)?
        .execute(params![
            id,
            email.as_str(),
            roles.to_text(),
            invited_by,
            is_mailed,
            created_at.millis(),
            expires_at.millis(),
            digest.as_bytes(),
            guesses,
            email.key().as_str(),
        ])
        .map(drop)
}

/// Uses an invitation for a new user. Returns false if it is gone, has expired or is to another address.
pub(super) fn use_invitation(
    db: &Connection,
    id: InvitationId,
    user: &User,
) -> rusqlite::Result<bool> {
    let used = db
        .prepare_cached(
            "DELETE FROM invitations WHERE id = ?1 AND email_key = ?2 AND expires_at > ?3",
        )?
        .execute(params![id, user.email.key().as_str(), user.created_at.millis()])?;
    Ok(used > 0)
}

/// Deletes the invitations that a user has made, and the one to their address. If that is not verified, the invitation may be
/// somebody else's.
pub(super) fn delete_invitations(db: &Connection, user: &User) -> rusqlite::Result<()> {
    db.prepare_cached("DELETE FROM invitations WHERE invited_by = ?1 OR (?3 AND email_key = ?2)")?
        .execute(params![user.id, user.email.key().as_str(), user.email_verified])
        .map(drop)
}

pub(super) fn delete_expired(
    db: &Connection,
    now: Timestamp,
    limit: usize,
) -> rusqlite::Result<usize> {
    db.prepare_cached(
        "DELETE FROM invitations WHERE email_key IN
             (SELECT email_key FROM invitations WHERE expires_at <= ?1 LIMIT ?2)",
    )?
    .execute(params![now.millis(), sql_limit(limit)])
}
