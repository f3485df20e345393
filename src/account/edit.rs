//! What an administrator changes in the record of a user: the name, the address, its mark, and whether the user is disabled.

use super::effects::email_changed;
use crate::{
    Doorward,
    event::{Administrator, EventKind},
    store::{self, Conditional, Effects},
    user::{Email, Name, User, UserVersion},
};

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EditError {
    /// The record has another version than the one that the administrator has read.
    #[error("the user has changed in the meantime: read them again, and repeat the request")]
    Changed,
    #[error("the e-mail address is taken")]
    EmailTaken,
    #[error("there is no such user")]
    NoSuchUser,
    #[error(transparent)]
    Store(store::Error),
}

impl From<store::Error> for EditError {
    fn from(error: store::Error) -> Self {
        match error {
            store::Error::EmailTaken => Self::EmailTaken,
            error => Self::Store(error),
        }
    }
}

/// What to change. An address that is replaced is not verified, unless the administrator says so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Edit {
    pub(crate) name: Option<Name>,
    pub(crate) email: Option<Email>,
    pub(crate) email_verified: Option<bool>,
    pub(crate) disabled: Option<bool>,
}

impl Edit {
    fn applied_to(&self, user: &User, doorward: &Doorward) -> User {
        let Self { name, email, email_verified, disabled } = self;
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

/// Changes the record of a user, in one transaction. With `version`, only the record of this version is changed. Returns the user
/// as they are then.
pub(crate) async fn edit(
    doorward: &Doorward,
    user: &User,
    edit: &Edit,
    version: Option<UserVersion>,
    by: &Administrator,
) -> Result<User, EditError> {
    /// Others may change the user between the reading and the writing. Each attempt reads what they have written.
    const ATTEMPTS: usize = 10;
    let mut read = user.clone();
    for _ in 0..ATTEMPTS {
        if version.is_some_and(|version| version != read.version()) {
            return Err(EditError::Changed);
        }
        let edited = edit.applied_to(&read, doorward);
        if edited == read {
            return Ok(read);
        }
        let effects = effects(doorward, &read, &edited, by);
        match doorward.store().edit_user(&read, &edited, &effects).await? {
            Conditional::Done => return Ok(edited),
            Conditional::Changed => {}
            Conditional::Gone => return Err(EditError::NoSuchUser),
        }
        let found = doorward.store().user_by_id(user.id).await?;
        read = found.ok_or(EditError::NoSuchUser)?;
    }
    Err(EditError::Changed)
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
