//! Deleting a user: the rows that `tables.rs` describes as theirs, and what refers to them in another way.

use std::sync::LazyLock;

use super::{
    Error, Store,
    effects::{Effects, add_effects},
    sessions::end_sessions,
    statements::statements,
    tables::Table,
    user_terms::delete_terms,
    users::Conditional,
    write::{StatementBatch, Write},
};
use crate::{
    clock::Timestamp,
    user::{UserId, UserVersion},
};

statements! {
    /// What the audit trail says of the user is erased after it (`erasures.rs`).
    /// It may run twice, because the outcome of a commit may be lost. Somebody may have been imported with an old id, and deleted again.
    ADD_ERASURE =
        "INSERT INTO erasures (user_id, deleted_at, due_at) VALUES ($1, $2, $2) \
         ON CONFLICT (user_id) DO UPDATE SET deleted_at = excluded.deleted_at, due_at = excluded.due_at";
    DELETE_INVITATION_TO = "DELETE FROM invitations WHERE email_key = $1";
}

/// Each deletes the rows of a table that are those of a user.
static DELETE_ROWS_OF_USER: LazyLock<Vec<String>> = LazyLock::new(|| {
    let of_table = |table: &'static Table| {
        let columns = table.columns_of_user();
        columns.map(|column| format!("DELETE FROM {} WHERE {} = $1", table.name, column.name))
    };
    Table::all().flat_map(of_table).collect()
});

/// The statements that are made from the descriptions of tables.
#[cfg(test)]
pub(super) fn made_statements() -> impl Iterator<Item = (&'static str, &'static str)> {
    DELETE_ROWS_OF_USER.iter().map(|sql| ("DELETE_ROWS_OF_USER", sql.as_str()))
}

impl Store {
    /// As [`Self::delete_user_of_version`], whatever the version is. Returns false if there is no such user.
    pub async fn delete_user(
        &self,
        id: UserId,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        Ok(self.delete_user_of_version(id, None, now, effects).await? == Conditional::Done)
    }

    /// Deletes a user with everything that is theirs, such as sessions, second factors, API keys, one-time secrets, mail in the outbox
    /// and the invitations that they have made, and with the invitation to their address, unless their record has another version.
    pub async fn delete_user_of_version(
        &self,
        id: UserId,
        version: Option<UserVersion>,
        now: Timestamp,
        effects: &Effects,
    ) -> Result<Conditional, Error> {
        let effects = effects.clone();
        self.revoke_from_user(id, Conditional::Gone, move |change_id, record| {
            if version.is_some_and(|version| record.user.version() != version) {
                return Some(Write::nothing(Conditional::Changed));
            }
            let mut batch = StatementBatch::default();
            add_effects(&mut batch, &effects);
            // Before their rows are deleted: the tokens of sessions end, too.
            end_sessions(&mut batch, id, None, change_id, now);
            delete_terms(&mut batch, &record.user);
            // The invitation to an address that is not verified may be somebody else's.
            if record.user.email_verified {
                batch.add(DELETE_INVITATION_TO, [record.user.email.key().as_str().into()]);
            }
            for sql in DELETE_ROWS_OF_USER.iter() {
                batch.add(sql, [id.into()]);
            }
            batch.add(ADD_ERASURE, [id.into(), now.into()]);
            Some(batch.returning(Conditional::Done))
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sqlite::unbounded_steps, *};

    #[test]
    fn the_rows_of_a_user_are_found_by_an_index() {
        for sql in DELETE_ROWS_OF_USER.iter() {
            assert_eq!(unbounded_steps(sql), [""; 0], "{sql}");
        }
    }
}
