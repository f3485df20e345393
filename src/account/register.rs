//! Registration: by the user, who is signed in at once, and by the operator.

use zeroize::Zeroizing;

use super::{
    Error, InvalidInput, NewSession, OpenedSession,
    effects::{leading_to, may_mail, verify_email, with_secret, without_secret},
    enumeration::on_tick,
    invite,
    one_time::refund,
    password::reject_known,
    session_start::{Authentication, NotBegun, SessionFor, begin_session},
    sign_in::elsewhere,
};
use crate::{
    Doorward,
    clock::Timestamp,
    credential::password::{Busy, Password},
    event::{Administrator, EventKind, RegistrationRefusal},
    mail::Message,
    network::{ClientInfo, Network, Requester},
    session::{Method, Methods, Persistence},
    store,
    store::{Effects, FirstPasskey, Requirement, SignInRefusal},
    throttle::MailPurpose,
    token::{cookie::MailedTarget, one_time::Purpose},
    user::{Email, Invitation, Name, User, UserId},
};

/// A valid registration. The password is checked against the name and the address later.
pub(crate) struct Registration {
    pub(crate) name: Name,
    pub(crate) email: Email,
    /// Without one, the user cannot log in before one is set.
    pub(crate) password: Option<Password>,
    /// The secret or code of an invitation.
    pub(crate) invitation: Option<Zeroizing<String>>,
    /// Where the link of the mail that verifies the address leads back to.
    pub(crate) target: Option<MailedTarget>,
}

/// What has come of a registration.
pub(crate) enum Registered {
    /// The user is signed in.
    SignedIn(Box<OpenedSession>),
    /// The owner of the address gets a mail, whether it was free or not.
    Mailed,
}

impl Registration {
    /// Rejects a password that is easy to guess, if the settings refuse common passwords.
    fn check_password(self, doorward: &Doorward) -> Result<Self, Error> {
        let Self { name, email, password, invitation, target } = self;
        let password =
            password.map(|password| reject_known(doorward, password, &name, &email)).transpose();
        let password = password.map_err(InvalidInput::new("password"))?;
        Ok(Self { name, email, password, invitation, target })
    }

    async fn into_user(self, doorward: &Doorward, network: Network) -> Result<User, Busy> {
        let password_hash = match self.password {
            Some(password) => Some(doorward.hasher().hash(password, network).await?),
            None => None,
        };
        Ok(User::new(self.name, self.email, password_hash, doorward.now()))
    }
}

/// Registers a user and signs them in. Where sign-up does not tell whether an address is taken, the owner of the address gets a
/// mail instead.
pub(crate) async fn register(
    doorward: &Doorward,
    registration: Registration,
    requester: &Requester,
    persistence: Persistence,
) -> Result<Registered, Error> {
    let registered = register_as(doorward, registration, None, requester, persistence).await?;
    registered.ok_or(Error::MayNotRegister)
}

/// Registers somebody, perhaps with a passkey in place of a password. Returns `None` if the passkey exists, or its setup was used.
pub(super) async fn register_as(
    doorward: &Doorward,
    registration: Registration,
    passkey: Option<&FirstPasskey>,
    requester: &Requester,
    persistence: Persistence,
) -> Result<Option<Registered>, Error> {
    let registered = try_to_register(doorward, registration, passkey, requester, persistence).await;
    if let Err(Error::EmailTaken) = registered {
        publish_refused(doorward, RegistrationRefusal::AddressTaken, requester);
    }
    registered
}

/// Checks everything that a registration with a passkey needs, and writes nothing. The registration itself checks it again.
pub(super) async fn check(
    doorward: &Doorward,
    registration: &Registration,
    requester: &Requester,
) -> Result<(), Error> {
    doorward.throttle().charge_sign_up(requester, doorward.instant())?;
    let found = admit(doorward, registration, requester).await?;
    let (invitation, guess) = found.map_or((None, None), |found| {
        (found.guess.is_some().then_some(found.invitation.id), found.guess)
    });
    if doorward.store().user_by_email(&registration.email.key()).await?.is_none() {
        refund(guess);
        // Whoever starts over does not use up the guesses of their own code.
        if let Some(invitation) = invitation {
            doorward.store().take_back_guess(invitation).await?;
        }
        // The registration is charged.
        doorward.throttle().refund_sign_up(requester);
        return Ok(());
    }
    // A guessed code must not tell by its answer that it is right.
    let (reason, error) = match guess {
        Some(_) => (RegistrationRefusal::WrongInvitation, Error::MayNotRegister),
        None => (RegistrationRefusal::AddressTaken, Error::EmailTaken),
    };
    publish_refused(doorward, reason, requester);
    Err(error)
}

async fn try_to_register(
    doorward: &Doorward,
    registration: Registration,
    passkey: Option<&FirstPasskey>,
    requester: &Requester,
    persistence: Persistence,
) -> Result<Option<Registered>, Error> {
    let registration = registration.check_password(doorward)?;
    doorward.throttle().charge_sign_up(requester, doorward.instant())?;
    let admitted = admit(doorward, &registration, requester).await?;
    let (invitation, guess) = match admitted {
        Some(invite::FoundInvitation { invitation, guess }) => (Some(invitation), guess),
        None => (None, None),
    };
    // Another spelling may be another mailbox.
    let is_verified = invitation
        .as_ref()
        .is_some_and(|invitation| invitation.is_mailed && invitation.email == registration.email);
    let mut earlier = 0;
    if doorward.sends_mail() && !is_verified {
        earlier = doorward.throttle().charge_sign_up_mail(requester, doorward.instant())?;
    }
    let target = registration.target.clone();
    // Hashed before the insert, so that the response time does not reveal whether the address is taken.
    let mut user = registration.into_user(doorward, requester.network()).await?;
    if let Some(FirstPasskey { passkey, .. }) = passkey {
        (user.id, user.factors) = (passkey.user_id, [passkey.kind()].into_iter().collect());
    }
    if let Some(invitation) = &invitation {
        user.roles = invitation.roles.clone();
    }
    user.email_verified = is_verified;
    // An invitation is addressed to the person, so there is nothing to hide from them.
    if doorward.signs_up_silently() && invitation.is_none() {
        if passkey.is_some() {
            return Err(Error::MayNotRegister);
        }
        let registered = register_silently(doorward, &user, requester, earlier, target.as_ref());
        return on_tick(registered).await.map(Some);
    }
    let mail = verify_email(doorward, &user, requester.language);
    let mail = Effects { earlier, ..leading_to(mail, target.as_ref()) };
    let methods = proved_by(&user, invitation.as_ref(), doorward.now());
    let mut requires = Vec::new();
    requires.extend(invitation.map(|invitation| Requirement::Invitation(invitation.id)));
    requires.extend(passkey.map(|passkey| Requirement::NewPasskey(Box::new(passkey.clone()))));
    let session = SessionFor::Registration(persistence);
    let authentication =
        Authentication { requires, mail, ..Authentication::new(&user, methods, session) };
    let registered = match begin_session(doorward, authentication, requester).await {
        Ok(opened) => Some(Registered::SignedIn(Box::new(opened))),
        Err(NotBegun::Store(store::Error::EmailTaken)) if guess.is_none() => {
            return Err(Error::EmailTaken);
        }
        // A guessed code must not tell by its answer that it is right.
        Err(
            NotBegun::Store(store::Error::EmailTaken)
            | NotBegun::Refused(SignInRefusal::InvitationGone),
        ) => {
            publish_refused(doorward, RegistrationRefusal::WrongInvitation, requester);
            return Err(Error::MayNotRegister);
        }
        Err(NotBegun::Store(error)) => return Err(error.into()),
        Err(NotBegun::Refused(_)) => None,
        Err(NotBegun::FactorMissing) => return Err(Error::MayNotRegister),
    };
    refund(guess);
    doorward.throttle().clear_account(&user.email.key(), doorward.instant());
    Ok(registered)
}

/// What a person proves by registering as this user. A mailed invitation is a mailed code.
fn proved_by(user: &User, invitation: Option<&Invitation>, now: Timestamp) -> Methods {
    let is_mailed = invitation.is_some_and(|invitation| invitation.is_mailed);
    let password = user.has_password().then_some(Method::Password);
    let mailed = is_mailed.then_some(Method::MailedCode);
    let factors = user.factors.iter().map(Method::from);
    Methods::at(now, password.into_iter().chain(mailed).chain(factors))
}

/// Checks that the person may register, and returns the invitation that they present.
async fn admit<'a>(
    doorward: &'a Doorward,
    registration: &Registration,
    requester: &Requester,
) -> Result<Option<invite::FoundInvitation<'a>>, Error> {
    let Registration { name, email, invitation, .. } = registration;
    let refuse = |reason| {
        publish_refused(doorward, reason, requester);
        Error::MayNotRegister
    };
    if elsewhere(doorward, &email.key()).is_some() {
        return Err(refuse(RegistrationRefusal::OnlyElsewhere));
    }
    let invitation = match invitation {
        Some(presented) => {
            let found = invite::find(doorward, presented, email, requester).await?;
            Some(found.ok_or_else(|| refuse(RegistrationRefusal::WrongInvitation))?)
        }
        None => None,
    };
    let (policy, is_invited) = (&doorward.settings().registration, invitation.is_some());
    let (address, now) = (requester.client.address, doorward.now());
    policy.allows(name, email, address, now, is_invited).map_err(refuse)?;
    Ok(invitation)
}

/// Registers a user who has to verify the address before they sign in, or tells the user who has the address. Both write as
/// many rows. An address that gets too much mail is registered without a mail: its owner can ask for a new password, which
/// has a budget of its own.
async fn register_silently(
    doorward: &Doorward,
    user: &User,
    requester: &Requester,
    earlier: u32,
    target: Option<&MailedTarget>,
) -> Result<Registered, Error> {
    let (email, language) = (&user.email, requester.language);
    let may_mail = may_mail(doorward, email, MailPurpose::SignUp);
    let nothing = |id| {
        let (purpose, message) = (Purpose::VerifyEmail, Message::Nothing);
        without_secret(doorward, id, purpose, email, language, message)
    };
    let owner = doorward.store().user_by_email(&email.key()).await?;
    let owner = match owner {
        Some(owner) => Some(owner),
        None => {
            let effects = match may_mail {
                true => with_secret(doorward, user, Purpose::VerifyEmail, email, language),
                false => nothing(Some(user.id)),
            };
            let roles = user.roles.clone();
            let kind = EventKind::Registered { session: None, roles, login: None };
            let event = doorward.event_by_unknown(user.id, requester, kind);
            let effects = Effects { earlier, ..leading_to(effects, target) }.with(event);
            match doorward.store().add_user(user, &effects).await {
                Ok(()) => return Ok(Registered::Mailed),
                // Somebody else has registered it in the meantime.
                Err(store::Error::EmailTaken) => {
                    doorward.store().user_by_email(&email.key()).await?
                }
                Err(error) => return Err(error.into()),
            }
        }
    };
    if let Some(owner) = owner {
        publish_refused(doorward, RegistrationRefusal::AddressTaken, requester);
        let (id, email) = (Some(owner.id), &owner.email);
        let effects = if !may_mail {
            nothing(id)
        } else if owner.email_verified || owner.disabled {
            let (purpose, message) = (Purpose::VerifyEmail, Message::AlreadyRegistered);
            without_secret(doorward, id, purpose, email, language, message)
        } else {
            // Somebody else may have registered the address first. A new password takes the account away from them, and an
            // earlier link would confirm their account.
            let (store, purpose) = (doorward.store(), Purpose::VerifyEmail);
            let now = doorward.now();
            for (earlier, _) in store.one_time_secrets_by_email(purpose, &email.key(), now).await? {
                store.delete_one_time(earlier.id).await?;
            }
            with_secret(doorward, &owner, Purpose::ResetPassword, email, language)
        };
        let effects = Effects { earlier, ..leading_to(effects, target) };
        doorward.store().queue_mail(&effects).await?;
    }
    Ok(Registered::Mailed)
}

/// Adds a user for an administrator. It is not throttled, and no session is opened.
pub(crate) async fn create(
    doorward: &Doorward,
    user: NewUser,
    by: &Administrator,
) -> Result<User, Error> {
    create_once(doorward, user, None, by).await
}

/// Creates a user by an order that may arrive twice. One with an id that exists was carried out before, and its user is returned again.
pub(crate) async fn create_once(
    doorward: &Doorward,
    user: NewUser,
    id: Option<UserId>,
    by: &Administrator,
) -> Result<User, Error> {
    let registration = user.validate(doorward)?.check_password(doorward)?;
    let (name, email) = (registration.name.clone(), registration.email.clone());
    let created_before = async || match id {
        None => Ok(None),
        Some(id) => match doorward.store().user_by_id(id).await? {
            Some(user) if user.name == name && user.email == email => Ok(Some(user)),
            Some(_) => Err(Error::OtherOrder),
            None => Ok(None),
        },
    };
    if let Some(user) = created_before().await? {
        return Ok(user);
    }
    let mut user = registration.into_user(doorward, Network::LOOPBACK).await?;
    user.id = id.unwrap_or(user.id);
    let effects = doorward.event_by_administrator(by, user.id, EventKind::UserAdded).into();
    let added = doorward.store().add_user(&user, &effects).await;
    // The same order may have been carried out at the same time.
    if added.is_err()
        && let Some(user) = created_before().await?
    {
        return Ok(user);
    }
    if let Err(store::Error::EmailTaken) = added {
        let kind = EventKind::RegistrationRefused(RegistrationRefusal::AddressTaken);
        doorward.events().publish(&doorward.event_by_administrator(by, None, kind));
    }
    added?;
    Ok(user)
}

fn publish_refused(doorward: &Doorward, reason: RegistrationRefusal, requester: &Requester) {
    let kind = EventKind::RegistrationRefused(reason);
    doorward.events().publish(&doorward.event_by_unknown(None, requester, kind));
}

/// A user to be registered. The values are checked at registration.
pub struct NewUser {
    name: String,
    email: String,
    password: Option<Zeroizing<String>>,
    invitation: Option<Zeroizing<String>>,
}

impl NewUser {
    /// A user without a password, who cannot log in before one is set.
    pub fn new(name: impl Into<String>, email: impl Into<String>) -> Self {
        Self { name: name.into(), email: email.into(), password: None, invitation: None }
    }

    /// Adds a password.
    #[must_use]
    pub fn password(mut self, password: impl Into<String>) -> Self {
        self.password = Some(Zeroizing::new(password.into()));
        self
    }

    /// Adds the secret or the code of an invitation, which [`Doorward::register`] needs where registration is not open.
    #[must_use]
    pub fn invitation(mut self, presented: impl Into<String>) -> Self {
        self.invitation = Some(Zeroizing::new(presented.into()));
        self
    }

    fn validate(self, doorward: &Doorward) -> Result<Registration, Error> {
        let Self { name, email, password, invitation } = self;
        let rules = doorward.settings().password_rules();
        let parse =
            |mut sent: Zeroizing<String>| Password::parse(std::mem::take(&mut *sent), rules);
        Ok(Registration {
            name: Name::parse(name).map_err(InvalidInput::new("name"))?,
            email: Email::parse(email).map_err(InvalidInput::new("email"))?,
            password: password.map(parse).transpose().map_err(InvalidInput::new("password"))?,
            invitation,
            target: None,
        })
    }
}

impl Doorward {
    /// Registers a user and signs them in, as `POST /api/user` does. `client` sends the request: its network is throttled
    /// and the session records it.
    ///
    /// # Errors
    /// If a value is invalid, the person may not register, the address is taken or the network has signed up too many users.
    pub async fn register(&self, user: NewUser, client: ClientInfo) -> Result<NewSession, Error> {
        let (registration, persistence) = (user.validate(self)?, Persistence::Lifetime);
        match register(self, registration, &Requester::new(client), persistence).await? {
            Registered::SignedIn(opened) => Ok(opened.with_token(self).await),
            Registered::Mailed => Err(Error::OwnerMailed),
        }
    }

    /// Adds a user who is not signed in, as `doorward user add` does. It is not throttled.
    ///
    /// # Errors
    /// If a value is invalid or the address is taken.
    pub async fn create_user(&self, user: NewUser) -> Result<User, Error> {
        create(self, user, &Administrator::APP).await
    }
}
