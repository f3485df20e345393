//! The fields of a JSON object that a test sends, read one by one, so that one answer has every fault.

use std::{borrow::Cow, collections::BTreeMap};

use serde_json::{Map, Value};

use crate::{
    fault::{Fault, json_type},
    spelling::suggest,
    user::{Role, Roles},
};

/// The faults of an object by field.
pub(crate) type Faults = Vec<(Cow<'static, str>, Fault)>;

/// The fields that are still to be read, and the faults of the others.
pub(super) struct Fields {
    fields: BTreeMap<String, Value>,
    pub(super) faults: Faults,
}

impl Fields {
    pub(super) fn new(fields: BTreeMap<String, Value>) -> Self {
        Self { fields, faults: Faults::new() }
    }

    pub(super) fn refuse(&mut self, field: &'static str, fault: Fault) {
        self.faults.push((field.into(), fault));
    }

    pub(super) fn text<T>(
        &mut self,
        field: &'static str,
        parse: impl FnOnce(String) -> Result<T, Fault>,
    ) -> Option<T> {
        let parsed = match self.fields.remove(field) {
            None | Some(Value::Null) => return None,
            Some(Value::String(text)) => parse(text),
            Some(other) => Err(Fault::wrong_type("string", json_type(&other))),
        };
        parsed.map_err(|fault| self.refuse(field, fault)).ok()
    }

    pub(super) fn required<T>(
        &mut self,
        field: &'static str,
        parse: impl FnOnce(String) -> Result<T, Fault>,
    ) -> Option<T> {
        if matches!(self.fields.get(field), None | Some(Value::Null)) {
            self.refuse(field, Fault::REQUIRED);
        }
        self.text(field, parse)
    }

    pub(super) fn flag(&mut self, field: &'static str) -> Option<bool> {
        match self.fields.remove(field) {
            None | Some(Value::Null) => None,
            Some(Value::Bool(flag)) => Some(flag),
            Some(other) => {
                self.refuse(field, Fault::wrong_type("boolean", json_type(&other)));
                None
            }
        }
    }

    pub(super) fn object(&mut self, field: &'static str) -> Option<Map<String, Value>> {
        match self.fields.remove(field) {
            None | Some(Value::Null) => None,
            Some(Value::Object(object)) => Some(object),
            Some(other) => {
                self.refuse(field, Fault::wrong_type("object", json_type(&other)));
                None
            }
        }
    }

    pub(super) fn roles(&mut self) -> Option<Roles> {
        let roles = match self.fields.remove("roles") {
            None | Some(Value::Null) => return None,
            Some(Value::Array(roles)) => roles,
            Some(other) => {
                self.refuse("roles", Fault::wrong_type("array", json_type(&other)));
                return None;
            }
        };
        let role = |value: &Value| value.as_str().and_then(Role::parse);
        let parsed: Option<Roles> = roles.iter().map(role).collect();
        if parsed.is_none() {
            let rule = "A role is a string of 1 to 64 letters, digits and _ - : . /";
            self.refuse("roles", Fault::malformed(rule));
        }
        parsed
    }

    pub(super) fn refuse_others(&mut self, known: &[&str]) {
        for field in self.fields.keys() {
            let fault = match suggest(field, known.iter().copied()) {
                Some(meant) => Fault::did_you_mean(meant),
                None => Fault::malformed(format!("Unrecognized key: use {}", known.join(", "))),
            };
            self.faults.push((field.clone().into(), fault));
        }
    }
}
