//! Sealed values of second factors: the challenge of a sign-in that still lacks one, what is set up but not stored yet, and the
//! cookie of a trusted browser. Doorward stores none of them.

use std::time::Duration;

use uuid::Uuid;
use zeroize::Zeroizing;

use super::cookie::{CodeId, CookieMint, SealedKind};
use crate::{
    clock::Timestamp,
    id::Id,
    session::{ExternalStart, Methods, Persistence, SessionId, TokenId},
    sha256::sha256,
    user::{FactorId, PasswordVersion, UserId},
};

/// What a person has proved, before they give a second factor or a passkey. It is answered once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    pub id: CodeId,
    pub expires_at: Timestamp,
    /// How long the session lasts.
    pub persistence: Persistence,
    pub person: Person,
}

impl Challenge {
    /// When it was made. What an authenticator has signed for it may be as old.
    pub fn made_at(&self) -> Timestamp {
        match self.person {
            Person::Unknown => self.expires_at - PAGE_LIFETIME,
            Person::User { .. } => self.expires_at - ANSWER_LIFETIME,
        }
    }
}

/// Who answers a challenge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Person {
    /// Anybody with a passkey, which says who they are.
    Unknown,
    /// A user who has proved this much.
    User {
        id: UserId,
        /// The challenge is void when the user has another.
        password_version: PasswordVersion,
        methods: Methods,
        /// The session that proves more, with its token. Else a session begins.
        session: Option<(SessionId, TokenId)>,
        /// The sign-in at another provider that was the first factor.
        external: Option<ExternalStart>,
    },
}

/// A passkey that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasskeySetup {
    pub user: UserId,
    /// What the authenticator shall know the user by.
    pub user_handle: Vec<u8>,
    /// Whether it replaces the password. Else it is only for after a password.
    pub verifies_user: bool,
    pub expires_at: Timestamp,
    /// One passkey is made with it.
    pub id: CodeId,
}

impl PasskeySetup {
    pub fn new(user: UserId, user_handle: Vec<u8>, verifies_user: bool, now: Timestamp) -> Self {
        Self {
            user,
            user_handle,
            verifies_user,
            expires_at: now + SETUP_LIFETIME,
            id: CodeId::random(),
        }
    }
}

/// The secret of an authenticator app that the user has not confirmed with a code.
#[derive(PartialEq, Eq)]
pub struct TotpSetup {
    pub user: UserId,
    pub secret: Zeroizing<Vec<u8>>,
    pub expires_at: Timestamp,
}

/// How long a person may take to set up a factor.
pub const SETUP_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long a person who has given their password may take for the second factor.
pub const ANSWER_LIFETIME: Duration = Duration::from_secs(10 * 60);
/// How long a sign-in page with a passkey may stay open.
pub const PAGE_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// The bytes that an authenticator signs for a sealed challenge.
pub fn signed_challenge(sealed: &str) -> Vec<u8> {
    sha256(sealed).to_vec()
}

const USER: u8 = 1;
const UNTIL_IDLE: u8 = 1;
/// What separates the methods from the sign-in at another provider, which is JSON.
const BEFORE_EXTERNAL: u8 = b'\n';

impl CookieMint {
    pub fn seal_challenge(&self, challenge: &Challenge) -> String {
        let Challenge { id, expires_at, persistence, person } = challenge;
        let stay = u8::from(*persistence == Persistence::UntilIdle) * UNTIL_IDLE;
        let mut payload =
            [&id.uuid().as_bytes()[..], &expires_at.millis().to_be_bytes(), &[stay]].concat();
        if let Person::User { id, password_version, methods, session, external } = person {
            let (session, token) = session
                .map_or((Uuid::nil(), Uuid::nil()), |(session, token)| {
                    (session.uuid(), token.uuid())
                });
            payload.push(USER);
            payload.extend_from_slice(id.uuid().as_bytes());
            payload.extend_from_slice(session.as_bytes());
            payload.extend_from_slice(token.as_bytes());
            payload.extend_from_slice(&password_version.number().to_be_bytes());
            payload.extend_from_slice(methods.to_store().as_bytes());
            if let Some(external) = external {
                payload.push(BEFORE_EXTERNAL);
                // A value of texts, ids and numbers.
                payload.extend(serde_json::to_vec(external).unwrap_or_default());
            }
        }
        self.seal_for(SealedKind::Challenge, &payload)
    }

    /// The challenge; `None` if it is not ours or has expired.
    pub fn open_challenge(&self, sealed: &str, now: Timestamp) -> Option<Challenge> {
        let payload = self.open_for(SealedKind::Challenge, sealed)?;
        let (id, rest) = payload.split_first_chunk()?;
        let (expires_at, rest) = rest.split_first_chunk()?;
        let (stay, rest) = rest.split_first()?;
        let expires_at = Timestamp::from_millis(i64::from_be_bytes(*expires_at));
        let challenge = Challenge {
            id: CodeId::from_uuid(Uuid::from_bytes(*id)),
            expires_at,
            persistence: match *stay {
                UNTIL_IDLE => Persistence::UntilIdle,
                _ => Persistence::Lifetime,
            },
            person: match rest.split_first() {
                None => Person::Unknown,
                Some((_, user)) => open_user(user, expires_at - ANSWER_LIFETIME)?,
            },
        };
        (now < expires_at).then_some(challenge)
    }

    pub fn seal_passkey_setup(&self, setup: &PasskeySetup) -> String {
        let PasskeySetup { user, user_handle, verifies_user, expires_at, id } = setup;
        let payload = [
            &id.uuid().as_bytes()[..],
            user.uuid().as_bytes(),
            &expires_at.millis().to_be_bytes(),
            &[u8::from(*verifies_user)],
            user_handle,
        ]
        .concat();
        self.seal_for(SealedKind::PasskeySetup, &payload)
    }

    /// The setup; `None` if it is not ours or has expired.
    pub fn open_passkey_setup(&self, sealed: &str, now: Timestamp) -> Option<PasskeySetup> {
        let payload = self.open_for(SealedKind::PasskeySetup, sealed)?;
        let (id, rest) = payload.split_first_chunk()?;
        let (user, rest) = rest.split_first_chunk()?;
        let (expires_at, rest) = rest.split_first_chunk()?;
        let (verifies_user, user_handle) = rest.split_first()?;
        let setup = PasskeySetup {
            user: UserId::from_uuid(Uuid::from_bytes(*user)),
            user_handle: user_handle.to_vec(),
            verifies_user: *verifies_user == 1,
            expires_at: Timestamp::from_millis(i64::from_be_bytes(*expires_at)),
            id: CodeId::from_uuid(Uuid::from_bytes(*id)),
        };
        (now < setup.expires_at).then_some(setup)
    }

    pub fn seal_totp_setup(&self, setup: &TotpSetup) -> String {
        let TotpSetup { user, secret, expires_at } = setup;
        let expires_at = expires_at.millis().to_be_bytes();
        let payload = Zeroizing::new([user.uuid().as_bytes(), &expires_at[..], &**secret].concat());
        self.seal_for(SealedKind::TotpSetup, &payload)
    }

    /// The setup; `None` if it is not ours or has expired.
    pub fn open_totp_setup(&self, sealed: &str, now: Timestamp) -> Option<TotpSetup> {
        let payload = Zeroizing::new(self.open_for(SealedKind::TotpSetup, sealed)?);
        let (user, rest) = payload.split_first_chunk()?;
        let (expires_at, secret) = rest.split_first_chunk()?;
        let setup = TotpSetup {
            user: UserId::from_uuid(Uuid::from_bytes(*user)),
            secret: Zeroizing::new(secret.to_vec()),
            expires_at: Timestamp::from_millis(i64::from_be_bytes(*expires_at)),
        };
        (now < setup.expires_at).then_some(setup)
    }

    /// The cookie of a browser that a user trusts.
    pub fn device_cookie(&self, device: FactorId) -> String {
        self.seal_for(SealedKind::Device, device.uuid().as_bytes())
    }

    pub fn read_device_cookie(&self, cookie: &str) -> Option<FactorId> {
        let payload = self.open_for(SealedKind::Device, cookie)?;
        Some(FactorId::from_uuid(Uuid::from_slice(&payload).ok()?))
    }
}

fn open_user(payload: &[u8], asked_at: Timestamp) -> Option<Person> {
    let (id, rest) = payload.split_first_chunk()?;
    let (session, rest) = rest.split_first_chunk()?;
    let (token, rest) = rest.split_first_chunk()?;
    let (version, methods) = rest.split_first_chunk()?;
    let (session, token) = (Uuid::from_bytes(*session), Uuid::from_bytes(*token));
    let (methods, external) = match methods.iter().position(|b| *b == BEFORE_EXTERNAL) {
        None => (methods, None),
        Some(at) => (&methods[..at], Some(serde_json::from_slice(&methods[at + 1..]).ok()?)),
    };
    Some(Person::User {
        id: UserId::from_uuid(Uuid::from_bytes(*id)),
        password_version: PasswordVersion::from_store(i64::from_be_bytes(*version)),
        methods: Methods::from_store(str::from_utf8(methods).ok()?, asked_at),
        session: (!session.is_nil())
            .then(|| (SessionId::from_uuid(session), TokenId::from_uuid(token))),
        external,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        session::{ExternalSession, Method},
        token::shared_secret::SharedSecret,
        user::IdentityId,
    };

    const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

    #[test]
    fn values_are_read_as_they_were_sealed_until_they_expire() {
        let mint = CookieMint::new(&SharedSecret::random());
        let user = Person::User {
            id: UserId::random(),
            password_version: PasswordVersion::from_store(3),
            methods: Methods::at(NOW, [Method::Password]),
            session: Some((SessionId::random(), TokenId::random())),
            external: None,
        };
        let external = Person::User {
            id: UserId::random(),
            password_version: PasswordVersion::from_store(3),
            methods: Methods::at(NOW, [Method::External]),
            session: None,
            external: Some(ExternalStart {
                session: ExternalSession {
                    identity: IdentityId::random(),
                    session_id: Some("a\nb".into()),
                },
                login: "work".into(),
                most: Some(ANSWER_LIFETIME),
            }),
        };
        for (person, persistence) in [
            (Person::Unknown, Persistence::Lifetime),
            (user, Persistence::UntilIdle),
            (external, Persistence::Lifetime),
        ] {
            let challenge = Challenge {
                id: CodeId::random(),
                expires_at: NOW + ANSWER_LIFETIME,
                persistence,
                person,
            };
            let sealed = mint.seal_challenge(&challenge);
            assert_eq!(mint.open_challenge(&sealed, NOW), Some(challenge));
            assert_eq!(mint.open_challenge(&sealed, NOW + ANSWER_LIFETIME), None, "expired");
            assert!(mint.open_passkey_setup(&sealed, NOW).is_none());
            assert!(mint.read_session_cookie(&sealed).is_none());
        }
        let setup = PasskeySetup::new(UserId::random(), vec![7; 32], true, NOW);
        let sealed = mint.seal_passkey_setup(&setup);
        assert_eq!(mint.open_passkey_setup(&sealed, NOW), Some(setup));
        assert_eq!(mint.open_passkey_setup(&sealed, NOW + SETUP_LIFETIME), None, "expired");
        let expires_at = NOW + SETUP_LIFETIME;
        let setup = TotpSetup { user: UserId::random(), secret: vec![9; 20].into(), expires_at };
        let sealed = mint.seal_totp_setup(&setup);
        assert!(mint.open_totp_setup(&sealed, NOW) == Some(setup));
        assert!(mint.open_totp_setup(&sealed, expires_at).is_none(), "expired");
        assert!(mint.open_challenge(&sealed, NOW).is_none());
        let device = FactorId::random();
        assert_eq!(mint.read_device_cookie(&mint.device_cookie(device)), Some(device));
    }
}
