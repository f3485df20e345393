//! Signing in with a first factor. If the person holds a second one, they are asked for it.

use super::{
    Error, OpenedSession,
    session_start::{Authentication, NotBegun, SessionFor, begin_session},
    trusted_devices::trusted,
    unanswered,
};
use crate::{
    Doorward,
    clock::Timestamp,
    network::Requester,
    session::{ExternalStart, Method, Methods, Persistence},
    store::{Effects, IdentityUse, OneTimeUse, Requirement},
    token::one_time::OneTime,
    user::{User, UserId},
};

/// What a person has given.
#[derive(Clone, Copy)]
pub(super) enum FirstFactor<'a> {
    Password,
    /// A mailed code or link.
    MailedCode(&'a OneTime),
    /// A sign-in at another provider.
    External(&'a ExternalFactor),
}

/// A sign-in at another provider, by an identity of the user.
pub(super) struct ExternalFactor {
    pub(super) start: ExternalStart,
    pub(super) methods: Methods,
    pub(super) used: IdentityUse,
}

impl FirstFactor<'_> {
    fn methods(self, now: Timestamp) -> Methods {
        match self {
            Self::Password => Methods::at(now, [Method::Password]),
            Self::MailedCode(_) => Methods::at(now, [Method::MailedCode]),
            Self::External(external) => external.methods.clone(),
        }
    }

    /// What a session that begins with it requires.
    fn requirement(self) -> Option<Requirement> {
        match self {
            Self::Password => None,
            Self::MailedCode(code) => Some(Requirement::MailedCode(Box::new(code.clone()))),
            Self::External(external) => {
                Some(Requirement::IdentityUse(Box::new(external.used.clone())))
            }
        }
    }

    fn start(self) -> Option<ExternalStart> {
        match self {
            Self::Password | Self::MailedCode(_) => None,
            Self::External(external) => Some(external.start.clone()),
        }
    }
}

/// A provider, and the user to whom an account there may be linked.
#[derive(Clone, Debug)]
pub(crate) struct ComesFrom {
    /// The name of the login.
    pub(crate) login: String,
    pub(crate) user: UserId,
}

/// How a person signs in.
pub(crate) struct SignInOptions {
    pub(crate) persistence: Persistence,
    /// The cookie of a browser that its user trusts.
    pub(crate) device: Option<String>,
    /// Where the person comes from, if they sign in to link an account at a provider.
    pub(crate) comes_from: Option<ComesFrom>,
}

impl SignInOptions {
    /// Those of a program, which gets a token.
    pub(crate) const TOKEN: Self =
        Self { persistence: Persistence::Lifetime, device: None, comes_from: None };
}

/// Signs in a user who has given a first factor. A browser that they trust stands in for the second one.
///
/// # Errors
/// [`Error::WrongCredentials`] if the user has changed in the meantime, does not trust the browser any more, or the code was
/// used.
pub(super) async fn sign_in_with(
    doorward: &Doorward,
    user: &User,
    factor: FirstFactor<'_>,
    options: &SignInOptions,
    requester: &Requester,
) -> Result<OpenedSession, Error> {
    let (now, persistence) = (doorward.now(), options.persistence);
    let mut methods = factor.methods(now);
    let mut requires = Vec::from_iter(factor.requirement());
    if let Some(cookie) = options.device.as_ref().filter(|_| !user.factors.is_empty())
        && let Some(device) = trusted(doorward, user, cookie).await?
    {
        methods = methods.with(Method::TrustedDevice, now);
        requires.push(Requirement::TrustedDevice(device));
    }
    let session = SessionFor::SignIn(persistence);
    let external = factor.start();
    let authentication = Authentication {
        requires,
        external,
        ..Authentication::new(user, methods.clone(), session)
    };
    match begin_session(doorward, authentication, requester).await {
        Ok(opened) => Ok(opened),
        Err(NotBegun::FactorMissing) => {
            let user = use_up(doorward, user, factor).await?;
            let start = factor.start();
            let missing =
                unanswered::ask(doorward, &user, methods, persistence, None, start, requester)
                    .await?;
            Err(Error::FactorMissing(Box::new(missing)))
        }
        Err(NotBegun::Refused(_)) => Err(Error::WrongCredentials),
        Err(NotBegun::Store(error)) => Err(error.into()),
    }
}

/// Uses up a first factor of which the second is missing. Returns the user after it.
async fn use_up(doorward: &Doorward, user: &User, factor: FirstFactor<'_>) -> Result<User, Error> {
    match factor {
        FirstFactor::Password => Ok(user.clone()),
        FirstFactor::MailedCode(code) => {
            let (usage, now) = (OneTimeUse::FirstFactor, doorward.now());
            let used = doorward.store().use_one_time(code, usage, &Effects::NONE, now).await?;
            used.ok_or(Error::WrongCredentials)
        }
        FirstFactor::External(external) => {
            let (store, now) = (doorward.store(), doorward.now());
            match store.use_identity(user.id, &external.used, now).await? {
                true => Ok(user.clone()),
                false => Err(Error::WrongCredentials),
            }
        }
    }
}
