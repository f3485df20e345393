//! Why a value that somebody sent is refused, in the words that the service document fixes.

use std::borrow::Cow;

/// The message shown beside the name of a refused field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Cow<'static, str>);

impl Fault {
    /// The field is missing.
    pub const REQUIRED: Self = Self(Cow::Borrowed("Required"));

    /// A fixed message.
    pub const fn new(message: &'static str) -> Self {
        Self(Cow::Borrowed(message))
    }

    /// Fewer characters than the minimum.
    pub fn too_short(minimum: usize) -> Self {
        Self(format!("String must contain at least {minimum} character(s)").into())
    }

    /// More characters than the maximum.
    pub fn too_long(maximum: usize) -> Self {
        Self(format!("String must contain at most {maximum} character(s)").into())
    }

    /// A value of another JSON type than the expected one.
    pub fn wrong_type(expected: &str, received: &str) -> Self {
        Self(format!("Expected {expected}, received {received}").into())
    }

    /// A field that nobody expects, in place of an expected one that is missing.
    pub fn did_you_mean(field: &str) -> Self {
        Self(format!("Unrecognized key, did you mean {field}?").into())
    }

    /// The message itself.
    pub fn message(&self) -> &str {
        &self.0
    }
}
