//! Values of statements.

use std::time::SystemTime;

use uuid::Uuid;

use crate::{clock::Timestamp, id::Id, user::EmailKey};

/// A value of a statement, or of a record. It may be a secret, so it does not implement `Debug`.
#[derive(Clone, PartialEq)]
pub enum Value {
    Id(Option<Uuid>),
    Text(Option<String>),
    /// A number, or a time by the clock of the instance, in milliseconds since 1970.
    Number(Option<i64>),
    Flag(bool),
    Bytes(Option<Vec<u8>>),
    /// A time by the clock of the database. Other times are numbers, by the clock of the instance.
    Time(SystemTime),
}

/// Declares the conversions into a value.
macro_rules! values {
    ($($kind:ty => |$value:ident| $converted:expr;)*) => {
        $(impl From<$kind> for Value {
            fn from($value: $kind) -> Self {
                $converted
            }
        })*
    };
}

values! {
    Uuid => |id| Self::Id(Some(id));
    Option<Uuid> => |id| Self::Id(id);
    &str => |text| Self::Text(Some(text.to_owned()));
    String => |text| Self::Text(Some(text));
    Option<String> => |text| Self::Text(text);
    i64 => |number| Self::Number(Some(number));
    Option<i64> => |number| Self::Number(number);
    Timestamp => |at| Self::Number(Some(at.millis()));
    Option<Timestamp> => |at| Self::Number(at.map(Timestamp::millis));
    bool => |flag| Self::Flag(flag);
    Vec<u8> => |bytes| Self::Bytes(Some(bytes));
    Option<Vec<u8>> => |bytes| Self::Bytes(bytes);
    SystemTime => |time| Self::Time(time);
}

impl<T: Id> From<T> for Value {
    fn from(id: T) -> Self {
        Self::Id(Some(id.uuid()))
    }
}

impl<T: Id> From<Option<T>> for Value {
    fn from(id: Option<T>) -> Self {
        Self::Id(id.map(T::uuid))
    }
}

/// A limit in the type of the databases.
pub(super) fn sql_limit(limit: usize) -> Value {
    i64::try_from(limit).unwrap_or(i64::MAX).into()
}

/// The key of an address. PostgreSQL text cannot contain NUL, so a key with NUL becomes the empty key, which no user has.
pub(super) fn email_key(email: &EmailKey) -> Value {
    if email.as_str().contains('\0') { "" } else { email.as_str() }.into()
}
