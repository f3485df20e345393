//! `/api/admin/keys`: the API keys of machines and people. A key makes no keys.

use std::str::FromStr;

use axum::{
    extract::{Path, State, rejection::PathRejection},
    http::StatusCode,
};
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    account::{
        keys::{self, LIFETIME, MadeKey, NewKey},
        order::{MakeKey, RevokeKey},
    },
    config::parse_duration,
    fault::Fault,
    http::{
        Error,
        admin::{Admin, KeysRead},
        answer::{NoContent, NoStore},
        form::Form,
        query::Query,
    },
    id::NotAnId,
    user::{ApiKey, Name, User},
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
    /// Their name and address. Only lists of administrators have them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_name: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user_email: Option<String>,
    pub created_at: String,
    pub expires_at: String,
    pub last_used_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked_at: Option<String>,
}

impl ApiKeyInfo {
    /// A key with the name and the address of its owner.
    fn owned(key: ApiKey, owners: &[User]) -> Self {
        let owner = owners.iter().find(|user| key.owner == Some(user.id));
        Self {
            user_name: owner.map(|owner| owner.name.as_str().to_owned()),
            user_email: owner.map(|owner| owner.email.as_str().to_owned()),
            ..Self::from(key)
        }
    }
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
            user_name: None,
            user_email: None,
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
    match (name, scopes, lifetime, allow, form.reject_unknown()) {
        (Ok(name), Ok(scopes), Ok(lifetime), Ok(condition), Ok(())) => Ok(NewKey {
            name,
            scopes: scopes.unwrap_or_else(|| scope.into_iter().map(str::to_owned).collect()),
            lifetime: lifetime.unwrap_or(LIFETIME),
            condition,
        }),
        _ => Err(form.into_error()),
    }
}

/// Lists keys of machines and people, or of one user.
pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<KeysRead>,
    mut query: Query,
) -> Result<NoStore<ApiKeys>, Error> {
    const DEFAULT_LIMIT: usize = 50;
    const MAX_LIMIT: usize = 200;
    let after = query.0.optional("after", id);
    let user = query.0.optional("user", id);
    let limit = query.limit(DEFAULT_LIMIT, MAX_LIMIT);
    let (Ok(after), Ok(user), Ok(limit)) = (after, user, limit) else {
        return Err(query.0.into_error());
    };
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
    let owners = keys::owners(&doorward, &keys).await?;
    let keys = keys.into_iter().map(|key| ApiKeyInfo::owned(key, &owners)).collect();
    Ok(NoStore(StatusCode::OK, ApiKeys { keys, next }))
}

fn id<T: FromStr<Err = NotAnId>>(text: String) -> Result<T, Fault> {
    text.parse().map_err(|NotAnId| Fault::malformed("Not an id"))
}

/// Makes a key of a machine.
pub(in crate::http) async fn create(
    State(doorward): State<Doorward>,
    by: Admin<MakeKey>,
    form: Form,
) -> Result<NoStore<CreatedApiKey>, Error> {
    let made = keys::create_machine(&doorward, &by, by.scopes(), new_key(form, None)?).await?;
    Ok(NoStore(StatusCode::CREATED, made.into()))
}

pub(in crate::http) async fn revoke(
    State(doorward): State<Doorward>,
    by: Admin<RevokeKey>,
    id: Result<Path<String>, PathRejection>,
) -> Result<NoContent, Error> {
    let id = id.ok().and_then(|Path(id)| id.parse().ok()).ok_or(Error::NotFound)?;
    match keys::revoke(&doorward, &by, id).await? {
        true => Ok(NoContent),
        false => Err(Error::NotFound),
    }
}
