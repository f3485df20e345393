//! Sealed values of sign-ins at other providers: the attempt that a browser has begun, who has come back, and the account there that
//! waits to be linked. Doorward stores none of them.

use std::time::Duration;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::cookie::{CodeId, CookieMint, SealedKind};
use crate::{
    clock::Timestamp,
    session::SessionId,
    user::{Email, ExternalAccount, IdentityId, UserId},
};

/// How long a person may take at the provider.
pub const ATTEMPT_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long a person may take to prove an address, or to sign in before they link an account.
pub const PENDING_LIFETIME: Duration = Duration::from_secs(20 * 60);

/// An attempt to sign in at a provider, in a cookie of the browser that has begun it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoginAttempt {
    /// The `state` that the provider hands back. It counts once.
    pub id: CodeId,
    /// The name of the login.
    pub login: String,
    pub purpose: AttemptPurpose,
    /// The sealed return target.
    pub target: Option<String>,
    pub expires_at: Timestamp,
}

/// What a person wants at a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AttemptPurpose {
    SignIn,
    /// To sign in with that account, too.
    Link {
        user: UserId,
    },
    /// To prove again who they are.
    StepUp {
        session: SessionId,
        /// What they are asked to prove, and the page that they return to.
        ask: String,
        next: Option<String>,
    },
    /// To sign in again without a question, because their session has lasted as long as the login allows.
    Renew {
        identity: IdentityId,
    },
}

/// Who has come back from a provider, as it counts here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalSignIn {
    /// It counts once.
    pub id: CodeId,
    pub account: ExternalAccount,
    pub name: Option<String>,
    pub email: Option<String>,
    pub is_verified: bool,
    /// When they have proved there who they are.
    pub authenticated_at: Option<Timestamp>,
    /// The id of their session there.
    pub session_id: Option<String>,
    /// The roles that the login gives, separated by spaces.
    pub roles: String,
    /// Whether their sign-in there counts as two factors.
    pub is_trusted: bool,
    /// Whether they may get an account.
    pub is_admitted: bool,
    pub expires_at: Timestamp,
}

/// An account at a provider that waits to be linked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingLink {
    pub account: ExternalAccount,
    /// The roles that the login gives, separated by spaces.
    pub roles: String,
    /// The user who may link it.
    pub user: UserId,
    /// The sealed return target.
    pub target: Option<String>,
    pub expires_at: Timestamp,
}

impl LoginAttempt {
    pub fn new(
        login: &str,
        purpose: AttemptPurpose,
        target: Option<String>,
        now: Timestamp,
    ) -> Self {
        let expires_at = now + ATTEMPT_LIFETIME;
        Self { id: CodeId::random(), login: login.to_owned(), purpose, target, expires_at }
    }

    pub fn begun_at(&self) -> Timestamp {
        self.expires_at - ATTEMPT_LIFETIME
    }
}

impl ExternalSignIn {
    /// The address, if the provider has verified it.
    pub fn verified_email(&self) -> Option<Email> {
        let email = self.email.clone().filter(|_| self.is_verified)?;
        Email::parse(email).ok()
    }
}

impl CookieMint {
    pub fn seal_attempt(&self, attempt: &LoginAttempt) -> String {
        self.seal_json(SealedKind::LoginAttempt, attempt)
    }

    /// The attempt; `None` if it is not ours or has expired.
    pub fn open_attempt(&self, sealed: &str, now: Timestamp) -> Option<LoginAttempt> {
        let attempt: LoginAttempt = self.open_json(SealedKind::LoginAttempt, sealed)?;
        (now < attempt.expires_at).then_some(attempt)
    }

    /// What the ID token of an attempt repeats.
    pub fn nonce(&self, attempt: CodeId) -> String {
        self.login_secret("nonce", attempt)
    }

    /// What only whoever has begun the attempt can redeem its code with (PKCE).
    pub fn verifier(&self, attempt: CodeId) -> String {
        self.login_secret("verifier", attempt)
    }

    pub fn seal_external(&self, person: &ExternalSignIn) -> String {
        self.seal_json(SealedKind::ExternalPerson, person)
    }

    /// Who has come back; `None` if it is not ours or has expired.
    pub fn open_external(&self, sealed: &str, now: Timestamp) -> Option<ExternalSignIn> {
        let person: ExternalSignIn = self.open_json(SealedKind::ExternalPerson, sealed)?;
        (now < person.expires_at).then_some(person)
    }

    /// A cookie holds no more than 4 KB. Many roles are left out: the next sign-in gives them.
    pub fn seal_link(&self, link: &PendingLink) -> String {
        const MAX_BYTES: usize = 3_500;
        let sealed = self.seal_json(SealedKind::PendingLink, link);
        match sealed.len() > MAX_BYTES {
            true => {
                let without = PendingLink { roles: String::new(), ..link.clone() };
                self.seal_json(SealedKind::PendingLink, &without)
            }
            false => sealed,
        }
    }

    /// The link; `None` if it is not ours or has expired.
    pub fn open_link(&self, sealed: &str, now: Timestamp) -> Option<PendingLink> {
        let link: PendingLink = self.open_json(SealedKind::PendingLink, sealed)?;
        (now < link.expires_at).then_some(link)
    }

    fn seal_json(&self, kind: SealedKind, value: &impl Serialize) -> String {
        // Values of texts, ids, flags and numbers.
        self.seal_for(kind, &serde_json::to_vec(value).unwrap_or_default())
    }

    fn open_json<T: DeserializeOwned>(&self, kind: SealedKind, sealed: &str) -> Option<T> {
        serde_json::from_slice(&self.open_for(kind, sealed)?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::shared_secret::SharedSecret;

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn an_attempt_is_read_as_it_was_sealed_until_it_expires() {
        let mint = CookieMint::new(&SharedSecret::random());
        let purpose = AttemptPurpose::SignIn;
        let attempt = LoginAttempt::new("work", purpose, Some("t".into()), NOW);
        let sealed = mint.seal_attempt(&attempt);
        assert_eq!(mint.open_attempt(&sealed, NOW), Some(attempt.clone()));
        assert_eq!(mint.open_attempt(&sealed, NOW + ATTEMPT_LIFETIME), None, "expired");
        assert_eq!(mint.open_link(&sealed, NOW), None);
        assert_eq!(mint.open_external(&sealed, NOW), None);
        let other = CookieMint::new(&SharedSecret::random());
        assert_eq!(other.open_attempt(&sealed, NOW), None, "another secret");
    }

    #[test]
    fn a_link_fits_into_a_cookie_however_many_roles_there_are() {
        let mint = CookieMint::new(&SharedSecret::random());
        let account = ExternalAccount {
            login: "work".into(),
            issuer: "https://sso.example.com".into(),
            subject: "s".repeat(255),
            display: "d".repeat(200),
        };
        let (user, expires_at) = (UserId::random(), NOW + PENDING_LIFETIME);
        let roles = |count: usize| vec!["r".repeat(64); count].join(" ");
        for (count, is_kept) in [(5, true), (64, false)] {
            let (account, target) = (account.clone(), Some("t".repeat(1_500)));
            let link = PendingLink { account, roles: roles(count), user, target, expires_at };
            let sealed = mint.seal_link(&link);
            assert!(sealed.len() <= 3_500, "{}", sealed.len());
            let opened = mint.open_link(&sealed, NOW).unwrap();
            assert_eq!((opened.roles.is_empty(), opened.user), (!is_kept, user));
        }
    }

    #[test]
    fn nonce_and_verifier_follow_from_the_id_and_differ() {
        let mint = CookieMint::new(&SharedSecret::random());
        let (one, other) = (CodeId::random(), CodeId::random());
        assert_eq!(mint.nonce(one), mint.nonce(one));
        assert_ne!(mint.nonce(one), mint.nonce(other));
        assert_ne!(mint.nonce(one), mint.verifier(one));
        // RFC 7636, section 4.1.
        assert!((43..=128).contains(&mint.verifier(one).len()));
    }
}
