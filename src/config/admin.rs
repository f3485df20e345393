//! The `[admin]` tables of a settings file: which roles administer the service, and what each may do.

use serde::Deserialize;
use serde_spanned::Spanned;
use std::sync::Arc;
use toml::de::{DeString, DeTable, DeValue};

use super::{
    SettingsError,
    file::SettingsFile,
    table::{self, FromText, Text},
};
use crate::{
    access::{
        admin_role::{AdminRole, AdminRoles},
        guard::Condition,
        scope::{Scope, unknown},
    },
    user::Role,
};

/// The keys of a role.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RoleTable {
    scopes: Vec<Text<Scope>>,
    allow: Option<Spanned<String>>,
}

/// Reads and checks all roles.
pub(super) fn read(file: &SettingsFile, roles: &DeTable<'_>) -> Result<AdminRoles, SettingsError> {
    let roles = roles.iter().map(|(name, table)| role(file, name, table));
    Ok(AdminRoles::new(roles.collect::<Result<_, _>>()?))
}

fn role(
    file: &SettingsFile,
    name: &Spanned<DeString<'_>>,
    table: &Spanned<DeValue<'_>>,
) -> Result<AdminRole, SettingsError> {
    let path = format!("admin.{}", name.get_ref());
    let table: RoleTable = table::read(file, "admin", name, table)?;
    let role = Role::from_text(name.get_ref().to_string())
        .map_err(|message| file.error(name.span().start, &format!("{path}: {message}")))?;
    let condition = table.allow.map(|allow| {
        Condition::parse(allow.get_ref()).map_err(|fault| {
            let at = file.within(allow.span(), allow.get_ref(), fault.at);
            file.error(at, &format!("{path}.allow: {}", fault.message))
        })
    });
    Ok(AdminRole {
        role,
        scopes: table.scopes.into_iter().map(|Text(scope)| scope).collect(),
        condition: condition.transpose()?.map(Arc::new),
    })
}

impl FromText for Scope {
    fn from_text(text: String) -> Result<Self, String> {
        Self::by_name(&text).ok_or_else(|| unknown(&text))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{
        access::{caller::Caller, guard::sample, scope::Scope},
        config::{Settings, tests::load},
        user::{Role, User},
    };

    fn with_role(role: &str) -> Caller {
        let caller = Caller::sample();
        let roles = std::iter::once(Role::parse(role).unwrap()).collect();
        let user = User { roles, ..(*caller.user).clone() };
        Caller::new(Arc::new(user), caller.session)
    }

    fn scopes_of(settings: &Settings, role: &str) -> Vec<Scope> {
        let scopes = settings.admin_roles.scopes_of(&with_role(role), &sample::request());
        Scope::ALL.iter().copied().filter(|scope| scopes.contains(*scope)).collect()
    }

    #[test]
    fn a_declared_role_has_its_scopes_and_admin_has_all_of_them() {
        let file = "[admin.support]\nscopes = [\"users:read\", \"users:write\"]\n\
            [admin.never]\nscopes = [\"users:read\"]\nallow = 'request.path == \"/nowhere\"'\n";
        let settings = load(&[], &[], file).unwrap();
        assert_eq!(scopes_of(&settings, "support"), [Scope::UsersRead, Scope::UsersWrite]);
        assert_eq!(scopes_of(&settings, "never"), []);
        assert_eq!(scopes_of(&settings, "other"), []);
        assert_eq!(scopes_of(&settings, "admin"), Scope::ALL);
        let narrowed = load(&[], &[], "[admin.admin]\nscopes = [\"mail:read\"]\n").unwrap();
        assert_eq!(scopes_of(&narrowed, "admin"), [Scope::MailRead]);
        assert_eq!(scopes_of(&Settings::default(), "admin"), Scope::ALL);
    }

    #[test]
    fn a_mistake_is_refused_with_its_place() {
        for (file, expected) in [
            ("[admin.support]\nscopes = [\"users:raed\"]\n", "doorward.toml:2:11: "),
            (
                "[admin.support]\nscopes = [\"users:raed\"]\n",
                "users:raed is not a scope: choose from users:read, ",
            ),
            ("[admin.support]\n", "doorward.toml:1:8: admin.support: scopes is missing"),
            ("[admin.support]\nscopes = []\nscope = []\n", "doorward.toml:3:1: "),
            ("[admin.\"two words\"]\nscopes = []\n", "doorward.toml:1:8: admin.two words: "),
            (
                "[admin.support]\nscopes = []\nallow = 'user.nme == \"x\"'\n",
                "doorward.toml:3:14: admin.support.allow: user.nme: did you mean name?",
            ),
        ] {
            let error = load(&[], &[], file).unwrap_err();
            assert!(error.contains(expected), "{file}: {error}");
        }
    }
}
