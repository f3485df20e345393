//! Sessions. Each is one sign-in of a user.

pub mod device;
pub mod last_seen;
mod methods;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use self::last_seen::LastSeenBuffer;
pub use self::methods::{Method, Methods};
use crate::{
    clock::Timestamp,
    credential::factor::Factors,
    id::id,
    network::ClientInfo,
    user::{IdentityId, User, UserId},
};

/// One sign-in of one user. Its token is valid only while the session exists.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Session {
    /// The `sid` claim of every token of the session.
    pub id: SessionId,
    /// The user who signed in.
    pub user_id: UserId,
    /// The `jti` claim of the only valid token of the session: the latest one.
    pub token_id: TokenId,
    /// When the user signed in.
    pub created_at: Timestamp,
    /// When the session was last used, accurate to a few minutes.
    pub last_seen_at: Timestamp,
    /// When the session expires.
    pub expires_at: Timestamp,
    /// The session also ends when it has not been used for this long.
    pub idle_timeout: Option<Duration>,
    /// When the user last proved something. A refresh keeps it.
    pub authenticated_at: Timestamp,
    /// What they have proved, and when.
    pub methods: Methods,
    /// The client that the user signed in with.
    pub client: ClientInfo,
    /// The sign-in at another provider that it began with.
    pub(crate) external: Option<ExternalSession>,
}

/// The sign-in at another provider that a session began with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalSession {
    pub identity: IdentityId,
    /// The id of the session there.
    pub session_id: Option<String>,
}

/// How long a session that has expired can be renewed at the provider with which it began.
pub const RENEWABLE_FOR: Duration = Duration::from_secs(3 * 24 * 60 * 60);

/// The sign-in at another provider that a session begins with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExternalStart {
    pub session: ExternalSession,
    /// The name of the login.
    pub login: String,
    /// The most that the session lasts.
    pub most: Option<Duration>,
}

impl Session {
    /// A session that starts now.
    pub(crate) fn new(
        user_id: UserId,
        client: ClientInfo,
        now: Timestamp,
        lifetime: Duration,
    ) -> Self {
        Self {
            id: SessionId::random(),
            user_id,
            token_id: TokenId::random(),
            created_at: now,
            last_seen_at: now,
            expires_at: now + lifetime,
            idle_timeout: None,
            authenticated_at: now,
            methods: Methods::default(),
            client,
            external: None,
        }
    }

    /// Whether what was proved is enough for this user: two factors, if they hold a second one.
    pub(crate) fn is_enough_for(&self, user: &User) -> bool {
        self.methods.are_enough_for(&user.factors)
    }

    /// Since when all that the session has proved is proved. Earlier than [`Self::authenticated_at`], if its methods were given
    /// one after the other. The registration is the proof of whoever has registered without a password.
    /// A session that has lost its proofs has proved nothing.
    pub fn verified_at(&self) -> Timestamp {
        let without_proof = match self.authenticated_at == self.created_at {
            true => self.created_at,
            false => Timestamp::from_seconds(0),
        };
        self.methods.oldest().unwrap_or(without_proof)
    }

    /// The session without these proofs. If it loses some, what was made for it before counts as older.
    #[must_use]
    pub(crate) fn without(&self, methods: &[Method], now: Timestamp) -> Self {
        let left = methods.iter().fold(self.methods.clone(), |left, method| left.without(*method));
        let authenticated_at = match left == self.methods {
            true => self.authenticated_at,
            false => self.later(now),
        };
        Self { authenticated_at, methods: left, ..self.clone() }
    }

    /// The session, with a new token, after its user has added a factor. Whoever holds the session can add one of their own, so it
    /// proves nothing since then: it counts from the oldest of the other proofs, and one that was proved before keeps its time.
    #[must_use]
    pub(crate) fn with_added(&self, method: Method, now: Timestamp) -> Self {
        let methods = match self.methods.contains(method) {
            true => self.methods.clone(),
            false => self.methods.with(method, self.verified_at()),
        };
        let (token_id, authenticated_at) = (TokenId::random(), self.later(now));
        Self { token_id, authenticated_at, methods, ..self.clone() }
    }

    /// This time, or one after the latest proof: a session with other proofs has another time.
    pub(crate) fn later(&self, now: Timestamp) -> Timestamp {
        now.max(self.authenticated_at + Duration::from_millis(1))
    }

    /// The session of a user who holds these factors. What they do not hold any more proves nothing.
    #[must_use]
    pub(crate) fn of_holder(self, factors: &Factors) -> Self {
        Self { methods: self.methods.of_holder(factors), ..self }
    }

    /// The session as a cookie of this time proves it. One that is older than the latest proof counts with its own time, and with
    /// the first factors of that time only: the browser of the app has not seen the second factor. A session that has lost its
    /// proofs has none for an older cookie either.
    #[must_use]
    pub(crate) fn as_of(&self, time: Timestamp) -> Self {
        if time >= self.authenticated_at || self.methods.is_empty() {
            return self.clone();
        }
        let methods = self.methods.first_factors().given_until(time);
        Self { authenticated_at: time, methods, ..self.clone() }
    }

    /// The session as it counts at this time. A time ahead of it comes from a clock that was wrong, so nobody knows how old a sign-in
    /// or a proof of that time is: it counts as the oldest, and a step-up makes it known.
    #[must_use]
    pub(crate) fn judged_at(self, now: Timestamp) -> Self {
        /// The clock of another instance may be this far ahead.
        const CLOCK_SKEW: Duration = Duration::from_secs(60);
        let latest = now + CLOCK_SKEW;
        let created_at = match self.created_at > latest {
            true => Timestamp::from_seconds(0),
            false => self.created_at,
        };
        Self { created_at, methods: self.methods.known_until(latest), ..self }
    }

    /// Whether it has expired, or has not been used for its idle timeout. `last_used` is accurate to
    /// [`LastSeenBuffer::INTERVAL`], which is therefore added: no session ends early.
    pub(crate) fn has_expired(&self, last_used: Timestamp, now: Timestamp) -> bool {
        self.expires_at <= now
            || self
                .idle_timeout
                .is_some_and(|timeout| last_used + (timeout + LastSeenBuffer::INTERVAL) <= now)
    }
}

/// How long a session lasts if nobody ends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// For the lifetime of sessions: that of a token, or of a browser whose user stays signed in.
    Lifetime,
    /// As long as it is used, and at most for the lifetime: that of any other browser.
    UntilIdle,
}

id!(
    /// The id of a session.
    SessionId
);

id!(
    /// The id of a token.
    TokenId
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_that_has_lost_its_proofs_has_proved_nothing() {
        let (created, now) =
            (Timestamp::from_seconds(1_800_000_000), Timestamp::from_seconds(1_800_000_060));
        let client = ClientInfo::new([192, 0, 2, 7].into(), "");
        let registered = Session::new(UserId::random(), client, created, Duration::from_secs(60));
        assert_eq!(registered.verified_at(), created);
        let methods = Methods::at(created, [Method::Passkey]);
        let session = Session { methods, ..registered };
        for now in [created, now] {
            let left = session.without(&[Method::Passkey, Method::SecurityKey], now);
            assert_eq!((left.methods.is_empty(), left.verified_at().seconds()), (true, 0));
            assert!(left.authenticated_at > session.authenticated_at, "its cookie is replaced");
            assert_eq!(left.as_of(created).verified_at().seconds(), 0, "the cookie of an app");
        }
        assert_eq!(session.without(&[Method::Totp], now), session);
    }

    #[test]
    fn what_was_proved_in_the_future_counts_as_the_oldest() {
        let at = |seconds: i64| Timestamp::from_seconds(1_800_000_000 + seconds);
        let client = ClientInfo::new([192, 0, 2, 7].into(), "");
        let new = Session::new(UserId::random(), client, at(0), Duration::from_secs(60));
        let methods = Methods::at(at(0), [Method::Password]).with(Method::Totp, at(100));
        let session = Session { methods, authenticated_at: at(100), ..new.clone() };
        for now in [at(40), at(100), at(1000)] {
            assert_eq!(session.clone().judged_at(now), session);
        }
        let judged = session.clone().judged_at(at(39));
        assert_eq!((judged.verified_at().seconds(), judged.methods.strength()), (0, 2));
        assert_eq!((judged.created_at, judged.authenticated_at), (at(0), at(100)));
        // Who has registered without a password has proved nothing but that.
        assert_eq!(new.clone().judged_at(at(-61)).verified_at().seconds(), 0);
        assert_eq!(new.clone().judged_at(at(-60)).verified_at(), at(0));
    }

    #[test]
    fn an_added_factor_makes_no_proof_newer() {
        let at = |seconds: i64| Timestamp::from_seconds(1_800_000_000 + seconds);
        let client = ClientInfo::new([192, 0, 2, 7].into(), "");
        let registered = Session::new(UserId::random(), client, at(0), Duration::from_secs(60));
        let methods = Methods::at(at(0), [Method::Password]).with(Method::Passkey, at(20));
        let session = Session { methods, authenticated_at: at(20), ..registered.clone() };
        let another = session.with_added(Method::Passkey, at(40));
        assert_eq!((&another.methods, another.verified_at()), (&session.methods, at(0)));
        assert!(another.authenticated_at == at(40) && another.token_id != session.token_id);
        let with_app = session.with_added(Method::Totp, at(40));
        let left = with_app.without(&[Method::Password, Method::Passkey], at(50));
        assert_eq!((left.methods.names(), left.verified_at()), (vec!["totp"], at(0)));
        assert_eq!(registered.with_added(Method::Totp, at(30)).verified_at(), at(0));
    }
}
