//! `POST /api/admin/import`: adds users of another system. Each line of the body is a user, and each line of the answer says what came
//! of one. Both are streams: a line is answered soon after it has arrived, and only some lines are in memory. Lines are imported in
//! batches, each in one transaction.

use std::time::Duration;

use axum::{
    body::{Body, BodyDataStream},
    extract::{Request, State},
    http::header,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use chrono::DateTime;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use zeroize::Zeroizing;

use super::target::BEYOND_OWN_RIGHTS;
use crate::{
    Doorward,
    access::{guard::MAX_ROLES, scope::Scopes},
    account::import::{self, Imported, UserToImport},
    clock::Timestamp,
    credential::{
        password::{HashOptions, PasswordHash},
        totp::TotpSecret,
    },
    event::Administrator,
    http::{
        Error,
        admin::{FreshAdmin, UsersWrite},
        answer::NO_STORE,
        query::Query,
        spooled::JSON_LINES,
    },
    user::{Email, Name, Role, Roles, User},
};

/// A user of another system. The fields are those of an export.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserRecord {
    pub id: String,
    pub name: String,
    pub email: String,
    /// Whether the address is verified.
    #[serde(default)]
    pub verified: bool,
    #[serde(default)]
    pub roles: Vec<String>,
    #[serde(default)]
    pub disabled: bool,
    /// When the user registered, in milliseconds since 1970; now, if it is not known.
    #[serde(default, serialize_with = "to_text", deserialize_with = "from_text")]
    pub created_at: Option<i64>,
    /// When the record last changed; as above.
    #[serde(default, serialize_with = "to_text", deserialize_with = "from_text")]
    pub updated_at: Option<i64>,
    #[serde(default, serialize_with = "to_text", deserialize_with = "from_text")]
    pub last_login_at: Option<i64>,
    /// The password hash in the form in which it is stored.
    #[serde(default)]
    pub hash: Option<Zeroizing<String>>,
    /// The secret of an authenticator app, in base32.
    #[serde(default)]
    pub totp_secret: Option<Zeroizing<String>>,
}

/// Times are RFC 3339, as in an export.
#[expect(clippy::ref_option, reason = "serde calls it so")]
fn to_text<S: Serializer>(millis: &Option<i64>, serializer: S) -> Result<S::Ok, S::Error> {
    millis.map(|millis| Timestamp::from_millis(millis).to_string()).serialize(serializer)
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<i64>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    let parse = |text: String| DateTime::parse_from_rfc3339(&text);
    let time = text.map(parse).transpose().map_err(D::Error::custom)?;
    Ok(time.map(|time| time.timestamp_millis()))
}

/// What came of the user in one line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportedLine {
    /// The number of the line, from 1.
    pub line: u64,
    #[serde(flatten)]
    pub outcome: ImportOutcome,
}

/// What came of an imported user.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "camelCase")]
pub enum ImportOutcome {
    /// The user was added, or would be.
    Added,
    Exists,
    /// The user exists and has other values in these fields.
    Differs {
        fields: Vec<String>,
    },
    EmailTaken,
    /// The user with this address has the id.
    IdTaken {
        email: String,
    },
    /// The line is not a user.
    Invalid {
        problem: String,
    },
    /// The import has ended before this line, which was not read.
    Failed {
        problem: String,
    },
}

impl From<Imported> for ImportOutcome {
    fn from(imported: Imported) -> Self {
        match imported {
            Imported::Added => Self::Added,
            Imported::Exists => Self::Exists,
            Imported::EmailTaken => Self::EmailTaken,
            Imported::IdTaken(email) => Self::IdTaken { email: email.as_str().to_owned() },
            Imported::Differs(fields) => {
                Self::Differs { fields: fields.into_iter().map(str::to_owned).collect() }
            }
        }
    }
}

/// The most users of a batch.
const BATCH_LINES: usize = 500;
/// The most bytes of a line, and those after which a batch is full.
const MAX_BYTES: usize = 64 << 10;
/// The most time between two parts of the body.
const ARRIVES_WITHIN: Duration = Duration::from_secs(60);

pub(in crate::http) async fn import(
    State(doorward): State<Doorward>,
    admin: FreshAdmin<UsersWrite>,
    mut query: Query,
    request: Request,
) -> Result<Response, Error> {
    let check = query.flag("check");
    let (Ok(check), Ok(())) = (check, query.0.reject_misspelled()) else {
        return Err(query.0.into_error());
    };
    let running = Running {
        doorward,
        by: Administrator::clone(&admin),
        scopes: admin.scopes(),
        only_check: check.unwrap_or_default(),
        lines: Lines::new(request.into_body()),
        has_ended: false,
    };
    let answer = stream::unfold(running, |mut running| async {
        let answered = running.next_batch().await?;
        Some((Ok::<_, std::convert::Infallible>(answered), running))
    });
    let headers = [(header::CONTENT_TYPE, JSON_LINES), (header::CACHE_CONTROL, NO_STORE)];
    Ok((headers, Body::from_stream(answer)).into_response())
}

/// An import that is under way.
struct Running {
    doorward: Doorward,
    by: Administrator,
    scopes: Scopes,
    only_check: bool,
    lines: Lines,
    has_ended: bool,
}

impl Running {
    /// Imports the next batch, and returns the lines of the answer.
    async fn next_batch(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        let (mut batch, mut ending) = (Vec::new(), None);
        let (first, mut bytes) = (self.lines.number + 1, 0);
        while batch.len() < BATCH_LINES && bytes < MAX_BYTES {
            match self.lines.next().await {
                Ok(Some(line)) => {
                    bytes += line.len();
                    batch.push(self.parse(&line));
                }
                Ok(None) => {
                    self.has_ended = true;
                    break;
                }
                Err(problem) => {
                    ending = Some(problem);
                    break;
                }
            }
        }
        let users: Vec<_> = batch.iter().filter_map(|user| user.as_ref().ok().cloned()).collect();
        let imported = match users.is_empty() {
            true => Ok(Vec::new()),
            false => import::import(&self.doorward, &users, self.only_check, &self.by).await,
        };
        let (mut answer, mut line) = (Vec::new(), first);
        let mut tell = |outcome| {
            let told = ImportedLine { line, outcome };
            serde_json::to_writer(&mut answer, &told).expect("an outcome is valid JSON");
            answer.push(b'\n');
            line += 1;
        };
        match imported {
            Ok(imported) => {
                let mut imported = imported.into_iter();
                for user in batch {
                    match user {
                        Ok(_) => {
                            imported.next().map(ImportOutcome::from).into_iter().for_each(&mut tell)
                        }
                        Err(problem) => tell(ImportOutcome::Invalid { problem }),
                    }
                }
            }
            Err(error) => ending = Some(error.to_string()),
        }
        if let Some(problem) = ending {
            self.has_ended = true;
            tell(ImportOutcome::Failed { problem });
        }
        (!answer.is_empty()).then(|| answer.into())
    }

    fn parse(&self, line: &[u8]) -> Result<UserToImport, String> {
        let record: UserRecord =
            serde_json::from_slice(line).map_err(|error| format!("not a user: {error}"))?;
        let user = to_user(&self.doorward, &record)
            .map_err(|field| format!("{field} is not valid: correct it"))?;
        match self.doorward.settings().admin_roles.may_manage(self.scopes, &user.user.roles) {
            true => Ok(user),
            false => Err(BEYOND_OWN_RIGHTS.to_owned()),
        }
    }
}

/// The user in a record, or the field that is not valid.
fn to_user(doorward: &Doorward, record: &UserRecord) -> Result<UserToImport, &'static str> {
    let own_cost = doorward.settings().password_cost;
    let options = HashOptions { own_cost, scrypt: None };
    let hash = record.hash.as_ref().map(|hash| PasswordHash::import(hash, &options));
    let name = Name::parse(record.name.clone()).map_err(|_| "name")?;
    let email = Email::parse(record.email.clone()).map_err(|_| "email")?;
    let hash = hash.transpose().map_err(|_| "hash")?;
    let mut user = User::new(name, email, hash, doorward.now());
    user.id = record.id.parse().map_err(|_| "id")?;
    user.email_verified = record.verified;
    let roles: Option<Roles> = record.roles.iter().map(|role| Role::parse(role)).collect();
    user.roles = roles.filter(|roles| roles.iter().count() <= MAX_ROLES).ok_or("roles")?;
    user.disabled = record.disabled;
    user.created_at = record.created_at.map_or(user.created_at, Timestamp::from_millis);
    user.updated_at = record.updated_at.map_or(user.created_at, Timestamp::from_millis);
    user.last_login_at = record.last_login_at.map(Timestamp::from_millis);
    let totp = record.totp_secret.as_ref().map(|secret| TotpSecret::from_base32(secret));
    let totp = totp.map(|secret| secret.ok_or("totpSecret")).transpose()?;
    Ok(UserToImport { user, totp, is_created_at_known: record.created_at.is_some() })
}

/// The lines of a body.
struct Lines {
    body: BodyDataStream,
    /// What has arrived.
    arrived: Zeroizing<Vec<u8>>,
    /// How much of it was returned, and how much of it has no line end after that.
    returned: usize,
    searched: usize,
    /// The number of lines that were returned.
    number: u64,
    is_complete: bool,
}

impl Lines {
    fn new(body: Body) -> Self {
        Self {
            body: body.into_data_stream(),
            arrived: Zeroizing::default(),
            returned: 0,
            searched: 0,
            number: 0,
            is_complete: false,
        }
    }

    /// The next line, without its end.
    async fn next(&mut self) -> Result<Option<Zeroizing<Vec<u8>>>, String> {
        loop {
            if let Some(length) = memchr::memchr(b'\n', &self.arrived[self.searched..]) {
                let end = self.searched + length;
                return match end - self.returned {
                    MAX_BYTES.. => Err(too_long()),
                    _ => Ok(Some(self.take_line(end, end + 1))),
                };
            }
            self.searched = self.arrived.len();
            match self.searched - self.returned {
                0 if self.is_complete => return Ok(None),
                MAX_BYTES.. => return Err(too_long()),
                // The last line may have no end.
                _ if self.is_complete => {
                    return Ok(Some(self.take_line(self.searched, self.searched)));
                }
                _ => self.receive().await?,
            }
        }
    }

    fn take_line(&mut self, end: usize, next: usize) -> Zeroizing<Vec<u8>> {
        let line = Zeroizing::new(self.arrived[self.returned..end].to_vec());
        (self.returned, self.searched) = (next, next);
        self.number += 1;
        line
    }

    /// Waits for the next part of the body.
    async fn receive(&mut self) -> Result<(), String> {
        match tokio::time::timeout(ARRIVES_WITHIN, self.body.next()).await {
            Err(_) => return Err("nothing more has arrived within a minute".to_owned()),
            Ok(Some(Err(_))) => return Err("the body has not arrived as a whole".to_owned()),
            Ok(None) => self.is_complete = true,
            Ok(Some(Ok(part))) => {
                let kept = self.arrived.split_off(self.returned);
                let mut arrived = Zeroizing::new(Vec::with_capacity(kept.len() + part.len()));
                arrived.extend_from_slice(&Zeroizing::new(kept));
                arrived.extend_from_slice(&part);
                self.searched -= self.returned;
                self.returned = 0;
                self.arrived = arrived;
            }
        }
        Ok(())
    }
}

fn too_long() -> String {
    format!("the line has {MAX_BYTES} bytes or more")
}
