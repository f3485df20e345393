//! Schemas and parameters of the OpenAPI document in words.

use serde_json::Value;

use super::{Words, items, members, text};

/// A parameter, or a member of a body.
pub(super) struct Field {
    pub(super) name: String,
    /// Where it is sent, unless in the body, its type and its limits.
    pub(super) kind: String,
    pub(super) is_required: bool,
    pub(super) description: Words,
}

/// Follows references within the document.
#[derive(Clone, Copy)]
pub(super) struct Resolver<'a> {
    pub(super) document: &'a Value,
}

impl<'a> Resolver<'a> {
    /// What a reference refers to, or the value itself.
    pub(super) fn resolved(self, value: &'a Value) -> &'a Value {
        match text(&value["$ref"]).strip_prefix("#/") {
            Some(pointer) => pointer.split('/').fold(self.document, |value, key| &value[key]),
            None => value,
        }
    }

    pub(super) fn parameter(self, parameter: &'a Value) -> Field {
        let kind = self.kind(&parameter["schema"]);
        Field {
            name: text(&parameter["name"]).to_owned(),
            kind: format!("in the {}, {kind}", text(&parameter["in"])),
            is_required: parameter["required"] == true,
            description: Words::of(text(&parameter["description"])),
        }
    }

    /// The members of an object.
    pub(super) fn members_of(self, schema: &'a Value) -> Vec<Field> {
        let schema = self.resolved(schema);
        let is_required = |name: &str| items(&schema["required"]).iter().any(|own| own == name);
        members(&schema["properties"])
            .map(|(name, member)| {
                let own = text(&member["description"]);
                let description =
                    if own.is_empty() { text(&self.resolved(member)["description"]) } else { own };
                Field {
                    name: name.clone(),
                    kind: self.kind(member),
                    is_required: is_required(name),
                    description: Words::of(description),
                }
            })
            .collect()
    }

    /// The type of a value and its limits.
    fn kind(self, schema: &'a Value) -> String {
        let schema = self.resolved(schema);
        let kind = match text(&schema["format"]) {
            "uuid" => "UUID",
            "date-time" => "time",
            _ => text(&schema["type"]),
        };
        let (min, max) = (schema["minLength"].as_u64(), schema["maxLength"].as_u64());
        match (min, max) {
            (Some(min), Some(max)) => format!("{kind}, {min} to {max} characters"),
            (Some(min), None) => format!("{kind}, at least {min} characters"),
            (None, Some(max)) => format!("{kind}, at most {max} characters"),
            (None, None) => kind.to_owned(),
        }
    }
}
