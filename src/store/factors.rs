//! Second factors: the tables `passkeys`, `totp_secrets`, `recovery_codes` and `trusted_devices`, and the column `users.factors`,
//! which says what they hold for a user.

use uuid::Uuid;

use super::{
    Error, Store,
    columns::{PASSKEY_COLUMN_COUNT, passkey_columns, user_columns},
    effects::{Effects, add_effects},
    row::Row,
    session_proofs::{end_sessions_with, end_token_for_others, pattern_of, set_proofs},
    statements::statements,
    used_codes::USE_CODE,
    user_record::user_from_row,
    value::{Value, sql_limit},
    write::{RowCount, StatementBatch, Verdict},
};
use crate::{
    clock::Timestamp,
    credential::factor::FactorKind,
    network::ClientInfo,
    session::{Method, Session, SessionId},
    token::cookie::CodeId,
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
    OTHER_RP_IDS = "SELECT DISTINCT rp_id FROM passkeys WHERE rp_id < $1 OR rp_id > $1";
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
    /// The passkey $2, if its user has more than $3 with it.
    DELETE_EXCESS_PASSKEY =
        "DELETE FROM passkeys WHERE user_id = $1 AND id = $2 AND (SELECT COUNT(*) FROM passkeys p WHERE p.user_id = $1) > $3";
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
    /// Changes nothing, and counts a device that is still trusted.
    REQUIRE_TRUSTED_DEVICE =
        "UPDATE trusted_devices SET expires_at = expires_at WHERE user_id = $1 AND id = $2";
    DELETE_TRUSTED_DEVICE = "DELETE FROM trusted_devices WHERE user_id = $1 AND id = $2";
    /// All of a user but the newest $2.
    DELETE_OLDEST_TRUSTED_DEVICES =
        "DELETE FROM trusted_devices WHERE user_id = $1 AND id NOT IN \
         (SELECT id FROM trusted_devices WHERE user_id = $1 ORDER BY created_at DESC, id DESC LIMIT $2)";
    DELETE_EXPIRED_TRUSTED_DEVICES =
        "DELETE FROM trusted_devices WHERE id IN (SELECT id FROM trusted_devices WHERE expires_at <= $1 LIMIT $2)";
    DELETE_PASSKEYS_OF_USER = "DELETE FROM passkeys WHERE user_id = $1";
    DELETE_TRUSTED_DEVICES_OF_USER = "DELETE FROM trusted_devices WHERE user_id = $1";
    DELETE_PASSKEYS_SINCE = "DELETE FROM passkeys WHERE user_id = $1 AND created_at >= $2";
    DELETE_TOTP_SINCE = "DELETE FROM totp_secrets WHERE user_id = $1 AND created_at >= $2";
    DELETE_RECOVERY_CODES_SINCE = "DELETE FROM recovery_codes WHERE user_id = $1 AND created_at >= $2";
    /// Without a second factor, nothing stands in for it.
    DELETE_RECOVERY_CODES_OF_NONE =
        concat!("DELETE FROM recovery_codes WHERE user_id = $1 AND ", none_left!());
    /// If no factor is left, also of the session that goes on.
    END_TOKENS_OF_NONE_WITH = concat!(
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $3, $4 FROM sessions \
         WHERE user_id = $1 AND ' ' || methods LIKE $2 AND ", none_left!(), " ON CONFLICT (token_id) DO NOTHING"
    );
    END_SESSIONS_OF_NONE_WITH = concat!(
        "DELETE FROM sessions WHERE user_id = $1 AND id <> $2 AND ' ' || methods LIKE $3 AND ", none_left!()
    );
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddFactor {
    Added,
    /// Another passkey has its id, or the user has an authenticator app already.
    Taken,
    /// The user has the most passkeys that one can have.
    TooMany,
    /// A passkey was made with the setup before.
    SetupUsed,
    /// The user is gone or has changed since they proved who they are.
    UserChanged,
}

/// The session in which a user adds a factor. Nothing is added if it is not as the caller knows it.
#[derive(Clone, Copy, Debug)]
pub struct AddedIn<'a> {
    pub known: &'a Session,
    /// As it is with the factor.
    pub own: &'a Session,
}

/// What became of the removal of a factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RemoveFactor {
    /// The session has not proved the factor any more.
    Removed(Box<Session>),
    /// The user has no such factor, or could not sign in without it.
    Kept,
    /// The session has ended or has another token or other proofs than the caller knows, or the user has another password or other factors.
    Changed,
}

/// A user who changes what they hold, and the session in which they do, both as the caller knows them.
#[derive(Clone, Copy, Debug)]
pub struct Holder<'a> {
    pub user: &'a User,
    pub session: &'a Session,
}

/// The passkey that a user registers with in place of a password, and what comes with it.
#[derive(Clone, Debug)]
pub struct FirstPasskey {
    pub passkey: Passkey,
    recovery_codes: Vec<(FactorId, RecoveryDigest)>,
    /// The setup, which counts once, and when it expires.
    setup: (CodeId, Timestamp),
}

/// A factor that is added.
struct NewFactor {
    insertion: (&'static str, Vec<Value>),
    kind: FactorKind,
    /// A passkey, and the setup that it was made with.
    passkey: Option<(FactorId, (CodeId, Timestamp))>,
    created_at: Timestamp,
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

    /// The domains of passkeys that were made for others than this one.
    pub async fn other_rp_ids(&self, rp_id: &str) -> Result<Vec<String>, Error> {
        let rows = self.read(OTHER_RP_IDS, [rp_id.into()]).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Whether anybody has an authenticator app.
    pub async fn has_totp(&self) -> Result<bool, Error> {
        Ok(!self.read(HAS_TOTP, []).await?.is_empty())
    }

    /// Adds a passkey of this user that was made with this setup, which counts once, and recovery codes if there are any. The
    /// session in which they do has proved it.
    pub async fn add_passkey(
        &self,
        user: &User,
        passkey: &Passkey,
        setup: (CodeId, Timestamp),
        recovery_codes: &[RecoveryDigest],
        added_in: Option<AddedIn<'_>>,
        effects: &Effects,
    ) -> Result<AddFactor, Error> {
        let added = NewFactor {
            insertion: (ADD_PASSKEY, passkey_values(passkey)),
            kind: passkey.kind(),
            passkey: Some((passkey.id, setup)),
            created_at: passkey.created_at,
        };
        self.add_factor(user, added, recovery_codes, added_in, effects).await
    }

    /// Adds the secret of an authenticator app of this user, and recovery codes if there are any. The session in which they do
    /// has proved it.
    pub async fn add_totp(
        &self,
        user: &User,
        totp: &StoredTotp,
        recovery_codes: &[RecoveryDigest],
        added_in: Option<AddedIn<'_>>,
        effects: &Effects,
    ) -> Result<AddFactor, Error> {
        let added = NewFactor {
            insertion: (ADD_TOTP, totp_values(totp)),
            kind: FactorKind::Totp,
            passkey: None,
            created_at: totp.created_at,
        };
        self.add_factor(user, added, recovery_codes, added_in, effects).await
    }

    /// The user must still have the password and the factors with which the caller knows them: who has proved one factor must not
    /// add another one beside a second, nor replace its recovery codes.
    async fn add_factor(
        &self,
        user: &User,
        new: NewFactor,
        recovery_codes: &[RecoveryDigest],
        added_in: Option<AddedIn<'_>>,
        effects: &Effects,
    ) -> Result<AddFactor, Error> {
        let now = new.created_at;
        let (id, version, factors) = (user.id, user.password_version, user.factors.clone());
        let (codes, effects) = (with_ids(recovery_codes), effects.clone());
        let added_in = added_in.map(|AddedIn { known, own }| (known.clone(), own.clone()));
        self.write_user(id, AddFactor::UserChanged, move |change_id, record| {
            let User { password_version, factors: held, disabled, .. } = &record.user;
            let is_same = *password_version == version && *held == factors && !disabled;
            is_same.then(|| {
                let mut batch = StatementBatch::default();
                let added = batch.add(new.insertion.0, new.insertion.1.clone());
                // Counted here, where the user's other writes wait: options are handed out to anybody who has room at the moment.
                let passkey = new.passkey.map(|(passkey, (setup, expires_at))| {
                    let limit = [id.into(), passkey.into(), sql_limit(MAX_PASSKEYS)];
                    let excess = batch.add(DELETE_EXCESS_PASSKEY, limit);
                    (batch.add(USE_CODE, [setup.into(), expires_at.into()]), excess)
                });
                let method = Method::from(new.kind);
                let proved = added_in.as_ref().map(|(known, own)| {
                    end_token_for_others(&mut batch, known, change_id, now);
                    set_proofs(&mut batch, known, own)
                });
                let kept = added_in.as_ref().map(|(known, _)| known.id);
                if !held.contains(new.kind) {
                    // Sessions of an older version may have proved one that is gone.
                    let earlier = [method, Method::TrustedDevice];
                    let earlier = if held.is_empty() { &earlier[..] } else { &earlier[..1] };
                    end_sessions_with(&mut batch, id, earlier, kept, change_id, now);
                }
                if !codes.is_empty() {
                    replace_recovery_codes(&mut batch, id, &codes, kept, change_id, now);
                }
                set_factors(&mut batch, id, now);
                add_effects(&mut batch, &effects);
                batch.deciding(move |rows| match passkey {
                    // First, because a form may be sent twice.
                    _ if rows.of(added) == 0 => Verdict::RollBack(AddFactor::Taken),
                    Some((setup, _)) if rows.of(setup) == 0 => {
                        Verdict::RollBack(AddFactor::SetupUsed)
                    }
                    Some((_, excess)) if rows.of(excess) > 0 => {
                        Verdict::RollBack(AddFactor::TooMany)
                    }
                    _ if proved.is_some_and(|proved| rows.of(proved) == 0) => {
                        Verdict::RollBack(AddFactor::UserChanged)
                    }
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

    /// Removes a passkey of the user of this session, unless it is the last one and they cannot sign in without: with a password,
    /// or with a mailed code.
    pub async fn remove_passkey(
        &self,
        who: Holder<'_>,
        id: FactorId,
        signs_in_by_mail: bool,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<RemoveFactor, Error> {
        let gone = [Method::Passkey, Method::SecurityKey, Method::TrustedDevice];
        self.remove_factor(who, &gone, now, effects, move |batch, user| {
            let has_other_way = signs_in_by_mail || user.has_password();
            let values = [user.id.into(), id.into(), has_other_way.into(), true.into()];
            batch.add(DELETE_TRUSTED_DEVICES_OF_USER, [user.id.into()]);
            batch.add(DELETE_PASSKEY, values)
        })
        .await
    }

    /// Removes the authenticator app of the user of this session.
    pub async fn remove_totp(
        &self,
        who: Holder<'_>,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<RemoveFactor, Error> {
        let gone = [Method::Totp, Method::TrustedDevice];
        self.remove_factor(who, &gone, now, effects, |batch, user| {
            batch.add(DELETE_TRUSTED_DEVICES_OF_USER, [user.id.into()]);
            batch.add(DELETE_TOTP, [user.id.into()])
        })
        .await
    }

    /// Removes a trusted device of the user of this session.
    pub async fn remove_trusted_device(
        &self,
        who: Holder<'_>,
        id: FactorId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<RemoveFactor, Error> {
        let gone = [Method::TrustedDevice];
        self.remove_factor(who, &gone, now, effects, move |batch, user| {
            batch.add(DELETE_TRUSTED_DEVICE, [user.id.into(), id.into()])
        })
        .await
    }

    /// Removes a factor and what was derived from it: the other sessions that have proved one of these methods. This one has not
    /// proved them any more.
    async fn remove_factor(
        &self,
        who: Holder<'_>,
        gone: &[Method],
        now: Timestamp,
        effects: &Effects,
        remove: impl Fn(&mut StatementBatch, &User) -> RowCount + Send + Sync + 'static,
    ) -> Result<RemoveFactor, Error> {
        let (known, own) = (who.session.clone(), who.session.without(gone, now));
        let (loses_proofs, user) = (own.methods != known.methods, who.user.id);
        let (is_same, gone, effects) = (who.is_same(), gone.to_vec(), effects.clone());
        self.revoke_from_user(user, RemoveFactor::Changed, move |change_id, record| {
            is_same(&record.user).then(|| {
                let mut batch = StatementBatch::default();
                let removed = remove(&mut batch, &record.user);
                let kept = set_proofs(&mut batch, &known, &own);
                if loses_proofs {
                    end_token_for_others(&mut batch, &own, change_id, now);
                }
                end_sessions_with(&mut batch, user, &gone, Some(own.id), change_id, now);
                end_recovered_sessions_of_none(&mut batch, user, own.id, change_id, now);
                batch.add(DELETE_RECOVERY_CODES_OF_NONE, [user.into()]);
                set_factors(&mut batch, user, now);
                add_effects(&mut batch, &effects);
                let own = own.clone();
                batch.deciding(move |rows| match (rows.of(kept), rows.of(removed)) {
                    (0, _) => Verdict::RollBack(RemoveFactor::Changed),
                    (_, 0) => Verdict::RollBack(RemoveFactor::Kept),
                    _ => Verdict::Commit(RemoveFactor::Removed(Box::new(own))),
                })
            })
        })
        .await
    }

    /// Replaces all recovery codes of the user of this session, and ends their other sessions that were opened with one. Returns
    /// false if the user or the session has changed.
    pub async fn replace_recovery_codes(
        &self,
        who: Holder<'_>,
        codes: &[RecoveryDigest],
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let (codes, effects) = (with_ids(codes), effects.clone());
        let (is_same, user, own) = (who.is_same(), who.user.id, who.session.clone());
        self.write_user(user, false, move |change_id, record| {
            is_same(&record.user).then(|| {
                let mut batch = StatementBatch::default();
                let kept = set_proofs(&mut batch, &own, &own);
                replace_recovery_codes(&mut batch, user, &codes, Some(own.id), change_id, now);
                add_effects(&mut batch, &effects);
                batch.deciding(move |rows| commit_if(rows.of(kept) > 0))
            })
        })
        .await
    }
}

impl Holder<'_> {
    /// Whether a user still has the password and the factors with which the caller knows them: who has proved one factor must not
    /// change what they hold beside a second one.
    fn is_same(self) -> impl Fn(&User) -> bool + Send + Sync + use<> {
        let (version, factors) = (self.user.password_version, self.user.factors.clone());
        move |user| user.password_version == version && user.factors == factors && !user.disabled
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

/// Ends the sessions of a user but `keep` that rest on a recovery code, if no factor is left that it could stand in for. The token of
/// the kept one is ended for those who verify it by themselves.
fn end_recovered_sessions_of_none(
    batch: &mut StatementBatch,
    user: UserId,
    keep: SessionId,
    change_id: Uuid,
    now: Timestamp,
) {
    let pattern = || pattern_of(Method::RecoveryCode);
    batch.add(END_TOKENS_OF_NONE_WITH, [user.into(), pattern(), change_id.into(), now.into()]);
    batch.add(END_SESSIONS_OF_NONE_WITH, [user.into(), keep.into(), pattern()]);
}

/// Each with an id of its own. A write may run twice, and must then add the same rows.
fn with_ids(codes: &[RecoveryDigest]) -> Vec<(FactorId, RecoveryDigest)> {
    codes.iter().map(|code| (FactorId::random(), *code)).collect()
}

/// Replaces all recovery codes of a user, and ends the sessions but `kept` that were opened with an earlier one.
fn replace_recovery_codes(
    batch: &mut StatementBatch,
    user: UserId,
    codes: &[(FactorId, RecoveryDigest)],
    kept: Option<SessionId>,
    change_id: Uuid,
    now: Timestamp,
) {
    end_sessions_with(batch, user, &[Method::RecoveryCode], kept, change_id, now);
    set_recovery_codes(batch, user, codes, now);
}

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

/// Deletes the factors that a user has added since this time, and the trust in all browsers. Returns the counts of passkeys and of
/// authenticator apps.
pub(super) fn delete_factors_since(
    batch: &mut StatementBatch,
    user: UserId,
    since: Timestamp,
    now: Timestamp,
) -> [RowCount; 2] {
    let deleted = [DELETE_PASSKEYS_SINCE, DELETE_TOTP_SINCE]
        .map(|statement| batch.add(statement, [user.into(), since.into()]));
    batch.add(DELETE_RECOVERY_CODES_SINCE, [user.into(), since.into()]);
    for statement in [DELETE_RECOVERY_CODES_OF_NONE, DELETE_TRUSTED_DEVICES_OF_USER] {
        batch.add(statement, [user.into()]);
    }
    set_factors(batch, user, now);
    deleted
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

/// The browser of a sign-in must still be trusted. Returns the count of devices: 0 if it is not.
pub(super) fn require_trusted_device(
    batch: &mut StatementBatch,
    user: UserId,
    device: FactorId,
) -> RowCount {
    batch.add(REQUIRE_TRUSTED_DEVICE, [user.into(), device.into()])
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
