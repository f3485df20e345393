//! Values that Doorward hands to a browser and reads back itself: cookies, return targets and sign-in codes. Each carries a
//! MAC under a key of its own, so that none can be used in the place of another.

mod names;
mod sealer;

use std::sync::{Arc, OnceLock};

use arc_swap::ArcSwap;
use aws_lc_rs::hmac;
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

pub use self::names::{CookieNames, NamesInForce, is_doorwards};
use self::sealer::{Sealer, derive};
use crate::{
    clock::Timestamp,
    id::{Id, id},
    random::random_bytes,
    session::{Session, SessionId},
    sha256::sha256,
    token::shared_secret::SharedSecret,
    user::UserId,
};

/// Makes and reads the values. Its secret can be replaced, which makes all earlier values void.
pub struct CookieMint {
    sealers: ArcSwap<Sealers>,
    /// Of a service in memory, in place of those of the secret.
    names_of_port: OnceLock<Arc<CookieNames>>,
}

struct Sealers {
    session: Sealer,
    app: Sealer,
    target: Sealer,
    code: Sealer,
    challenge: Sealer,
    passkey_setup: Sealer,
    totp_setup: Sealer,
    device: Sealer,
    login_attempt: Sealer,
    external_person: Sealer,
    pending_link: Sealer,
    /// What the secrets of attempts are derived from.
    login_secrets: hmac::Key,
    names_on_http: Arc<CookieNames>,
}

/// What a sealed value is for. Each has a key of its own.
#[derive(Clone, Copy)]
pub(super) enum SealedKind {
    Challenge,
    PasskeySetup,
    TotpSetup,
    Device,
    LoginAttempt,
    ExternalPerson,
    PendingLink,
}

/// What a session cookie or an app cookie names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CookieClaims {
    pub user_id: UserId,
    pub session_id: SessionId,
    /// When the user had last proved who they are. Cookies of version 0.1.0 do not tell.
    pub authenticated_at: Option<Timestamp>,
}

/// Where a person returns to after signing in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReturnTarget {
    /// The guard that sent the person to sign in. Empty for a route of the app that embeds the service.
    pub guard: String,
    /// The URL that they asked for; a path for a route of the app that embeds the service.
    pub url: String,
    /// The attempt, which the browser proves by its try cookie. A target in a mail has none: its link can be opened in any
    /// browser, and the guard begins a new attempt there.
    pub attempt: Option<AttemptDigest>,
}

/// A sealed return target in the link of a mail.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailedTarget(String);

impl MailedTarget {
    /// As it stands in a URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A code with which a guard signs a browser in to the app on its host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignInCode {
    /// Identifies the code: it can be used once.
    pub id: CodeId,
    pub user_id: UserId,
    pub session_id: SessionId,
    pub expires_at: Timestamp,
    /// The attempt, which the browser proves by its try cookie.
    pub attempt: AttemptDigest,
    /// Where the person returns to.
    pub url: String,
}

id!(
    /// The id of a sign-in code.
    CodeId
);

/// The hash of a try cookie: the first half of its SHA-256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptDigest([u8; 16]);

impl AttemptDigest {
    /// In the place of the digest of a target without an attempt.
    const NONE: [u8; 16] = [0; 16];

    /// The digest of the value of a try cookie.
    pub fn of(cookie: &str) -> Self {
        let mut half = [0; 16];
        half.copy_from_slice(&sha256(cookie)[..16]);
        Self(half)
    }
}

/// The length of the value of a try cookie: 16 bytes in base64.
const ATTEMPT_CHARACTERS: usize = 22;

/// Whether a text may be the value of a try cookie of ours.
pub fn is_attempt(value: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    value.len() == ATTEMPT_CHARACTERS && value.bytes().all(allowed)
}

/// A random value for a try cookie.
pub fn random_attempt() -> String {
    BASE64_URL_SAFE_NO_PAD.encode(*random_bytes::<16>())
}

impl Sealers {
    fn new(secret: &SharedSecret) -> Self {
        Self {
            session: Sealer::derive(secret, "session cookie"),
            app: Sealer::derive(secret, "app cookie"),
            target: Sealer::derive(secret, "return target"),
            code: Sealer::derive(secret, "sign-in code"),
            challenge: Sealer::derive(secret, "challenge"),
            passkey_setup: Sealer::derive(secret, "passkey setup"),
            totp_setup: Sealer::derive(secret, "TOTP setup"),
            device: Sealer::derive(secret, "device cookie"),
            login_attempt: Sealer::derive(secret, "login attempt"),
            external_person: Sealer::derive(secret, "external person"),
            pending_link: Sealer::derive(secret, "pending link"),
            login_secrets: hmac::Key::new(
                hmac::HMAC_SHA256,
                &*derive::<32>(secret, "secrets of login attempts"),
            ),
            names_on_http: CookieNames::on_http(secret),
        }
    }
}

impl Sealers {
    fn of(&self, kind: SealedKind) -> &Sealer {
        match kind {
            SealedKind::Challenge => &self.challenge,
            SealedKind::PasskeySetup => &self.passkey_setup,
            SealedKind::TotpSetup => &self.totp_setup,
            SealedKind::Device => &self.device,
            SealedKind::LoginAttempt => &self.login_attempt,
            SealedKind::ExternalPerson => &self.external_person,
            SealedKind::PendingLink => &self.pending_link,
        }
    }
}

impl CookieMint {
    /// A mint with keys derived from this secret.
    pub fn new(secret: &SharedSecret) -> Self {
        Self {
            sealers: ArcSwap::from_pointee(Sealers::new(secret)),
            names_of_port: OnceLock::new(),
        }
    }

    pub fn replace_secret(&self, secret: &SharedSecret) {
        self.sealers.store(Arc::new(Sealers::new(secret)));
    }

    /// The names of cookies on an origin with this scheme.
    pub fn names(&self, is_https: bool) -> NamesInForce {
        match is_https {
            true => NamesInForce::Https,
            false => NamesInForce::Http(
                self.names_of_port
                    .get()
                    .map_or_else(|| Arc::clone(&self.sealers.load().names_on_http), Arc::clone),
            ),
        }
    }

    /// Gives the cookies on plain HTTP the names of a port. A browser would keep those of every start of a service in memory.
    pub fn name_after_port(&self, port: u16) {
        let _ = self.names_of_port.set(CookieNames::on_port(port));
    }

    pub(super) fn seal_for(&self, kind: SealedKind, payload: &[u8]) -> String {
        self.sealers.load().of(kind).seal(payload, "")
    }

    pub(super) fn open_for(&self, kind: SealedKind, sealed: &str) -> Option<Vec<u8>> {
        self.sealers.load().of(kind).open(sealed, "")
    }

    /// A secret that only the id and this installation make, for one of the purposes of a login attempt.
    pub(super) fn login_secret(&self, purpose: &str, id: CodeId) -> String {
        let input = [purpose.as_bytes(), b" ", id.uuid().as_bytes()].concat();
        BASE64_URL_SAFE_NO_PAD.encode(hmac::sign(&self.sealers.load().login_secrets, &input))
    }

    /// The cookie that names a session on Doorward's own origin.
    pub fn session_cookie(&self, session: &Session) -> String {
        self.sealers.load().session.seal(&claims(session), "")
    }

    /// The claims of a session cookie; `None` if it is not ours.
    pub fn read_session_cookie(&self, cookie: &str) -> Option<CookieClaims> {
        read_claims(&self.sealers.load().session.open(cookie, "")?)
    }

    /// The cookie that names a session on the origin of an app, and is valid on no other.
    pub fn app_cookie(&self, session: &Session, origin: &str) -> String {
        self.sealers.load().app.seal(&claims(session), origin)
    }

    /// The claims of an app cookie; `None` if it is not ours or belongs to another origin.
    pub fn read_app_cookie(&self, cookie: &str, origin: &str) -> Option<CookieClaims> {
        read_claims(&self.sealers.load().app.open(cookie, origin)?)
    }

    /// Seals a return target. It does not expire: a sign-in form may stay open for days.
    pub fn seal_target(&self, target: &ReturnTarget) -> String {
        let ReturnTarget { guard, url, attempt } = target;
        let length = u8::try_from(guard.len()).expect("a guard name has at most 64 characters");
        let attempt = attempt.map_or(AttemptDigest::NONE, |attempt| attempt.0);
        let payload = [&attempt, &[length][..], guard.as_bytes(), url.as_bytes()].concat();
        self.sealers.load().target.seal(&payload, "")
    }

    /// Seals a return target for the link of a mail, without its attempt.
    pub fn seal_mailed_target(&self, target: ReturnTarget) -> MailedTarget {
        MailedTarget(self.seal_target(&ReturnTarget { attempt: None, ..target }))
    }

    /// The return target; `None` if it is not ours.
    pub fn open_target(&self, sealed: &str) -> Option<ReturnTarget> {
        let payload = self.sealers.load().target.open(sealed, "")?;
        let (attempt, rest) = payload.split_first_chunk()?;
        let (length, rest) = rest.split_first()?;
        let (guard, url) = rest.split_at_checked((*length).into())?;
        Some(ReturnTarget {
            guard: str::from_utf8(guard).ok()?.to_owned(),
            url: str::from_utf8(url).ok()?.to_owned(),
            attempt: (*attempt != AttemptDigest::NONE).then_some(AttemptDigest(*attempt)),
        })
    }

    /// Seals a sign-in code for the app on this origin.
    pub fn seal_code(&self, code: &SignInCode, origin: &str) -> String {
        let SignInCode { id, user_id, session_id, expires_at, attempt, url } = code;
        let payload = [
            &id.uuid().as_bytes()[..],
            user_id.uuid().as_bytes(),
            session_id.uuid().as_bytes(),
            &expires_at.millis().to_be_bytes(),
            &attempt.0,
            url.as_bytes(),
        ]
        .concat();
        self.sealers.load().code.seal(&payload, origin)
    }

    /// The sign-in code; `None` if it is not ours or belongs to another origin.
    pub fn open_code(&self, sealed: &str, origin: &str) -> Option<SignInCode> {
        let payload = self.sealers.load().code.open(sealed, origin)?;
        let (id, rest) = payload.split_first_chunk()?;
        let (user_id, rest) = rest.split_first_chunk()?;
        let (session_id, rest) = rest.split_first_chunk()?;
        let (expires_at, rest) = rest.split_first_chunk()?;
        let (attempt, url) = rest.split_first_chunk()?;
        Some(SignInCode {
            id: CodeId::from_uuid(Uuid::from_bytes(*id)),
            user_id: UserId::from_uuid(Uuid::from_bytes(*user_id)),
            session_id: SessionId::from_uuid(Uuid::from_bytes(*session_id)),
            expires_at: Timestamp::from_millis(i64::from_be_bytes(*expires_at)),
            attempt: AttemptDigest(*attempt),
            url: str::from_utf8(url).ok()?.to_owned(),
        })
    }
}

fn claims(session: &Session) -> [u8; 40] {
    let mut bytes = [0; 40];
    bytes[..16].copy_from_slice(session.user_id.uuid().as_bytes());
    bytes[16..32].copy_from_slice(session.id.uuid().as_bytes());
    bytes[32..].copy_from_slice(&session.authenticated_at.millis().to_be_bytes());
    bytes
}

fn read_claims(payload: &[u8]) -> Option<CookieClaims> {
    let (user_id, rest) = payload.split_first_chunk()?;
    let (session_id, time) = rest.split_first_chunk()?;
    Some(CookieClaims {
        user_id: UserId::from_uuid(Uuid::from_bytes(*user_id)),
        session_id: SessionId::from_uuid(Uuid::from_bytes(*session_id)),
        authenticated_at: match time {
            [] => None,
            time => Some(Timestamp::from_millis(i64::from_be_bytes(time.try_into().ok()?))),
        },
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::network::ClientInfo;

    const APP: &str = "https://app.example.com";
    const OTHER: &str = "https://other.example.com";

    fn session() -> Session {
        let (origin, now) =
            (ClientInfo::new([127, 0, 0, 1].into(), ""), Timestamp::from_millis(1_800_000_000_123));
        Session::new(UserId::random(), origin, now, Duration::from_secs(60))
    }

    fn mint() -> CookieMint {
        CookieMint::new(&SharedSecret::random())
    }

    #[test]
    fn a_cookie_names_its_session_and_no_value_serves_as_another() {
        let (mint, session) = (mint(), session());
        let claims = CookieClaims {
            user_id: session.user_id,
            session_id: session.id,
            authenticated_at: Some(session.authenticated_at),
        };
        let (own, app) = (mint.session_cookie(&session), mint.app_cookie(&session, APP));
        assert_eq!(mint.read_session_cookie(&own), Some(claims));
        assert_eq!(mint.read_app_cookie(&app, APP), Some(claims));
        assert_eq!(mint.read_app_cookie(&app, OTHER), None, "another origin");
        assert_eq!(mint.read_app_cookie(&app, ""), None);
        assert_eq!(mint.read_session_cookie(&app), None);
        assert_eq!(mint.read_app_cookie(&own, APP), None);
        assert_eq!(mint.open_target(&own), None);
        assert_eq!(mint.open_code(&app, APP), None);
        let other = self::mint();
        assert_eq!(other.read_session_cookie(&own), None, "another secret");
        mint.replace_secret(&SharedSecret::random());
        assert_eq!(mint.read_session_cookie(&own), None, "a replaced secret");
        assert_eq!(mint.read_app_cookie(&app, APP), None);
        assert_eq!(mint.read_session_cookie(&mint.session_cookie(&session)), Some(claims));
    }

    #[test]
    fn a_cookie_of_the_first_version_has_no_time() {
        let (mint, session) = (mint(), session());
        let payload = &claims(&session)[..32];
        let own = mint.sealers.load().session.seal(payload, "");
        let app = mint.sealers.load().app.seal(payload, APP);
        let expected = CookieClaims {
            user_id: session.user_id,
            session_id: session.id,
            authenticated_at: None,
        };
        assert_eq!(mint.read_session_cookie(&own), Some(expected));
        assert_eq!(mint.read_app_cookie(&app, APP), Some(expected));
        for length in [0, 16, 31, 33, 39] {
            let sealed = mint.sealers.load().session.seal(&claims(&session)[..length], "");
            assert_eq!(mint.read_session_cookie(&sealed), None, "{length} bytes");
        }
    }

    #[test]
    fn no_changed_shortened_or_extended_cookie_is_read() {
        let (mint, session) = (mint(), session());
        let cookie = mint.session_cookie(&session);
        for at in 0..cookie.len() {
            let other = if cookie[at..].starts_with('A') { 'B' } else { 'A' };
            let changed = format!("{}{other}{}", &cookie[..at], &cookie[at + 1..]);
            assert_eq!(mint.read_session_cookie(&changed), None, "character {at}");
            assert_eq!(mint.read_session_cookie(&cookie[..at]), None, "the first {at}");
        }
        for more in ["=", "A", " ", "AAAA"] {
            assert_eq!(mint.read_session_cookie(&format!("{cookie}{more}")), None);
        }
    }

    #[test]
    fn targets_and_codes_are_read_as_they_were_sealed() {
        let (mint, attempt) = (mint(), AttemptDigest::of("try"));
        let target = ReturnTarget {
            guard: "staff".into(),
            url: format!("{APP}/ä?b=%20&c"),
            attempt: Some(attempt),
        };
        assert_eq!(mint.open_target(&mint.seal_target(&target)), Some(target.clone()));
        let mailed = mint.seal_mailed_target(target.clone());
        let without = ReturnTarget { attempt: None, ..target.clone() };
        assert_eq!(mint.open_target(mailed.as_str()), Some(without));
        let code = SignInCode {
            id: CodeId::random(),
            user_id: UserId::random(),
            session_id: SessionId::random(),
            expires_at: Timestamp::from_millis(1_800_000_000_123),
            attempt,
            url: target.url,
        };
        let sealed = mint.seal_code(&code, APP);
        assert_eq!(mint.open_code(&sealed, APP), Some(code));
        assert_eq!(mint.open_code(&sealed, OTHER), None);
        assert_eq!(mint.open_target(&sealed), None);
    }

    #[test]
    fn attempts_are_random() {
        assert_ne!(random_attempt(), random_attempt());
        assert!(is_attempt(&random_attempt()));
        for other in ["", "a", "a=b, c<x>", "0123456789012345678901;", "01234567890123456789012"] {
            assert!(!is_attempt(other), "{other}");
        }
        assert_ne!(AttemptDigest::of("a"), AttemptDigest::of("b"));
    }
}
