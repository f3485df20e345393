//! `POST /api/admin/emergency`: replaces and revokes everything that a copy of the data could be used for.

use axum::{extract::State, http::StatusCode};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Doorward,
    account::{
        emergency::{self, EmergencyReport},
        order::RunEmergency,
    },
    fault::Fault,
    http::{
        Error,
        admin::Admin,
        answer::NoStore,
        form::{FieldType, FormContext, JsonForm, form, text},
    },
    store::NewPasswords,
};

/// What to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Emergency {
    /// Whose passwords are removed: `all`, `none`, or `role:` and a role.
    pub new_passwords: String,
}

form! {
    pub(in crate::http) struct EmergencyForm as "Emergency" {
        /// Whose passwords are removed, so that they have to set a new one: `all`, `none`, or `role:` and a role.
        new_passwords as "newPasswords": NewPasswords,
        ..Refused
    }
}

impl FieldType for NewPasswords {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        let fault = || Fault::malformed("Expected all, none, or role: and a role");
        emergency::parse_new_passwords(&text(sent)?).ok_or_else(fault)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(all|none|role:.+)$" })
    }
}

pub(in crate::http) async fn run(
    State(doorward): State<Doorward>,
    admin: Admin<RunEmergency>,
    form: JsonForm<EmergencyForm>,
) -> Result<NoStore<EmergencyReport>, Error> {
    let EmergencyForm { new_passwords } = form.read(&doorward)?;
    let done = emergency::run(&doorward, &new_passwords, &admin).await?;
    Ok(NoStore(StatusCode::OK, done))
}
