//! The schemas of answers, which their types derive, as the API description has them.

use schemars::{
    JsonSchema, Schema, SchemaGenerator,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Map, Value, json};

/// Makes the schemas of answers. Those with names are components of the document.
pub(in crate::http) struct Answers(SchemaGenerator);

impl Answers {
    pub(in crate::http) fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().for_serialize().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        Self(settings.with_transform(AsAnswered).into_generator())
    }

    /// The schema of a type: a reference, if it is a component.
    pub(in crate::http) fn schema_of<T: JsonSchema>(&mut self) -> Value {
        let mut schema = self.0.subschema_for::<T>();
        AsAnswered.transform(&mut schema);
        schema.to_value()
    }

    /// The components that the schemas refer to.
    pub(in crate::http) fn components(mut self) -> Map<String, Value> {
        self.0.take_definitions(true)
    }
}

/// What holds for every answer and is not said by its type.
#[derive(Clone)]
struct AsAnswered;

impl Transform for AsAnswered {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(schema) = schema.as_object_mut() else { return };
        describe_as_text(schema);
        close(schema);
        // Only what is sent has defaults.
        schema.remove("default");
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

/// An answer has no other members, and one that may be missing is never null.
fn close(schema: &mut Map<String, Value>) {
    let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
    let Some(Value::Object(members)) = schema.get_mut("properties") else { return };
    for (name, member) in members {
        if let (Value::Object(member), false) = (member, required.contains(&json!(name))) {
            forbid_null(member);
        }
    }
    schema.entry("additionalProperties").or_insert(false.into());
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
