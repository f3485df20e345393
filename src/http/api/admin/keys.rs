//! `/api/admin/keys`: the API keys of machines and people. A key makes no keys.

use std::{marker::PhantomData, str::FromStr, time::Duration};

use axum::{extract::State, http::StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Doorward,
    account::{
        key_list::ApiKeyInfo,
        keys::{self, LIFETIME, MadeKey, NewKey},
        order::{MakeKey, RevokeKey},
    },
    config::{parse_duration, show_duration},
    fault::Fault,
    http::{
        Error,
        admin::{Admin, KeysRead},
        answer::{NoContent, NoStore},
        description::Created,
        form::{
            FaultRecorded, FieldType, Flattened, Form, FormContext, FormField, Json, JsonForm,
            ObjectSchema, form, text, uuid,
        },
        path_id::PathId,
        query::{Limit, Query},
    },
    id::NotAnId,
    user::{ApiKeyId, Name, UserId},
};

/// Some keys, the newest first.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApiKeys {
    pub keys: Vec<ApiKeyInfo>,
    /// What `after` has to be for more.
    pub next: Option<ApiKeyId>,
}

/// A new key. It is shown once.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct CreatedApiKey {
    #[serde(flatten)]
    pub info: ApiKeyInfo,
    /// The key itself, which is shown once.
    #[schemars(regex(pattern = "^dw_(key|pat)_[0-9A-Za-z]{36}$"))]
    pub key: String,
}

impl From<MadeKey> for CreatedApiKey {
    fn from(MadeKey { key, text }: MadeKey) -> Self {
        Self { info: key.into(), key: text.as_str().to_owned() }
    }
}

form! {
    pub(in crate::http) struct NewMachineKey {
        name: Name,
        /// What it is for.
        scopes: MachineScopes,
        limits: Flattened<KeyLimits>,
        ..Refused
    }
}

form! {
    /// What the key of a machine and that of a person have in common.
    pub(in crate::http) struct KeyLimits {
        /// How long it is valid: 5 minutes to 366 days, that of a machine to 3660 days.
        lifetime: Option<KeyLifetime>,
        /// A condition in CEL over `request`, `guard` and `key`.
        allow: Option<String>,
    }
}

impl KeyLimits {
    pub(in crate::http) fn key(self, name: Name, scopes: Vec<String>) -> NewKey {
        let Self { lifetime, allow } = self;
        NewKey { name, scopes, lifetime: lifetime.unwrap_or(LIFETIME), condition: allow }
    }
}

/// What a key of a machine is for. The order itself refuses a key without any.
pub(in crate::http) struct MachineScopes;

impl FormField for MachineScopes {
    type Parsed = Vec<String>;

    fn read(
        form: &mut Form,
        name: &'static str,
        context: FormContext<'_>,
    ) -> Result<Vec<String>, FaultRecorded> {
        let scopes = <Option<Json<Vec<String>>>>::read(form, name, context)?;
        Ok(scopes.unwrap_or_default())
    }

    fn describe(
        object: &mut ObjectSchema,
        name: &str,
        description: &str,
        generator: &mut SchemaGenerator,
    ) {
        <Json<Vec<String>>>::describe(object, name, description, generator);
    }
}

/// A time such as `90d`.
pub(in crate::http) struct KeyLifetime;

impl FieldType for KeyLifetime {
    type Parsed = Duration;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Duration, Fault> {
        let fault = || Fault::malformed("Must be a number with m, h or d, such as 90d");
        parse_duration(&text(sent)?).ok_or_else(fault)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]+[smhd]$", "default": show_duration(LIFETIME) })
    }
}

form! {
    pub(in crate::http) struct KeyQuery {
        /// The id of the last key that the client has.
        after: Option<AnyId<ApiKeyId>>,
        /// Only those of this user.
        user: Option<AnyId<UserId>>,
        /// How many.
        limit: Limit<50, 200>,
        ..Ignored
    }
}

/// An id of whatever `T` is the id of.
pub(in crate::http) struct AnyId<T>(PhantomData<T>);

impl<T: FromStr<Err = NotAnId>> FieldType for AnyId<T> {
    type Parsed = T;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<T, Fault> {
        text(sent)?.parse().map_err(|NotAnId| Fault::malformed("Not an id"))
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        uuid()
    }
}

/// Lists keys of machines and people, or of one user.
pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    _: Admin<KeysRead>,
    query: Query<KeyQuery>,
) -> Result<NoStore<ApiKeys>, Error> {
    let KeyQuery { after, user, limit } = query.read(&doorward)?;
    let (keys, next) = match user {
        Some(user) => (keys::of_user(&doorward, user).await?, None),
        None => {
            let mut keys = keys::list(&doorward, after, limit + 1).await?;
            let has_more = keys.len() > limit;
            keys.truncate(limit);
            let last = keys.last().map(|key| key.id);
            (keys, last.filter(|_| has_more))
        }
    };
    let owners = keys::owners(&doorward, &keys).await?;
    let keys = keys.into_iter().map(|key| ApiKeyInfo::owned(key, &owners)).collect();
    Ok(NoStore(StatusCode::OK, ApiKeys { keys, next }))
}

/// Makes a key of a machine.
pub(in crate::http) async fn create(
    State(doorward): State<Doorward>,
    by: Admin<MakeKey>,
    form: JsonForm<NewMachineKey>,
) -> Result<Created<CreatedApiKey>, Error> {
    let NewMachineKey { name, scopes, limits } = form.read(&doorward)?;
    let new = limits.key(name, scopes);
    let made = keys::create_machine(&doorward, &by, by.scopes(), new).await?;
    Ok(Created(made.into()))
}

pub(in crate::http) async fn revoke(
    State(doorward): State<Doorward>,
    by: Admin<RevokeKey>,
    id: PathId<ApiKeyId>,
) -> Result<NoContent, Error> {
    NoContent::if_found(keys::revoke(&doorward, &by, id.valid()?).await?)
}
