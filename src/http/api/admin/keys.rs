//! `/api/admin/keys`: the API keys of machines and people. A key makes no keys.

use axum::{
    extract::{Path, RawQuery, State, rejection::PathRejection},
    http::StatusCode,
};
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    account::keys::{self, LIFETIME, MadeKey, NewKey},
    config::parse_duration,
    fault::Fault,
    http::{
        Error,
        admin::{Admin, FreshAdmin, KeysRead, KeysWrite},
        answer::{NoContent, NoStore},
        form::Form,
    },
    user::{ApiKey, Name},
};

/// Some keys, the newest first.
#[derive(Debug, Serialize, Deserialize)]
pub struct ApiKeys {
    pub keys: Vec<ApiKeyInfo>,
    /// What `after` has to be for more.
    pub next: Option<String>,
}

/// A key as its owner and the operator see it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyInfo {
    pub id: String,
    /// `machine` or `personal`.
    pub kind: String,
    pub name: String,
    pub scopes: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<String>,
    /// The owner of a personal key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_id: Option<String>,
    pub created_at: String,
    pub expires_at: String,
    pub last_used_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
}

impl From<ApiKey> for ApiKeyInfo {
    fn from(key: ApiKey) -> Self {
        Self {
            id: key.id.to_string(),
            kind: key.kind().name().to_owned(),
            scopes: key.scopes.iter().map(str::to_owned).collect(),
            name: key.name,
            allow: key.condition,
            user_id: key.owner.map(|owner| owner.to_string()),
            created_at: key.created_at.to_string(),
            expires_at: key.expires_at.to_string(),
            last_used_at: key.last_used_at.map(|at| at.to_string()),
            revoked_at: key.revoked_at.map(|at| at.to_string()),
        }
    }
}

/// A new key. It is shown once.
#[derive(Serialize, Deserialize)]
pub struct CreatedApiKey {
    #[serde(flatten)]
    pub info: ApiKeyInfo,
    /// The key itself.
    pub key: String,
}

impl From<MadeKey> for CreatedApiKey {
    fn from(MadeKey { key, text }: MadeKey) -> Self {
        Self { info: key.into(), key: text.as_str().to_owned() }
    }
}

/// The key that a form asks for: `name`, `scopes`, `lifetime` and `allow`. Without scopes, it has this one.
pub(in crate::http) fn new_key(mut form: Form, scope: Option<&str>) -> Result<NewKey, Error> {
    let name = form.required("name", Name::parse);
    let scopes = form.object("scopes");
    let lifetime = form.optional("lifetime", |text| {
        let fault = || Fault::malformed("Must be a number with m, h or d, such as 90d");
        parse_duration(&text).ok_or_else(fault)
    });
    let allow = form.optional("allow", Ok);
    match (name, scopes, lifetime, allow, form.reject_misspelled()) {
        (Ok(name), Ok(scopes), Ok(lifetime), Ok(condition), Ok(())) => Ok(NewKey {
            name,
            scopes: scopes.unwrap_or_else(|| scope.into_iter().map(str::to_owned).collect()),
            lifetime: lifetime.unwrap_or(LIFETIME),
            condition,
        }),
        _ => Err(form.into_error()),
    }
}

/// The most keys in one answer.
const MAX_LISTED: usize = 200;

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<KeysRead>,
    RawQuery(query): RawQuery,
) -> Result<NoStore<ApiKeys>, Error> {
    let (mut after, mut user, mut limit) = (None, None, 50);
    for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        let malformed =
            |what| Error::Invalid(vec![(name.to_string().into(), Fault::malformed(what))]);
        match &*name {
            "after" => after = Some(value.parse().map_err(|_| malformed("Not an id"))?),
            "user" => user = Some(value.parse().map_err(|_| malformed("Not an id"))?),
            "limit" => limit = value.parse().map_err(|_| malformed("Not a number"))?,
            _ => {}
        }
    }
    let limit = limit.clamp(1, MAX_LISTED);
    let (keys, next) = match user {
        Some(user) => (keys::of_user(&doorward, user).await?, None),
        None => {
            let mut keys = keys::list(&doorward, after, limit + 1).await?;
            let has_more = keys.len() > limit;
            keys.truncate(limit);
            let last = keys.last().map(|key| key.id.to_string());
            (keys, last.filter(|_| has_more))
        }
    };
    let keys = keys.into_iter().map(ApiKeyInfo::from).collect();
    Ok(NoStore(StatusCode::OK, ApiKeys { keys, next }))
}

/// Makes a key of a machine.
pub(in crate::http) async fn create(
    State(doorward): State<Doorward>,
    by: FreshAdmin<KeysWrite>,
    form: Form,
) -> Result<NoStore<CreatedApiKey>, Error> {
    let made = keys::create_machine(&doorward, &by, by.scopes(), new_key(form, None)?).await?;
    Ok(NoStore(StatusCode::CREATED, made.into()))
}

pub(in crate::http) async fn revoke(
    State(doorward): State<Doorward>,
    by: Admin<KeysWrite>,
    id: Result<Path<String>, PathRejection>,
) -> Result<NoContent, Error> {
    let id = id.ok().and_then(|Path(id)| id.parse().ok()).ok_or(Error::NotFound)?;
    match keys::revoke(&doorward, &by, id).await? {
        true => Ok(NoContent),
        false => Err(Error::NotFound),
    }
}
