//! `PATCH /api/me`: changes the name, or the e-mail address, which needs the password.

use axum::{extract::State, http::StatusCode};
use schemars::SchemaGenerator;
use serde_json::json;

use super::SignedInMe;
use crate::{
    Doorward,
    access::policy::SignedIn,
    account::{
        change::{self, Change},
        proof::Proof,
    },
    credential::password::Password,
    http::{
        Error,
        answer::NoStore,
        bearer::Bearer,
        form::{
            CurrentPassword, FaultRecorded, Flattened, Form, FormContext, FormField, FormPart,
            JsonForm, ObjectSchema, form,
        },
    },
    network::Requester,
    user::{Email, Name},
};

form! {
    pub(crate) struct ProfileChange {
        name: Option<Name>,
        address: Flattened<NewAddress>,
    }
}

/// A new address, which needs the password.
pub(crate) struct NewAddress {
    email: Option<Email>,
    password: Option<Password>,
}

impl FormPart for NewAddress {
    fn read(form: &mut Form, context: FormContext<'_>) -> Result<Self, FaultRecorded> {
        let email = <Option<Email>>::read(form, "email", context);
        let password = match email {
            Ok(None) => Ok(None),
            _ => CurrentPassword::read(form, "password", context),
        };
        Ok(Self { email: email?, password: password? })
    }

    fn describe(object: &mut ObjectSchema, generator: &mut SchemaGenerator) {
        const PASSWORD: &str = CurrentPassword::DESCRIPTION;
        <Option<Email>>::describe(object, "email", "", generator);
        <Option<Password>>::describe(object, "password", PASSWORD, generator);
        object.rule("dependentRequired", json!({ "email": ["password"] }));
    }
}

pub(crate) async fn change(
    State(doorward): State<Doorward>,
    caller: Bearer<SignedIn>,
    requester: Requester,
    form: JsonForm<ProfileChange>,
) -> Result<NoStore<SignedInMe>, Error> {
    let context = FormContext::of(&doorward, &caller.user);
    let ProfileChange { name, address: NewAddress { email, password } } = form.read(context)?;
    let (new, proof) = (Change { name, email }, Proof::of(&caller, password));
    let changed = change::change(&doorward, &caller, new, proof, &requester).await?;
    let me = SignedInMe::new(&changed.user, changed.pending_email, &caller.session);
    Ok(NoStore(StatusCode::OK, me))
}
