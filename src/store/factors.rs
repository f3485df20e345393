//! Second factors: how a user adds, uses and removes them, and the column `users.factors`, which says what their tables hold for a user.
//! Each table is a file of its own: `passkeys`, `totp_secrets`, `recovery_codes` and `trusted_devices`.

use super::{
    Error, Store,
    effects::{Effects, add_effects},
    last_way::OtherWays,
    passkeys::{
        ADD_PASSKEY, DELETE_EXCESS_PASSKEY, DELETE_PASSKEY, DELETE_PASSKEYS_OF_USER,
        DELETE_PASSKEYS_SINCE, MAX_PASSKEYS, PASSKEYS_BY_USER, USE_PASSKEY, passkey_from_row,
        passkey_values,
    },
    recovery_codes::{
        ADD_RECOVERY_CODE, DELETE_RECOVERY_CODES, DELETE_RECOVERY_CODES_OF_NONE,
        DELETE_RECOVERY_CODES_SINCE, RECOVERY_CODES_BY_USER, USE_RECOVERY_CODE,
        end_recovered_sessions_of_none, replace_recovery_codes, with_ids,
    },
    session_proofs::{end_sessions_with, end_token_for_others, set_proofs},
    statements::statements,
    totp_secrets::{
        ADD_TOTP, DELETE_TOTP, DELETE_TOTP_SINCE, TOTP_BY_USER, USE_TOTP, totp_from_row,
        totp_values,
    },
    trusted_devices::{
        DELETE_TRUSTED_DEVICE, DELETE_TRUSTED_DEVICES_OF_USER, TRUSTED_DEVICES_BY_USER,
        trusted_device_from_row,
    },
    used_codes::USE_CODE,
    value::{Value, sql_limit},
    write::{RowCount, StatementBatch, Verdict},
};
use crate::{
    clock::Timestamp,
    credential::factor::FactorKind,
    session::{Method, Session},
    token::cookie::CodeId,
    user::{FactorId, HeldFactors, Passkey, RecoveryDigest, StoredTotp, User, UserId},
};

statements! {
    /// In the order of the kinds. $2 is true.
    SET_FACTORS =
        "UPDATE users SET updated_at = $3, factors = TRIM(\
         CASE WHEN EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $1 AND p.verifies_user = $2) THEN 'passkey ' ELSE '' END || \
         CASE WHEN EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $1 AND p.verifies_user <> $2) THEN 'key ' ELSE '' END || \
         CASE WHEN EXISTS (SELECT 1 FROM totp_secrets t WHERE t.user_id = $1) THEN 'totp' ELSE '' END) WHERE id = $1";
}

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

    /// Removes a passkey of the user of this session, unless it is the last one and they cannot sign in without.
    pub async fn remove_passkey(
        &self,
        who: Holder<'_>,
        id: FactorId,
        other_ways: OtherWays,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<RemoveFactor, Error> {
        let gone = [Method::Passkey, Method::SecurityKey, Method::TrustedDevice];
        self.remove_factor(who, &gone, now, effects, move |batch, user| {
            let (has_one, identity) = (other_ways.has_one(user), other_ways.identity());
            let values = [user.id.into(), id.into(), has_one.into(), true.into(), identity];
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
                batch.deciding(move |rows| Verdict::commit_if(rows.of(kept) > 0))
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
