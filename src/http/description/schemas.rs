//! The schemas of answers and forms, which their types derive, as the API description has them.

use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Map, Value, json};

use super::Body;

/// Makes schemas. Those with names are components of the document.
pub(in crate::http) struct Schemas {
    answers: SchemaGenerator,
    forms: SchemaGenerator,
}

impl Schemas {
    pub(in crate::http) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let answers = settings.clone().for_serialize().with_transform(AsAnswered);
        let forms = settings.for_deserialize().with_transform(AsWritten);
        Self { answers: answers.into_generator(), forms: forms.into_generator() }
    }

    /// The schema of what is answered: a reference, if it is a component.
    pub(in crate::http) fn of_answer<T: JsonSchema>(&mut self) -> Value {
        let mut schema = self.answers.subschema_for::<T>();
        AsAnswered.transform(&mut schema);
        schema.to_value()
    }

    /// A body with this schema: a reference, if it is a component.
    pub(super) fn of_form<T: JsonSchema>(&mut self) -> Body {
        let required = T::json_schema(&mut self.forms).get("required").is_some();
        let mut schema = self.forms.subschema_for::<T>();
        AsWritten.transform(&mut schema);
        Body { media_type: "", schema: schema.to_value(), is_required: required }
    }

    /// The schema of an object whose members are the parameters of a query.
    pub(super) fn of_query<T: JsonSchema>(&mut self) -> Value {
        let mut schema = T::json_schema(&mut self.forms);
        AsWritten.transform(&mut schema);
        schema.to_value()
    }

    /// The components that the schemas refer to.
    pub(in crate::http) fn components(mut self) -> Map<String, Value> {
        let mut components = self.forms.take_definitions(true);
        components.extend(self.answers.take_definitions(true));
        components.sort_keys();
        components
    }
}

/// What holds for every schema and is not said by its type.
#[derive(Clone)]
struct AsWritten;

impl Transform for AsWritten {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(schema) = schema.as_object_mut() else { return };
        describe_as_text(schema);
        // A number in JSON has no size.
        if schema.get("type").is_some_and(is_integer) {
            schema.remove("format");
        }
        if schema.get("format").is_some_and(|format| format == "ip") {
            schema.remove("format");
            schema.insert("anyOf".into(), json!([{ "format": "ipv4" }, { "format": "ipv6" }]));
        }
    }
}

fn is_integer(kind: &Value) -> bool {
    match kind {
        Value::Array(kinds) => kinds.iter().any(is_integer),
        kind => kind == "integer",
    }
}

/// A comment in the code is broken into lines and ends with a full stop. A description is neither.
fn describe_as_text(schema: &mut Map<String, Value>) {
    if let Some(Value::String(description)) = schema.get_mut("description") {
        let text = description.replace('\n', " ");
        *description = text.strip_suffix('.').unwrap_or(&text).to_owned();
    }
}

/// What holds for every answer besides that.
#[derive(Clone)]
struct AsAnswered;

impl Transform for AsAnswered {
    fn transform(&mut self, schema: &mut Schema) {
        AsWritten.transform(schema);
        close_all(schema);
    }
}

/// An answer has no other members, and one that may be missing is never null. Only forms have defaults.
fn close_all(schema: &mut Schema) {
    transform_subschemas(&mut close_all, schema);
    let Some(schema) = schema.as_object_mut() else { return };
    schema.remove("default");
    if schema.get("type").is_none_or(|kind| kind != "object") && !schema.contains_key("properties")
    {
        return;
    }
    schema.entry("additionalProperties").or_insert(false.into());
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(members)) = schema.get_mut("properties") else { return };
    for (name, member) in members {
        if let (Value::Object(member), false) = (member, required.contains(&json!(name))) {
            forbid_null(member);
        }
    }
}

fn forbid_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = &mut kinds[..] {
            let kind = kind.take();
            schema.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(kinds)) = schema.get_mut("anyOf") {
        kinds.retain(|kind| kind["type"] != "null");
        if let [Value::Object(kind)] = &mut kinds[..] {
            let kind = std::mem::take(kind);
            schema.remove("anyOf");
            // The description of the member counts, not that of its type.
            for (name, value) in kind {
                schema.entry(name).or_insert(value);
            }
        }
    }
}
