//! Accounts of people at other providers, and the roles that they give: the table `identities`, and the column `users.login_roles`.
//! [`Store::sign_in`] adds one and uses one.

use std::collections::{BTreeSet, HashMap};

use uuid::Uuid;

use super::{
    Error, Store,
    columns::{IDENTITY_COLUMN_COUNT, identity_columns, user_columns},
    effects::{Effects, add_effects},
    factors::Holder,
    last_way::OtherWays,
    rights::HAS_SESSION,
    row::Row,
    session_proofs::{end_sessions_with, kept},
    statements::{BATCH_IDS, ids, statements},
    used_codes::USE_CODE,
    user_record::user_from_row,
    user_terms::change_terms,
    value::{Value, sql_limit},
    write::{RowCount, StatementBatch, Verdict},
};
use crate::{
    clock::Timestamp,
    event::{Event, EventId, EventKind},
    session::{Method, SessionId},
    token::cookie::CodeId,
    user::{Email, Identity, IdentityId, LoginRoles, Role, Roles, User, UserId},
};

statements! {
    IDENTITIES_BY_USER = concat!(
        "SELECT ", identity_columns!(""), " FROM identities WHERE user_id = $1 ORDER BY created_at, id"
    );
    IDENTITY_WITH_USER = concat!(
        "SELECT ", identity_columns!("i."), ", ", user_columns!("u."),
        " FROM identities i JOIN users u ON u.id = i.user_id WHERE i.issuer = $1 AND i.subject = $2"
    );
    IDENTITY_OWNERS = concat!(
        "SELECT i.issuer, i.subject, u.id, u.email FROM identities i JOIN users u ON u.id = i.user_id \
         WHERE i.subject IN ", ids!(), " AND i.issuer = $17"
    );
    ADD_IDENTITY = concat!(
        "INSERT INTO identities (", identity_columns!(""),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (issuer, subject) DO NOTHING"
    );
    /// The identity $2, if its user has more than $3 with it.
    DELETE_EXCESS_IDENTITY =
        "DELETE FROM identities WHERE user_id = $1 AND id = $2 AND (SELECT COUNT(*) FROM identities i WHERE i.user_id = $1) > $3";
    /// Changes nothing, and counts an identity that the user still has.
    HAS_IDENTITY = "UPDATE identities SET login = login WHERE user_id = $1 AND id = $2";
    /// Changes nothing, and counts the user if they have no identity.
    HAS_NO_IDENTITY =
        "UPDATE users SET id = id WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM identities i WHERE i.user_id = $1)";
    USE_IDENTITY =
        "UPDATE identities SET login = $3, display = $4, last_used_at = $5 WHERE user_id = $1 AND id = $2";
    /// Not the last way to sign in, unless there is another one ($3). $5 is another identity that can be used.
    DELETE_IDENTITY =
        "DELETE FROM identities WHERE user_id = $1 AND id = $2 AND ($3 \
         OR EXISTS (SELECT 1 FROM identities i WHERE i.user_id = $1 AND i.id = $5) \
         OR EXISTS (SELECT 1 FROM passkeys p WHERE p.user_id = $1 AND p.verifies_user = $4))";
    DELETE_IDENTITIES_OF_USER = "DELETE FROM identities WHERE user_id = $1";
    DELETE_IDENTITIES_SINCE = "DELETE FROM identities WHERE user_id = $1 AND created_at >= $2";
    SET_FIRST_LOGIN_ROLES = "UPDATE users SET login_roles = $2 WHERE id = $1";
    SET_LOGIN_ROLES =
        "UPDATE users SET roles = $2, login_roles = $3, updated_at = $4 WHERE id = $1";
    IDENTITIES_BY_UPSTREAM_SESSION = concat!(
        "SELECT ", identity_columns!("i."),
        " FROM identities i WHERE i.issuer = $1 AND EXISTS \
         (SELECT 1 FROM sessions s WHERE s.upstream_sid = $2 AND s.identity_id = i.id)"
    );
    /// The tokens of the sessions of an identity but one. With $4, only of those that began with this session there, and with $5 also of
    /// those of which it is not known with which they did.
    END_TOKENS_OF_IDENTITY =
        "INSERT INTO ended_tokens (token_id, change_id, ended_at) SELECT token_id, $6, $7 FROM sessions \
         WHERE user_id = $1 AND identity_id = $2 AND id <> $3 AND ($4 = '' OR upstream_sid = $4 OR ($5 AND upstream_sid IS NULL)) ON CONFLICT (token_id) DO NOTHING";
    END_SESSIONS_OF_IDENTITY =
        "DELETE FROM sessions WHERE user_id = $1 AND identity_id = $2 AND id <> $3 AND ($4 = '' OR upstream_sid = $4 OR ($5 AND upstream_sid IS NULL))";
}

/// The number of identities that one user can have.
pub const MAX_IDENTITIES: usize = 5;

/// What a sign-in at a provider proves. Sessions that it made stronger have no identity, and may have any.
const PROVED: &[Method] = &[Method::External];

/// The use of an identity at a sign-in, and what the login has said of its person then.
#[derive(Clone, Debug)]
pub struct IdentityUse {
    pub id: IdentityId,
    pub login: String,
    pub display: String,
    pub gives: GivenRoles,
}

/// The roles that a login gives at a sign-in.
#[derive(Clone, Debug)]
pub struct GivenRoles {
    pub roles: Roles,
    /// Each role that is granted or revoked is an event like this one.
    pub event: Event,
}

/// A session at a provider, of which it says that it has ended.
#[derive(Clone, Copy, Debug)]
pub struct UpstreamSession<'a> {
    pub id: &'a str,
    /// Whether it may also be one whose id the provider has not told when it began here.
    pub or_unnamed: bool,
}

/// What became of a new link to an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkIdentity {
    Linked,
    /// It is that of another user, or was linked before.
    Taken,
    /// The user has the most identities that one can have.
    TooMany,
    /// The session has ended, or the user has another password or other factors than the caller knows.
    UserChanged,
}

/// What became of the removal of an identity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnlinkIdentity {
    Unlinked,
    /// It is the last way to sign in, or is gone.
    Kept,
    /// As [`LinkIdentity::UserChanged`].
    UserChanged,
}

impl Store {
    /// The identities of a user, the oldest first.
    pub async fn identities_of(&self, user: UserId) -> Result<Vec<Identity>, Error> {
        let rows = self.read(IDENTITIES_BY_USER, [user.into()]).await?;
        rows.iter().map(identity_from_row).collect()
    }

    /// The identity that this issuer calls so, and its user.
    pub async fn identity_with_user(
        &self,
        issuer: &str,
        subject: &str,
    ) -> Result<Option<(Identity, User)>, Error> {
        let rows = self.read(IDENTITY_WITH_USER, [issuer.into(), subject.into()]).await?;
        let with_user =
            |row| Ok((identity_from_row(row)?, user_from_row(row, IDENTITY_COLUMN_COUNT)?));
        rows.first().map(with_user).transpose()
    }

    /// Whose those of these identities are that somebody has: by issuer and subject, the user and their address.
    pub async fn identity_owners(
        &self,
        identities: &BTreeSet<(String, String)>,
    ) -> Result<HashMap<(String, String), (UserId, Email)>, Error> {
        let mut owners = HashMap::new();
        let identities: Vec<_> = identities.iter().collect();
        for of_issuer in identities.chunk_by(|(one, _), (other, _)| one == other) {
            for some in of_issuer.chunks(BATCH_IDS) {
                let subjects = some.iter().cycle().take(BATCH_IDS);
                let subjects = subjects.map(|(_, subject)| subject.as_str().into());
                let values: Vec<Value> = subjects.chain([some[0].0.as_str().into()]).collect();
                for row in self.read(IDENTITY_OWNERS, values).await? {
                    let owner = (row.get(2)?, Email::from_store(row.get(3)?));
                    owners.insert((row.get(0)?, row.get(1)?), owner);
                }
            }
        }
        Ok(owners)
    }

    /// The identities of an issuer with which sessions began that have this id there.
    pub async fn identities_by_upstream_session(
        &self,
        issuer: &str,
        session: &str,
    ) -> Result<Vec<Identity>, Error> {
        let values = [issuer.into(), session.into()];
        let rows = self.read(IDENTITIES_BY_UPSTREAM_SESSION, values).await?;
        rows.iter().map(identity_from_row).collect()
    }

    /// Notes the use of an identity whose user holds a second factor, which is still missing, and gives them the roles of its login.
    /// Returns false if they do not have it any more.
    pub async fn use_identity(
        &self,
        user: UserId,
        used: &IdentityUse,
        now: Timestamp,
    ) -> Result<bool, Error> {
        let used = used.clone();
        self.revoke_from_user(user, false, move |_, record| {
            let mut batch = StatementBatch::default();
            let has_it = use_identity(&mut batch, user, &used, now);
            let (mut changed, mut given) = (record.user.clone(), record.login_roles.clone());
            give_roles(&mut batch, &mut changed, &mut given, used.id, &used.gives, now);
            Some(batch.deciding(move |rows| Verdict::commit_if(rows.of(has_it) > 0)))
        })
        .await
    }

    /// Links an identity to the user of this session, who gets the roles of its login.
    pub async fn link_identity(
        &self,
        who: Holder<'_>,
        identity: &Identity,
        gives: &GivenRoles,
        effects: &Effects,
    ) -> Result<LinkIdentity, Error> {
        let (identity, gives, effects) = (identity.clone(), gives.clone(), effects.clone());
        let (known, session) = (who.user.clone(), who.session.id);
        self.write_user(known.id, LinkIdentity::UserChanged, move |_, record| {
            is_same(&record.user, &known).then(|| {
                let mut batch = StatementBatch::default();
                let has_session = batch.add(HAS_SESSION, [session.into(), known.id.into()]);
                let (added, excess) = add_identity(&mut batch, &identity);
                let (mut user, mut given) = (record.user.clone(), record.login_roles.clone());
                let (id, now) = (identity.id, identity.created_at);
                give_roles(&mut batch, &mut user, &mut given, id, &gives, now);
                add_effects(&mut batch, &effects);
                batch.deciding(move |rows| {
                    if rows.of(has_session) == 0 {
                        Verdict::RollBack(LinkIdentity::UserChanged)
                    } else if rows.of(added) == 0 {
                        Verdict::RollBack(LinkIdentity::Taken)
                    } else if rows.of(excess) > 0 {
                        Verdict::RollBack(LinkIdentity::TooMany)
                    } else {
                        Verdict::Commit(LinkIdentity::Linked)
                    }
                })
            })
        })
        .await
    }

    /// Removes an identity of the user of this session, with the roles that it has given and the other sessions in which they
    /// have signed in with a provider,
    /// unless they could not sign in without: with a password, a passkey, another identity or a mailed code.
    pub async fn unlink_identity(
        &self,
        who: Holder<'_>,
        id: IdentityId,
        other_ways: OtherWays,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<UnlinkIdentity, Error> {
        let effects = effects.clone();
        let (known, session) = (who.user.clone(), who.session.id);
        self.revoke_from_user(known.id, UnlinkIdentity::UserChanged, move |change_id, record| {
            is_same(&record.user, &known).then(|| {
                let mut batch = StatementBatch::default();
                let user_id = record.user.id;
                let has_session = batch.add(HAS_SESSION, [session.into(), user_id.into()]);
                let has_other_way = other_ways.has_one(&record.user);
                let other = other_ways.identity();
                let values = [user_id.into(), id.into(), has_other_way.into(), true.into(), other];
                let deleted = batch.add(DELETE_IDENTITY, values);
                end_sessions_of(&mut batch, (user_id, id, Some(session)), None, change_id, now);
                end_sessions_with(&mut batch, user_id, PROVED, Some(session), change_id, now);
                let (mut user, mut given) = (record.user.clone(), record.login_roles.clone());
                let event = effects.events.first();
                remove_login_roles(&mut batch, &mut user, &mut given, event, now, |by| by == id);
                add_effects(&mut batch, &effects);
                batch.deciding(move |rows| {
                    if rows.of(has_session) == 0 {
                        Verdict::RollBack(UnlinkIdentity::UserChanged)
                    } else if rows.of(deleted) == 0 {
                        Verdict::RollBack(UnlinkIdentity::Kept)
                    } else {
                        Verdict::Commit(UnlinkIdentity::Unlinked)
                    }
                })
            })
        })
        .await
    }

    /// Removes an identity of a user by an order of an administrator, with the roles that it has given and the sessions in which
    /// they have signed in with a provider.
    /// Returns false if the user has no such identity.
    pub async fn remove_identity(
        &self,
        user: UserId,
        id: IdentityId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.revoke_from_user(user, false, move |change_id, record| {
            let mut batch = StatementBatch::default();
            let values = [user.into(), id.into(), true.into(), true.into(), id.into()];
            let deleted = batch.add(DELETE_IDENTITY, values);
            end_sessions_of(&mut batch, (user, id, None), None, change_id, now);
            end_sessions_with(&mut batch, user, PROVED, None, change_id, now);
            let (mut changed, mut given) = (record.user.clone(), record.login_roles.clone());
            let event = effects.events.first();
            remove_login_roles(&mut batch, &mut changed, &mut given, event, now, |by| by == id);
            add_effects(&mut batch, &effects);
            Some(batch.deciding(move |rows| Verdict::commit_if(rows.of(deleted) > 0)))
        })
        .await
    }

    /// Ends the sessions of an identity because the provider says so, by a message that counts once: all of them, or those that began
    /// with this session there. Returns their number; 0 if the message was used before.
    pub async fn end_sessions_by_provider(
        &self,
        identity: &Identity,
        upstream: Option<UpstreamSession<'_>>,
        message: (CodeId, Timestamp),
        now: Timestamp,
        effects: &Effects,
    ) -> Result<usize, Error> {
        let (user, id, effects) = (identity.user_id, identity.id, effects.clone());
        let upstream = upstream.map(|one| (one.id.to_owned(), one.or_unnamed));
        let (message, expires_at) = message;
        self.revoke_from_user(user, 0, move |change_id, _| {
            let mut batch = StatementBatch::default();
            let used = batch.add(USE_CODE, [message.into(), expires_at.into()]);
            let upstream = upstream.as_ref();
            let upstream =
                upstream.map(|(id, or_unnamed)| UpstreamSession { id, or_unnamed: *or_unnamed });
            let ended = end_sessions_of(&mut batch, (user, id, None), upstream, change_id, now);
            add_effects(&mut batch, &effects);
            let write = batch.deciding(move |rows| match (rows.of(used), rows.of(ended)) {
                (0, _) | (_, 0) => Verdict::RollBack(0),
                (_, count) => Verdict::Commit(count),
            });
            Some(write.complete_events(|ended, kind| {
                if let EventKind::SessionsEnded { count } = kind {
                    *count = Some(*ended);
                }
            }))
        })
        .await
    }
}

/// Whether a user has the password and the factors with which the caller knows them.
fn is_same(user: &User, known: &User) -> bool {
    user.password_version == known.password_version
        && user.factors == known.factors
        && !user.disabled
}

/// Adds an identity. Returns the counts of added ones and of those that are too many: 0 if it exists, and 1 if its user has the most.
pub(super) fn add_identity(
    batch: &mut StatementBatch,
    identity: &Identity,
) -> (RowCount, RowCount) {
    let added = batch.add(ADD_IDENTITY, identity_values(identity));
    let limit = [identity.user_id.into(), identity.id.into(), sql_limit(MAX_IDENTITIES)];
    (added, batch.add(DELETE_EXCESS_IDENTITY, limit))
}

/// Adds an identity of a user whom the same transaction adds. Returns the count of added ones.
pub(super) fn add_imported_identity(batch: &mut StatementBatch, identity: &Identity) -> RowCount {
    batch.add(ADD_IDENTITY, identity_values(identity))
}

/// Notes which roles of a user whom the same transaction adds are those of logins.
pub(super) fn set_imported_login_roles(
    batch: &mut StatementBatch,
    user: UserId,
    roles: &LoginRoles,
) {
    batch.add(SET_FIRST_LOGIN_ROLES, [user.into(), roles.to_store().into()]);
}

/// Notes the use of an identity. Returns the count of identities: 0 if the user does not have it any more.
pub(super) fn use_identity(
    batch: &mut StatementBatch,
    user: UserId,
    used: &IdentityUse,
    now: Timestamp,
) -> RowCount {
    let IdentityUse { id, login, display, gives: _ } = used;
    let texts = [login.as_str().into(), display.as_str().into()];
    let values = [user.into(), (*id).into()].into_iter().chain(texts).chain([now.into()]);
    batch.add(USE_IDENTITY, Vec::from_iter(values))
}

/// Gives a user the roles of a login in place of those that it has given before.
pub(super) fn give_roles(
    batch: &mut StatementBatch,
    user: &mut User,
    login_roles: &mut LoginRoles,
    identity: IdentityId,
    gives: &GivenRoles,
    now: Timestamp,
) {
    let (left, roles) = login_roles.replaced(&user.roles, identity, &gives.roles);
    set_roles(batch, (user, login_roles), (roles, left), Some(&gives.event), now);
}

/// Removes the roles that some identities have given. Each of them is an event like `event`.
pub(super) fn remove_login_roles(
    batch: &mut StatementBatch,
    user: &mut User,
    login_roles: &mut LoginRoles,
    event: Option<&Event>,
    now: Timestamp,
    is_gone: impl Fn(IdentityId) -> bool,
) {
    let (left, roles) = login_roles.without(&user.roles, is_gone);
    set_roles(batch, (user, login_roles), (roles, left), event, now);
}

/// Sets the roles of a user, and those of them that logins have given. Each that is granted or revoked is an event like `event`.
fn set_roles(
    batch: &mut StatementBatch,
    (user, login_roles): (&mut User, &mut LoginRoles),
    (roles, left): (Roles, LoginRoles),
    event: Option<&Event>,
    now: Timestamp,
) {
    let mut missing = |of: &Roles, from: &Roles, kind: fn(Role) -> EventKind| {
        for role in of.iter().filter(|role| !from.contains(role)).filter_map(Role::parse) {
            let (id, kind) = (EventId::at(now), kind(role));
            let event = event.map(|event| Event { id, kind, ..event.clone() });
            batch.follow_up(event.as_slice(), false);
        }
    };
    missing(&roles, &user.roles, EventKind::RoleGranted);
    missing(&user.roles, &roles, EventKind::RoleRevoked);
    if roles == user.roles && left == *login_roles {
        return;
    }
    let texts: [Value; 2] = [roles.to_text().into(), left.to_store().into()];
    let values = [user.id.into()].into_iter().chain(texts).chain([now.into()]);
    batch.add(SET_LOGIN_ROLES, Vec::from_iter(values));
    let known = user.clone();
    (user.roles, user.updated_at, *login_roles) = (roles, now, left);
    change_terms(batch, &known, user);
}

/// Ends the sessions of an identity but `keep`: all of them, or those that `upstream` says.
fn end_sessions_of(
    batch: &mut StatementBatch,
    (user, identity, keep): (UserId, IdentityId, Option<SessionId>),
    upstream: Option<UpstreamSession<'_>>,
    change_id: Uuid,
    now: Timestamp,
) -> RowCount {
    let (id, or_unnamed) = upstream.map_or(("", false), |one| (one.id, one.or_unnamed));
    let which = || -> [Value; 5] {
        [user.into(), identity.into(), kept(keep), id.into(), or_unnamed.into()]
    };
    let ended = which().into_iter().chain([change_id.into(), now.into()]);
    batch.add(END_TOKENS_OF_IDENTITY, Vec::from_iter(ended));
    batch.add(END_SESSIONS_OF_IDENTITY, which())
}

/// Reads the columns of an identity, which come first.
pub(super) fn identity_from_row(row: &Row) -> Result<Identity, Error> {
    Ok(Identity {
        id: row.get(0)?,
        user_id: row.get(1)?,
        issuer: row.get(2)?,
        subject: row.get(3)?,
        login: row.get(4)?,
        display: row.get(5)?,
        created_at: row.get(6)?,
        last_used_at: row.get(7)?,
    })
}

fn identity_values(identity: &Identity) -> Vec<Value> {
    let Identity { id, user_id, issuer, subject, login, display, created_at, last_used_at } =
        identity;
    vec![
        (*id).into(),
        (*user_id).into(),
        issuer.as_str().into(),
        subject.as_str().into(),
        login.as_str().into(),
        display.as_str().into(),
        (*created_at).into(),
        (*last_used_at).into(),
    ]
}
