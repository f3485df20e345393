//! Moving users in: batches of new users.

use std::collections::{BTreeSet, HashMap};

use super::{
    Error, Store,
    columns::user_columns,
    effects::{Effects, add_effects},
    imported_hashes::imported_hash_insertions,
    statements::{BATCH_IDS, ids, statements},
    totp_secrets::add_imported_totp,
    user_record::{user_from_row, user_values},
    user_terms::add_terms,
    users::USERS_BY_ID,
    value::{Value, email_key},
    write::{StatementBatch, Verdict},
};
use crate::{
    clock::Timestamp,
    event::{Event, EventId, EventKind},
    user::{EmailKey, StoredTotp, User, UserId},
};

statements! {
    USERS_BY_EMAIL =
        concat!("SELECT ", user_columns!("u."), " FROM users u WHERE u.email_key IN ", ids!());
    ADD_USER_IF_FREE = concat!(
        "INSERT INTO users (", user_columns!(""), ", email_key) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING"
    );
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
    /// Records their password hashes as imported, and adds their authenticator apps. `events` are those of each user, and happen if the
    /// user is added. Changes nothing if none is added.
    pub async fn import_users(
        &self,
        users: Vec<User>,
        totp: Vec<StoredTotp>,
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
            totp.iter().for_each(|totp| add_imported_totp(&mut batch, totp));
            add_effects(&mut batch, &effects);
            let write = batch.deciding(move |rows| {
                let added: Vec<_> = added.iter().map(|row| rows.of(*row) > 0).collect();
                if added.contains(&true) {
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
