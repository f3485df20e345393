//! The table `invitations`.

use async_trait::async_trait;

use super::{
    PostgresStore,
    engine::StatementBatch,
    mailing::add_mailing,
    row::invitation_from_row,
    statements as sql,
    value::{Value, email_key, sql_limit},
};
use crate::{
    clock::Timestamp,
    mail::Mailing,
    store::{Error, InvitationStore},
    token::one_time::SecretDigest,
    user::{EmailKey, Invitation, InvitationId, UserId},
};

#[async_trait]
impl InvitationStore for PostgresStore {
    async fn add_invitation(
        &self,
        invitation: &Invitation,
        digest: &SecretDigest,
        mailing: &Mailing,
    ) -> Result<(), Error> {
        let (values, mailing) = (invitation_values(invitation, digest), mailing.clone());
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default().with(sql::ADD_INVITATION, values.clone());
                add_mailing(&mut batch, &mailing);
                batch.returning(())
            })
            .await
    }

    async fn invitation_by_digest(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error> {
        let values = [digest.as_bytes().to_vec().into(), now.into()];
        Ok(self.read_invitations(sql::INVITATION_BY_DIGEST, values).await?.pop())
    }

    async fn invitation_by_email(
        &self,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error> {
        let values = [email_key(email), now.into()];
        Ok(self.read_invitations(sql::INVITATION_BY_EMAIL, values).await?.pop())
    }

    async fn invitations(
        &self,
        invited_by: Option<UserId>,
        after: Option<&EmailKey>,
        limit: usize,
        now: Timestamp,
    ) -> Result<Vec<Invitation>, Error> {
        // Every key sorts after the empty one.
        let after = after.map_or("".into(), email_key);
        let mut values = vec![after, now.into(), sql_limit(limit)];
        match invited_by {
            None => self.read_invitations(sql::INVITATIONS, values).await,
            Some(user) => {
                values.push(user.into());
                self.read_invitations(sql::INVITATIONS_BY_INVITER, values).await
            }
        }
    }

    async fn delete_invitation(&self, id: InvitationId) -> Result<bool, Error> {
        self.engine
            .maintain(move || {
                let mut batch = StatementBatch::default();
                let deleted = batch.add(sql::DELETE_INVITATION, [id.into()]);
                batch.counting(move |rows| rows.of(deleted) > 0)
            })
            .await
    }
}

impl PostgresStore {
    async fn read_invitations(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Invitation>, Error> {
        let rows = self.engine.read(sql, values).await?;
        rows.iter().map(|row| invitation_from_row(row).map(|(invitation, _)| invitation)).collect()
    }
}

/// The values of an invitation in the order of the columns, and the key of its address.
pub(super) fn invitation_values(invitation: &Invitation, digest: &SecretDigest) -> Vec<Value> {
    let Invitation { id, email, roles, invited_by, is_mailed, created_at, expires_at, guesses } =
        invitation;
    vec![
        (*id).into(),
        email.as_str().into(),
        roles.to_text().into(),
        (*invited_by).into(),
        (*is_mailed).into(),
        (*created_at).into(),
        (*expires_at).into(),
        digest.as_bytes().to_vec().into(),
        i64::from(*guesses).into(),
        email.key().as_str().into(),
    ]
}
