//! The exports of other systems: which fields they have, and what these mean here.

use serde_json::{Map, Value};

use super::{
    provider::ProviderAccount,
    record::{Hash, Raw, bool_of, text_of},
    time,
};
use crate::{clock::Timestamp, credential::totp::TotpSecret};

/// A system whose export can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum System {
    /// JSON of `firebase auth:export`; needs --firebase-config
    Firebase,
    /// CSV of auth_user, or JSON of `manage.py dumpdata`
    Django,
    /// CSV of AspNetUsers
    Aspnet,
    /// CSV or JSON of the users collection, with the password hash
    Pocketbase,
    /// CSV or JSON of auth.users
    Supabase,
    /// JSON of `kc.sh export` with users
    Keycloak,
}

impl System {
    /// The name in the derived ids.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Firebase => "firebase",
            Self::Django => "django",
            Self::Aspnet => "aspnet",
            Self::Pocketbase => "pocketbase",
            Self::Supabase => "supabase",
            Self::Keycloak => "keycloak",
        }
    }

    /// Reads an entry of its export. `None` for an entry that is not a user.
    pub(super) fn read(self, fields: Map<String, Value>, now: Timestamp) -> Option<Raw> {
        let mut fields = Fields(fields);
        Some(match self {
            Self::Firebase => firebase(&mut fields),
            Self::Django => return django(fields),
            Self::Aspnet => aspnet(&mut fields, now),
            Self::Pocketbase => pocketbase(&mut fields),
            Self::Supabase => supabase(&mut fields, now),
            Self::Keycloak => keycloak(&mut fields),
        })
    }
}

struct Fields(Map<String, Value>);

impl Fields {
    fn take(&mut self, name: &str) -> Option<Value> {
        self.0.remove(name).filter(|value| !value.is_null() && value != "")
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.take(name).and_then(|value| text_of(&value))
    }

    fn is_true(&mut self, name: &str) -> bool {
        self.take(name).and_then(|value| bool_of(&value)).unwrap_or(false)
    }

    /// An object, or JSON in a text.
    fn object(&mut self, name: &str) -> Self {
        let value = match self.take(name) {
            Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or_default(),
            value => value.unwrap_or_default(),
        };
        match value {
            Value::Object(fields) => Self(fields),
            _ => Self(Map::new()),
        }
    }

    /// The objects in a list, or in a text that is one in JSON.
    fn list(&mut self, name: &str) -> Vec<Self> {
        let list = match self.take(name) {
            Some(Value::String(text)) => serde_json::from_str(&text).unwrap_or_default(),
            value => value.unwrap_or_default(),
        };
        let Value::Array(list) = list else { return Vec::new() };
        let objects = list.into_iter().filter_map(|item| match item {
            Value::Object(fields) => Some(Self(fields)),
            _ => None,
        });
        objects.collect()
    }

    /// Whether a time is later than now, or cannot be read.
    fn is_future(&mut self, name: &str, now: Timestamp) -> bool {
        self.take(name).is_some_and(|value| time::parse(&value).is_none_or(|time| time.at > now))
    }
}

fn joined(first: Option<String>, last: Option<String>) -> Option<String> {
    let words: Vec<_> = [first, last].into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(" "))
}

/// What a system lists as a way to sign in besides providers.
fn is_own(provider: &str) -> bool {
    ["email", "phone", "password"].contains(&provider)
}

/// The accounts in a list at providers.
fn accounts(
    list: Vec<Fields>,
    provider: &str,
    read: impl Fn(&mut Fields) -> (Option<String>, Option<String>),
) -> Vec<ProviderAccount> {
    let account = |mut fields: Fields| {
        let provider = fields.text(provider).filter(|provider| !is_own(provider))?;
        let (subject, display) = read(&mut fields);
        Some(ProviderAccount { provider, subject, display })
    };
    list.into_iter().filter_map(account).collect()
}

fn firebase(fields: &mut Fields) -> Raw {
    let hash = fields
        .text("passwordHash")
        .map(|hash| Hash::Firebase { hash, salt: fields.text("salt").unwrap_or_default() });
    Raw {
        id: fields.take("localId"),
        name: fields.take("displayName"),
        email: fields.take("email"),
        verified: fields.take("emailVerified"),
        roles: fields.object("customAttributes").take("roles"),
        disabled: fields.take("disabled"),
        created_at: fields.take("createdAt"),
        last_login_at: fields.take("lastSignedInAt").or_else(|| fields.take("lastLoginAt")),
        hash,
        accounts: accounts(fields.list("providerUserInfo"), "providerId", |account| {
            (account.text("rawId"), account.text("email"))
        }),
        ..Raw::default()
    }
}

/// Whether a user is disabled, from the flag that says the opposite. A value that is no flag stays, as a fault of the line.
fn disabled_unless(enabled: Option<Value>) -> Option<Value> {
    enabled.map(|value| match bool_of(&value) {
        Some(enabled) => Value::Bool(!enabled),
        None => value,
    })
}

/// A row of `auth_user`, or an object of `dumpdata`, which also has objects that are no users.
fn django(mut fields: Fields) -> Option<Raw> {
    if let Some(model) = fields.text("model") {
        let key = fields.take("pk");
        fields = fields.object("fields");
        let is_user = model.ends_with(".user") || fields.0.contains_key("password");
        if !is_user {
            return None;
        }
        if let Some(key) = key {
            fields.0.insert("id".into(), key);
        }
    }
    let name = joined(fields.text("first_name"), fields.text("last_name"));
    let username = fields.text("username").filter(|name| !name.contains('@'));
    let disabled = disabled_unless(fields.take("is_active"));
    // Groups are names only in a dump with natural keys.
    let groups = fields.take("groups").filter(|groups| {
        groups.as_array().is_some_and(|groups| !groups.iter().any(Value::is_number))
    });
    let groups = groups.map(|groups| match groups {
        Value::Array(groups) => groups
            .into_iter()
            .map(|group| match group {
                Value::Array(mut key) if key.len() == 1 => key.remove(0),
                group => group,
            })
            .collect(),
        groups => groups,
    });
    Some(Raw {
        id: fields.take("id"),
        name: name.or(username).map(Value::String),
        email: fields.take("email"),
        roles: groups,
        disabled,
        created_at: fields.take("date_joined"),
        last_login_at: fields.take("last_login"),
        // Django writes an exclamation mark for no password.
        hash: fields.text("password").filter(|hash| !hash.starts_with('!')).map(Hash::Text),
        ..Raw::default()
    })
}

fn aspnet(fields: &mut Fields, now: Timestamp) -> Raw {
    // PostgreSQL writes names of columns as they are, others may not.
    let lower = std::mem::take(&mut fields.0).into_iter();
    fields.0 = lower.map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    let null = |value: &Value| value == "NULL";
    fields.0.retain(|_, value| !null(value));
    // A lockout after failed logins lasts minutes, a lockout by an operator for ever.
    let a_day = std::time::Duration::from_secs(24 * 60 * 60);
    let is_locked = fields.is_future("lockoutend", now + a_day);
    Raw {
        id: fields.take("id"),
        name: fields.text("username").filter(|name| !name.contains('@')).map(Value::String),
        email: fields.take("email"),
        verified: fields.take("emailconfirmed"),
        disabled: Some(Value::Bool(is_locked)),
        hash: fields.text("passwordhash").map(Hash::Text),
        ..Raw::default()
    }
}

fn pocketbase(fields: &mut Fields) -> Raw {
    let hash = fields.text("passwordHash").or_else(|| fields.text("password"));
    Raw {
        id: fields.take("id"),
        name: fields.take("name").or_else(|| fields.take("username")),
        email: fields.take("email"),
        verified: fields.take("verified"),
        created_at: fields.take("created"),
        updated_at: fields.take("updated"),
        hash: hash.map(Hash::Text),
        // Of another table, which the query adds.
        accounts: accounts(fields.list("externalAuths"), "provider", |account| {
            (account.text("providerId"), None)
        }),
        ..Raw::default()
    }
}

fn supabase(fields: &mut Fields, now: Timestamp) -> Raw {
    let mut meta = fields.object("raw_user_meta_data");
    let name = meta.text("name").or_else(|| meta.text("full_name"));
    // The tools of PostgreSQL and others write an absent value in different ways.
    fields.0.retain(|_, value| value != "NULL" && value != "\\N");
    let is_banned = fields.is_future("banned_until", now) || fields.take("deleted_at").is_some();
    let confirmed = fields.take("email_confirmed_at").is_some();
    Raw {
        id: fields.take("id"),
        name: name.map(Value::String),
        email: fields.take("email"),
        verified: Some(Value::Bool(confirmed)),
        roles: fields.object("raw_app_meta_data").take("roles"),
        disabled: Some(Value::Bool(is_banned)),
        created_at: fields.take("created_at"),
        updated_at: fields.take("updated_at"),
        last_login_at: fields.take("last_sign_in_at"),
        hash: fields.text("encrypted_password").map(Hash::Text),
        // Of another table, which the query adds. The secrets of apps are in one, too.
        accounts: accounts(fields.list("identities"), "provider", supabase_identity),
        ..Raw::default()
    }
}

/// The subject of an identity, and what the person recognises it by.
fn supabase_identity(identity: &mut Fields) -> (Option<String>, Option<String>) {
    let mut data = identity.object("identity_data");
    let told = ["email", "preferred_username", "user_name"];
    let display = told.into_iter().find_map(|name| data.text(name));
    (identity.text("provider_id").or_else(|| data.text("sub")), display)
}

fn keycloak(fields: &mut Fields) -> Raw {
    let name = joined(fields.text("firstName"), fields.text("lastName"));
    let username = fields.text("username").filter(|name| !name.contains('@'));
    let disabled = disabled_unless(fields.take("enabled"));
    let credentials = match fields.take("credentials") {
        Some(Value::Array(credentials)) => credentials,
        _ => Vec::new(),
    };
    let (mut password, mut totp_secret) = (None, None);
    for credential in credentials {
        let Value::Object(credential) = credential else { continue };
        match credential.get("type").and_then(Value::as_str) {
            Some("password") if password.is_none() => {
                password = Some(keycloak_hash(Fields(credential)));
            }
            Some("otp") if totp_secret.is_none() => {
                totp_secret = keycloak_totp(Fields(credential));
            }
            _ => {}
        }
    }
    // Every user has these roles, which only Keycloak itself reads.
    let is_own = |role: &Value| {
        role.as_str().is_some_and(|role| {
            role.starts_with("default-roles-")
                || ["offline_access", "uma_authorization"].contains(&role)
        })
    };
    let roles = fields.take("realmRoles").map(|roles| match roles {
        Value::Array(roles) => roles.into_iter().filter(|role| !is_own(role)).collect(),
        roles => roles,
    });
    Raw {
        id: fields.take("id"),
        name: name.or(username).map(Value::String),
        email: fields.take("email"),
        verified: Some(Value::Bool(fields.is_true("emailVerified"))),
        roles,
        disabled,
        created_at: fields.take("createdTimestamp"),
        hash: password,
        totp_secret,
        accounts: accounts(fields.list("federatedIdentities"), "identityProvider", |account| {
            (account.text("userId"), account.text("userName"))
        }),
        ..Raw::default()
    }
}

/// The secret of an authenticator app of Keycloak in base32. `None` if its codes are not those that all apps compute: the user adds
/// a new one then.
fn keycloak_totp(mut credential: Fields) -> Option<Value> {
    let mut data = credential.object("credentialData");
    let mut is = |name, value: &str| data.text(name).is_some_and(|text| text == value);
    let is_usual = is("subType", "totp")
        && is("digits", "6")
        && is("period", "30")
        && is("algorithm", "HmacSHA1");
    let value = credential.object("secretData").text("value").filter(|_| is_usual)?;
    Some(match data.text("secretEncoding") {
        Some(encoding) if encoding.eq_ignore_ascii_case("base32") => Value::String(value),
        Some(_) => return None,
        // The characters themselves are the secret.
        None => {
            let secret = TotpSecret::from_bytes(value.as_bytes())?;
            Value::String(secret.base32().to_string())
        }
    })
}

/// A credential of Keycloak as a PHC string. A part that is missing makes a string that no format has.
fn keycloak_hash(mut credential: Fields) -> Hash {
    let (mut data, mut secret) =
        (credential.object("credentialData"), credential.object("secretData"));
    let text = |fields: &mut Fields, name| fields.text(name).unwrap_or_default();
    let (algorithm, iterations) = (text(&mut data, "algorithm"), text(&mut data, "hashIterations"));
    let (salt, value) = (text(&mut secret, "salt"), text(&mut secret, "value"));
    if algorithm != "argon2" {
        return Hash::Text(format!("${algorithm}$i={iterations}${salt}${value}"));
    }
    // Every parameter is a list with one text.
    let mut parameters = data.object("additionalParameters");
    let mut parameter = |name| match parameters.take(name) {
        Some(Value::Array(list)) => list.first().and_then(text_of).unwrap_or_default(),
        value => value.as_ref().and_then(text_of).unwrap_or_default(),
    };
    let version = if parameter("version") == "1.0" { 16 } else { 19 };
    let (kind, memory, lanes) = (parameter("type"), parameter("memory"), parameter("parallelism"));
    let (salt, value) = (salt.trim_end_matches('='), value.trim_end_matches('='));
    Hash::Text(format!(
        "$argon2{kind}$v={version}$m={memory},t={iterations},p={lanes}${salt}${value}"
    ))
}
