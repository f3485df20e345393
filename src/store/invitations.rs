//! Invitations: the table `invitations`. An address has at most one. [`Store::sign_in`] uses one.

use super::{
    Error, Store,
    columns::invitation_columns,
    effects::{Effects, add_effects},
    row::Row,
    statements::statements,
    value::{Value, email_key, sql_limit},
    write::{StatementBatch, Verdict, Write},
};
use crate::{
    clock::Timestamp,
    token::one_time::SecretDigest,
    user::{Email, EmailKey, Invitation, InvitationId, Roles, UserId},
};

macro_rules! insert_invitation {
    () => {
        concat!(
            "INSERT INTO invitations (",
            invitation_columns!(),
            ", email_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        )
    };
}

statements! {
    /// Replaces an earlier invitation to the same address.
    ADD_INVITATION = concat!(
        insert_invitation!(), " ON CONFLICT (email_key) DO UPDATE SET id = excluded.id, email = excluded.email, \
         roles = excluded.roles, invited_by = excluded.invited_by, is_mailed = excluded.is_mailed, \
         created_at = excluded.created_at, expires_at = excluded.expires_at, digest = excluded.digest, guesses = excluded.guesses"
    );
    INVITATION_BY_DIGEST = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE digest = $1 AND expires_at > $2"
    );
    INVITATION_BY_ID = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE id = $1 AND expires_at > $2"
    );
    INVITATION_BY_EMAIL = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE email_key = $1 AND expires_at > $2"
    );
    CHARGE_INVITATION =
        "UPDATE invitations SET guesses = guesses + 1 WHERE email_key = $1 AND expires_at > $2";
    TAKE_BACK_GUESS = "UPDATE invitations SET guesses = guesses - 1 WHERE id = $1 AND guesses > 0";
    INVITATIONS = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE email_key > $1 AND expires_at > $2 \
         ORDER BY email_key LIMIT $3"
    );
    INVITATIONS_BY_INVITER = concat!(
        "SELECT ", invitation_columns!(), " FROM invitations WHERE email_key > $1 AND expires_at > $2 \
         AND invited_by = $4 ORDER BY email_key LIMIT $3"
    );
    /// For a new user with the address $2 at the time $3.
    USE_INVITATION = "DELETE FROM invitations WHERE id = $1 AND email_key = $2 AND expires_at > $3";
    DELETE_INVITATION = "DELETE FROM invitations WHERE id = $1";
    DELETE_INVITATIONS_BY_INVITER = "DELETE FROM invitations WHERE invited_by = $1";
    DELETE_EXPIRED_INVITATIONS =
        "DELETE FROM invitations WHERE email_key IN \
         (SELECT email_key FROM invitations WHERE expires_at <= $1 LIMIT $2)";
}

impl Store {
    /// Adds an invitation and queues the mail. It replaces an earlier one to the same address.
    pub async fn add_invitation(
        &self,
        invitation: &Invitation,
        digest: &SecretDigest,
        effects: &Effects,
    ) -> Result<(), Error> {
        let (values, effects) = (invitation_values(invitation, digest), effects.clone());
        let roles = invitation.roles.clone();
        self.write_uncached(move || {
            let mut batch = StatementBatch::default().with(ADD_INVITATION, values.clone());
            batch.gives(&roles);
            add_effects(&mut batch, &effects);
            batch.returning(())
        })
        .await
    }

    /// The unexpired invitation with this digest.
    pub async fn invitation_by_digest(
        &self,
        digest: &SecretDigest,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error> {
        let values = [digest.as_bytes().to_vec().into(), now.into()];
        Ok(self.read_invitations(INVITATION_BY_DIGEST, values).await?.pop())
    }

    /// The unexpired invitation with this id.
    pub async fn invitation_by_id(
        &self,
        id: InvitationId,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error> {
        Ok(self.read_invitations(INVITATION_BY_ID, [id.into(), now.into()]).await?.pop())
    }

    /// The unexpired invitation to this address.
    pub async fn invitation_by_email(
        &self,
        email: &EmailKey,
        now: Timestamp,
    ) -> Result<Option<Invitation>, Error> {
        let values = [email_key(email), now.into()];
        Ok(self.read_invitations(INVITATION_BY_EMAIL, values).await?.pop())
    }

    /// Unexpired invitations in the order of their addresses, from the first one after `after`; only those of one user if
    /// given.
    pub async fn invitations(
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
            None => self.read_invitations(INVITATIONS, values).await,
            Some(user) => {
                values.push(user.into());
                self.read_invitations(INVITATIONS_BY_INVITER, values).await
            }
        }
    }

    /// Takes back that a code was typed, which was right and is not used yet.
    pub async fn take_back_guess(&self, id: InvitationId) -> Result<(), Error> {
        self.write_uncached(move || Write::statement(TAKE_BACK_GUESS, [id.into()], ())).await
    }

    /// Deletes an invitation. Returns false if it is gone.
    pub async fn delete_invitation(
        &self,
        id: InvitationId,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            add_effects(&mut batch, &effects);
            let deleted = batch.add(DELETE_INVITATION, [id.into()]);
            batch.deciding(move |rows| {
                if rows.of(deleted) > 0 { Verdict::Commit(true) } else { Verdict::RollBack(false) }
            })
        })
        .await
    }

    async fn read_invitations(
        &self,
        sql: &'static str,
        values: impl Into<Vec<Value>>,
    ) -> Result<Vec<Invitation>, Error> {
        let rows = self.read(sql, values).await?;
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

/// Reads an invitation and the digest of its secret.
pub(super) fn invitation_from_row(row: &Row) -> Result<(Invitation, SecretDigest), Error> {
    let invitation = Invitation {
        id: row.get(0)?,
        email: Email::from_store(row.get(1)?),
        roles: Roles::from_store(row.get(2)?),
        invited_by: row.get(3)?,
        is_mailed: row.get(4)?,
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
        guesses: u32::try_from(row.get::<i64>(8)?).unwrap_or(u32::MAX),
    };
    Ok((invitation, SecretDigest::from_store(row.get(7)?)))
}
