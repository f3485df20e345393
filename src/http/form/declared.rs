//! Forms as structs that state each field once: its name, whether it is required, its type and what it is for. The parser, the
//! check for misspelled names and the schema come from that.

use std::marker::PhantomData;

use axum::extract::{FromRef, FromRequest, Request};
use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value};

use super::{
    FaultRecorded, Form,
    field::{FieldType, FormContext},
};
use crate::{Doorward, credential::password::Password, fault::Fault, http::error::Error};

/// The fields of a form, or some of them. [`form!`] implements it for a struct.
pub(in crate::http) trait FormPart: Sized {
    /// What becomes of fields that the form does not have.
    const OTHERS: Others = Others::Misspelled;

    /// Reads all fields, so that one answer lists every fault.
    fn read(form: &mut Form, context: FormContext<'_>) -> Result<Self, FaultRecorded>;

    /// Adds the fields to a schema.
    fn describe(object: &mut ObjectSchema, generator: &mut SchemaGenerator);
}

/// What becomes of fields that a form does not have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::http) enum Others {
    /// They are ignored.
    Ignored,
    /// They are ignored unless one is the misspelling of a missing one.
    Misspelled,
    /// They are refused. For what narrows rights: a restriction that is written in another word must not be ignored.
    Refused,
}

/// A field of a form: of a type, and required or optional.
pub(in crate::http) trait FormField {
    /// What a handler gets.
    type Parsed;

    fn read(
        form: &mut Form,
        name: &'static str,
        context: FormContext<'_>,
    ) -> Result<Self::Parsed, FaultRecorded>;

    /// Adds the field to a schema.
    fn describe(
        object: &mut ObjectSchema,
        name: &str,
        description: &str,
        generator: &mut SchemaGenerator,
    );
}

/// A required field.
impl<F: FieldType> FormField for F {
    type Parsed = F::Parsed;

    fn read(
        form: &mut Form,
        name: &'static str,
        context: FormContext<'_>,
    ) -> Result<F::Parsed, FaultRecorded> {
        match <Option<F>>::read(form, name, context)? {
            Some(value) => Ok(value),
            None => form.record(name, Fault::REQUIRED),
        }
    }

    fn describe(
        object: &mut ObjectSchema,
        name: &str,
        description: &str,
        generator: &mut SchemaGenerator,
    ) {
        <Option<F>>::describe(object, name, description, generator);
        object.require(name);
    }
}

/// An optional field.
impl<F: FieldType> FormField for Option<F> {
    type Parsed = Option<F::Parsed>;

    fn read(
        form: &mut Form,
        name: &'static str,
        context: FormContext<'_>,
    ) -> Result<Option<F::Parsed>, FaultRecorded> {
        form.parsed(name, |sent| F::parse(sent, context))
    }

    fn describe(
        object: &mut ObjectSchema,
        name: &str,
        description: &str,
        generator: &mut SchemaGenerator,
    ) {
        object.property(name, description, F::schema(generator));
    }
}

/// The current password of the user whose own account the form is about. A user without one may omit it.
pub(in crate::http) struct CurrentPassword;

impl CurrentPassword {
    /// What the schema says of it.
    pub(in crate::http) const DESCRIPTION: &str = "The current password. A user without a password may omit it if they have signed in within the last 10 minutes";
}

impl FormField for CurrentPassword {
    type Parsed = Option<Password>;

    fn read(
        form: &mut Form,
        name: &'static str,
        context: FormContext<'_>,
    ) -> Result<Option<Password>, FaultRecorded> {
        match context.user {
            Some(user) => form.current_password(name, user),
            None => Password::read(form, name, context).map(Some),
        }
    }

    fn describe(object: &mut ObjectSchema, name: &str, _: &str, generator: &mut SchemaGenerator) {
        Password::describe(object, name, Self::DESCRIPTION, generator);
    }
}

/// Several fields that depend on each other, or that other forms have as well. They stand among those of the form itself.
pub(in crate::http) struct Flattened<T>(PhantomData<T>);

impl<T: FormPart> FormField for Flattened<T> {
    type Parsed = T;

    fn read(
        form: &mut Form,
        _: &'static str,
        context: FormContext<'_>,
    ) -> Result<T, FaultRecorded> {
        T::read(form, context)
    }

    fn describe(object: &mut ObjectSchema, _: &str, _: &str, generator: &mut SchemaGenerator) {
        T::describe(object, generator);
    }
}

/// The schema of an object while fields are added to it.
#[derive(Default)]
pub(in crate::http) struct ObjectSchema {
    properties: Map<String, Value>,
    required: Vec<String>,
    rules: Map<String, Value>,
}

impl ObjectSchema {
    /// The schema of a form. A description is a comment of the code.
    pub(in crate::http) fn of<T: FormPart>(
        description: &str,
        generator: &mut SchemaGenerator,
    ) -> Schema {
        let mut object = Self::default();
        T::describe(&mut object, generator);
        let Self { properties, required, rules } = object;
        let mut schema = json_schema!({ "type": "object", "properties": properties });
        describe(&mut schema, description);
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        if T::OTHERS == Others::Refused {
            schema.insert("additionalProperties".into(), false.into());
        }
        schema.ensure_object().extend(rules);
        schema
    }

    /// Adds an optional field.
    pub(in crate::http) fn property(&mut self, name: &str, description: &str, mut schema: Schema) {
        describe(&mut schema, description);
        self.properties.insert(name.to_owned(), schema.to_value());
    }

    /// Makes a field required.
    pub(in crate::http) fn require(&mut self, name: &str) {
        self.required.push(name.to_owned());
    }

    /// Adds a rule about several fields.
    pub(in crate::http) fn rule(&mut self, keyword: &str, rule: Value) {
        self.rules.insert(keyword.to_owned(), rule);
    }
}

/// Adds what a comment says to a schema, as one line without the full stop at its end.
fn describe(schema: &mut Schema, comment: &str) {
    let lines: Vec<_> = comment.lines().map(str::trim).collect();
    let text = lines.join(" ");
    let text = text.trim().trim_end_matches('.');
    if !text.is_empty() {
        schema.insert("description".into(), text.into());
    }
}

/// A form of the API, read from a body of JSON.
pub(in crate::http) struct JsonForm<T> {
    form: Form,
    fields: PhantomData<fn() -> T>,
}

impl<T: FormPart> JsonForm<T> {
    /// The fields, or an error with every fault.
    pub(in crate::http) fn read<'a>(self, context: impl Into<FormContext<'a>>) -> Result<T, Error> {
        self.form.read(context)
    }
}

impl<T, S: Send + Sync> FromRequest<S> for JsonForm<T>
where
    Doorward: FromRef<S>,
{
    type Rejection = Error;

    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        let form = Form::from_request(request, state).await?;
        Ok(Self { form, fields: PhantomData })
    }
}

/// Declares a form: a struct whose fields are read in their order. Its comment and theirs are the descriptions in its schema.
///
/// ```text
/// form! {
///     /// A room.
///     pub(crate) struct RoomForm as "Room" {
///         name: Name,
///         /// Who may enter.
///         visitor_ids as "visitorIds": Option<Json<Vec<String>>>,
///         ..Refused
///     }
/// }
/// ```
///
/// The type of a field is a [`FormField`]: a [`FieldType`], which is required, or an `Option` of one. `as` gives another name for clients. The
/// word after `..` says what becomes of fields that the form does not have, as in [`Others`]; misspelled ones are refused by default.
macro_rules! form {
    (@name $rust:ident) => { stringify!($rust) };
    (@name $rust:ident $name:literal) => { $name };
    (
        $(#[doc = $doc:literal])*
        $visibility:vis struct $form:ident $(as $component:literal)? {
            $(
                $(#[doc = $field_doc:literal])*
                $field:ident $(as $name:literal)?: $type:ty,
            )*
            $(..$others:ident)?
        }
    ) => {
        $(#[doc = $doc])*
        $visibility struct $form {
            $(
                $(#[doc = $field_doc])*
                $visibility $field: <$type as $crate::http::form::FormField>::Parsed,
            )*
        }

        impl $crate::http::form::FormPart for $form {
            $(const OTHERS: $crate::http::form::Others = $crate::http::form::Others::$others;)?

            fn read(
                form: &mut $crate::http::form::Form,
                context: $crate::http::form::FormContext<'_>,
            ) -> Result<Self, $crate::http::form::FaultRecorded> {
                $(
                    let $field = <$type as $crate::http::form::FormField>::read(
                        form,
                        $crate::http::form::form!(@name $field $($name)?),
                        context,
                    );
                )*
                Ok(Self { $($field: $field?),* })
            }

            fn describe(
                object: &mut $crate::http::form::ObjectSchema,
                generator: &mut ::schemars::SchemaGenerator,
            ) {
                $(
                    <$type as $crate::http::form::FormField>::describe(
                        object,
                        $crate::http::form::form!(@name $field $($name)?),
                        concat!($($field_doc, "\n",)*),
                        generator,
                    );
                )*
            }
        }

        impl ::schemars::JsonSchema for $form {
            fn schema_name() -> ::std::borrow::Cow<'static, str> {
                $crate::http::form::form!(@name $form $($component)?).into()
            }

            fn schema_id() -> ::std::borrow::Cow<'static, str> {
                concat!(module_path!(), "::", stringify!($form)).into()
            }

            fn json_schema(generator: &mut ::schemars::SchemaGenerator) -> ::schemars::Schema {
                $crate::http::form::ObjectSchema::of::<Self>(concat!($($doc, "\n",)*), generator)
            }
        }
    };
}

pub(in crate::http) use form;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::field::Json, *};
    use crate::{Settings, user::Name};

    form! {
        /// A form
        /// of this test.
        struct TestForm as "Test" {
            name: Name,
            /// Whether anybody may enter.
            is_open as "isOpen": Option<bool>,
            seats: Option<Json<Vec<u8>>>,
            ..Refused
        }
    }

    #[tokio::test]
    async fn one_answer_lists_every_fault_of_a_form_in_the_order_of_its_fields() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}/doorward.db", folder.path().display());
        let doorward = Doorward::open(Settings::new().with("database_url", url)).await.unwrap();
        let read = |sent: Value| {
            let fields = serde_json::from_value(sent).unwrap();
            Form::of_fields(fields).read::<TestForm>(&doorward).map_err(|error| match error {
                Error::Invalid(faults) => faults
                    .into_iter()
                    .map(|(field, fault)| format!("{field}: {}", fault.message()))
                    .collect::<Vec<_>>(),
                error => panic!("{error:?}"),
            })
        };
        let form = read(json!({ "seats": [1, 2], "name": " Ada " })).ok().unwrap();
        assert_eq!((form.name.as_str(), form.is_open), ("Ada", None));
        assert_eq!(form.seats, Some(vec![1, 2]));
        let faults = read(json!({ "nam": "Ada", "seats": "{}", "isOpen": "true" })).err().unwrap();
        assert_eq!(
            faults,
            [
                "name: Required",
                "isOpen: Expected boolean, received string",
                "seats: Not valid: invalid type: map, expected a sequence at line 1 column 0",
                "nam: Unrecognized key, did you mean name?",
            ]
        );
        let faults = read(json!({ "name": "Ada", "rows": 1 })).err().unwrap();
        assert_eq!(faults, ["rows: Unrecognized key, expected isOpen, seats, name"]);
    }

    #[test]
    fn the_schema_of_a_form_says_what_its_fields_take() {
        let mut generator = SchemaGenerator::default();
        let schema = generator.subschema_for::<TestForm>();
        assert_eq!(schema.to_value(), json!({ "$ref": "#/$defs/Test" }));
        let definitions = generator.take_definitions(false);
        assert_eq!(
            definitions["Test"],
            json!({
                "type": "object",
                "description": "A form of this test",
                "properties": {
                    "name": { "$ref": "#/$defs/Name" },
                    "isOpen": { "type": "boolean", "description": "Whether anybody may enter" },
                    "seats": {
                        "type": "array",
                        "items": { "type": "integer", "format": "uint8", "minimum": 0, "maximum": 255 },
                    },
                },
                "required": ["name"],
                "additionalProperties": false,
            })
        );
        assert_eq!(definitions["Name"]["type"], "string");
    }
}
