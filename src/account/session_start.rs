//! The end of every sign-in. However a person has shown who they are, this decides whether a session begins.

use super::{
    OpenedSession, effects::new_sign_in, missing_factor::MissingFactor, trusted_devices::trusted,
    unanswered,
};
use crate::{
    Doorward,
    clock::Timestamp,
    event::EventKind,
    network::Requester,
    session::{Method, Methods, Persistence, Session},
    store::{self, Effects, FirstPasskey, OneTimeUse, SignIn, SignInWritten},
    token::one_time::OneTime,
    user::{Invitation, User},
};

/// What a person has shown.
pub(crate) enum Evidence<'a> {
    /// The password of this user.
    Password(&'a User),
    /// A mailed code or link of this user.
    MailedCode(&'a OneTime, &'a User),
    /// They register as this user.
    Registration {
        user: &'a User,
        /// The invitation that admits them.
        invitation: Option<&'a Invitation>,
        /// What they have in place of a password.
        passkey: Option<&'a FirstPasskey>,
        /// The mail to the new user.
        effects: Effects,
    },
    /// Nothing: a test of an app says who it is (`doorward dev`).
    TestOfApp(&'a User),
}

impl Evidence<'_> {
    fn user(&self) -> &User {
        match self {
            Self::Password(user) | Self::MailedCode(_, user) | Self::TestOfApp(user) => user,
            Self::Registration { user, .. } => user,
        }
    }

    fn methods(&self, now: Timestamp) -> Methods {
        let methods = |methods: &[Method]| Methods::at(now, methods.iter().copied());
        match self {
            Self::Password(_) => methods(&[Method::Password]),
            // As strong as the user can be.
            Self::TestOfApp(user) => {
                let factors = user.factors.iter().map(Method::from);
                Methods::at(now, factors.chain([Method::Password]))
            }
            Self::MailedCode(..) => methods(&[Method::MailedCode]),
            Self::Registration { user, invitation, .. } => {
                let is_mailed = invitation.is_some_and(|invitation| invitation.is_mailed);
                let password = user.has_password().then_some(Method::Password);
                let mailed = is_mailed.then_some(Method::MailedCode);
                let factors = user.factors.iter().map(Method::from);
                Methods::at(now, password.into_iter().chain(mailed).chain(factors))
            }
        }
    }
}

/// What a sign-in led to.
pub(crate) enum Outcome {
    Opened(Box<OpenedSession>),
    /// The person holds a second factor and has not shown it.
    FactorMissing(Box<MissingFactor>),
    /// The user has been deleted, disabled or changed in the meantime, does not trust the browser any more, or the passkey that they
    /// register with is known.
    Gone,
}

/// How a person wants to be signed in, and what their browser shows.
pub(crate) struct Terms {
    pub(crate) persistence: Persistence,
    /// The cookie of a browser that its user trusts.
    pub(crate) device: Option<String>,
}

impl Terms {
    /// Those of a program, which gets a token.
    pub(crate) const TOKEN: Self = Self { persistence: Persistence::Lifetime, device: None };
}

/// Begins a session for the person, unless they still have to show a second factor. Every sign-in ends here, or in the answer to
/// the challenge that this makes.
///
/// # Errors
/// For a registration [`store::Error::EmailTaken`] and [`store::Error::InvitationGone`]; for everything if the database
/// cannot be used.
pub(crate) async fn complete_sign_in(
    doorward: &Doorward,
    evidence: Evidence<'_>,
    requester: &Requester,
    terms: &Terms,
) -> Result<Outcome, store::Error> {
    let now = doorward.now();
    let (user, mut methods) = (evidence.user(), evidence.methods(now));
    let trusted_device = match &terms.device {
        Some(cookie) if !user.factors.is_empty() => trusted(doorward, user, cookie).await?,
        _ => None,
    };
    if trusted_device.is_some() {
        methods = methods.with(Method::TrustedDevice, now);
    }
    let session = new_session(doorward, user, methods.clone(), requester, terms.persistence);
    if !session.is_enough_for(user) {
        return ask_for_factor(doorward, evidence, methods, terms.persistence, requester).await;
    }
    let kind = match &evidence {
        Evidence::Registration { .. } => {
            EventKind::Registered { session: Some(session.id), roles: user.roles.clone() }
        }
        _ => EventKind::SignedIn { session: session.id, methods },
    };
    let event = doorward.event_by_user(user.id, requester, kind);
    let effects = match &evidence {
        Evidence::Password(user) | Evidence::MailedCode(_, user) => {
            new_sign_in(doorward, user, &session, requester.language).await?
        }
        Evidence::Registration { effects, .. } => effects.clone(),
        Evidence::TestOfApp(_) => Effects::NONE,
    };
    let effects = match &evidence {
        Evidence::Registration { passkey: Some(FirstPasskey { passkey, .. }), .. } => {
            let added = EventKind::FactorAdded { kind: passkey.kind() };
            effects.with(event).with(doorward.event_by_user(user.id, requester, added))
        }
        _ => effects.with(event),
    };
    let store = doorward.store();
    let user = match evidence {
        Evidence::Password(user) | Evidence::TestOfApp(user) => {
            let sign_in = SignIn { trusted_device, ..SignIn::new(user, session.clone()) };
            let written = store.sign_in(sign_in, &effects).await?;
            (written == SignInWritten::Begun).then(|| user.clone())
        }
        Evidence::MailedCode(one_time, _) => {
            let opened = Some(Box::new(session.clone()));
            let usage = OneTimeUse::SignIn { session: opened, trusted_device };
            store.use_one_time(one_time, usage, &effects, now).await?
        }
        Evidence::Registration { user, invitation, passkey, .. } => {
            // It begins a session, so it is the first sign-in.
            let user = &User { last_login_at: Some(session.created_at), ..user.clone() };
            let invitation = invitation.map(|invitation| invitation.id);
            let is_added = match passkey {
                None => {
                    store.add_user(user, Some(&session), invitation, &effects).await?;
                    true
                }
                Some(passkey) => {
                    store
                        .add_user_with_passkey(user, &session, invitation, passkey, &effects)
                        .await?
                }
            };
            is_added.then(|| user.clone())
        }
    };
    let Some(user) = user else { return Ok(Outcome::Gone) };
    if !user.factors.is_empty() {
        // The password alone has not cleared them.
        doorward.throttle().clear_account(&user.email.key(), doorward.instant());
    }
    Ok(Outcome::Opened(Box::new(OpenedSession { user, session })))
}

/// The challenge to a person who has shown the first factor. A mailed code is used up by it.
async fn ask_for_factor(
    doorward: &Doorward,
    evidence: Evidence<'_>,
    methods: Methods,
    persistence: Persistence,
    requester: &Requester,
) -> Result<Outcome, store::Error> {
    let user = match evidence {
        Evidence::MailedCode(one_time, _) => {
            let usage = OneTimeUse::SignIn { session: None, trusted_device: None };
            let now = doorward.now();
            doorward.store().use_one_time(one_time, usage, &Effects::NONE, now).await?
        }
        _ => Some(evidence.user().clone()),
    };
    let Some(user) = user else { return Ok(Outcome::Gone) };
    let missing = MissingFactor::of(doorward, &user, methods.clone(), persistence, None).await?;
    unanswered::asked(doorward, &user, methods, &missing, requester).await?;
    Ok(Outcome::FactorMissing(Box::new(missing)))
}

/// A session that begins now.
pub(super) fn new_session(
    doorward: &Doorward,
    user: &User,
    methods: Methods,
    requester: &Requester,
    persistence: Persistence,
) -> Session {
    let settings = doorward.settings();
    let idle_timeout = match persistence {
        Persistence::UntilIdle => Some(settings.session_idle_timeout),
        Persistence::Lifetime => None,
    };
    let (client, now) = (requester.client.clone(), doorward.now());
    Session {
        idle_timeout,
        methods,
        ..Session::new(user.id, client, now, settings.session_lifetime)
    }
}
