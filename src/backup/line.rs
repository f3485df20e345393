//! The lines of a backup, and their conversion from and to records. Each conversion names every field, so that a new field
//! cannot be left out. A field that a later version adds needs a default here, so that older backups can be read.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::Counts;
use crate::{
    clock::Timestamp,
    credential::{password::PasswordHash, reset_code::ResetDigest},
    language::Language,
    mail::{Mail, Message},
    session::{Origin, Session, TokenId},
    store::{QueuedMail, archive::UserRecord},
    throttle::KnownNetworks,
    token::{
        SigningKey,
        cookie::CookieSecret,
        one_time::{OneTime, Purpose, SecretDigest},
    },
    user::{Email, Invitation, Name, PasswordVersion, Roles, User},
};

/// The number of the format that this version writes. Versions that do not know it refuse the file.
pub(super) const FORMAT: u32 = 1;

/// The first line. Every version can read these fields.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Header {
    #[serde(rename = "doorwardBackup")]
    pub(super) format: u32,
    pub(super) version: String,
    /// `sqlite` or `postgres`.
    pub(super) database: String,
    /// The number of the last migration of that database.
    pub(super) schema: usize,
    /// As all times, in milliseconds since 1970.
    pub(super) created_at: i64,
}

/// Any line but the first.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Line {
    Key(KeyLine),
    CookieSecret(Zeroizing<String>),
    User(Box<UserLine>),
    Session(SessionLine),
    EndedToken(EndedTokenLine),
    OneTime(OneTimeLine),
    Mail(MailLine),
    Invitation(InvitationLine),
    End(EndLine),
}

#[derive(Serialize, Deserialize)]
pub(super) struct EndLine {
    pub(super) counts: Counts,
    /// Of all lines before.
    pub(super) sha256: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct KeyLine {
    pub(super) stage: KeyStage,
    pem: Zeroizing<String>,
    /// When the next key begins to sign, if that is known, or until when a retired key verifies.
    pub(super) at: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum KeyStage {
    Signing,
    Next,
    Retired,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UserLine {
    id: String,
    name: String,
    email: String,
    email_verified: bool,
    password_hash: Option<String>,
    password_version: i64,
    roles: String,
    disabled: bool,
    created_at: i64,
    updated_at: i64,
    last_login_at: Option<i64>,
    reset_code: Option<ResetCodeLine>,
    known_networks: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hash_imported_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct ResetCodeLine {
    digest: String,
    expires_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionLine {
    id: String,
    user_id: String,
    token_id: String,
    created_at: i64,
    last_seen_at: i64,
    expires_at: i64,
    idle_timeout_ms: Option<u64>,
    address: String,
    user_agent: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EndedTokenLine {
    token_id: String,
    ended_at: i64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OneTimeLine {
    id: String,
    purpose: String,
    user_id: String,
    email: String,
    user_email: String,
    password_version: i64,
    digest: String,
    expires_at: i64,
    #[serde(default)]
    guesses: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MailLine {
    id: String,
    user_id: Option<String>,
    recipient: String,
    language: String,
    message: Message,
    created_at: i64,
    expires_at: i64,
    attempts: u32,
    due_at: i64,
    failure: Option<String>,
    given_up_at: Option<i64>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InvitationLine {
    id: String,
    email: String,
    roles: String,
    invited_by: Option<String>,
    is_mailed: bool,
    created_at: i64,
    expires_at: i64,
    digest: String,
    #[serde(default)]
    guesses: u32,
}

/// A value in a line is not valid.
#[derive(Debug, thiserror::Error)]
#[error("{0} is not valid")]
pub(super) struct Invalid(&'static str);

fn time(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn bytes(text: &str, what: &'static str) -> Result<Vec<u8>, Invalid> {
    BASE64_STANDARD.decode(text).map_err(|_| Invalid(what))
}

fn parsed<T: std::str::FromStr>(text: &str, what: &'static str) -> Result<T, Invalid> {
    text.parse().map_err(|_| Invalid(what))
}

impl KeyLine {
    pub(super) fn new(stage: KeyStage, key: &SigningKey, at: Option<Timestamp>) -> Self {
        Self { stage, pem: key.to_pem(), at: at.map(Timestamp::millis) }
    }

    pub(super) fn key(self) -> Result<SigningKey, Invalid> {
        SigningKey::from_pem(&self.pem).map_err(|_| Invalid("a signing key"))
    }
}

pub(super) fn cookie_secret_line(secret: &CookieSecret) -> Line {
    Line::CookieSecret(Zeroizing::new(BASE64_STANDARD.encode(secret.as_bytes())))
}

pub(super) fn cookie_secret(line: &str) -> Result<CookieSecret, Invalid> {
    let bytes = Zeroizing::new(bytes(line, "the secret of cookies")?);
    CookieSecret::from_store(&bytes).ok_or(Invalid("the secret of cookies"))
}

impl From<UserRecord> for Line {
    fn from(record: UserRecord) -> Self {
        let UserRecord { user, reset_code, known_networks, hash_imported_at } = record;
        let User {
            id,
            name,
            email,
            email_verified,
            password_hash,
            password_version,
            roles,
            disabled,
            created_at,
            updated_at,
            last_login_at,
        } = user;
        Self::User(Box::new(UserLine {
            id: id.to_string(),
            name: name.as_str().to_owned(),
            email: email.as_str().to_owned(),
            email_verified,
            password_hash: password_hash.map(|hash| hash.as_phc().to_owned()),
            password_version: password_version.number(),
            roles: roles.to_text(),
            disabled,
            created_at: created_at.millis(),
            updated_at: updated_at.millis(),
            last_login_at: last_login_at.map(Timestamp::millis),
            reset_code: reset_code.map(|(digest, expires_at)| ResetCodeLine {
                digest: BASE64_STANDARD.encode(digest.as_bytes()),
                expires_at: expires_at.millis(),
            }),
            known_networks: known_networks.to_text(),
            hash_imported_at: hash_imported_at.map(Timestamp::millis),
        }))
    }
}

impl TryFrom<UserLine> for UserRecord {
    type Error = Invalid;

    fn try_from(line: UserLine) -> Result<Self, Invalid> {
        let reset_code = match line.reset_code {
            Some(ResetCodeLine { digest, expires_at }) => {
                let digest = ResetDigest::from_store(bytes(&digest, "the digest of a reset code")?);
                Some((digest, time(expires_at)))
            }
            None => None,
        };
        let user = User {
            id: parsed(&line.id, "the id of a user")?,
            name: Name::from_store(line.name),
            email: Email::from_store(line.email),
            email_verified: line.email_verified,
            password_hash: line.password_hash.map(PasswordHash::from_store),
            password_version: PasswordVersion::from_store(line.password_version),
            roles: Roles::from_store(&line.roles),
            disabled: line.disabled,
            created_at: time(line.created_at),
            updated_at: time(line.updated_at),
            last_login_at: line.last_login_at.map(time),
        };
        let known_networks = KnownNetworks::from_store(&line.known_networks);
        let hash_imported_at = line.hash_imported_at.map(time);
        Ok(Self { user, reset_code, known_networks, hash_imported_at })
    }
}

impl From<Session> for Line {
    fn from(session: Session) -> Self {
        let Session {
            id,
            user_id,
            token_id,
            created_at,
            last_seen_at,
            expires_at,
            idle_timeout,
            origin: Origin { address, user_agent },
        } = session;
        Self::Session(SessionLine {
            id: id.to_string(),
            user_id: user_id.to_string(),
            token_id: token_id.to_string(),
            created_at: created_at.millis(),
            last_seen_at: last_seen_at.millis(),
            expires_at: expires_at.millis(),
            idle_timeout_ms: idle_timeout
                .map(|timeout| u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX)),
            address: address.to_string(),
            user_agent,
        })
    }
}

impl TryFrom<SessionLine> for Session {
    type Error = Invalid;

    fn try_from(line: SessionLine) -> Result<Self, Invalid> {
        Ok(Self {
            id: parsed(&line.id, "the id of a session")?,
            user_id: parsed(&line.user_id, "the user of a session")?,
            token_id: parsed(&line.token_id, "the token of a session")?,
            created_at: time(line.created_at),
            last_seen_at: time(line.last_seen_at),
            expires_at: time(line.expires_at),
            idle_timeout: line.idle_timeout_ms.map(std::time::Duration::from_millis),
            origin: Origin {
                address: parsed(&line.address, "the address of a session")?,
                user_agent: line.user_agent,
            },
        })
    }
}

impl From<(TokenId, Timestamp)> for Line {
    fn from((token, at): (TokenId, Timestamp)) -> Self {
        Self::EndedToken(EndedTokenLine { token_id: token.to_string(), ended_at: at.millis() })
    }
}

impl TryFrom<EndedTokenLine> for (TokenId, Timestamp) {
    type Error = Invalid;

    fn try_from(line: EndedTokenLine) -> Result<Self, Invalid> {
        Ok((parsed(&line.token_id, "the id of an ended token")?, time(line.ended_at)))
    }
}

impl From<OneTime> for Line {
    fn from(one_time: OneTime) -> Self {
        let OneTime {
            id,
            purpose,
            user_id,
            email,
            user_email,
            password_version,
            digest,
            expires_at,
            guesses,
        } = one_time;
        Self::OneTime(OneTimeLine {
            id: id.to_string(),
            purpose: purpose.as_str().to_owned(),
            user_id: user_id.to_string(),
            email: email.as_str().to_owned(),
            user_email: user_email.as_str().to_owned(),
            password_version: password_version.number(),
            digest: BASE64_STANDARD.encode(digest.as_bytes()),
            expires_at: expires_at.millis(),
            guesses,
        })
    }
}

impl TryFrom<OneTimeLine> for OneTime {
    type Error = Invalid;

    fn try_from(line: OneTimeLine) -> Result<Self, Invalid> {
        let purpose = Purpose::from_store(&line.purpose);
        let digest = bytes(&line.digest, "the digest of a one-time secret")?;
        Ok(Self {
            id: parsed(&line.id, "the id of a one-time secret")?,
            purpose: purpose.ok_or(Invalid("the purpose of a one-time secret"))?,
            user_id: parsed(&line.user_id, "the user of a one-time secret")?,
            email: Email::from_store(line.email),
            user_email: Email::from_store(line.user_email),
            password_version: PasswordVersion::from_store(line.password_version),
            digest: SecretDigest::from_store(digest),
            expires_at: time(line.expires_at),
            guesses: line.guesses,
        })
    }
}

impl From<QueuedMail> for Line {
    fn from(queued: QueuedMail) -> Self {
        let QueuedMail { mail, attempts, due_at, failure, given_up_at } = queued;
        let Mail { id, user_id, recipient, language, message, created_at, expires_at } = mail;
        Self::Mail(MailLine {
            id: id.to_string(),
            user_id: user_id.map(|id| id.to_string()),
            recipient: recipient.as_str().to_owned(),
            language: language.tag().to_owned(),
            message,
            created_at: created_at.millis(),
            expires_at: expires_at.millis(),
            attempts,
            due_at: due_at.millis(),
            failure,
            given_up_at: given_up_at.map(Timestamp::millis),
        })
    }
}

impl TryFrom<MailLine> for QueuedMail {
    type Error = Invalid;

    fn try_from(line: MailLine) -> Result<Self, Invalid> {
        let user_id = line.user_id.as_deref().map(|id| parsed(id, "the user of a mail"));
        let mail = Mail {
            id: parsed(&line.id, "the id of a mail")?,
            user_id: user_id.transpose()?,
            recipient: Email::from_store(line.recipient),
            language: Language::negotiate(Some(&line.language)),
            message: line.message,
            created_at: time(line.created_at),
            expires_at: time(line.expires_at),
        };
        Ok(Self {
            mail,
            attempts: line.attempts,
            due_at: time(line.due_at),
            failure: line.failure,
            given_up_at: line.given_up_at.map(time),
        })
    }
}

impl From<(Invitation, SecretDigest)> for Line {
    fn from((invitation, digest): (Invitation, SecretDigest)) -> Self {
        let Invitation { id, email, roles, invited_by, is_mailed, created_at, expires_at, guesses } =
            invitation;
        Self::Invitation(InvitationLine {
            id: id.to_string(),
            email: email.as_str().to_owned(),
            roles: roles.to_text(),
            invited_by: invited_by.map(|id| id.to_string()),
            is_mailed,
            created_at: created_at.millis(),
            expires_at: expires_at.millis(),
            digest: BASE64_STANDARD.encode(digest.as_bytes()),
            guesses,
        })
    }
}

impl TryFrom<InvitationLine> for (Invitation, SecretDigest) {
    type Error = Invalid;

    fn try_from(line: InvitationLine) -> Result<Self, Invalid> {
        let invited_by = line.invited_by.as_deref().map(|id| parsed(id, "who has invited"));
        let invitation = Invitation {
            id: parsed(&line.id, "the id of an invitation")?,
            email: Email::from_store(line.email),
            roles: Roles::from_store(&line.roles),
            invited_by: invited_by.transpose()?,
            is_mailed: line.is_mailed,
            created_at: time(line.created_at),
            expires_at: time(line.expires_at),
            guesses: line.guesses,
        };
        let digest = bytes(&line.digest, "the digest of an invitation")?;
        Ok((invitation, SecretDigest::from_store(digest)))
    }
}
