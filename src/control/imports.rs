//! Moving users in: batches of users from the command line, and the imported password hashes that are left.

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::Secret;
use crate::{
    Doorward,
    account::import::{self, Imported},
    clock::Timestamp,
    credential::password::{HashOptions, PasswordHash},
    store::{self, ImportedHash},
    user::{Email, Name, Role, User},
};

/// A user of another system, with valid values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserRecord {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The e-mail address.
    pub email: String,
    /// Whether the address is verified.
    pub verified: bool,
    /// The roles.
    pub roles: Vec<String>,
    /// Whether the user is disabled.
    pub disabled: bool,
    /// When the user registered, in milliseconds since 1970; now, if it is not known.
    pub created_at: Option<i64>,
    /// When the record last changed; as above.
    pub updated_at: Option<i64>,
    /// When the user last logged in.
    pub last_login_at: Option<i64>,
    /// The password hash in the form in which it is stored.
    pub hash: Option<Secret>,
}

/// What came of an imported user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// The user was added, or would be.
    Added,
    /// The user exists.
    Exists,
    /// The user exists and has other values in these fields.
    Differs(Vec<String>),
    /// Another user has the address.
    EmailTaken,
}

/// An imported password hash that has not been replaced.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportedHashInfo {
    /// The id of the user.
    pub user: String,
    /// The address of the user.
    pub email: String,
    /// The scheme and cost: the text of the hash up to its salt. That of Firebase contains the signer key.
    pub prefix: Secret,
    /// When it was imported, in milliseconds since 1970.
    pub imported_at: i64,
}

/// Why users were not imported, or hashes not dropped.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("a user has an invalid {0}: do the command and the server have the same version?")]
    Invalid(&'static str),
    #[error(transparent)]
    Store(#[from] store::Error),
}

pub(super) async fn import(
    doorward: &Doorward,
    users: &[UserRecord],
    only_check: bool,
) -> Result<Vec<ImportOutcome>, Error> {
    let records = users;
    let users: Result<Vec<_>, _> = records.iter().map(|user| to_user(doorward, user)).collect();
    let outcomes = import_with_retries(doorward, users?, only_check).await?;
    let outcomes = outcomes.into_iter().zip(records).map(|(outcome, record)| match outcome {
        Imported::Differs(mut fields) if record.created_at.is_none() => {
            fields.retain(|field| *field != "createdAt");
            if fields.is_empty() { Imported::Exists } else { Imported::Differs(fields) }
        }
        outcome => outcome,
    });
    Ok(outcomes.map(ImportOutcome::from).collect())
}

/// A page of imported hashes after the user with this id, and the id after which the next one starts, if there may be one.
pub(super) async fn list_hashes(
    doorward: &Doorward,
    after: Option<&str>,
) -> Result<(Vec<ImportedHashInfo>, Option<String>), Error> {
    const PAGE: usize = 500;
    let after = after.map(str::parse).transpose().map_err(|_| Error::Invalid("id"))?;
    let found = doorward.store().imported_hashes(after, PAGE).await?;
    let next = found.last().filter(|_| found.len() == PAGE).map(|last| last.user_id.to_string());
    // No login replaces a hash with the cost of ours.
    let left = found.into_iter().filter(|hash| !doorward.hasher().keeps(&hash.prefix));
    Ok((left.map(ImportedHashInfo::from).collect(), next))
}

/// Deletes the imported hashes of these users. Returns how many still had one.
pub(super) async fn drop_hashes(doorward: &Doorward, users: &[String]) -> Result<usize, Error> {
    let mut dropped = 0;
    for user in users {
        let user = user.parse().map_err(|_| Error::Invalid("id"))?;
        dropped += usize::from(doorward.store().drop_imported_hash(user).await?);
    }
    tracing::info!(hashes = dropped, "imported password hashes dropped by the operator");
    // Failed logins cost as much as the hashes that are left.
    doorward.store().forget_unused_foreign_hashes().await?;
    doorward.read_foreign_hashes().await?;
    Ok(dropped)
}

impl From<ImportedHash> for ImportedHashInfo {
    fn from(hash: ImportedHash) -> Self {
        let ImportedHash { user_id, email, prefix, imported_at } = hash;
        Self {
            user: user_id.to_string(),
            email: email.as_str().to_owned(),
            prefix: prefix.into(),
            imported_at: imported_at.millis(),
        }
    }
}

/// Waits for a database that is unavailable for some seconds. Whoever was added before is found.
async fn import_with_retries(
    doorward: &Doorward,
    users: Vec<User>,
    only_check: bool,
) -> Result<Vec<Imported>, store::Error> {
    /// The last attempt ends before the time of the command does.
    const LAST_ATTEMPT_AFTER: Duration = Duration::from_secs(15);
    let started = Instant::now();
    loop {
        match import::import(doorward, users.clone(), only_check).await {
            Err(store::Error::Unavailable(_)) if started.elapsed() < LAST_ATTEMPT_AFTER => {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            outcome => return outcome,
        }
    }
}

impl From<Imported> for ImportOutcome {
    fn from(imported: Imported) -> Self {
        match imported {
            Imported::Added => Self::Added,
            Imported::Exists => Self::Exists,
            Imported::EmailTaken => Self::EmailTaken,
            Imported::Differs(fields) => {
                Self::Differs(fields.into_iter().map(str::to_owned).collect())
            }
        }
    }
}

fn to_user(doorward: &Doorward, record: &UserRecord) -> Result<User, Error> {
    let own_cost = doorward.settings().password_cost;
    let options = HashOptions { own_cost, scrypt: None };
    let hash = record.hash.as_ref().map(|hash| PasswordHash::import(hash.as_str(), &options));
    let name = Name::parse(record.name.clone()).map_err(|_| Error::Invalid("name"))?;
    let email = Email::parse(record.email.clone()).map_err(|_| Error::Invalid("address"))?;
    let hash = hash.transpose().map_err(|_| Error::Invalid("hash"))?;
    let mut user = User::new(name, email, hash, doorward.now());
    user.id = record.id.parse().map_err(|_| Error::Invalid("id"))?;
    user.email_verified = record.verified;
    let roles: Option<Vec<_>> = record.roles.iter().map(|role| Role::parse(role)).collect();
    user.roles = roles.ok_or(Error::Invalid("role"))?.into_iter().collect();
    user.disabled = record.disabled;
    user.created_at = record.created_at.map_or(user.created_at, Timestamp::from_millis);
    user.updated_at = record.updated_at.map_or(user.created_at, Timestamp::from_millis);
    user.last_login_at = record.last_login_at.map(Timestamp::from_millis);
    Ok(user)
}
