//! Which events of the audit trail a query or a form asks for.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::Value;

use super::{
    error::Error,
    form::{FieldType, FormContext, form, text},
};
use crate::{
    Doorward, account::look_up, clock::Timestamp, event::EventName, fault::Fault,
    store::AuditFilter, user::UserId,
};

form! {
    /// Which events.
    pub(super) struct EventFilter {
        /// From this time on: a day in UTC, or RFC 3339.
        from: Option<Timestamp>,
        /// Before this time.
        to: Option<Timestamp>,
        /// Of this kind, such as `signed_in`.
        kind: Option<EventKindName>,
        /// About or by this user: the id or the e-mail address.
        user: Option<String>,
        ..Ignored
    }
}

impl EventFilter {
    pub(super) async fn filter(self, doorward: &Doorward) -> Result<AuditFilter, Error> {
        let Self { from, to, kind, user } = self;
        let user = match user {
            None => None,
            Some(user) => match user_id(doorward, &user).await? {
                Some(id) => Some(id),
                None => return Err(Error::Invalid(vec![("user".into(), not("a user"))])),
            },
        };
        Ok(AuditFilter { from, to, user, kind })
    }
}

impl FieldType for Timestamp {
    type Parsed = Self;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<Self, Fault> {
        let fault = || not("a day or a time, such as 2027-01-15T08:00:00Z");
        Self::parse(&text(sent)?).ok_or_else(fault)
    }

    fn schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "date-time" })
    }
}

/// The name of a kind of event.
pub(super) struct EventKindName;

impl FieldType for EventKindName {
    type Parsed = String;

    fn parse(sent: Value, _: FormContext<'_>) -> Result<String, Fault> {
        let name = text(sent)?;
        match EventName::parse(&name).is_some() {
            true => Ok(name),
            false => Err(not("a kind of event")),
        }
    }

    fn schema(generator: &mut SchemaGenerator) -> Schema {
        String::schema(generator)
    }
}

/// The id of a user, by id or address. EventFilter of deleted users are found by their id.
async fn user_id(doorward: &Doorward, user: &str) -> Result<Option<UserId>, Error> {
    if let Ok(id) = user.parse() {
        return Ok(Some(id));
    }
    Ok(look_up::user_by_id_or_email(doorward, user).await?.map(|user| user.id))
}

/// What was typed is something else.
pub(super) fn not(what: &str) -> Fault {
    Fault::malformed(format!("Expected {what}"))
}
