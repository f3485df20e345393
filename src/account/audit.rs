//! The audit trail, for whoever may read it: its events, counts by day, checkpoints, proofs and a verification.

use std::{collections::BTreeMap, thread, time::Duration};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::{runtime::Handle, sync::oneshot};

use super::Error;
use crate::{
    Doorward,
    audit::{
        Proof, Record, RecordedActor, Report, Row, SignedCheckpoint, TILE_WIDTH, Verification,
        VerifierKey, tree,
    },
    event::{Actor, Administrator, EventId, EventKind, EventName},
    store::{self, AuditFilter, EventOrder, StoredEvent, archive::Snapshot},
    user::UserId,
};

/// An event as it is shown.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AuditEvent {
    pub(crate) id: EventId,
    /// Its place in the tree, unless it has none yet.
    pub(crate) number: Option<u64>,
    pub(crate) record: Record,
}

impl From<StoredEvent> for AuditEvent {
    fn from(stored: StoredEvent) -> Self {
        let entry = stored.entry();
        let StoredEvent { id, number, kind, .. } = stored;
        // Somebody has changed it in the database. A verification says more.
        let unreadable = || Record {
            id: id.to_string(),
            at: id.time().to_string(),
            kind,
            outcome: crate::event::EventOutcome::Failure,
            actor: RecordedActor::Unknown,
            subject: None,
            address: None,
            user_agent: None,
            request_id: None,
            details: serde_json::Map::from_iter([("unreadable".to_owned(), true.into())]),
        };
        Self { id, number, record: entry.record().unwrap_or_else(unreadable) }
    }
}

/// A page of events.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AuditPage {
    pub(crate) events: Vec<AuditEvent>,
    /// Where the next page begins, if there is one.
    pub(crate) next: Option<EventId>,
}

impl AuditPage {
    /// `events` has one more than the page if another page follows.
    fn of(mut events: Vec<StoredEvent>, limit: usize) -> Self {
        let has_more = events.len() > limit;
        events.truncate(limit);
        let next = events.last().filter(|_| has_more).map(|last| last.id);
        Self { events: events.into_iter().map(AuditEvent::from).collect(), next }
    }
}

/// The events of the trail, the newest first, from the first one after `after`.
pub(crate) async fn list(
    doorward: &Doorward,
    filter: &AuditFilter,
    after: Option<EventId>,
    limit: usize,
) -> Result<AuditPage, store::Error> {
    let order = EventOrder::NewestFirst;
    let events = doorward.store().audit_events(filter, order, after, limit + 1).await?;
    Ok(AuditPage::of(events, limit))
}

/// Records that somebody exports events, before they get the first.
pub(crate) async fn record_export(doorward: &Doorward, by: &Administrator, format: &'static str) {
    let kind = EventKind::AuditExported { format };
    doorward.record(doorward.event_by_administrator(by, None, kind)).await;
}

/// The events of the trail, the oldest first, for an export.
pub(crate) async fn export(
    doorward: &Doorward,
    filter: &AuditFilter,
    after: Option<EventId>,
    limit: usize,
) -> Result<AuditPage, store::Error> {
    let order = EventOrder::OldestFirst;
    let events = doorward.store().audit_events(filter, order, after, limit + 1).await?;
    Ok(AuditPage::of(events, limit))
}

/// What concerns a user, the newest first, from the first one after `after`.
pub(crate) async fn activity_of(
    doorward: &Doorward,
    user: UserId,
    after: Option<EventId>,
    limit: usize,
) -> Result<AuditPage, store::Error> {
    let events = doorward.store().events_about(user, after, limit + 1).await?;
    Ok(AuditPage::of(events, limit))
}

/// What happened on one day, in UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AuditDay")]
pub struct DayCounts {
    // Such as `2027-01-15`.
    #[schemars(extend("format" = "date"))]
    pub day: String,
    pub sign_ins: u64,
    pub failed_sign_ins: u64,
    pub sign_ups: u64,
}

/// The counts of this many days up to today, the oldest first. Events count when they have their place in the tree, which takes up to
/// a minute.
pub(crate) async fn days(doorward: &Doorward, days: u32) -> Result<Vec<DayCounts>, store::Error> {
    const DAY: Duration = Duration::from_secs(24 * 60 * 60);
    let day = |ago: u32| (doorward.now() - DAY * ago).to_day();
    let first = days.saturating_sub(1);
    let mut counts: BTreeMap<String, DayCounts> = (0..days)
        .map(|ago| (day(ago), DayCounts { day: day(ago), ..DayCounts::default() }))
        .collect();
    for ((day, kind), count) in doorward.store().audit_days(&day(first)).await? {
        let Some(counts) = counts.get_mut(&day) else { continue };
        match EventName::parse(&kind) {
            Some(EventName::SignedIn) => counts.sign_ins += count,
            Some(EventName::SignInFailed) => counts.failed_sign_ins += count,
            Some(EventName::Registered) => counts.sign_ups += count,
            _ => {}
        }
    }
    Ok(counts.into_values().collect())
}

/// The signed state of the trail.
pub(crate) async fn checkpoint(doorward: &Doorward) -> Result<SignedCheckpoint, store::Error> {
    doorward.sign_checkpoint().await
}

/// A proof that an event is in the trail; `None` if there is no such event.
pub(crate) async fn prove(doorward: &Doorward, id: EventId) -> Result<Option<Proof>, store::Error> {
    let checkpoint = doorward.sign_checkpoint().await?;
    let Some(event) = doorward.store().audit_event(id).await? else { return Ok(None) };
    let Some(index) = event.number else { return Ok(None) };
    let size = checkpoint.checkpoint.size;
    let tiles = doorward.store().tiles(tree::tiles_for_inclusion(index, size)).await?;
    let entry = event.entry().proved();
    let proof = tiles.inclusion_proof(index, size);
    Ok(proof.map(|hashes| Proof { entry, index, hashes, checkpoint }))
}

/// Compares the trail with these checkpoints, which must be signed with `key`, or with that of the installation. It takes long for a
/// long trail, so it has a thread of its own. That ends when this future is dropped. The operator on the machine waits for nobody.
pub(crate) async fn verify(
    doorward: &Doorward,
    checkpoints: Vec<SignedCheckpoint>,
    key: Option<VerifierKey>,
    by: &Administrator,
) -> Result<Report, Error> {
    let begun = match by.actor {
        Actor::Operator(_) => None,
        _ => Some(doorward.begin_verification().ok_or(Error::VerificationUnderWay)?),
    };
    let (doorward, runtime) = (doorward.clone(), Handle::current());
    let (done, made) = oneshot::channel();
    let spawned = thread::Builder::new().name("verification".into()).spawn(move || {
        let compared = compare(&doorward, &checkpoints, key.as_ref(), || !done.is_closed());
        let report = runtime.block_on(compared);
        drop(begun);
        let _ = done.send(report);
    });
    spawned.map_err(|error| store::Error::Unavailable(error.to_string()))?;
    let panicked = |_| store::Error::Failed("the thread of the verification has panicked".into());
    Ok(made.await.map_err(panicked)??)
}

/// Compares the trail for as long as it is wanted.
async fn compare(
    doorward: &Doorward,
    checkpoints: &[SignedCheckpoint],
    key: Option<&VerifierKey>,
    is_wanted: impl Fn() -> bool,
) -> Result<Report, store::Error> {
    let must_be_wanted = || match is_wanted() {
        true => Ok(()),
        false => Err(store::Error::Unavailable("nobody waits for the verification".into())),
    };
    let own = doorward.audit_key().public();
    let snapshot = doorward.store().snapshot().await?;
    let tree = snapshot.audit_tree().await?;
    let key = key.unwrap_or(&own);
    let mut verification = Verification::new(doorward.audit_key(), key, tree, checkpoints);
    let kind = Some(EventName::AuditSecretReplaced.as_str().into());
    let replaced = AuditFilter { kind, ..AuditFilter::default() };
    let newest = doorward.store().audit_events(&replaced, EventOrder::NewestFirst, None, PAGE);
    newest.await?.into_iter().for_each(|event| verification.begin_at(&row_of(event)));
    let paths = tile_paths(&snapshot).await?;
    if let Some(last) = verification.begin(&paths) {
        let stored = snapshot.tile(last).await?;
        verification.end_with(last, stored.map(|tile| tile.hashes).as_deref());
    }
    let mut rows = NumberedRows::new(&snapshot);
    while let Some(tile) = verification.next_tile() {
        must_be_wanted()?;
        let end = (tile.index + 1) * TILE_WIDTH as u64;
        let mut in_tile = Vec::new();
        while let Some(row) = rows.next_before(end).await? {
            match row.number {
                Some(number) if number >= tile.index * TILE_WIDTH as u64 => in_tile.push(row),
                _ => verification.add_other_row(&row),
            }
        }
        let stored = snapshot.tile(tile).await?.unwrap_or_default();
        verification.add_tile(tile, &stored, &in_tile);
    }
    while let Some(row) = rows.next_before(u64::MAX).await? {
        must_be_wanted()?;
        verification.add_other_row(&row);
    }
    for tile in verification.upper_tiles() {
        let stored = snapshot.tile(tile).await?;
        verification.add_upper_tile(tile, stored.map(|tile| tile.hashes).as_deref());
    }
    paths.iter().for_each(|path| verification.add_path(path));
    let mut after = None;
    loop {
        must_be_wanted()?;
        let events = snapshot.unnumbered_events(after, PAGE).await?;
        let Some(last) = events.last() else { break };
        after = Some(last.id);
        events.into_iter().for_each(|event| verification.add_other_row(&row_of(event)));
    }
    Ok(verification.finish())
}

/// The paths of all tiles that are stored.
async fn tile_paths(snapshot: &Snapshot) -> Result<Vec<String>, store::Error> {
    let mut paths = Vec::new();
    loop {
        let after = paths.last().map_or("", String::as_str);
        let page = snapshot.tile_paths(after, PAGE).await?;
        if page.is_empty() {
            return Ok(paths);
        }
        paths.extend(page);
    }
}

/// How many rows are read at once.
const PAGE: usize = 1000;

/// The rows that have a number, in the order of their numbers.
struct NumberedRows<'a> {
    snapshot: &'a Snapshot,
    page: std::iter::Peekable<std::vec::IntoIter<StoredEvent>>,
    after: Option<(i64, EventId)>,
}

impl<'a> NumberedRows<'a> {
    fn new(snapshot: &'a Snapshot) -> Self {
        Self { snapshot, page: Vec::new().into_iter().peekable(), after: None }
    }

    /// The next row, if its number is below this one.
    async fn next_before(&mut self, end: u64) -> Result<Option<Row>, store::Error> {
        if self.page.peek().is_none() {
            let page = self.snapshot.numbered_events(self.after, PAGE).await?;
            self.after = page.last().map(|(stored, event)| (*stored, event.id)).or(self.after);
            let events: Vec<_> = page.into_iter().map(|(_, event)| event).collect();
            self.page = events.into_iter().peekable();
        }
        let next = self.page.next_if(|event| {
            // A negative one comes first, and is not a number of the tree.
            event.number.is_none_or(|number| number < end || number == u64::MAX || end == u64::MAX)
        });
        Ok(next.map(row_of))
    }
}

fn row_of(event: StoredEvent) -> Row {
    Row { number: event.number, entry: event.entry() }
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    };

    use futures_util::FutureExt;
    use serde_json::json;

    use super::*;
    use crate::{
        Settings,
        audit::TileId,
        clock::{Clock, Timestamp},
        config::DatabaseUrl,
        doorward::MissingKey,
        event::{Authority, Event, Right},
        id::Id,
        network::{ClientInfo, Requester},
        session::{Method, Methods},
        user::ApiKeyId,
    };

    const DAY_MILLIS: i64 = 24 * 60 * 60 * 1000;

    /// A service whose clock the test sets.
    async fn service(settings: Settings) -> (tempfile::TempDir, Doorward, Arc<AtomicI64>) {
        let folder = tempfile::tempdir().unwrap();
        let now = Arc::new(AtomicI64::new(1_800_000_000_000));
        let shared = Arc::clone(&now);
        let clock = Clock::new(move || Timestamp::from_millis(shared.load(Ordering::Relaxed)));
        let database = DatabaseUrl::Sqlite(folder.path().join("doorward.db"));
        let settings = Settings { database, ..settings };
        (folder, Doorward::open_with(settings, MissingKey::Refuse, clock).await.unwrap(), now)
    }

    async fn record(doorward: &Doorward, count: usize) {
        for _ in 0..count {
            let kind = EventKind::RoleGranted(crate::user::Role::parse("staff").unwrap());
            let by = Administrator::operator(Some("ada".into()));
            let event = Event::by_administrator(&by, Some(UserId::random()), doorward.now(), kind);
            doorward.record(event).await;
        }
    }

    /// Lets days pass, with an event on the way: it shows that the clock has not jumped.
    async fn let_days_pass(doorward: &Doorward, now: &AtomicI64, days: i64) {
        now.fetch_add(days * DAY_MILLIS - DAY_MILLIS * 3 / 2, Ordering::Relaxed);
        record(doorward, 1).await;
        now.fetch_add(DAY_MILLIS * 3 / 2, Ordering::Relaxed);
    }

    async fn intact(doorward: &Doorward, checkpoints: &[SignedCheckpoint]) -> Report {
        let report =
            verify(doorward, checkpoints.to_vec(), None, &Administrator::APP).await.unwrap();
        assert!(report.is_intact(), "{report:?}");
        report
    }

    #[tokio::test]
    async fn retention_deletes_events_and_keeps_their_hashes() {
        let (_folder, doorward, now) = service(Settings::new().with("audit.retention", 30)).await;
        record(&doorward, 300).await;
        let first = checkpoint(&doorward).await.unwrap();
        let old = list(&doorward, &AuditFilter::default(), None, 1).await.unwrap().events[0].id;
        assert!(prove(&doorward, old).await.unwrap().is_some());
        now.fetch_add(20 * DAY_MILLIS, Ordering::Relaxed);
        record(&doorward, 5).await;
        doorward.clean_up().await.unwrap();
        assert_eq!(
            intact(&doorward, std::slice::from_ref(&first)).await.stored,
            300,
            "nothing is old enough"
        );
        // A clock that jumps deletes nothing.
        doorward.number_events().await.unwrap();
        now.fetch_add(400 * DAY_MILLIS, Ordering::Relaxed);
        doorward.clean_up().await.unwrap();
        assert_eq!(intact(&doorward, std::slice::from_ref(&first)).await.stored, 305);
        now.fetch_sub(388 * DAY_MILLIS, Ordering::Relaxed);
        record(&doorward, 1).await;
        now.fetch_add(DAY_MILLIS * 3 / 2, Ordering::Relaxed);
        doorward.number_events().await.unwrap();
        doorward.clean_up().await.unwrap();
        let second = checkpoint(&doorward).await.unwrap();
        let report = intact(&doorward, &[first.clone(), second.clone()]).await;
        // The five, the one of the day before, and the event that says what was deleted.
        assert_eq!((report.size, report.stored), (307, 7));
        assert!(prove(&doorward, old).await.unwrap().is_none(), "it is gone");
        let kept = list(&doorward, &AuditFilter::default(), None, 10).await.unwrap().events;
        assert_eq!(kept[0].record.kind, "trail_pruned");
        let before = json!({"orders": "2027-01-16T20:00:00.000Z"});
        assert_eq!(kept[0].record.details["before"], before);
        let proof = prove(&doorward, kept[3].id).await.unwrap().unwrap();
        assert!(proof.verify(&doorward.audit_key().public()).is_ok());
        // A second run deletes nothing, and says nothing.
        doorward.clean_up().await.unwrap();
        assert_eq!(checkpoint(&doorward).await.unwrap(), second);
    }

    /// A sign-in of somebody with a browser.
    fn sign_in(doorward: &Doorward, user: UserId) -> Event {
        let browser = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";
        let mut requester = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), browser));
        requester.request_id = Some(crate::request_id::RequestId::next());
        let session = crate::session::SessionId::random();
        let methods = Methods::at(doorward.now(), [Method::Password]);
        Event::by_user(
            user,
            &requester,
            doorward.now(),
            EventKind::SignedIn { session, methods, login: None },
        )
    }

    #[tokio::test]
    async fn groups_end_at_different_times_and_a_removed_event_is_told_from_a_pruned_one() {
        let settings = Settings::new().with("audit.retention_of_sign_ins", 30);
        let (folder, doorward, now) = service(settings).await;
        for _ in 0..300 {
            record(&doorward, 1).await;
            doorward.record(sign_in(&doorward, UserId::random())).await;
        }
        let first = checkpoint(&doorward).await.unwrap();
        let_days_pass(&doorward, &now, 40).await;
        doorward.clean_up().await.unwrap();
        let report = intact(&doorward, std::slice::from_ref(&first)).await;
        assert_eq!((report.size, report.stored, report.waiting), (600, 300, 2));
        let second = checkpoint(&doorward).await.unwrap();
        let db = rusqlite::Connection::open(folder.path().join("doorward.db")).unwrap();
        db.busy_timeout(Duration::from_secs(60)).unwrap();
        let left: i64 = db
            .query_row("SELECT count(*) FROM audit_events WHERE kind = 'signed_in'", [], |row| {
                row.get(0)
            })
            .unwrap();
        assert_eq!(left, 0);
        // Between events that were pruned, somebody removes an order, and says that it was pruned.
        let number: i64 = db
            .query_row(
                "SELECT number FROM audit_events WHERE number > 270 ORDER BY number",
                [],
                |row| row.get(0),
            )
            .unwrap();
        db.execute("DELETE FROM audit_events WHERE number = ?1", [number]).unwrap();
        let checkpoints = vec![first, second];
        let found =
            verify(&doorward, checkpoints.clone(), None, &Administrator::APP).await.unwrap();
        let removed = json!({"finding": "removed", "first": number, "last": number});
        assert_eq!(json!(found.findings), json!([removed]));
        db.execute(
            "UPDATE audit_tiles SET pruned = CAST(zeroblob(32) || substr(pruned, 33) AS BLOB)",
            [],
        )
        .unwrap();
        let found = verify(&doorward, checkpoints, None, &Administrator::APP).await.unwrap();
        let marks = json!({"finding": "marksChanged", "tile": "0/001"});
        let findings = json!(found.findings);
        assert!(findings.as_array().unwrap().contains(&marks), "{findings}");
    }

    #[tokio::test]
    async fn what_was_pruned_counts_as_pruned_after_the_loss_of_the_secret() {
        let settings = Settings::new().with("audit.retention", 30);
        let (folder, doorward, now) = service(settings.clone()).await;
        record(&doorward, 300).await;
        doorward.number_events().await.unwrap();
        let_days_pass(&doorward, &now, 40).await;
        doorward.clean_up().await.unwrap();
        let left = list(&doorward, &AuditFilter::default(), None, 500).await.unwrap().events;
        assert_eq!(left[0].record.kind, "trail_pruned");
        assert_eq!(left.len(), 2, "with the event on the way");
        drop(doorward);
        std::fs::remove_file(folder.path().join("audit-secret")).unwrap();
        let database = DatabaseUrl::Sqlite(folder.path().join("doorward.db"));
        let settings = Settings { database, ..settings };
        let opened = Doorward::open_to_serve(
            settings,
            MissingKey::Refuse,
            crate::doorward::LostAuditSecret::BeginNewName(Administrator::APP),
        );
        intact(&opened.await.unwrap(), &[]).await;
    }

    #[tokio::test]
    async fn what_is_erased_is_that_of_deleted_users_and_of_nobody_else() {
        let (folder, doorward, _) = service(Settings::new()).await;
        let client = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let register = async |email: &str| {
            let new = crate::NewUser::new("Ada", email).password("correct horse battery");
            doorward.register(new, client.client.clone()).await.unwrap().user
        };
        let (ada, bob) = (register("ada@example.com").await, register("bob@example.com").await);
        for _ in 0..1200 {
            doorward.record(sign_in(&doorward, ada.id)).await;
        }
        doorward.record(sign_in(&doorward, bob.id)).await;
        let first = checkpoint(&doorward).await.unwrap();
        let before = list(&doorward, &AuditFilter::default(), None, 1).await.unwrap();
        assert_eq!(before.events[0].record.address.as_deref(), Some("192.0.2.1"));
        doorward.delete_user(ada.id).await.unwrap();
        let of = |user| AuditFilter { user: Some(user), ..AuditFilter::default() };
        // Readers are shown nothing of her at once, before anything is erased.
        let shown = list(&doorward, &of(ada.id), None, 5000).await.unwrap().events;
        assert_eq!(shown.len(), 1202);
        assert!(shown.iter().all(|event| event.record.address.is_none()
            && event.record.user_agent.is_none()
            && event.record.details.get("name").is_none()));
        let db = rusqlite::Connection::open(folder.path().join("doorward.db")).unwrap();
        db.busy_timeout(Duration::from_secs(60)).unwrap();
        let kept = || -> i64 {
            let sql =
                "SELECT count(*) FROM audit_events WHERE personal IS NOT NULL AND subject_id = ?1";
            db.query_row(sql, [ada.id.uuid().as_bytes()], |row| row.get(0)).unwrap()
        };
        assert_eq!(kept(), 1201);
        doorward.erase_deleted().await.unwrap();
        assert_eq!(kept(), 0);
        let second = checkpoint(&doorward).await.unwrap();
        let report = intact(&doorward, &[first.clone(), second.clone()]).await;
        assert_eq!(report.size, report.stored);
        let old = shown.last().unwrap().id;
        let proof = prove(&doorward, old).await.unwrap().unwrap();
        assert!(proof.verify(&doorward.audit_key().public()).is_ok());
        let bobs = list(&doorward, &of(bob.id), None, 1).await.unwrap();
        assert_eq!(bobs.events[0].record.address.as_deref(), Some("192.0.2.1"));
        // Somebody erases what an event says of Bob, who was not deleted.
        let event = doorward.store().audit_event(bobs.events[0].id).await.unwrap().unwrap();
        db.execute(
            "UPDATE audit_events SET personal = NULL, commitment = ?2 WHERE id = ?1",
            (event.id.uuid().as_bytes(), event.entry().commitment()),
        )
        .unwrap();
        let found =
            verify(&doorward, vec![first, second], None, &Administrator::APP).await.unwrap();
        let erased = json!({"finding": "erased", "id": event.id.to_string()});
        assert_eq!(json!(found.findings), json!([erased]));
    }

    #[tokio::test]
    async fn what_a_clock_ahead_has_recorded_about_a_deleted_user_is_erased_when_it_is_back() {
        const YEAR_MILLIS: i64 = 365 * DAY_MILLIS;
        for (recorded_ahead, deleted_ahead) in [(3 * DAY_MILLIS, 0), (0, YEAR_MILLIS)] {
            let (folder, doorward, now) = service(Settings::new()).await;
            let client = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
            let new = crate::NewUser::new("Ada", "ada@example.com");
            let ada = doorward.register(new, client.client.clone()).await.unwrap().user.id;
            now.fetch_add(recorded_ahead, Ordering::Relaxed);
            doorward.record(sign_in(&doorward, ada)).await;
            now.fetch_add(deleted_ahead - recorded_ahead, Ordering::Relaxed);
            doorward.delete_user(ada).await.unwrap();
            now.fetch_sub(deleted_ahead, Ordering::Relaxed);
            doorward.erase_deleted().await.unwrap();
            let db = rusqlite::Connection::open(folder.path().join("doorward.db")).unwrap();
            db.busy_timeout(Duration::from_secs(60)).unwrap();
            let count = |sql: &str| -> i64 { db.query_row(sql, [], |row| row.get(0)).unwrap() };
            let kept = "SELECT count(*) FROM audit_events WHERE personal IS NOT NULL";
            assert_eq!(count(kept), 0, "{recorded_ahead} {deleted_ahead}");
            assert_eq!(count("SELECT count(*) FROM erasures"), 1, "it is repeated");
            now.fetch_add(DAY_MILLIS, Ordering::Relaxed);
            doorward.erase_deleted().await.unwrap();
            assert_eq!(count("SELECT count(*) FROM erasures"), 0);
        }
    }

    #[tokio::test]
    async fn what_is_recorded_late_about_a_deleted_user_is_erased_a_day_later() {
        let (_folder, doorward, now) = service(Settings::new()).await;
        let client = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let new = crate::NewUser::new("Ada", "ada@example.com");
        let ada = doorward.register(new, client.client.clone()).await.unwrap().user.id;
        let late = sign_in(&doorward, ada);
        doorward.delete_user(ada).await.unwrap();
        doorward.erase_deleted().await.unwrap();
        doorward.record(late.clone()).await;
        let has_personal = async || {
            doorward
                .store()
                .audit_event(late.id)
                .await
                .unwrap()
                .unwrap()
                .entry()
                .record()
                .unwrap()
                .address
                .is_some()
        };
        doorward.erase_deleted().await.unwrap();
        assert!(has_personal().await, "hidden, and not erased yet");
        now.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        doorward.erase_deleted().await.unwrap();
        assert!(!has_personal().await);
        assert!(
            doorward
                .store()
                .due_erasures(doorward.now() + Duration::from_secs(1_000_000), 10)
                .await
                .unwrap()
                .is_empty()
        );
        intact(&doorward, &[]).await;
    }

    #[tokio::test]
    async fn a_login_takes_a_bounded_space_which_is_used_again_after_pruning() {
        const LOGINS: usize = 10_000;
        let (folder, doorward, now) = service(Settings::new().with("audit.retention", 30)).await;
        let users: Vec<_> = (0..100).map(|_| UserId::random()).collect();
        let db = rusqlite::Connection::open(folder.path().join("doorward.db")).unwrap();
        db.busy_timeout(Duration::from_secs(60)).unwrap();
        let pages = |name: &str| -> i64 {
            db.query_row(&format!("PRAGMA {name}"), [], |row| row.get(0)).unwrap()
        };
        let used = || (pages("page_count") - pages("freelist_count")) * pages("page_size");
        let before = used();
        let log_in = async || {
            for logins in 0..LOGINS / 100 {
                now.fetch_add(1000, Ordering::Relaxed);
                let user = users[logins % users.len()];
                let events = (0..100).map(|_| sign_in(&doorward, user)).collect();
                doorward.store().record(events).await.unwrap();
            }
            doorward.number_events().await.unwrap();
        };
        log_in().await;
        let each = (used() - before) / LOGINS as i64;
        assert!((350..=560).contains(&each), "{each} bytes");
        let whole = pages("page_count");
        let_days_pass(&doorward, &now, 40).await;
        doorward.clean_up().await.unwrap();
        assert!(used() < (whole * pages("page_size")) / 5, "{}", used());
        log_in().await;
        let grown = pages("page_count") - whole;
        assert!(grown < whole / 5, "the file has grown by {grown} of {whole} pages");
    }

    #[tokio::test]
    async fn a_verification_reads_no_more_than_there_is_whatever_size_the_tree_pretends() {
        let (folder, doorward, _) = service(Settings::new()).await;
        record(&doorward, 300).await;
        let signed = checkpoint(&doorward).await.unwrap();
        let db = rusqlite::Connection::open(folder.path().join("doorward.db")).unwrap();
        db.busy_timeout(Duration::from_secs(60)).unwrap();
        for size in [1_i64 << 62, i64::MAX, 1 << 40, 300 + (1 << 20)] {
            db.execute("UPDATE audit_tree SET size = ?1 WHERE log = 'own'", [size]).unwrap();
            let report =
                verify(&doorward, vec![signed.clone()], None, &Administrator::APP).await.unwrap();
            let changed = json!({"finding": "treeChanged"});
            assert_eq!(json!(report.findings), json!([changed]), "{size}");
            assert_eq!((report.size, report.stored), (size as u64, 300));
            // Some of it is stored at the pretended end.
            let last = size - 1;
            db.execute("UPDATE audit_events SET number = ?1 WHERE number = 299", [last]).unwrap();
            let path = TileId { level: 0, index: last as u64 / TILE_WIDTH as u64 }.path();
            db.execute("INSERT INTO audit_tiles VALUES (?1, randomblob(32), NULL)", [&path])
                .unwrap();
            let report =
                verify(&doorward, vec![signed.clone()], None, &Administrator::APP).await.unwrap();
            let findings = json!(report.findings);
            let has = |finding| findings.as_array().unwrap().contains(finding);
            assert!(has(&changed), "{size}: {findings}");
            assert!(has(&json!({"finding": "hashesChanged", "tile": path})), "{findings}");
            db.execute("UPDATE audit_events SET number = 299 WHERE number = ?1", [last]).unwrap();
            db.execute("DELETE FROM audit_tiles WHERE path = ?1", [path]).unwrap();
        }
        db.execute("UPDATE audit_tree SET size = 300 WHERE log = 'own'", []).unwrap();
        intact(&doorward, &[signed]).await;
    }

    #[tokio::test]
    async fn a_verification_that_nobody_waits_for_ends() {
        let (_folder, doorward, _) = service(Settings::new()).await;
        record(&doorward, 600).await;
        let signed = checkpoint(&doorward).await.unwrap();
        // The tree has three tiles.
        let asked = std::cell::Cell::new(0);
        let is_wanted = || asked.replace(asked.get() + 1) < 2;
        let ended = compare(&doorward, &[signed], None, is_wanted).await;
        assert!(matches!(ended, Err(store::Error::Unavailable(_))), "{ended:?}");
        assert_eq!(asked.get(), 3, "asked before each tile");
    }

    #[tokio::test]
    async fn one_verification_runs_at_a_time_until_nobody_waits_for_it() {
        let (_folder, doorward, _) = service(Settings::new()).await;
        record(&doorward, 600).await;
        let under_way = doorward.begin_verification().unwrap();
        let requester = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let right = Right::Key { key: ApiKeyId::random(), owner: None };
        let machine = Administrator::by_right(Authority::new(right, [].into()), &requester);
        let refused = verify(&doorward, vec![], None, &machine).await;
        assert!(matches!(refused, Err(Error::VerificationUnderWay)), "{refused:?}");
        intact(&doorward, &[]).await;
        drop(under_way);
        let _ = verify(&doorward, vec![], None, &machine).now_or_never();
        while doorward.begin_verification().is_none() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert!(verify(&doorward, vec![], None, &machine).await.unwrap().is_intact());
    }

    #[tokio::test]
    async fn events_are_listed_by_time_user_and_kind_and_in_pages() {
        let (_folder, doorward, now) = service(Settings::new()).await;
        let (ada, eve) = (UserId::random(), UserId::random());
        let requester = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let by_somebody =
            Administrator { client: Some(requester.client.clone()), ..Administrator::APP };
        let at = |minutes: i64| {
            now.store(1_800_000_000_000 + minutes * 60_000, Ordering::Relaxed);
            doorward.now()
        };
        for minute in 0..10 {
            let kind =
                if minute % 2 == 0 { EventKind::UserEnabled } else { EventKind::UserDisabled };
            let by = Administrator { actor: crate::event::Actor::User(eve), ..by_somebody.clone() };
            doorward.record(Event::by_administrator(&by, Some(ada), at(minute), kind)).await;
        }
        let listed = async |filter: AuditFilter| {
            let page = list(&doorward, &filter, None, 100).await.unwrap();
            page.events
                .iter()
                .map(|event| event.id.time().millis() / 60_000 % 30_000_000)
                .collect::<Vec<_>>()
        };
        let all = AuditFilter::default();
        assert_eq!(listed(all.clone()).await, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
        let of = |user| AuditFilter { user: Some(user), ..all.clone() };
        // By whom, and about whom.
        assert_eq!(listed(of(eve)).await.len(), 10);
        assert_eq!(listed(of(ada)).await.len(), 10);
        assert_eq!(listed(of(UserId::random())).await.len(), 0);
        let kind = Some("user_disabled".to_owned());
        let some = AuditFilter { kind, from: Some(at(3)), to: Some(at(9)), ..of(eve) };
        assert_eq!(listed(some).await, [7, 5, 3]);
        let first = list(&doorward, &of(ada), None, 4).await.unwrap();
        let second = list(&doorward, &of(ada), first.next, 100).await.unwrap();
        assert_eq!((first.events.len(), second.events.len(), second.next), (4, 6, None));
        let oldest = export(&doorward, &all, None, 3).await.unwrap();
        assert_eq!(oldest.events[0].id, second.events[5].id);
        let rest = export(&doorward, &all, oldest.next, 100).await.unwrap();
        assert_eq!(rest.events.len(), 7);
        let own = activity_of(&doorward, eve, None, 10).await.unwrap();
        assert_eq!(own.events, [], "what she did to others is theirs");
    }

    #[tokio::test]
    async fn days_count_what_happened_and_what_was_left_out() {
        let (_folder, doorward, now) = service(Settings::new()).await;
        let requester = Requester::new(ClientInfo::new([192, 0, 2, 1].into(), "curl/8"));
        let failed = || EventKind::SignInFailed {
            reason: crate::event::LoginRefusal::WrongPassword,
            email: crate::user::EmailKey::of("x@example.com"),
        };
        let fail = |count| {
            for _ in 0..count {
                let event = Event::by_unknown(None, &requester, doorward.now(), failed());
                doorward.events().publish(&event);
            }
        };
        fail(3);
        doorward.record_refused().await.unwrap();
        now.fetch_add(DAY_MILLIS, Ordering::Relaxed);
        fail(2000);
        doorward.close_trail().await.unwrap();
        let counted = days(&doorward, 30).await.unwrap();
        assert_eq!(counted.len(), 30);
        assert_eq!([counted[28].failed_sign_ins, counted[29].failed_sign_ins], [3, 2000]);
        assert!(doorward.store().audit_tree().await.unwrap().size < 600, "a flood is bounded");
        let checkpoint = checkpoint(&doorward).await.unwrap();
        intact(&doorward, &[checkpoint]).await;
    }
}
