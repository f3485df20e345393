//! Ending everything by which somebody could be in an account, after it was taken over.

use super::{
    Error, Store,
    api_keys::REVOKE_API_KEYS_OF_USER,
    credentials::REMOVE_PASSWORD,
    effects::{DELETE_ONE_TIME_SECRETS, Effects, add_effects},
    emergency::MAIL_WITH_SECRET,
    factors::delete_factors_since,
    identities::{DELETE_IDENTITIES_SINCE, remove_login_roles},
    imported_hashes::DELETE_IMPORTED_HASH,
    invitations::DELETE_INVITATIONS_BY_INVITER,
    sessions::end_sessions,
    statements::statements,
    trusted_devices::DELETE_TRUSTED_DEVICES_OF_USER,
    users::Conditional,
    write::{StatementBatch, Write},
};
use crate::{
    clock::Timestamp,
    event::{AccessEnded, EventKind},
    token::one_time::Purpose,
    user::{Email, User},
};

statements! {
    DELETE_MAIL_OF_USER_LIKE = "DELETE FROM outbox WHERE user_id = $1 AND message LIKE $2";
    EARLIER_EMAILS =
        "SELECT email FROM one_time_secrets WHERE user_id = $1 AND purpose = $2 AND expires_at > $3 ORDER BY expires_at DESC, id DESC";
}

impl Store {
    /// Removes the password of a user, ends all their sessions and API keys, deletes their one-time secrets, the mail that contains
    /// them, their trusted browsers and the invitations that they have made, and removes the factors and the identities that were added since a time: all
    /// or nothing. The version of the password is the next one, which the secret in `effects` has. Nothing is changed if the user
    /// has another address or another version of the password than `read`.
    pub async fn secure_user(
        &self,
        read: &User,
        factors_since: Option<Timestamp>,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<(Conditional, AccessEnded), Error> {
        let (id, email, version) = (read.id, read.email.clone(), read.password_version);
        let (effects, nothing) = (effects.clone(), AccessEnded::default());
        self.revoke_from_user(id, (Conditional::Gone, nothing), move |change_id, record| {
            let user = &record.user;
            if user.email != email || user.password_version != version {
                return Some(Write::nothing((Conditional::Changed, nothing)));
            }
            let password = user.has_password();
            let mut batch = StatementBatch::default()
                .with(REMOVE_PASSWORD, [id.into(), now.into()])
                .with(DELETE_IMPORTED_HASH, [id.into()]);
            let sessions = end_sessions(&mut batch, id, None, change_id, now);
            let api_keys = batch.add(REVOKE_API_KEYS_OF_USER, [id.into(), now.into()]);
            let trusted_devices = batch.add(DELETE_TRUSTED_DEVICES_OF_USER, [id.into()]);
            let factors =
                factors_since.map(|since| delete_factors_since(&mut batch, id, since, now));
            if let Some(since) = factors_since {
                batch.add(DELETE_IDENTITIES_SINCE, [id.into(), since.into()]);
                let (mut user, mut given) = (user.clone(), record.login_roles.clone());
                let event = effects.events.first();
                remove_login_roles(&mut batch, &mut user, &mut given, event, now, |_| true);
            }
            let codes = batch.add(DELETE_ONE_TIME_SECRETS, [id.into()]);
            batch.add(DELETE_MAIL_OF_USER_LIKE, [id.into(), MAIL_WITH_SECRET.into()]);
            let invitations = batch.add(DELETE_INVITATIONS_BY_INVITER, [id.into()]);
            add_effects(&mut batch, &effects);
            let write = batch.counting(move |rows| {
                let ended = AccessEnded {
                    sessions: rows.of(sessions),
                    api_keys: rows.of(api_keys),
                    trusted_devices: rows.of(trusted_devices),
                    factors: factors.into_iter().flatten().map(|factor| rows.of(factor)).sum(),
                    codes: rows.of(codes),
                    invitations: rows.of(invitations),
                    password,
                };
                (Conditional::Done, ended)
            });
            Some(write.complete_events(|(_, counted), kind| {
                if let EventKind::UserSecured { ended } = kind {
                    *ended = Some(*counted);
                }
            }))
        })
        .await
    }

    /// The addresses from which the address of a user was changed lately, each with a way back that is still valid. The latest first.
    pub async fn earlier_emails(&self, user: &User, now: Timestamp) -> Result<Vec<Email>, Error> {
        let values = [user.id.into(), Purpose::RestoreEmail.as_str().into(), now.into()];
        let rows = self.read(EARLIER_EMAILS, values).await?;
        rows.iter().map(|row| Ok(Email::from_store(row.get(0)?))).collect()
    }
}
