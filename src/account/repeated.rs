//! Orders that may arrive twice. The id of what an order creates is derived from who gives it and from the key that they send with
//! it, so that the order finds what it has created before.

use uuid::Uuid;

use crate::{
    Doorward,
    event::{Actor, Administrator},
};

/// The id of what the order with this key creates. `kind` keeps users and invitations apart.
pub(crate) fn id_of(doorward: &Doorward, by: &Administrator, kind: &str, key: &str) -> Uuid {
    let actor = match &by.actor {
        Actor::User(id) => format!("user {id}"),
        Actor::Key { key, .. } => format!("key {key}"),
        Actor::Operator(_) | Actor::Unknown | Actor::Service => "operator".to_owned(),
    };
    doorward.one_time_secrets().derived_id(&format!("{kind} {actor} {key}"))
}
