//! Adding the users of another system. A user who exists already is never changed.

use std::collections::HashMap;

use crate::{
    Doorward, store,
    user::{EmailKey, User, UserId},
};

/// What came of a user who was to be imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Imported {
    /// The user was added, or would be.
    Added,
    /// The user exists.
    Exists,
    /// A user with this id exists and has other values in these fields.
    Differs(Vec<&'static str>),
    /// Another user has the address.
    EmailTaken,
}

/// Adds users, or only finds out what would come of them.
pub(crate) async fn import(
    doorward: &Doorward,
    users: Vec<User>,
    only_check: bool,
) -> Result<Vec<Imported>, store::Error> {
    let added = if only_check {
        vec![false; users.len()]
    } else {
        let added = doorward.store().import_users(users.clone(), doorward.now()).await?;
        let count = added.iter().filter(|added| **added).count();
        tracing::info!(users = count, "users imported by the operator");
        doorward.read_foreign_hashes().await?;
        added
    };
    let others = users.iter().zip(&added).filter(|(_, added)| !**added);
    let keys: Vec<_> = others.map(|(user, _)| (user.id, user.email.key())).collect();
    let existing = doorward.store().users_like(&keys).await?;
    let by_id: HashMap<UserId, &User> = existing.iter().map(|user| (user.id, user)).collect();
    let by_email: HashMap<EmailKey, &User> =
        existing.iter().map(|user| (user.email.key(), user)).collect();
    let outcome = |(user, added): (&User, &bool)| {
        if *added {
            return Imported::Added;
        }
        match (by_id.get(&user.id), by_email.get(&user.email.key())) {
            (Some(existing), _) => match differences(existing, user) {
                fields if fields.is_empty() => Imported::Exists,
                fields => Imported::Differs(fields),
            },
            (None, Some(_)) => Imported::EmailTaken,
            (None, None) => Imported::Added,
        }
    };
    Ok(users.iter().zip(&added).map(outcome).collect())
}

/// The fields of the file in which two users differ. A login changes its time and the hash, so these do not count.
fn differences(existing: &User, imported: &User) -> Vec<&'static str> {
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
    } = imported;
    let fields = [
        ("name", *name != existing.name),
        ("email", *email != existing.email),
        ("verified", *email_verified != existing.email_verified),
        ("hash", password_hash.is_some() != existing.password_hash.is_some()),
        ("roles", *roles != existing.roles),
        ("disabled", *disabled != existing.disabled),
        ("createdAt", *created_at != existing.created_at),
    ];
    fields.iter().filter(|(_, differs)| *differs).map(|(name, _)| *name).collect()
}
