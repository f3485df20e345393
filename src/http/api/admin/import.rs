//! `POST /api/admin/import`: adds users of another system. Each line of the body is a user, and each line of the answer says what came
//! of one. The body is a stream, of which only some lines are in memory. Lines are imported in batches, each in one transaction.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use axum::{
    body::{Body, BodyDataStream},
    extract::{Request, State},
    http::header,
    response::IntoResponse,
};
use bytes::Bytes;
use chrono::DateTime;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use zeroize::Zeroizing;

use crate::{
    Doorward,
    account::{
        import::{self, IdentityToImport, ImportOptions, Imported, UserToImport},
        order::ImportUsers,
    },
    clock::Timestamp,
    credential::{
        password::{HashOptions, PasswordHash},
        totp::TotpSecret,
    },
    event::Actor,
    federation::{Login, printable},
    http::{
        Error,
        admin::Admin,
        answer::NO_STORE,
        description::JsonLines,
        error::ROLE_BEYOND_AUTHORITY,
        form::form,
        query::{Flag, Query},
        spooled::JSON_LINES,
        standing::Standing,
    },
    store::MAX_IDENTITIES,
    user::{Email, Identity, IdentityId, MAX_ROLES, Name, Role, Roles, User},
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
    /// The accounts at other providers by which the user signs in.
    #[serde(default)]
    pub identities: Vec<IdentityRecord>,
}

/// An account at another provider by which an imported user signs in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct IdentityRecord {
    /// The name of its login. Without one, it is the login with this issuer.
    #[serde(default)]
    pub login: Option<String>,
    pub issuer: String,
    pub subject: String,
    /// What the person recognises it by; the subject, if there is nothing better.
    #[serde(default)]
    pub display: Option<String>,
    /// Those of the user's roles that they have only by it, until they sign in with it.
    #[serde(default)]
    pub roles: Vec<String>,
    /// When it was linked, and last used; as above.
    #[serde(default, serialize_with = "to_text", deserialize_with = "from_text")]
    pub created_at: Option<i64>,
    #[serde(default, serialize_with = "to_text", deserialize_with = "from_text")]
    pub last_used_at: Option<i64>,
}

/// The most bytes of an issuer, as long as one in the settings can be.
const MAX_ISSUER: usize = 512;
/// The most bytes of a subject, as OpenID Connect has it.
const MAX_SUBJECT: usize = 255;

impl IdentityRecord {
    /// What is not valid, whoever has it.
    pub fn fault(&self) -> Option<&'static str> {
        let Self { login, issuer, subject, .. } = self;
        let is_url = issuer.starts_with("https://") || issuer.starts_with("http://");
        let is_visible = issuer.bytes().all(|byte| byte.is_ascii_graphic());
        let has_name = login.as_deref().is_none_or(Login::is_name);
        let is_subject = (1..=MAX_SUBJECT).contains(&subject.len()) && !subject.contains('\0');
        [
            (is_url && is_visible && issuer.len() <= MAX_ISSUER, "issuer"),
            (is_subject, "subject"),
            (has_name, "login"),
        ]
        .into_iter()
        .find_map(|(is_valid, field)| (!is_valid).then_some(field))
    }
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
    /// The user was not added, because the user with this address has one of the identities.
    IdentityTaken {
        email: String,
    },
    /// The user was not added, because these roles administer: such users are added if the query has `adminRoles=true`.
    Administers {
        roles: Vec<String>,
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
            Imported::IdentityTaken(email) => {
                Self::IdentityTaken { email: email.as_str().to_owned() }
            }
            Imported::Administers(roles) => Self::Administers { roles },
            Imported::BeyondAuthority => Self::Invalid { problem: ROLE_BEYOND_AUTHORITY.into() },
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

/// The most bytes of an answer that is held back, enough for 400,000 users.
const MAX_HELD_BYTES: usize = 16 << 20;
/// The last attempt to write a batch ends before the time of the command does.
const LAST_ATTEMPT_AFTER: Duration = Duration::from_secs(15);

form! {
    pub(in crate::http) struct UserImportQuery {
        /// Only find out what would happen.
        check: Option<Flag>,
        /// Add users as well whose roles let them administer.
        admin_roles as "adminRoles": Option<Flag>,
    }
}

/// The command on this machine gets a line soon after it has sent one. Any other answer begins when the whole body has arrived: many
/// programs, and proxies such as nginx, read no answer while they send, or stop sending when an answer begins.
pub(in crate::http) async fn import(
    standing: Standing<Admin<ImportUsers>, Doorward>,
    State(doorward): State<Doorward>,
    query: Query<UserImportQuery>,
    request: Request,
) -> Result<JsonLines, Error> {
    let UserImportQuery { check, admin_roles } = query.read(&doorward)?;
    let is_command = matches!(standing.actor, Actor::Operator(_));
    let running = Running {
        doorward,
        standing,
        options: ImportOptions {
            only_check: check.unwrap_or_default(),
            admin_roles: admin_roles.unwrap_or_default(),
        },
        lines: Lines::new(request.into_body()),
        has_ended: false,
    };
    let answer = match is_command {
        true => Body::from_stream(stream::unfold(running, |mut running| async {
            let answered = running.next_batch().await?;
            Some((Ok::<_, std::convert::Infallible>(answered), running))
        })),
        false => running.whole_answer().await.into(),
    };
    let headers = [(header::CONTENT_TYPE, JSON_LINES), (header::CACHE_CONTROL, NO_STORE)];
    Ok(JsonLines((headers, answer).into_response()))
}

/// An import that is under way.
struct Running {
    doorward: Doorward,
    /// Whoever imports. Their rights are judged again for each batch, so a batch is the most that they import after they have lost
    /// them.
    standing: Standing<Admin<ImportUsers>, Doorward>,
    options: ImportOptions,
    lines: Lines,
    has_ended: bool,
}

/// What came of a batch: of each line, whether it is a user, and of each user.
struct Batch {
    users: Vec<Result<UserToImport, String>>,
    imported: Vec<Imported>,
}

impl Running {
    /// Imports everything, and returns all lines of the answer.
    async fn whole_answer(mut self) -> Vec<u8> {
        let mut answer = Vec::new();
        while let Some(lines) = self.next_batch().await {
            answer.extend_from_slice(&lines);
            if answer.len() > MAX_HELD_BYTES && !self.has_ended {
                self.has_ended = true;
                let problem = "the file is too large for one request: send the rest in another one";
                answer.extend(told(self.lines.number + 1, failed(problem)));
            }
        }
        answer
    }

    /// Imports the next batch, and returns the lines of the answer.
    async fn next_batch(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        let (mut lines, mut ending) = (Vec::new(), None);
        let (first, mut bytes) = (self.lines.number + 1, 0);
        while lines.len() < BATCH_LINES && bytes < MAX_BYTES {
            match self.lines.next().await {
                Ok(Some(line)) => {
                    bytes += line.len();
                    lines.push(line);
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
        let mut outcomes = Vec::new();
        match self.import(&lines).await {
            Ok(Batch { users, imported }) => {
                let mut imported = imported.into_iter();
                outcomes.extend(users.into_iter().filter_map(|user| match user {
                    Ok(_) => imported.next().map(ImportOutcome::from),
                    Err(problem) => Some(ImportOutcome::Invalid { problem }),
                }));
            }
            Err(problem) => ending = Some(problem),
        }
        if let Some(problem) = ending {
            self.has_ended = true;
            outcomes.push(ImportOutcome::Failed { problem });
        }
        let answer: Vec<u8> =
            (first..).zip(outcomes).flat_map(|(line, outcome)| told(line, outcome)).collect();
        (!answer.is_empty()).then(|| answer.into())
    }

    /// Imports a batch, if whoever sent it may still do so. Waits for a database that is unavailable for some seconds: whoever was
    /// added before is found.
    async fn import(&mut self, lines: &[Zeroizing<Vec<u8>>]) -> Result<Batch, String> {
        let started = Instant::now();
        loop {
            let failure = match self.try_import(lines).await {
                Ok(batch) => return Ok(batch),
                Err(failure) => failure,
            };
            if !matches!(failure, Error::Unavailable(_)) || started.elapsed() >= LAST_ATTEMPT_AFTER
            {
                return Err(problem_of(failure));
            }
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    async fn try_import(&mut self, lines: &[Zeroizing<Vec<u8>>]) -> Result<Batch, Error> {
        self.standing.renew().await?;
        let users: Vec<_> = lines.iter().map(|line| self.parse(line)).collect();
        let valid: Vec<_> = users.iter().filter_map(|user| user.as_ref().ok().cloned()).collect();
        let imported = match valid.is_empty() {
            true => Vec::new(),
            false => import::import(&self.doorward, &valid, self.options, &self.standing).await?,
        };
        Ok(Batch { users, imported })
    }

    fn parse(&self, line: &[u8]) -> Result<UserToImport, String> {
        let record: UserRecord =
            serde_json::from_slice(line).map_err(|error| format!("not a user: {error}"))?;
        to_user(&self.doorward, &record)
            .map_err(|field| format!("{field} is not valid: correct it"))
    }
}

fn failed(problem: &str) -> ImportOutcome {
    ImportOutcome::Failed { problem: problem.to_owned() }
}

/// A line of the answer.
fn told(line: u64, outcome: ImportOutcome) -> Vec<u8> {
    let told = ImportedLine { line, outcome };
    let mut text = serde_json::to_vec(&told).expect("an outcome is valid JSON");
    text.push(b'\n');
    text
}

/// Why an import ends.
fn problem_of(failure: Error) -> String {
    match failure {
        Error::SignInAgain => {
            "the sign-in is too long ago: sign in again, and send this line and the rest once more"
                .to_owned()
        }
        Error::Unauthorized(..) => {
            "you may not import users any more: this line and the rest were not imported".to_owned()
        }
        Error::Unavailable(cause) | Error::Internal(cause) | Error::NotDone(_, cause) => cause,
        failure => failure.status().to_string(),
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
    let identities = to_identities(doorward, &user, &record.identities)?;
    let is_created_at_known = record.created_at.is_some();
    Ok(UserToImport { user, totp, identities, is_created_at_known })
}

/// The identities in a record, or what is not valid.
fn to_identities(
    doorward: &Doorward,
    user: &User,
    records: &[IdentityRecord],
) -> Result<Vec<IdentityToImport>, &'static str> {
    let mut keys = BTreeSet::new();
    if records.len() > MAX_IDENTITIES
        || !records.iter().all(|record| keys.insert((&record.issuer, &record.subject)))
    {
        return Err("identities");
    }
    records.iter().map(|record| to_identity(doorward, user, record)).collect()
}

fn to_identity(
    doorward: &Doorward,
    user: &User,
    record: &IdentityRecord,
) -> Result<IdentityToImport, &'static str> {
    match record.fault() {
        None => {}
        Some("issuer") => return Err("identities.issuer"),
        Some("subject") => return Err("identities.subject"),
        Some(_) => return Err("identities.login"),
    }
    let declared = || Some(doorward.logins().by_issuer(&record.issuer)?.name.clone());
    let login = record.login.clone().or_else(declared).ok_or("identities.login")?;
    let gives: Option<Roles> = record.roles.iter().map(|role| Role::parse(role)).collect();
    let gives = gives.filter(|gives| gives.iter().all(|role| user.roles.contains(role)));
    let display = record.display.as_deref().map(printable).filter(|display| !display.is_empty());
    let identity = Identity {
        id: IdentityId::random(),
        user_id: user.id,
        issuer: record.issuer.clone(),
        subject: record.subject.clone(),
        login,
        display: display.unwrap_or_else(|| printable(&record.subject)),
        created_at: record.created_at.map_or_else(|| doorward.now(), Timestamp::from_millis),
        last_used_at: record.last_used_at.map(Timestamp::from_millis),
    };
    Ok(IdentityToImport { identity, gives: gives.ok_or("identities.roles")? })
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
