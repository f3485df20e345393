//! Who gives an order about accounts of others, and from where.

use std::sync::Arc;

use super::{Actor, Authority, Right};
use crate::{
    network::{ClientInfo, Requester},
    request_id::RequestId,
    user::{Roles, UserId},
};

/// Who gives an order: the operator on the machine, a user whose role allows it, or the holder of an API key.
#[derive(Clone, Debug, PartialEq)]
pub struct Administrator {
    pub actor: Actor,
    /// The client that asked for it. The operator on the machine has none.
    pub client: Option<ClientInfo>,
    pub request_id: Option<RequestId>,
    /// By what right they give it. `None` is the operator. The store asks it in the transaction of each change.
    pub authority: Option<Authority>,
}

impl Administrator {
    /// The app that embeds Doorward.
    pub const APP: Self =
        Self { actor: Actor::Operator(None), client: None, request_id: None, authority: None };

    /// The operator on the machine, with their login name there.
    pub fn operator(name: Option<Arc<str>>) -> Self {
        Self { actor: Actor::Operator(name), ..Self::APP }
    }

    /// A signed-in user, or the holder of a key.
    pub fn by_right(authority: Authority, requester: &Requester) -> Self {
        let actor = match authority.right() {
            Right::Session { user, .. } => Actor::User(*user),
            Right::Key { key, owner } => {
                Actor::Key { key: *key, owner: owner.as_ref().map(|(owner, _)| *owner) }
            }
        };
        let (client, request_id) = (Some(requester.client.clone()), requester.request_id);
        Self { actor, client, request_id, authority: Some(authority) }
    }

    /// Whether they may change somebody with these roles, and give these roles to others.
    pub fn may_manage(&self, roles: &Roles) -> bool {
        self.authority.as_ref().is_none_or(|authority| authority.covers(roles))
    }

    /// The user whose rights they use: the one who is signed in, or the owner of the key.
    pub fn person(&self) -> Option<UserId> {
        self.authority.as_ref().and_then(|authority| authority.right().person())
    }
}
