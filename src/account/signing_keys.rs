//! The operator's orders about signing keys.

use super::Error;
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    token::signing_keys::KeyStatus,
};

/// Publishes a new key, which signs in place of the old one later. If one is published already, it stays.
pub(crate) async fn rotate(doorward: &Doorward, by: &Administrator) -> Result<(), Error> {
    let before = doorward.keys().list().await;
    doorward.keys().rotate(doorward.now()).await?;
    let mut keys = doorward.keys().list().await.into_iter();
    // Without a time before it signs, it signs already.
    let published = keys.find(|key| {
        matches!(key.status, KeyStatus::Next | KeyStatus::Signing)
            && before.iter().all(|known| known.id != key.id)
    });
    if let Some(key) = published {
        record(doorward, by, EventKind::SigningKeyRotated { kid: key.id.to_string() }).await;
    }
    Ok(())
}

/// Refuses all tokens of a key. Another key signs in its place. Returns false if there is no such key.
pub(crate) async fn revoke(
    doorward: &Doorward,
    kid: &str,
    by: &Administrator,
) -> Result<bool, Error> {
    let found = doorward.keys().revoke(kid, doorward.now()).await?;
    if found {
        record(doorward, by, EventKind::SigningKeyRevoked { kid: kid.to_owned() }).await;
    }
    Ok(found)
}

/// Keys may be files, so the event cannot be stored in the transaction of the change.
async fn record(doorward: &Doorward, by: &Administrator, kind: EventKind) {
    doorward.record(doorward.event_by_administrator(by, None, kind)).await;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Settings, config::DatabaseUrl, event::Event};

    #[tokio::test]
    async fn a_rotation_and_a_revocation_name_the_key_and_who_has_ordered_it() {
        let folder = tempfile::tempdir().unwrap();
        let database = DatabaseUrl::Sqlite(folder.path().join("doorward.db"));
        let doorward = Doorward::open(Settings { database, ..Settings::default() }).await.unwrap();
        let by = Administrator::operator(Some("ada".into()));
        let kind = || {
            let [Event { actor, kind, .. }] = &doorward.events().take_published()[..] else {
                panic!("one event");
            };
            assert_eq!(*actor, by.actor);
            kind.clone()
        };
        doorward.events().take_published();
        rotate(&doorward, &by).await.unwrap();
        let kid = doorward.keys().list().await[1].id.to_string();
        assert_eq!(kind(), EventKind::SigningKeyRotated { kid: kid.clone() });
        // The key that is published already stays.
        rotate(&doorward, &by).await.unwrap();
        assert!(doorward.events().take_published().is_empty());
        assert!(revoke(&doorward, &kid, &by).await.unwrap());
        assert_eq!(kind(), EventKind::SigningKeyRevoked { kid: kid.clone() });
        assert!(!revoke(&doorward, &kid, &by).await.unwrap());
        assert!(doorward.events().take_published().is_empty());
    }
}
