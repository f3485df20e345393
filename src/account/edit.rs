//! What an administrator changes in the record of a user: the name, the address, its mark, and whether the user is disabled.

use super::{
    Error,
    effects::email_changed,
    user_order::{Attempts, Order},
};
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    store::{Conditional, Effects},
    user::{Email, EmailKey, Name, User, UserId, UserVersion},
};

/// What to change. An address that is replaced is not verified, unless the administrator says so. Who is disabled loses their
/// sessions, API keys and trusted browsers for good.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    pub(crate) name: Option<Name>,
    pub(crate) email: Option<Email>,
    pub(crate) email_verified: Option<bool>,
    pub(crate) disabled: Option<bool>,
    /// Only the record of this version is changed.
    pub(crate) version: Option<UserVersion>,
}

/// What came of it.
pub(crate) struct Edited {
    /// As they are then.
    pub(crate) user: User,
    /// Whether that is other than before.
    pub(crate) has_changed: bool,
}

impl Edit {
    pub(crate) fn verified(verified: bool) -> Self {
        Self { email_verified: Some(verified), ..Self::default() }
    }

    pub(crate) fn disabled(disabled: bool) -> Self {
        Self { disabled: Some(disabled), ..Self::default() }
    }

    /// Changes the record of a user, in one transaction with these effects.
    pub(crate) async fn apply(
        &self,
        doorward: &Doorward,
        user: &User,
        effects: impl Fn(&User, &User) -> Effects,
    ) -> Result<Edited, Error> {
        let mut attempts = Attempts::with(user);
        loop {
            let read = attempts.next(doorward).await?;
            self.check_read(user, &read)?;
            let edited = self.applied_to(&read, doorward);
            if edited == read {
                return Ok(Edited { user: edited, has_changed: false });
            }
            let effects = effects(&read, &edited);
            match doorward.store().edit_user(&read, &edited, &effects).await? {
                Conditional::Done => return Ok(Edited { user: edited, has_changed: true }),
                Conditional::Changed => {}
                Conditional::Gone => return Err(Error::NoSuchUser),
            }
        }
    }

    /// Refuses a record of another version than the expected one. A mark is for the address that the administrator has seen.
    fn check_read(&self, seen: &User, read: &User) -> Result<(), Error> {
        let is_other_version = self.version.is_some_and(|version| version != read.version());
        let marks_other_address =
            self.email_verified == Some(true) && self.email.is_none() && read.email != seen.email;
        match is_other_version || marks_other_address {
            true => Err(Error::UserChanged),
            false => Ok(()),
        }
    }

    fn applied_to(&self, user: &User, doorward: &Doorward) -> User {
        let Self { name, email, email_verified, disabled, version: _ } = self;
        let mut edited = user.clone();
        edited.name = name.clone().unwrap_or(edited.name);
        if let Some(email) = email.as_ref().filter(|email| **email != user.email) {
            edited.email = email.clone();
            edited.email_verified = false;
        }
        edited.email_verified = email_verified.unwrap_or(edited.email_verified);
        edited.disabled = disabled.unwrap_or(edited.disabled);
        if edited != *user {
            edited.updated_at = doorward.now();
        }
        edited
    }
}

impl Order for Edit {
    type Outcome = Edited;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<Edited, Error> {
        self.apply(doorward, user, |read, edited| effects(doorward, read, edited, by)).await
    }
}

/// What happens with a change. The old address is told of a new one, as if the user had changed it.
fn effects(doorward: &Doorward, read: &User, edited: &User, by: &Administrator) -> Effects {
    let (name, email) = (edited.name != read.name, edited.email != read.email);
    let effects = match email {
        true => email_changed(doorward, read, doorward.settings().mail.language),
        false => Effects::NONE,
    };
    // An address that is replaced loses its mark, which goes without saying.
    let marked_before = read.email_verified && !email;
    let verified = edited.email_verified;
    let kinds = [
        (name || email).then_some(EventKind::UserChanged { name, email }),
        (verified != marked_before).then_some(EventKind::EmailVerificationSet { verified }),
        match (read.disabled, edited.disabled) {
            (false, true) => Some(EventKind::UserDisabled),
            (true, false) => Some(EventKind::UserEnabled),
            _ => None,
        },
    ];
    let events = kinds.into_iter().flatten();
    events.fold(effects, |effects, kind| {
        effects.with(doorward.event_by_administrator(by, edited.id, kind))
    })
}

impl Doorward {
    /// Disables a user, as `doorward user disable` does: their sessions, API keys and trusted
    /// browsers end at once and for good, and they cannot log in.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn disable_user(&self, user: UserId) -> Result<(), Error> {
        self.order(Edit::disabled(true), user).await.map(drop)
    }

    /// Lets a disabled user log in again, as `doorward user enable` does.
    ///
    /// # Errors
    /// If there is no such user.
    pub async fn enable_user(&self, user: UserId) -> Result<(), Error> {
        self.order(Edit::disabled(false), user).await.map(drop)
    }

    /// Marks this e-mail address of a user as verified, as `doorward user verify` does. Returns whether that changed
    /// anything.
    ///
    /// # Errors
    /// If there is no such user, or the user has another address.
    pub async fn verify_email(&self, id: UserId, email: &str) -> Result<bool, Error> {
        let user = self.user_by_id(id).await?.ok_or(Error::NoSuchUser)?;
        if user.email.key() != EmailKey::of(email) {
            return Err(Error::UserChanged);
        }
        let verified = Edit::verified(true).carry_out(self, &user, &Administrator::APP).await?;
        Ok(verified.has_changed)
    }
}
