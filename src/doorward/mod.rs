//! The handle of one service: its state, and access to it for the other modules.

mod admission;
mod audit_secret;
mod checkpoints;
mod checks;
mod connection_counts;
mod counts;
mod foreign_hashes;
mod open;
mod outbox;
mod request_counts;
mod sizes;
mod trail;
mod trail_health;
mod upkeep;
mod witness;

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use arc_swap::{ArcSwap, Guard as Borrowed};

pub(crate) use self::{
    admission::LacksFactor,
    audit_secret::LostAuditSecret,
    connection_counts::ConnectionCounts,
    open::{MissingKey, OpenedDatabase, open_database},
    request_counts::Answered,
    trail_health::{TrailPart, TrailTrouble},
};
pub use self::{counts::Counts, open::OpenError};
use self::{outbox::MailDelivery, sizes::LastSizes, trail::Trail};
use crate::{
    access::{
        api_key::{ApiKeys, KeyError, KeyHolder},
        caller::{AuthError, Caller, Callers, WorkDone},
        guard::{GuardSet, Reachable},
        policy::Designated,
        refusals::{DecisionId, Refusal, Refusals, Refused},
    },
    clock::{Clock, Timestamp},
    config::{MailCodeSignIn, RegistrationConflict, Settings},
    credential::{passkey::RelyingParty, password::Hasher},
    data_folder::DataFolder,
    event::{Actor, Event, EventKind, Events},
    federation::{LoginSet, Providers},
    network::{ClientInfo, Probes, ProxyWarnings},
    request_id::RequestId,
    session::Session,
    store::Store,
    throttle::Throttle,
    token::{
        Reach, Token, TokenMint, cookie::CookieMint, factor_key::FactorKey, feed::Feed,
        one_time::OneTimeMint, shared_secret::SharedSecret, signing_keys::SigningKeys,
    },
    user::User,
};

/// Sign-up, login and guards over one database. Cheap to clone: all clones share the same state.
#[derive(Clone)]
pub struct Doorward {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Settings,
    store: Arc<Store>,
    keys: SigningKeys,
    /// Whether the last attempt to read or rotate the keys failed.
    keys_failing: AtomicBool,
    /// Whether the clock may have jumped, so that nothing is deleted because of its age.
    clock_in_doubt: AtomicBool,
    cookies: Arc<CookieMint>,
    /// What cookies and one-time secrets are derived from.
    cookie_secret: Mutex<SharedSecret>,
    /// What encrypts the secrets of authenticator apps. It is never replaced: nobody could sign in with an app of before.
    factor_key: FactorKey,
    one_time_secrets: OneTimeMint,
    mail_delivery: Option<Arc<MailDelivery>>,
    callers: Callers,
    api_keys: ApiKeys,
    feed: Feed,
    hasher: Hasher,
    throttle: Throttle,
    proxy_warnings: ProxyWarnings,
    probes: Probes,
    designated: Designated,
    guards: ArcSwap<GuardSet>,
    logins: ArcSwap<LoginSet>,
    /// What is known of the providers of logins.
    providers: Providers,
    refusals: Refusals,
    counts: Counts,
    last_sizes: LastSizes,
    trail: Trail,
    /// The logo of the pages, as a `data:` URI.
    logo: Option<String>,
    clock: Clock,
    opened_at: Timestamp,
    /// The address that the server listens on, once it does.
    address: OnceLock<SocketAddr>,
    /// Whether an app that embeds the service serves its pages.
    has_pages: AtomicBool,
    /// The last field, so that its lock is released after the other fields are dropped.
    folder: Option<Arc<DataFolder>>,
}

impl Doorward {
    /// The user and session that a token belongs to.
    ///
    /// # Errors
    /// If the token is not valid, or the database cannot be read.
    pub async fn caller(&self, token: &str) -> Result<Caller, AuthError> {
        self.caller_by_token(token.as_bytes()).await
    }

    /// As [`Self::caller`]. The token need not be UTF-8.
    pub(crate) async fn caller_by_token(&self, token: &[u8]) -> Result<Caller, AuthError> {
        self.inner.callers.by_token(token, self.now()).await
    }

    /// The user and session of a token that is to be refreshed. It may have expired.
    pub(crate) async fn caller_by_token_to_refresh(
        &self,
        token: &[u8],
    ) -> Result<Caller, AuthError> {
        self.inner.callers.by_token_to_refresh(token, self.now()).await
    }

    /// The user and session that a cookie of Doorward's own pages belongs to.
    pub(crate) async fn caller_by_session_cookie(
        &self,
        cookie: &[u8],
    ) -> Result<Caller, AuthError> {
        self.inner.callers.by_session_cookie(cookie, self.now()).await
    }

    /// The caller with this session cookie, whose request is no use of the session.
    pub(crate) async fn caller_by_session_cookie_without_use(
        &self,
        cookie: &[u8],
    ) -> Result<Caller, AuthError> {
        self.inner.callers.by_session_cookie_without_use(cookie, self.now()).await
    }

    /// The user and session that a cookie of the app at `origin` belongs to.
    pub(crate) async fn caller_by_app_cookie(
        &self,
        cookie: &[u8],
        origin: &str,
    ) -> Result<Caller, AuthError> {
        self.inner.callers.by_app_cookie(cookie, origin, self.now()).await
    }

    /// The holder of an API key, if it counts.
    pub(crate) async fn key_holder(&self, sent: &[u8]) -> Result<KeyHolder, KeyError> {
        let (now, instant) = (self.now(), Instant::now());
        self.inner.api_keys.holder(sent, self.settings().factors, now, instant).await
    }

    pub(crate) fn api_keys(&self) -> &ApiKeys {
        &self.inner.api_keys
    }

    /// The settings that it was opened with.
    pub fn settings(&self) -> &Settings {
        &self.inner.settings
    }

    /// The logo of the pages, as a `data:` URI.
    pub(crate) fn logo(&self) -> Option<&str> {
        self.inner.logo.as_deref()
    }

    /// Signature checks and look-ups made so far to identify callers.
    pub(crate) fn work_done(&self) -> WorkDone {
        self.inner.callers.work_done()
    }

    /// The declared guards in force.
    pub(crate) fn guards(&self) -> Borrowed<Arc<GuardSet>> {
        self.inner.guards.load()
    }

    /// Replaces all declared guards at once.
    pub(crate) fn replace_guards(&self, guards: Arc<GuardSet>) {
        self.counts().put_in_force(&guards);
        self.inner.guards.store(guards);
    }

    /// The declared logins in force.
    pub(crate) fn logins(&self) -> Borrowed<Arc<LoginSet>> {
        self.inner.logins.load()
    }

    /// Replaces all declared logins at once.
    pub(crate) fn replace_logins(&self, logins: Arc<LoginSet>) {
        self.events().counts().declare_logins(logins.iter().map(|login| &*login.name));
        self.inner.logins.store(logins);
    }

    /// What is known of the providers of logins.
    pub(crate) fn providers(&self) -> &Providers {
        &self.inner.providers
    }

    /// The refusal with this id, if it is among the latest, without its reason.
    pub(crate) fn refusal_without_reason(&self, id: &str) -> Option<Refusal> {
        self.inner.refusals.by_id_without_reason(id)
    }

    /// The refusal with this id, if it is among the latest.
    pub(crate) fn refusal(&self, id: &str) -> Option<Refusal> {
        self.inner.refusals.by_id(id)
    }

    /// Records a refusal by a policy on a route of the app.
    pub(crate) fn record_refusal(&self, refused: Refused) -> DecisionId {
        self.record_refusal_of(refused, || (None, None))
    }

    /// Records a refusal. If it is known who was refused, it is also an event, with the client and the id of the request.
    pub(crate) fn record_refusal_of(
        &self,
        refused: Refused,
        sender: impl FnOnce() -> (Option<ClientInfo>, Option<RequestId>),
    ) -> DecisionId {
        let sampled = refused.event_of_caller();
        let id = self.inner.refusals.record(refused);
        if let Some((user, guard, only_reported)) = sampled {
            let decision = id.to_string();
            let kind = EventKind::GuardRefused { guard, decision, only_reported };
            let event = Event::by_service(self.now(), kind);
            let (actor, subject) = (Actor::User(user), Some(user));
            let (client, request_id) = sender();
            self.events().publish(&Event { actor, subject, client, request_id, ..event });
        }
        id
    }

    /// The latest refusals by guards and policies.
    pub(crate) fn refusals(&self) -> &Refusals {
        &self.inner.refusals
    }

    /// What is known of the events of this process.
    pub(crate) fn events(&self) -> &Events {
        self.store().events()
    }

    pub(crate) fn store(&self) -> &Store {
        &self.inner.store
    }

    /// Records that an app that embeds the service serves its pages, on which people sign in.
    pub(crate) fn set_has_pages(&self) {
        self.inner.has_pages.store(true, Ordering::Relaxed);
    }

    /// Whether an app that embeds the service serves its pages.
    pub(crate) fn has_pages(&self) -> bool {
        self.inner.has_pages.load(Ordering::Relaxed)
    }

    /// Sets the address that the server listens on. Unless `public_url` is set, links begin with it: of mails, of commands such
    /// as `doorward user invite`, and in the metadata. Without it they begin with the setting `listen`. Only the first call has an effect.
    pub fn set_listen_address(&self, address: SocketAddr) {
        let _ = self.inner.address.set(address);
    }

    /// The address that the server listens on, once it does.
    pub(crate) fn listen_address(&self) -> Option<SocketAddr> {
        self.inner.address.get().copied()
    }

    /// The address that the server listens on, or will.
    fn address(&self) -> SocketAddr {
        self.listen_address().unwrap_or(self.settings().listen)
    }

    /// The public URL of the service, without a trailing slash.
    pub(crate) fn public_base(&self) -> String {
        self.settings().base_url(self.address())
    }

    /// The policy for the designated name.
    pub(crate) fn designated(&self) -> &Designated {
        &self.inner.designated
    }

    /// The keys that tokens are signed with.
    pub(crate) fn keys(&self) -> &SigningKeys {
        &self.inner.keys
    }

    /// The feed of revoked tokens, for verifiers elsewhere.
    pub(crate) fn feed(&self) -> &Feed {
        &self.inner.feed
    }

    /// The data folder that this process has locked: the one of the embedded database, or `data_folder`.
    pub(crate) fn folder(&self) -> Option<&DataFolder> {
        self.inner.folder.as_deref()
    }

    pub(crate) fn hasher(&self) -> &Hasher {
        &self.inner.hasher
    }

    pub(crate) fn mint(&self) -> &TokenMint {
        self.inner.keys.mint()
    }

    /// What makes and reads cookies, return targets and sign-in codes.
    pub(crate) fn cookies(&self) -> &CookieMint {
        &self.inner.cookies
    }

    /// Uses another secret for cookies, return targets, codes and one-time secrets. Those made before are void.
    pub(crate) fn use_cookie_secret(&self, secret: SharedSecret) {
        let inner = &*self.inner;
        let mut used = inner.cookie_secret.lock().unwrap_or_else(PoisonError::into_inner);
        if *used != secret {
            inner.cookies.replace_secret(&secret);
            inner.one_time_secrets.replace_secret(&secret);
            *used = secret;
        }
    }

    /// What encrypts the secrets of authenticator apps.
    pub(crate) fn factor_key(&self) -> &FactorKey {
        &self.inner.factor_key
    }

    pub(crate) fn one_time_secrets(&self) -> &OneTimeMint {
        &self.inner.one_time_secrets
    }

    /// The service as browsers know it when they make and use passkeys. `None` if passkeys are not offered.
    pub(crate) fn passkey_relying_party(&self) -> Option<RelyingParty> {
        self.settings().passkey_relying_party(self.address())
    }

    pub(crate) fn sends_mail(&self) -> bool {
        self.settings().mail.url.is_some()
    }

    /// What a user can reach by themselves to be admitted where they are refused.
    pub(crate) fn reachable(&self, user: &User) -> Reachable {
        let settings = self.settings();
        let offered = settings.offered_factors(self.address());
        Reachable::by(user, self.sends_mail(), &offered, settings.factors)
    }

    /// The token of a session, which opens no more than the session does.
    pub(crate) fn token_of(&self, session: &Session) -> Token {
        let reach = match self.settings().factors.admits(session) {
            true => Reach::Everything,
            false => Reach::Account,
        };
        self.mint().issue(session, reach, self.now())
    }

    /// The token of a session that was just written. Guards of this instance know its holder, also if the database is lost next.
    pub(crate) async fn new_token_of(&self, session: &Session) -> Token {
        let token = self.token_of(session);
        self.inner.callers.remember_token(token.as_str(), self.now()).await;
        token
    }

    /// Has guards of this instance know the holder of an app cookie that was just made.
    pub(crate) async fn remember_app_cookie(&self, cookie: &str, origin: &str) {
        self.inner.callers.remember_app_cookie(cookie, origin, self.now()).await;
    }

    /// Whether people sign in with mailed codes.
    pub(crate) fn signs_in_by_mail(&self) -> bool {
        self.sends_mail() && self.settings().mail_code_sign_in != MailCodeSignIn::Off
    }

    /// Whether registration does not tell if an address is taken.
    pub(crate) fn signs_up_silently(&self) -> bool {
        self.settings().registration_conflict == RegistrationConflict::Silent
    }

    pub(crate) fn throttle(&self) -> &Throttle {
        &self.inner.throttle
    }

    pub(crate) fn proxy_warnings(&self) -> &ProxyWarnings {
        &self.inner.proxy_warnings
    }

    pub(crate) fn opened_at(&self) -> Timestamp {
        self.inner.opened_at
    }

    /// Requests that `doorward doctor` sends through the public URL.
    pub(crate) fn probes(&self) -> &Probes {
        &self.inner.probes
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.inner.clock.now()
    }

    /// The instant that the throttle counts by.
    pub(crate) fn instant(&self) -> Instant {
        self.inner.clock.instant()
    }

    /// When a session was last used, as far as this instance knows.
    pub(crate) fn last_used(&self, session: &Session) -> Timestamp {
        self.inner.callers.last_used(session)
    }
}
