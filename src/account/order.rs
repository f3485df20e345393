//! Orders of administrators: what each needs. `user_order.rs` has what those about one user have in common.

pub(crate) use super::{
    edit::Edit,
    factor_reset::MakeFactorReset,
    identities::RemoveIdentity,
    leave::Delete,
    password::{RequireNewPassword, SetPassword},
    reset::MakeResetCode,
    roles::{GrantRole, RevokeRole},
    secure::Secure,
    sessions::{EndSession, EndSessions},
    unlock::Unlock,
};
use crate::access::scope::{Needs, Scope};

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
    RemoveIdentity: UsersWrite, Lately;
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
