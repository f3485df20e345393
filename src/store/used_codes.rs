//! Codes and challenges that have been used: the table `used_codes`.

use super::{
    Error, Store,
    effects::{Effects, add_effects},
    statements::statements,
    write::{StatementBatch, Verdict},
};
use crate::{clock::Timestamp, token::cookie::CodeId};

statements! {
    USE_CODE =
        "INSERT INTO used_codes (id, expires_at) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING";
    DELETE_EXPIRED_USED_CODES =
        "DELETE FROM used_codes WHERE id IN (SELECT id FROM used_codes WHERE expires_at <= $1 LIMIT $2)";
}

impl Store {
    /// Records the use of a sign-in code, which expires at this time. Returns false if it has been used before.
    pub async fn use_code(
        &self,
        id: CodeId,
        expires_at: Timestamp,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            add_effects(&mut batch, &effects);
            let added = batch.add(USE_CODE, [id.into(), expires_at.into()]);
            batch.deciding(move |rows| {
                if rows.of(added) > 0 { Verdict::Commit(true) } else { Verdict::RollBack(false) }
            })
        })
        .await
    }
}
