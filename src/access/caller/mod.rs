//! Who is calling: a token, once shown to be good, is remembered together with its user and session, so that
//! the next request with it costs neither a signature check nor a query until something about them changes.

mod failures;

use std::{
    fmt,
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
    store::{self, Hearing, Stamp, Store},
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

/// Somebody whose token does not show who they are, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unauthenticated {
    /// None was sent.
    NoToken,
    /// Forged, damaged, or from somewhere else.
    NotOurs,
    /// Its time is up.
    Expired,
    /// Its session has been ended.
    SessionEnded,
    /// Its session has another token since a refresh.
    Replaced,
    /// Its user is gone.
    UserGone,
}

impl fmt::Display for Unauthenticated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoToken => "no token was sent",
            Self::NotOurs => {
                "not a token of this service: forged, damaged or signed with another key"
            }
            Self::Expired => "expired",
            Self::SessionEnded => "its session has ended",
            Self::Replaced => "replaced by a newer one of its session",
            Self::UserGone => "its user has been deleted",
        })
    }
}

impl From<InvalidToken> for Unauthenticated {
    fn from(unrecognised: InvalidToken) -> Self {
        match unrecognised {
            InvalidToken::NotOurs => Self::NotOurs,
            InvalidToken::Expired => Self::Expired,
        }
    }
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

    /// Who holds this token.
    ///
    /// # Errors
    /// The outer one if the store cannot tell, the inner one if the token is not good, or no longer.
    pub async fn by_token(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Result<Caller, Unauthenticated>, store::Error> {
        let removals = self.mint.removals();
        let known = self.known.get(token).filter(|known| known.removals == removals);
        if let Some(known) = &known
            && now < known.claims.expires_at
            && self.is_sure_of(known, now)
        {
            return Ok(Ok(self.seen(known, now)));
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
                    return Err(store::Error::Unavailable(
                        "it cannot tell which keys there are".into(),
                    ));
                }
                checked => checked.map_err(Unauthenticated::from),
            },
        };
        let was_known = known.is_some();
        let caller = match claims {
            // Elsewhere, because room for it would be taken in every request, and few look anything up.
            Ok(claims) => match (Box::pin(self.look_up(token, claims, removals, now)).await, known)
            {
                (Err(store::Error::Unavailable(_)), Some(known)) if self.may_rely_on(&known) => {
                    Ok(self.seen(&known, now))
                }
                (outcome, _) => outcome?,
            },
            Err(stranger) => Err(stranger),
        };
        if was_known && caller.is_err() {
            self.known.remove(token);
        }
        Ok(caller)
    }

    /// Whether what others change is heard of.
    fn is_heard(&self) -> bool {
        matches!(self.store.changes().hearing(), Hearing::Alone | Hearing::Good)
    }

    /// Whether what is known need not be looked up.
    fn is_sure_of(&self, known: &Known, now: Timestamp) -> bool {
        let changes = self.store.changes();
        changes.is_current(known.as_of)
            && match changes.hearing() {
                Hearing::Alone | Hearing::Away => true,
                Hearing::Good => now < known.looked_up_at + Self::CONFIRM_EVERY,
                Hearing::Lost => false,
            }
    }

    /// Whether what is known will do when it cannot be looked up.
    fn may_rely_on(&self, known: &Known) -> bool {
        let changes = self.store.changes();
        changes.is_current(known.as_of) && changes.hearing() != Hearing::Lost
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
    ) -> Result<Result<Caller, Unauthenticated>, store::Error> {
        self.look_ups.fetch_add(1, Ordering::Relaxed);
        let as_of = self.store.changes().stamp(claims.user_id);
        let found = self.store.session_with_user(claims.session_id).await?;
        let Some((session, user)) = found.filter(|(_, user)| user.id == claims.user_id) else {
            let user = self.store.user_by_id(claims.user_id).await?;
            return Ok(Err(
                user.map_or(Unauthenticated::UserGone, |_| Unauthenticated::SessionEnded)
            ));
        };
        if session.expires_at <= now {
            return Ok(Err(Unauthenticated::SessionEnded));
        }
        if session.token_id != claims.token_id {
            return Ok(Err(Unauthenticated::Replaced));
        }
        let last_note = LastNote::new(session.last_seen_at);
        self.sightings.note(session.id, &last_note, now);
        let caller = Caller::new(Arc::new(user), Arc::new(session));
        let (looked_up_at, caller_kept) = (now, caller.clone());
        let known = Known { claims, caller: caller_kept, as_of, looked_up_at, removals, last_note };
        self.known.insert(token.into(), Arc::new(known));
        Ok(Ok(caller))
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
