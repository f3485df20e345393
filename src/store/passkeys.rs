//! Passkeys: the table `passkeys`.

use super::{
    Error, Store,
    columns::{PASSKEY_COLUMN_COUNT, passkey_columns, user_columns},
    effects::{Effects, add_effects},
    recovery_codes::{set_recovery_codes, with_ids},
    row::Row,
    statements::statements,
    used_codes::USE_CODE,
    user_record::user_from_row,
    value::Value,
    write::{RowCount, StatementBatch, Verdict},
};
use crate::{
    clock::Timestamp,
    token::cookie::CodeId,
    user::{FactorId, Passkey, RecoveryDigest, User, UserId},
};

statements! {
    PASSKEYS_BY_USER = concat!(
        "SELECT ", passkey_columns!("p."), " FROM passkeys p WHERE p.user_id = $1 ORDER BY p.created_at, p.id"
    );
    PASSKEY_BY_CREDENTIAL_ID = concat!(
        "SELECT ", passkey_columns!("p."), ", ", user_columns!("u."),
        " FROM passkeys p JOIN users u ON u.id = p.user_id WHERE p.credential_id = $1"
    );
    OTHER_RP_IDS = "SELECT DISTINCT rp_id FROM passkeys WHERE rp_id < $1 OR rp_id > $1";
    ADD_PASSKEY = concat!(
        "INSERT INTO passkeys (", passkey_columns!(""),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (credential_id) DO NOTHING"
    );
    /// The passkey $2, if its user has more than $3 with it.
    DELETE_EXCESS_PASSKEY =
        "DELETE FROM passkeys WHERE user_id = $1 AND id = $2 AND (SELECT COUNT(*) FROM passkeys p WHERE p.user_id = $1) > $3";
    RENAME_PASSKEY = "UPDATE passkeys SET name = $3 WHERE user_id = $1 AND id = $2";
    USE_PASSKEY =
        "UPDATE passkeys SET sign_count = $3, backup_eligible = $4, backed_up = $5, last_used_at = $6 \
         WHERE user_id = $1 AND id = $2";
    /// Not the last one that signs its user in, unless they can sign in without ($3). $5 is an identity that can be used.
    DELETE_PASSKEY =
        "DELETE FROM passkeys WHERE user_id = $1 AND id = $2 AND ($3 OR EXISTS \
         (SELECT 1 FROM passkeys p WHERE p.user_id = $1 AND p.id <> $2 AND p.verifies_user = $4) OR EXISTS \
         (SELECT 1 FROM identities i WHERE i.user_id = $1 AND i.id = $5))";
    DELETE_PASSKEYS_OF_USER = "DELETE FROM passkeys WHERE user_id = $1";
    DELETE_PASSKEYS_SINCE = "DELETE FROM passkeys WHERE user_id = $1 AND created_at >= $2";
}

/// The number of passkeys that one user can have.
pub const MAX_PASSKEYS: usize = 20;

/// The passkey that a user registers with in place of a password, and what comes with it.
#[derive(Clone, Debug)]
pub struct FirstPasskey {
    pub passkey: Passkey,
    recovery_codes: Vec<(FactorId, RecoveryDigest)>,
    /// The setup, which counts once, and when it expires.
    setup: (CodeId, Timestamp),
}

impl Store {
    /// The passkey with this id of its authenticator, and its user.
    pub async fn passkey_by_credential_id(
        &self,
        credential_id: &[u8],
    ) -> Result<Option<(Passkey, User)>, Error> {
        let rows = self.read(PASSKEY_BY_CREDENTIAL_ID, [credential_id.to_vec().into()]).await?;
        let with_user =
            |row| Ok((passkey_from_row(row)?, user_from_row(row, PASSKEY_COLUMN_COUNT)?));
        rows.first().map(with_user).transpose()
    }

    /// The domains of passkeys that were made for others than this one.
    pub async fn other_rp_ids(&self, rp_id: &str) -> Result<Vec<String>, Error> {
        let rows = self.read(OTHER_RP_IDS, [rp_id.into()]).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Renames a passkey. Returns false if the user has no such passkey.
    pub async fn rename_passkey(
        &self,
        user: UserId,
        id: FactorId,
        name: &str,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (name, effects) = (name.to_owned(), effects.clone());
        self.write_user(user, false, move |_, _| {
            let mut batch = StatementBatch::default();
            let renamed = batch.add(RENAME_PASSKEY, [user.into(), id.into(), name.as_str().into()]);
            add_effects(&mut batch, &effects);
            Some(batch.deciding(move |rows| Verdict::commit_if(rows.of(renamed) > 0)))
        })
        .await
    }
}

impl FirstPasskey {
    pub fn new(
        passkey: Passkey,
        recovery_codes: &[RecoveryDigest],
        setup: (CodeId, Timestamp),
    ) -> Self {
        Self { passkey, recovery_codes: with_ids(recovery_codes), setup }
    }

    /// Adds it. Returns the counts of setups and of passkeys: 0 if the setup was used, or another user has the passkey.
    pub(super) fn add(&self, batch: &mut StatementBatch) -> [RowCount; 2] {
        let Self { passkey, recovery_codes, setup: (setup, expires_at) } = self;
        let used = batch.add(USE_CODE, [(*setup).into(), (*expires_at).into()]);
        let added = batch.add(ADD_PASSKEY, passkey_values(passkey));
        set_recovery_codes(batch, passkey.user_id, recovery_codes, passkey.created_at);
        [used, added]
    }
}

/// Reads the columns of a passkey, which come first.
pub(super) fn passkey_from_row(row: &Row) -> Result<Passkey, Error> {
    Ok(Passkey {
        id: row.get(0)?,
        user_id: row.get(1)?,
        credential_id: row.get(2)?,
        rp_id: row.get(3)?,
        user_handle: row.get(4)?,
        public_key: row.get(5)?,
        verifies_user: row.get(6)?,
        aaguid: row.get(7)?,
        name: row.get(8)?,
        transports: row.get(9)?,
        sign_count: row.get(10)?,
        backup_eligible: row.get(11)?,
        backed_up: row.get(12)?,
        created_at: row.get(13)?,
        last_used_at: row.get(14)?,
    })
}

/// The values of a passkey in the order of the columns.
pub(super) fn passkey_values(passkey: &Passkey) -> Vec<Value> {
    let Passkey {
        id,
        user_id,
        credential_id,
        rp_id,
        user_handle,
        public_key,
        verifies_user,
        aaguid,
        name,
        transports,
        sign_count,
        backup_eligible,
        backed_up,
        created_at,
        last_used_at,
    } = passkey;
    vec![
        (*id).into(),
        (*user_id).into(),
        credential_id.clone().into(),
        rp_id.as_str().into(),
        user_handle.clone().into(),
        public_key.clone().into(),
        (*verifies_user).into(),
        (*aaguid).into(),
        name.as_str().into(),
        transports.as_str().into(),
        (*sign_count).into(),
        (*backup_eligible).into(),
        (*backed_up).into(),
        (*created_at).into(),
        (*last_used_at).into(),
    ]
}
