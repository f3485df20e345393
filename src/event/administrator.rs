//! Who gives an order about accounts of others, and from where.

use std::sync::Arc;

use super::Actor;
use crate::{
    network::{ClientInfo, Requester},
    request_id::RequestId,
    user::{ApiKeyId, UserId},
};

/// Who gives an order: the operator on the machine, a user whose role allows it, or the holder of an API key.
#[derive(Clone, Debug, PartialEq)]
pub struct Administrator {
    pub actor: Actor,
    /// The client that asked for it. The operator on the machine has none.
    pub client: Option<ClientInfo>,
    pub request_id: Option<RequestId>,
}

impl Administrator {
    /// The app that embeds Doorward.
    pub const APP: Self = Self { actor: Actor::Operator(None), client: None, request_id: None };

    /// The operator on the machine, with their login name there.
    pub fn operator(name: Option<Arc<str>>) -> Self {
        Self { actor: Actor::Operator(name), client: None, request_id: None }
    }

    pub fn user(id: UserId, requester: &Requester) -> Self {
        Self::at(Actor::User(id), requester)
    }

    pub fn key(id: ApiKeyId, requester: &Requester) -> Self {
        Self::at(Actor::Key(id), requester)
    }

    fn at(actor: Actor, requester: &Requester) -> Self {
        let (client, request_id) = (Some(requester.client.clone()), requester.request_id);
        Self { actor, client, request_id }
    }
}
