//! Exporting everything that is stored about a user, and all users with their password hashes.

use std::{
    collections::HashMap,
    io::{self, Write},
    net::IpAddr,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    factor_list::{self, FactorInfo, TrustedDeviceInfo},
    identity_list::{self, IdentityInfo},
    key_list::ApiKeyInfo,
    keys, sessions,
};
use crate::{
    Doorward,
    clock::Timestamp,
    credential::password::PasswordHash,
    event::{Administrator, EventKind},
    network::{Network, Requester},
    session::Session,
    store::{self, archive::Snapshot},
    throttle::KnownNetworks,
    user::{EmailKey, Identity, LoginRoles, Role, User, UserId},
};

/// The most users in memory.
const PAGE_USERS: usize = 500;

/// What is stored about a user in addition to the user record.
pub(crate) struct Export {
    pub(crate) sessions: Vec<Session>,
    pub(crate) data: PersonData,
}

/// What every export about a user has besides the record and the sessions, which their user and an administrator see differently.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PersonData {
    pub known_networks: Vec<KnownNetworkInfo>,
    /// The second factors, without their secrets.
    pub factors: Vec<FactorInfo>,
    /// How many recovery codes are left.
    pub recovery_codes: usize,
    /// Browsers in which a password is enough.
    pub trusted_devices: Vec<TrustedDeviceInfo>,
    /// The API keys, without the keys themselves.
    pub keys: Vec<ApiKeyInfo>,
    /// The accounts at other providers by which they sign in.
    pub identities: Vec<IdentityInfo>,
}

/// A network with its own budget of failed logins, because the user has signed in from it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "KnownNetwork")]
pub struct KnownNetworkInfo {
    /// An IPv4 address, or the first address of an IPv6 /64.
    #[schemars(with = "IpAddr")]
    pub address: String,
    pub noted_at: Timestamp,
}

/// What is stored about a user, for themselves.
pub(crate) async fn export_own(
    doorward: &Doorward,
    user: &User,
    requester: &Requester,
) -> Result<Export, store::Error> {
    let event = doorward.event_by_user(user.id, requester, EventKind::AccountExported);
    // A person may repeat it, so the rate at which it is recorded is bounded.
    doorward.events().publish(&event);
    read(doorward, user).await
}

/// What is stored about a user, for somebody who looks after the service. It is recorded first.
pub(crate) async fn export_of(
    doorward: &Doorward,
    user: &User,
    by: &Administrator,
) -> Result<Export, store::Error> {
    let kind = EventKind::AccountExported;
    doorward.record(doorward.event_by_administrator(by, user.id, kind)).await;
    read(doorward, user).await
}

async fn read(doorward: &Doorward, user: &User) -> Result<Export, store::Error> {
    let sessions = sessions::list(doorward, user.id).await?;
    let networks = doorward.store().known_networks(&user.email.key()).await?;
    let factors = doorward.store().factors_of(user, doorward.now()).await?;
    let keys = keys::of_user(doorward, user.id).await?;
    let data = PersonData {
        known_networks: known_networks(&networks),
        factors: factor_list::factors(&factors),
        recovery_codes: factors.recovery_codes,
        trusted_devices: factor_list::trusted_devices(&factors),
        keys: keys.into_iter().map(ApiKeyInfo::from).collect(),
        identities: identity_list::list(doorward, user.id).await?,
    };
    Ok(Export { sessions, data })
}

fn known_networks(known: &KnownNetworks) -> Vec<KnownNetworkInfo> {
    let info = |(network, at): (Network, Timestamp)| KnownNetworkInfo {
        address: network.to_string(),
        noted_at: at,
    };
    known.iter().map(info).collect()
}

/// Why not all users were written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WriteError {
    #[error(transparent)]
    Store(#[from] store::Error),
    #[error(transparent)]
    Output(io::Error),
}

/// A user, as one line of JSON.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportedUser<'a> {
    id: String,
    name: &'a str,
    email: &'a str,
    verified: bool,
    roles: Vec<&'a str>,
    disabled: bool,
    created_at: String,
    updated_at: String,
    last_login_at: Option<String>,
    identities: Vec<ExportedIdentity<'a>>,
    /// Missing from an export without hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    hash: Option<Option<&'a str>>,
}

/// An account at another provider by which a user signs in.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ExportedIdentity<'a> {
    login: &'a str,
    issuer: &'a str,
    subject: &'a str,
    display: &'a str,
    /// Those of the user's roles that they have only by it.
    roles: Vec<&'a str>,
    created_at: String,
    last_used_at: Option<String>,
}

/// The identities of a user, each with the roles that logins give them.
type Identities = Vec<(Identity, LoginRoles)>;

impl<'a> ExportedIdentity<'a> {
    fn new((identity, login_roles): &'a (Identity, LoginRoles)) -> Self {
        let Identity { id, user_id: _, issuer, subject, login, display, created_at, last_used_at } =
            identity;
        Self {
            login,
            issuer,
            subject,
            display,
            roles: login_roles.of(*id).map(Role::as_str).collect(),
            created_at: created_at.to_string(),
            last_used_at: last_used_at.map(|at| at.to_string()),
        }
    }
}

impl<'a> ExportedUser<'a> {
    fn new(user: &'a User, identities: &'a [(Identity, LoginRoles)], hashes: Hashes) -> Self {
        let hash = user.password_hash.as_ref().map(PasswordHash::as_phc);
        Self {
            id: user.id.to_string(),
            name: user.name.as_str(),
            email: user.email.as_str(),
            verified: user.email_verified,
            roles: user.roles.iter().collect(),
            disabled: user.disabled,
            created_at: user.created_at.to_string(),
            updated_at: user.updated_at.to_string(),
            last_login_at: user.last_login_at.map(|at| at.to_string()),
            identities: identities.iter().map(ExportedIdentity::new).collect(),
            hash: (hashes == Hashes::Included).then_some(hash),
        }
    }
}

/// Whether an export has the password hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hashes {
    Included,
    LeftOut,
}

/// All users as of one moment, one JSON object in each line, in the order of their addresses.
pub(crate) struct UserExport {
    snapshot: Snapshot,
    hashes: Hashes,
    after: Option<EmailKey>,
    /// How many users were returned.
    pub(crate) done: u64,
}

impl UserExport {
    /// Begins an export, which is recorded first.
    pub(crate) async fn begin(
        doorward: &Doorward,
        hashes: Hashes,
        by: &Administrator,
    ) -> Result<Self, store::Error> {
        let kind = EventKind::UsersExported { hashes: hashes == Hashes::Included };
        doorward.record(doorward.event_by_administrator(by, None, kind)).await;
        let snapshot = doorward.store().snapshot().await?;
        Ok(Self { snapshot, hashes, after: None, done: 0 })
    }

    /// The next lines; none at the end.
    pub(crate) async fn next_lines(&mut self) -> Result<Option<Vec<u8>>, store::Error> {
        let page = self.snapshot.users(self.after.as_ref(), PAGE_USERS).await?;
        let Some(last) = page.last().map(|last| last.email.key()) else { return Ok(None) };
        let identities = self.identities(&last).await?;
        self.after = Some(last);
        let mut lines = Vec::new();
        for user in &page {
            let identities = identities.get(&user.id).map_or(&[][..], Vec::as_slice);
            let exported = ExportedUser::new(user, identities, self.hashes);
            serde_json::to_writer(&mut lines, &exported).expect("users are valid JSON");
            lines.push(b'\n');
        }
        self.done += page.len() as u64;
        Ok(Some(lines))
    }

    /// The identities of the users up to this address, in an order that an import keeps.
    async fn identities(
        &self,
        last: &EmailKey,
    ) -> Result<HashMap<UserId, Identities>, store::Error> {
        let mut found = self.snapshot.identities(self.after.as_ref(), last).await?;
        found.sort_by(|(one, _), (other, _)| {
            let key = |of: &Identity| (of.created_at, of.issuer.clone(), of.subject.clone());
            key(one).cmp(&key(other))
        });
        let mut by_user: HashMap<UserId, Identities> = HashMap::new();
        for identity in found {
            by_user.entry(identity.0.user_id).or_default().push(identity);
        }
        Ok(by_user)
    }
}

/// Writes all users. Returns their number.
pub(crate) async fn write_users(
    doorward: &Doorward,
    hashes: Hashes,
    by: &Administrator,
    output: &mut (dyn Write + Send),
) -> Result<u64, WriteError> {
    let mut export = UserExport::begin(doorward, hashes, by).await?;
    while let Some(lines) = export.next_lines().await? {
        output.write_all(&lines).map_err(WriteError::Output)?;
    }
    Ok(export.done)
}
