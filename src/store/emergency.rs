//! Revoking everything that a copy of the database could be used for, after a theft.

use super::{
    Error, Store,
    api_keys::REVOKE_ALL_API_KEYS,
    effects::{Effects, add_effects},
    statements::statements,
    write::{StatementBatch, WriteScope},
};
use crate::{clock::Timestamp, event::EventKind, user::Role};

/// Removes the passwords of users for whom the rest of the statement holds.
macro_rules! remove_passwords {
    ($condition:literal) => {
        concat!(
            "UPDATE users SET password_hash = NULL, updated_at = $1, password_version = password_version + 1 \
             WHERE password_hash IS NOT NULL",
            $condition
        )
    };
}

statements! {
    REMOVE_PASSWORDS = remove_passwords!("");
    /// Of the users with a role. $2 is the role between two spaces. Without it, the roles of such a user are another text.
    REMOVE_PASSWORDS_OF_ROLE =
        remove_passwords!(" AND replace(' ' || roles || ' ', $2, '') <> ' ' || roles || ' '");
    DELETE_IMPORTED_HASHES_WITHOUT_PASSWORD =
        "DELETE FROM imported_hashes WHERE user_id IN (SELECT id FROM users WHERE password_hash IS NULL)";
    END_ALL_TOKENS =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $1, $2 FROM sessions \
         WHERE TRUE ON CONFLICT (token_id) DO NOTHING";
    DELETE_ALL_SESSIONS = "DELETE FROM sessions";
    DELETE_ALL_ONE_TIME_SECRETS = "DELETE FROM one_time_secrets";
    DELETE_MAIL_LIKE = "DELETE FROM outbox WHERE message LIKE $1";
    DELETE_ALL_INVITATIONS = "DELETE FROM invitations";
}

/// Whose passwords are removed. They have to set a new one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NewPasswords {
    /// Everybody's.
    All,
    /// Of the users with this role.
    WithRole(Role),
    /// Nobody's.
    None,
}

/// What was revoked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Revoked {
    /// Sessions that were ended.
    pub sessions: usize,
    /// Links and codes in mails, and reset codes.
    pub one_time_secrets: usize,
    /// Mails that waited with such a link or code.
    pub mails: usize,
    pub invitations: usize,
    /// API keys of machines and people.
    pub api_keys: usize,
    /// Passwords that were removed.
    pub passwords: usize,
}

/// A pattern of the messages that contain a one-time secret. In a text that somebody has chosen, the quotes are escaped.
pub(super) const MAIL_WITH_SECRET: &str = "%\"one_time\":%";

impl Store {
    /// Ends all sessions, deletes all one-time secrets, the mail that contains them and invitations, revokes all API keys, and removes
    /// passwords: all or nothing. Other instances also read their keys again.
    pub async fn revoke_everything(
        &self,
        new_passwords: &NewPasswords,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<Revoked, Error> {
        let (new_passwords, effects) = (new_passwords.clone(), effects.clone());
        self.revoke(WriteScope::Everybody, move |change_id, _| {
            let mut batch = StatementBatch::default();
            let passwords = match &new_passwords {
                NewPasswords::All => Some(batch.add(REMOVE_PASSWORDS, [now.into()])),
                NewPasswords::WithRole(role) => {
                    let role = format!(" {} ", role.as_str());
                    Some(batch.add(REMOVE_PASSWORDS_OF_ROLE, [now.into(), role.into()]))
                }
                NewPasswords::None => None,
            };
            batch.add(DELETE_IMPORTED_HASHES_WITHOUT_PASSWORD, []);
            batch.add(END_ALL_TOKENS, [change_id.into(), now.into()]);
            let sessions = batch.add(DELETE_ALL_SESSIONS, []);
            let one_time_secrets = batch.add(DELETE_ALL_ONE_TIME_SECRETS, []);
            let mails = batch.add(DELETE_MAIL_LIKE, [MAIL_WITH_SECRET.into()]);
            let invitations = batch.add(DELETE_ALL_INVITATIONS, []);
            let api_keys = batch.add(REVOKE_ALL_API_KEYS, [now.into()]);
            add_effects(&mut batch, &effects);
            let write = batch.counting(move |rows| Revoked {
                sessions: rows.of(sessions),
                one_time_secrets: rows.of(one_time_secrets),
                mails: rows.of(mails),
                invitations: rows.of(invitations),
                api_keys: rows.of(api_keys),
                passwords: passwords.map_or(0, |passwords| rows.of(passwords)),
            });
            write.complete_events(|revoked, kind| {
                if let EventKind::EverythingRevoked { sessions, passwords } = kind {
                    *sessions = Some(revoked.sessions);
                    *passwords = Some(revoked.passwords);
                }
            })
        })
        .await
    }
}
