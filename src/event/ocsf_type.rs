//! What an event is in the Open Cybersecurity Schema Framework, version 1.5: a class and an activity of it.

use self::OcsfClass::{
    AccountChange, ApplicationLifecycle, Authentication, AuthorizeSession, EntityManagement,
};

#[derive(Clone, Copy, Debug)]
pub struct OcsfType {
    pub class: OcsfClass,
    /// The number and the name of the activity.
    pub activity: (u32, &'static str),
}

/// The classes that events of Doorward belong to.
#[derive(Clone, Copy, Debug)]
pub enum OcsfClass {
    AccountChange,
    Authentication,
    AuthorizeSession,
    EntityManagement(Entity),
    ApplicationLifecycle,
}

impl OcsfClass {
    /// Its number and its name.
    pub fn id(self) -> (u32, &'static str) {
        match self {
            AccountChange => (3001, "Account Change"),
            Authentication => (3002, "Authentication"),
            AuthorizeSession => (3003, "Authorize Session"),
            EntityManagement(_) => (3004, "Entity Management"),
            ApplicationLifecycle => (6002, "Application Lifecycle"),
        }
    }

    /// The number and the name of its category.
    pub fn category(self) -> (u32, &'static str) {
        match self {
            ApplicationLifecycle => (6, "Application Activity"),
            AccountChange | Authentication | AuthorizeSession | EntityManagement(_) => {
                (3, "Identity & Access Management")
            }
        }
    }
}

/// What an event of the class Entity Management concerns.
#[derive(Clone, Copy, Debug)]
pub enum Entity {
    /// The subject of the event.
    User,
    /// Something that the schema has no type for: what it is, and the detail of the event that has its id.
    Other(&'static str, Option<&'static str>),
}

impl Entity {
    pub const ALL_USERS: Self = Self::Other("Users", None);
    pub const API_KEY: Self = Self::Other("API key", Some("key"));
    pub const AUDIT_SECRET: Self = Self::Other("Secret of the audit trail", None);
    pub const AUDIT_TRAIL: Self = Self::Other("Audit trail", None);
    pub const DATABASE: Self = Self::Other("Database", None);
    pub const EVERYTHING: Self = Self::Other("Keys, secrets, sessions, links and codes", None);
    pub const FACTOR_RESET: Self = Self::Other("Link that removes second factors", None);
    pub const GUARDS: Self = Self::Other("Guards", None);
    pub const INVITATION: Self = Self::Other("Invitation", Some("invitation"));
    pub const LOGINS: Self = Self::Other("Logins", None);
    pub const MAIL: Self = Self::Other("Mail", None);
    pub const PASSKEY: Self = Self::Other("Passkey", None);
    pub const RECOVERY_CODES: Self = Self::Other("Recovery codes", None);
    pub const SIGNING_KEY: Self = Self::Other("Signing key", Some("kid"));
    pub const TRUSTED_BROWSER: Self = Self::Other("Trusted browser", None);
}

const fn ocsf(class: OcsfClass, id: u32, name: &'static str) -> OcsfType {
    OcsfType { class, activity: (id, name) }
}

impl OcsfType {
    /// The number of an activity that the class does not have.
    pub const OTHER: u32 = 99;

    pub const ACCOUNT_CREATE: Self = ocsf(AccountChange, 1, "Create");
    pub const ACCOUNT_ENABLE: Self = ocsf(AccountChange, 2, "Enable");
    pub const PASSWORD_CHANGE: Self = ocsf(AccountChange, 3, "Password Change");
    pub const PASSWORD_RESET: Self = ocsf(AccountChange, 4, "Password Reset");
    pub const ACCOUNT_DISABLE: Self = ocsf(AccountChange, 5, "Disable");
    pub const ACCOUNT_DELETE: Self = ocsf(AccountChange, 6, "Delete");
    pub const ATTACH_POLICY: Self = ocsf(AccountChange, 7, "Attach Policy");
    pub const DETACH_POLICY: Self = ocsf(AccountChange, 8, "Detach Policy");
    pub const FACTOR_ENABLE: Self = ocsf(AccountChange, 10, "MFA Factor Enable");
    pub const FACTOR_DISABLE: Self = ocsf(AccountChange, 11, "MFA Factor Disable");
    pub const ACCOUNT_UNLOCK: Self = ocsf(AccountChange, 12, "Unlock");

    pub const ACCOUNT_OTHER: Self = ocsf(AccountChange, Self::OTHER, "Other");

    pub const LOGON: Self = ocsf(Authentication, 1, "Logon");
    pub const LOGOFF: Self = ocsf(Authentication, 2, "Logoff");
    pub const PREAUTH: Self = ocsf(Authentication, 6, "Preauth");
    pub const AUTHENTICATION_OTHER: Self = ocsf(Authentication, Self::OTHER, "Other");

    pub const SESSION_OTHER: Self = ocsf(AuthorizeSession, Self::OTHER, "Other");

    pub const START: Self = ocsf(ApplicationLifecycle, 3, "Start");
    pub const STOP: Self = ocsf(ApplicationLifecycle, 4, "Stop");
    pub const SERVICE_OTHER: Self = ocsf(ApplicationLifecycle, Self::OTHER, "Other");

    pub const fn create(entity: Entity) -> Self {
        ocsf(EntityManagement(entity), 1, "Create")
    }

    pub const fn read(entity: Entity) -> Self {
        ocsf(EntityManagement(entity), 2, "Read")
    }

    pub const fn update(entity: Entity) -> Self {
        ocsf(EntityManagement(entity), 3, "Update")
    }

    pub const fn delete(entity: Entity) -> Self {
        ocsf(EntityManagement(entity), 4, "Delete")
    }

    /// Moved or renamed.
    pub const fn rename(entity: Entity) -> Self {
        ocsf(EntityManagement(entity), 5, "Move")
    }
}
