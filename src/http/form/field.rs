//! The types of fields: what each of them takes, what is wrong with anything else, and the schema that says so.

use std::{borrow::Cow, marker::PhantomData};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::DeserializeOwned;
use serde_json::Value;
use zeroize::Zeroizing;

use crate::{
    Doorward, Settings,
    account::password,
    credential::password::{Password, PasswordRules},
    event::EventId,
    fault::{Fault, json_type},
    mail::MailId,
    token::one_time::{OneTimeSecret, SecretDigest},
    user::{Email, EmailKey, Name, User, UserId},
};

/// What the rules of some fields depend on.
#[derive(Clone, Copy)]
pub(in crate::http) struct FormContext<'a> {
    pub(in crate::http) doorward: &'a Doorward,
    /// The user whose own account the form is about.
    pub(in crate::http) user: Option<&'a User>,
}

impl<'a> FormContext<'a> {
    /// For a form about the account of this user, who has sent it.
    pub(in crate::http) fn of(doorward: &'a Doorward, user: &'a User) -> Self {
        Self { doorward, user: Some(user) }
    }
}

impl<'a> From<&'a Doorward> for FormContext<'a> {
    fn from(doorward: &'a Doorward) -> Self {
        Self { doorward, user: None }
    }
}

/// The type of a field.
pub(in crate::http) trait FieldType {
    /// What a handler gets.
    type Parsed;

    fn parse(sent: Value, context: FormContext<'_>) -> Result<Self::Parsed, Fault>;

    fn schema(generator: &mut SchemaGenerator) -> Schema;
}

/// The text that was sent.
pub(in crate::http) fn text(sent: Value) -> Result<String, Fault> {
    match sent {
        Value::String(text) => Ok(text),
        other => Err(Fault::wrong_type("string", json_type(&other))),
    }
}

/// The flag that was sent.
pub(in crate::http) fn flag(sent: Value) -> Result<bool, Fault> {
    match sent {
        Value::Bool(flag) => Ok(flag),
        other => Err(Fault::wrong_type("boolean", json_type(&other))),
    }
}

/// A value that is more than a text, a number or a flag. Pages send it as text.
pub(in crate::http) fn json<T: DeserializeOwned>(sent: Value) -> Result<T, Fault> {
    let parsed = match sent {
        Value::String(text) => serde_json::from_str(&text),
        value => T::deserialize(value),
    };
    parsed.map_err(|error| Fault::malformed(format!("Not valid: {error}")))
}

/// Any text.
impl FieldType for String {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        text(sent)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string" })
    }
}

/// Any text that is secret.
impl FieldType for Zeroizing<String> {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        text(sent).map(Self::new)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        String::schema(generator)
    }
}

impl FieldType for bool {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        flag(sent)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "boolean" })
    }
}

impl FieldType for Name {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        Self::parse(text(sent)?)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Self>()
    }
}

impl FieldType for Email {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        Self::parse(text(sent)?)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Self>()
    }
}

/// An address to look somebody up by, which need not be valid.
impl FieldType for EmailKey {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        text(sent).map(|typed| Self::of(&typed))
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        String::schema(generator)
    }
}

/// A password that is only compared with a hash.
impl FieldType for Password {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        text(sent).map(Self::unchecked)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "password" })
    }
}

/// A password that is to be set. It must not be guessed easily from the user whose account the form is about.
pub(in crate::http) struct NewPassword;

impl FieldType for NewPassword {
    type Parsed = Password;

    fn parse(sent: Value, context: FormContext<'_>) -> Result<Password, Fault> {
        let sent = text(sent)?;
        match context.user {
            Some(user) => password::parse(context.doorward, user, sent),
            None => Password::parse(sent, context.doorward.settings().password_rules()),
        }
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<Self>()
    }
}

impl NewPassword {
    /// The schema by the settings of a service. That of the type has the bounds of the default settings.
    pub(in crate::http) fn schema_by(rules: PasswordRules) -> Schema {
        json_schema!({
            "type": "string",
            "format": "password",
            "minLength": rules.min_length,
            "maxLength": rules.max_length,
            "description": "With `password.refuse_common`, common passwords, the user's own name or address, and names of the service are refused",
        })
    }
}

impl JsonSchema for NewPassword {
    fn schema_name() -> Cow<'static, str> {
        "NewPassword".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Self::schema_by(Settings::new().password_rules())
    }
}

/// The secret of a mailed link, where no code can be typed.
impl FieldType for SecretDigest {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        let sent = text(sent)?;
        Ok(OneTimeSecret::unchecked(sent.trim().to_owned()).digest())
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        String::schema(generator)
    }
}

macro_rules! ids {
    ($($id:ty => $fault:literal;)+) => {
        $(impl FieldType for $id {
            type Parsed = Self;

            fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
                text(sent)?.parse().map_err(|_| Fault::malformed($fault))
            }

            fn schema(_: &mut SchemaGenerator) -> Schema {
                uuid()
            }
        })+
    };
}

ids! {
    EventId => "Expected an id";
    MailId => "Expected the id of a mail";
    UserId => "Expected the id of a user";
}

/// The schema of an id.
pub(in crate::http) fn uuid() -> Schema {
    json_schema!({ "type": "string", "format": "uuid" })
}

/// A value that serde reads.
pub(in crate::http) struct Json<T>(PhantomData<T>);

impl<T: DeserializeOwned + JsonSchema> FieldType for Json<T> {
    type Parsed = T;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<T, Fault> {
        json(sent)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        generator.subschema_for::<T>()
    }
}

/// A text that whatever is ordered with it holds to the rules of `F`, and not the form.
pub(in crate::http) struct CheckedLater<F>(PhantomData<F>);

impl<F: FieldType> FieldType for CheckedLater<F> {
    type Parsed = String;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<String, Fault> {
        text(sent)
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        F::schema(generator)
    }
}
