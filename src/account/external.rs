//! Signing in at another provider. A browser begins an attempt, comes back with a code, and what the provider says of the person
//! decides which account it is. Nothing is linked by an address alone: whoever has an account proves it here first.

use std::{net::IpAddr, time::Duration};

use super::{
    Error, OpenedSession,
    external_error::{ExternalError, refuse},
    first_factor::{ExternalFactor, FirstFactor, SignInOptions, sign_in_with},
    session_start::{Authentication, NotBegun, SessionFor, begin_session},
    unanswered,
};
use crate::{
    Doorward,
    clock::Timestamp,
    event::{Event, EventKind, ExternalRefusal},
    federation::{Authorization, AuthorizationAnswer, Login},
    network::Requester,
    session::{ExternalSession, ExternalStart, Method, Methods, Persistence, Session},
    store::{self, GivenRoles, IdentityUse, Requirement, SignInRefusal},
    token::{
        cookie::CodeId,
        external::{AttemptPurpose, ExternalSignIn, LoginAttempt, PENDING_LIFETIME, PendingLink},
    },
    user::{Email, Identity, IdentityId, Invitation, Name, Roles, User, UserId},
};

/// What a browser comes back with.
#[derive(Default)]
pub(crate) struct CameBack {
    pub(crate) code: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) iss: Option<String>,
    /// What Apple says of a person at their first sign-in, unsigned.
    pub(crate) user: Option<String>,
}

/// What becomes of a sign-in at a provider.
pub(crate) enum ExternalOutcome {
    SignedIn(Box<OpenedSession>),
    /// The address has an account. Its owner signs in there, and then links the other one.
    LinkFirst(PendingLink),
    /// Nobody has verified the address. The person proves one by a mailed code.
    ProveAddress(ExternalSignIn),
    /// The address has an account that nobody has verified: it may be theirs, or that of somebody who has taken the address. They say
    /// which. Neither is decided without them: one would delete what is theirs, and the other would share it with a stranger.
    Unverified(ExternalSignIn, PendingLink),
}

/// The URL at the provider to which the browser of an attempt goes.
pub(crate) async fn authorization_url(
    doorward: &Doorward,
    login: &Login,
    attempt: &LoginAttempt,
    requester: &Requester,
) -> Result<String, ExternalError> {
    let (cookies, state) = (doorward.cookies(), attempt.id.to_string());
    let ask = Authorization {
        redirect_uri: &login.redirect_uri(&doorward.public_base()),
        state: &state,
        nonce: &cookies.nonce(attempt.id),
        verifier: &cookies.verifier(attempt.id),
        login_hint: None,
        again: matches!(attempt.purpose, AttemptPurpose::StepUp { .. }),
    };
    let url = doorward.providers().authorization_url(login, &ask, doorward.now()).await;
    url.map_err(|error| refuse(doorward, &login.name, error.into(), None, requester))
}

/// Who has come back from an attempt, which counts once.
pub(crate) async fn come_back(
    doorward: &Doorward,
    login: &Login,
    attempt: &LoginAttempt,
    answer: &CameBack,
    requester: &Requester,
) -> Result<ExternalSignIn, ExternalError> {
    let came_back = try_to_come_back(doorward, login, attempt, answer, requester).await;
    came_back.map_err(|error| refuse(doorward, &login.name, error, None, requester))
}

async fn try_to_come_back(
    doorward: &Doorward,
    login: &Login,
    attempt: &LoginAttempt,
    answer: &CameBack,
    requester: &Requester,
) -> Result<ExternalSignIn, ExternalError> {
    use_once(doorward, attempt.id, attempt.expires_at, ExternalRefusal::Attempt).await?;
    let (cookies, now) = (doorward.cookies(), doorward.now());
    let answer = AuthorizationAnswer {
        code: answer.code.as_deref(),
        error: answer.error.as_deref(),
        iss: answer.iss.as_deref(),
        redirect_uri: &login.redirect_uri(&doorward.public_base()),
        nonce: &cookies.nonce(attempt.id),
        verifier: &cookies.verifier(attempt.id),
        user: answer.user.as_deref(),
    };
    let person = doorward.providers().person(login, &answer, now).await?;
    let address: Option<IpAddr> = Some(requester.client.address);
    let administrators = &doorward.settings().admin_roles;
    Ok(ExternalSignIn {
        id: CodeId::random(),
        login: login.name.clone(),
        roles: login.roles_of(&person, address, now, administrators).to_text(),
        is_trusted: login.trusts(&person, address, now),
        is_admitted: login.admits(&person, address, now),
        issuer: person.issuer,
        subject: person.subject,
        display: person.display,
        name: person.name,
        is_verified: person.email.as_ref().is_some_and(|email| email.is_verified),
        email: person.email.map(|email| email.address.as_str().to_owned()),
        authenticated_at: person.authenticated_at.map(Timestamp::millis),
        session_id: person.session_id,
        expires_at: now + PENDING_LIFETIME,
    })
}

async fn use_once(
    doorward: &Doorward,
    id: CodeId,
    expires_at: Timestamp,
    refusal: ExternalRefusal,
) -> Result<(), ExternalError> {
    match doorward.store().use_code(id, expires_at, &store::Effects::NONE).await? {
        true => Ok(()),
        false => Err(ExternalError::Refused(refusal)),
    }
}

/// Signs in who has come back from a provider, in the account that it belongs to.
pub(crate) async fn sign_in(
    doorward: &Doorward,
    login: &Login,
    person: ExternalSignIn,
    options: &SignInOptions,
    requester: &Requester,
) -> Result<ExternalOutcome, ExternalError> {
    let outcome = decide(doorward, login, person, options, requester).await;
    outcome.map_err(|(error, user)| refuse(doorward, &login.name, error, user, requester))
}

/// Why a sign-in is refused, and whose it would have been.
type RefusedOf = (ExternalError, Option<UserId>);

fn refused(refusal: ExternalRefusal, user: &User) -> RefusedOf {
    (ExternalError::Refused(refusal), Some(user.id))
}

async fn decide(
    doorward: &Doorward,
    login: &Login,
    person: ExternalSignIn,
    options: &SignInOptions,
    requester: &Requester,
) -> Result<ExternalOutcome, RefusedOf> {
    let of_nobody = |error: ExternalError| (error, None);
    let store = doorward.store();
    let known = store.identity_with_user(&person.issuer, &person.subject).await;
    if let Some((identity, user)) = known.map_err(|error| of_nobody(error.into()))? {
        if user.disabled {
            return Err(refused(ExternalRefusal::Disabled, &user));
        }
        let factor = factor_of(doorward, login, &person, &identity, requester);
        let factor = FirstFactor::External(&factor);
        let opened = sign_in_with(doorward, &user, factor, options, requester).await;
        let opened = opened.map_err(|error| match error {
            Error::WrongCredentials => refused(ExternalRefusal::Gone, &user),
            other => (other.into(), Some(user.id)),
        })?;
        return Ok(ExternalOutcome::SignedIn(Box::new(opened)));
    }
    let email = person.email.clone().filter(|_| person.is_verified);
    let Some(email) = email.and_then(|email| Email::parse(email).ok()) else {
        return match doorward.sends_mail() {
            true => Ok(ExternalOutcome::ProveAddress(person)),
            false => Err(of_nobody(ExternalError::Refused(ExternalRefusal::AddressNotVerified))),
        };
    };
    let owner = store.user_by_email(&email.key()).await;
    let Some(owner) = owner.map_err(|error| of_nobody(error.into()))? else {
        let registered = register(doorward, login, &person, email, options, requester).await;
        return registered.map_err(of_nobody);
    };
    let of_owner = |error: ExternalError| (error, Some(owner.id));
    if owner.disabled {
        return Err(refused(ExternalRefusal::Disabled, &owner));
    }
    // Another spelling may be another mailbox.
    if is_unused(&owner) && login.rules.claim && owner.email == email {
        let claimed = claim(doorward, login, &person, &owner, options, requester).await;
        return claimed.map_err(of_owner);
    }
    let pending = pending_link(doorward, &person, Some(owner.id));
    match may_be_replaced(&owner, &email) {
        true => Ok(ExternalOutcome::Unverified(person, pending)),
        false => Ok(ExternalOutcome::LinkFirst(pending)),
    }
}

/// Whether somebody else may have registered the address of a user. One with roles, or whom nobody has used, is the operator's doing.
/// Another spelling of the address may be another mailbox.
fn may_be_replaced(user: &User, email: &Email) -> bool {
    !user.email_verified && user.email == *email && user.roles.is_empty() && !is_unused(user)
}

/// Deletes the account that somebody else has registered with the address of whoever has come back from a provider, and signs them in in a
/// new one.
pub(crate) async fn replace_account(
    doorward: &Doorward,
    login: &Login,
    person: ExternalSignIn,
    options: &SignInOptions,
    requester: &Requester,
) -> Result<ExternalOutcome, ExternalError> {
    let refused = |error| refuse(doorward, &login.name, error, None, requester);
    let email = person.email.clone().filter(|_| person.is_verified);
    let email = email.and_then(|email| Email::parse(email).ok());
    let email = email
        .ok_or_else(|| refused(ExternalError::Refused(ExternalRefusal::AddressNotVerified)))?;
    let used = use_once(doorward, person.id, person.expires_at, ExternalRefusal::Attempt).await;
    used.map_err(refused)?;
    let store = doorward.store();
    let owner = store.user_by_email(&email.key()).await?;
    if let Some(owner) = owner.filter(|owner| may_be_replaced(owner, &email)) {
        admit(doorward, &person, &email, requester).await.map_err(refused)?;
        let kind = EventKind::UnverifiedUserDeleted;
        let effects = doorward.event_by_unknown(owner.id, requester, kind).into();
        let (version, now) = (Some(owner.version()), doorward.now());
        // One that has changed in the meantime is judged again.
        store.delete_user_of_version(owner.id, version, now, &effects).await?;
    }
    sign_in(doorward, login, person, options, requester).await
}

/// An account that waits to be linked.
pub(crate) fn pending_link(
    doorward: &Doorward,
    person: &ExternalSignIn,
    user: Option<UserId>,
) -> PendingLink {
    PendingLink {
        login: person.login.clone(),
        issuer: person.issuer.clone(),
        subject: person.subject.clone(),
        display: person.display.clone(),
        user,
        target: None,
        expires_at: doorward.now() + PENDING_LIFETIME,
    }
}

/// Whether an account was made for somebody who has never used it.
fn is_unused(user: &User) -> bool {
    !user.has_password() && user.factors.is_empty() && user.last_login_at.is_none()
}

/// What a person has proved at the provider. Without a time, nobody knows when, so it is as old as can be.
fn proved(doorward: &Doorward, person: &ExternalSignIn) -> Methods {
    let at = person.authenticated_at.map(Timestamp::from_millis);
    let at = at.unwrap_or(Timestamp::from_seconds(0)).min(doorward.now());
    let trusted = person.is_trusted.then_some(Method::ExternalMfa);
    Methods::at(at, [Method::External].into_iter().chain(trusted))
}

fn start(login: &Login, person: &ExternalSignIn, identity: IdentityId) -> ExternalStart {
    ExternalStart {
        session: ExternalSession { identity, session_id: person.session_id.clone() },
        login: login.name.clone(),
        most: login.rules.session,
    }
}

fn factor_of(
    doorward: &Doorward,
    login: &Login,
    person: &ExternalSignIn,
    identity: &Identity,
    requester: &Requester,
) -> ExternalFactor {
    ExternalFactor {
        start: start(login, person, identity.id),
        methods: proved(doorward, person),
        used: IdentityUse {
            id: identity.id,
            login: login.name.clone(),
            display: person.display.clone(),
            gives: given(doorward, person, identity.user_id, requester),
        },
    }
}

/// The roles that the login gives, each of them an event about this user.
fn given(
    doorward: &Doorward,
    person: &ExternalSignIn,
    user: UserId,
    requester: &Requester,
) -> GivenRoles {
    // The kind is replaced by that of each role.
    let kind = EventKind::UserEnabled;
    let event = Event::by_unknown(Some(user), requester, doorward.now(), kind);
    GivenRoles { roles: Roles::from_store(&person.roles), event }
}

fn new_identity(doorward: &Doorward, person: &ExternalSignIn, user: UserId) -> Identity {
    let now = doorward.now();
    Identity {
        id: IdentityId::random(),
        user_id: user,
        issuer: person.issuer.clone(),
        subject: person.subject.clone(),
        login: person.login.clone(),
        display: person.display.clone(),
        created_at: now,
        last_used_at: Some(now),
    }
}

fn linked(doorward: &Doorward, login: &Login, user: UserId, requester: &Requester) -> Event {
    let kind = EventKind::IdentityLinked { login: login.name.clone() };
    doorward.event_by_user(user, requester, kind)
}

/// Whether somebody may get an account, and what they are called.
async fn admit(
    doorward: &Doorward,
    person: &ExternalSignIn,
    email: &Email,
    requester: &Requester,
) -> Result<(Name, Option<Invitation>), ExternalError> {
    if !person.is_admitted {
        return Err(ExternalError::Refused(ExternalRefusal::NotAdmitted));
    }
    let now = doorward.now();
    let invitation = doorward.store().invitation_by_email(&email.key(), now).await?;
    // Another spelling may be another mailbox.
    let invitation = invitation.filter(|invitation| invitation.email == *email);
    let (name, policy) = (name_of(person, email), &doorward.settings().registration);
    let allowed = policy.allows(&name, email, requester.client.address, now, invitation.is_some());
    allowed.map_err(|_| ExternalError::Refused(ExternalRefusal::MayNotRegister))?;
    Ok((name, invitation))
}

/// The name that the provider tells, or the first part of the address.
fn name_of(person: &ExternalSignIn, email: &Email) -> Name {
    let local = email.as_str().split('@').next().unwrap_or_default();
    let told = person.name.iter().map(String::as_str);
    let mut names = told.chain([local, email.as_str()]).map(|name| Name::parse(name.to_owned()));
    let first = names.find_map(Result::ok);
    // An address has more than two characters.
    first.unwrap_or_else(|| Name::from_store(email.as_str().to_owned()))
}

/// Adds an account for somebody, who is signed in.
async fn register(
    doorward: &Doorward,
    login: &Login,
    person: &ExternalSignIn,
    email: Email,
    options: &SignInOptions,
    requester: &Requester,
) -> Result<ExternalOutcome, ExternalError> {
    let throttled = doorward.throttle().charge_sign_up(requester, doorward.instant());
    throttled.map_err(Error::from)?;
    let (name, invitation) = admit(doorward, person, &email, requester).await?;
    let mut user = User::new(name, email, None, doorward.now());
    user.email_verified = true;
    if let Some(invitation) = &invitation {
        user.roles = invitation.roles.clone();
    }
    let identity = new_identity(doorward, person, user.id);
    let session = SessionFor::Registration(options.persistence);
    let linked = linked(doorward, login, user.id, requester);
    let gives = given(doorward, person, user.id, requester);
    let mut requires = vec![Requirement::NewIdentity(Box::new((identity.clone(), gives)))];
    requires.extend(invitation.map(|invitation| Requirement::Invitation(invitation.id)));
    let authentication = Authentication {
        requires,
        // Their first mail would tell them what they have just done.
        mail: linked.into(),
        external: Some(start(login, person, identity.id)),
        ..Authentication::new(&user, proved(doorward, person), session)
    };
    begun(begin_session(doorward, authentication, requester).await)
}

/// Gives somebody the account that was made for them and that nobody has used.
async fn claim(
    doorward: &Doorward,
    login: &Login,
    person: &ExternalSignIn,
    user: &User,
    options: &SignInOptions,
    requester: &Requester,
) -> Result<ExternalOutcome, ExternalError> {
    let identity = new_identity(doorward, person, user.id);
    let gives = given(doorward, person, user.id, requester);
    let authentication = Authentication {
        requires: vec![
            Requirement::UnusedAccount,
            Requirement::NewIdentity(Box::new((identity.clone(), gives))),
        ],
        mail: linked(doorward, login, user.id, requester).into(),
        external: Some(start(login, person, identity.id)),
        ..Authentication::new(
            user,
            proved(doorward, person),
            SessionFor::SignIn(options.persistence),
        )
    };
    begun(begin_session(doorward, authentication, requester).await)
}

fn begun(begun: Result<OpenedSession, NotBegun>) -> Result<ExternalOutcome, ExternalError> {
    match begun {
        Ok(opened) => Ok(ExternalOutcome::SignedIn(Box::new(opened))),
        Err(NotBegun::Store(store::Error::EmailTaken)) => {
            Err(ExternalError::Refused(ExternalRefusal::AddressTaken))
        }
        Err(NotBegun::Store(error)) => Err(error.into()),
        Err(NotBegun::Refused(SignInRefusal::IdentityTaken)) => {
            Err(ExternalError::Refused(ExternalRefusal::IdentityTaken))
        }
        Err(NotBegun::Refused(_) | NotBegun::FactorMissing) => {
            Err(ExternalError::Refused(ExternalRefusal::Gone))
        }
    }
}

/// The clock of a provider may be this far behind.
const CLOCK_SKEW: Duration = Duration::from_secs(60);

/// Makes a session stronger: its user has proved again at the provider who they are, since the attempt began.
pub(crate) async fn step_up(
    doorward: &Doorward,
    login: &Login,
    person: &ExternalSignIn,
    (user, session): (&User, &Session),
    begun_at: Timestamp,
    requester: &Requester,
) -> Result<OpenedSession, ExternalError> {
    let refuse =
        |error: ExternalError| refuse(doorward, &login.name, error, Some(user.id), requester);
    let refused = |refusal| refuse(ExternalError::Refused(refusal));
    let at = person.authenticated_at.map(Timestamp::from_millis);
    if at.is_none_or(|at| at + CLOCK_SKEW < begun_at) {
        return Err(refused(ExternalRefusal::NotAgain));
    }
    let known = doorward.store().identity_with_user(&person.issuer, &person.subject).await?;
    let known = known.filter(|(_, owner)| owner.id == user.id);
    let (identity, _) = known.ok_or_else(|| refused(ExternalRefusal::IdentityTaken))?;
    let factor = factor_of(doorward, login, person, &identity, requester);
    let methods = proved(doorward, person);
    let authentication = Authentication {
        requires: vec![Requirement::IdentityUse(Box::new(factor.used))],
        ..Authentication::new(user, methods.clone(), SessionFor::StepUp(session))
    };
    match begin_session(doorward, authentication, requester).await {
        Ok(opened) => Ok(opened),
        Err(NotBegun::FactorMissing) => {
            let (persistence, session) = (Persistence::Lifetime, Some(session));
            let missing =
                unanswered::ask(doorward, user, methods, persistence, session, None, requester)
                    .await?;
            Err(ExternalError::Account(Error::FactorMissing(Box::new(missing))))
        }
        Err(NotBegun::Refused(_)) => Err(refused(ExternalRefusal::Gone)),
        Err(NotBegun::Store(error)) => Err(error.into()),
    }
}
