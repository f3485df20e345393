//! Who sent a request. A verified token or cookie is cached with its user and session, so that further requests with it
//! need neither a signature check nor a query until the user or the session changes.

mod signature_failures;

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use quick_cache::sync::Cache;
use tokio::time::timeout;

use self::signature_failures::SignatureFailures;
#[cfg(test)]
use super::guard::sample;
use super::{
    guard::{CallerFacts, Memo},
    key_fault::KeyFault,
};
use crate::{
    clock::Timestamp,
    network::ClientInfo,
    session::{
        Session, SessionId, TokenId,
        last_seen::{LastRecorded, LastSeenBuffer},
    },
    store::{self, Connectivity, Stamp, Store},
    token::{
        Claims, InvalidToken, TokenMint, Unverified,
        cookie::{CookieClaims, CookieMint},
    },
    user::{Email, Name, User, UserId},
};

/// An authenticated user and the session of their token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Caller {
    /// The user as currently stored.
    pub user: Arc<User>,
    /// The session of the token.
    pub session: Arc<Session>,
    /// What guards have computed about the caller.
    pub(crate) memo: Arc<Memo>,
}

impl Caller {
    /// A caller with a new user and session, for the tests of an app's own policies. Change the user by
    /// `Arc::make_mut(&mut caller.user)`.
    ///
    /// # Panics
    /// If the name or the e-mail address is not valid.
    pub fn example(name: &str, email: &str) -> Self {
        let now = Timestamp::from_seconds(1_800_000_000);
        let name = Name::parse(name.into()).expect("a valid name");
        let email = Email::parse(email.into()).expect("a valid e-mail address");
        let user = User::new(name, email, None, now);
        let client = ClientInfo::new(Ipv4Addr::LOCALHOST.into(), "");
        let session = Session::new(user.id, client, now, Duration::from_secs(60 * 60));
        Self::new(Arc::new(user), Arc::new(session))
    }

    pub(crate) fn new(user: Arc<User>, session: Arc<Session>) -> Self {
        Self { user, session, memo: Arc::default() }
    }

    /// The facts that conditions read.
    pub(crate) fn facts(&self) -> &CallerFacts {
        self.memo.facts(&self.user, &self.session)
    }
}

#[cfg(test)]
impl Caller {
    pub(crate) fn sample() -> Self {
        let user = sample::user();
        let session = sample::session(&user, [192, 0, 2, 7].into());
        Self::new(Arc::new(user), Arc::new(session))
    }
}

/// Why a request is not authenticated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unauthenticated {
    /// The request carries no token.
    #[error("no token was sent")]
    NoToken,
    /// The request carries no token, and no cookie counts, because it is not known to be to an origin of the guard.
    #[error(
        "no token was sent, and cookies count only if a trusted proxy forwards a request to one of the guard's origins"
    )]
    OtherOrigin,
    /// The token is forged, damaged or issued by another service.
    #[error("not a token of this service: forged, damaged or signed with another key")]
    NotOurs,
    /// The token has expired.
    #[error("expired")]
    Expired,
    /// The session of the token has ended.
    #[error("its session has ended")]
    SessionEnded,
    /// A refresh or a step-up has replaced the token or the cookie.
    #[error("replaced by a newer one of its session")]
    Replaced,
    /// Another site has caused the request, so its cookie does not count.
    #[error("another site has caused the request")]
    CrossSite,
    /// The user has been deleted.
    #[error("its user has been deleted")]
    UserGone,
    /// An API key was sent, and it does not count.
    #[error("{0}")]
    Key(KeyFault),
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
    /// The token does not identify a user.
    #[error("not authenticated: {0}")]
    Unauthenticated(#[from] Unauthenticated),
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// Finds the caller of a token or a cookie, and caches it.
pub struct Callers {
    mint: Arc<TokenMint>,
    cookies: Arc<CookieMint>,
    store: Arc<Store>,
    /// By the token or cookie as it was sent.
    cache: Cache<Box<[u8]>, Arc<CachedCaller>>,
    last_seen: LastSeenBuffer,
    signature_failures: SignatureFailures,
    signature_checks: AtomicU64,
    look_ups: AtomicU64,
}

struct CachedCaller {
    credential: Credential,
    caller: Caller,
    /// Taken before the look-up, so that a change during the look-up invalidates the entry.
    stamp: Stamp,
    looked_up_at: Timestamp,
    last_recorded: LastRecorded,
}

/// What identified a cached caller.
enum Credential {
    Token {
        claims: Claims,
        /// Taken before the signature was checked, so that the removal of a key during the check invalidates the entry.
        key_removals: u64,
    },
    Cookie {
        audience: Box<str>,
        claims: CookieClaims,
    },
}

/// The session that a token or a cookie names, and what it has to agree with.
struct NamedSession {
    user_id: UserId,
    session_id: SessionId,
    by: NamedBy,
}

enum NamedBy {
    /// A token with this id.
    Token(TokenId),
    /// A cookie of our own pages, with the time of its proof.
    SessionCookie(Option<Timestamp>),
    /// A cookie of an app, with the time of its proof.
    AppCookie(Option<Timestamp>),
}

impl NamedSession {
    fn by_token(claims: &Claims) -> Self {
        let Claims { user_id, session_id, token_id, .. } = *claims;
        Self { user_id, session_id, by: NamedBy::Token(token_id) }
    }

    fn by_cookie(claims: CookieClaims, audience: &str) -> Self {
        let CookieClaims { user_id, session_id, authenticated_at } = claims;
        let by = match audience {
            OWN_PAGES => NamedBy::SessionCookie(authenticated_at),
            _ => NamedBy::AppCookie(authenticated_at),
        };
        Self { user_id, session_id, by }
    }
}

impl NamedBy {
    /// The session, as far as this proves it.
    ///
    /// # Errors
    /// If a newer token or cookie of the session has replaced this one.
    fn prove(&self, session: Session) -> Result<Session, Unauthenticated> {
        match *self {
            Self::Token(id) if id != session.token_id => Err(Unauthenticated::Replaced),
            // The answer to a step-up replaces the cookie.
            Self::SessionCookie(Some(time)) if time < session.authenticated_at => {
                Err(Unauthenticated::Replaced)
            }
            // Version 0.1.0 knew no second factor and no step-up.
            Self::SessionCookie(None)
                if session.methods.strength() > 1
                    || session.authenticated_at > session.created_at =>
            {
                Err(Unauthenticated::Replaced)
            }
            Self::Token(_) | Self::SessionCookie(_) => Ok(session),
            Self::AppCookie(time) => Ok(session.as_of(time.unwrap_or(Timestamp::from_seconds(0)))),
        }
    }
}

/// The cookies of Doorward's own pages.
const OWN_PAGES: &str = "";

impl CachedCaller {
    /// The claims of a token whose key is still in use.
    fn token_claims(&self, key_removals: u64) -> Option<Claims> {
        match &self.credential {
            Credential::Token { claims, key_removals: taken } if *taken == key_removals => {
                Some(*claims)
            }
            _ => None,
        }
    }

    fn is_cookie_for(&self, audience: &str) -> bool {
        matches!(&self.credential, Credential::Cookie { audience: own, .. } if **own == *audience)
    }

    fn cookie_claims(&self) -> Option<CookieClaims> {
        match &self.credential {
            Credential::Cookie { claims, .. } => Some(*claims),
            Credential::Token { .. } => None,
        }
    }

    fn session_has_expired(&self, now: Timestamp) -> bool {
        self.caller.session.has_expired(self.last_recorded.time(), now)
    }
}

impl Callers {
    /// The most cached tokens: about 80 MB if all are in use.
    const MAX_CACHED: usize = 100_000;
    /// With a shared database, an entry is looked up again after this time, in case a notification was lost.
    const MAX_AGE: Duration = Duration::from_secs(60);

    /// An empty cache for the tokens and cookies of these mints and the users of this store.
    pub fn new(mint: Arc<TokenMint>, cookies: Arc<CookieMint>, store: Arc<Store>) -> Self {
        Self {
            mint,
            cookies,
            store,
            cache: Cache::new(Self::MAX_CACHED),
            last_seen: LastSeenBuffer::default(),
            signature_failures: SignatureFailures::default(),
            signature_checks: AtomicU64::new(0),
            look_ups: AtomicU64::new(0),
        }
    }

    /// The caller who holds this token. Only a token that is not cached is checked to be UTF-8, as with cookies.
    ///
    /// # Errors
    /// If the token is not valid, or the store cannot be read.
    pub async fn by_token(&self, token: &[u8], now: Timestamp) -> Result<Caller, AuthError> {
        let key_removals = self.mint.key_removals();
        let cached = self.cache.get(token).and_then(|cached| {
            let claims = cached.token_claims(key_removals)?;
            Some((cached, claims))
        });
        if let Some((cached, claims)) = &cached
            && now < claims.expires_at
            && self.is_fresh(cached, now)
        {
            return Ok(self.use_cached(cached, now));
        }
        // A change to the user leaves the signature valid.
        let claims = match &cached {
            Some((_, claims)) if now < claims.expires_at => Ok(*claims),
            Some(_) => Err(Unauthenticated::Expired.into()),
            None => self.check_token(token, |mint, token| mint.read(token, now), now),
        };
        let was_cached = cached.is_some();
        let caller = match claims {
            // Boxed, because the future of every request would otherwise reserve space for a look-up.
            Ok(claims) => {
                let credential = Credential::Token { claims, key_removals };
                match (Box::pin(self.look_up(token, credential, now)).await, cached) {
                    (Err(AuthError::Store(store::Error::Unavailable(_))), Some((cached, _)))
                        if self.is_usable_offline(&cached) =>
                    {
                        Ok(self.use_cached(&cached, now))
                    }
                    (outcome, _) => outcome,
                }
            }
            Err(error) => Err(error),
        };
        if was_cached && matches!(caller, Err(AuthError::Unauthenticated(_))) {
            self.cache.remove(token);
        }
        caller
    }

    /// The caller who refreshes this token. It may have expired, but its session may not. Nothing is added to the cache: what
    /// is in it counts for guards, too.
    ///
    /// # Errors
    /// If the token is not valid in any other way, or the store cannot be read.
    pub async fn by_token_to_refresh(
        &self,
        token: &[u8],
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        let key_removals = self.mint.key_removals();
        let cached = self.cache.get(token).and_then(|cached| cached.token_claims(key_removals));
        let claims = match cached {
            Some(claims) => claims,
            None => self.check_token(token, TokenMint::read_to_refresh, now)?,
        };
        let (caller, last_used) = self.find(NamedSession::by_token(&claims), now).await?;
        self.last_seen.record(caller.session.id, &LastRecorded::new(last_used), now);
        Ok(caller)
    }

    /// The caller whose browser holds this cookie of Doorward's own pages.
    ///
    /// # Errors
    /// If the cookie is not valid, or the store cannot be read.
    pub async fn by_session_cookie(
        &self,
        cookie: &[u8],
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        self.by_cookie(cookie, OWN_PAGES, now).await
    }

    /// The caller of a request that is no use of the session: it can idle out meanwhile. Nothing is added to the cache, where
    /// the next use would be compared with this one.
    ///
    /// # Errors
    /// If the cookie is not valid, or the store cannot be read.
    pub async fn by_session_cookie_without_use(
        &self,
        cookie: &[u8],
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        let cookie = str::from_utf8(cookie).map_err(|_| Unauthenticated::NotOurs)?;
        let claims = self.cookies.read_session_cookie(cookie).ok_or(Unauthenticated::NotOurs)?;
        let (caller, _) = self.find(NamedSession::by_cookie(claims, OWN_PAGES), now).await?;
        Ok(caller)
    }

    /// The caller whose browser holds this cookie of the app at `origin`.
    ///
    /// # Errors
    /// If the cookie is not valid for this origin, or the store cannot be read.
    pub async fn by_app_cookie(
        &self,
        cookie: &[u8],
        origin: &str,
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        self.by_cookie(cookie, origin, now).await
    }

    fn cached_by_cookie(&self, cookie: &[u8], audience: &str, now: Timestamp) -> Option<Caller> {
        let cached = self.cache.get(cookie).filter(|cached| cached.is_cookie_for(audience))?;
        let is_usable = !cached.session_has_expired(now) && self.is_fresh(&cached, now);
        is_usable.then(|| self.use_cached(&cached, now))
    }

    async fn by_cookie(
        &self,
        cookie: &[u8],
        audience: &str,
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        if let Some(caller) = self.cached_by_cookie(cookie, audience, now) {
            return Ok(caller);
        }
        let cached = self.cache.get(cookie).filter(|cached| cached.is_cookie_for(audience));
        let known = cached.as_ref().and_then(|cached| cached.cookie_claims());
        let claims = match known {
            Some(claims) => claims,
            None => {
                let cookie = str::from_utf8(cookie).map_err(|_| Unauthenticated::NotOurs)?;
                let read = match audience {
                    OWN_PAGES => self.cookies.read_session_cookie(cookie),
                    origin => self.cookies.read_app_cookie(cookie, origin),
                };
                read.ok_or(Unauthenticated::NotOurs)?
            }
        };
        let credential = Credential::Cookie { audience: audience.into(), claims };
        match (Box::pin(self.look_up(cookie, credential, now)).await, cached) {
            (Err(AuthError::Store(store::Error::Unavailable(_))), Some(cached))
                if self.is_usable_offline(&cached) && !cached.session_has_expired(now) =>
            {
                Ok(self.use_cached(&cached, now))
            }
            (Err(AuthError::Unauthenticated(reason)), Some(_)) => {
                self.cache.remove(cookie);
                Err(reason.into())
            }
            (outcome, _) => outcome,
        }
    }

    /// Caches the holder of a token that was just issued, so that guards know them if the database is lost before they are asked.
    /// It is a look-up as any other, after the write: a revocation in between is read, or counted after the stamp was taken.
    pub async fn remember_token(&self, token: &str, now: Timestamp) {
        let key_removals = self.mint.key_removals();
        // Its signature is ours.
        if let Ok(unverified) = self.mint.read(token, now) {
            let credential = Credential::Token { claims: unverified.claims, key_removals };
            self.remember(token, credential, now).await;
        }
    }

    /// Adds an app cookie that was just made to the cache.
    pub async fn remember_app_cookie(&self, cookie: &str, origin: &str, now: Timestamp) {
        if let Some(claims) = self.cookies.read_app_cookie(cookie, origin) {
            let credential = Credential::Cookie { audience: origin.into(), claims };
            self.remember(cookie, credential, now).await;
        }
    }

    /// Only a shared database can be lost while guards go on.
    async fn remember(&self, sent: &str, credential: Credential, now: Timestamp) {
        /// The session is written, so its answer does not wait long for a database that hangs.
        const LIMIT: Duration = Duration::from_secs(1);
        if self.store.changes().connectivity() == Connectivity::Connected {
            let look_up = Box::pin(self.look_up(sent.as_bytes(), credential, now));
            // Without it, the first guard looks the caller up.
            let _ = timeout(LIMIT, look_up).await;
        }
    }

    /// When a session was last used, as far as this instance knows.
    pub fn last_used(&self, session: &Session) -> Timestamp {
        session.last_seen_at.max(self.last_seen.unwritten(session.id))
    }

    /// Whether this instance receives the changes of other instances.
    fn is_connected(&self) -> bool {
        matches!(
            self.store.changes().connectivity(),
            Connectivity::Embedded | Connectivity::Connected
        )
    }

    /// Whether an entry can be used without a look-up.
    fn is_fresh(&self, cached: &CachedCaller, now: Timestamp) -> bool {
        let changes = self.store.changes();
        changes.is_current(cached.stamp)
            && match changes.connectivity() {
                Connectivity::Unreachable => true,
                // The clock has been set back: what was proved since may be in the future now.
                _ if now + Self::MAX_AGE < cached.looked_up_at => false,
                Connectivity::Embedded => true,
                Connectivity::Connected => now < cached.looked_up_at + Self::MAX_AGE,
                Connectivity::Stale => false,
            }
    }

    /// Whether an entry can be used while the database does not answer.
    fn is_usable_offline(&self, cached: &CachedCaller) -> bool {
        let changes = self.store.changes();
        changes.is_current(cached.stamp) && changes.connectivity() != Connectivity::Stale
    }

    fn use_cached(&self, cached: &CachedCaller, now: Timestamp) -> Caller {
        self.last_seen.record(cached.caller.session.id, &cached.last_recorded, now);
        cached.caller.clone()
    }

    /// When sessions were last used.
    pub fn last_seen(&self) -> &LastSeenBuffer {
        &self.last_seen
    }

    /// How many signatures were checked and callers looked up since the start.
    pub fn work_done(&self) -> WorkDone {
        WorkDone {
            signature_checks: self.signature_checks.load(Ordering::Relaxed),
            look_ups: self.look_ups.load(Ordering::Relaxed),
        }
    }

    /// The claims of a token that is not cached. `read` checks everything but the signature.
    fn check_token(
        &self,
        token: &[u8],
        read: impl for<'t> FnOnce(&TokenMint, &'t str) -> Result<Unverified<'t>, InvalidToken>,
        now: Timestamp,
    ) -> Result<Claims, AuthError> {
        let token = str::from_utf8(token).map_err(|_| Unauthenticated::NotOurs)?;
        match self.check_signature(read(&self.mint, token), now) {
            // Another instance may have added the key since the connection was lost.
            Err(InvalidToken::NotOurs)
                if !self.is_connected() && !self.mint.knows_key_of(token) =>
            {
                let message = "it may hold a signing key that is not loaded yet";
                Err(store::Error::Unavailable(message.into()).into())
            }
            checked => Ok(checked.map_err(Unauthenticated::from)?),
        }
    }

    /// The claims of a token whose signature is valid. It is not checked after too many wrong signatures for the same session.
    fn check_signature(
        &self,
        read: Result<Unverified<'_>, InvalidToken>,
        now: Timestamp,
    ) -> Result<Claims, InvalidToken> {
        let unverified = read?;
        let claims = unverified.claims;
        if self.signature_failures.is_exhausted(claims.session_id, now) {
            return Err(InvalidToken::NotOurs);
        }
        self.signature_checks.fetch_add(1, Ordering::Relaxed);
        if unverified.has_valid_signature() {
            return Ok(claims);
        }
        self.signature_failures.add(claims.session_id, now);
        Err(InvalidToken::NotOurs)
    }

    async fn look_up(
        &self,
        sent: &[u8],
        credential: Credential,
        now: Timestamp,
    ) -> Result<Caller, AuthError> {
        let presented = match &credential {
            Credential::Token { claims, .. } => NamedSession::by_token(claims),
            Credential::Cookie { audience, claims } => NamedSession::by_cookie(*claims, audience),
        };
        let stamp = self.store.changes().stamp(presented.user_id);
        let (caller, last_used) = self.find(presented, now).await?;
        let last_recorded = LastRecorded::new(last_used);
        self.last_seen.record(caller.session.id, &last_recorded, now);
        let cached = CachedCaller {
            credential,
            caller: caller.clone(),
            stamp,
            looked_up_at: now,
            last_recorded,
        };
        self.cache.insert(sent.into(), Arc::new(cached));
        Ok(caller)
    }

    /// The stored caller with a valid session, and when the session was last used.
    async fn find(
        &self,
        presented: NamedSession,
        now: Timestamp,
    ) -> Result<(Caller, Timestamp), AuthError> {
        self.look_ups.fetch_add(1, Ordering::Relaxed);
        let NamedSession { user_id, session_id, by } = presented;
        let found = self.store.session_with_user(session_id).await?;
        let Some((session, user)) = found.filter(|(_, user)| user.id == user_id) else {
            let user = self.store.user_by_id(user_id).await?;
            let reason = user.map_or(Unauthenticated::UserGone, |_| Unauthenticated::SessionEnded);
            return Err(reason.into());
        };
        let last_used = self.last_used(&session);
        if session.has_expired(last_used, now) {
            return Err(Unauthenticated::SessionEnded.into());
        }
        let session = by.prove(session)?.judged_at(now);
        Ok((Caller::new(Arc::new(user), Arc::new(session)), last_used))
    }
}

/// How often the cache did not have a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkDone {
    /// Checked signatures of tokens.
    pub signature_checks: u64,
    /// Queries for a session and its user.
    pub look_ups: u64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::{Method, Methods};

    #[test]
    fn a_credential_counts_for_what_its_session_had_proved_when_it_was_made() {
        const BEFORE: Timestamp = Timestamp::from_millis(1_799_999_999_999);
        const AT: Timestamp = Timestamp::from_millis(1_800_000_000_000);
        let user = sample::user();
        let session = |methods: &[Method]| Session {
            authenticated_at: AT,
            methods: Methods::at(AT, methods.iter().copied()),
            ..sample::session(&user, [192, 0, 2, 7].into())
        };
        let (one, two) = (session(&[Method::Password]), session(&[Method::Password, Method::Totp]));
        let key = session(&[Method::Passkey]);
        // The password was given before the code.
        let password = Methods::at(BEFORE, [Method::Password]);
        let early = Session { methods: password.with(Method::Totp, AT), ..two.clone() };
        let older = |session: &Session, at: Timestamp, methods: Methods| Session {
            authenticated_at: at,
            methods,
            ..session.clone()
        };
        let unknown = Timestamp::from_seconds(0);
        use NamedBy::{AppCookie, SessionCookie, Token};
        for (by, session, expected) in [
            (Token(two.token_id), &two, Ok(two.clone())),
            (Token(TokenId::random()), &two, Err(Unauthenticated::Replaced)),
            (SessionCookie(Some(AT)), &two, Ok(two.clone())),
            (SessionCookie(Some(BEFORE)), &two, Err(Unauthenticated::Replaced)),
            (SessionCookie(Some(BEFORE)), &one, Err(Unauthenticated::Replaced)),
            // Cookies of version 0.1.0.
            (SessionCookie(None), &one, Ok(one.clone())),
            (SessionCookie(None), &two, Err(Unauthenticated::Replaced)),
            (AppCookie(None), &one, Ok(older(&one, unknown, Methods::default()))),
            (AppCookie(None), &two, Ok(older(&two, unknown, Methods::default()))),
            (AppCookie(Some(AT)), &two, Ok(two.clone())),
            (AppCookie(Some(BEFORE)), &one, Ok(older(&one, BEFORE, Methods::default()))),
            (AppCookie(Some(BEFORE)), &two, Ok(older(&two, BEFORE, Methods::default()))),
            (AppCookie(Some(BEFORE)), &early, Ok(older(&early, BEFORE, password))),
            (AppCookie(Some(BEFORE)), &key, Ok(older(&key, BEFORE, Methods::default()))),
        ] {
            assert_eq!(by.prove(session.clone()), expected, "{:?}", session.methods);
        }
    }
}
