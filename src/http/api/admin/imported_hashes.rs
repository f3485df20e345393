//! `/api/admin/imported-hashes`: imported password hashes that have not been replaced, because their users have not logged in.

use axum::{extract::State, http::StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use crate::{
    Doorward,
    account::{import, order::DropImportedHashes},
    clock::Timestamp,
    event::Actor,
    fault::Fault,
    http::{
        Error,
        admin::{Admin, UsersRead},
        answer::NoStore,
        form::{FieldType, FormContext, JsonForm, MAX_FIELDS, form, json},
        query::Query,
    },
    store::ImportedHash,
    user::UserId,
};

/// A page of imported hashes, in the order of the users' ids. It may be short although more follow.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct ImportedHashes {
    pub hashes: Vec<ImportedHashInfo>,
    /// The id after which the next page starts, if there may be one.
    pub next: Option<UserId>,
}

/// An imported password hash that has not been replaced.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ImportedHash")]
pub struct ImportedHashInfo {
    /// The id of the user.
    pub user: UserId,
    pub email: String,
    /// The scheme and cost: the text of the hash up to its salt. That of Firebase contains the signer key, so only the operator on
    /// the machine gets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub prefix: Option<Zeroizing<String>>,
    /// When it was imported.
    pub imported_at: Timestamp,
}

impl ImportedHashInfo {
    fn new(hash: ImportedHash, for_operator: bool) -> Self {
        let ImportedHash { user_id, email, prefix, imported_at } = hash;
        Self {
            user: user_id,
            email: email.as_str().to_owned(),
            prefix: for_operator.then(|| prefix.into()),
            imported_at,
        }
    }
}

/// The users whose imported hashes are to be deleted.
#[derive(Serialize)]
pub struct Drop<'a> {
    pub users: &'a [UserId],
}

/// How many hashes were deleted.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Dropped {
    pub dropped: usize,
}

form! {
    pub(in crate::http) struct HashQuery {
        /// The id of the user after whom the page starts: `next` of the page before.
        after: Option<UserId>,
    }
}

form! {
    pub(in crate::http) struct DropForm as "HashesToDrop" {
        users: Option<UserIds>,
    }
}

/// The ids of users.
pub(in crate::http) struct UserIds;

impl FieldType for UserIds {
    type Parsed = Vec<UserId>;

    fn parse(sent: Value, context: FormContext<'_>) -> Result<Vec<UserId>, Fault> {
        let ids: Vec<String> = json(sent)?;
        ids.into_iter().map(|id| <UserId as FieldType>::parse(id.into(), context)).collect()
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        let id = UserId::schema(generator);
        json_schema!({ "type": "array", "items": id, "maxItems": MAX_FIELDS })
    }
}

pub(in crate::http) async fn list(
    State(doorward): State<Doorward>,
    admin: Admin<UsersRead>,
    query: Query<HashQuery>,
) -> Result<NoStore<ImportedHashes>, Error> {
    let HashQuery { after } = query.read(&doorward)?;
    let (hashes, next) = import::imported_hashes(&doorward, after).await?;
    let for_operator = matches!(admin.actor, Actor::Operator(_));
    let hashes = hashes.into_iter().map(|hash| ImportedHashInfo::new(hash, for_operator));
    Ok(NoStore(StatusCode::OK, ImportedHashes { hashes: hashes.collect(), next }))
}

pub(in crate::http) async fn drop(
    State(doorward): State<Doorward>,
    admin: Admin<DropImportedHashes>,
    form: JsonForm<DropForm>,
) -> Result<NoStore<Dropped>, Error> {
    let DropForm { users } = form.read(&doorward)?;
    let users = users.unwrap_or_default();
    let dropped = import::drop_hashes(&doorward, &users, &admin).await?;
    tracing::info!(hashes = dropped, "imported password hashes dropped");
    Ok(NoStore(StatusCode::OK, Dropped { dropped }))
}
