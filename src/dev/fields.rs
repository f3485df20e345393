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
        let text = self.of_type(field, "string", |value| value.as_str().map(str::to_owned))?;
        parse(text).map_err(|fault| self.refuse(field, fault)).ok()
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
        self.of_type(field, "boolean", Value::as_bool)
    }

    pub(super) fn object(&mut self, field: &'static str) -> Option<Map<String, Value>> {
        self.of_type(field, "object", |value| value.as_object().cloned())
    }

    pub(super) fn roles(&mut self) -> Option<Roles> {
        let roles = self.of_type("roles", "array", |value| value.as_array().cloned())?;
        let role = |value: &Value| value.as_str().and_then(Role::parse);
        let parsed: Option<Roles> = roles.iter().map(role).collect();
        if parsed.is_none() {
            let rule = "A role is a string of 1 to 64 letters, digits and _ - : . /";
            self.refuse("roles", Fault::malformed(rule));
        }
        parsed
    }

    fn of_type<T>(
        &mut self,
        field: &'static str,
        wanted: &'static str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.fields.remove(field).filter(|value| !value.is_null())?;
        let found = read(&value);
        if found.is_none() {
            self.refuse(field, Fault::wrong_type(wanted, json_type(&value)));
        }
        found
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
