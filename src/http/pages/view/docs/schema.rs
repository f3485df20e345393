//! Schemas and parameters of the OpenAPI document in words.

use super::{Words, json::Json};

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
    pub(super) document: &'a Json,
}

impl<'a> Resolver<'a> {
    /// What a reference refers to, or the value itself.
    pub(super) fn resolved(self, value: &'a Json) -> &'a Json {
        match value.at("$ref").text().strip_prefix("#/") {
            Some(pointer) => pointer.split('/').fold(self.document, |value, key| value.at(key)),
            None => value,
        }
    }

    pub(super) fn parameter(self, parameter: &'a Json) -> Field {
        let kind = self.kind(parameter.at("schema"));
        Field {
            name: parameter.at("name").text().to_owned(),
            kind: format!("in the {}, {kind}", parameter.at("in").text()),
            is_required: *parameter.at("required") == Json::Bool(true),
            description: Words::of(parameter.at("description").text()),
        }
    }

    /// The members of an object.
    pub(super) fn members_of(self, schema: &'a Json) -> Vec<Field> {
        let schema = self.resolved(schema);
        let is_required =
            |name: &str| schema.at("required").items().iter().any(|own| own.text() == name);
        let members = schema.at("properties").members().iter();
        members
            .map(|(name, member)| {
                let own = member.at("description").text();
                let description = if own.is_empty() {
                    self.resolved(member).at("description").text()
                } else {
                    own
                };
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
    fn kind(self, schema: &'a Json) -> String {
        let schema = self.resolved(schema);
        let kind = match schema.at("format").text() {
            "uuid" => "UUID",
            "date-time" => "time",
            _ => schema.at("type").text(),
        };
        let (min, max) = (schema.at("minLength").number(), schema.at("maxLength").number());
        match (min, max) {
            (Some(min), Some(max)) => format!("{kind}, {min} to {max} characters"),
            (Some(min), None) => format!("{kind}, at least {min} characters"),
            (None, Some(max)) => format!("{kind}, at most {max} characters"),
            (None, None) => kind.to_owned(),
        }
    }
}
