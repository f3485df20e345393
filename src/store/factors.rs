//! Second factors: the tables `passkeys`, `totp_secrets`, `recovery_codes` and `trusted_devices`, and the column `users.factors`,
//! which says what they hold for a user.

use super::{
    Error, Store,
    columns::{PASSKEY_COLUMN_COUNT, passkey_columns, user_columns},
    effects::{Effects, add_effects},
    row::Row,
    statements::statements,
    user_record::user_from_row,
    value::{Value, sql_limit},
    write::{RowCount, StatementBatch, Verdict},
};
use crate::{
    clock::Timestamp,
    network::ClientInfo,
    user::{
        FactorId, HeldFactors, Passkey, PasswordVersion, RecoveryDigest, StoredTotp, TrustedDevice,
        User, UserId,
    },
};

/// No factor of the user $1 is left.
macro_rules! none_left {
    () => {
        "NOT EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $1) AND \
         NOT EXISTS (SELECT 1 FROM totp_secrets t WHERE t.user_id = $1)"
    };
}

statements! {
    PASSKEYS_BY_USER = concat!(
        "SELECT ", passkey_columns!("p."), " FROM passkeys p WHERE p.user_id = $1 ORDER BY p.created_at, p.id"
    );
    PASSKEY_BY_CREDENTIAL_ID = concat!(
        "SELECT ", passkey_columns!("p."), ", ", user_columns!("u."),
        " FROM passkeys p JOIN users u ON u.id = p.user_id WHERE p.credential_id = $1"
    );
    OTHER_RP_ID = "SELECT rp_id FROM passkeys WHERE rp_id < $1 OR rp_id > $1 LIMIT 1";
    HAS_TOTP = "SELECT 1 FROM totp_secrets LIMIT 1";
    TOTP_BY_USER =
        "SELECT user_id, secret, last_step, created_at, last_used_at FROM totp_secrets WHERE user_id = $1";
    RECOVERY_CODES_BY_USER = "SELECT COUNT(*) FROM recovery_codes WHERE user_id = $1";
    TRUSTED_DEVICES_BY_USER =
        "SELECT id, user_id, password_version, address, user_agent, created_at, expires_at FROM trusted_devices \
         WHERE user_id = $1 AND password_version = $2 AND expires_at > $3 ORDER BY created_at, id";
    ADD_PASSKEY = concat!(
        "INSERT INTO passkeys (", passkey_columns!(""),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (credential_id) DO NOTHING"
    );
    RENAME_PASSKEY = "UPDATE passkeys SET name = $3 WHERE user_id = $1 AND id = $2";
    /// Not the last one that signs its user in, unless they can sign in without ($3).
    DELETE_PASSKEY =
        "DELETE FROM passkeys WHERE user_id = $1 AND id = $2 AND ($3 OR EXISTS \
         (SELECT 1 FROM passkeys p WHERE p.user_id = $1 AND p.id <> $2 AND p.verifies_user = $4))";
    ADD_TOTP =
        "INSERT INTO totp_secrets (user_id, secret, last_step, created_at, last_used_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT (user_id) DO NOTHING";
    /// Of a user who does not hold one.
    DELETE_TOTP_OF_NONE =
        "DELETE FROM totp_secrets WHERE user_id = $1 AND NOT EXISTS \
         (SELECT 1 FROM users u WHERE u.id = $1 AND u.factors LIKE '%totp')";
    DELETE_TOTP = "DELETE FROM totp_secrets WHERE user_id = $1";
    /// A code counts once, and so does each earlier one.
    USE_TOTP =
        "UPDATE totp_secrets SET last_step = $2, last_used_at = $3 WHERE user_id = $1 AND last_step < $2";
    USE_PASSKEY =
        "UPDATE passkeys SET sign_count = $3, backup_eligible = $4, backed_up = $5, last_used_at = $6 \
         WHERE user_id = $1 AND id = $2";
    ADD_RECOVERY_CODE =
        "INSERT INTO recovery_codes (id, user_id, digest, created_at) VALUES ($1, $2, $3, $4) ON CONFLICT (id) DO NOTHING";
    USE_RECOVERY_CODE = "DELETE FROM recovery_codes WHERE user_id = $1 AND digest = $2";
    DELETE_RECOVERY_CODES = "DELETE FROM recovery_codes WHERE user_id = $1";
    ADD_TRUSTED_DEVICE =
        "INSERT INTO trusted_devices (id, user_id, password_version, address, user_agent, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING";
    DELETE_TRUSTED_DEVICE = "DELETE FROM trusted_devices WHERE user_id = $1 AND id = $2";
    /// All of a user but the newest $2.
    DELETE_OLDEST_TRUSTED_DEVICES =
        "DELETE FROM trusted_devices WHERE user_id = $1 AND id NOT IN \
         (SELECT id FROM trusted_devices WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)";
    DELETE_EXPIRED_TRUSTED_DEVICES =
        "DELETE FROM trusted_devices WHERE id IN (SELECT id FROM trusted_devices WHERE expires_at <= $1 LIMIT $2)";
    DELETE_PASSKEYS_OF_USER = "DELETE FROM passkeys WHERE user_id = $1";
    DELETE_TRUSTED_DEVICES_OF_USER = "DELETE FROM trusted_devices WHERE user_id = $1";
    /// Without a second factor, nothing stands in for it.
    DELETE_RECOVERY_CODES_OF_NONE =
        concat!("DELETE FROM recovery_codes WHERE user_id = $1 AND ", none_left!());
    DELETE_TRUSTED_DEVICES_OF_NONE =
        concat!("DELETE FROM trusted_devices WHERE user_id = $1 AND ", none_left!());
    /// In the order of the kinds. $2 is true.
    SET_FACTORS =
        "UPDATE users SET updated_at = $3, factors = TRIM(\
         CASE WHEN EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $1 AND p.verifies_user = $2) THEN 'passkey ' ELSE '' END || \
         CASE WHEN EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $1 AND p.verifies_user <> $2) THEN 'key ' ELSE '' END || \
         CASE WHEN EXISTS (SELECT 1 FROM totp_secrets t WHERE t.user_id = $1) THEN 'totp' ELSE '' END) WHERE id = $1";
}

/// The number of passkeys that one user can have.
pub const MAX_PASSKEYS: usize = 20;
/// The number of browsers that one user can trust.
const MAX_TRUSTED_DEVICES: usize = 20;

/// Why a factor was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddFactor {
    Added,
    /// Another passkey has its id, or the user has an authenticator app already.
    Taken,
    /// The user is gone or has changed since they proved who they are.
    UserChanged,
}

/// The use of a factor. It is written in the transaction of the session that it opens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FactorUse {
    Passkey {
        id: FactorId,
        sign_count: i64,
        backup_eligible: bool,
        backed_up: bool,
    },
    /// The time step of the code.
    Totp {
        step: i64,
    },
    /// The digest of the code, and that of the one that replaces it.
    RecoveryCode {
        used: RecoveryDigest,
        replacement: RecoveryDigest,
    },
}

impl Store {
    /// Everything that a user holds.
    pub async fn factors_of(&self, user: &User, now: Timestamp) -> Result<HeldFactors, Error> {
        let id = || [user.id.into()];
        let passkeys = self.read(PASSKEYS_BY_USER, id()).await?;
        let totp = self.read(TOTP_BY_USER, id()).await?;
        let recovery_codes = self.read(RECOVERY_CODES_BY_USER, id()).await?;
        let version = user.password_version.number();
        let values = [user.id.into(), version.into(), now.into()];
        let devices = self.read(TRUSTED_DEVICES_BY_USER, values).await?;
        let count = recovery_codes.first().map_or(Ok(0), |row| row.get::<i64>(0))?;
        Ok(HeldFactors {
            passkeys: passkeys.iter().map(passkey_from_row).collect::<Result<_, _>>()?,
            totp: totp.first().map(totp_from_row).transpose()?,
            recovery_codes: usize::try_from(count).unwrap_or(0),
            trusted_devices: devices
                .iter()
                .map(trusted_device_from_row)
                .collect::<Result<_, _>>()?,
        })
    }

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

    /// The domain of a passkey that was made for another one.
    pub async fn other_rp_id(&self, rp_id: &str) -> Result<Option<String>, Error> {
        let rows = self.read(OTHER_RP_ID, [rp_id.into()]).await?;
        rows.first().map(|row| row.get(0)).transpose()
    }

    /// Whether anybody has an authenticator app.
    pub async fn has_totp(&self) -> Result<bool, Error> {
        Ok(!self.read(HAS_TOTP, []).await?.is_empty())
    }

    /// Adds a passkey of this user, and recovery codes if there are any.
    pub async fn add_passkey(
        &self,
        user: &User,
        passkey: &Passkey,
        recovery_codes: &[RecoveryDigest],
        effects: &Effects,
    ) -> Result<AddFactor, Error> {
        let added = (ADD_PASSKEY, passkey_values(passkey));
        self.add_factor(user, added, recovery_codes, passkey.created_at, effects).await
    }

    /// Adds the secret of an authenticator app of this user, and recovery codes if there are any.
    pub async fn add_totp(
        &self,
        user: &User,
        totp: &StoredTotp,
        recovery_codes: &[RecoveryDigest],
        effects: &Effects,
    ) -> Result<AddFactor, Error> {
        let added = (ADD_TOTP, totp_values(totp));
        self.add_factor(user, added, recovery_codes, totp.created_at, effects).await
    }

    /// The user must still have the password and the factors with which the caller knows them: who has proved one factor must not
    /// add another one beside a second, nor replace its recovery codes.
    async fn add_factor(
        &self,
        user: &User,
        added: (&'static str, Vec<Value>),
        recovery_codes: &[RecoveryDigest],
        now: Timestamp,
        effects: &Effects,
    ) -> Result<AddFactor, Error> {
        let (id, version, factors) = (user.id, user.password_version, user.factors.clone());
        let (codes, effects) = (with_ids(recovery_codes), effects.clone());
        self.write_user(id, AddFactor::UserChanged, move |_, record| {
            let User { password_version, factors: held, disabled, .. } = &record.user;
            let is_same = *password_version == version && *held == factors && !disabled;
            is_same.then(|| {
                let mut batch = StatementBatch::default();
                let added = batch.add(added.0, added.1.clone());
                if !codes.is_empty() {
                    set_recovery_codes(&mut batch, id, &codes, now);
                }
                set_factors(&mut batch, id, now);
                add_effects(&mut batch, &effects);
                batch.deciding(move |rows| match rows.of(added) {
                    0 => Verdict::RollBack(AddFactor::Taken),
                    _ => Verdict::Commit(AddFactor::Added),
                })
            })
        })
        .await
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
            Some(batch.deciding(move |rows| commit_if(rows.of(renamed) > 0)))
        })
        .await
    }

    /// Removes a passkey. Returns false if the user has no such passkey, or if it is the last one and they cannot sign in without:
    /// with a password, or with a mailed code.
    pub async fn remove_passkey(
        &self,
        user: UserId,
        id: FactorId,
        signs_in_by_mail: bool,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.write_user(user, false, move |_, record| {
            let has_other_way = signs_in_by_mail || record.user.has_password();
            let mut batch = StatementBatch::default();
            let values = [user.into(), id.into(), has_other_way.into(), true.into()];
            let removed = batch.add(DELETE_PASSKEY, values);
            after_removal(&mut batch, user, now, &effects);
            Some(batch.deciding(move |rows| commit_if(rows.of(removed) > 0)))
        })
        .await
    }

    /// Removes the user's authenticator app. Returns false if they have none.
    pub async fn remove_totp(
        &self,
        user: UserId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.write_user(user, false, move |_, _| {
            let mut batch = StatementBatch::default();
            let removed = batch.add(DELETE_TOTP, [user.into()]);
            after_removal(&mut batch, user, now, &effects);
            Some(batch.deciding(move |rows| commit_if(rows.of(removed) > 0)))
        })
        .await
    }

    /// Replaces all recovery codes of a user. Returns false if they have no second factor.
    pub async fn replace_recovery_codes(
        &self,
        user: UserId,
        codes: &[RecoveryDigest],
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (codes, effects) = (with_ids(codes), effects.clone());
        self.write_user(user, false, move |_, record| {
            (!record.user.factors.is_empty()).then(|| {
                let mut batch = StatementBatch::default();
                set_recovery_codes(&mut batch, user, &codes, now);
                add_effects(&mut batch, &effects);
                batch.returning(true)
            })
        })
        .await
    }

    /// Removes a trusted device. Returns false if the user has no such device.
    pub async fn remove_trusted_device(
        &self,
        user: UserId,
        id: FactorId,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.write_user(user, false, move |_, _| {
            let mut batch = StatementBatch::default();
            let removed = batch.add(DELETE_TRUSTED_DEVICE, [user.into(), id.into()]);
            add_effects(&mut batch, &effects);
            Some(batch.deciding(move |rows| commit_if(rows.of(removed) > 0)))
        })
        .await
    }
}

/// Each with an id of its own. A write may run twice, and must then add the same rows.
fn with_ids(codes: &[RecoveryDigest]) -> Vec<(FactorId, RecoveryDigest)> {
    codes.iter().map(|code| (FactorId::random(), *code)).collect()
}

/// Replaces all recovery codes of a user.
fn set_recovery_codes(
    batch: &mut StatementBatch,
    user: UserId,
    codes: &[(FactorId, RecoveryDigest)],
    now: Timestamp,
) {
    batch.add(DELETE_RECOVERY_CODES, [user.into()]);
    for (id, digest) in codes {
        let values = [(*id).into(), user.into(), digest.to_vec().into(), now.into()];
        batch.add(ADD_RECOVERY_CODE, values);
    }
}

fn commit_if(changed: bool) -> Verdict<bool> {
    if changed { Verdict::Commit(true) } else { Verdict::RollBack(false) }
}

/// What follows the removal of a factor.
fn after_removal(batch: &mut StatementBatch, user: UserId, now: Timestamp, effects: &Effects) {
    batch.add(DELETE_RECOVERY_CODES_OF_NONE, [user.into()]);
    batch.add(DELETE_TRUSTED_DEVICES_OF_NONE, [user.into()]);
    set_factors(batch, user, now);
    add_effects(batch, effects);
}

/// Sets what a user holds.
pub(super) fn set_factors(batch: &mut StatementBatch, user: UserId, now: Timestamp) {
    batch.add(SET_FACTORS, [user.into(), true.into(), now.into()]);
}

/// Uses a factor. Returns the count of changed rows: 0 if a code was used before or the factor is gone.
pub(super) fn use_factor(
    batch: &mut StatementBatch,
    user: UserId,
    factor: &FactorUse,
    now: Timestamp,
) -> RowCount {
    match factor {
        FactorUse::Passkey { id, sign_count, backup_eligible, backed_up } => {
            let flags = [(*backup_eligible).into(), (*backed_up).into()];
            let values = [user.into(), (*id).into(), (*sign_count).into()];
            batch.add(
                USE_PASSKEY,
                Vec::from_iter(values.into_iter().chain(flags).chain([now.into()])),
            )
        }
        FactorUse::Totp { step } => batch.add(USE_TOTP, [user.into(), (*step).into(), now.into()]),
        FactorUse::RecoveryCode { used, replacement } => {
            let count = batch.add(USE_RECOVERY_CODE, [user.into(), used.to_vec().into()]);
            let values =
                [FactorId::random().into(), user.into(), replacement.to_vec().into(), now.into()];
            batch.add(ADD_RECOVERY_CODE, values);
            count
        }
    }
}

/// Deletes everything that a user holds.
pub(super) fn delete_factors(batch: &mut StatementBatch, user: UserId) {
    for statement in [
        DELETE_PASSKEYS_OF_USER,
        DELETE_TOTP,
        DELETE_RECOVERY_CODES,
        DELETE_TRUSTED_DEVICES_OF_USER,
    ] {
        batch.add(statement, [user.into()]);
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
fn passkey_values(passkey: &Passkey) -> Vec<Value> {
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

/// Reads a row of the table `totp_secrets`.
pub(super) fn totp_from_row(row: &Row) -> Result<StoredTotp, Error> {
    Ok(StoredTotp {
        user_id: row.get(0)?,
        secret: row.get(1)?,
        last_step: row.get(2)?,
        created_at: row.get(3)?,
        last_used_at: row.get(4)?,
    })
}

fn totp_values(totp: &StoredTotp) -> Vec<Value> {
    let StoredTotp { user_id, secret, last_step, created_at, last_used_at } = totp;
    vec![
        (*user_id).into(),
        secret.clone().into(),
        (*last_step).into(),
        (*created_at).into(),
        (*last_used_at).into(),
    ]
}

/// Adds the authenticator app of a user who has just been added with it. Another one with the same id stays as they are.
pub(super) fn add_imported_totp(batch: &mut StatementBatch, totp: &StoredTotp) {
    batch.add(ADD_TOTP, totp_values(totp));
    batch.add(DELETE_TOTP_OF_NONE, [totp.user_id.into()]);
}

/// Reads a row of the table `trusted_devices`.
pub(super) fn trusted_device_from_row(row: &Row) -> Result<TrustedDevice, Error> {
    Ok(TrustedDevice {
        id: row.get(0)?,
        user_id: row.get(1)?,
        password_version: PasswordVersion::from_store(row.get(2)?),
        client: ClientInfo { address: row.parsed(3)?, user_agent: row.get(4)? },
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
    })
}

/// The user trusts one more browser.
pub(super) fn add_trusted_device(batch: &mut StatementBatch, device: &TrustedDevice) {
    let TrustedDevice { id, user_id, password_version, client, created_at, expires_at } = device;
    let values = [
        (*id).into(),
        (*user_id).into(),
        password_version.number().into(),
        client.address.to_string().into(),
        client.user_agent.as_str().into(),
        (*created_at).into(),
        (*expires_at).into(),
    ];
    batch.add(ADD_TRUSTED_DEVICE, values);
    batch.add(DELETE_OLDEST_TRUSTED_DEVICES, [(*user_id).into(), sql_limit(MAX_TRUSTED_DEVICES)]);
}
