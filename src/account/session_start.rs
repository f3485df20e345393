//! The end of every sign-in. However people have proved who they are, [`begin_session`] decides whether a session begins, and it
//! alone has it written.

use std::time::Duration;

use super::{OpenedSession, effects::new_sign_in};
use crate::{
    Doorward,
    clock::Timestamp,
    event::{Event, EventKind},
    network::Requester,
    session::{ExternalStart, Method, Methods, Persistence, Session, TokenId},
    store::{
        self, Effects, Requirement, SessionStart, SignIn, SignInRefusal, SignInUser, SignInWritten,
    },
    user::{TrustedDevice, User},
};

/// A person who has proved who they are.
pub(crate) struct Authentication<'a> {
    pub(super) user: &'a User,
    /// What they have proved, and when.
    pub(super) methods: Methods,
    pub(super) session: SessionFor<'a>,
    /// What must still hold when the session is written. What counts once is used up by it.
    pub(super) requires: Vec<Requirement>,
    /// The browser, if they trust it from now on.
    pub(super) new_trusted_device: Option<TrustedDevice>,
    /// The mail that is sent, besides the one about a sign-in from elsewhere, and what else happens.
    pub(super) mail: Effects,
    /// The sign-in at another provider that it begins with.
    pub(super) external: Option<ExternalStart>,
}

/// Which session a person gets.
#[derive(Clone, Copy)]
pub(super) enum SessionFor<'a> {
    /// A new one, because they sign in.
    SignIn(Persistence),
    /// Their first one, because they register.
    Registration(Persistence),
    /// This one, which proves more.
    StepUp(&'a Session),
    /// A new one, because a test of an app says who they are.
    TestOfApp,
}

/// Why no session has begun.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotBegun {
    /// The person holds a second factor and has not proved it.
    #[error("a second factor is missing")]
    FactorMissing,
    /// What the session requires does not hold any more.
    #[error("the sign-in is refused: {0:?}")]
    Refused(SignInRefusal),
    #[error(transparent)]
    Store(#[from] store::Error),
}

impl<'a> Authentication<'a> {
    pub(super) fn new(user: &'a User, methods: Methods, session: SessionFor<'a>) -> Self {
        Self {
            user,
            methods,
            session,
            requires: Vec::new(),
            new_trusted_device: None,
            mail: Effects::NONE,
            external: None,
        }
    }

    /// A test of an app says who it is (`doorward dev`). It proves as much as the user can.
    pub(crate) fn by_test_of_app(user: &'a User, now: Timestamp) -> Self {
        let factors = user.factors.iter().map(Method::from);
        let methods = Methods::at(now, factors.chain([Method::Password]));
        Self::new(user, methods, SessionFor::TestOfApp)
    }
}

/// Begins a session for a person, or makes theirs stronger, if they have proved enough.
///
/// # Errors
/// [`NotBegun`] says why it does not begin: [`store::Error::EmailTaken`] for a registration, among others.
pub(crate) async fn begin_session(
    doorward: &Doorward,
    authentication: Authentication<'_>,
    requester: &Requester,
) -> Result<OpenedSession, NotBegun> {
    let Authentication { user, methods, session, requires, new_trusted_device, mail, external } =
        authentication;
    if !methods.are_enough_for(&user.factors) {
        return Err(NotBegun::FactorMissing);
    }
    // A session begins when its event says.
    let now = doorward.now();
    let start = session.start(doorward, user, methods, external.as_ref(), requester, now);
    let opened = start.session().clone();
    let notice = match session {
        SessionFor::SignIn(_) => new_sign_in(doorward, user, &opened, requester.language).await?,
        _ => Effects::NONE,
    };
    let mails = [notice.mails, mail.mails].concat();
    let login = external.map(|external| external.login);
    let events = session.events(user, &opened, login).into_iter();
    let events = events.map(|kind| Event::by_user(user.id, requester, now, kind));
    let events = events.chain(mail.events).collect();
    let effects = Effects { mails, events, ..mail };
    let holder = session.holder(user, &opened);
    let sign_in = SignIn { user: holder, start, requires, new_trusted_device };
    match doorward.store().sign_in(sign_in, &effects).await? {
        SignInWritten::Begun(user) => {
            if !user.factors.is_empty() {
                // The password alone has not cleared them. All factors are in, so it was not guessed.
                doorward.throttle().clear_account(&user.email.key(), doorward.instant());
            }
            Ok(OpenedSession { user: *user, session: opened })
        }
        SignInWritten::Refused(refusal) => Err(NotBegun::Refused(refusal)),
    }
}

impl SessionFor<'_> {
    fn start(
        self,
        doorward: &Doorward,
        user: &User,
        methods: Methods,
        external: Option<&ExternalStart>,
        requester: &Requester,
        now: Timestamp,
    ) -> SessionStart {
        let persistence = match self {
            Self::SignIn(persistence) | Self::Registration(persistence) => persistence,
            Self::TestOfApp => Persistence::Lifetime,
            Self::StepUp(known) => {
                let session = stepped_up(known, methods, now);
                return SessionStart::StepUp { session, replaces: known.token_id };
            }
        };
        let client = requester.client.clone();
        let new = Session { methods, ..Session::new(user.id, client, now, Duration::ZERO) };
        SessionStart::New(lasting(doorward, new, persistence, external))
    }

    fn events(self, user: &User, session: &Session, login: Option<String>) -> Vec<EventKind> {
        let (id, methods) = (session.id, session.methods.clone());
        match self {
            Self::SignIn(_) | Self::TestOfApp => {
                vec![EventKind::SignedIn { session: id, methods, login }]
            }
            Self::Registration(_) => {
                let roles = user.roles.clone();
                let registered = EventKind::Registered { session: Some(id), roles, login };
                let added = user.factors.iter().map(|kind| EventKind::FactorAdded { kind });
                [registered].into_iter().chain(added).collect()
            }
            // Nobody gives a mailed code in a step-up.
            Self::StepUp(_) => {
                let methods = methods.without(Method::MailedCode);
                vec![EventKind::SteppedUp { session: id, methods }]
            }
        }
    }

    fn holder(self, user: &User, session: &Session) -> SignInUser {
        match self {
            // It begins a session, so it is the first sign-in.
            Self::Registration(_) => {
                let last_login_at = Some(session.created_at);
                SignInUser::New(Box::new(User { last_login_at, ..user.clone() }))
            }
            _ => SignInUser::Known { id: user.id, password_version: user.password_version },
        }
    }
}

/// A new session as long as the settings and the login allow.
fn lasting(
    doorward: &Doorward,
    session: Session,
    persistence: Persistence,
    external: Option<&ExternalStart>,
) -> Session {
    let settings = doorward.settings();
    let idle_timeout = match persistence {
        Persistence::UntilIdle => Some(settings.session_idle_timeout),
        Persistence::Lifetime => None,
    };
    let most = external.and_then(|external| external.most).unwrap_or(Duration::MAX);
    Session {
        idle_timeout,
        expires_at: session.created_at + settings.session_lifetime.min(most),
        external: external.map(|external| external.session.clone()),
        ..session
    }
}

/// The session after a step-up: it has proved what was given in it, and nothing else.
fn stepped_up(session: &Session, methods: Methods, now: Timestamp) -> Session {
    Session {
        token_id: TokenId::random(),
        // What a cookie of before had proved counts no more, also if a clock that was ahead has made it.
        authenticated_at: session.later(now),
        methods,
        ..session.clone()
    }
}
