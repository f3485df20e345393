//! Searching users: the tables `user_terms` and `user_terms_check`.
//!
//! `user_terms` has a row for each term of each user, in the order in which a search reads them. Every change of a user changes the
//! rows in its transaction. What is not there yet is added by a check of all users, once a day: the terms of users who were there
//! before the tables, were restored, or were added by an older version.

use std::{collections::BTreeSet, time::Duration};

use super::{
    Error, Store,
    columns::{USER_COLUMN_COUNT, user_columns},
    statements::statements,
    user_record::user_from_row,
    value::{Value, email_key, sql_limit},
    write::{StatementBatch, Verdict, Write},
};
use crate::{
    clock::Timestamp,
    user::{EmailKey, User},
};

statements! {
    /// The terms $3 and the following of the user $1, if they have the address $2.
    ADD_TERMS =
        "INSERT INTO user_terms (place, email_key) \
         SELECT t.term || ' ' || u.email_key, u.email_key FROM (\
         SELECT CAST($3 AS TEXT) AS term UNION SELECT CAST($4 AS TEXT) UNION SELECT CAST($5 AS TEXT) UNION \
         SELECT CAST($6 AS TEXT) UNION SELECT CAST($7 AS TEXT) UNION SELECT CAST($8 AS TEXT)) t, users u \
         WHERE u.id = $1 AND u.email_key = $2 ON CONFLICT (place) DO NOTHING";
    DELETE_TERMS = "DELETE FROM user_terms WHERE place IN ($1, $2, $3, $4, $5, $6)";
    DELETE_ALL_TERMS = "DELETE FROM user_terms WHERE email_key = $1";
    /// Up to $3 rows after the place $1 and before $2.
    USERS_BY_TERM = concat!(
        "SELECT ", user_columns!("u."), ", t.place FROM user_terms t JOIN users u ON u.email_key = t.email_key \
         WHERE t.place > $1 AND t.place < $2 ORDER BY t.place LIMIT $3"
    );
    TERMS_CHECK = "SELECT checked_until, due_at FROM user_terms_check WHERE id = 1";
    BEGIN_TERMS_CHECK =
        "INSERT INTO user_terms_check (id, checked_until, due_at) VALUES (1, '', 0) ON CONFLICT (id) DO NOTHING";
    /// Goes on from $1, unless another instance has.
    CONTINUE_TERMS_CHECK =
        "UPDATE user_terms_check SET checked_until = $2, due_at = $3 WHERE id = 1 AND checked_until = $1";
}

/// The number of terms in a statement.
const TERMS: usize = 6;

impl Store {
    /// Up to `limit` users with terms between two places, each with the place of the term.
    pub async fn users_by_term(
        &self,
        after: &str,
        end: &str,
        limit: usize,
    ) -> Result<Vec<(String, User)>, Error> {
        let rows = self.read(USERS_BY_TERM, [after.into(), end.into(), sql_limit(limit)]).await?;
        rows.iter().map(|row| Ok((row.get(USER_COLUMN_COUNT)?, user_from_row(row, 0)?))).collect()
    }

    /// Whether a check has seen all users. Until then, searches find fewer.
    pub async fn has_all_terms(&self) -> Result<bool, Error> {
        let rows = self.read(TERMS_CHECK, []).await?;
        let due_at = rows.first().map(|row| row.get::<i64>(1)).transpose()?;
        Ok(due_at.is_some_and(|due_at| due_at > 0))
    }

    /// Adds the missing terms of the next `limit` users, if a check is due. Returns whether there is more to do.
    pub async fn check_terms(&self, now: Timestamp, limit: usize) -> Result<bool, Error> {
        const INTERVAL: Duration = Duration::from_secs(24 * 60 * 60);
        let rows = self.read(TERMS_CHECK, []).await?;
        let Some(row) = rows.first() else {
            self.write_uncached(|| Write::statement(BEGIN_TERMS_CHECK, [], ())).await?;
            return Ok(true);
        };
        let (from, due_at) = (row.get::<String>(0)?, row.get::<Timestamp>(1)?);
        if due_at > now {
            return Ok(false);
        }
        let users = self.users(Some(&EmailKey::of(&from)), limit).await?;
        let last = users.last().filter(|_| users.len() == limit);
        let has_more = last.is_some();
        let (until, due_at) = match last {
            Some(last) => (last.email.key().as_str().to_owned(), due_at),
            None => (String::new(), now + INTERVAL),
        };
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            users.iter().for_each(|user| add_terms(&mut batch, user));
            let values = [from.as_str().into(), until.as_str().into(), due_at.into()];
            let continued = batch.add(CONTINUE_TERMS_CHECK, values);
            batch.deciding(move |rows| match rows.of(continued) {
                0 => Verdict::RollBack(true),
                _ => Verdict::Commit(has_more),
            })
        })
        .await
    }
}

/// Adds the terms of a user, whose row has been written.
pub(super) fn add_terms(batch: &mut StatementBatch, user: &User) {
    insert(batch, user, user.search_terms());
}

/// Removes the terms of a user, those of an earlier name as well.
pub(super) fn delete_terms(batch: &mut StatementBatch, user: &User) {
    batch.add(DELETE_ALL_TERMS, [email_key(&user.email.key())]);
}

/// Replaces the terms of a user, whose row has been written.
pub(super) fn change_terms(batch: &mut StatementBatch, before: &User, after: &User) {
    let (old, new) = (before.search_terms(), after.search_terms());
    if before.email.key() == after.email.key() {
        delete(batch, before, &old - &new);
        insert(batch, after, &new - &old);
    } else {
        delete_terms(batch, before);
        insert(batch, after, new);
    }
}

fn insert(batch: &mut StatementBatch, user: &User, terms: BTreeSet<String>) {
    for terms in groups(terms) {
        let user = [user.id.into(), email_key(&user.email.key())];
        batch.add(ADD_TERMS, user.into_iter().chain(terms).collect::<Vec<_>>());
    }
}

fn delete(batch: &mut StatementBatch, user: &User, terms: BTreeSet<String>) {
    let key = user.email.key();
    let places = terms.into_iter().map(|term| format!("{term} {}", key.as_str())).collect();
    for places in groups(places) {
        batch.add(DELETE_TERMS, places);
    }
}

/// The terms in groups for one statement each. The last one is filled up with repetitions.
fn groups(terms: BTreeSet<String>) -> Vec<Vec<Value>> {
    let terms: Vec<_> = terms.into_iter().collect();
    let group = |terms: &[String]| {
        terms.iter().cycle().take(TERMS).map(|term| term.as_str().into()).collect()
    };
    terms.chunks(TERMS).map(group).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::sqlite::unbounded_steps, *};

    /// With a million users, a page must not read all of them.
    #[test]
    fn a_search_reads_only_the_terms_of_its_range() {
        for sql in [USERS_BY_TERM, DELETE_TERMS, DELETE_ALL_TERMS] {
            assert_eq!(unbounded_steps(sql), [""; 0], "{sql}");
        }
    }
}
