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
