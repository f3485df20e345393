//! Forms about second factors, which the API and pages have: an answer to a challenge, and a new passkey.

use schemars::SchemaGenerator;
use serde_json::json;
use zeroize::Zeroizing;

use super::form::{
    FaultRecorded, Form, FormContext, FormField, FormPart, Json, ObjectSchema, form,
};
use crate::{
    account::factor::{answer::Answer, passkey::MadePasskey},
    credential::passkey::{PostedAssertion, PostedRegistration},
    user::Name,
};

/// The fields `credential` and `code`, of which one has to be there. A code beside a credential is ignored.
impl FormPart for Answer {
    fn read(form: &mut Form, context: FormContext<'_>) -> Result<Self, FaultRecorded> {
        match <Option<Json<PostedAssertion>>>::read(form, "credential", context)? {
            Some(posted) => Ok(Self::Passkey(posted.into())),
            None => <Zeroizing<String>>::read(form, "code", context).map(Self::Code),
        }
    }

    fn describe(object: &mut ObjectSchema, generator: &mut SchemaGenerator) {
        const CODE: &str = "A code of an authenticator app, or a recovery code";
        <Option<Zeroizing<String>>>::describe(object, "code", CODE, generator);
        <Option<Json<PostedAssertion>>>::describe(object, "credential", "", generator);
        object.rule("anyOf", json!([{ "required": ["code"] }, { "required": ["credential"] }]));
    }
}

form! {
    /// A passkey that a browser has made.
    pub(super) struct PostedPasskey {
        /// Else it is named after its authenticator or the browser.
        name: Option<Name>,
        credential: Json<PostedRegistration>,
    }
}

impl From<PostedPasskey> for MadePasskey {
    fn from(PostedPasskey { name, credential }: PostedPasskey) -> Self {
        let transports = credential.transports();
        Self { response: credential.into(), transports, name }
    }
}
