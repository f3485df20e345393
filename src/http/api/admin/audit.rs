//! `/api/admin/audit`: the audit trail, its checkpoint, proofs, a verification and its export.

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderValue, StatusCode, header},
    response::Response,
};
use futures_util::stream;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Doorward,
    account::audit::{self, AuditEvent, DayCounts},
    audit::{Record, Report, SignedCheckpoint, VerifierKey, to_ocsf},
    event::{Administrator, EventId},
    fault::Fault,
    http::{
        Error,
        admin::{Admin, AuditRead},
        answer::{NO_STORE, NOSNIFF, NoStore},
        audit_filter::{EventFilter, not},
        description::{JsonLines, Sent},
        form::{FieldType, Flattened, FormContext, JsonForm, form, text},
        query::{Limit, Query},
        slow_answer,
        standing::Standing,
    },
};

/// A page of events.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditEvents")]
pub struct ListedEvents {
    /// Newest first.
    pub events: Vec<ListedEvent>,
    /// The value of `after` for the next page, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An event as an administrator sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditEvent")]
pub struct ListedEvent {
    /// The place in the tree. Missing for up to a minute.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    #[serde(flatten)]
    pub record: Record,
}

impl From<AuditEvent> for ListedEvent {
    fn from(event: AuditEvent) -> Self {
        Self { number: event.number, record: event.record }
    }
}

/// How much happened on each day.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditDays")]
pub struct ListedDays {
    pub days: Vec<DayCounts>,
}

/// The signed state of the trail, and the keys that verify it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "AuditCheckpoint")]
pub struct PublishedCheckpoint {
    /// The text of C2SP `tlog-checkpoint`.
    pub checkpoint: String,
    /// The public key of the log, as a `vkey` of C2SP `signed-note`.
    pub key: String,
    /// The public key with which this installation cosigns the checkpoints of others.
    pub witness_key: String,
}

/// A proof that an event is in the trail.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "AuditProof")]
pub struct PublishedProof {
    /// The text of C2SP `tlog-proof`.
    pub proof: String,
    /// The public key that verifies it.
    pub key: String,
}

/// What to compare the trail with.
#[derive(Debug, Serialize, Deserialize)]
pub struct VerificationRequest {
    /// Checkpoints, one after the other.
    pub checkpoints: String,
    /// The key that has signed them, if it is not that of the installation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

form! {
    pub(in crate::http) struct AuditQuery {
        /// The `next` of the previous page.
        after: Option<EventId>,
        /// How many at most.
        limit: Limit<50, 500>,
        events: Flattened<EventFilter>,
        ..Ignored
    }
}

form! {
    pub(in crate::http) struct ExportQuery {
        /// `jsonl`, or `ocsf` for the Open Cybersecurity Schema Framework.
        is_ocsf as "format": Option<ExportFormat>,
        events: Flattened<EventFilter>,
        ..Ignored
    }
}

/// Whether the format is OCSF.
pub(in crate::http) struct ExportFormat;

impl FieldType for ExportFormat {
    type Parsed = bool;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<bool, Fault> {
        match text(sent)?.as_str() {
            "jsonl" => Ok(false),
            "ocsf" => Ok(true),
            _ => Err(Fault::malformed("Expected jsonl or ocsf")),
        }
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": ["jsonl", "ocsf"] })
    }
}

form! {
    pub(in crate::http) struct VerificationForm as "AuditVerification" {
        /// Checkpoints that were kept elsewhere, one after the other.
        checkpoints: Option<Checkpoints>,
        /// The key that has signed them, if it is not that of the installation.
        key: Option<VerifierKey>,
    }
}

/// Checkpoints, one after the other.
pub(in crate::http) struct Checkpoints;

impl FieldType for Checkpoints {
    type Parsed = Vec<SignedCheckpoint>;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Vec<SignedCheckpoint>, Fault> {
        match text(sent)?.as_str() {
            "" => Ok(Vec::new()),
            text => SignedCheckpoint::parse_all(text)
                .map_err(|_| not("checkpoints, one after the other")),
        }
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        String::schema(generator)
    }
}

impl FieldType for VerifierKey {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        let key = text(sent)?.parse::<Self>();
        key.map_err(|error| Fault::malformed(error.to_string()))
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        String::schema(generator)
    }
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<AuditRead>,
    query: Query<AuditQuery>,
) -> Result<NoStore<ListedEvents>, Error> {
    let AuditQuery { after, limit, events } = query.read(&doorward)?;
    let filter = events.filter(&doorward).await?;
    let page = audit::list(&doorward, &filter, after, limit).await?;
    let next = page.next.map(|id| id.to_string());
    let events = page.events.into_iter().map(ListedEvent::from).collect();
    Ok(NoStore(StatusCode::OK, ListedEvents { events, next }))
}

/// The counts of the last 30 days.
pub(in crate::http) async fn days(
    State(doorward): State<Doorward>,
    _: Admin<AuditRead>,
) -> Result<NoStore<ListedDays>, Error> {
    let days = audit::days(&doorward, 30).await?;
    Ok(NoStore(StatusCode::OK, ListedDays { days }))
}

/// All events as JSON lines, the oldest first.
pub(in crate::http) async fn export(
    State(doorward): State<Doorward>,
    admin: Standing<Admin<AuditRead>, Doorward>,
    query: Query<ExportQuery>,
) -> Result<JsonLines, Error> {
    let events = query.read(&doorward)?;
    let answer = exported(doorward, events, &admin).await?;
    Ok(JsonLines(admin.guard(answer)))
}

/// The events that a query or a form asks for, as JSON lines.
pub(in crate::http) async fn exported(
    doorward: Doorward,
    ExportQuery { is_ocsf, events }: ExportQuery,
    by: &Administrator,
) -> Result<Response, Error> {
    let filter = events.filter(&doorward).await?;
    let is_ocsf = is_ocsf.unwrap_or(false);
    audit::record_export(&doorward, by, if is_ocsf { "ocsf" } else { "jsonl" }).await;
    // An error of the first page is answered. A later one cuts the body.
    let first = audit::export(&doorward, &filter, None, EXPORTED_AT_ONCE).await?;
    let state = (doorward, filter, Some(first));
    let pages = stream::unfold(state, move |(doorward, filter, page)| async move {
        let page = page?;
        let lines = page.events.into_iter().map(|event| line(event, is_ocsf)).collect::<String>();
        let next = match page.next {
            None => None,
            Some(after) => {
                match audit::export(&doorward, &filter, Some(after), EXPORTED_AT_ONCE).await {
                    Ok(page) => Some(page),
                    Err(error) => {
                        tracing::warn!(%error, "the export of the audit trail is not complete");
                        return Some((Err(error), (doorward, filter, None)));
                    }
                }
            }
        };
        Some((Ok(Bytes::from(lines)), (doorward, filter, next)))
    });
    let mut response = Response::new(Body::from_stream(pages));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"));
    headers.insert(header::CACHE_CONTROL, NO_STORE);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
    Ok(response)
}

/// How many events of an export are read at once.
const EXPORTED_AT_ONCE: usize = 1000;

fn line(event: AuditEvent, is_ocsf: bool) -> String {
    let text = match is_ocsf {
        true => serde_json::to_string(&to_ocsf(&event.record, event.number)),
        false => serde_json::to_string(&ListedEvent::from(event)),
    };
    format!("{}\n", text.expect("an event serialises to JSON"))
}

pub(in crate::http) async fn checkpoint(
    State(doorward): State<Doorward>,
    _: Admin<AuditRead>,
) -> Result<NoStore<PublishedCheckpoint>, Error> {
    let checkpoint = audit::checkpoint(&doorward).await?.to_string();
    let key = doorward.audit_key().public().to_string();
    let witness_key = doorward.audit_key().public_of_witness().to_string();
    Ok(NoStore(StatusCode::OK, PublishedCheckpoint { checkpoint, key, witness_key }))
}

pub(in crate::http) async fn prove(
    State(doorward): State<Doorward>,
    _: Admin<AuditRead>,
    Path(id): Path<String>,
) -> Result<NoStore<PublishedProof>, Error> {
    let id = id.parse().map_err(|_| Error::NotFound)?;
    let proof = audit::prove(&doorward, id).await?.ok_or(Error::NotFound)?.to_string();
    let key = doorward.audit_key().public().to_string();
    Ok(NoStore(StatusCode::OK, PublishedProof { proof, key }))
}

/// Compares the trail with checkpoints that somebody has kept.
pub(in crate::http) async fn verify(
    State(doorward): State<Doorward>,
    standing: Standing<Admin<AuditRead>, Doorward>,
    form: JsonForm<VerificationForm>,
) -> Result<Sent<Report>, Error> {
    let VerificationForm { checkpoints, key } = form.read(&doorward)?;
    let checkpoints = checkpoints.unwrap_or_default();
    let by = Administrator::clone(&standing);
    let verified = async move { audit::verify(&doorward, checkpoints, key, &by).await };
    Ok(slow_answer::answer(standing, verified).await?.into())
}
