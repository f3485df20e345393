//! Signing in: the one write that begins a session or makes one stronger, with what must hold for it and what it uses up.

use super::{
    Error, Store,
    effects::{DELETE_ONE_TIME_SECRETS, Effects, add_effects},
    factors::{FactorUse, use_factor},
    identities::{
        GivenRoles, HAS_IDENTITY, HAS_NO_IDENTITY, IdentityUse, add_identity, use_identity,
    },
    invitations::USE_INVITATION,
    one_time_secrets::{USE_ONE_TIME, UserAfter},
    outbox::DELETE_MAIL,
    passkeys::FirstPasskey,
    sessions::{insert_session, open_session, step_up},
    trusted_devices::{add_trusted_device, require_trusted_device},
    used_codes::USE_CODE,
    user_record::UserRecord,
    users::{SET_EMAIL_VERIFIED, insert_user},
    value::email_key,
    write::{RowCount, StatementBatch, Verdict, Write, WriteScope},
};
use crate::{
    clock::Timestamp,
    session::{Session, TokenId},
    throttle::KnownNetworks,
    token::{
        cookie::CodeId,
        one_time::{OneTime, Purpose},
    },
    user::{
        FactorId, Identity, IdentityId, InvitationId, PasswordVersion, TrustedDevice, User, UserId,
    },
};

/// A sign-in as it is written.
#[derive(Clone, Debug)]
pub struct SignIn {
    pub user: SignInUser,
    pub start: SessionStart,
    pub requires: Vec<Requirement>,
    /// The browser, if the user trusts it from now on.
    pub new_trusted_device: Option<TrustedDevice>,
}

/// Whose session it is.
#[derive(Clone, Debug)]
pub enum SignInUser {
    /// A user who is not disabled, and whose password still has this version.
    Known { id: UserId, password_version: PasswordVersion },
    /// A user who is added with the session, with it as their last login.
    New(Box<User>),
}

#[derive(Clone, Debug)]
pub enum SessionStart {
    New(Session),
    /// The session has proved more. It has a new token, if it still has this one.
    StepUp {
        session: Session,
        replaces: TokenId,
    },
}

/// What must hold for a sign-in when it is written. What counts once is used up by it.
#[derive(Clone, Debug)]
pub enum Requirement {
    /// A mailed code or link is valid for the user as they are. If their address was not verified, it is from now on. Then all other
    /// sessions and API keys end and the user's other one-time secrets are deleted: somebody else may have registered the address and
    /// asked for another one, or have linked an identity of theirs.
    MailedCode(Box<OneTime>),
    /// An invitation to the address of the new user has not expired.
    Invitation(InvitationId),
    /// The passkey of the new user is nobody's, and its setup was not used.
    NewPasskey(Box<FirstPasskey>),
    /// A challenge was not answered. It expires at this time.
    Challenge(CodeId, Timestamp),
    /// The user holds a factor, and its code was not used.
    Factor(FactorUse),
    /// The user still trusts the browser, which stands in for a second factor.
    TrustedDevice(FactorId),
    /// The user still has the identity.
    Identity(IdentityId),
    /// The user still has the identity. The roles of its login take the place of those that it has given before.
    IdentityUse(Box<IdentityUse>),
    /// The identity is nobody's, and becomes that of the user, with the roles of its login.
    NewIdentity(Box<(Identity, GivenRoles)>),
    /// Nobody has used the account of the user, which was made for them: they have no password and no factor, and have never signed in.
    /// Their address, which the provider has verified, is verified from now on.
    UnusedAccount,
}

/// What became of a sign-in.
#[derive(Clone, Debug, PartialEq)]
pub enum SignInWritten {
    /// The user after it.
    Begun(Box<User>),
    /// Nothing was written.
    Refused(SignInRefusal),
}

/// Why a sign-in was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignInRefusal {
    /// The mailed code or link was used before.
    CodeUsed,
    /// The challenge was answered before, or the session has another token by now.
    ChallengeUsed,
    /// The code was used before, or the user does not hold the factor.
    FactorUsed,
    /// The invitation does not exist, has expired or is to another address.
    InvitationGone,
    /// Another user has the passkey, or its setup was used.
    PasskeyTaken,
    /// Another user has the identity, or it was removed.
    IdentityTaken,
    /// The user has been deleted or disabled, has another password, has added a second factor, or does not trust the browser any more.
    /// Or the mailed code or link has expired, or is not valid for their address any more.
    UserChanged,
}

impl SignIn {
    /// A new session of a user.
    #[cfg(any(test, feature = "internals"))]
    pub fn new(user: &User, session: Session) -> Self {
        let known = SignInUser::Known { id: user.id, password_version: user.password_version };
        Self::of(known, SessionStart::New(session))
    }

    /// A new user with their first session.
    #[cfg(any(test, feature = "internals"))]
    pub fn of_new_user(user: &User, session: Session) -> Self {
        Self::of(SignInUser::New(Box::new(user.clone())), SessionStart::New(session))
    }

    #[cfg(any(test, feature = "internals"))]
    fn of(user: SignInUser, start: SessionStart) -> Self {
        Self { user, start, requires: Vec::new(), new_trusted_device: None }
    }

    fn scope(&self) -> WriteScope {
        match &self.user {
            SignInUser::Known { id, .. } => WriteScope::User(*id),
            SignInUser::New(user) => WriteScope::NewUser(user.id),
        }
    }

    /// The user, if they may have the session. `record` is that of a known one.
    fn admitted<'a>(&'a self, record: Option<&'a UserRecord>) -> Option<&'a User> {
        match &self.user {
            SignInUser::New(user) => Some(user),
            SignInUser::Known { password_version, .. } => {
                record.map(|record| &record.user).filter(|user| {
                    !user.disabled
                        && user.password_version == *password_version
                        && self.start.session().is_enough_for(user)
                        && self.requires.iter().all(|required| required.admits(user, self.at()))
                })
            }
        }
    }

    fn at(&self) -> Timestamp {
        self.start.session().authenticated_at
    }
}

impl SessionStart {
    pub fn session(&self) -> &Session {
        match self {
            Self::New(session) | Self::StepUp { session, .. } => session,
        }
    }
}

/// Statements of which each changes a row. If one does not, nothing is written for its reason.
type Conditions = Vec<(RowCount, SignInRefusal)>;

impl Requirement {
    /// Whether the record of the user allows it. Nothing in the row of a one-time secret changes but the guesses, so the one that the caller
    /// has read is as good as the stored one.
    fn admits(&self, user: &User, now: Timestamp) -> bool {
        match self {
            Self::MailedCode(code) => {
                code.purpose == Purpose::SignIn && code.is_valid_for(user, now)
            }
            Self::UnusedAccount => user.is_unused(),
            _ => true,
        }
    }

    /// Adds the statements that check it and use it up.
    fn add(&self, batch: &mut StatementBatch, after: &mut UserAfter, conditions: &mut Conditions) {
        let (user, now) = (after.user.id, after.now);
        match self {
            Self::MailedCode(code) => {
                let used = batch.add(USE_ONE_TIME, [code.id.into(), user.into()]);
                conditions.push((used, SignInRefusal::CodeUsed));
                if !after.user.email_verified {
                    after.remove_identities(batch);
                    after.end_access(batch);
                    batch.add(DELETE_ONE_TIME_SECRETS, [user.into()]);
                }
                after.verify_email(batch, code);
            }
            Self::Invitation(invitation) => {
                let (key, at) = (after.user.email.key(), after.user.created_at);
                let values = [(*invitation).into(), email_key(&key), at.into()];
                let used = batch.add(USE_INVITATION, values);
                conditions.push((used, SignInRefusal::InvitationGone));
            }
            Self::NewPasskey(passkey) => {
                let added = passkey.add(batch);
                conditions.extend(added.map(|added| (added, SignInRefusal::PasskeyTaken)));
            }
            Self::Challenge(id, expires_at) => {
                let used = batch.add(USE_CODE, [(*id).into(), (*expires_at).into()]);
                conditions.push((used, SignInRefusal::ChallengeUsed));
                // The mail that says that it was not answered.
                batch.add(DELETE_MAIL, [(*id).into()]);
            }
            Self::Factor(factor) => {
                let used = use_factor(batch, user, factor, after.now);
                conditions.push((used, SignInRefusal::FactorUsed));
            }
            Self::TrustedDevice(device) => {
                let trusted = require_trusted_device(batch, user, *device);
                conditions.push((trusted, SignInRefusal::UserChanged));
            }
            Self::Identity(id) => {
                let has_it = batch.add(HAS_IDENTITY, [user.into(), (*id).into()]);
                conditions.push((has_it, SignInRefusal::IdentityTaken));
            }
            Self::IdentityUse(used) => {
                let has_it = use_identity(batch, user, used, now);
                conditions.push((has_it, SignInRefusal::IdentityTaken));
                after.give_roles(batch, used.id, &used.gives);
            }
            Self::NewIdentity(new) => {
                let (identity, gives) = &**new;
                let (added, _) = add_identity(batch, identity);
                conditions.push((added, SignInRefusal::IdentityTaken));
                after.give_roles(batch, identity.id, gives);
            }
            Self::UnusedAccount => {
                let is_unused = batch.add(HAS_NO_IDENTITY, [user.into()]);
                conditions.push((is_unused, SignInRefusal::UserChanged));
                batch.add(SET_EMAIL_VERIFIED, [user.into(), true.into(), now.into()]);
                (after.user.email_verified, after.user.updated_at) = (true, now);
            }
        }
    }
}

impl Store {
    /// Opens a session or raises its strength, and uses up what that requires: all or nothing. A new session sets the time of the
    /// last login, and its network becomes a known one. Beyond [`MAX_SESSIONS`](super::sessions::MAX_SESSIONS) the oldest sessions
    /// end. Queues the mail if the session begins.
    ///
    /// # Errors
    /// [`Error::EmailTaken`] if another user has the address of a new one.
    pub async fn sign_in(
        &self,
        sign_in: SignIn,
        effects: &Effects,
    ) -> Result<SignInWritten, Error> {
        let effects = effects.clone();
        self.write(sign_in.scope(), move |change_id, record| {
            let Some(user) = sign_in.admitted(record) else {
                return Write::nothing(SignInWritten::Refused(SignInRefusal::UserChanged));
            };
            let login_roles = record.map(|record| record.login_roles.clone()).unwrap_or_default();
            let (user_after, event) = (user.clone(), effects.events.first().cloned());
            let now = sign_in.at();
            let mut after = UserAfter { user: user_after, login_roles, event, change_id, now };
            let (mut batch, mut conditions) = (StatementBatch::default(), Conditions::new());
            if record.is_none() {
                insert_user(&mut batch, user);
            }
            // Before the session begins, because a mailed code may end all others.
            for required in &sign_in.requires {
                required.add(&mut batch, &mut after, &mut conditions);
            }
            match (&sign_in.start, record) {
                (SessionStart::New(session), Some(record)) => {
                    open_session(&mut batch, record, session, change_id);
                    after.user.last_login_at = Some(session.created_at);
                }
                (SessionStart::New(session), None) => {
                    insert_session(&mut batch, &KnownNetworks::default(), session);
                }
                (SessionStart::StepUp { session, replaces }, _) => {
                    let renewed = step_up(&mut batch, session, *replaces, change_id);
                    conditions.push((renewed, SignInRefusal::ChallengeUsed));
                }
            }
            if let Some(device) = &sign_in.new_trusted_device {
                add_trusted_device(&mut batch, device);
            }
            add_effects(&mut batch, &effects);
            batch.deciding(move |rows| {
                match conditions.into_iter().find(|(changed, _)| rows.of(*changed) == 0) {
                    None => Verdict::Commit(SignInWritten::Begun(Box::new(after.user))),
                    Some((_, reason)) => Verdict::RollBack(SignInWritten::Refused(reason)),
                }
            })
        })
        .await
    }

    /// Adds a user with their first session, as [`Self::sign_in`] does.
    #[cfg(any(test, feature = "internals"))]
    pub async fn add_user_with_session(
        &self,
        user: &User,
        session: &Session,
        effects: &Effects,
    ) -> Result<(), Error> {
        self.sign_in(SignIn::of_new_user(user, session.clone()), effects).await.map(drop)
    }

    /// Adds a session for a user whose password was verified, as [`Self::sign_in`] does.
    #[cfg(any(test, feature = "internals"))]
    pub async fn add_session(
        &self,
        user: &User,
        session: &Session,
        effects: &Effects,
    ) -> Result<bool, Error> {
        let written = self.sign_in(SignIn::new(user, session.clone()), effects).await?;
        Ok(matches!(written, SignInWritten::Begun(_)))
    }
}
