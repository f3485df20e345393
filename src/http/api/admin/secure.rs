//! `POST /api/admin/users/{user}/secure`: ends everything by which somebody could be in an account that was taken over.

use axum::{extract::State, http::StatusCode};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use zeroize::Zeroizing;

use super::target::Named;
use crate::{
    Doorward,
    account::{
        factor_list::{self, FactorInfo},
        order::Secure,
        secure::{RemovedFactors, SecuredAccount, WayIn},
    },
    event::AccessEnded,
    fault::Fault,
    http::{
        Error,
        admin::Admin,
        answer::NoStore,
        form::{FieldType, FormContext, JsonForm, flag, form, text},
    },
};

/// What ended, and how the person gets in again.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Secured {
    pub sessions_ended: usize,
    /// Keys of the user. Keys of machines that they have made still count.
    pub api_keys_revoked: usize,
    pub trusted_devices_removed: usize,
    pub factors_removed: usize,
    /// Links and codes in mails, and reset codes, that are void.
    pub codes_revoked: usize,
    /// Invitations that the user has made.
    pub invitations_revoked: usize,
    /// Whether there was one.
    pub password_removed: bool,
    /// The second factors that are left.
    pub factors: Vec<FactorInfo>,
    /// The address of the account.
    pub email: String,
    /// The addresses that the account had lately.
    pub earlier_emails: Vec<String>,
    /// Whether the user is mailed a link to set a new password. If not, there is a code.
    pub mailed: bool,
    /// With it the user sets a new password, once within 30 minutes. It cannot be read again.
    #[schemars(with = "Option<String>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Zeroizing<String>>,
}

impl From<SecuredAccount> for Secured {
    fn from(secured: SecuredAccount) -> Self {
        let SecuredAccount { user, ended, way_in, factors, earlier_emails } = secured;
        let AccessEnded {
            sessions,
            api_keys,
            trusted_devices,
            factors: factors_removed,
            codes,
            invitations,
            password,
        } = ended;
        let code = match way_in {
            WayIn::Mailed => None,
            WayIn::Code(code) => Some(Zeroizing::new(code.as_str().to_owned())),
        };
        Self {
            sessions_ended: sessions,
            api_keys_revoked: api_keys,
            trusted_devices_removed: trusted_devices,
            factors_removed,
            codes_revoked: codes,
            invitations_revoked: invitations,
            password_removed: password,
            factors: factor_list::factors(&factors),
            email: user.email.as_str().to_owned(),
            earlier_emails: earlier_emails.iter().map(|email| email.as_str().to_owned()).collect(),
            mailed: code.is_none(),
            code,
        }
    }
}

form! {
    pub(in crate::http) struct SecureForm as "SecureOptions" {
        /// Which second factors are removed: `all`, `none`, or those added within this time.
        factors as "removeFactors": Option<RemovedFactors>,
        /// `false` if somebody else may read the mail of the user: then the answer has a code.
        may_mail as "mail": Option<MayMail>,
        ..Refused
    }
}

/// Whether the user may be mailed.
pub(in crate::http) struct MayMail;

impl MayMail {
    const DEFAULT: bool = true;
}

impl FieldType for MayMail {
    type Parsed = bool;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<bool, Fault> {
        flag(sent)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean", "default": Self::DEFAULT })
    }
}

impl FieldType for RemovedFactors {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        let fault = || Fault::malformed("Expected all, none, or a time such as 30d");
        Self::parse(&text(sent)?).ok_or_else(fault)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^(all|none|[0-9]+[smhd])$", "default": "30d" })
    }
}

pub(in crate::http) async fn secure(
    State(doorward): State<Doorward>,
    admin: Admin<Secure>,
    Named(user): Named<String>,
    form: JsonForm<SecureForm>,
) -> Result<NoStore<Secured>, Error> {
    let user = admin.subject(&doorward, &user).await?;
    let SecureForm { factors, may_mail } = form.read(&doorward)?;
    let factors = factors.unwrap_or(RemovedFactors::DEFAULT);
    let order = Secure { factors, may_mail: may_mail.unwrap_or(MayMail::DEFAULT) };
    let secured = admin.carry_out(&doorward, order, &user).await?;
    Ok(NoStore(StatusCode::OK, secured.into()))
}
