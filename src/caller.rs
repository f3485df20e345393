//! Who is calling: a token, once shown to be good, is remembered together with its user and session, so that
//! the next request with it costs neither a signature check nor a query until something about them changes.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use quick_cache::sync::Cache;

use crate::{
    clock::Timestamp,
    session::Session,
    store::{self, Stamp, Store},
    token::{Claims, TokenMint},
    user::User,
};

/// A user whose token has been shown to be good, and the session that it belongs to.
#[derive(Clone, Debug)]
pub struct Caller {
    /// The user as they are now.
    pub user: Arc<User>,
    /// The session of the token.
    pub session: Arc<Session>,
}

/// Turns tokens into callers.
pub struct Callers {
    mint: Arc<TokenMint>,
    store: Arc<dyn Store>,
    known: Cache<Box<str>, Arc<Known>>,
    signature_checks: AtomicU64,
    look_ups: AtomicU64,
}

struct Known {
    claims: Claims,
    caller: Caller,
    /// Taken before the look-up, so that a change during it makes this stale.
    as_of: Stamp,
}

impl Callers {
    /// Tokens remembered at most: about 70 MB when every one of them is in use.
    const REMEMBERED: usize = 100_000;

    /// A memory with nobody in it.
    pub fn new(mint: Arc<TokenMint>, store: Arc<dyn Store>) -> Self {
        Self {
            mint,
            store,
            known: Cache::new(Self::REMEMBERED),
            signature_checks: AtomicU64::new(0),
            look_ups: AtomicU64::new(0),
        }
    }

    /// Who holds this token; `None` if it is not good, or no longer.
    ///
    /// # Errors
    /// If the store cannot tell.
    pub async fn by_token(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<Option<Caller>, store::Error> {
        let known = self.known.get(token);
        if let Some(known) = &known
            && now < known.claims.expires_at
            && self.store.changes().is_current(known.as_of)
        {
            return Ok(Some(known.caller.clone()));
        }
        // A change to the user does not touch the signature.
        let claims = match known {
            Some(known) if now < known.claims.expires_at => Some(known.claims),
            Some(_) => None,
            None => self.check_signature(token, now),
        };
        let caller = match claims {
            Some(claims) => self.look_up(token, claims, now).await?,
            None => None,
        };
        if caller.is_none() {
            self.known.remove(token);
        }
        Ok(caller)
    }

    /// Signatures checked and callers looked up in the store since the start.
    pub fn work_done(&self) -> WorkDone {
        WorkDone {
            signature_checks: self.signature_checks.load(Ordering::Relaxed),
            look_ups: self.look_ups.load(Ordering::Relaxed),
        }
    }

    fn check_signature(&self, token: &str, now: Timestamp) -> Option<Claims> {
        self.signature_checks.fetch_add(1, Ordering::Relaxed);
        self.mint.recognise(token, now)
    }

    async fn look_up(
        &self,
        token: &str,
        claims: Claims,
        now: Timestamp,
    ) -> Result<Option<Caller>, store::Error> {
        self.look_ups.fetch_add(1, Ordering::Relaxed);
        let as_of = self.store.changes().stamp(claims.user_id);
        let Some((session, user)) = self.store.session_with_user(claims.session_id).await? else {
            return Ok(None);
        };
        if user.id != claims.user_id || session.expires_at <= now {
            return Ok(None);
        }
        let caller = Caller { user: Arc::new(user), session: Arc::new(session) };
        let known = Known { claims, caller: caller.clone(), as_of };
        self.known.insert(token.into(), Arc::new(known));
        Ok(Some(caller))
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
