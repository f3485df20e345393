//! Users that tests start with: the lines of a file, or the bodies of requests, with the same fields.

use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
};

use serde_json::Value;

use super::{
    clock::parse_time,
    fields::{Faults, Fields},
};
use crate::{
    clock::Timestamp,
    credential::password::Password,
    fault::Fault,
    user::{Email, Name, Roles, UserId},
};

/// A user as tests describe them.
#[derive(Debug)]
pub(crate) struct SeedUser {
    pub(crate) id: UserId,
    pub(crate) name: Name,
    pub(crate) email: Email,
    /// Of any length: the rules for passwords do not apply.
    pub(crate) password: Option<Password>,
    pub(crate) verified: bool,
    pub(crate) roles: Roles,
    pub(crate) disabled: bool,
    /// The time of the server if it is absent.
    pub(crate) created_at: Option<Timestamp>,
}

const FIELDS: [&str; 8] =
    ["id", "name", "email", "password", "verified", "roles", "disabled", "createdAt"];

impl SeedUser {
    /// Reads a user from a JSON object.
    pub(crate) fn parse(fields: BTreeMap<String, Value>) -> Result<Self, Faults> {
        let mut fields = Fields::new(fields);
        let id = fields.text("id", |text| {
            text.parse().map_err(|_| {
                Fault::malformed("Not a UUID such as 2fa15563-55ee-4d4a-be85-4241c1429dd1")
            })
        });
        let name = fields.required("name", Name::parse);
        let email = fields.required("email", Email::parse);
        let password = fields.text("password", |text| Ok(Password::unchecked(text)));
        let verified = fields.flag("verified").unwrap_or_default();
        let roles = fields.roles().unwrap_or_default();
        let disabled = fields.flag("disabled").unwrap_or_default();
        let created_at = fields.text("createdAt", |text| {
            parse_time(&text).map_err(|error| Fault::malformed(format!("The text is {error}")))
        });
        fields.refuse_others(&FIELDS);
        match (name, email, fields.faults.is_empty()) {
            (Some(name), Some(email), true) => Ok(Self {
                id: id.unwrap_or_else(UserId::random),
                name,
                email,
                password,
                verified,
                roles,
                disabled,
                created_at,
            }),
            _ => Err(fields.faults),
        }
    }
}

/// A change of a user. What is absent stays as it is.
#[derive(Debug, Default)]
pub(crate) struct UserChange {
    pub(crate) name: Option<Name>,
    pub(crate) email: Option<Email>,
    pub(crate) password: Option<Password>,
    pub(crate) verified: Option<bool>,
    pub(crate) roles: Option<Roles>,
    pub(crate) disabled: Option<bool>,
}

const CHANGEABLE: [&str; 6] = ["name", "email", "password", "verified", "roles", "disabled"];

impl UserChange {
    /// Reads a change from a JSON object with the fields of a user.
    pub(crate) fn parse(fields: BTreeMap<String, Value>) -> Result<Self, Faults> {
        let mut fields = Fields::new(fields);
        let change = Self {
            name: fields.text("name", Name::parse),
            email: fields.text("email", Email::parse),
            password: fields.text("password", |text| Ok(Password::unchecked(text))),
            verified: fields.flag("verified"),
            roles: fields.roles(),
            disabled: fields.flag("disabled"),
        };
        fields.refuse_others(&CHANGEABLE);
        if fields.faults.is_empty() { Ok(change) } else { Err(fields.faults) }
    }
}

/// Reads a file with one user per line. The error has a line for each fault.
pub(crate) fn read_users(path: &Path) -> Result<Vec<SeedUser>, String> {
    let text = fs::read_to_string(path)
        .map_err(|error| format!("--users: {}: {error}", path.display()))?;
    parse_users(&text).map_err(|faults| {
        const SHOWN: usize = 20;
        let mut lines: Vec<_> = faults
            .iter()
            .take(SHOWN)
            .map(|(line, fault)| format!("{}:{line}: {fault}", path.display()))
            .collect();
        if faults.len() > SHOWN {
            lines.push(format!("and {} more", faults.len() - SHOWN));
        }
        lines.join("\n")
    })
}

fn parse_users(text: &str) -> Result<Vec<SeedUser>, Vec<(usize, String)>> {
    let (mut users, mut faults) = (Vec::new(), Vec::new());
    let (mut emails, mut ids) = (HashMap::new(), HashMap::new());
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let user = match serde_json::from_str(line) {
            Ok(Value::Object(fields)) => SeedUser::parse(fields.into_iter().collect()),
            _ => {
                let rule = r#"not a JSON object: write one user per line, such as {"name": "Ada Lovelace", "email": "ada@example.com", "password": "correct horse"}"#;
                faults.push((number, rule.to_owned()));
                continue;
            }
        };
        let user = match user {
            Ok(user) => user,
            Err(found) => {
                let shown = |(field, fault): (Cow<'_, str>, Fault)| {
                    (number, format!("{field}: {}", fault.message()))
                };
                faults.extend(found.into_iter().map(shown));
                continue;
            }
        };
        for (field, earlier) in [
            ("email", emails.insert(user.email.key(), number)),
            ("id", ids.insert(user.id, number)),
        ] {
            if let Some(earlier) = earlier {
                faults.push((number, format!("{field}: the same as in line {earlier}")));
            }
        }
        users.push(user);
    }
    if faults.is_empty() { Ok(users) } else { Err(faults) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_user_with_all_their_fields() {
        let text = r#"
            {"name": "Ada Lovelace", "email": "ada@example.com"}

            {"id": "2fa15563-55ee-4d4a-be85-4241c1429dd1", "name": "Bob", "email": "bob@example.com", "password": "x", "verified": true, "roles": ["staff", "admin"], "disabled": true, "createdAt": "2027-01-15T08:00:00Z"}
        "#;
        let users = parse_users(text).unwrap();
        let [ada, bob] = &users[..] else { panic!("{users:?}") };
        assert!(ada.password.is_none() && !ada.verified && !ada.disabled);
        assert_eq!((ada.roles.to_text().as_str(), ada.created_at), ("", None));
        assert!(bob.password.is_some() && bob.verified && bob.disabled);
        assert_eq!(bob.id.to_string(), "2fa15563-55ee-4d4a-be85-4241c1429dd1");
        assert_eq!(bob.roles.to_text(), "admin staff");
        assert_eq!(bob.created_at, Some(Timestamp::from_seconds(1_800_000_000)));
    }

    #[test]
    fn every_fault_has_its_line_its_field_and_what_to_do() {
        let text = r#"{"name": "Ada Lovelace", "email": "ada@example.com"}
["not a user"]
{"name": "A", "email": "nobody", "id": "7", "roles": ["two words"], "createdAt": "today"}
{"name": 5, "verified": "yes", "password": 1, "roles": "staff"}
{"name": "Ada Again", "email": "ADA@example.com", "emailVerified": true, "shoe": 42}
{"name": "Ada Again", "email": "ADA@example.com"}"#;
        let faults = parse_users(text).unwrap_err();
        let faults: Vec<_> =
            faults.iter().map(|(line, fault)| format!("{line}: {fault}")).collect();
        let starts = [
            "2: not a JSON object: write one user per line",
            "3: id: Not a UUID such as",
            "3: name: String must contain at least 2 character(s)",
            "3: email: Invalid email",
            "3: roles: A role is a string of 1 to 64 letters",
            "3: createdAt: The text is not a time from 1970",
            "4: name: Expected string, received number",
            "4: email: Required",
            "4: password: Expected string, received number",
            "4: verified: Expected boolean, received string",
            "4: roles: Expected array, received string",
            "5: emailVerified: Unrecognized key",
            "5: shoe: Unrecognized key: use id, name, email",
            "6: email: the same as in line 1",
        ];
        assert_eq!(faults.len(), starts.len(), "{faults:#?}");
        for (fault, start) in faults.iter().zip(starts) {
            assert!(fault.starts_with(start), "{fault}");
        }
    }
}
