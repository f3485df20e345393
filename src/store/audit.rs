//! The audit trail: the tables `audit_events`, `audit_tiles`, `audit_tree` and `audit_days`. An event is a row of the transaction that
//! it tells of. It gets its place in the tree later, from one instance at a time.

use std::collections::BTreeMap;

use uuid::Uuid;

use super::{
    Effects, Error, Store,
    archive::Snapshot,
    effects::add_effects,
    recorded_event::{StoredEvent, event_from_row},
    row::Row,
    statements::statements,
    value::{Value, sql_limit},
    write::{StatementBatch, Verdict},
};
use crate::{
    audit::{Hash, SignedCheckpoint, StoredTile, TileId, Tiles, TreeRow, growing_tiles},
    clock::Timestamp,
    event::{Event, EventId},
    id::Id,
    user::UserId,
};

/// What every query of events begins with.
macro_rules! event_query {
    () => {
        concat!("SELECT ", $crate::store::columns::event_columns!(), " FROM audit_events ")
    };
}

/// A page of events whose ids are at least $1 and below $2: the last ones, or the first ones.
macro_rules! events {
    ($condition:literal, $order:literal) => {
        concat!(
            event_query!(),
            "WHERE id >= $1 AND id < $2",
            $condition,
            " ORDER BY ",
            $order,
            " LIMIT $3"
        )
    };
}

statements! {
    NEWEST_EVENTS = events!("", "id DESC");
    OLDEST_EVENTS = events!("", "id");
    NEWEST_OF_KIND = events!(" AND kind = $4", "id DESC");
    OLDEST_OF_KIND = events!(" AND kind = $4", "id");
    NEWEST_ABOUT = events!(" AND subject_id = $4", "id DESC");
    OLDEST_ABOUT = events!(" AND subject_id = $4", "id");
    NEWEST_BY = events!(" AND actor_id = $4", "id DESC");
    OLDEST_BY = events!(" AND actor_id = $4", "id");
    NEWEST_ABOUT_OF_KIND = events!(" AND subject_id = $4 AND kind = $5", "id DESC");
    OLDEST_ABOUT_OF_KIND = events!(" AND subject_id = $4 AND kind = $5", "id");
    NEWEST_BY_OF_KIND = events!(" AND actor_id = $4 AND kind = $5", "id DESC");
    OLDEST_BY_OF_KIND = events!(" AND actor_id = $4 AND kind = $5", "id");
    EVENT_BY_ID =
        concat!(event_query!(), "WHERE id = $1");
    /// The order names `number`, which is null in every row, because the index starts with it.
    UNNUMBERED_EVENTS =
        concat!(event_query!(), "WHERE number IS NULL AND id > $1 ORDER BY number, id LIMIT $2");
    NUMBERED_EVENTS =
        concat!(event_query!(), "WHERE (number, id) > ($1, $2) ORDER BY number, id LIMIT $3");
    NUMBER_EVENT = "UPDATE audit_events SET number = $2 WHERE id = $1 AND number IS NULL";
    TREE = "SELECT size, hash, checkpoint FROM audit_tree WHERE log = $1";
    ADD_TREE =
        "INSERT INTO audit_tree (log, size, hash, checkpoint) VALUES ($1, $2, $3, $4) ON CONFLICT (log) DO NOTHING";
    /// Of two instances that have read the same size, one changes a row.
    GROW_TREE = "UPDATE audit_tree SET size = $3, hash = $4 WHERE log = $1 AND size = $2";
    SET_CHECKPOINT = "UPDATE audit_tree SET checkpoint = $2 WHERE log = $1";
    TILE = "SELECT hashes, pruned FROM audit_tiles WHERE path = $1";
    TILE_PATHS = "SELECT path FROM audit_tiles WHERE path > $1 ORDER BY path LIMIT $2";
    SET_TILE =
        "INSERT INTO audit_tiles (path, hashes) VALUES ($1, $2) ON CONFLICT (path) DO UPDATE SET hashes = excluded.hashes";
    ADD_TO_DAY =
        "INSERT INTO audit_days (day_and_kind, count) VALUES ($1, $2) \
         ON CONFLICT (day_and_kind) DO UPDATE SET count = audit_days.count + excluded.count";
    DAYS = "SELECT day_and_kind, count FROM audit_days WHERE day_and_kind >= $1 ORDER BY day_and_kind";
}

/// The tree of this installation, in the column `log`.
const OWN: &str = "own";

/// How many events get a place in the tree in one transaction.
const BATCH: usize = 500;

/// The state of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredTree {
    /// How many events have a place in it.
    pub size: u64,
    pub root: Hash,
    /// The latest one that was signed.
    pub checkpoint: Option<SignedCheckpoint>,
}

impl Default for StoredTree {
    fn default() -> Self {
        let root = Tiles::default().root(0).expect("an empty tree has a root");
        Self { size: 0, root, checkpoint: None }
    }
}

/// Which events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// At this time or later.
    pub from: Option<Timestamp>,
    /// Before this time.
    pub to: Option<Timestamp>,
    /// That concern this user, or that they have caused.
    pub user: Option<UserId>,
    pub kind: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventOrder {
    NewestFirst,
    OldestFirst,
}

impl Store {
    /// Stores events that no other write stores: of what was refused, and of what has changed elsewhere.
    pub async fn record(&self, events: Vec<Event>) -> Result<(), Error> {
        if events.is_empty() {
            return Ok(());
        }
        // Nothing is changed, so nobody needs a right to it: whoever caused an event may have lost theirs since.
        let events = events.into_iter().map(|event| Event { authority: None, ..event }).collect();
        let effects = Effects { events, ..Effects::NONE };
        self.write_published(move || {
            let mut batch = StatementBatch::default();
            add_effects(&mut batch, &effects);
            batch.returning(())
        })
        .await
    }

    /// Up to `limit` events after `after` in this order.
    pub async fn audit_events(
        &self,
        filter: &AuditFilter,
        order: EventOrder,
        after: Option<EventId>,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        let mut from = filter.from.map_or(Uuid::nil(), |from| EventId::first_at(from).uuid());
        let mut to = filter.to.map_or(Uuid::max(), |to| EventId::first_at(to).uuid());
        if let Some(after) = after {
            match order {
                EventOrder::NewestFirst => to = to.min(after.uuid()),
                // The next id.
                EventOrder::OldestFirst => {
                    from = from.max(Uuid::from_u128(after.uuid().as_u128() + 1));
                }
            }
        }
        let is_newest = order == EventOrder::NewestFirst;
        let page = || vec![from.into(), to.into(), sql_limit(limit)];
        let choose = |newest, oldest| if is_newest { newest } else { oldest };
        let queries: Vec<(&'static str, Vec<Value>)> = match (filter.user, &filter.kind) {
            (None, None) => vec![(choose(NEWEST_EVENTS, OLDEST_EVENTS), page())],
            (None, Some(kind)) => {
                let values = [page(), vec![kind.as_str().into()]].concat();
                vec![(choose(NEWEST_OF_KIND, OLDEST_OF_KIND), values)]
            }
            (Some(user), None) => {
                let values = [page(), vec![user.into()]].concat();
                let (about, by) =
                    (choose(NEWEST_ABOUT, OLDEST_ABOUT), choose(NEWEST_BY, OLDEST_BY));
                vec![(about, values.clone()), (by, values)]
            }
            (Some(user), Some(kind)) => {
                let values = [page(), vec![user.into(), kind.as_str().into()]].concat();
                let about = choose(NEWEST_ABOUT_OF_KIND, OLDEST_ABOUT_OF_KIND);
                let by = choose(NEWEST_BY_OF_KIND, OLDEST_BY_OF_KIND);
                vec![(about, values.clone()), (by, values)]
            }
        };
        let mut found = Vec::new();
        for (sql, values) in queries {
            for row in self.read(sql, values).await? {
                found.push(event_from_row(&row)?);
            }
        }
        found.sort_by_key(|event| event.id);
        if is_newest {
            found.reverse();
        }
        found.truncate(limit);
        self.hide_erased(found).await
    }

    /// Events that concern a user, the newest first, from the first one after `after`.
    pub async fn events_about(
        &self,
        user: UserId,
        after: Option<EventId>,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        let to = after.map_or(Uuid::max(), EventId::uuid);
        let values = [Uuid::nil().into(), to.into(), sql_limit(limit), user.into()];
        let rows = self.read(NEWEST_ABOUT, values).await?;
        let events = rows.iter().map(event_from_row).collect::<Result<_, _>>()?;
        self.hide_erased(events).await
    }

    pub async fn audit_event(&self, id: EventId) -> Result<Option<StoredEvent>, Error> {
        self.read(EVENT_BY_ID, [id.into()]).await?.first().map(event_from_row).transpose()
    }

    /// The state of the tree.
    pub async fn audit_tree(&self) -> Result<StoredTree, Error> {
        let rows = self.read(TREE, [OWN.into()]).await?;
        Ok(rows.first().map(tree_from_row).transpose()?.unwrap_or_default())
    }

    /// The latest checkpoint of another log that this installation has cosigned.
    pub async fn witnessed(&self, origin: &str) -> Result<Option<StoredTree>, Error> {
        let rows = self.read(TREE, [witnessed_log(origin).into()]).await?;
        rows.first().map(tree_from_row).transpose()
    }

    /// Stores that a checkpoint of another log is cosigned, if that of `old` entries is still the latest one. Returns false if it is
    /// not.
    pub async fn witness(&self, old: u64, signed: &SignedCheckpoint) -> Result<bool, Error> {
        let signed = signed.clone();
        let old = sql_number(old);
        self.write_uncached(move || {
            let log = witnessed_log(&signed.checkpoint.origin);
            let (size, root) = (sql_number(signed.checkpoint.size), signed.checkpoint.root);
            let mut batch = StatementBatch::default();
            let first =
                [log.as_str().into(), 0.into(), root.to_vec().into(), None::<String>.into()];
            batch.add(ADD_TREE, first);
            let values = [log.as_str().into(), old.into(), size.into(), root.to_vec().into()];
            let grown = batch.add(GROW_TREE, values);
            batch.add(SET_CHECKPOINT, [log.into(), signed.to_string().into()]);
            batch.deciding(move |rows| match rows.of(grown) {
                0 => Verdict::RollBack(false),
                _ => Verdict::Commit(true),
            })
        })
        .await
    }

    /// Gives a place in the tree to a batch of the events that have none. Returns how many they were.
    pub async fn number_events(&self) -> Result<usize, Error> {
        let tree = self.audit_tree().await?;
        let rows = self.read(UNNUMBERED_EVENTS, [Uuid::nil().into(), sql_limit(BATCH)]).await?;
        let events = rows.iter().map(event_from_row).collect::<Result<Vec<_>, _>>()?;
        if events.is_empty() {
            return Ok(0);
        }
        let mut tiles = self.tiles(growing_tiles(tree.size)).await?;
        let leaves: Vec<_> = events.iter().map(|event| event.entry().leaf()).collect();
        let changed = tiles.append(tree.size, &leaves);
        let size = tree.size + leaves.len() as u64;
        let root = tiles.root(size).ok_or_else(|| damaged("a tile of the tree is missing"))?;
        let count = events.len();
        let days = days_of(&events);
        let ids: Vec<_> =
            (tree.size..).zip(&events).map(|(number, event)| (event.id, number)).collect();
        let is_first = tree.size == 0;
        let was_numbered = self.write_uncached(move || {
            let mut batch = StatementBatch::default();
            if is_first {
                let empty = StoredTree::default().root.to_vec();
                batch.add(ADD_TREE, [OWN.into(), 0.into(), empty.into(), None::<String>.into()]);
            }
            let old = sql_number(tree.size);
            // First, so that another instance waits for it.
            let grown = [OWN.into(), old.into(), sql_number(size).into(), root.to_vec().into()];
            let mut changes = vec![batch.add(GROW_TREE, grown)];
            for (id, number) in &ids {
                changes.push(batch.add(NUMBER_EVENT, [(*id).into(), sql_number(*number).into()]));
            }
            for id in &changed {
                let hashes = tiles.hashes(*id).concat();
                batch.add(SET_TILE, [id.path().into(), hashes.into()]);
            }
            for (day, count) in &days {
                batch.add(ADD_TO_DAY, [day.as_str().into(), sql_number(*count).into()]);
            }
            batch.deciding(move |rows| {
                match changes.iter().all(|change| rows.of(*change) == 1) {
                    true => Verdict::Commit(true),
                    // Another instance has numbered them.
                    false => Verdict::RollBack(false),
                }
            })
        });
        was_numbered.await?;
        Ok(count)
    }

    /// These tiles of the tree, as far as they exist.
    pub async fn tiles(
        &self,
        ids: impl IntoIterator<Item = TileId> + Send,
    ) -> Result<Tiles, Error> {
        let mut tiles = Tiles::default();
        for id in ids.into_iter().collect::<Vec<_>>() {
            for row in self.read(TILE, [id.path().into()]).await? {
                if !tiles.add(id, row.get(0)?) {
                    return Err(damaged("a tile of the tree is not made of hashes"));
                }
            }
        }
        Ok(tiles)
    }

    /// Stores the latest checkpoint of this installation.
    pub async fn set_checkpoint(&self, checkpoint: &SignedCheckpoint) -> Result<(), Error> {
        let text = checkpoint.to_string();
        self.write_uncached(move || {
            let values = [OWN.into(), text.as_str().into()];
            StatementBatch::default().with(SET_CHECKPOINT, values).returning(())
        })
        .await
    }

    /// How many events of each kind there were on each day from this one on, by day and kind.
    pub async fn audit_days(&self, from: &str) -> Result<BTreeMap<(String, String), u64>, Error> {
        let rows = self.read(DAYS, [from.into()]).await?;
        let count = |row: &Row| {
            let (day, kind) =
                row.get::<&str>(0)?.split_once(' ').ok_or_else(|| damaged("a day"))?;
            let key = (day.to_owned(), kind.to_owned());
            Ok((key, u64::try_from(row.get::<i64>(1)?).unwrap_or(0)))
        };
        rows.iter().map(count).collect()
    }
}

/// The trail at one moment, for its verification.
impl Snapshot {
    /// The state of the tree as it is stored, whatever was done to it.
    pub async fn audit_tree(&self) -> Result<Option<TreeRow>, Error> {
        let rows = self.reader.read(TREE, vec![OWN.into()]).await?;
        let tree = |row: &Row| {
            Ok(TreeRow {
                size: u64::try_from(row.get::<i64>(0)?).unwrap_or(0),
                root: row.get::<&[u8]>(1)?.try_into().ok(),
                checkpoint: row.get(2)?,
            })
        };
        rows.first().map(tree).transpose()
    }

    /// A tile as it is stored.
    pub async fn tile(&self, id: TileId) -> Result<Option<StoredTile>, Error> {
        let rows = self.reader.read(TILE, vec![id.path().into()]).await?;
        let tile = |row: &Row| Ok(StoredTile { hashes: row.get(0)?, pruned: row.get(1)? });
        rows.first().map(tile).transpose()
    }

    /// The paths of tiles after this one, in their order.
    pub async fn tile_paths(&self, after: &str, limit: usize) -> Result<Vec<String>, Error> {
        let rows = self.reader.read(TILE_PATHS, vec![after.into(), sql_limit(limit)]).await?;
        rows.iter().map(|row| row.get(0)).collect()
    }

    /// Events with a number after this one and id, in the order of their numbers, each with its number as it is stored.
    pub async fn numbered_events(
        &self,
        after: Option<(i64, EventId)>,
        limit: usize,
    ) -> Result<Vec<(i64, StoredEvent)>, Error> {
        let (number, id) =
            after.map_or((i64::MIN, Uuid::nil()), |(number, id)| (number, id.uuid()));
        let values = vec![number.into(), id.into(), sql_limit(limit)];
        let rows = self.reader.read(NUMBERED_EVENTS, values).await?;
        rows.iter().map(|row| Ok((row.get(1)?, event_from_row(row)?))).collect()
    }

    /// Events without a number after this one.
    pub async fn unnumbered_events(
        &self,
        after: Option<EventId>,
        limit: usize,
    ) -> Result<Vec<StoredEvent>, Error> {
        let after = after.map_or(Uuid::nil(), EventId::uuid);
        let rows =
            self.reader.read(UNNUMBERED_EVENTS, vec![after.into(), sql_limit(limit)]).await?;
        rows.iter().map(event_from_row).collect()
    }
}

/// How many events of each kind there are on each day. Those that were left out count as well.
fn days_of(events: &[StoredEvent]) -> BTreeMap<String, u64> {
    let mut days = BTreeMap::new();
    for event in events {
        let day = event.id.time().to_day();
        *days.entry(format!("{day} {}", event.kind)).or_default() += 1;
        let record = event.entry().record();
        let left_out = record.as_ref().and_then(|record| record.details.get("counts")?.as_object());
        for (kind, count) in left_out.into_iter().flatten() {
            *days.entry(format!("{day} {kind}")).or_default() += count.as_u64().unwrap_or(0);
        }
    }
    days
}

/// The column `log` of another log. An origin cannot be mistaken for the own tree.
fn witnessed_log(origin: &str) -> String {
    format!("witnessed {origin}")
}

fn tree_from_row(row: &Row) -> Result<StoredTree, Error> {
    let number = |column| row.get::<i64>(column).map(|number| u64::try_from(number).unwrap_or(0));
    let root = Hash::try_from(row.get::<&[u8]>(1)?);
    let checkpoint = row.get::<Option<&str>>(2)?.map(SignedCheckpoint::parse).transpose();
    Ok(StoredTree {
        size: number(0)?,
        root: root.map_err(|_| damaged("the root of the tree is not a hash"))?,
        checkpoint: checkpoint.map_err(|error| Error::Failed(error.into()))?,
    })
}

pub(super) fn sql_number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn damaged(what: &str) -> Error {
    Error::Failed(
        format!("the audit trail is damaged: {what}; `doorward audit verify` says more").into(),
    )
}

#[cfg(test)]
mod tests {
    use super::{super::sqlite::unbounded_steps, *};

    /// With ten million events, a page must not read all of them.
    #[test]
    fn every_query_of_the_trail_follows_an_index_and_sorts_nothing() {
        for (name, sql) in STATEMENTS {
            assert_eq!(unbounded_steps(sql), [""; 0], "{name}");
        }
    }
}
