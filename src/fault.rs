//! What is wrong with a field of a request, with its message in the words of the service specification.

use std::borrow::Cow;

use serde_json::Value;

/// A refused field: its message for programs, and what pages need to say the same in the person's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    kind: FaultKind,
    message: Cow<'static, str>,
}

/// What is wrong with a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The field is missing.
    Required,
    /// It has fewer characters than this minimum.
    TooShort(usize),
    /// It has more characters than this maximum.
    TooLong(usize),
    InvalidEmail,
    InvalidName,
    CommonPassword,
    /// The password is the user's own name or e-mail address.
    OwnNameOrEmail,
    EmailTaken,
    InvalidRole,
    /// A key has no scope, or one that its maker cannot give.
    InvalidScope,
    /// It is not a condition in CEL.
    InvalidCondition,
    /// A key cannot be valid for this long.
    KeyLifetime,
    /// An invitation cannot be valid for this long.
    InvitationLifetime,
    /// It is not JSON of the expected shape. Forms of pages have no such fault.
    Malformed,
}

impl Fault {
    pub const REQUIRED: Self = Self::fixed(FaultKind::Required, "Required");
    pub const INVALID_EMAIL: Self = Self::fixed(FaultKind::InvalidEmail, "Invalid email");
    pub const INVALID_NAME: Self = Self::fixed(FaultKind::InvalidName, "Invalid name");
    pub const COMMON_PASSWORD: Self =
        Self::fixed(FaultKind::CommonPassword, "Too common: choose another password");
    /// The password is the user's own name or e-mail address.
    pub const OWN_NAME_OR_EMAIL: Self =
        Self::fixed(FaultKind::OwnNameOrEmail, "Must not be your name or e-mail address");
    pub const EMAIL_TAKEN: Self = Self::fixed(FaultKind::EmailTaken, "Already registered");
    pub const INVALID_JSON: Self = Self::fixed(FaultKind::Malformed, "Invalid JSON");
    /// A field of a query is repeated or not UTF-8.
    pub const INVALID_QUERY: Self =
        Self::fixed(FaultKind::Malformed, "Must contain each field once, as UTF-8");
    /// The body has more fields than any request needs.
    pub const TOO_MANY_FIELDS: Self =
        Self::fixed(FaultKind::Malformed, "Must contain at most 100 fields");

    const fn fixed(kind: FaultKind, message: &'static str) -> Self {
        Self { kind, message: Cow::Borrowed(message) }
    }

    /// A value that breaks a rule with this message.
    pub fn new(kind: FaultKind, message: impl Into<Cow<'static, str>>) -> Self {
        Self { kind, message: message.into() }
    }

    pub fn too_short(minimum: usize) -> Self {
        let message = format!("String must contain at least {minimum} character(s)");
        Self { kind: FaultKind::TooShort(minimum), message: message.into() }
    }

    pub fn too_long(maximum: usize) -> Self {
        let message = format!("String must contain at most {maximum} character(s)");
        Self { kind: FaultKind::TooLong(maximum), message: message.into() }
    }

    /// A value of the wrong JSON type.
    pub fn wrong_type(expected: &str, received: &str) -> Self {
        let message = format!("Expected {expected}, received {received}");
        Self { kind: FaultKind::Malformed, message: message.into() }
    }

    /// An unknown field whose name resembles a missing one.
    pub fn did_you_mean(field: &str) -> Self {
        let message = format!("Unrecognized key, did you mean {field}?");
        Self { kind: FaultKind::Malformed, message: message.into() }
    }

    /// A field that occurs twice.
    pub const REPEATED: Self =
        Self { kind: FaultKind::Malformed, message: Cow::Borrowed("Repeated key") };

    /// An unknown field where none is ignored.
    pub fn unknown_field(known: &[&str]) -> Self {
        let message = format!("Unrecognized key, expected {}", known.join(", "));
        Self { kind: FaultKind::Malformed, message: message.into() }
    }

    /// A value that breaks another rule.
    pub fn malformed(message: impl Into<Cow<'static, str>>) -> Self {
        Self::new(FaultKind::Malformed, message)
    }

    pub fn kind(&self) -> FaultKind {
        self.kind
    }

    pub fn message(&self) -> &str {
        &self.message
    }
}

/// The name of the type of a JSON value, as messages have it.
pub(crate) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
