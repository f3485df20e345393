//! Moving users in and out: batches of users from the command line, and a file with all users for it.

use std::{
    env, fs,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Secret;
use crate::{
    Doorward,
    account::import::{self, Imported},
    clock::Timestamp,
    credential::password::{HashOptions, PasswordHash},
    private_file, store,
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

/// Why users were not imported or exported.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("a user has an invalid {0}: do the command and the server have the same version?")]
    Invalid(&'static str),
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error("{}: {error}", .path.display())]
    File { path: PathBuf, error: io::Error },
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

/// Waits for a database that is unavailable for some seconds. Whoever was added before is found.
async fn import_with_retries(
    doorward: &Doorward,
    users: Vec<User>,
    only_check: bool,
) -> Result<Vec<Imported>, store::Error> {
    const ATTEMPTS: usize = 20;
    for _ in 1..ATTEMPTS {
        match import::import(doorward, users.clone(), only_check).await {
            Err(store::Error::Unavailable(_)) => tokio::time::sleep(Duration::from_secs(1)).await,
            outcome => return outcome,
        }
    }
    import::import(doorward, users, only_check).await
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

/// A line of an export.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportedUser<'a> {
    id: String,
    name: &'a str,
    email: &'a str,
    verified: bool,
    roles: Vec<&'a str>,
    disabled: bool,
    created_at: String,
    updated_at: String,
    last_login_at: Option<String>,
    hash: Option<&'a str>,
}

impl<'a> From<&'a User> for ExportedUser<'a> {
    fn from(user: &'a User) -> Self {
        Self {
            id: user.id.to_string(),
            name: user.name.as_str(),
            email: user.email.as_str(),
            verified: user.email_verified,
            roles: user.roles.iter().collect(),
            disabled: user.disabled,
            created_at: user.created_at.to_string(),
            updated_at: user.updated_at.to_string(),
            last_login_at: user.last_login_at.map(|at| at.to_string()),
            hash: user.password_hash.as_ref().map(PasswordHash::as_phc),
        }
    }
}

const EXPORT_PREFIX: &str = "export-";
const EXPORT_SUFFIX: &str = ".jsonl";

/// Where a server with this data folder writes exports.
pub fn export_folder(folder: Option<&Path>) -> PathBuf {
    folder.map_or_else(env::temp_dir, Path::to_owned)
}

/// Writes all users to a private file, one in each line, as of one moment. Returns its name and the number of users. The
/// command line removes it.
pub(super) async fn export(doorward: &Doorward) -> Result<(String, usize), Error> {
    let folder = export_folder(doorward.folder().map(|folder| folder.path()));
    if doorward.folder().is_some() {
        remove_old_exports(&folder);
    }
    let name = format!("{EXPORT_PREFIX}{}{EXPORT_SUFFIX}", Uuid::new_v4());
    let path = folder.join(&name);
    let result = write_export(doorward, &path).await;
    match result {
        Ok(users) => Ok((name, users)),
        Err(error) => {
            let _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

async fn write_export(doorward: &Doorward, path: &Path) -> Result<usize, Error> {
    let in_file = |error| Error::File { path: path.to_owned(), error };
    let file = private_file::options().create_new(true).open(path).map_err(in_file)?;
    private_file::give_to_folder_owner(&file, path);
    let written = Arc::new(Mutex::new((BufWriter::new(file), 0_usize, None)));
    let state = Arc::clone(&written);
    let write = move |user: &User| {
        let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, count, failure) = &mut *state;
        let outcome = serde_json::to_writer(&mut *file, &ExportedUser::from(user))
            .map_err(io::Error::from)
            .and_then(|()| file.write_all(b"\n"));
        *count += 1;
        *failure = outcome.err();
        failure.is_none()
    };
    doorward.store().visit_users(Box::new(write)).await?;
    let mut state = written.lock().unwrap_or_else(PoisonError::into_inner);
    let (file, count, failure) = &mut *state;
    match failure.take() {
        Some(error) => Err(in_file(error)),
        None => file.flush().map(|()| *count).map_err(in_file),
    }
}

/// Nobody copies an export any more after this time.
const ABANDONED_AFTER: Duration = Duration::from_secs(600);

/// Removes files that an interrupted command has left.
fn remove_old_exports(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let is_export = name
            .to_str()
            .is_some_and(|name| name.starts_with(EXPORT_PREFIX) && name.ends_with(EXPORT_SUFFIX));
        let is_old = entry
            .metadata()
            .and_then(|metadata| metadata.modified())
            .is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED_AFTER));
        if is_export && is_old {
            let _ = fs::remove_file(entry.path());
        }
    }
}
