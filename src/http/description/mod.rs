//! What the API description says of an operation: what its types tell, and what stands in the table of routes.

mod answers;
mod schemas;
mod shared;

use schemars::JsonSchema;
use serde_json::Value;

pub(super) use self::{
    answers::{Answer, Content, Created, JsonLines, PUBLIC, Sent, Success},
    schemas::Schemas,
    shared::{Shared, SharedBody},
};

/// An operation of the API.
pub(super) struct Operation {
    pub(super) id: &'static str,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    pub(super) description: &'static str,
    /// What its success is.
    pub(super) answer: &'static str,
    /// What the parameter `{id}` is.
    pub(super) id_is: &'static str,
    pub(super) takes: &'static [Parameter],
    /// The refusals that others do not have, or have for another reason.
    pub(super) refuses: &'static [Shared],
    /// The media type of a body that the handler reads by itself.
    pub(super) reads: Option<&'static str>,
    pub(super) types: OperationTypes,
}

impl Operation {
    /// One of which only the types are known.
    pub(super) fn of(types: OperationTypes) -> Self {
        Self {
            id: "",
            tag: Tag::Service,
            summary: "",
            description: "",
            answer: "",
            id_is: "",
            takes: &[],
            refuses: &[],
            reads: None,
            types,
        }
    }
}

/// What the types of a handler tell.
#[derive(Clone, Copy)]
pub(super) struct OperationTypes {
    pub(super) request: fn(&mut Requested, &mut Schemas),
    pub(super) answers: fn(&mut Schemas) -> Vec<Success>,
    /// Whether the handler itself may fail.
    pub(super) can_fail: bool,
}

/// What a handler takes of a request.
#[derive(Default)]
pub(super) struct Requested {
    /// The schema of an object whose members are the parameters of the query.
    pub(super) query: Option<Value>,
    pub(super) body: Option<Body>,
}

/// The body of a request.
pub(super) struct Body {
    pub(super) media_type: &'static str,
    pub(super) schema: Value,
    pub(super) is_required: bool,
}

pub(super) const JSON: &str = "application/json";
const FORM: &str = "application/x-www-form-urlencoded";

impl Requested {
    /// Adds the parameters of a query.
    pub(super) fn add_query<T: JsonSchema>(&mut self, schemas: &mut Schemas) {
        self.query = Some(schemas.of_query::<T>());
    }

    /// Adds a body of JSON.
    pub(super) fn add_json<T: JsonSchema>(&mut self, schemas: &mut Schemas) {
        self.body = Some(Body { media_type: JSON, ..schemas.of_form::<T>() });
    }

    /// Adds a body that is a form.
    pub(super) fn add_form<T: JsonSchema>(&mut self, schemas: &mut Schemas) {
        self.body = Some(Body { media_type: FORM, ..schemas.of_form::<T>() });
    }
}

/// A parameter that the types of a handler do not tell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Parameter {
    IdempotencyKey,
    IfMatch,
    Since,
}

/// A group of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tag {
    Accounts,
    Login,
    Factors,
    Mail,
    Invitations,
    Keys,
    Guards,
    Tokens,
    Administration,
    Service,
}

impl Tag {
    pub(super) const ALL: [Self; 10] = [
        Self::Accounts,
        Self::Login,
        Self::Factors,
        Self::Mail,
        Self::Invitations,
        Self::Keys,
        Self::Guards,
        Self::Tokens,
        Self::Administration,
        Self::Service,
    ];

    pub(super) fn description(self) -> &'static str {
        match self {
            Self::Accounts => "Register, and read, change, export or delete one's own account",
            Self::Login => "Get a token, replace it, and end sessions",
            Self::Factors => {
                "Second factors, passkeys and accounts at other providers: log in, prove again, add and remove"
            }
            Self::Mail => "Links and codes that are sent by mail",
            Self::Invitations => "Invite others to register, where the operator allows it",
            Self::Keys => "API keys: how programs of a person pass guards",
            Self::Guards => "What a proxy or an app asks before it serves a request",
            Self::Tokens => "For services that verify tokens",
            Self::Administration => {
                "For users with the role `admin`, for API keys with the scope, and for the command line"
            }
            Self::Service => "Health, and this document",
        }
    }
}
