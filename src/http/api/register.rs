//! `POST /api/user`: creates a user and signs them in.

use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use schemars::JsonSchema;
use serde::Serialize;
use zeroize::Zeroizing;

use crate::{
    Doorward,
    account::register::{self, Registered, Registration},
    http::{
        Error,
        answer::Accepted,
        description::{Answer, Created, Schemas, Success},
        form::{JsonForm, NewPassword, form},
    },
    network::Requester,
    session::Persistence,
    token::Token,
    user::{Email, Name, UserId},
};

form! {
    /// A user without a password cannot log in with one. Unknown members are ignored, except misspellings of missing ones.
    pub(crate) struct RegistrationForm as "Registration" {
        name: Name,
        email: Email,
        password: Option<NewPassword>,
        /// The secret of an invitation, or its code of 8 digits.
        invitation: Option<Zeroizing<String>>,
    }
}

/// The new user, who is signed in.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Registered")]
pub(crate) struct NewUser {
    id: UserId,
    token: Token,
}

/// What comes of a registration. Who owns an address that is taken is told by mail alone.
pub(crate) enum RegistrationAnswer {
    SignedIn(Created<NewUser>),
    Mailed(Accepted),
}

impl IntoResponse for RegistrationAnswer {
    fn into_response(self) -> Response {
        match self {
            Self::SignedIn(answer) => answer.into_response(),
            Self::Mailed(answer) => answer.into_response(),
        }
    }
}

impl Answer for RegistrationAnswer {
    fn describe(schemas: &mut Schemas) -> Vec<Success> {
        let mut answers = Created::<NewUser>::describe(schemas);
        answers.extend(Accepted::describe(schemas));
        answers
    }
}

pub(crate) async fn register(
    State(doorward): State<Doorward>,
    requester: Requester,
    form: JsonForm<RegistrationForm>,
) -> Result<RegistrationAnswer, Error> {
    let RegistrationForm { name, email, password, invitation } = form.read(&doorward)?;
    let registration = Registration { name, email, password, invitation, target: None };
    let persistence = Persistence::Lifetime;
    match register::register(&doorward, registration, &requester, persistence).await? {
        Registered::SignedIn(opened) => {
            let signed_in = opened.with_token(&doorward).await;
            let (id, token) = (signed_in.user.id, signed_in.token);
            Ok(RegistrationAnswer::SignedIn(Created(NewUser { id, token })))
        }
        Registered::Mailed => Ok(RegistrationAnswer::Mailed(Accepted)),
    }
}
