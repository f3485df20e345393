//! The end of every sign-in. However a person has shown who they are, this decides whether a session begins.

use super::{OpenedSession, effects::new_sign_in};
use crate::{
    Doorward,
    event::EventKind,
    network::Requester,
    session::{Method, Methods, Persistence, Session},
    store::{self, Effects, OneTimeUse},
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

    fn methods(&self) -> Methods {
        match self {
            Self::Password(_) | Self::TestOfApp(_) => Method::Password.into(),
            Self::MailedCode(..) => Method::MailedCode.into(),
            Self::Registration { user, invitation, .. } => {
                let is_mailed = invitation.is_some_and(|invitation| invitation.is_mailed);
                let password = user.has_password().then_some(Method::Password);
                password.into_iter().chain(is_mailed.then_some(Method::MailedCode)).collect()
            }
        }
    }
}

/// Begins a session for the person. Returns `None` if they have been deleted, disabled or changed in the meantime.
///
/// # Errors
/// For a registration [`store::Error::EmailTaken`] and [`store::Error::InvitationGone`]; for everything if the database
/// cannot be used.
pub(crate) async fn complete_sign_in(
    doorward: &Doorward,
    evidence: Evidence<'_>,
    requester: &Requester,
    persistence: Persistence,
) -> Result<Option<OpenedSession>, store::Error> {
    let (user, methods) = (evidence.user(), evidence.methods());
    let session = new_session(doorward, user, methods.clone(), requester, persistence);
    let kind = match &evidence {
        Evidence::Registration { .. } => EventKind::Registered { session: Some(session.id) },
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
    let effects = effects.with(event);
    let (store, now) = (doorward.store(), doorward.now());
    let user = match evidence {
        Evidence::Password(user) | Evidence::TestOfApp(user) => {
            let is_added = store.add_session(user, &session, &effects).await?;
            is_added.then(|| user.clone())
        }
        Evidence::MailedCode(one_time, _) => {
            let usage = OneTimeUse::SignIn(Box::new(session.clone()));
            store.use_one_time(one_time, usage, &effects, now).await?
        }
        Evidence::Registration { user, invitation, .. } => {
            let invitation = invitation.map(|invitation| invitation.id);
            store.add_user(user, Some(&session), invitation, &effects).await?;
            Some(user.clone())
        }
    };
    let Some(user) = user else { return Ok(None) };
    Ok(Some(OpenedSession { user, session }))
}

/// A session that begins now.
fn new_session(
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
