//! The end of the retention of events: a row goes, its hash stays, and its tile says that it was pruned.

use std::{collections::BTreeMap, sync::Arc};

use super::{
    Error, Store,
    audit::sql_number,
    effects::{Effects, add_effects},
    statements::statements,
    value::{Value, sql_limit},
    write::{StatementBatch, Verdict},
};
use crate::{
    audit::{PrunedMarks, TILE_WIDTH, TileId},
    clock::Timestamp,
    event::EventId,
};

statements! {
    EXPIRED_EVENTS =
        "SELECT id, number FROM audit_events WHERE kind = $1 AND id < $2 AND number IS NOT NULL ORDER BY id LIMIT $3";
    DELETE_EVENT = "DELETE FROM audit_events WHERE id = $1 AND number = $2";
    PRUNED_OF_TILE = "SELECT pruned FROM audit_tiles WHERE path = $1";
    MARK_TILE = "UPDATE audit_tiles SET pruned = $2 WHERE path = $1 AND pruned IS NULL";
    PRUNED_TILES =
        "SELECT path, pruned FROM audit_tiles WHERE path > $1 AND pruned IS NOT NULL ORDER BY path LIMIT $2";
    /// Of two instances that have read the same marks, one changes them.
    MARK_TILE_AGAIN = "UPDATE audit_tiles SET pruned = $2 WHERE path = $1 AND pruned = $3";
}

impl Store {
    /// The oldest events of a kind from before this time that have a place in the tree.
    pub async fn expired_events(
        &self,
        kind: &'static str,
        before: Timestamp,
        limit: usize,
    ) -> Result<Vec<(EventId, u64)>, Error> {
        let values = [kind.into(), EventId::first_at(before).into(), sql_limit(limit)];
        let rows = self.read(EXPIRED_EVENTS, values).await?;
        let event = |row: &super::row::Row| {
            Ok((row.get(0)?, u64::try_from(row.get::<i64>(1)?).unwrap_or(0)))
        };
        rows.iter().map(event).collect()
    }

    /// Marks pruned events again with the current key, because the former one is lost.
    pub async fn mark_pruned_anew(&self) -> Result<(), Error> {
        const BATCH: usize = 1000;
        let mut after = String::new();
        loop {
            let rows = self.read(PRUNED_TILES, [after.into(), sql_limit(BATCH)]).await?;
            let mut tiles: Vec<(String, Vec<u8>)> = Vec::with_capacity(rows.len());
            for row in &rows {
                tiles.push((row.get(0)?, row.get(1)?));
            }
            let Some((last, _)) = tiles.last() else { return Ok(()) };
            after = last.clone();
            let key = Arc::clone(self.audit_key());
            self.write_uncached(move || {
                let mut batch = StatementBatch::default();
                for (path, stored) in &tiles {
                    // What is no mark stays, and a verification names it.
                    if let Some(anew) = PrunedMarks::marked_anew(path, stored, &key) {
                        let values = [path.clone().into(), anew.into(), stored.clone().into()];
                        batch.add(MARK_TILE_AGAIN, values);
                    }
                }
                batch.returning(())
            })
            .await?;
        }
    }

    /// Deletes events and marks them as pruned, in one transaction. Returns false if another instance prunes.
    pub async fn delete_events(
        &self,
        events: Vec<(EventId, u64)>,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let effects = effects.clone();
        let mut tiles = BTreeMap::<TileId, Vec<u64>>::new();
        for (_, number) in &events {
            let tile = TileId { level: 0, index: number / TILE_WIDTH as u64 };
            tiles.entry(tile).or_default().push(*number);
        }
        let mut marks: Vec<(&'static str, Vec<Value>)> = Vec::new();
        for (tile, numbers) in tiles {
            let rows = self.read(PRUNED_OF_TILE, [tile.path().into()]).await?;
            let stored: Option<Vec<u8>> = rows.first().map_or(Ok(None), |row| row.get(0))?;
            // What somebody else has written does not count: a verification says so.
            let mut pruned = PrunedMarks::read(tile, stored.as_deref(), self.audit_key())
                .unwrap_or(PrunedMarks::NONE);
            numbers.iter().for_each(|number| pruned.add(*number));
            let path = Value::from(tile.path());
            let bytes = Value::from(pruned.to_bytes(tile, self.audit_key()));
            marks.push(match stored {
                None => (MARK_TILE, vec![path, bytes]),
                Some(stored) => (MARK_TILE_AGAIN, vec![path, bytes, stored.into()]),
            });
        }
        self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            let marked: Vec<_> =
                marks.iter().map(|(sql, values)| batch.add(sql, values.clone())).collect();
            for (id, number) in &events {
                batch.add(DELETE_EVENT, [(*id).into(), sql_number(*number).into()]);
            }
            add_effects(&mut batch, &effects);
            batch.deciding(move |rows| match marked.iter().all(|tile| rows.of(*tile) == 1) {
                true => Verdict::Commit(true),
                false => Verdict::RollBack(false),
            })
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::{super::sqlite::unbounded_steps, *};

    #[test]
    fn every_query_of_pruning_follows_an_index_and_sorts_nothing() {
        for (name, sql) in STATEMENTS {
            assert_eq!(unbounded_steps(sql), [""; 0], "{name}");
        }
    }
}
