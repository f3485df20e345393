//! Granting and revoking roles.

use super::{
    Error, InvalidInput,
    user_order::{Order, check_given},
};
use crate::{
    Doorward,
    access::admin_role::AdminRoles,
    event::{Administrator, EventKind},
    fault::{Fault, FaultKind},
    user::{MAX_ROLES, Role, User, UserId},
};

/// Whether nobody has the role `admin`. Only a small service is asked: reading all users of a large one takes long, and its
/// operator knows how to make an administrator.
#[cfg(feature = "cli")]
pub(crate) async fn lack_admin(doorward: &Doorward) -> bool {
    const SMALL: usize = 200;
    let users = doorward.store().users(None, SMALL).await;
    users.is_ok_and(|users| {
        users.len() < SMALL && !users.iter().any(|user| user.roles.contains(AdminRoles::ADMIN))
    })
}

/// Grants a role. One that administers the service voids the reset codes and links that others have made for the user.
pub(crate) struct GrantRole {
    pub(crate) role: String,
}

impl Order for GrantRole {
    /// False if the user has it already.
    type Outcome = bool;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<bool, Error> {
        let role = parse(&self.role)?;
        check_given(&[role.clone()].into_iter().collect(), by)?;
        if !user.roles.contains(role.as_str()) && user.roles.iter().count() >= MAX_ROLES {
            return Err(Error::TooManyRoles);
        }
        let kind = EventKind::RoleGranted(role.clone());
        let effects = doorward.event_by_administrator(by, user.id, kind).into();
        let (store, now) = (doorward.store(), doorward.now());
        let is_granted = match doorward.settings().admin_roles.administers(&role) {
            true => store.grant_admin_role(user.id, &role, now, &effects).await?,
            false => store.grant_role(user.id, &role, now, &effects).await?,
        };
        if !is_granted
            && let Some(user) = store.user_by_id(user.id).await?
            && !user.roles.contains(role.as_str())
        {
            // Others were granted in the meantime.
            return Err(Error::TooManyRoles);
        }
        Ok(is_granted)
    }
}

/// Revokes a role.
pub(crate) struct RevokeRole {
    pub(crate) role: String,
}

impl Order for RevokeRole {
    /// False if the user does not have it.
    type Outcome = bool;

    async fn carry_out(
        self,
        doorward: &Doorward,
        user: &User,
        by: &Administrator,
    ) -> Result<bool, Error> {
        let role = parse(&self.role)?;
        let kind = EventKind::RoleRevoked(role.clone());
        let effects = doorward.event_by_administrator(by, user.id, kind).into();
        Ok(doorward.store().revoke_role(user.id, &role, doorward.now(), &effects).await?)
    }
}

pub(super) fn parse(role: &str) -> Result<Role, InvalidInput> {
    Role::parse(role).ok_or_else(|| {
        let message =
            format!("\"{role}\" is not a role: use 1 to 64 letters, digits and _ - : . /");
        InvalidInput { field: "role", fault: Fault::new(FaultKind::InvalidRole, message) }
    })
}

impl Doorward {
    /// Grants a role to a user, as `doorward user grant` does. Returns whether that changed anything.
    ///
    /// # Errors
    /// If the text is not a role, the user has too many roles or there is no such user.
    pub async fn grant_role(&self, id: UserId, role: &str) -> Result<bool, Error> {
        self.order(GrantRole { role: role.to_owned() }, id).await
    }

    /// Revokes a role of a user, as `doorward user revoke` does. Returns whether that changed anything.
    ///
    /// # Errors
    /// If the text is not a role or there is no such user.
    pub async fn revoke_role(&self, id: UserId, role: &str) -> Result<bool, Error> {
        self.order(RevokeRole { role: role.to_owned() }, id).await
    }
}
