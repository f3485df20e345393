//! A backup of one record of each table: written, read, damaged in every way.

use super::{line::RecordLine, *};
use crate::{
    sha256::Sha256,
    store::{
        Store,
        archive::{DatabaseKind, KeySnapshot, Record, Table},
    },
    token::{
        Algorithm, SigningKey,
        key_store::{KeyStore, StoredKeys, stored_secrets},
        shared_secret::{SecretName, SharedSecret},
    },
    user::EmailKey,
};

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_123);

/// A record of each table, with a value in every column.
const LINES: &[&str] = &[
    concat!(
        r#"{"users":{"id":"0190a0a0-0000-4000-8000-00000000000a","name":"Ada \"Countess\" Lovelace🌹","#,
        r#""email":"Ada@example.com","email_verified":true,"password_hash":"$2b$10$…","password_version":3,"#,
        r#""roles":"admin staff","disabled":true,"created_at":1800000000123,"updated_at":1800000000124,"#,
        r#""last_login_at":1800000000125,"factors":"passkey totp","#,
        r#""login_roles":"0190a0a0-0000-4000-8000-000000000019:staff","known_networks":"192.0.2.7=1800000000123"}}"#
    ),
    concat!(
        r#"{"sessions":{"id":"0190a0a0-0000-4000-8000-00000000000b","user_id":"0190a0a0-0000-4000-8000-00000000000a","#,
        r#""token_id":"0190a0a0-0000-4000-8000-00000000000c","created_at":1800000000123,"last_seen_at":1800000000124,"#,
        r#""expires_at":1800000060123,"idle_ms":30000,"authenticated_at":1800000000120,"methods":"password mailed_code","#,
        r#""address":"192.0.2.7","user_agent":"curl/8 (λ)","identity_id":"0190a0a0-0000-4000-8000-000000000019","#,
        r#""upstream_sid":"their session"}}"#
    ),
    r#"{"ended_tokens":{"token_id":"0190a0a0-0000-4000-8000-00000000000d","ended_at":1800000000123}}"#,
    concat!(
        r#"{"one_time_secrets":{"id":"0190a0a0-0000-4000-8000-00000000000e","purpose":"change_email","#,
        r#""user_id":"0190a0a0-0000-4000-8000-00000000000a","email":"new@example.com","user_email":"Ada@example.com","#,
        r#""password_version":3,"digest":"BwcHBw==","expires_at":1800000000123,"guesses":4}}"#
    ),
    concat!(
        r#"{"outbox":{"id":"0190a0a0-0000-4000-8000-00000000000f","user_id":"0190a0a0-0000-4000-8000-00000000000a","#,
        r#""recipient":"ada@example.com","language":"de","message":"\"has_password\"","created_at":1800000000123,"#,
        r#""expires_at":1800000060123,"due_at":1800000000124,"attempts":2,"failure":"later","given_up_at":1800000000125}}"#
    ),
    concat!(
        r#"{"invitations":{"id":"0190a0a0-0000-4000-8000-000000000010","email":"Friend@example.com","roles":"staff","#,
        r#""invited_by":"0190a0a0-0000-4000-8000-00000000000a","is_mailed":true,"created_at":1800000000123,"#,
        r#""expires_at":1800000060123,"digest":"CAgICA==","guesses":10}}"#
    ),
    concat!(
        r#"{"imported_hashes":{"user_id":"0190a0a0-0000-4000-8000-00000000000a","prefix":"$2b$10$","#,
        r#""imported_at":1800000000123}}"#
    ),
    r#"{"foreign_hashes":{"prefix":"$2b$10$"}}"#,
    concat!(
        r#"{"passkeys":{"id":"0190a0a0-0000-4000-8000-000000000011","user_id":"0190a0a0-0000-4000-8000-00000000000a","#,
        r#""credential_id":"CQkJCQ==","rp_id":"auth.example.com","user_handle":"CgoKCg==","public_key":"CwsLCw==","#,
        r#""verifies_user":true,"aaguid":"0190a0a0-0000-4000-8000-000000000012","name":"Ada’s 📱","transports":"hybrid internal","#,
        r#""sign_count":7,"backup_eligible":true,"backed_up":false,"created_at":1800000000123,"last_used_at":1800000000124}}"#
    ),
    concat!(
        r#"{"totp_secrets":{"user_id":"0190a0a0-0000-4000-8000-00000000000a","secret":"DAwMDA==","last_step":60000000,"#,
        r#""created_at":1800000000123,"last_used_at":1800000000124}}"#
    ),
    concat!(
        r#"{"recovery_codes":{"id":"0190a0a0-0000-4000-8000-000000000013","user_id":"0190a0a0-0000-4000-8000-00000000000a","#,
        r#""digest":"DQ0NDQ==","created_at":1800000000123}}"#
    ),
    concat!(
        r#"{"trusted_devices":{"id":"0190a0a0-0000-4000-8000-000000000014","user_id":"0190a0a0-0000-4000-8000-00000000000a","#,
        r#""password_version":3,"address":"192.0.2.7","user_agent":"curl/8 (λ)","created_at":1800000000123,"#,
        r#""expires_at":1800000060123}}"#
    ),
    concat!(
        r#"{"identities":{"id":"0190a0a0-0000-4000-8000-000000000019","user_id":"0190a0a0-0000-4000-8000-00000000000a","#,
        r#""issuer":"https://sso.example.com","subject":"248289761001","login":"work","display":"ada@sso.example.com","#,
        r#""created_at":1800000000123,"last_used_at":1800000000124}}"#
    ),
    concat!(
        r#"{"api_keys":{"id":"0190a0a0-0000-4000-8000-000000000017","user_id":"0190a0a0-0000-4000-8000-00000000000a","#,
        r#""name":"laptop","scopes":"users:read","condition":"true","two_factors":true,"created_at":1800000000123,"#,
        r#""expires_at":1800000060123,"last_used_at":1800000000124,"revoked_at":1800000000125,"#,
        r#""digest":"ERERERERERERERERERERERERERERERERERERERERERE="}}"#
    ),
    concat!(
        r#"{"audit_events":{"id":"0190a0a0-0000-7000-8000-000000000015","number":7,"kind":"role_granted","#,
        r#""subject_id":"0190a0a0-0000-4000-8000-00000000000a","actor_id":"0190a0a0-0000-4000-8000-000000000016","#,
        r#""salt":"Dg4ODg==","personal":"EhISEg==","commitment":"ExMTEw==","record":"{\"kind\":\"role_granted\"}"}}"#
    ),
    r#"{"audit_tiles":{"path":"0/x001/234","hashes":"Dw8PDw==","pruned":"FBQUFA=="}}"#,
    r#"{"audit_tree":{"log":"own","size":8,"hash":"EBAQEA==","checkpoint":"doorward/1\n8\n"}}"#,
    r#"{"erasures":{"user_id":"0190a0a0-0000-4000-8000-000000000018","deleted_at":1800000000123,"due_at":1800000000124}}"#,
    r#"{"audit_days":{"day_and_kind":"2027-01-15 signed_in","count":9}}"#,
];

/// The schema that these lines are of.
fn schema() -> usize {
    DatabaseKind::Sqlite.schema()
}

fn records() -> Vec<Record> {
    LINES
        .iter()
        .map(|line| {
            line::record(line.as_bytes(), schema())
                .unwrap_or_else(|error| panic!("{error}: {line}"))
        })
        .collect()
}

fn to_lines(records: &[Record]) -> Vec<String> {
    records.iter().map(|record| serde_json::to_string(&RecordLine(record)).unwrap()).collect()
}

fn keys() -> KeySnapshot {
    let key = || SigningKey::generate(Algorithm::Es256);
    let keys = StoredKeys {
        signing: Some(key()),
        next: Some((key(), Some(NOW))),
        retired: vec![(key(), NOW)],
        ..StoredKeys::default()
    };
    let secrets = SecretName::ALL.map(|name| (name, SharedSecret::random())).into();
    KeySnapshot { keys, secrets }
}

async fn backup_of(records: Vec<Record>, keys: &KeySnapshot) -> (Vec<u8>, Description) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    store.import(records).await.unwrap();
    let snapshot = store.snapshot().await.unwrap();
    let mut backup = Vec::new();
    let description =
        write(&snapshot, keys, false, NOW, &mut backup, &mut |_, _| {}).await.unwrap();
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

#[test]
fn the_records_of_these_tests_have_a_value_in_every_column_of_every_table() {
    let records = records();
    let tables: Vec<_> = records.iter().map(|record| record.table().name).collect();
    assert_eq!(tables, Table::all().map(|table| table.name).collect::<Vec<_>>());
    for line in to_lines(&records) {
        assert!(!line.contains(":null") && !line.contains(":\"\""), "{line}");
    }
}

#[tokio::test]
async fn every_column_is_read_as_it_was_written() {
    let keys = keys();
    let (backup, description) = backup_of(records(), &keys).await;
    assert!(Table::all().all(|table| description.counts.of(table) == 1));
    assert_eq!(description.keys.len(), 3);
    assert_eq!(verify(&backup).unwrap(), description);
    let text = String::from_utf8(backup.clone()).unwrap();
    let lines: Vec<_> = text.lines().collect();
    // The header, three keys and three secrets come before.
    assert_eq!(lines[7..lines.len() - 1], *LINES);
    let mut reader = Reader::open(&backup[..]).unwrap();
    let read = reader.next_page().unwrap().unwrap();
    assert_eq!(to_lines(&read), LINES);
    assert!(reader.next_page().unwrap().is_none());
    let (_, read_keys) = reader.finish().unwrap();
    assert_eq!(key_texts(&read_keys), key_texts(&keys));
    assert_eq!(read_keys.secrets, keys.secrets);
}

#[tokio::test]
async fn a_folder_is_filled_with_records_and_keys() {
    let keys = keys();
    let (backup, description) = backup_of(records(), &keys).await;
    let folder = tempfile::tempdir().unwrap();
    let reader = Reader::open(&backup[..]).unwrap();
    let database = std::path::Path::new("users.db");
    let filled = fill_folder(
        reader,
        folder.path(),
        database,
        SigningKeySource::Backup,
        NOW,
        None,
        &mut |_| {},
    )
    .await
    .unwrap();
    assert_eq!(filled, description);
    let store = Store::open_sqlite(&folder.path().join(database), None).unwrap();
    let (snapshot, mut restored) = (store.snapshot().await.unwrap(), Vec::new());
    let mut pages = snapshot.pages();
    while let Some(page) = pages.next().await.unwrap() {
        restored.extend(page);
    }
    assert_eq!(to_lines(&restored), LINES);
    // The form in which addresses are compared is not in the backup.
    let found = store.user_by_email(&EmailKey::of("ada@EXAMPLE.com")).await.unwrap();
    assert_eq!(found.unwrap().email.as_str(), "Ada@example.com");
    let key_store = crate::data_folder::DataFolder::open(folder.path()).unwrap();
    let stored = key_store.stored_keys().await.unwrap();
    let id = |keys: &StoredKeys| keys.signing.as_ref().unwrap().id().clone();
    assert_eq!(id(&stored), id(&keys.keys));
    assert_eq!((stored.next.iter().len(), stored.retired.len()), (1, 1));
    assert_eq!(stored_secrets(&key_store).await.unwrap(), keys.secrets);
}

#[test]
fn a_record_that_does_not_fit_its_table_is_refused_with_its_place() {
    let header = format!(
        r#"{{"doorwardBackup":1,"version":"1","database":"sqlite","schema":{},"createdAt":1}}"#,
        schema()
    );
    let sessions = LINES[1];
    let foreign = LINES[7];
    for (line, cause) in [
        (foreign.replace("foreign_hashes", "hashes"), "there is no table hashes"),
        (foreign.replace("\"prefix\"", "\"x\":1,\"prefix\""), "foreign_hashes has no column x"),
        (r#"{"foreign_hashes":{}}"#.to_owned(), "foreign_hashes.prefix is missing"),
        (foreign.replace("\"$2b$10$\"", "null"), "foreign_hashes.prefix is not a text"),
        (sessions.replace("30000", "\"30000\""), "sessions.idle_ms is not a whole number"),
        (sessions.replace("30000", "0.5"), "sessions.idle_ms is not a whole number"),
        (
            sessions.replace("0190a0a0-0000-4000-8000-00000000000c", "c"),
            "sessions.token_id is not an id",
        ),
        (LINES[0].replace("true", "1"), "users.email_verified is not true or false"),
        (LINES[3].replace("BwcHBw==", "?"), "one_time_secrets.digest is not Base64"),
        // Of the right type, but nothing that the service can read.
        (sessions.replace("192.0.2.7", "192.0.2"), "the row of sessions is not valid"),
        (LINES[3].replace("change_email", "change"), "the row of one_time_secrets is not valid"),
        (LINES[4].replace("has_password", "has"), "the row of outbox is not valid"),
        (r#"{"users":1}"#.to_owned(), "not a record"),
        (r#"{"users":{},"sessions":{}}"#.to_owned(), "not a record"),
        ("[]".to_owned(), "not a record"),
    ] {
        let backup = format!("{header}\n{foreign}\n{line}\n");
        let error = verify(backup.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(&format!("damaged (line 3: {cause})")), "{error}: {line}");
    }
}

#[tokio::test]
async fn a_damaged_backup_is_refused() {
    let (backup, _) = backup_of(records(), &keys()).await;
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
    let (backup, _) = backup_of(records(), &keys()).await;
    for length in 0..backup.len() {
        assert!(verify(&backup[..length]).is_err(), "{length} bytes of {}", backup.len());
    }
    let error = verify(&backup[..backup.len() - 1]).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error:?}");
}

#[tokio::test]
async fn users_without_a_signing_key_are_neither_backed_up_nor_restored() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_sqlite(&folder.path().join("doorward.db"), None).unwrap();
    let no_keys = KeySnapshot::default();
    let backup_with = async |keys_in_file| {
        let snapshot = store.snapshot().await.unwrap();
        let mut backup = Vec::new();
        let written =
            write(&snapshot, &no_keys, keys_in_file, NOW, &mut backup, &mut |_, _| {}).await;
        written.map(|_| backup)
    };
    // Nobody holds a token yet.
    verify(&backup_with(false).await.unwrap()).unwrap();
    store.import(records()).await.unwrap();
    assert!(matches!(backup_with(false).await, Err(Error::NoSigningKey)));
    let in_file = backup_with(true).await.unwrap();
    verify(&in_file).unwrap();
    // As an older version has written it.
    let text = String::from_utf8(in_file.clone()).unwrap();
    let (_, records) = text.split_once('\n').unwrap();
    let records = records[..records.rfind("{\"end\"").unwrap()].to_owned();
    let header = format!(
        "{{\"doorwardBackup\":1,\"version\":\"1\",\"database\":\"sqlite\",\"schema\":{},\"createdAt\":1}}\n",
        schema()
    );
    let lines = format!("{header}{records}");
    let mut checksum = Sha256::new();
    checksum.update(lines.as_bytes());
    let mut counts = RecordCounts::default();
    self::records().iter().for_each(|record| counts.add(record));
    let mut keyless = lines.into_bytes();
    writer::append_end(&mut keyless, &counts, 0, &writer::hexadecimal(checksum));
    assert!(matches!(verify(&keyless), Err(Error::LacksSigningKey)));

    let restore = async |backup: &[u8], source| {
        let folder = tempfile::tempdir().unwrap();
        let reader = Reader::open(backup).unwrap();
        let database = std::path::Path::new("users.db");
        let filled =
            fill_folder(reader, folder.path(), database, source, NOW, None, &mut |_| {}).await;
        filled.map(|description| description.keys.len())
    };
    let new = SigningKeySource::New(Algorithm::Es256);
    for (backup, source, keys) in [
        (&keyless, SigningKeySource::File, Some(0)),
        (&keyless, new, Some(1)),
        (&keyless, SigningKeySource::Backup, None),
        (&in_file, SigningKeySource::File, Some(0)),
        (&in_file, new, Some(1)),
        (&in_file, SigningKeySource::Backup, None),
    ] {
        assert_eq!(restore(backup, source).await.ok(), keys);
    }
}

#[tokio::test]
async fn a_backup_of_a_newer_version_is_refused() {
    let (backup, _) = backup_of(Vec::new(), &keys()).await;
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
    for name in ["cookieSecret", "factorSecret", "auditSecret", "key"] {
        let line = format!("{{\"{name}\":\"c2VjcmV0\"}}\n");
        let error = verify(format!("{header}{line}").as_bytes()).unwrap_err().to_string();
        assert!(error.contains("damaged (line 2: ") && !error.contains("c2Vj"), "{error}");
    }
}
