//! `clients`: OAuth clients.

use super::{
    key::Key,
    value::{List, NONE, field},
};
use crate::credential::oauth_client::{OAuthClient, OAuthClients};

pub(super) const KEYS: &[Key] = &[Key {
    name: "clients",
    purpose: "OAuth clients that may introspect and revoke tokens, from `doorward client secret NAME`",
    value: &List {
        field: field!(clients),
        parse: OAuthClient::parse,
        collect: OAuthClients::new,
        show: |clients| clients.iter().map(ToString::to_string).collect(),
        allowed: || {
            format!("a list of name:SHA-256 of each client's secret, no name twice, or {NONE}")
        },
        choices: &[],
        reason: |_| None,
        secret: true,
    },
}];
