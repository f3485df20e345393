//! Moving users in: batches of new users.

use std::collections::{BTreeSet, HashMap};

use super::{
    Error, Store,
    columns::user_columns,
    effects::{Effects, add_effects},
    identities::{add_imported_identity, set_imported_login_roles},
    imported_hashes::imported_hash_insertions,
    statements::{BATCH_IDS, ids, statements},
    totp_secrets::add_imported_totp,
    user_record::{user_from_row, user_values},
    user_terms::add_terms,
    users::USERS_BY_ID,
    value::{Value, email_key},
    write::{RowCount, StatementBatch, Verdict},
};
use crate::{
    clock::Timestamp,
    event::{Event, EventId, EventKind},
    user::{EmailKey, Identity, LoginRoles, StoredTotp, User, UserId},
};

statements! {
    USERS_BY_EMAIL =
        concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.email_key IN ", ids!());
    ADD_USER_IF_FREE = concat!(
        "INSERT INTO users (", user_columns!(""), ", email_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING"
    );
}

/// What users are imported with besides their password.
#[derive(Clone, Default)]
pub struct ImportedWays {
    pub totp: Vec<StoredTotp>,
    pub identities: Vec<Identity>,
    /// Which roles of somebody are those of their identities.
    pub login_roles: Vec<(UserId, LoginRoles)>,
}

impl Store {
    /// The stored users that have the id or the address of one of these.
    pub async fn users_like(&self, users: &[(UserId, EmailKey)]) -> Result<Vec<User>, Error> {
        let mut found = Vec::new();
        for users in users.chunks(BATCH_IDS) {
            // The statements have a fixed number of parameters, so values repeat.
            let repeated = || users.iter().cycle().take(BATCH_IDS);
            let ids: Vec<Value> = repeated().map(|(id, _)| (*id).into()).collect();
            let emails: Vec<Value> = repeated().map(|(_, email)| email_key(email)).collect();
            let (by_id, by_email) =
                tokio::join!(self.read(USERS_BY_ID, ids), self.read(USERS_BY_EMAIL, emails));
            let mut seen: BTreeSet<UserId> = BTreeSet::new();
            for row in by_id?.iter().chain(&by_email?) {
                let user = user_from_row(row, 0)?;
                if seen.insert(user.id) {
                    found.push(user);
                }
            }
        }
        Ok(found)
    }

    /// Adds users in one transaction, except for those whose id or address is taken. Returns for each whether it was added.
    /// Records their password hashes as imported, and adds their authenticator apps and identities. `events` are those of each user, and
    /// happen if the user is added. Changes nothing if none is added.
    ///
    /// # Errors
    /// [`Error::Unavailable`] if a user with an identity, or the identity, is there already. Nothing is changed then.
    pub async fn import_users(
        &self,
        users: Vec<User>,
        ways: ImportedWays,
        events: Vec<Vec<Event>>,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<Vec<bool>, Error> {
        let mut effects = effects.clone();
        let mut places = HashMap::<EventId, usize>::new();
        for (place, events) in events.into_iter().enumerate() {
            places.extend(events.iter().map(|event| (event.id, place)));
            effects.events.extend(events);
        }
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let add = |user: &User| batch.add(ADD_USER_IF_FREE, user_values(user));
            let added: Vec<_> = users.iter().map(add).collect();
            users.iter().for_each(|user| batch.gives(&user.roles));
            users.iter().for_each(|user| add_terms(&mut batch, user));
            for (sql, values) in imported_hash_insertions(users.iter().map(|user| (user, now))) {
                batch.add(sql, values);
            }
            ways.totp.iter().for_each(|totp| add_imported_totp(&mut batch, totp));
            let add = |identity: &Identity| {
                let user = users.iter().position(|user| user.id == identity.user_id);
                (user, add_imported_identity(&mut batch, identity))
            };
            let linked: Vec<_> = ways.identities.iter().map(add).collect();
            for (user, roles) in &ways.login_roles {
                set_imported_login_roles(&mut batch, *user, roles);
            }
            add_effects(&mut batch, &effects);
            let write = batch.deciding(move |rows| {
                let added: Vec<_> = added.iter().map(|row| rows.of(*row) > 0).collect();
                let is_linked = |(user, row): &(Option<usize>, RowCount)| {
                    user.is_some_and(|user| added[user]) && rows.of(*row) > 0
                };
                if !linked.iter().all(is_linked) {
                    let cause = "somebody else has just got an identity of an imported user";
                    Verdict::Fail(Error::Unavailable(cause.into()))
                } else if added.contains(&true) {
                    Verdict::Commit(added)
                } else {
                    Verdict::RollBack(added)
                }
            });
            let places = places.clone();
            write.choose_events(move |added, event| {
                if let EventKind::UsersImported { count } = &mut event.kind {
                    *count = Some(added.iter().filter(|added| **added).count());
                }
                places.get(&event.id).is_none_or(|place| added[*place])
            })
        })
        .await
    }
}
