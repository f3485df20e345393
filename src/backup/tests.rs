//! A backup of one record of each kind: written, read, damaged in every way.

use std::{net::Ipv4Addr, time::Duration};

use super::*;
use crate::{
    credential::{password::PasswordHash, reset_code::ResetDigest},
    language::Language,
    mail::{Mail, MailId, Message},
    network::Network,
    session::{Origin, Session, TokenId},
    store::{
        QueuedMail, SqliteStore,
        archive::{Archive, KeySnapshot, Page, Pages, Records, UserRecord},
    },
    throttle::KnownNetworks,
    token::{
        Algorithm, SigningKey,
        cookie::CookieSecret,
        key_store::{KeyStore, StoredKeys},
        one_time::{OneTime, OneTimeId, Purpose, SecretDigest},
    },
    user::{Email, Invitation, InvitationId, Name, PasswordVersion, Role, Roles, User, UserId},
};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

fn email(text: &str) -> Email {
    Email::parse(text.into()).unwrap()
}

/// One record of each kind, with a value in every field.
fn page() -> Page {
    let hash = PasswordHash::from_store("$2b$10$…".into());
    let name = Name::parse("Ada \"Countess\" Lovelace\u{1F339}".into()).unwrap();
    let user = User::new(name, email("Ada@example.com"), Some(hash), NOW);
    let roles: Roles = ["admin", "staff"].into_iter().filter_map(Role::parse).collect();
    let user = User {
        email_verified: true,
        password_version: PasswordVersion::from_store(3),
        roles: roles.clone(),
        disabled: true,
        last_login_at: Some(NOW),
        ..user
    };
    let mut known_networks = KnownNetworks::default();
    known_networks.note(Network::at(Ipv4Addr::new(192, 0, 2, 7).into()), NOW);
    let origin = Origin::new(Ipv4Addr::new(192, 0, 2, 7).into(), "curl/8 (λ)");
    let session = Session::new(user.id, origin, NOW, Duration::from_secs(60));
    let session = Session { idle_timeout: Some(Duration::from_secs(30)), ..session };
    let one_time = OneTime {
        id: OneTimeId::random(),
        purpose: Purpose::ChangeEmail,
        user_id: user.id,
        email: email("new@example.com"),
        user_email: user.email.clone(),
        password_version: user.password_version,
        digest: SecretDigest::from_store(vec![7; 32]),
        expires_at: NOW,
        guesses: 4,
    };
    let mail = Mail {
        id: MailId::random(),
        user_id: Some(user.id),
        recipient: email("ada@example.com"),
        language: Language::German,
        message: Message::ChangeEmail { one_time: one_time.id },
        created_at: NOW,
        expires_at: NOW,
    };
    let invitation = Invitation {
        id: InvitationId::random(),
        email: email("friend@example.com"),
        roles,
        invited_by: Some(UserId::random()),
        is_mailed: true,
        created_at: NOW,
        expires_at: NOW,
        guesses: 10,
    };
    let queued = QueuedMail {
        mail,
        attempts: 2,
        due_at: NOW,
        failure: Some("later".into()),
        given_up_at: Some(NOW),
    };
    let reset_code = Some((ResetDigest::from_store(vec![9; 32]), NOW));
    Page {
        users: vec![UserRecord { user, reset_code, known_networks, hash_imported_at: Some(NOW) }],
        sessions: vec![session],
        endings: vec![(TokenId::random(), NOW)],
        one_times: vec![one_time],
        mails: vec![queued],
        invitations: vec![(invitation, SecretDigest::from_store(vec![8; 32]))],
    }
}

fn keys() -> KeySnapshot {
    let key = || SigningKey::generate(Algorithm::Es256);
    let keys = StoredKeys {
        signing: Some(key()),
        next: Some((key(), Some(NOW))),
        retired: vec![(key(), NOW)],
        ..StoredKeys::default()
    };
    KeySnapshot { keys, cookie_secret: Some(CookieSecret::random()) }
}

async fn backup_of(page: Page, keys: &KeySnapshot) -> (Vec<u8>, Description) {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(&folder.path().join("doorward.db"), None).unwrap();
    store.import(page).await.unwrap();
    let snapshot = store.snapshot().await.unwrap();
    let mut backup = Vec::new();
    let description = write(&snapshot, keys, NOW, &mut backup, &mut |_, _| {}).await.unwrap();
    (backup, description)
}

fn verify(backup: &[u8]) -> Result<Description, Error> {
    Reader::open(backup)?.verify(&mut |_| {})
}

fn key_texts(keys: &KeySnapshot) -> Vec<String> {
    let StoredKeys { signing, next, retired, verifying: _ } = &keys.keys;
    let signing = signing.iter().map(|key| key.to_pem().to_string());
    let next = next.iter().map(|(key, at)| format!("{} {at:?}", *key.to_pem()));
    let retired = retired.iter().map(|(key, at)| format!("{} {at:?}", *key.to_pem()));
    signing.chain(next).chain(retired).collect()
}

fn same(one: &Page, other: &Page) -> bool {
    let Page { users, sessions, endings, one_times, mails, invitations } = one;
    (users, sessions, endings) == (&other.users, &other.sessions, &other.endings)
        && (one_times, mails, invitations) == (&other.one_times, &other.mails, &other.invitations)
}

#[tokio::test]
async fn every_field_is_read_as_it_was_written() {
    let (page, keys) = (page(), keys());
    let (backup, description) = backup_of(page.clone(), &keys).await;
    let counts = Counts {
        users: 1,
        sessions: 1,
        ended_tokens: 1,
        one_times: 1,
        mails: 1,
        invitations: 1,
        keys: 3,
    };
    assert_eq!((description.counts, description.created_at), (counts, NOW));
    assert_eq!(verify(&backup).unwrap(), description);
    let mut reader = Reader::open(&backup[..]).unwrap();
    let read = reader.next_page().unwrap().unwrap();
    assert!(same(&read, &page), "{read:?}");
    assert!(reader.next_page().unwrap().is_none());
    let (_, read_keys) = reader.finish().unwrap();
    assert_eq!(key_texts(&read_keys), key_texts(&keys));
    assert_eq!(read_keys.cookie_secret, keys.cookie_secret);
}

#[tokio::test]
async fn a_folder_is_filled_with_records_and_keys() {
    let (page, keys) = (page(), keys());
    let (backup, description) = backup_of(page.clone(), &keys).await;
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::open(&backup[..]).unwrap();
    let database = std::path::Path::new("users.db");
    let filled = fill_folder(reader, folder.path(), database, NOW, &mut |_| {}).await.unwrap();
    assert_eq!(filled, description);
    let store = SqliteStore::open(&folder.path().join(database), None).unwrap();
    assert_eq!(store.size().await.unwrap().users, 1);
    let (mut restored, mut pages) = (Page::default(), Pages::new(&store));
    while let Some(page) = pages.next().await.unwrap() {
        restored.append(page);
    }
    assert!(same(&restored, &page), "{restored:?}");
    let key_store = crate::data_folder::DataFolder::open(folder.path()).unwrap();
    let stored = key_store.stored_keys().await.unwrap();
    let id = |keys: &StoredKeys| keys.signing.as_ref().unwrap().id().clone();
    assert_eq!(id(&stored), id(&keys.keys));
    assert_eq!((stored.next.iter().len(), stored.retired.len()), (1, 1));
    assert_eq!(key_store.stored_cookie_secret().await.unwrap(), keys.cookie_secret);
}

#[tokio::test]
async fn a_damaged_backup_is_refused() {
    let (backup, _) = backup_of(page(), &keys()).await;
    for number in 0..backup.len() {
        let mut damaged = backup.clone();
        damaged[number] ^= 1;
        assert!(verify(&damaged).is_err(), "byte {number} of {}", backup.len());
    }
    let lines: Vec<_> = backup.split_inclusive(|byte| *byte == b'\n').collect();
    for number in 0..lines.len() {
        let without = [&lines[..number], &lines[number + 1..]].concat().concat();
        assert!(verify(&without).is_err(), "without line {number}");
        let twice = [&lines[..=number], &lines[number..]].concat().concat();
        assert!(verify(&twice).is_err(), "line {number} twice");
    }
    for tail in ["\n", "x", "{}\n"] {
        assert!(verify(&[&backup[..], tail.as_bytes()].concat()).is_err(), "{tail:?} at the end");
    }
}

#[tokio::test]
async fn an_incomplete_backup_is_refused() {
    let (backup, _) = backup_of(page(), &keys()).await;
    for length in 0..backup.len() {
        assert!(verify(&backup[..length]).is_err(), "{length} bytes of {}", backup.len());
    }
    let error = verify(&backup[..backup.len() - 1]).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error:?}");
}

#[tokio::test]
async fn a_backup_of_a_newer_version_is_refused() {
    let (backup, _) = backup_of(Page::default(), &keys()).await;
    let text = String::from_utf8(backup).unwrap();
    let format = text.replacen("{\"doorwardBackup\":1,", "{\"doorwardBackup\":2,\"more\":0,", 1);
    let error = verify(format.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::NewerFormat { format: 2, .. }), "{error:?}");
    let schema = text.replacen("\"schema\":", "\"schema\":100", 1);
    let error = verify(schema.as_bytes()).unwrap_err();
    assert!(matches!(error, Error::NewerSchema { found: 1000.., .. }), "{error:?}");
}

#[test]
fn other_files_are_refused() {
    for other in ["", "\n", "{}\n", "SQLite format 3\0", "PGDMP", "\u{1f}\u{8b}"] {
        assert!(matches!(verify(other.as_bytes()), Err(Error::NotABackup)), "{other:?}");
    }
    let error = verify(b"age-encryption.org/v1\n-> X25519 x\n").unwrap_err();
    assert!(matches!(error, Error::Encrypted), "{error:?}");
    let endless = [b"{\"doorwardBackup\":".as_slice(), &vec![b'1'; 3 << 20]].concat();
    assert!(matches!(verify(&endless), Err(Error::NotABackup)));
}

#[test]
fn an_error_quotes_no_value() {
    let header = "{\"doorwardBackup\":1,\"version\":\"1\",\"database\":\"sqlite\",\"schema\":1,\"createdAt\":1}\n";
    for line in ["{\"cookieSecret\":\"c2VjcmV0\"}\n", "{\"key\":\"c2VjcmV0\"}\n"] {
        let error = verify(format!("{header}{line}").as_bytes()).unwrap_err().to_string();
        assert!(error.contains("damaged (line 2: ") && !error.contains("c2Vj"), "{error}");
    }
}
