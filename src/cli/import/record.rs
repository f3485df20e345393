//! Turns the fields of an entry into a user, and says what is wrong with them.

use std::collections::{BTreeMap, BTreeSet};

use aws_lc_rs::digest::{SHA1_FOR_LEGACY_USE_ONLY, digest};
use serde_json::{Map, Value};
use uuid::{Uuid, uuid};
use zeroize::Zeroizing;

use super::{
    provider::{LeftOut, ProviderAccount, ProviderLogins},
    time,
};
use crate::{
    credential::{
        password::{FirebaseKeys, HashFault, HashOptions, PasswordHash},
        totp::TotpSecret,
    },
    http::api::admin::import::{IdentityRecord, UserRecord},
    store::MAX_IDENTITIES,
    user::{Email, MAX_ROLES, Name, Role, UserId},
};

/// The namespace of derived ids, which are UUIDs of version 5 of `source:id`.
const NAMESPACE: Uuid = uuid!("6a0c6f5e-6d1b-5a0e-9f5c-0a4d2f1d7c11");

/// The fields of a user as the file has them. A missing one is `None`.
#[derive(Default)]
pub(super) struct Raw {
    pub(super) id: Option<Value>,
    pub(super) name: Option<Value>,
    pub(super) email: Option<Value>,
    pub(super) verified: Option<Value>,
    pub(super) roles: Option<Value>,
    pub(super) disabled: Option<Value>,
    pub(super) created_at: Option<Value>,
    pub(super) updated_at: Option<Value>,
    pub(super) last_login_at: Option<Value>,
    pub(super) hash: Option<Hash>,
    pub(super) totp_secret: Option<Value>,
    /// Identities with their issuers.
    pub(super) identities: Option<Value>,
    /// Identities of another system, which names providers.
    pub(super) accounts: Vec<ProviderAccount>,
}

pub(super) enum Hash {
    Text(String),
    /// Without the parameters of the project.
    Firebase {
        hash: String,
        salt: String,
    },
}

/// What is wrong with a field, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) field: &'static str,
    pub(super) problem: String,
}

impl Fault {
    pub(super) fn new(field: &'static str, problem: impl Into<String>) -> Self {
        Self { field, problem: problem.into() }
    }

    /// What it has in common with faults of other lines: the problem without numbers and without what follows a colon.
    pub(super) fn kind(&self) -> String {
        let general = self.problem.split(':').next().unwrap_or_default();
        let words = general.split(' ').filter(|word| word.parse::<u64>().is_err());
        words.collect::<Vec<_>>().join(" ")
    }
}

/// What is said once about a whole file.
#[derive(Default)]
pub(super) struct Notes {
    /// Names of fields that are not read.
    pub(super) ignored: BTreeSet<String>,
    /// Fields with numbers that were read as seconds.
    pub(super) in_seconds: BTreeSet<&'static str>,
    /// How many identities are left out, by their provider.
    pub(super) left_out: BTreeMap<(String, LeftOut), usize>,
}

/// A user whose fields are valid.
pub(super) struct Valid {
    pub(super) user: UserRecord,
    /// Whether the id is derived from the source, because it was not a UUID.
    pub(super) is_id_derived: bool,
}

/// What the file does not say.
pub(super) struct Context {
    /// Distinguishes ids of one system from those of another.
    pub(super) source: String,
    pub(super) hashes: HashOptions,
    pub(super) firebase: Option<FirebaseKeys>,
    /// Which logins the providers of the file are.
    pub(super) logins: ProviderLogins,
}

/// Names of the fields in Doorward's own format, with other names that are read. Case, underscores, hyphens and spaces do not
/// count.
const FIELDS: &[(&str, &[&str])] = &[
    ("id", &[]),
    ("name", &[]),
    ("email", &["address"]),
    ("verified", &["emailVerified"]),
    ("roles", &[]),
    ("disabled", &[]),
    ("createdAt", &[]),
    ("updatedAt", &[]),
    ("lastLoginAt", &[]),
    ("hash", &["passwordHash"]),
    ("totpSecret", &[]),
    ("identities", &[]),
];

/// The field that a column or a member of an object is.
pub(super) fn field_of(name: &str) -> Option<&'static str> {
    let simple = |name: &str| {
        let letters = name.chars().filter(|character| !['_', '-', ' '].contains(character));
        letters.flat_map(char::to_lowercase).collect::<String>()
    };
    let name = simple(name);
    let found = FIELDS.iter().find(|(field, others)| {
        std::iter::once(field).chain(*others).any(|known| known.eq_ignore_ascii_case(&name))
    });
    found.map(|(field, _)| *field)
}

impl Raw {
    /// Reads Doorward's own format. Notes the names of fields that it does not know.
    pub(super) fn from_fields(fields: Map<String, Value>, notes: &mut Notes) -> Self {
        let mut known: BTreeMap<&str, Value> = BTreeMap::new();
        // By name, so that the order in the file does not matter.
        for (name, value) in fields.into_iter().collect::<BTreeMap<_, _>>() {
            match field_of(&name) {
                Some(_) if value.is_null() || value == "" => {}
                // The name of the format counts before another one.
                Some(field) if name == field => drop(known.insert(field, value)),
                Some(field) => drop(known.entry(field).or_insert(value)),
                None => drop(notes.ignored.insert(name)),
            }
        }
        let mut take = |field| known.remove(field);
        Self {
            id: take("id"),
            name: take("name"),
            email: take("email"),
            verified: take("verified"),
            roles: take("roles"),
            disabled: take("disabled"),
            created_at: take("createdAt"),
            updated_at: take("updatedAt"),
            last_login_at: take("lastLoginAt"),
            hash: take("hash").map(|hash| Hash::Text(text_of(&hash).unwrap_or_default())),
            totp_secret: take("totpSecret"),
            identities: take("identities"),
            accounts: Vec::new(),
        }
    }

    /// The user, or everything that is wrong.
    pub(super) fn validate(
        self,
        context: &Context,
        notes: &mut Notes,
    ) -> Result<Valid, Vec<Fault>> {
        let mut faults = Vec::new();
        let email = self.email.as_ref().and_then(text_of).map(|email| email.trim().to_owned());
        match &email {
            None => faults.push(Fault::new("email", "is missing: add one, or remove the user")),
            Some(email) => {
                if Email::parse(email.clone()).is_err() {
                    faults.push(Fault::new("email", "is not an e-mail address: correct it"));
                }
            }
        }
        let email = email.unwrap_or_default();
        let name = self.name.as_ref().and_then(text_of);
        let name = name.filter(|name| !name.trim().is_empty()).unwrap_or_else(|| name_of(&email));
        if !email.is_empty()
            && let Err(fault) = Name::parse(name.clone())
        {
            let problem = format!("{}: correct it, or leave it empty", fault.message());
            faults.push(Fault::new("name", problem));
        }
        let id = self.id.as_ref().map(id_of).unwrap_or_else(|| Some(email.to_ascii_lowercase()));
        let id = id.unwrap_or_else(|| {
            faults.push(Fault::new("id", "is neither text nor a number"));
            String::new()
        });
        let own_id = id.trim().parse::<UserId>().ok();
        let is_id_derived = own_id.is_none();
        let id = own_id.map_or_else(|| derived_id(&context.source, id.trim()), |id| id.to_string());
        let roles = roles_of(self.roles.as_ref()).unwrap_or_else(|fault| {
            faults.push(fault);
            Vec::new()
        });
        let mut flag = |field, value: Option<Value>| match value.as_ref().map(bool_of) {
            None => false,
            Some(Some(flag)) => flag,
            Some(None) => {
                faults.push(Fault::new(field, "is neither true nor false"));
                false
            }
        };
        let (verified, disabled) =
            (flag("verified", self.verified), flag("disabled", self.disabled));
        let mut time = |field, value: Option<Value>| match value.as_ref().map(time::parse) {
            None => None,
            Some(Some(time)) => {
                if time.is_in_seconds {
                    notes.in_seconds.insert(field);
                }
                Some(time.at.millis())
            }
            Some(None) => {
                let problem = "is not a time: write it as 2027-01-15T08:00:00Z, or in seconds or milliseconds since 1970";
                faults.push(Fault::new(field, problem));
                None
            }
        };
        let created_at = time("createdAt", self.created_at);
        let updated_at = time("updatedAt", self.updated_at);
        let last_login_at = time("lastLoginAt", self.last_login_at);
        let hash = match self.hash.map(|hash| hash.import(context)).transpose() {
            Ok(hash) => hash.map(|hash| Zeroizing::new(hash.as_phc().to_owned())),
            Err(fault) => {
                let problem = format!(
                    "{fault}: correct it, or leave it empty and let the user set a password"
                );
                faults.push(Fault::new("hash", problem));
                None
            }
        };
        let totp_secret = self.totp_secret.map(|secret| {
            let secret = Zeroizing::new(text_of(&secret).unwrap_or_default());
            TotpSecret::from_base32(&secret).map(|secret| secret.base32())
        });
        if totp_secret.as_ref().is_some_and(Option::is_none) {
            let problem = "is not a secret of 16 to 64 bytes in base32: correct it, or leave it empty and let the user add a new one";
            faults.push(Fault::new("totpSecret", problem));
        }
        let mut identities = identities_of(self.identities).unwrap_or_else(|fault| {
            faults.push(fault);
            Vec::new()
        });
        for account in self.accounts {
            let provider = account.provider.clone();
            match context.logins.identity(account) {
                Ok(identity) => identities.push(identity),
                Err(reason) => *notes.left_out.entry((provider, reason)).or_default() += 1,
            }
        }
        faults.extend(check_identities(&identities, &roles));
        if !faults.is_empty() {
            return Err(faults);
        }
        let user = UserRecord {
            id,
            name: name.trim().to_owned(),
            email,
            verified,
            roles,
            disabled,
            created_at,
            updated_at,
            last_login_at,
            hash,
            totp_secret: totp_secret.flatten(),
            identities,
        };
        Ok(Valid { user, is_id_derived })
    }
}

impl Hash {
    fn import(self, context: &Context) -> Result<PasswordHash, HashFault> {
        let text = match self {
            Self::Text(text) => text,
            Self::Firebase { hash, salt } => {
                let keys = context.firebase.as_ref();
                keys.ok_or(HashFault::NeedsOption("--firebase-config FILE"))?
                    .to_stored(&hash, &salt)?
            }
        };
        PasswordHash::import(&text, &context.hashes)
    }
}

/// An id as text. MongoDB exports its own ids as objects, and with it Auth0.
fn id_of(value: &Value) -> Option<String> {
    match value {
        Value::Object(id) => text_of(id.get("$oid")?),
        value => text_of(value),
    }
}

/// A UUID that is the same each time for an id that is none.
fn derived_id(source: &str, id: &str) -> String {
    let named = [NAMESPACE.as_bytes(), source.as_bytes(), b":", id.as_bytes()].concat();
    let digest = digest(&SHA1_FOR_LEGACY_USE_ONLY, &named);
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest.as_ref()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x50;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    Uuid::from_bytes(bytes).hyphenated().to_string()
}

/// The name of a user without one: what precedes the at sign, or the whole address if that is too short.
fn name_of(email: &str) -> String {
    match email.split_once('@') {
        Some((local, _)) if local.len() >= 2 => local.to_owned(),
        _ => email.to_owned(),
    }
}

/// Roles in a list, or in a text with commas or spaces.
fn roles_of(value: Option<&Value>) -> Result<Vec<String>, Fault> {
    let invalid = || {
        Fault::new(
            "roles",
            "has a role that is not 1 to 64 letters, digits and _ - : . /: rename it",
        )
    };
    let names: Vec<String> = match value {
        None => return Ok(Vec::new()),
        Some(Value::Array(list)) => {
            let names: Option<_> =
                list.iter().map(|role| role.as_str().map(str::to_owned)).collect();
            names.ok_or_else(invalid)?
        }
        Some(Value::String(text)) => {
            text.split([',', ' ']).filter(|role| !role.is_empty()).map(str::to_owned).collect()
        }
        Some(_) => return Err(invalid()),
    };
    if !names.iter().all(|name| Role::parse(name).is_some()) {
        return Err(invalid());
    }
    if names.len() > MAX_ROLES {
        return Err(Fault::new("roles", format!("has more than {MAX_ROLES} roles")));
    }
    Ok(names)
}

/// The identities in a list, or in a text that is one in JSON.
fn identities_of(value: Option<Value>) -> Result<Vec<IdentityRecord>, Fault> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let list = match value {
        Value::String(text) => serde_json::from_str(&text).unwrap_or_default(),
        value => value,
    };
    serde_json::from_value(list).map_err(|_| {
        let problem =
            "is not a list of objects with issuer and subject: correct it, or leave it empty";
        Fault::new("identities", problem)
    })
}

/// What is wrong with identities of a user with these roles.
fn check_identities(identities: &[IdentityRecord], roles: &[String]) -> Option<Fault> {
    let fault = |problem: &str| Some(Fault::new("identities", problem));
    let mut keys = BTreeSet::new();
    if identities.len() > MAX_IDENTITIES {
        return fault(&format!("has more than {MAX_IDENTITIES} identities: leave some out"));
    }
    for identity in identities {
        match identity.fault() {
            None => {}
            Some("issuer") => return fault("has an issuer that is not a URL: correct it"),
            Some("subject") => return fault("has a subject that is not 1 to 255 bytes long"),
            Some(_) => {
                return fault("has a login that is not 1 to 40 of a-z, 0-9 and -, a letter first");
            }
        }
        if !identity.roles.iter().all(|role| roles.contains(role)) {
            return fault("gives a role that the user does not have: add it to roles");
        }
        if !keys.insert((&identity.issuer, &identity.subject)) {
            return fault("has an identity twice: remove one of them");
        }
    }
    None
}

pub(super) fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A truth value as JSON and databases write it.
pub(super) fn bool_of(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(value) => Some(*value),
        Value::Number(number) => match number.as_i64() {
            Some(0) => Some(false),
            Some(1) => Some(true),
            _ => None,
        },
        Value::String(text) => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "1" => Some(true),
            "false" | "f" | "no" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}
