//! Tests of rounds, against a mail server that follows a script and with a clock that stands still.

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use Turn::{AfterMail, CloseAfterMail, Reply};

use super::*;
use crate::{
    Settings,
    clock::Clock,
    config::DatabaseUrl,
    credential::password::Cost,
    delivery::{AFTER_LOSS, BATCH, LEASE, minutes},
    doorward::MissingKey,
    language::Language,
    mail::{
        MailId, Message,
        script::{GO, HELLO, OK, Turn, server},
    },
    store::{Effects, QueuedMail},
    user::Email,
};

const START: i64 = 1_800_000_000_000;

struct Fixture {
    doorward: Doorward,
    clock: Arc<AtomicI64>,
    started: Instant,
    _folder: tempfile::TempDir,
}

impl Fixture {
    async fn new(url: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(AtomicI64::new(START));
        let doorward = open(folder.path(), url, &clock).await;
        Self { doorward, clock, started: Instant::now(), _folder: folder }
    }

    async fn with_server(scripts: Vec<Vec<Turn>>) -> Self {
        let (port, _) = server(scripts);
        Self::new(&format!("smtp://127.0.0.1:{port}")).await
    }

    async fn queue(&self, message: Message) -> MailId {
        let now = self.doorward.now();
        let mail = Mail {
            id: MailId::random(),
            user_id: None,
            recipient: Email::parse("ada@example.com".into()).unwrap(),
            language: Language::English,
            message,
            created_at: now,
            expires_at: now + minutes(24 * 60),
        };
        let id = mail.id;
        let effects = Effects { mails: vec![mail], ..Effects::NONE };
        self.doorward.store().queue_mail(&effects).await.unwrap();
        id
    }

    fn advance(&self, time: Duration) {
        self.clock.fetch_add(i64::try_from(time.as_millis()).unwrap(), Ordering::Relaxed);
    }

    /// A round this long after the start, as far as pauses are concerned.
    async fn round_after(&self, time: Duration) -> Round {
        self.doorward.deliver_due_mail(self.started + time).await.unwrap()
    }

    async fn round(&self) -> Round {
        self.round_after(Duration::ZERO).await
    }

    async fn queued(&self) -> Vec<QueuedMail> {
        self.doorward.store().mail_queue(None, 1000).await.unwrap()
    }
}

async fn open(folder: &Path, url: &str, clock: &Arc<AtomicI64>) -> Doorward {
    let settings = Settings {
        database: DatabaseUrl::Sqlite(folder.join("doorward.db")),
        password_cost: Cost { memory_kib: 64, passes: 1 },
        ..Settings::default()
    };
    let settings = settings.with("mail.url", url).with("mail.from", "Shop <shop@example.com>");
    let clock = Arc::clone(clock);
    let clock = Clock::new(move || Timestamp::from_millis(clock.load(Ordering::Relaxed)));
    Doorward::open_with(settings, MissingKey::Refuse, clock).await.unwrap()
}

const ACCEPTED: [Turn; 4] = [OK, OK, GO, AfterMail("250 queued\r\n")];

fn script(turns: &[Turn]) -> Vec<Turn> {
    [&HELLO[..], turns].concat()
}

#[tokio::test]
async fn mail_is_written_once_and_deleted() {
    let mails = tempfile::tempdir().unwrap();
    let fixture = Fixture::new(&format!("file:{}", mails.path().display())).await;
    assert_eq!(fixture.round().await, Round::Idle);
    for _ in 0..BATCH {
        fixture.queue(Message::HasPassword).await;
    }
    fixture.queue(Message::Nothing).await;
    assert_eq!(fixture.round().await, Round::More);
    assert_eq!(fixture.round().await, Round::Done);
    assert_eq!(fixture.round().await, Round::Idle);
    assert_eq!(fixture.queued().await, []);
    assert_eq!(fs::read_dir(mails.path()).unwrap().count(), BATCH);
}

#[tokio::test]
async fn a_mail_that_is_refused_for_now_waits_longer_each_time() {
    let later = Reply("451 4.7.1 later\r\n");
    let greylisted = script(&[OK, later]);
    let fixture =
        Fixture::with_server([vec![greylisted; 6], vec![script(&ACCEPTED)]].concat()).await;
    fixture.queue(Message::HasPassword).await;
    for (attempt, wait) in [1, 5, 15, 30, 60, 60].into_iter().enumerate() {
        assert_eq!(fixture.round().await, Round::Done);
        let queued = fixture.queued().await.remove(0);
        assert_eq!(queued.attempts as usize, attempt + 1);
        assert_eq!(queued.failure.as_deref(), Some("RCPT TO: 451 4.7.1 later"));
        fixture.advance(minutes(wait) - Duration::from_millis(1));
        assert_eq!(fixture.round().await, Round::Idle, "{wait}");
        fixture.advance(Duration::from_millis(1));
    }
    assert_eq!(fixture.round().await, Round::Done);
    assert_eq!(fixture.queued().await, []);
}

#[tokio::test]
async fn a_refused_mail_is_given_up_and_the_others_are_sent() {
    let refused = script(&[OK, Reply("550 5.1.1 <ada@example.com> unknown\r\n")]);
    let fixture = Fixture::with_server(vec![refused, script(&ACCEPTED)]).await;
    let first = fixture.queue(Message::HasPassword).await;
    fixture.advance(Duration::from_millis(1));
    fixture.queue(Message::HasPassword).await;
    assert_eq!(fixture.round().await, Round::Done);
    let queued = fixture.queued().await;
    assert_eq!(queued.len(), 1);
    assert_eq!(queued[0].mail.id, first);
    assert_eq!(queued[0].failure.as_deref(), Some("RCPT TO: 550 5.1.1 <…> unknown"));
    assert!(queued[0].given_up_at.is_some());
    assert_eq!(fixture.round().await, Round::Idle);
}

#[tokio::test]
async fn a_mail_without_an_answer_is_sent_again_after_five_minutes() {
    let lost = script(&[OK, OK, GO, CloseAfterMail]);
    let fixture = Fixture::with_server(vec![lost, script(&ACCEPTED)]).await;
    fixture.queue(Message::HasPassword).await;
    assert_eq!(fixture.round().await, Round::Done);
    assert_eq!(fixture.queued().await[0].attempts, 1);
    fixture.advance(AFTER_LOSS - Duration::from_millis(1));
    assert_eq!(fixture.round().await, Round::Idle);
    fixture.advance(Duration::from_millis(1));
    assert_eq!(fixture.round().await, Round::Done);
    assert_eq!(fixture.queued().await, []);
}

#[tokio::test]
async fn a_server_that_never_answers_gets_a_mail_less_and_less_often() {
    let lost = || script(&[OK, OK, GO, CloseAfterMail]);
    let waits = [5, 5, 15, 30, 60, 60];
    let fixture = Fixture::with_server(waits.map(|_| lost()).into()).await;
    fixture.queue(Message::HasPassword).await;
    for (attempt, wait) in waits.into_iter().enumerate() {
        assert_eq!(fixture.round().await, Round::Done, "{attempt}");
        assert_eq!(fixture.queued().await[0].attempts as usize, attempt + 1);
        fixture.advance(minutes(wait) - Duration::from_millis(1));
        assert_eq!(fixture.round().await, Round::Idle, "{attempt}");
        fixture.advance(Duration::from_millis(1));
    }
}

#[tokio::test]
async fn an_outage_pauses_all_mail_and_counts_no_attempt() {
    let down = vec![Reply("421 no service\r\n")];
    let accepted = script(&[ACCEPTED, ACCEPTED, ACCEPTED].concat());
    let fixture = Fixture::with_server([vec![down; 9], vec![accepted]].concat()).await;
    for _ in 0..3 {
        fixture.queue(Message::HasPassword).await;
    }
    let mut tried_at = Duration::ZERO;
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(fixture.round_after(tried_at).await, Round::Outage, "{pause}");
        let pause = Duration::from_secs(pause);
        let early = tried_at + pause - Duration::from_millis(1);
        assert_eq!(fixture.round_after(early).await, Round::Idle, "{pause:?}");
        tried_at += pause;
    }
    for queued in fixture.queued().await {
        assert_eq!((queued.attempts, queued.failure, queued.given_up_at), (0, None, None));
    }
    // The operator does not have to wait for the end of the pause.
    assert_eq!(fixture.round_after(tried_at).await, Round::Outage);
    assert_eq!(fixture.doorward.retry_mail().await.unwrap(), 3);
    // One mail finds out that the outage is over.
    assert_eq!(fixture.round_after(tried_at).await, Round::More);
    assert_eq!(fixture.queued().await.len(), 2);
    assert_eq!(fixture.round_after(tried_at).await, Round::Done);
    assert_eq!(fixture.queued().await, []);
}

#[tokio::test]
async fn mail_that_expires_is_given_up_with_its_last_failure() {
    let greylisted = script(&[OK, Reply("451 later\r\n")]);
    let down = vec![Reply("421 no service\r\n")];
    let fixture = Fixture::with_server(vec![greylisted, down]).await;
    let refused = fixture.queue(Message::HasPassword).await;
    assert_eq!(fixture.round().await, Round::Done);
    fixture.advance(Duration::from_millis(1));
    let waiting = fixture.queue(Message::HasPassword).await;
    assert_eq!(fixture.round().await, Round::Outage);
    fixture.advance(minutes(24 * 60));
    let later = Duration::from_secs(1);
    assert_eq!(fixture.round_after(later).await, Round::More);
    assert_eq!(fixture.round_after(later).await, Round::More);
    assert_eq!(fixture.round_after(later).await, Round::Idle);
    let queued = fixture.queued().await;
    let failures: Vec<_> =
        queued.iter().map(|queued| (queued.mail.id, queued.failure.as_deref().unwrap())).collect();
    let expired = "expired before a mail server took it:";
    assert_eq!(
        failures,
        [
            (refused, format!("{expired} RCPT TO: 451 later").as_str()),
            (waiting, format!("{expired} EHLO: 421 no service").as_str())
        ]
    );
}

#[tokio::test]
async fn claimed_mail_of_a_process_that_has_ended_is_sent_by_the_next() {
    let (data, mails) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let clock = Arc::new(AtomicI64::new(START));
    let url = format!("file:{}", mails.path().display());
    let doorward = open(data.path(), &url, &clock).await;
    let fixture =
        Fixture { doorward, clock, started: Instant::now(), _folder: tempfile::tempdir().unwrap() };
    fixture.queue(Message::HasPassword).await;
    let claimed = fixture.doorward.store().claim_mail(fixture.doorward.now(), LEASE, 10).await;
    assert_eq!(claimed.unwrap().len(), 1);
    assert_eq!(fixture.round().await, Round::Idle);
    let clock = Arc::clone(&fixture.clock);
    drop(fixture);
    let doorward = open(data.path(), &url, &clock).await;
    let upkeep = tokio::spawn({
        let doorward = doorward.clone();
        async move { doorward.run_upkeep().await }
    });
    let sent = async {
        while !doorward.store().mail_queue(None, 1).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), sent).await.unwrap();
    upkeep.abort();
    doorward.finish_mail().await;
    assert_eq!(fs::read_dir(mails.path()).unwrap().count(), 1);
}
