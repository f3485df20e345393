//! An order about one user: how it is carried out, and why not. Whom somebody may change, and which roles they may give, is decided in
//! the transaction that writes (`store/write.rs`).

use std::future::Future;

use super::Error;
use crate::{
    Doorward,
    access::scope::Needs,
    event::Administrator,
    store,
    user::{Roles, User, UserId},
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
    ) -> impl Future<Output = Result<Self::Outcome, Error>> + Send;
}

/// The user with this id, who must exist.
pub(super) async fn require(doorward: &Doorward, id: UserId) -> Result<User, Error> {
    doorward.user_by_id(id).await?.ok_or(Error::NoSuchUser)
}

/// Fails if the store has not found the user.
pub(super) fn require_found(found: bool) -> Result<(), Error> {
    if found { Ok(()) } else { Err(Error::NoSuchUser) }
}

/// The user about whom somebody gives an order. Nobody changes those who may do more than themselves. The transaction decides this; here
/// it is only said early: before what else is wrong with the order, and before a password is hashed.
pub(crate) fn subject(found: Option<User>, by: &Administrator) -> Result<User, Error> {
    let user = found.ok_or(Error::NoSuchUser)?;
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
    pub(super) async fn next(&mut self, doorward: &Doorward) -> Result<User, Error> {
        const MOST: usize = 10;
        self.begun += 1;
        match self.begun {
            1 => Ok(self.user.clone()),
            2..=MOST => require(doorward, self.user.id).await,
            _ => Err(Error::UserChanged),
        }
    }
}

impl Doorward {
    /// Carries out an order of the app that embeds Doorward.
    pub(super) async fn order<O: Order>(
        &self,
        order: O,
        user: UserId,
    ) -> Result<O::Outcome, Error> {
        let user = require(self, user).await?;
        order.carry_out(self, &user, &Administrator::APP).await
    }
}
