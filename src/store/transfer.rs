//! Moves an installation from one database to another: users, hashes, sessions, roles and keys, so that nobody has to
//! log in again. A move that was cut short goes on where it was; until it is finished nobody can serve from there.

use std::{fmt, sync::Arc};

use aws_lc_rs::digest::{Context, SHA256};
use serde_json::json;

use super::archive::{Archive, Batch, Size, UserRecord};
use crate::{
    clock::Timestamp,
    credential::password::PasswordHash,
    session::Session,
    store,
    token::{
        SigningKey,
        key_store::{KeyStore, KeyStoreError, StoredKeys},
    },
};

/// One of the two databases of a move.
pub struct Installation {
    /// What is kept there.
    pub archive: Arc<dyn Archive>,
    /// The keys that are kept there.
    pub key_store: Arc<dyn KeyStore>,
}

/// How far a move has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What is being done.
    pub step: &'static str,
    /// Of how many.
    pub total: u64,
    /// How many so far.
    pub done: u64,
}

/// What was moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inventory {
    /// How much there is.
    pub size: Size,
    /// Stands for every user, session, ended token and key, to the last bit.
    pub checksum: String,
}

/// Why an installation could not be moved. Says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is something else in the new place.
    #[error("the new database has users already: choose an empty one; nothing was changed")]
    NotEmpty,
    /// One of the databases said no.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// One of the databases said no to a key.
    #[error(transparent)]
    Keys(#[from] KeyStoreError),
    /// There is nothing to move.
    #[error("the old database has no signing key: nobody has ever started a server with it")]
    NothingThere,
    /// The two places differ.
    #[error(
        "the two databases differ ({old} in the old one, {new} in the new one): stop every server that uses either \
         of them and run this again; the old one was not changed"
    )]
    Differs {
        /// What there is in the old place.
        old: Inventory,
        /// What there is in the new place.
        new: Inventory,
    },
}

impl fmt::Display for Inventory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { users, sessions } = self.size;
        write!(f, "{users} users, {sessions} sessions, checksum {}", &self.checksum[..16])
    }
}

/// Rows that are moved at once.
const AT_ONCE: usize = 500;

/// Copies everything that `new` does not have yet, and compares the two. A key that is to sign next does so at `signs_at`,
/// unless another time is on record.
///
/// # Errors
/// If one of them refuses, `new` is in use, or they differ in the end.
pub async fn migrate(
    old: &Installation,
    new: &Installation,
    signs_at: Timestamp,
    tell: &mut (dyn FnMut(Progress) + Send),
) -> Result<Inventory, Error> {
    let kept = old.key_store.stored_keys().await?;
    let has_users = !old.archive.user_records(None, 1).await?.is_empty();
    if kept.signing.is_none() && !has_users {
        return Err(Error::NothingThere);
    }
    if !new.archive.is_move_unfinished().await? {
        // Somebody may have begun to use it: what has ended there must not begin again.
        if !new.archive.user_records(None, 1).await?.is_empty() {
            return Err(Error::NotEmpty);
        }
        new.archive.set_move_unfinished(true).await?;
    }
    // Without one, the operator brings the keys in a file.
    if let Some(signing) = &kept.signing {
        take_signing_key(&new.key_store, signing, signs_at).await?;
    }
    take_other_keys(&new.key_store, &kept, signs_at).await?;
    copy(old, new, tell).await?;
    let found = take_stock(old, "checking the old database", tell).await?;
    let copied = take_stock(new, "checking the new database", tell).await?;
    if found != copied {
        return Err(Error::Differs { old: found, new: copied });
    }
    new.archive.set_move_unfinished(false).await?;
    Ok(found)
}

async fn take_signing_key(
    key_store: &Arc<dyn KeyStore>,
    signing: &SigningKey,
    signs_at: Timestamp,
) -> Result<(), KeyStoreError> {
    let there = key_store.stored_keys().await?;
    match &there.signing {
        None => key_store.add_first_key(signing).await?,
        Some(key) if key.id() == signing.id() => {}
        // Made by a server that nobody has registered with.
        Some(key) => {
            if let Some((next, _)) = &there.next {
                key_store.remove_key(next.id()).await?;
            }
            key_store.add_next_key(signing, signs_at).await?;
            key_store.promote_next_key(signing.id(), key, None).await?;
        }
    }
    Ok(())
}

async fn take_other_keys(
    key_store: &Arc<dyn KeyStore>,
    kept: &StoredKeys,
    signs_at: Timestamp,
) -> Result<(), KeyStoreError> {
    if let Some((next, on_record)) = &kept.next {
        key_store.add_next_key(next, on_record.unwrap_or(signs_at)).await?;
    }
    for (key, until) in &kept.retired {
        key_store.add_retired_key(key, *until).await?;
    }
    Ok(())
}

async fn copy(
    old: &Installation,
    new: &Installation,
    tell: &mut (dyn FnMut(Progress) + Send),
) -> Result<(), Error> {
    let size = old.archive.size().await?;
    let mut pages = Pages::of(&*old.archive);
    let mut progress = Progress { step: "copying", total: size.users + size.sessions, done: 0 };
    while let Some(batch) = pages.next().await? {
        progress.done += (batch.users.len() + batch.sessions.len()) as u64;
        new.archive.import(batch).await.map_err(|error| match error {
            store::Error::EmailTaken => Error::NotEmpty,
            error => error.into(),
        })?;
        tell(progress);
    }
    Ok(())
}

/// Reads everything that is kept in a place, in an order that does not depend on the database.
async fn take_stock(
    installation: &Installation,
    step: &'static str,
    tell: &mut (dyn FnMut(Progress) + Send),
) -> Result<Inventory, Error> {
    let total = installation.archive.size().await?;
    let mut progress = Progress { step, total: total.users + total.sessions, done: 0 };
    let (mut size, mut checksum) = (Size::default(), Context::new(&SHA256));
    let mut pages = Pages::of(&*installation.archive);
    while let Some(Batch { users, sessions, endings }) = pages.next().await? {
        users.iter().for_each(|record| checksum.update(user_line(record).as_bytes()));
        sessions.iter().for_each(|session| checksum.update(session_line(session).as_bytes()));
        for (token, at) in endings {
            checksum.update(format!("{token} {}\n", at.millis()).as_bytes());
        }
        size.users += users.len() as u64;
        size.sessions += sessions.len() as u64;
        progress.done = size.users + size.sessions;
        tell(progress);
    }
    let StoredKeys { signing, next, retired, .. } = installation.key_store.stored_keys().await?;
    let mut keys: Vec<_> = signing.iter().map(|key| (key.id().to_string(), 0)).collect();
    keys.extend(next.iter().map(|(key, _)| (key.id().to_string(), 1)));
    // The data folder keeps whole seconds.
    keys.extend(retired.iter().map(|(key, until)| (key.id().to_string(), until.seconds())));
    keys.sort_unstable();
    checksum.update(json!(keys).to_string().as_bytes());
    let digest = checksum.finish();
    let checksum = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Inventory { size, checksum })
}

/// Goes through everything: users, then sessions, then endings.
struct Pages<'a> {
    archive: &'a dyn Archive,
    at: At,
}

enum At {
    Users(Option<crate::user::EmailKey>),
    Sessions(Option<crate::session::SessionId>),
    Endings(Option<crate::session::TokenId>),
    End,
}

impl<'a> Pages<'a> {
    fn of(archive: &'a dyn Archive) -> Self {
        Self { archive, at: At::Users(None) }
    }

    async fn next(&mut self) -> Result<Option<Batch>, store::Error> {
        loop {
            let mut batch = Batch::default();
            match &self.at {
                At::Users(after) => {
                    batch.users = self.archive.user_records(after.as_ref(), AT_ONCE).await?;
                    let last = batch.users.last().map(|record| record.user.email.key());
                    self.at = last.map_or(At::Sessions(None), |last| At::Users(Some(last)));
                }
                At::Sessions(after) => {
                    batch.sessions = self.archive.session_records(*after, AT_ONCE).await?;
                    let last = batch.sessions.last().map(|session| session.id);
                    self.at = last.map_or(At::Endings(None), |last| At::Sessions(Some(last)));
                }
                At::Endings(after) => {
                    batch.endings = self.archive.ending_records(*after, AT_ONCE).await?;
                    let last = batch.endings.last().map(|(token, _)| *token);
                    self.at = last.map_or(At::End, |last| At::Endings(Some(last)));
                }
                At::End => return Ok(None),
            }
            if !batch.users.is_empty() || !batch.sessions.is_empty() || !batch.endings.is_empty() {
                return Ok(Some(batch));
            }
        }
    }
}

fn user_line(UserRecord { user, reset_code, known_networks }: &UserRecord) -> String {
    let code = reset_code.as_ref().map(|(digest, end)| (digest.as_bytes(), end.millis()));
    json!([
        user.id.to_string(),
        user.name.as_str(),
        user.email.as_str(),
        user.email_verified,
        user.password_hash.as_ref().map(PasswordHash::as_phc),
        user.password_version.number(),
        user.roles.to_text(),
        user.disabled,
        user.created_at.millis(),
        user.updated_at.millis(),
        user.last_login_at.map(Timestamp::millis),
        code,
        known_networks.to_text(),
    ])
    .to_string()
}

fn session_line(session: &Session) -> String {
    json!([
        session.id.to_string(),
        session.user_id.to_string(),
        session.token_id.to_string(),
        session.created_at.millis(),
        session.last_seen_at.millis(),
        session.expires_at.millis(),
        session.origin.address.to_string(),
        session.origin.user_agent,
    ])
    .to_string()
}
