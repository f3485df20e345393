//! What a person is asked for who has proved one factor and holds a second.

use crate::{
    Doorward,
    credential::factor::{FactorKind, Factors},
    session::{ExternalStart, Methods, Persistence, Session},
    store,
    token::{
        challenge::{ANSWER_LIFETIME, Challenge, Person},
        cookie::CodeId,
    },
    user::{HeldFactors, Passkey, User},
};

/// A sign-in that lacks a second factor, or a session that shall prove more.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct MissingFactor {
    /// What the answer is sent with. It is valid for 10 minutes and for one answer.
    pub challenge: String,
    /// The kinds of factors that can answer it.
    pub factors: Factors,
    /// Whether a recovery code can.
    pub has_recovery_codes: bool,
    /// The passkeys and security keys that can.
    pub(crate) passkeys: Vec<Passkey>,
    /// The domain that they belong to.
    pub(crate) rp_id: Option<String>,
}

impl MissingFactor {
    /// The challenge for a user who has proved this much. With a session, the answer makes that one stronger.
    pub(super) async fn of(
        doorward: &Doorward,
        user: &User,
        methods: Methods,
        persistence: Persistence,
        session: Option<&Session>,
        external: Option<ExternalStart>,
    ) -> Result<Self, store::Error> {
        let challenge = Challenge {
            id: CodeId::random(),
            expires_at: doorward.now() + ANSWER_LIFETIME,
            persistence,
            person: Person::User {
                id: user.id,
                password_version: user.password_version,
                methods: methods.clone(),
                session: session.map(|session| (session.id, session.token_id)),
                external,
            },
        };
        let sealed = doorward.cookies().seal_challenge(&challenge);
        Self::with(doorward, user, &methods, sealed).await
    }

    /// A challenge that was answered wrongly, to be answered once more. `None` if it has expired.
    pub(crate) async fn again(
        doorward: &Doorward,
        sealed: String,
    ) -> Result<Option<Self>, store::Error> {
        let challenge = doorward.cookies().open_challenge(&sealed, doorward.now());
        let Some(Challenge { person: Person::User { id, methods, .. }, .. }) = challenge else {
            return Ok(None);
        };
        match doorward.store().user_by_id(id).await? {
            Some(user) => Ok(Some(Self::with(doorward, &user, &methods, sealed).await?)),
            None => Ok(None),
        }
    }

    async fn with(
        doorward: &Doorward,
        user: &User,
        methods: &Methods,
        challenge: String,
    ) -> Result<Self, store::Error> {
        let HeldFactors { passkeys, recovery_codes, .. } =
            doorward.store().factors_of(user, doorward.now()).await?;
        // A code or a security key is a second factor. Without a first one, only a passkey is enough.
        let has_first = !methods.first_factors().is_empty();
        let counts = |kind: &FactorKind| has_first || *kind == FactorKind::Passkey;
        Ok(Self {
            challenge,
            factors: user.factors.iter().filter(counts).collect(),
            has_recovery_codes: has_first && recovery_codes > 0,
            rp_id: doorward.passkey_relying_party().map(|relying_party| relying_party.id),
            passkeys: passkeys.into_iter().filter(|passkey| counts(&passkey.kind())).collect(),
        })
    }
}
