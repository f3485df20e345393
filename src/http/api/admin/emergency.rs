//! `POST /api/admin/emergency`: replaces and revokes everything that a copy of the data could be used for.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    account::{
        emergency::{self, EmergencyReport},
        order::RunEmergency,
    },
    fault::Fault,
    http::{Error, admin::Admin, answer::NoStore, form::Form},
};

/// What to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Emergency {
    /// Whose passwords are removed: `all`, `none`, or `role:` and a role.
    pub new_passwords: String,
}

pub(in crate::http) async fn run(
    State(doorward): State<Doorward>,
    admin: Admin<RunEmergency>,
    mut form: Form,
) -> Result<NoStore<EmergencyReport>, Error> {
    let new_passwords = form.required("newPasswords", |text| {
        emergency::parse_new_passwords(&text)
            .ok_or_else(|| Fault::malformed("Expected all, none, or role: and a role"))
    });
    let (Ok(new_passwords), Ok(())) = (new_passwords, form.reject_unknown()) else {
        return Err(form.into_error());
    };
    let done = emergency::run(&doorward, &new_passwords, &admin).await?;
    Ok(NoStore(StatusCode::OK, done))
}
