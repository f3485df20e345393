//! Users of other systems and imported password hashes in commands and replies.

use serde::{Deserialize, Serialize};

use super::Secret;
use crate::{
    Doorward,
    account::import::{Imported, UserToImport},
    clock::Timestamp,
    credential::{
        password::{HashOptions, PasswordHash},
        totp::TotpSecret,
    },
    store::ImportedHash,
    user::{Email, Name, Role, User, UserId},
};

/// A user of another system, with valid values.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserRecord {
    pub id: String,
    pub name: String,
    pub email: String,
    /// Whether the address is verified.
    pub verified: bool,
    pub roles: Vec<String>,
    pub disabled: bool,
    /// When the user registered, in milliseconds since 1970; now, if it is not known.
    pub created_at: Option<i64>,
    /// When the record last changed; as above.
    pub updated_at: Option<i64>,
    pub last_login_at: Option<i64>,
    /// The password hash in the form in which it is stored.
    pub hash: Option<Secret>,
    /// The secret of an authenticator app, in base32.
    #[serde(default)]
    pub totp_secret: Option<Secret>,
}

/// What came of an imported user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportOutcome {
    /// The user was added, or would be.
    Added,
    Exists,
    /// The user exists and has other values in these fields.
    Differs(Vec<String>),
    EmailTaken,
    /// The user with this address has the id.
    IdTaken(String),
}

/// An imported password hash that has not been replaced.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ImportedHashInfo {
    /// The id of the user.
    pub user: String,
    pub email: String,
    /// The scheme and cost: the text of the hash up to its salt. That of Firebase contains the signer key.
    pub prefix: Secret,
    /// When it was imported, in milliseconds since 1970.
    pub imported_at: i64,
}

/// A value in a command is invalid.
#[derive(Debug, thiserror::Error)]
#[error("a user has an invalid {0}: do the command and the server have the same version?")]
pub(super) struct Invalid(&'static str);

pub(super) fn to_user_id(text: &str) -> Result<UserId, Invalid> {
    text.parse().map_err(|_| Invalid("id"))
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

impl From<Imported> for ImportOutcome {
    fn from(imported: Imported) -> Self {
        match imported {
            Imported::Added => Self::Added,
            Imported::Exists => Self::Exists,
            Imported::EmailTaken => Self::EmailTaken,
            Imported::IdTaken(email) => Self::IdTaken(email.as_str().to_owned()),
            Imported::Differs(fields) => {
                Self::Differs(fields.into_iter().map(str::to_owned).collect())
            }
        }
    }
}

pub(super) fn to_user(doorward: &Doorward, record: &UserRecord) -> Result<UserToImport, Invalid> {
    let own_cost = doorward.settings().password_cost;
    let options = HashOptions { own_cost, scrypt: None };
    let hash = record.hash.as_ref().map(|hash| PasswordHash::import(hash.as_str(), &options));
    let name = Name::parse(record.name.clone()).map_err(|_| Invalid("name"))?;
    let email = Email::parse(record.email.clone()).map_err(|_| Invalid("address"))?;
    let hash = hash.transpose().map_err(|_| Invalid("hash"))?;
    let mut user = User::new(name, email, hash, doorward.now());
    user.id = record.id.parse().map_err(|_| Invalid("id"))?;
    user.email_verified = record.verified;
    let roles: Option<Vec<_>> = record.roles.iter().map(|role| Role::parse(role)).collect();
    user.roles = roles.ok_or(Invalid("role"))?.into_iter().collect();
    user.disabled = record.disabled;
    user.created_at = record.created_at.map_or(user.created_at, Timestamp::from_millis);
    user.updated_at = record.updated_at.map_or(user.created_at, Timestamp::from_millis);
    user.last_login_at = record.last_login_at.map(Timestamp::from_millis);
    let totp = record.totp_secret.as_ref().map(|secret| TotpSecret::from_base32(secret.as_str()));
    let totp = totp.map(|secret| secret.ok_or(Invalid("secret of an app"))).transpose()?;
    Ok(UserToImport { user, totp, is_created_at_known: record.created_at.is_some() })
}
