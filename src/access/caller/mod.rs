//! Who is calling: a token, once shown to be good, is remembered together with its user and session, so that
//! the next request with it costs neither a signature check nor a query until something about them changes.

mod failures;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use quick_cache::sync::Cache;

use self::failures::Failures;
use super::guard::{CallerFacts, Memo};
use crate::{
    clock::Timestamp,
    session::{
        Session,
        last_seen::{LastNote, Sightings},
    },
    store::{self, Connectivity, Stamp, Store},
    token::{Claims, InvalidToken, TokenMint},
    user::User,
};

/// A user whose token has been shown to be good, and the session that it belongs to.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The user as they are now.
    pub user: Arc<User>,
    /// The session of the token.
    pub session: Arc<Session>,
    pub(crate) memo: Arc<Memo>,
}

impl Caller {
    pub(crate) fn new(user: Arc<User>, session: Arc<Session>) -> Self {
        Self { user, session, memo: Arc::default() }
    }

    /// What conditions see of the caller.
    pub(crate) fn facts(&self) -> &CallerFacts {
        self.memo.facts(self)
    }
}

/// Why a request is not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unauthenticated {
    /// The request carries no token.
    #[error("no token was sent")]
    NoToken,
    /// The token is forged, damaged or issued by another service.
    #[error("not a token of this service: forged, damaged or signed with another key")]
    NotOurs,
    /// The token has expired.
    #[error("expired")]
    Expired,
    /// The session of the token has ended.
    #[error("its session has ended")]
    SessionEnded,
    /// A refresh has replaced the token.
    #[error("replaced by a newer one of its session")]
    Replaced,
    /// The user has been deleted.
    #[error("its user has been deleted")]
    UserGone,
}

impl From<InvalidToken> for Unauthenticated {
    fn from(invalid: InvalidToken) -> Self {
        match invalid {
            InvalidToken::NotOurs => Self::NotOurs,
            InvalidToken::Expired => Self::Expired,
        }
    }
}

/// Why there is no caller for a token.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// The token identifies nobody.
    #[error("not authenticated: {0}")]
    Unauthenticated(#[from] Unauthenticated),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Turns tokens into callers.
pub struct Callers {
    mint: Arc<TokenMint>,
    store: Arc<dyn Store>,
    known: Cache<Box<str>, Arc<Known>>,
    sightings: Sightings,
    failures: Failures,
    signature_checks: AtomicU64,
    look_ups: AtomicU64,
}

struct Known {
    claims: Claims,
    caller: Caller,
    /// Taken before the look-up, so that a change during it makes this stale.
    as_of: Stamp,
    looked_up_at: Timestamp,
    /// Taken before the signature was checked, for the same reason.
    removals: u64,
    last_note: LastNote,
}

impl Callers {
    /// Tokens remembered at most: about 70 MB when every one of them is in use.
    const REMEMBERED: usize = 100_000;
    /// Where others write too: whatever may have been missed is noticed after this time.
    const CONFIRM_EVERY: Duration = Duration::from_secs(60);

    /// A memory with nobody in it.
    pub fn new(mint: Arc<TokenMint>, store: Arc<dyn Store>) -> Self {
        Self {
            mint,
            store,
            known: Cache::new(Self::REMEMBERED),
            sightings: Sightings::default(),
            failures: Failures::default(),
            signature_checks: AtomicU64::new(0),
            look_ups: AtomicU64::new(0),
        }
    }

    /// The caller who holds this token.
    ///
    /// # Errors
    /// If the token is not valid, or the store cannot be read.
    pub async fn by_token(&self, token: &str, now: Timestamp) -> Result<Caller, AuthError> {
        let removals = self.mint.removals();
        let known = self.known.get(token).filter(|known| known.removals == removals);
        if let Some(known) = &known
            && now < known.claims.expires_at
            && self.is_sure_of(known, now)
        {
            return Ok(self.seen(known, now));
        }
        // A change to the user does not touch the signature.
        let claims = match &known {
            Some(known) if now < known.claims.expires_at => Ok(known.claims),
            Some(_) => Err(Unauthenticated::Expired),
            None => match self.check_token(token, now) {
                // The key may be one that others have made since the database was last heard.
                Err(InvalidToken::NotOurs)
                    if !self.is_heard() && !self.mint.knows_key_of(token) =>
                {
                    let message = "it cannot tell which keys there are";
                    return Err(store::Error::Unavailable(message.into()).into());
                }
                checked => checked.map_err(Unauthenticated::from),
            },
        };
        let was_known = known.is_some();
        let caller = match claims {
            // Elsewhere, because room for it would be taken in every request, and few look anything up.
            Ok(claims) => match (Box::pin(self.look_up(token, claims, removals, now)).await, known)
            {
                (Err(AuthError::Store(store::Error::Unavailable(_))), Some(known))
                    if self.may_rely_on(&known) =>
                {
                    Ok(self.seen(&known, now))
                }
                (outcome, _) => outcome,
            },
            Err(reason) => Err(reason.into()),
        };
        if was_known && matches!(caller, Err(AuthError::Unauthenticated(_))) {
            self.known.remove(token);
        }
        caller
    }

    /// Whether what others change is heard of.
    fn is_heard(&self) -> bool {
        matches!(
            self.store.changes().connectivity(),
            Connectivity::Embedded | Connectivity::Connected
        )
    }

    /// Whether what is known need not be looked up.
    fn is_sure_of(&self, known: &Known, now: Timestamp) -> bool {
        let changes = self.store.changes();
        changes.is_current(known.as_of)
            && match changes.connectivity() {
                Connectivity::Embedded | Connectivity::Unreachable => true,
                Connectivity::Connected => now < known.looked_up_at + Self::CONFIRM_EVERY,
                Connectivity::Stale => false,
            }
    }

    /// Whether what is known will do when it cannot be looked up.
    fn may_rely_on(&self, known: &Known) -> bool {
        let changes = self.store.changes();
        changes.is_current(known.as_of) && changes.connectivity() != Connectivity::Stale
    }

    fn seen(&self, known: &Known, now: Timestamp) -> Caller {
        self.sightings.note(known.claims.session_id, &known.last_note, now);
        known.caller.clone()
    }

    /// When sessions were last used.
    pub fn sightings(&self) -> &Sightings {
        &self.sightings
    }

    /// Signatures checked and callers looked up in the store since the start.
    pub fn work_done(&self) -> WorkDone {
        WorkDone {
            signature_checks: self.signature_checks.load(Ordering::Relaxed),
            look_ups: self.look_ups.load(Ordering::Relaxed),
        }
    }

    /// What an unknown token says. Its signature is checked last, and not at all when too many have been wrong that were
    /// put under the claims of the same session.
    fn check_token(&self, token: &str, now: Timestamp) -> Result<Claims, InvalidToken> {
        let unverified = self.mint.read(token, now)?;
        let claims = unverified.claims;
        if self.failures.are_too_many(claims.session_id, now) {
            return Err(InvalidToken::NotOurs);
        }
        self.signature_checks.fetch_add(1, Ordering::Relaxed);
        if unverified.is_signed() {
            return Ok(claims);
        }
        self.failures.add(claims.session_id, now);
        Err(InvalidToken::NotOurs)
    }

    async fn look_up(
        &self,
        token: &str,
        claims: Claims,
        removals: u64,
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        self.look_ups.fetch_add(1, Ordering::Relaxed);
        let as_of = self.store.changes().stamp(claims.user_id);
        let found = self.store.session_with_user(claims.session_id).await?;
        let Some((session, user)) = found.filter(|(_, user)| user.id == claims.user_id) else {
            let user = self.store.user_by_id(claims.user_id).await?;
            let reason = user.map_or(Unauthenticated::UserGone, |_| Unauthenticated::SessionEnded);
            return Err(reason.into());
        };
        if session.expires_at <= now {
            return Err(Unauthenticated::SessionEnded.into());
        }
        if session.token_id != claims.token_id {
            return Err(Unauthenticated::Replaced.into());
        }
        let last_note = LastNote::new(session.last_seen_at);
        self.sightings.note(session.id, &last_note, now);
        let caller = Caller::new(Arc::new(user), Arc::new(session));
        let (looked_up_at, caller_kept) = (now, caller.clone());
        let known = Known { claims, caller: caller_kept, as_of, looked_up_at, removals, last_note };
        self.known.insert(token.into(), Arc::new(known));
        Ok(caller)
    }
}

/// What recognising callers has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkDone {
    /// Signatures of tokens that were checked.
    pub signature_checks: u64,
    /// Queries for a session and its user.
    pub look_ups: u64,
}
