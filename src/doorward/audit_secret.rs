//! The secret of the audit trail: whether the stored one is the one that the trail was written with, and how a trail goes on after
//! the loss of it.

use std::sync::Arc;

use super::{Doorward, OpenError, trail_health::TrailPart};
use crate::{
    audit::AuditKey,
    clock::Timestamp,
    config::DatabaseUrl,
    event::{Administrator, Event, EventKind},
    store::{AuditFilter, EventOrder, Store},
    token::{
        key_store::{KeyStore, shared_secret},
        shared_secret::SecretName,
        signing_keys,
    },
};

/// What to do if the secret of an existing trail is missing, or is another one.
#[derive(Clone, Debug, Default)]
pub(crate) enum LostAuditSecret {
    /// Refuse to open: a trail that goes on with another secret cannot be verified as before.
    #[default]
    Refuse,
    /// Go on under a new name, and record where it begins and who has ordered it.
    BeginNewName(Administrator),
}

/// A trail that goes on under a new name.
pub(super) struct RenamedTrail {
    /// Its last checkpoint.
    last: Option<String>,
    /// Who has ordered it.
    by: Administrator,
}

/// Checks that the stored secret is the one of the trail. Returns the trail if it is not, and somebody has ordered to go on.
pub(super) async fn check_trail(
    store: &Store,
    key_store: &dyn KeyStore,
    lost: LostAuditSecret,
    database: &DatabaseUrl,
) -> Result<Option<RenamedTrail>, OpenError> {
    let in_store = |error| OpenError::Store { database: database.clone(), error };
    let in_keys = |error| OpenError::Keys(signing_keys::Error::from(error));
    let last = store.audit_tree().await.map_err(in_store)?.checkpoint;
    let (all, newest) = (AuditFilter::default(), EventOrder::NewestFirst);
    let events = store.audit_events(&all, newest, None, 1).await.map_err(in_store)?;
    // Read last: another instance that starts at the same time stores it before its first event.
    let stored = key_store.stored_secret(SecretName::Audit).await.map_err(in_keys)?;
    let is_lost = match (&stored, &last) {
        (Some(secret), Some(last)) => last.checkpoint.origin != AuditKey::new(secret).origin(),
        (Some(_), None) => false,
        (None, _) => last.is_some() || !events.is_empty(),
    };
    match lost {
        _ if !is_lost => Ok(None),
        LostAuditSecret::BeginNewName(by) => {
            Ok(Some(RenamedTrail { last: last.map(|last| last.to_string()), by }))
        }
        LostAuditSecret::Refuse => {
            let database = database.clone();
            Err(match stored {
                Some(_) => OpenError::AuditSecretReplaced(database),
                None => OpenError::AuditSecretMissing(database),
            })
        }
    }
}

/// Marks the events of the store with the stored secret. A trail without one gets one.
pub(super) async fn use_audit_secret(
    store: &Store,
    key_store: &dyn KeyStore,
    renamed: Option<RenamedTrail>,
    database: &DatabaseUrl,
    now: Timestamp,
) -> Result<(), OpenError> {
    let in_keys = |error| OpenError::Keys(signing_keys::Error::from(error));
    let secret = shared_secret(key_store, SecretName::Audit).await.map_err(in_keys)?;
    store.use_audit_key(Arc::new(AuditKey::new(&secret)));
    if let Some(RenamedTrail { last, by }) = renamed {
        let in_store = |error| OpenError::Store { database: database.clone(), error };
        begin_new_name(store, last, &by, now).await.map_err(in_store)?;
    }
    Ok(())
}

/// Records where the part of the trail ends that was written with another secret, and signs that with the new one.
async fn begin_new_name(
    store: &Store,
    checkpoint: Option<String>,
    by: &Administrator,
    now: Timestamp,
) -> Result<(), crate::store::Error> {
    while store.number_events().await? > 0 {}
    store.mark_pruned_anew().await?;
    let before = store.audit_tree().await?.size;
    let kind = EventKind::AuditSecretReplaced { before, checkpoint };
    let event = Event::by_administrator(by, None, now, kind);
    store.record(vec![event.clone()]).await?;
    store.events().publish_recorded(&event);
    while store.number_events().await? > 0 {}
    let tree = store.audit_tree().await?;
    store.set_checkpoint(&store.audit_key().sign(tree.size, tree.root)).await
}

impl Doorward {
    /// Notices that the stored secret is missing or was replaced. This process goes on with the one that it has.
    pub(crate) async fn check_audit_secret(&self) {
        let cause = match self.keys().stored_secret(SecretName::Audit).await {
            Ok(Some(stored)) if AuditKey::new(&stored).origin() == self.audit_key().origin() => {
                None
            }
            Ok(Some(_)) => Some("the stored secret is not the one that this server uses".into()),
            Ok(None) => Some("the secret is not stored any more".into()),
            // Trouble with a database server is told elsewhere, and ends by itself.
            Err(_) if matches!(self.settings().database, DatabaseUrl::Postgres(_)) => return,
            Err(error) => Some(error.to_string()),
        };
        let health = &self.inner.trail.health;
        match cause {
            None => drop(health.end(TrailPart::Secret)),
            Some(cause) => {
                if health.begin(TrailPart::Secret, self.now(), cause.clone()) {
                    tracing::error!(
                        cause,
                        "the secret of the audit trail (audit-secret) is lost: restore it from your backup before the next restart"
                    );
                }
            }
        }
    }
}
