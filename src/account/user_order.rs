//! An order about one user: how it is carried out, and why not. Whom somebody may change, and which roles they may give, is decided in
//! the transaction that writes (`store/write.rs`).

use std::future::Future;

use super::{Failure, InvalidInput, has_failure};
use crate::{
    Doorward,
    access::scope::Needs,
    event::Administrator,
    store,
    user::{MAX_ROLES, Roles, User, UserId},
};

/// An order about a user.
pub(crate) trait Order: Needs {
    /// What came of it.
    type Outcome;

    /// Carries it out. `user` is the user as they were read.
    fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> impl Future<Output = Result<Self::Outcome, OrderError>> + Send;
}

/// Why an order about a user was not carried out.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OrderError {
    /// The user does not exist.
    #[error("there is no such user")]
    NoSuchUser,
    /// The user is not as the order expects, or others change them all the time.
    #[error("the user has changed in the meantime: read them again, and repeat the request")]
    UserChanged,
    /// A value breaks a rule.
    #[error(transparent)]
    Invalid(InvalidInput),
    /// The role is not valid, or the user has too many.
    #[error(transparent)]
    Role(RoleError),
    /// Nobody unlocks themselves: whoever could forget their own wrong codes could try all of them.
    #[error("somebody else has to unlock your account")]
    OwnAccount,
    /// Hashing or the database, which also refuses what goes beyond the rights of whoever gives the order.
    #[error(transparent)]
    Failed(Failure),
}

has_failure!(OrderError);

/// What is wrong with a role.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RoleError {
    /// The text is not a role.
    #[error("\"{0}\" is not a role: use 1 to 64 letters, digits and _ - : . /")]
    Invalid(String),
    /// The user has the maximum number of roles.
    #[error("the user has {MAX_ROLES} roles already, which is the most that a user can have")]
    TooMany,
}

/// The user with this id, who must exist.
pub(super) async fn require(doorward: &Doorward, id: UserId) -> Result<User, OrderError> {
    doorward.user_by_id(id).await?.ok_or(OrderError::NoSuchUser)
}

/// Fails if the store has not found the user.
pub(super) fn require_found(found: bool) -> Result<(), OrderError> {
    if found { Ok(()) } else { Err(OrderError::NoSuchUser) }
}

/// The user about whom somebody gives an order. Nobody changes those who may do more than themselves. The transaction decides this; here
/// it is only said early: before what else is wrong with the order, and before a password is hashed.
pub(crate) fn subject(found: Option<User>, by: &Administrator) -> Result<User, OrderError> {
    let user = found.ok_or(OrderError::NoSuchUser)?;
    match by.may_manage(&user.roles) {
        true => Ok(user),
        false => Err(store::Error::BeyondAuthority.into()),
    }
}

/// Refuses roles that may do more than whoever gives them. The transaction decides this, too.
pub(super) fn check_given(roles: &Roles, by: &Administrator) -> Result<(), store::Error> {
    match by.may_manage(roles) {
        true => Ok(()),
        false => Err(store::Error::RoleBeyondAuthority),
    }
}

/// Attempts to change a user as they were read. Others may change the user between the reading and the writing.
pub(super) struct Attempts<'a> {
    user: &'a User,
    begun: usize,
}

impl<'a> Attempts<'a> {
    pub(super) fn with(user: &'a User) -> Self {
        Self { user, begun: 0 }
    }

    /// The user for the next attempt: as they were read, and then as others have written them.
    pub(super) async fn next(&mut self, doorward: &Doorward) -> Result<User, OrderError> {
        const MOST: usize = 10;
        self.begun += 1;
        match self.begun {
            1 => Ok(self.user.clone()),
            2..=MOST => require(doorward, self.user.id).await,
            _ => Err(OrderError::UserChanged),
        }
    }
}

impl Doorward {
    /// Carries out an order of the app that embeds Doorward.
    pub(super) async fn order<O: Order>(
        &self,
        order: O,
        user: UserId,
    ) -> Result<O::Outcome, OrderError> {
        let user = require(self, user).await?;
        order.carry_out(self, &user, &Administrator::APP).await
    }
}
