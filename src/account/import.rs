//! Adding the users of another system, and the imported password hashes that are left. A user who exists already is never changed.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    Error,
    user_order::{check_given, subject},
};
use crate::{
    Doorward,
    credential::{factor::FactorKind, totp::TotpSecret},
    event::{Administrator, EventKind},
    store::{self, ImportedHash, ImportedWays},
    user::{Email, EmailKey, Identity, LoginRoles, Role, Roles, StoredTotp, User, UserId},
};

/// A user of another system.
#[derive(Clone)]
pub(crate) struct UserToImport {
    pub(crate) user: User,
    /// The secret of an authenticator app. Recovery codes come with the next factor, or when the user asks for them.
    pub(crate) totp: Option<TotpSecret>,
    pub(crate) identities: Vec<IdentityToImport>,
    /// Whether the other system knows when the user registered.
    pub(crate) is_created_at_known: bool,
}

/// An account at another provider by which an imported user signs in.
#[derive(Clone)]
pub(crate) struct IdentityToImport {
    pub(crate) identity: Identity,
    /// Those roles of the user that they have only by it.
    pub(crate) gives: Roles,
}

/// What came of a user who was to be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Imported {
    /// The user was added, or would be.
    Added,
    Exists,
    /// A user with this id exists and has other values in these fields.
    Differs(Vec<&'static str>),
    EmailTaken,
    /// The user with this address has the id.
    IdTaken(Email),
    /// The user was not added, because the user with this address has an identity of theirs.
    IdentityTaken(Email),
    /// The user was not added, because these roles of theirs administer and the import may not add such users.
    Administers(Vec<String>),
    /// The user was not added, because a role of theirs may do more than whoever imports them.
    BeyondAuthority,
}

/// A page of imported hashes after the user with this id, and the id after which the next one starts, if there may be one.
pub(crate) async fn imported_hashes(
    doorward: &Doorward,
    after: Option<UserId>,
) -> Result<(Vec<ImportedHash>, Option<UserId>), store::Error> {
    const PAGE: usize = 500;
    let mut hashes = doorward.store().imported_hashes(after, PAGE).await?;
    let next = hashes.last().filter(|_| hashes.len() == PAGE).map(|last| last.user_id);
    // No login replaces a hash with the cost of ours.
    hashes.retain(|hash| !doorward.hasher().keeps(&hash.prefix));
    Ok((hashes, next))
}

/// Deletes the imported hashes of these users. Returns how many still had one.
pub(crate) async fn drop_hashes(
    doorward: &Doorward,
    users: &[UserId],
    by: &Administrator,
) -> Result<usize, Error> {
    // Before the first is dropped.
    for user in users {
        if let Some(user) = doorward.user_by_id(*user).await? {
            subject(Some(user), by)?;
        }
    }
    let mut dropped = 0;
    for user in users {
        let effects =
            doorward.event_by_administrator(by, *user, EventKind::ImportedHashDropped).into();
        dropped += usize::from(doorward.store().drop_imported_hash(*user, &effects).await?);
    }
    // Failed logins cost as much as the hashes that are left.
    doorward.store().forget_unused_foreign_hashes().await?;
    doorward.read_foreign_hashes().await?;
    Ok(dropped)
}

/// How users are imported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ImportOptions {
    /// Only find out what would come of them.
    pub(crate) only_check: bool,
    /// Add users as well whose roles administer. A file of another system may have such roles without the operator's knowledge.
    pub(crate) admin_roles: bool,
}

/// Adds users, or only finds out what would come of them.
pub(crate) async fn import(
    doorward: &Doorward,
    imported: &[UserToImport],
    options: ImportOptions,
    by: &Administrator,
) -> Result<Vec<Imported>, store::Error> {
    let users: Vec<_> = imported.iter().map(with_factors).collect();
    let admin_roles: Vec<_> = users.iter().map(|user| admin_roles_of(doorward, user)).collect();
    let may_be_given: Vec<_> =
        users.iter().map(|user| check_given(&user.roles, by).is_ok()).collect();
    let is_allowed = |place: usize| {
        may_be_given[place] && (options.admin_roles || admin_roles[place].is_empty())
    };
    let allowed: Vec<usize> = (0..users.len()).filter(|place| is_allowed(*place)).collect();
    let owners = owners(doorward, imported).await?;
    let (allowed, taken) = with_free_identities(doorward, imported, allowed, &owners).await?;
    let mut added = vec![false; users.len()];
    if !options.only_check && !allowed.is_empty() {
        let kind = EventKind::UsersImported { count: None };
        let effects = doorward.event_by_administrator(by, None, kind).into();
        let to_add = allowed.iter().map(|place| users[*place].clone()).collect();
        let ways = ways(doorward, allowed.iter().map(|place| &imported[*place]));
        let events = allowed.iter().map(|place| {
            let user = &users[*place];
            let event = |kind| doorward.event_by_administrator(by, user.id, kind);
            // Whoever watches for new administrators looks for this.
            let granted = admin_roles[*place].iter().cloned().map(EventKind::RoleGranted);
            let kind = EventKind::UserImported { roles: user.roles.clone() };
            let identities = imported[*place].identities.iter();
            let linked = identities.map(|imported| EventKind::IdentityLinked {
                login: imported.identity.login.clone(),
            });
            [kind].into_iter().chain(granted).chain(linked).map(event).collect()
        });
        let (store, events) = (doorward.store(), events.collect());
        let written = store.import_users(to_add, ways, events, doorward.now(), &effects).await?;
        allowed.iter().zip(written).for_each(|(place, written)| added[*place] = written);
        doorward.read_foreign_hashes().await?;
    }
    let others = users.iter().zip(&added).filter(|(_, added)| !**added);
    let keys: Vec<_> = others.map(|(user, _)| (user.id, user.email.key())).collect();
    let existing = doorward.store().users_like(&keys).await?;
    let by_id: HashMap<UserId, &User> = existing.iter().map(|user| (user.id, user)).collect();
    let by_email: HashMap<EmailKey, &User> =
        existing.iter().map(|user| (user.email.key(), user)).collect();
    let outcome = |(place, imported): (usize, &UserToImport)| {
        if added[place] {
            return Imported::Added;
        }
        if !may_be_given[place] {
            return Imported::BeyondAuthority;
        }
        let user = &imported.user;
        match (by_id.get(&user.id), by_email.get(&user.email.key())) {
            // Another system may have given the same id to somebody else.
            (Some(existing), _) if existing.email.key() != user.email.key() => {
                Imported::IdTaken(existing.email.clone())
            }
            (Some(existing), _) => match differences(existing, imported, &owners) {
                fields if fields.is_empty() => Imported::Exists,
                fields => Imported::Differs(fields),
            },
            (None, Some(_)) => Imported::EmailTaken,
            (None, None) if !is_allowed(place) => Imported::Administers(
                admin_roles[place].iter().map(|role| role.as_str().to_owned()).collect(),
            ),
            (None, None) => match taken.get(&place) {
                Some(owner) => Imported::IdentityTaken(owner.clone()),
                None => Imported::Added,
            },
        }
    };
    Ok(imported.iter().enumerate().map(outcome).collect())
}

/// The users of identities, by issuer and subject.
type Owners = HashMap<(String, String), (UserId, Email)>;

fn key_of(imported: &IdentityToImport) -> (String, String) {
    (imported.identity.issuer.clone(), imported.identity.subject.clone())
}

/// Whose the identities of these users are already.
async fn owners(doorward: &Doorward, imported: &[UserToImport]) -> Result<Owners, store::Error> {
    let identities = imported.iter().flat_map(|imported| &imported.identities);
    let keys: BTreeSet<_> = identities.map(key_of).collect();
    doorward.store().identity_owners(&keys).await
}

/// Those of these places whose users can be written, and of the others the owner of an identity of theirs. A user with identities who
/// exists is not written: the store adds identities of new users only.
async fn with_free_identities(
    doorward: &Doorward,
    imported: &[UserToImport],
    places: Vec<usize>,
    owners: &Owners,
) -> Result<(Vec<usize>, HashMap<usize, Email>), store::Error> {
    let with_identities = places.iter().map(|place| &imported[*place]);
    let with_identities = with_identities.filter(|imported| !imported.identities.is_empty());
    let keys: Vec<_> =
        with_identities.map(|imported| (imported.user.id, imported.user.email.key())).collect();
    let existing = doorward.store().users_like(&keys).await?;
    let ids: BTreeSet<UserId> = existing.iter().map(|user| user.id).collect();
    let emails: HashSet<EmailKey> = existing.iter().map(|user| user.email.key()).collect();
    let (mut owners, mut taken, mut free) = (owners.clone(), HashMap::new(), Vec::new());
    for place in places {
        let UserToImport { user, identities, .. } = &imported[place];
        let exists = ids.contains(&user.id) || emails.contains(&user.email.key());
        let keys: Vec<_> = identities.iter().map(key_of).collect();
        if exists && !keys.is_empty() {
            continue;
        }
        match keys.iter().find_map(|key| owners.get(key)) {
            Some((_, email)) => drop(taken.insert(place, email.clone())),
            None => {
                // Who comes later in the file does not get it, either.
                owners.extend(keys.into_iter().map(|key| (key, (user.id, user.email.clone()))));
                free.push(place);
            }
        }
    }
    Ok((free, taken))
}

/// The roles of a user that administer.
fn admin_roles_of(doorward: &Doorward, user: &User) -> Vec<Role> {
    let roles = user.roles.iter().filter_map(Role::parse);
    roles.filter(|role| doorward.settings().admin_roles.administers(role)).collect()
}

/// The user with what they hold besides the password.
fn with_factors(imported: &UserToImport) -> User {
    let factors = imported.totp.iter().map(|_| FactorKind::Totp).collect();
    User { factors, ..imported.user.clone() }
}

/// What users hold besides their password, as it is stored.
fn ways<'a>(doorward: &Doorward, imported: impl Iterator<Item = &'a UserToImport>) -> ImportedWays {
    let mut ways = ImportedWays::default();
    for imported in imported {
        ways.totp.extend(stored_totp(doorward, imported));
        let mut login_roles = LoginRoles::default();
        for IdentityToImport { identity, gives } in &imported.identities {
            login_roles.add(identity.id, gives);
            ways.identities.push(identity.clone());
        }
        if login_roles != LoginRoles::default() {
            ways.login_roles.push((imported.user.id, login_roles));
        }
    }
    ways
}

fn stored_totp(doorward: &Doorward, imported: &UserToImport) -> Option<StoredTotp> {
    let (secret, user_id) = (imported.totp.as_ref()?, imported.user.id);
    Some(StoredTotp {
        user_id,
        secret: doorward.factor_key().encrypt(user_id, secret.as_bytes()),
        last_step: 0,
        created_at: doorward.now(),
        last_used_at: None,
    })
}

/// The fields of the file in which two users differ. A login changes its time and the hash, so these do not count.
fn differences(existing: &User, imported: &UserToImport, owners: &Owners) -> Vec<&'static str> {
    let UserToImport { user, totp: _, identities, is_created_at_known } = imported;
    // They may have linked more since.
    let is_linked = |imported: &IdentityToImport| {
        owners.get(&key_of(imported)).is_some_and(|(owner, _)| *owner == existing.id)
    };
    let User {
        id: _,
        name,
        email,
        email_verified,
        password_hash,
        password_version: _,
        roles,
        disabled,
        created_at,
        updated_at: _,
        last_login_at: _,
        factors: _,
    } = user;
    let fields = [
        ("name", *name != existing.name),
        ("email", *email != existing.email),
        ("verified", *email_verified != existing.email_verified),
        ("hash", password_hash.is_some() != existing.password_hash.is_some()),
        ("roles", *roles != existing.roles),
        ("disabled", *disabled != existing.disabled),
        ("createdAt", *is_created_at_known && *created_at != existing.created_at),
        ("identities", !identities.iter().all(is_linked)),
    ];
    fields.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect()
}
