//! Every answer that is not a success: one enum, converted to responses in one place.

use std::{borrow::Cow, iter, sync::LazyLock, time::Duration};

use axum::{
    body::Bytes,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, Serializer, ser::SerializeMap};

use super::{
    answer::{
        AUTHORIZATION, CROSS_ORIGIN_RESOURCE_POLICY, JSON, NO_STORE, NOSNIFF, REQUEST_ID,
        SAME_ORIGIN, json,
    },
    factor_challenge::FactorChallenge,
};
use crate::{
    access::{
        caller::Unauthenticated,
        guard::{Ask, Missing},
        refusals::DecisionId,
    },
    account::proof::RECENT,
    credential::password::Busy,
    fault::Fault,
    store,
    throttle::Throttled,
};

/// Why a request fails. Failures that a caller must not distinguish are one variant.
#[derive(Debug)]
pub enum Error {
    /// The body is missing, unreadable or has invalid fields. Holds the fault of each field, in order.
    Invalid(Vec<(Cow<'static, str>, Fault)>),
    /// The token is missing or not valid, or the policy refuses. The answers differ in the challenge only. The operator
    /// finds the reason by the id of the decision.
    Unauthorized(Challenge, Option<DecisionId>),
    /// The action needs a sign-in that is not long ago.
    SignInAgain,
    /// A login lacks a second factor. The client answers the challenge.
    FactorMissing(Box<FactorChallenge>),
    /// The answer to a challenge is refused. Holds the reason.
    FactorRefused(&'static str),
    /// A person gets a page, or the way to one.
    Person(Box<Response>),
    /// A guard refuses a person whose browser holds a valid cookie. Signing in again does not help. They may lack something
    /// that they can reach.
    Refused(DecisionId, Option<Missing>),
    /// Another site has caused a request that changes something.
    CrossSite(Option<DecisionId>),
    /// The API was asked for under a host name that is not one of the service.
    OtherHost,
    /// An OAuth client that has not authenticated.
    InvalidClient,
    /// A form without exactly one field `token`.
    NoTokenField,
    /// The head of the request is ambiguous: it has several `Host` fields, or one that is not a host and a port.
    Malformed,
    /// The resource does not exist, or a login failed.
    NotFound,
    /// A test of an app names something in this field that `doorward dev` does not have.
    #[cfg(feature = "cli")]
    NoSuch(&'static str, Fault),
    /// The route exists, the method does not. The router adds `Allow`.
    MethodNotAllowed,
    /// The client took too long to send its request.
    TooSlow,
    EmailTaken,
    /// The request needs a mail, and the service sends none, or none of this kind.
    NeedsMail,
    /// The body has more bytes than allowed.
    TooLarge,
    /// The body has another content type than JSON.
    NotJson,
    /// The body has another content type than that of a form.
    NotAForm,
    /// The pages were asked for under a host name that needs HTTPS.
    NeedsHttps,
    /// What was asked for cannot be done, with the status and the reason.
    NotDone(StatusCode, String),
    /// Somebody wants to change a user who may do more than they, or to give a role that may.
    BeyondAuthority(&'static str),
    /// Too many attempts. The client has to wait this long.
    Throttled(Duration),
    /// A bug or a damaged database. The cause goes to the log only.
    Internal(String),
    /// A temporary internal failure. The cause goes to the log only.
    Unavailable(String),
}

/// The header that carries the id of a refusal.
pub(super) const DECISION_ID: HeaderName = HeaderName::from_static("x-decision-id");

/// The error code of `WWW-Authenticate`, by RFC 6750.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Challenge {
    /// There are no credentials, so the challenge has no code.
    NoCredentials,
    InvalidToken,
    /// The token is valid, but the policy refuses.
    InsufficientScope,
    /// The token is valid, but the user lacks something that they can reach.
    Missing(Missing),
}

impl From<Unauthenticated> for Challenge {
    fn from(reason: Unauthenticated) -> Self {
        match reason {
            Unauthenticated::NoToken | Unauthenticated::OtherOrigin => Self::NoCredentials,
            _ => Self::InvalidToken,
        }
    }
}

impl Challenge {
    fn header(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            Self::NoCredentials => "Bearer realm=\"doorward\"",
            Self::InvalidToken => "Bearer realm=\"doorward\", error=\"invalid_token\"",
            Self::InsufficientScope => "Bearer realm=\"doorward\", error=\"insufficient_scope\"",
            Self::Missing(missing) => return missing_header(missing),
        })
    }

    /// What the answer says besides the message of its status.
    fn advice(self) -> Option<String> {
        match self {
            // Nothing that a new session could change.
            Self::Missing(Missing::VerifiedEmail) => None,
            Self::Missing(missing) => Some(advice(missing)),
            Self::NoCredentials | Self::InvalidToken | Self::InsufficientScope => None,
        }
    }
}

/// The challenge for what a caller lacks. What a session has to prove is said by RFC 9470.
fn missing_header(missing: Missing) -> HeaderValue {
    const STEP_UP: &str = "insufficient_user_authentication";
    let (wanted, error) = match missing {
        Missing::VerifiedEmail => (String::new(), "insufficient_scope"),
        Missing::SecondFactor | Missing::StepUp(Ask::TwoFactors) => {
            (", acr_values=\"2\"".into(), STEP_UP)
        }
        Missing::Passkey | Missing::StepUp(Ask::PhishingResistant) => {
            (", acr_values=\"phr\"".into(), STEP_UP)
        }
        // A guard does not know the bound of its condition. It never asks a younger session.
        Missing::StepUp(Ask::Again) => {
            (format!(", max_age=\"{}\"", Ask::MIN_AGE.as_secs()), STEP_UP)
        }
    };
    let description = missing.sentence();
    // The error comes last, where the request log looks for it.
    let challenge = format!(
        "Bearer realm=\"doorward\", error_description=\"{description}\"{wanted}, error=\"{error}\""
    );
    HeaderValue::try_from(challenge).expect("it is printable ASCII")
}

/// What somebody may lack, as far as the message or the challenge says it.
const MISSING: [Missing; 6] = [
    Missing::VerifiedEmail,
    Missing::SecondFactor,
    Missing::Passkey,
    Missing::StepUp(Ask::Again),
    Missing::StepUp(Ask::TwoFactors),
    Missing::StepUp(Ask::PhishingResistant),
];

/// The messages of [`Error::Unauthorized`].
pub(super) fn unauthorized_messages() -> Vec<String> {
    let message = message(StatusCode::UNAUTHORIZED);
    let advice = MISSING.iter().filter_map(|missing| Challenge::Missing(*missing).advice());
    let advised = advice.map(|advice| format!("{message}{advice}"));
    iter::once(message.to_owned()).chain(advised).collect()
}

/// The challenges of all errors.
pub(super) fn bearer_challenges() -> Vec<String> {
    let missing = MISSING.map(Challenge::Missing);
    let without = [Challenge::NoCredentials, Challenge::InvalidToken, Challenge::InsufficientScope];
    let unauthorized = without.into_iter().chain(missing).map(Challenge::header);
    let text = |header: HeaderValue| header.to_str().expect("it is printable ASCII").to_owned();
    unauthorized.chain([sign_in_again_header(), FACTOR_CHALLENGE]).map(text).collect()
}

/// The challenge to a second factor.
const FACTOR_CHALLENGE: HeaderValue = HeaderValue::from_static(
    "Bearer realm=\"doorward\", error=\"insufficient_user_authentication\"",
);

/// The challenge to sign in again, by RFC 9470. The error comes last, where the request log looks for it.
fn sign_in_again_header() -> HeaderValue {
    let max_age = RECENT.as_secs();
    let challenge = format!(
        "Bearer realm=\"doorward\", max_age={max_age}, error=\"insufficient_user_authentication\""
    );
    HeaderValue::try_from(challenge).expect("a number is valid in a header")
}

/// What a person can do about a refusal.
fn advice(missing: Missing) -> String {
    format!(" You would be admitted {missing}.")
}

impl Error {
    /// The answer to a request of a browser that no person sees. One whose session has to prove more is like one without a session.
    pub(super) fn refused(decision: DecisionId, missing: Option<Missing>) -> Self {
        match missing {
            Some(missing @ (Missing::SecondFactor | Missing::Passkey | Missing::StepUp(_))) => {
                Self::Unauthorized(Challenge::Missing(missing), Some(decision))
            }
            None | Some(Missing::VerifiedEmail) => Self::Refused(decision, missing),
        }
    }

    /// When a client should retry after an internal failure.
    pub(super) const RETRY_AFTER: Duration = Duration::from_secs(1);

    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::Invalid(_) | Self::NoTokenField | Self::Malformed => StatusCode::BAD_REQUEST,
            Self::Unauthorized(..)
            | Self::SignInAgain
            | Self::FactorMissing(_)
            | Self::FactorRefused(_)
            | Self::InvalidClient => StatusCode::UNAUTHORIZED,
            Self::Refused(..) | Self::CrossSite(_) | Self::BeyondAuthority(_) => {
                StatusCode::FORBIDDEN
            }
            Self::Person(response) => response.status(),
            Self::NotDone(status, _) => *status,
            Self::NotFound => StatusCode::NOT_FOUND,
            #[cfg(feature = "cli")]
            Self::NoSuch(..) => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::EmailTaken => StatusCode::CONFLICT,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::NotJson | Self::NotAForm => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::OtherHost | Self::NeedsHttps => StatusCode::MISDIRECTED_REQUEST,
            Self::Throttled(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::NeedsMail => StatusCode::NOT_IMPLEMENTED,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// The message of the answer.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::NotDone(_, reason) => reason,
            Self::BeyondAuthority(reason) | Self::FactorRefused(reason) => reason,
            Self::SignInAgain => {
                "This action needs a sign-in within the last 10 minutes. Please sign in again."
            }
            Self::FactorMissing(_) => "A second factor is missing.",
            Self::OtherHost => "The service does not answer under this host name.",
            Self::NotAForm => "The request body must be sent as application/x-www-form-urlencoded.",
            _ => message(self.status()),
        }
    }

    fn detail(self) -> Option<Detail> {
        match self {
            Self::Invalid(faults) => Some(Detail::Fields([Faults(faults)])),
            Self::EmailTaken => {
                Some(Detail::Fields([Faults(vec![("email".into(), Fault::EMAIL_TAKEN)])]))
            }
            #[cfg(feature = "cli")]
            Self::NoSuch(field, fault) => {
                Some(Detail::Fields([Faults(vec![(field.into(), fault)])]))
            }
            Self::InvalidClient => Some(Detail::Code("invalid_client")),
            Self::NoTokenField => Some(Detail::Code("invalid_request")),
            _ => None,
        }
    }

    fn factor(&self) -> Option<FactorChallenge> {
        match self {
            Self::FactorMissing(challenge) => Some((**challenge).clone()),
            _ => None,
        }
    }

    fn add_headers(&self, response: &mut Response) {
        let headers = response.headers_mut();
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN);
        match self {
            Self::Refused(decision, _) | Self::CrossSite(Some(decision)) => {
                add_decision(headers, *decision);
            }
            Self::FactorMissing(_) | Self::FactorRefused(_) => {
                headers.insert(header::WWW_AUTHENTICATE, FACTOR_CHALLENGE);
            }
            Self::SignInAgain => {
                headers.insert(header::WWW_AUTHENTICATE, sign_in_again_header());
                headers.insert(header::VARY, AUTHORIZATION);
            }
            Self::InvalidClient => {
                let challenge = HeaderValue::from_static("Basic realm=\"doorward\"");
                headers.insert(header::WWW_AUTHENTICATE, challenge);
            }
            Self::Throttled(wait) => {
                headers.insert(header::RETRY_AFTER, whole_seconds(*wait));
            }
            Self::Unavailable(_) => {
                headers.insert(header::RETRY_AFTER, whole_seconds(Self::RETRY_AFTER));
            }
            // The server must not parse the unread rest of this request as the next one.
            Self::TooLarge | Self::TooSlow | Self::Malformed => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
    }

    /// The answer of a guard. Its request id may be empty, until the request log sets it.
    pub(super) fn into_guard_response(self) -> Response {
        match self {
            Self::Unauthorized(challenge, decision) => unauthorized(challenge, decision),
            other => other.into_response(),
        }
    }

    pub(super) fn log(&self) {
        match self {
            Self::Internal(cause) => {
                tracing::error!(%cause, "internal error: a bug, or a damaged database")
            }
            Self::Unavailable(cause) => tracing::warn!(%cause, "unavailable"),
            _ => {}
        }
    }
}

pub(super) fn add_decision(headers: &mut HeaderMap, decision: DecisionId) {
    let id = HeaderValue::try_from(decision.to_string()).expect("an id is letters and digits");
    headers.insert(DECISION_ID, id);
}

/// The message for a status.
pub(crate) fn message(status: StatusCode) -> &'static str {
    match status.as_u16() {
        400 => "The requested action could not be exercised due to malformed syntax.",
        401 => {
            "The provided credentials are either invalid or has insufficient privilege to perform \
             the requested action."
        }
        403 => "The requested action is not allowed.",
        404 => "The requested resource could not be found.",
        405 => "The requested resource does not support this method.",
        408 => "The request took too long to arrive.",
        409 => "The requested action conflicts with the current state of the resource.",
        413 => "The request body is too large.",
        414 => "The request target is too long.",
        415 => "The request body must be sent as application/json.",
        421 => "The requested resource needs HTTPS.",
        429 => "Too many attempts. Please try again later.",
        431 => "The request header fields are too large.",
        501 => {
            "The requested action needs a mail that the service does not send. Please ask its operator."
        }
        503 => "The service is temporarily unavailable. Please try again.",
        _ => "Something went wrong. Please try again.",
    }
}

#[derive(Serialize)]
struct Body<'a> {
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Detail>,
    #[serde(flatten)]
    factor: Option<FactorChallenge>,
}

impl Body<'_> {
    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a body of strings serialises to JSON")
    }
}

/// The member `error` of a body.
#[derive(Serialize)]
#[serde(untagged)]
enum Detail {
    /// A message per field.
    Fields([Faults; 1]),
    /// A code of RFC 6749.
    Code(&'static str),
}

/// An object with a message per field, in the order in which the fields were checked.
struct Faults(Vec<(Cow<'static, str>, Fault)>);

impl Serialize for Faults {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.0.len()))?;
        for (field, fault) in &self.0 {
            object.serialize_entry(field, fault.message())?;
        }
        object.end()
    }
}

/// The body of an answer with this status and no further detail.
pub(crate) fn plain_body(status: StatusCode) -> Vec<u8> {
    Body { message: message(status), error: None, factor: None }.to_json()
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        if let Self::Unauthorized(challenge, decision) = self {
            let mut response = unauthorized(challenge, decision);
            // An app that embeds the service may not set it.
            response.headers_mut().remove(REQUEST_ID);
            return response;
        }
        if let Self::Person(response) = self {
            return *response;
        }
        self.log();
        let status = self.status();
        let mut response = json(status, Vec::new());
        self.add_headers(&mut response);
        let message = match &self {
            Self::Refused(_, Some(missing)) => format!("{}{}", self.message(), advice(*missing)),
            _ => self.message().to_owned(),
        };
        if let Self::Internal(cause) | Self::Unavailable(cause) = &self {
            response.extensions_mut().insert(Cause(cause.clone()));
        }
        let factor = self.factor();
        let body = Body { message: &message, error: self.detail(), factor };
        *response.body_mut() = body.to_json().into();
        response
    }
}

/// The cause of an internal failure, beside an answer that does not tell it.
#[derive(Clone)]
struct Cause(String);

/// Tells the operator on the machine the cause of an internal failure, which is in the log, too.
pub(super) fn tell_cause(response: &mut Response) {
    if let Some(Cause(cause)) = response.extensions_mut().remove() {
        let body = Body { message: &cause, error: None, factor: None };
        *response.body_mut() = body.to_json().into();
    }
}

/// The answer with status 401 and an empty request id. Guards send it to anybody, so its headers and body are copied: writing
/// them would make a request without a token cost half as much again.
fn unauthorized(challenge: Challenge, decision: Option<DecisionId>) -> Response {
    static HEADERS: LazyLock<HeaderMap> = LazyLock::new(|| {
        let empty = HeaderValue::from_static("");
        let mut headers = HeaderMap::new();
        headers.insert(REQUEST_ID, empty.clone());
        headers.insert(header::CONTENT_TYPE, JSON);
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, NOSNIFF);
        headers.insert(header::CACHE_CONTROL, NO_STORE);
        headers.insert(header::WWW_AUTHENTICATE, empty.clone());
        headers.insert(header::VARY, AUTHORIZATION);
        headers.insert(CROSS_ORIGIN_RESOURCE_POLICY, SAME_ORIGIN);
        headers.insert(DECISION_ID, empty);
        headers
    });
    static BODY: LazyLock<Bytes> = LazyLock::new(|| plain_body(StatusCode::UNAUTHORIZED).into());
    let body = match challenge.advice() {
        None => BODY.clone(),
        Some(advice) => {
            let message = format!("{}{advice}", message(StatusCode::UNAUTHORIZED));
            Body { message: &message, error: None, factor: None }.to_json().into()
        }
    };
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    *headers = HEADERS.clone();
    headers.insert(header::WWW_AUTHENTICATE, challenge.header());
    match decision {
        Some(id) => add_decision(headers, id),
        None => {
            headers.remove(DECISION_ID);
        }
    }
    response
}

/// Rounds up, so that no client retries too early.
pub(super) fn whole_seconds(wait: Duration) -> HeaderValue {
    HeaderValue::from(wait.as_millis().div_ceil(1000).max(1) as u64)
}

const USER_BEYOND_AUTHORITY: &str =
    "this user may do more than you: somebody who may do the same has to change them";
pub(super) const ROLE_BEYOND_AUTHORITY: &str =
    "this role may do more than you: somebody who may do the same has to grant it";

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::EmailTaken => Self::EmailTaken,
            store::Error::BeyondAuthority => Self::BeyondAuthority(USER_BEYOND_AUTHORITY),
            store::Error::RoleBeyondAuthority => Self::BeyondAuthority(ROLE_BEYOND_AUTHORITY),
            store::Error::RightLost => Self::Unauthorized(Challenge::InvalidToken, None),
            store::Error::Unavailable(_) => Self::Unavailable(error.to_string()),
            store::Error::Failed(_) => Self::Internal(error.to_string()),
        }
    }
}

impl From<Busy> for Error {
    fn from(busy: Busy) -> Self {
        Self::Unavailable(busy.to_string())
    }
}

impl From<Throttled> for Error {
    fn from(throttled: Throttled) -> Self {
        Self::Throttled(throttled.retry_after)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::account;

    #[test]
    fn a_refusal_without_a_request_or_decision_has_no_header_for_it() {
        let refused = || Error::Unauthorized(Challenge::InvalidToken, None);
        let response = refused().into_response();
        assert!(!response.headers().contains_key(REQUEST_ID));
        for response in [response, refused().into_guard_response()] {
            assert!(!response.headers().contains_key(DECISION_ID));
            assert_eq!(
                response.headers()[header::WWW_AUTHENTICATE],
                Challenge::InvalidToken.header()
            );
        }
    }

    #[test]
    fn what_a_session_has_to_prove_is_said_by_rfc_9470() {
        for (missing, wanted, error) in [
            (Missing::StepUp(Ask::Again), r#", max_age="60""#, "insufficient_user_authentication"),
            (
                Missing::StepUp(Ask::TwoFactors),
                r#", acr_values="2""#,
                "insufficient_user_authentication",
            ),
            (
                Missing::StepUp(Ask::PhishingResistant),
                r#", acr_values="phr""#,
                "insufficient_user_authentication",
            ),
            (Missing::SecondFactor, r#", acr_values="2""#, "insufficient_user_authentication"),
            (Missing::Passkey, r#", acr_values="phr""#, "insufficient_user_authentication"),
            (Missing::VerifiedEmail, "", "insufficient_scope"),
        ] {
            let response = Error::Unauthorized(Challenge::Missing(missing), None).into_response();
            assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
            assert_eq!(
                response.headers()[header::WWW_AUTHENTICATE],
                format!(
                    r#"Bearer realm="doorward", error_description="{}"{wanted}, error="{error}""#,
                    missing.sentence()
                )
            );
        }
    }

    /// Most of these are rare, so that no other test compares them with the document.
    #[test]
    fn the_openapi_document_has_the_message_and_headers_of_each_error() {
        let document = include_str!("../../docs/openapi.json");
        let document: Value = serde_json::from_str(document).unwrap();
        let unauthorized = || Error::Unauthorized(Challenge::InvalidToken, None);
        let wait = Duration::from_secs(1);
        for (name, error) in [
            ("Unauthorized", unauthorized()),
            ("WrongCode", unauthorized()),
            ("InvalidClient", Error::InvalidClient),
            ("InvalidForm", Error::NoTokenField),
            ("MayNotRegister", account::Error::MayNotRegister.into()),
            ("MayNotRegister", Error::CrossSite(None)),
            ("MayNotInvite", account::Error::MayNotInvite.into()),
            ("MayNotInvite", Error::CrossSite(None)),
            ("OtherSite", Error::CrossSite(None)),
            ("RefusedVisit", Error::CrossSite(None)),
            ("NotFound", Error::NotFound),
            ("WrongCredentials", Error::NotFound),
            ("TooSlow", Error::TooSlow),
            ("TooLarge", Error::TooLarge),
            ("NotJson", Error::NotJson),
            ("Throttled", Error::Throttled(wait)),
            ("Internal", Error::Internal(String::new())),
            ("NeedsMail", Error::NeedsMail),
            ("Unavailable", Error::Unavailable(String::new())),
        ] {
            let documented = &document["components"]["responses"][name];
            let schema = &documented["content"]["application/json"]["schema"];
            let message = &schema["properties"]["message"];
            let one_of = message["enum"].as_array().map_or(&[][..], Vec::as_slice);
            let is_documented = message["const"] == error.message()
                || one_of.iter().any(|message| message == error.message());
            assert!(is_documented, "{name}: {message}");
            let answer = error.into_response();
            for (header, description) in documented["headers"].as_object().unwrap() {
                let reference = description["$ref"].as_str().unwrap_or_default();
                let pointer = reference.trim_start_matches('#');
                let description = document.pointer(pointer).unwrap_or(description);
                // The middleware adds this one.
                if description["required"] == true && header != "X-Request-Id" {
                    assert!(answer.headers().contains_key(header), "{name}: {header}");
                }
            }
        }
    }
}
