//! Registration: by the user, who is signed in at once, and by the operator.

use std::time::Instant;

use zeroize::Zeroizing;

use super::{Failure, InvalidInput, NewSession, OpenedSession, has_failure, requester};
use crate::{
    Doorward,
    credential::password::{Busy, Password},
    network::{Network, Requester},
    session::{Origin, Persistence, Session},
    store,
    user::{Email, Name, User},
};

/// A valid registration. The password is checked against the name and the address later.
pub(crate) struct Registration {
    pub(crate) name: Name,
    pub(crate) email: Email,
    /// Without one, the user cannot log in before one is set.
    pub(crate) password: Option<Password>,
}

/// Why a registration failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// A field breaks a rule.
    #[error(transparent)]
    Invalid(InvalidInput),
    /// Another user has this e-mail address.
    #[error("the e-mail address is taken")]
    EmailTaken,
    /// Throttling, hashing or the database.
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(RegisterError);

impl Registration {
    /// Rejects a password that is the name or the address, if the settings refuse common passwords.
    fn check_password(self, doorward: &Doorward) -> Result<Self, RegisterError> {
        let Self { name, email, password } = self;
        let rules = doorward.settings().password_rules;
        let password = password
            .map(|password| password.reject_identity(name.as_str(), email.as_str(), rules))
            .transpose();
        let password = password.map_err(InvalidInput::new("password"));
        Ok(Self { password: password.map_err(RegisterError::Invalid)?, name, email })
    }

    async fn into_user(self, doorward: &Doorward, network: Network) -> Result<User, Busy> {
        let password_hash = match self.password {
            Some(password) => Some(doorward.hasher().hash(password, network).await?),
            None => None,
        };
        Ok(User::new(self.name, self.email, password_hash, doorward.now()))
    }
}

/// Registers a user and signs them in.
pub(crate) async fn register(
    doorward: &Doorward,
    registration: Registration,
    origin: Origin,
    requester: Requester,
    persistence: Persistence,
) -> Result<OpenedSession, RegisterError> {
    let registration = registration.check_password(doorward)?;
    doorward.throttle().charge_sign_up(requester, Instant::now())?;
    // Hashed before the insert, so that the response time does not reveal whether the address is taken.
    let user = registration.into_user(doorward, requester.network).await?;
    let session = doorward.new_session(user.id, origin, persistence);
    add(doorward, &user, Some(&session)).await?;
    doorward.throttle().clear_account(&user.email.key(), Instant::now());
    tracing::info!(user = %user.id, session = %session.id, "registered");
    Ok(OpenedSession { user, session })
}

/// Adds a user for the operator. It is not throttled, and no session is opened.
pub(crate) async fn create(
    doorward: &Doorward,
    registration: Registration,
) -> Result<User, RegisterError> {
    let registration = registration.check_password(doorward)?;
    let user = registration.into_user(doorward, Network::LOOPBACK).await?;
    add(doorward, &user, None).await?;
    tracing::info!(user = %user.id, "added by the operator");
    Ok(user)
}

async fn add(
    doorward: &Doorward,
    user: &User,
    session: Option<&Session>,
) -> Result<(), RegisterError> {
    match doorward.store().add_user(user, session).await {
        Ok(()) => Ok(()),
        Err(store::Error::EmailTaken) => Err(RegisterError::EmailTaken),
        Err(error) => Err(error.into()),
    }
}

/// A user to be registered. The values are checked at registration.
pub struct NewUser {
    name: String,
    email: String,
    password: Option<Zeroizing<String>>,
}

impl NewUser {
    /// A user without a password, who cannot log in before one is set.
    pub fn new(name: impl Into<String>, email: impl Into<String>) -> Self {
        Self { name: name.into(), email: email.into(), password: None }
    }

    /// Adds a password.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Zeroizing::new(password.into()));
        self
    }

    fn validate(self, doorward: &Doorward) -> Result<Registration, RegisterError> {
        let Self { name, email, password } = self;
        let validate = || -> Result<Registration, InvalidInput> {
            let rules = doorward.settings().password_rules;
            let parse =
                |mut sent: Zeroizing<String>| Password::parse(std::mem::take(&mut *sent), rules);
            Ok(Registration {
                name: Name::parse(name).map_err(InvalidInput::new("name"))?,
                email: Email::parse(email).map_err(InvalidInput::new("email"))?,
                password: password.map(parse).transpose().map_err(InvalidInput::new("password"))?,
            })
        };
        validate().map_err(RegisterError::Invalid)
    }
}

impl Doorward {
    /// Registers a user and signs them in, as `POST /api/user` does. `origin` is the client: its network is throttled
    /// and the session records it.
    ///
    /// # Errors
    /// If a value is invalid, the address is taken or the network has signed up too many users.
    pub async fn register(
        &self,
        user: NewUser,
        origin: Origin,
    ) -> Result<NewSession, RegisterError> {
        let requester = requester(&origin);
        let (registration, persistence) = (user.validate(self)?, Persistence::Lifetime);
        let opened = register(self, registration, origin, requester, persistence).await?;
        Ok(opened.with_token(self))
    }

    /// Adds a user who is not signed in, as `doorward user add` does. It is not throttled.
    ///
    /// # Errors
    /// If a value is invalid or the address is taken.
    pub async fn create_user(&self, user: NewUser) -> Result<User, RegisterError> {
        create(self, user.validate(self)?).await
    }
}
