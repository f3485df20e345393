//! Orders of administrators: what each needs, and what those about a user have in common. Whom somebody may change, and which roles
//! they may give, is decided in the transaction that writes (`store/write.rs`).

use std::future::Future;

use super::{Failure, InvalidInput, has_failure, look_up::require, roles::RoleError};
pub(crate) use super::{
    edit::Edit,
    factor_reset::MakeFactorReset,
    leave::Delete,
    password::{RequireNewPassword, SetPassword},
    reset::MakeResetCode,
    roles::{GrantRole, RevokeRole},
    secure::Secure,
    sessions::{EndSession, EndSessions},
    unlock::Unlock,
};
use crate::{
    Doorward,
    access::scope::Scope,
    event::Administrator,
    store,
    user::{Roles, User, UserId},
};

/// What somebody needs to do something.
pub(crate) trait Needs {
    const SCOPE: Scope;
    /// Whether a person must have signed in within the last 10 minutes.
    const FRESH: bool;
}

/// When a person must have signed in.
#[derive(Clone, Copy)]
enum SignIn {
    AnyTime,
    Lately,
}

/// Declares what each order needs: a scope, and when a person must have signed in.
macro_rules! orders {
    ($($order:ident: $scope:ident, $sign_in:ident;)+) => {
        $(impl Needs for $order {
            const SCOPE: Scope = Scope::$scope;
            const FRESH: bool = matches!(SignIn::$sign_in, SignIn::Lately);
        })+
    };
}

// What cannot be undone, or gives access away, needs a sign-in that is not long ago.
orders! {
    // About a user.
    Edit: UsersWrite, Lately;
    GrantRole: UsersWrite, Lately;
    RevokeRole: UsersWrite, AnyTime;
    SetPassword: UsersWrite, Lately;
    RequireNewPassword: UsersWrite, Lately;
    MakeResetCode: UsersWrite, Lately;
    MakeFactorReset: UsersWrite, Lately;
    Secure: UsersWrite, Lately;
    Unlock: UsersWrite, Lately;
    EndSession: UsersWrite, AnyTime;
    EndSessions: UsersWrite, AnyTime;
    Delete: UsersDelete, Lately;
    // About those who are no users yet, and about many users.
    AddUser: UsersWrite, AnyTime;
    Invite: InvitationsWrite, Lately;
    RevokeInvitation: InvitationsWrite, AnyTime;
    ImportUsers: UsersWrite, Lately;
    DropImportedHashes: UsersWrite, Lately;
    ExportUsers: UsersRead, Lately;
    RunEmergency: Emergency, Lately;
    // About keys and mail.
    MakeKey: KeysWrite, Lately;
    RevokeKey: KeysWrite, AnyTime;
    RotateSigningKeys: SigningKeysWrite, AnyTime;
    RevokeSigningKey: SigningKeysWrite, Lately;
    RetryMail: MailWrite, AnyTime;
}

/// Declares the orders that are functions of their own, because they are not about one user.
macro_rules! other_orders {
    ($($order:ident),+ $(,)?) => {
        $(pub(crate) enum $order {})+
    };
}

other_orders!(
    AddUser,
    Invite,
    RevokeInvitation,
    ImportUsers,
    DropImportedHashes,
    ExportUsers,
    RunEmergency,
    MakeKey,
    RevokeKey,
    RotateSigningKeys,
    RevokeSigningKey,
    RetryMail,
);

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
