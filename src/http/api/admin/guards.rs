//! `/api/admin/guards`: the guards in force, what they decide, and reading them again.

use std::{borrow::Cow, collections::BTreeMap, net::IpAddr, time::Duration};

use axum::{
    extract::{Path, State},
    http::StatusCode,
};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Doorward,
    access::guard::{self, ExampleRequest, Mode},
    account::{
        guard_check::{self, BrowserCheck, GuardDecision, SampleSession},
        guard_reload, look_up,
    },
    fault::Fault,
    http::{
        Error,
        admin::{Admin, GuardsRead, OperatorOnly},
        answer::NoStore,
        form::{FieldType, FormContext, Json, JsonForm, form, json},
    },
    session::Method,
};

/// All guards.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Guards {
    pub guards: Vec<ListedGuard>,
}

/// A guard, and what it has decided.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Guard")]
pub struct ListedGuard {
    #[serde(flatten)]
    pub guard: Guard,
    pub decisions: Decisions,
}

/// A guard as an administrator sees it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Guard {
    pub name: String,
    /// Changes with the declaration.
    pub version: String,
    /// The condition.
    pub allow: String,
    /// Whether it admits everybody and only reports refusals (`mode = "report"`).
    pub only_reports: bool,
    /// Whether it admits API keys (`keys = true`).
    pub takes_keys: bool,
    /// The origins of its app, where people sign in with a browser.
    pub origins: Vec<String>,
    /// The headers of its app: names and expressions.
    pub headers: BTreeMap<String, String>,
    /// What is valid but probably wrong.
    pub warning: Option<String>,
}

impl From<&guard::Guard> for Guard {
    fn from(guard: &guard::Guard) -> Self {
        Self {
            name: guard.name.clone(),
            version: guard.version.clone(),
            allow: guard.condition.text().to_owned(),
            only_reports: guard.mode == Mode::Report,
            takes_keys: guard.keys,
            origins: guard.origins.iter().map(ToString::to_string).collect(),
            headers: guard
                .headers
                .expressions()
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
                .collect(),
            warning: guard.warning(),
        }
    }
}

/// How many requests a guard has decided about since this instance has started.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decisions {
    pub admitted: u64,
    /// Admitted although they would be refused, because the guard only reports.
    pub report_only: u64,
    /// Nobody was signed in, or another site has caused the request.
    pub unauthenticated: u64,
    pub refused: u64,
    /// The browser was on its way through sign-in, or to sign-out.
    pub signing_in: u64,
    /// The guard could not decide.
    pub unavailable: u64,
}

impl From<&guard::Decisions> for Decisions {
    fn from(decisions: &guard::Decisions) -> Self {
        use guard::Decision;
        Self {
            admitted: decisions.value(Decision::Admitted),
            report_only: decisions.value(Decision::ReportOnly),
            unauthenticated: decisions.value(Decision::Unauthenticated),
            refused: decisions.value(Decision::Refused),
            signing_in: decisions.value(Decision::SigningIn),
            unavailable: decisions.value(Decision::Unavailable),
        }
    }
}

/// Whom and what to decide about.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GuardCheck {
    /// The user, by id or e-mail address.
    pub user: String,
    /// How the user has proved who they are. By default as if they had just signed in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub factors: Option<Vec<String>>,
    /// How many seconds ago. By default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified_seconds_ago: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<SampleRequest>,
}

/// A request to try a guard with.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct SampleRequest {
    /// The method; `GET` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// The host; `localhost` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// The path; `/` by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The address of the client; the loopback address by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<IpAddressText>")]
    pub address: Option<IpAddr>,
}

/// How an address is written.
struct IpAddressText;

impl JsonSchema for IpAddressText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "IpAddress".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "anyOf": [{ "format": "ipv4" }, { "format": "ipv6" }] })
    }
}

form! {
    pub(in crate::http) struct GuardCheckForm as "GuardCheck" {
        /// The id or the e-mail address of a user.
        user: String,
        /// How the user has signed in. By default as they just would: with the password, and with a second factor if they hold one.
        factors: Option<MethodNames>,
        /// How long ago. By default 0.
        verified_ago as "verifiedSecondsAgo": Option<SecondsAgo>,
        request: Option<Json<SampleRequest>>,
        ..Refused
    }
}

/// The names of methods.
pub(in crate::http) struct MethodNames;

impl FieldType for MethodNames {
    type Parsed = Vec<Method>;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Vec<Method>, Fault> {
        let names: Vec<String> = json(sent)?;
        let methods = guard_check::methods_by_name(names.iter().map(String::as_str));
        methods.map_err(|error| Fault::malformed(error.to_string()))
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        let names = Method::ALL.map(Method::name);
        json_schema!({ "type": "array", "items": { "type": "string", "enum": names } })
    }
}

/// A number of seconds.
pub(in crate::http) struct SecondsAgo;

impl FieldType for SecondsAgo {
    type Parsed = Duration;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Duration, Fault> {
        json(sent).map(Duration::from_secs)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX })
    }
}

impl From<SampleRequest> for ExampleRequest {
    fn from(request: SampleRequest) -> Self {
        let SampleRequest { method, host, path, address } = request;
        Self { method, host, path, scheme: None, address }
    }
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<GuardsRead>,
) -> NoStore<Guards> {
    listed(&doorward)
}

/// Shows how a guard decides about a user. Nothing is recorded.
pub(in crate::http) async fn check(
    State(doorward): State<Doorward>,
    _: Admin<GuardsRead>,
    Path(name): Path<String>,
    form: JsonForm<GuardCheckForm>,
) -> Result<NoStore<GuardDecision>, Error> {
    let GuardCheckForm { user, factors, verified_ago, request } = form.read(&doorward)?;
    let verified_ago = verified_ago.unwrap_or_default();
    let session = SampleSession { methods: factors, verified_ago };
    // Another status than that of an unknown guard.
    let no_such_user =
        || Error::NotDone(StatusCode::UNPROCESSABLE_ENTITY, "There is no such user.".into());
    let user = look_up::user_by_id_or_email(&doorward, &user).await?.ok_or_else(no_such_user)?;
    let guards = doorward.guards();
    let guard = guards.by_name(&name).ok_or(Error::NotFound)?;
    let request = request.unwrap_or_default().into();
    let decision = guard_check::decide(&doorward, guard, user, &session, &request);
    Ok(NoStore(StatusCode::OK, decision))
}

/// Shows what a guard lacks to sign people in with a browser.
pub(in crate::http) async fn check_browsers(
    State(doorward): State<Doorward>,
    _: Admin<GuardsRead>,
    Path(name): Path<String>,
) -> Result<NoStore<BrowserCheck>, Error> {
    let guards = doorward.guards();
    let guard = guards.by_name(&name).ok_or(Error::NotFound)?;
    let check = guard_check::browsers(guard, doorward.settings(), &doorward.public_base());
    Ok(NoStore(StatusCode::OK, check))
}

/// Reads the guards from the settings file again.
pub(in crate::http) async fn reload(
    State(doorward): State<Doorward>,
    operator: OperatorOnly,
) -> Result<NoStore<Guards>, Error> {
    guard_reload::reload(&doorward, &*operator.read_settings, &operator.administrator)
        .map_err(|error| Error::NotDone(StatusCode::UNPROCESSABLE_ENTITY, error.to_string()))?;
    Ok(listed(&doorward))
}

fn listed(doorward: &Doorward) -> NoStore<Guards> {
    let decided: BTreeMap<_, _> = doorward.counts().declared_guards().into_iter().collect();
    let guards = doorward.guards();
    let guards = guards.iter().map(|guard| ListedGuard {
        guard: guard.into(),
        decisions: decided.get(&guard.name).map(|decided| (&**decided).into()).unwrap_or_default(),
    });
    NoStore(StatusCode::OK, Guards { guards: guards.collect() })
}
