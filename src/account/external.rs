//! Signing in at another provider. A browser begins an attempt, comes back with a code, and what the provider says of the person
//! decides which account it is. Nothing is linked by an address alone: whoever has an account proves it here first.

use std::{net::IpAddr, time::Duration};

use super::{
    Error, OpenedSession,
    effects::identity_linked,
    external_error::{ExternalError, published},
    first_factor::{ExternalFactor, FirstFactor, SignInOptions, sign_in_with},
    identities::given,
    session_start::{Authentication, NotBegun, SessionFor, begin_session},
    unanswered,
};
use crate::{
    Doorward,
    clock::Timestamp,
    event::{EventKind, ExternalFailure},
    federation::{Authorization, AuthorizationAnswer, Login, Prompt},
    network::Requester,
    session::{
        ExternalSession, ExternalStart, Method, Methods, Persistence, RENEWABLE_FOR, Session,
        SessionId,
    },
    store::{self, IdentityUse, Requirement, SignInRefusal},
    token::{
        cookie::CodeId,
        external::{AttemptPurpose, ExternalSignIn, LoginAttempt, PENDING_LIFETIME, PendingLink},
    },
    user::{Email, ExternalAccount, Identity, IdentityId, Invitation, Name, User, UserId},
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
        prompt: prompt_of(&attempt.purpose),
    };
    published(doorward, &login.name, requester, async {
        Ok(doorward.providers().authorization_url(login, &ask, doorward.now()).await?)
    })
    .await
}

fn prompt_of(purpose: &AttemptPurpose) -> Prompt {
    match purpose {
        AttemptPurpose::SignIn | AttemptPurpose::Link { .. } => Prompt::IfNeeded,
        AttemptPurpose::StepUp { .. } => Prompt::Again,
        AttemptPurpose::Renew { .. } => Prompt::Never,
    }
}

/// Who has come back from an attempt, which counts once.
pub(crate) async fn come_back(
    doorward: &Doorward,
    login: &Login,
    attempt: &LoginAttempt,
    answer: &CameBack,
    requester: &Requester,
) -> Result<ExternalSignIn, ExternalError> {
    let came_back = try_to_come_back(doorward, login, attempt, answer, requester);
    published(doorward, &login.name, requester, came_back).await
}

async fn try_to_come_back(
    doorward: &Doorward,
    login: &Login,
    attempt: &LoginAttempt,
    answer: &CameBack,
    requester: &Requester,
) -> Result<ExternalSignIn, ExternalError> {
    // What the browser brings back counts as a wrong answer of the network if it is not right.
    let throttle = doorward.throttle();
    throttle.charge_answer(requester, doorward.instant()).map_err(Error::from)?;
    let (cookies, now) = (doorward.cookies(), doorward.now());
    let answer = AuthorizationAnswer {
        code: answer.code.as_deref(),
        error: answer.error.as_deref(),
        iss: answer.iss.as_deref(),
        redirect_uri: &login.redirect_uri(&doorward.public_base()),
        nonce: &cookies.nonce(attempt.id),
        verifier: &cookies.verifier(attempt.id),
        prompt: prompt_of(&attempt.purpose),
        user: answer.user.as_deref(),
    };
    let person = async {
        use_once(doorward, attempt.id, attempt.expires_at).await?;
        Ok::<_, ExternalError>(doorward.providers().person(login, &answer, now).await?)
    };
    let person = person.await;
    if !person.as_ref().is_err_and(ExternalError::is_of_browser) {
        throttle.refund_answer(requester);
    }
    let person = person?;
    let address: Option<IpAddr> = Some(requester.client.address);
    let administrators = &doorward.settings().admin_roles;
    Ok(ExternalSignIn {
        id: CodeId::random(),
        roles: login.roles_of(&person, address, now, administrators).to_text(),
        is_trusted: login.trusts(&person, address, now),
        is_admitted: login.admits(&person, address, now),
        account: ExternalAccount {
            login: login.name.clone(),
            issuer: person.issuer,
            subject: person.subject,
            display: person.display,
        },
        name: person.name,
        is_verified: person.email.as_ref().is_some_and(|email| email.is_verified),
        email: person.email.map(|email| email.address.as_str().to_owned()),
        authenticated_at: person.authenticated_at,
        session_id: person.session_id,
        expires_at: now + PENDING_LIFETIME,
    })
}

pub(super) async fn use_once(
    doorward: &Doorward,
    id: CodeId,
    expires_at: Timestamp,
) -> Result<(), ExternalError> {
    match doorward.store().use_code(id, expires_at, &store::Effects::NONE).await? {
        true => Ok(()),
        false => Err(ExternalFailure::Attempt.into()),
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
    let outcome = decide(doorward, login, person, options, requester);
    published(doorward, &login.name, requester, outcome).await
}

fn refused(refusal: ExternalFailure, user: &User) -> ExternalError {
    ExternalError::Refused(refusal, Some(user.id))
}

async fn decide(
    doorward: &Doorward,
    login: &Login,
    person: ExternalSignIn,
    options: &SignInOptions,
    requester: &Requester,
) -> Result<ExternalOutcome, ExternalError> {
    let (store, account) = (doorward.store(), &person.account);
    if let Some((identity, user)) =
        store.identity_with_user(&account.issuer, &account.subject).await?
    {
        if user.disabled {
            return Err(refused(ExternalFailure::Disabled, &user));
        }
        let factor = factor_of(doorward, login, &person, &identity, requester);
        let factor = FirstFactor::External(&factor);
        let opened = sign_in_with(doorward, &user, factor, options, requester).await;
        let opened = opened.map_err(|error| match error {
            Error::WrongCredentials => refused(ExternalFailure::Gone, &user),
            other => other.into(),
        })?;
        return Ok(ExternalOutcome::SignedIn(Box::new(opened)));
    }
    let Some(email) = person.verified_email() else {
        return match doorward.sends_mail() {
            true => Ok(ExternalOutcome::ProveAddress(person)),
            false => Err(ExternalFailure::AddressNotVerified.into()),
        };
    };
    let Some(owner) = store.user_by_email(&email.key()).await? else {
        return register(doorward, login, &person, email, options, requester).await;
    };
    if owner.disabled {
        return Err(refused(ExternalFailure::Disabled, &owner));
    }
    // Another spelling may be another mailbox.
    if login.rules.claim
        && owner.email == email
        && owner.is_unused()
        && store.identities_of(owner.id).await?.is_empty()
    {
        let session = SessionFor::SignIn(options.persistence);
        let requires = vec![Requirement::UnusedAccount];
        let notice = identity_linked(doorward, &owner, login.label.clone(), requester.language);
        let first = FirstSession { user: &owner, requires, session, notice };
        return begin(doorward, login, &person, first, requester).await;
    }
    let pending = pending_link(doorward, &person, owner.id);
    match may_be_replaced(&owner, &email) {
        true => Ok(ExternalOutcome::Unverified(person, pending)),
        false => Ok(ExternalOutcome::LinkFirst(pending)),
    }
}

/// Whether somebody else may have registered the address of a user. One with roles, or whom nobody has used, is the operator's doing.
/// Another spelling of the address may be another mailbox.
fn may_be_replaced(user: &User, email: &Email) -> bool {
    !user.email_verified && user.email == *email && user.roles.is_empty() && !user.is_unused()
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
    published(doorward, &login.name, requester, async {
        let email = person.verified_email().ok_or(ExternalFailure::AddressNotVerified)?;
        use_once(doorward, person.id, person.expires_at).await?;
        let store = doorward.store();
        let owner = store.user_by_email(&email.key()).await?;
        if let Some(owner) = owner.filter(|owner| may_be_replaced(owner, &email)) {
            admit(doorward, &person, &email, requester).await?;
            let kind = EventKind::UnverifiedUserDeleted;
            let effects = doorward.event_by_unknown(owner.id, requester, kind).into();
            let (version, now) = (Some(owner.version()), doorward.now());
            // One that has changed in the meantime is judged again.
            store.delete_user_of_version(owner.id, version, now, &effects).await?;
        }
        decide(doorward, login, person, options, requester).await
    })
    .await
}

/// The identity by which a session began that has lasted as long as its login allows, if the provider can be asked without a question
/// whether the person is still signed in there. Nobody has ended such a session, which would have deleted it.
pub(crate) async fn renewable(
    doorward: &Doorward,
    session: SessionId,
) -> Result<Option<Identity>, store::Error> {
    let (store, now) = (doorward.store(), doorward.now());
    let Some((session, user)) = store.session_with_user(session).await? else { return Ok(None) };
    let over_at = session.expires_at;
    let was_idle = session.has_expired(session.last_seen_at, over_at - Duration::from_millis(1));
    let is_due = over_at <= now && now < over_at + RENEWABLE_FOR && !was_idle;
    let Some(external) = session.external.filter(|_| is_due) else { return Ok(None) };
    let mut identities = store.identities_of(user.id).await?.into_iter();
    let identity = identities.find(|identity| identity.id == external.identity);
    let asks = |identity: &Identity| {
        let logins = doorward.logins();
        let login = logins.by_name(&identity.login);
        login.is_some_and(|login| login.rules.session.is_some() && login.shown_as.answers_at_once())
    };
    Ok(identity.filter(asks))
}

/// Whether who has come back is who has this identity.
pub(crate) async fn is_same_person(
    doorward: &Doorward,
    person: &ExternalSignIn,
    identity: IdentityId,
) -> Result<bool, store::Error> {
    let ExternalAccount { issuer, subject, .. } = &person.account;
    let known = doorward.store().identity_with_user(issuer, subject).await?;
    Ok(known.is_some_and(|(known, _)| known.id == identity))
}

/// An account that waits to be linked to this user.
pub(crate) fn pending_link(
    doorward: &Doorward,
    person: &ExternalSignIn,
    user: UserId,
) -> PendingLink {
    let expires_at = doorward.now() + PENDING_LIFETIME;
    let (account, roles) = (person.account.clone(), person.roles.clone());
    PendingLink { account, roles, user, target: None, expires_at }
}

/// What a person has proved at the provider. Without a time, nobody knows when, so it is as old as can be.
fn proved(doorward: &Doorward, person: &ExternalSignIn) -> Methods {
    let at = person.authenticated_at.unwrap_or(Timestamp::from_seconds(0)).min(doorward.now());
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
            display: person.account.display.clone(),
            gives: given(doorward, &person.roles, identity.user_id, requester),
        },
    }
}

/// Whether somebody may get an account, and what they are called.
async fn admit(
    doorward: &Doorward,
    person: &ExternalSignIn,
    email: &Email,
    requester: &Requester,
) -> Result<(Name, Option<Invitation>), ExternalError> {
    if !person.is_admitted {
        return Err(ExternalFailure::NotAdmitted.into());
    }
    let now = doorward.now();
    let invitation = doorward.store().invitation_by_email(&email.key(), now).await?;
    // Another spelling may be another mailbox.
    let invitation = invitation.filter(|invitation| invitation.email == *email);
    let (name, policy) = (name_of(person, email), &doorward.settings().registration);
    let allowed = policy.allows(&name, email, requester.client.address, now, invitation.is_some());
    allowed.map_err(|_| ExternalFailure::MayNotRegister)?;
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
    let requires = invitation.map(|invitation| Requirement::Invitation(invitation.id));
    let session = SessionFor::Registration(options.persistence);
    // A mail would tell them what they have just done.
    let (requires, notice) = (requires.into_iter().collect(), store::Effects::NONE);
    let first = FirstSession { user: &user, requires, session, notice };
    begin(doorward, login, person, first, requester).await
}

/// The first session of a user.
struct FirstSession<'a> {
    user: &'a User,
    requires: Vec<Requirement>,
    session: SessionFor<'a>,
    notice: store::Effects,
}

/// Begins the first session of a user by an identity, which becomes theirs.
async fn begin(
    doorward: &Doorward,
    login: &Login,
    person: &ExternalSignIn,
    first: FirstSession<'_>,
    requester: &Requester,
) -> Result<ExternalOutcome, ExternalError> {
    let FirstSession { user, mut requires, session, notice } = first;
    let now = doorward.now();
    let identity = Identity { last_used_at: Some(now), ..person.account.of(user.id, now) };
    let external = Some(start(login, person, identity.id));
    let gives = given(doorward, &person.roles, user.id, requester);
    requires.push(Requirement::NewIdentity(Box::new((identity, gives))));
    let linked = EventKind::IdentityLinked { login: login.name.clone() };
    let authentication = Authentication {
        requires,
        mail: notice.with(doorward.event_by_user(user.id, requester, linked)),
        external,
        ..Authentication::new(user, proved(doorward, person), session)
    };
    match begin_session(doorward, authentication, requester).await {
        Ok(opened) => Ok(ExternalOutcome::SignedIn(Box::new(opened))),
        Err(NotBegun::Store(store::Error::EmailTaken)) => Err(ExternalFailure::AddressTaken.into()),
        Err(NotBegun::Store(error)) => Err(error.into()),
        Err(NotBegun::Refused(SignInRefusal::IdentityTaken)) => {
            Err(ExternalFailure::IdentityTaken.into())
        }
        Err(NotBegun::Refused(_) | NotBegun::FactorMissing) => Err(ExternalFailure::Gone.into()),
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
    published(doorward, &login.name, requester, async {
        if person.authenticated_at.is_none_or(|at| at + CLOCK_SKEW < begun_at) {
            return Err(refused(ExternalFailure::NotAgain, user));
        }
        let ExternalAccount { issuer, subject, .. } = &person.account;
        let known = doorward.store().identity_with_user(issuer, subject).await?;
        let known = known.filter(|(_, owner)| owner.id == user.id);
        let (identity, _) = known.ok_or_else(|| refused(ExternalFailure::IdentityTaken, user))?;
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
            Err(NotBegun::Refused(_)) => Err(refused(ExternalFailure::Gone, user)),
            Err(NotBegun::Store(error)) => Err(error.into()),
        }
    })
    .await
}
