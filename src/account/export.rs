//! Exporting everything that is stored about a user, and all users with their password hashes.

use std::io::{self, Write};

use serde::Serialize;

use super::{keys, sessions};
use crate::{
    Doorward,
    credential::password::PasswordHash,
    session::Session,
    store::{self, archive::USERS},
    throttle::KnownNetworks,
    user::{ApiKey, HeldFactors, User},
};

/// The most users in memory.
const PAGE_USERS: usize = 500;

/// What is stored about a user in addition to the user record.
pub(crate) struct Export {
    pub(crate) sessions: Vec<Session>,
    /// The networks with a separate budget of failed logins.
    pub(crate) known_networks: KnownNetworks,
    /// The second factors, recovery codes and trusted devices.
    pub(crate) factors: HeldFactors,
    pub(crate) keys: Vec<ApiKey>,
}

/// Reads the stored data of a user.
pub(crate) async fn export(doorward: &Doorward, user: &User) -> Result<Export, store::Error> {
    Ok(Export {
        sessions: sessions::list(doorward, user.id).await?,
        known_networks: doorward.store().known_networks(&user.email.key()).await?,
        factors: doorward.store().factors_of(user, doorward.now()).await?,
        keys: keys::of_user(doorward, user.id).await?,
    })
}

/// Why not all users were written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Output(io::Error),
}

/// A user, as one line of JSON.
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

/// Writes all users as of one moment, one JSON object in each line, in the order of their addresses. `report` gets the number of users done, and of all. Returns the latter.
pub(crate) async fn write_users(
    doorward: &Doorward,
    output: &mut (dyn Write + Send),
    report: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<u64, WriteError> {
    let snapshot = doorward.store().snapshot().await?;
    let (total, mut done, mut after) = (snapshot.counts().await?.of(&USERS), 0, None);
    loop {
        let page = snapshot.users(after.as_ref(), PAGE_USERS).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.email.key());
        let mut lines = Vec::new();
        for user in &page {
            serde_json::to_writer(&mut lines, &ExportedUser::from(user))
                .expect("users are valid JSON");
            lines.push(b'\n');
        }
        output.write_all(&lines).map_err(WriteError::Output)?;
        done += page.len() as u64;
        report(done, total);
    }
    Ok(done)
}
