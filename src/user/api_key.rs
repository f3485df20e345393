//! API keys: what is stored about them. Their text is in `credential/api_key.rs`.

use std::collections::BTreeSet;

use super::UserId;
use crate::{clock::Timestamp, credential::api_key::KeyKind, id::id};

id!(
    /// The id of an API key. It is no secret.
    ApiKeyId
);

/// Lets a program act as itself, or as the person who has made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKey {
    pub id: ApiKeyId,
    /// The person who has made it; `None` for the key of a machine.
    pub owner: Option<UserId>,
    /// What it is called by whoever has made it.
    pub name: String,
    /// What it is for.
    pub scopes: KeyScopes,
    /// A condition in CEL under which it counts.
    pub condition: Option<String>,
    /// Whether its owner had proved two factors when they made it.
    pub two_factors: bool,
    pub created_at: Timestamp,
    pub expires_at: Timestamp,
    /// Accurate to a few minutes.
    pub last_used_at: Option<Timestamp>,
    pub revoked_at: Option<Timestamp>,
}

/// Whether a key still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyState {
    Valid,
    Expired,
    Revoked,
}

impl ApiKey {
    pub fn state(&self, now: Timestamp) -> KeyState {
        match self.revoked_at {
            Some(_) => KeyState::Revoked,
            None if self.expires_at <= now => KeyState::Expired,
            None => KeyState::Valid,
        }
    }

    pub fn kind(&self) -> KeyKind {
        match self.owner {
            Some(_) => KeyKind::Personal,
            None => KeyKind::Machine,
        }
    }
}

/// The scopes of a key, each once, in alphabetical order. What they mean is decided where a key is used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyScopes(BTreeSet<String>);

impl KeyScopes {
    /// Stored scopes, separated by spaces.
    pub(crate) fn from_store(stored: &str) -> Self {
        stored.split_whitespace().map(str::to_owned).collect()
    }

    /// The scopes separated by spaces.
    pub fn to_text(&self) -> String {
        self.iter().collect::<Vec<_>>().join(" ")
    }

    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub fn contains(&self, scope: &str) -> bool {
        self.0.contains(scope)
    }
}

impl FromIterator<String> for KeyScopes {
    fn from_iter<I: IntoIterator<Item = String>>(scopes: I) -> Self {
        Self(scopes.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_stored_once_each_in_order() {
        let scopes: KeyScopes =
            ["users:read", "guard:wiki", "users:read"].map(str::to_owned).into_iter().collect();
        assert_eq!(scopes.to_text(), "guard:wiki users:read");
        assert_eq!(KeyScopes::from_store(&scopes.to_text()), scopes);
        assert!(scopes.contains("guard:wiki") && !scopes.contains("guard"));
        assert!(KeyScopes::from_store("").0.is_empty());
    }
}
