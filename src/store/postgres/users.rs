//! The table `users`.

use async_trait::async_trait;

use super::{
    PostgresStore,
    engine::{StatementBatch, Verdict, Write, WriteScope},
    known_networks::add_known_network,
    mailing::add_mailing,
    row::user_from_row,
    sessions::{end_sessions, session_values},
    statements as sql,
    value::{Value, email_key, sql_limit},
};
use crate::{
    clock::Timestamp,
    mail::Mailing,
    session::Session,
    store::{Error, UserStore, archive::UserRecord},
    throttle::KnownNetworks,
    user::{Email, EmailKey, InvitationId, Name, Role, Roles, User, UserId},
};

#[async_trait]
impl UserStore for PostgresStore {
    async fn add_user(
        &self,
        user: &User,
        session: Option<&Session>,
        invitation: Option<InvitationId>,
        mailing: &Mailing,
    ) -> Result<(), Error> {
        let (id, created_at, key) = (user.id, user.created_at, user.email.key());
        let (values, session, mailing) = (user_values(user), session.cloned(), mailing.clone());
        self.engine
            .write(WriteScope::NewUser(id), move |_, _| {
                let mut batch = StatementBatch::default().with(sql::ADD_USER, values.clone());
                if let Some(session) = &session {
                    batch.add(sql::ADD_SESSION, session_values(session));
                    add_known_network(&mut batch, &KnownNetworks::default(), session);
                }
                add_mailing(&mut batch, &mailing);
                let Some(invitation) = invitation else { return batch.returning(()) };
                let values = [invitation.into(), key.as_str().into(), created_at.into()];
                let used = batch.add(sql::USE_INVITATION, values);
                batch.deciding(move |rows| match rows.of(used) {
                    0 => Verdict::Fail(Error::InvitationGone),
                    _ => Verdict::Commit(()),
                })
            })
            .await
    }

    async fn user_by_id(&self, id: UserId) -> Result<Option<User>, Error> {
        self.users.look_up(&self.engine, id.uuid()).await
    }

    async fn user_by_email(&self, email: &EmailKey) -> Result<Option<User>, Error> {
        self.read_user(sql::USER_BY_EMAIL, [email_key(email)]).await
    }

    async fn users(&self, after: Option<&EmailKey>, limit: usize) -> Result<Vec<User>, Error> {
        // Every key sorts after the empty one.
        let after = after.map_or("", EmailKey::as_str);
        let rows = self.engine.read(sql::USERS, [after.into(), sql_limit(limit)]).await?;
        rows.iter().map(|row| user_from_row(row, 0)).collect()
    }

    async fn has_users(&self) -> Result<bool, Error> {
        Ok(!self.engine.read(sql::HAS_USERS, []).await?.is_empty())
    }

    async fn change_user(
        &self,
        id: UserId,
        name: Option<&Name>,
        email: Option<&Email>,
        now: Timestamp,
    ) -> Result<Option<User>, Error> {
        let (name, email) = (name.cloned(), email.cloned());
        self.write_user(id, None, move |_, record| {
            let mut user = record.user.clone();
            user.name = name.clone().unwrap_or(user.name);
            if let Some(email) = email.as_ref().filter(|email| **email != user.email) {
                user.email = email.clone();
                user.email_verified = false;
            }
            user.updated_at = now;
            let values = [
                id.into(),
                user.name.as_str().into(),
                user.email.as_str().into(),
                user.email.key().as_str().into(),
                user.email_verified.into(),
                now.into(),
            ];
            Some(Write::statement(sql::SET_NAME_AND_EMAIL, values, Some(user)))
        })
        .await
    }

    async fn set_email_verified(
        &self,
        id: UserId,
        email: &Email,
        verified: bool,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let email = email.clone();
        self.write_user(id, false, move |_, UserRecord { user, .. }| {
            let differs = user.email == email && user.email_verified != verified;
            let values = [id.into(), verified.into(), now.into()];
            differs.then(|| Write::statement(sql::SET_EMAIL_VERIFIED, values, true))
        })
        .await
    }

    async fn grant_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error> {
        let role = role.clone();
        self.change_roles(id, now, move |roles| roles.grant(role.clone())).await
    }

    async fn revoke_role(&self, id: UserId, role: &Role, now: Timestamp) -> Result<bool, Error> {
        let role = role.clone();
        self.change_roles(id, now, move |roles| roles.revoke(&role)).await
    }

    async fn disable_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error> {
        self.write_user(id, false, move |change_id, _| {
            let mut batch = StatementBatch::default();
            end_sessions(&mut batch, id, None, change_id, now);
            Some(batch.with(sql::SET_DISABLED, [id.into(), true.into()]).returning(true))
        })
        .await
    }

    async fn enable_user(&self, id: UserId) -> Result<bool, Error> {
        self.write_user(id, false, move |_, _| {
            Some(Write::statement(sql::SET_DISABLED, [id.into(), false.into()], true))
        })
        .await
    }

    async fn delete_user(&self, id: UserId, now: Timestamp) -> Result<bool, Error> {
        self.write_user(id, false, move |change_id, record| {
            let mut batch = StatementBatch::default();
            end_sessions(&mut batch, id, None, change_id, now);
            // The invitation to an address that is not verified may be somebody else's. No address has the empty key.
            let key = match record.user.email_verified {
                true => record.user.email.key(),
                false => EmailKey::of(""),
            };
            let batch = batch
                .with(sql::DELETE_ONE_TIMES, [id.into()])
                .with(sql::DELETE_MAIL_OF_USER, [id.into()])
                .with(sql::DELETE_INVITATIONS_OF_USER, [id.into(), key.as_str().into()])
                .with(sql::DELETE_IMPORTED_HASH, [id.into()])
                .with(sql::DELETE_USER, [id.into()]);
            Some(batch.returning(true))
        })
        .await
    }
}

impl PostgresStore {
    async fn change_roles(
        &self,
        id: UserId,
        now: Timestamp,
        change: impl Fn(&mut Roles) -> bool + Send + Sync + 'static,
    ) -> Result<bool, Error> {
        self.write_user(id, false, move |_, record| {
            let mut roles = record.user.roles.clone();
            change(&mut roles).then(|| {
                let values = [id.into(), roles.to_text().into(), now.into()];
                Write::statement(sql::SET_ROLES, values, true)
            })
        })
        .await
    }
}

/// The values of a user in the order of the columns, and the key of their address.
pub(super) fn user_values(user: &User) -> Vec<Value> {
    let User {
        id,
        name,
        email,
        email_verified,
        password_hash,
        password_version,
        roles,
        disabled,
        created_at,
        updated_at,
        last_login_at,
    } = user;
    vec![
        (*id).into(),
        name.as_str().into(),
        email.as_str().into(),
        (*email_verified).into(),
        password_hash.as_ref().map(|hash| hash.as_phc().to_owned()).into(),
        password_version.number().into(),
        roles.to_text().into(),
        (*disabled).into(),
        (*created_at).into(),
        (*updated_at).into(),
        (*last_login_at).into(),
        email.key().as_str().into(),
    ]
}
