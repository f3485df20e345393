//! `POST /api/admin/emergency`: replaces and revokes everything that a copy of the data could be used for.

use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};

use crate::{
    Doorward,
    account::emergency::{self, EmergencyError},
    fault::Fault,
    http::{
        Error,
        admin::{self, FreshAdmin},
        answer::NoStore,
        form::Form,
    },
    store::Revoked,
};

/// What to do.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Emergency {
    /// Whose passwords are removed: `all`, `none`, or `role:` and a role.
    pub new_passwords: String,
}

/// What was replaced and revoked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EmergencyReport {
    /// The signing keys that were revoked.
    pub keys_revoked: Vec<String>,
    /// The signing keys that stay, because they are in the operator's own file.
    pub keys_in_file: Vec<String>,
    pub sessions_ended: usize,
    /// Links and codes in mails, and reset codes, that are void.
    pub codes_revoked: usize,
    /// Mails with such a link or code that waited and were deleted.
    pub mails_deleted: usize,
    pub invitations_revoked: usize,
    pub api_keys_revoked: usize,
    pub passwords_removed: usize,
    /// Users without their password who get a link by mail to set a new one.
    #[serde(default)]
    pub links_mailed: usize,
}

impl From<emergency::Emergency> for EmergencyReport {
    fn from(emergency: emergency::Emergency) -> Self {
        let emergency::Emergency { keys, keys_in_file, revoked, mailed } = emergency;
        let Revoked { sessions, one_time_secrets, mails, invitations, api_keys, passwords } =
            revoked;
        Self {
            keys_revoked: keys.iter().map(ToString::to_string).collect(),
            keys_in_file: keys_in_file.iter().map(ToString::to_string).collect(),
            sessions_ended: sessions,
            codes_revoked: one_time_secrets,
            mails_deleted: mails,
            invitations_revoked: invitations,
            api_keys_revoked: api_keys,
            passwords_removed: passwords,
            links_mailed: mailed,
        }
    }
}

pub(in crate::http) async fn run(
    State(doorward): State<Doorward>,
    admin: FreshAdmin<admin::Emergency>,
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
    Ok(NoStore(StatusCode::OK, done.into()))
}

impl From<EmergencyError> for Error {
    fn from(error: EmergencyError) -> Self {
        Self::NotDone(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}
