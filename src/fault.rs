//! Messages for refused fields of a request, in the words of the service specification.

use std::borrow::Cow;

/// The message for a refused field.
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

    /// A value of the wrong JSON type.
    pub fn wrong_type(expected: &str, received: &str) -> Self {
        Self(format!("Expected {expected}, received {received}").into())
    }

    /// An unknown field whose name resembles a missing one.
    pub fn did_you_mean(field: &str) -> Self {
        Self(format!("Unrecognized key, did you mean {field}?").into())
    }

    /// The message.
    pub fn message(&self) -> &str {
        &self.0
    }
}
