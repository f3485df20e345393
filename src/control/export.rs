//! Moving users out: all users with their password hashes as of one moment, one JSON object in each line.

use std::io::{self, Read, Write};

use serde::Serialize;

use super::spool::Sent;
use crate::{Doorward, credential::password::PasswordHash, store, user::User};

/// The most users in memory.
const PAGE_USERS: usize = 500;

/// Why users were not exported.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The server has not sent all users.
    #[error("the running server made no export: {0}")]
    Server(io::Error),
    /// The database cannot be read.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The output cannot be written.
    #[error(transparent)]
    Output(io::Error),
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

/// Writes all users in the order of their addresses. `report` gets the number of users done, and of all. Returns the latter.
pub(super) async fn write(
    doorward: &Doorward,
    output: &mut (dyn Write + Send),
    report: &mut (dyn FnMut(u64, u64) + Send),
) -> Result<u64, ExportError> {
    let snapshot = doorward.archive().snapshot().await?;
    let (total, mut done, mut after) = (snapshot.records.size().await?.users, 0, None);
    loop {
        let page = snapshot.records.user_records(after.as_ref(), PAGE_USERS).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.user.email.key());
        let mut lines = Vec::new();
        for record in &page {
            serde_json::to_writer(&mut lines, &ExportedUser::from(&record.user))
                .expect("users are valid JSON");
            lines.push(b'\n');
        }
        output.write_all(&lines).map_err(ExportError::Output)?;
        done += page.len() as u64;
        report(done, total);
    }
    Ok(done)
}

/// Copies what the server sends. Returns the number of users, which is that of lines.
pub(super) fn receive(
    Sent { mut stream, bytes }: Sent,
    output: &mut dyn Write,
    report: &mut dyn FnMut(u64, u64),
) -> Result<u64, ExportError> {
    let (mut buffer, mut received, mut users) = (vec![0; 64 << 10], 0, 0);
    while received < bytes {
        let read = match stream.read(&mut buffer).map_err(ExportError::Server)? {
            0 => {
                let cause = io::Error::other("it stopped before everything was sent: try again");
                return Err(ExportError::Server(cause));
            }
            read => &buffer[..read],
        };
        output.write_all(read).map_err(ExportError::Output)?;
        received += read.len() as u64;
        users += read.iter().filter(|byte| **byte == b'\n').count() as u64;
        report(received, bytes);
    }
    Ok(users)
}
