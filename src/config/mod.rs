//! Settings: one file per section states each name, default and bound once. Nothing else reads the environment.

mod admin;
mod audit;
mod branding;
mod builder;
mod clients;
mod cors;
mod database;
mod designated;
mod file;
mod guard_check;
mod guards;
mod key;
mod limits;
mod log;
mod login_check;
mod logins;
mod mail;
mod metrics;
mod password;
mod proxies;
mod registration;
mod sections;
mod server;
#[cfg(feature = "cli")]
mod service_manager;
mod session;
mod sign_in;
mod sources;
mod table;
#[cfg(test)]
mod tests;
mod throttle;
mod tls;
mod token;
#[cfg(feature = "cli")]
mod unprefixed;
mod value;

use std::{
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    num::NonZeroUsize,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
    time::Duration,
};

use ipnet::IpNet;

#[cfg(feature = "cli")]
pub(crate) use self::unprefixed::unprefixed_variables;
pub(crate) use self::{
    audit::AuditSettings,
    branding::BrandingSettings,
    database::{absolute, folder_of},
    guard_check::{GuardFindings, guard_findings},
    login_check::login_findings,
    mail::Notices,
    metrics::MetricsListen,
    password::PasswordSettings,
    registration::RegistrationConflict,
    sign_in::{FACTOR_KINDS, MailCodeSignIn},
    tls::TlsFiles,
    value::{parse_duration, show_duration},
};
pub use self::{
    branding::Contact,
    database::{DatabaseUrl, InaccessibleDatabase},
    key::Key,
    proxies::IdentityHeaders,
    sections::keys,
    server::PublicUrl,
    sources::{CONFIG_VARIABLE, Origin, Origins, Sources, URL_VARIABLE},
};
#[cfg(feature = "cli")]
pub(crate) use self::{key::VARIABLE_PREFIX, service_manager::ServiceManager};
use crate::{
    access::{
        admin_role::AdminRoles,
        factor_policy::FactorPolicy,
        guard::{AppOrigin, GuardSet},
        registration::{InvitationPolicy, RegistrationPolicy},
    },
    credential::{factor::Factors, oauth_client::OAuthClients, password::Cost},
    federation::LoginSet,
    log::{LogFilter, LogFormat},
    mail::MailSettings,
    store::PostgresOptions,
    throttle::ThrottleSettings,
    token::{Algorithm, TokenTerms},
};

/// How Doorward behaves: where its data is, how long tokens are valid, whom guards admit and so on.
///
/// The defaults suit development: a SQLite file in the folder `data`. An app sets what it needs, or reads what an
/// operator has set:
///
/// ```
/// use doorward::Settings;
///
/// let settings = Settings::new()
///     .with("database_url", "sqlite://data/shop.db")
///     .with("token.lifetime", "1h")
///     .with("throttle.network_sign_ups", 20)
///     .with_toml("guards.reports.allow = \"'analyst' in user.roles\"");
/// assert!(settings.check().is_ok());
/// ```
///
/// [`Doorward::open`](crate::Doorward::open) and [`Self::check`] report the first setting that is unknown or has a value that is
/// not allowed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) metrics_listen: MetricsListen,
    /// The URL at which others reach it; that of [`Self::listen`] unless set.
    pub(crate) public_url: Option<PublicUrl>,
    /// The certificate and key with which it speaks HTTPS.
    pub(crate) tls: TlsFiles,
    pub(crate) database: DatabaseUrl,
    pub(crate) postgres: PostgresOptions,
    /// The folder of the control socket if the database is PostgreSQL.
    pub(crate) data_folder: Option<PathBuf>,
    /// Issuer, audience, lifetime and algorithm of tokens.
    pub(crate) token: TokenTerms,
    /// The operator's own keys.
    pub(crate) key_file: Option<PathBuf>,
    /// The maximum lifetime of a session.
    pub(crate) session_lifetime: Duration,
    /// A browser session that is not used for this long ends, unless its user stays signed in.
    pub(crate) session_idle_timeout: Duration,
    /// The name that the designated route admits.
    pub(crate) designated_name: String,
    /// The last path segment of the designated route.
    pub(crate) designated_segment: String,
    pub(crate) password: PasswordSettings,
    pub(crate) password_cost: Cost,
    /// How many passwords are hashed at the same time.
    pub(crate) password_threads: NonZeroUsize,
    /// Budgets of failed logins and sign-ups.
    pub(crate) throttle: ThrottleSettings,
    /// The maximum size of a request body in bytes.
    pub(crate) body_limit: usize,
    /// The maximum number of connections.
    pub(crate) connections: usize,
    /// Time in which idle connections can send one more request when the service stops.
    pub(crate) stop_grace: Duration,
    /// OAuth clients, which may introspect and revoke tokens.
    pub(crate) clients: OAuthClients,
    /// Origins whose pages may call the API from a browser.
    pub(crate) cors_origins: Vec<AppOrigin>,
    /// Networks of proxies whose headers about a request are trusted.
    pub(crate) trusted_proxies: Vec<IpNet>,
    /// Sets of identity headers that an admission has besides `X-Auth-…`.
    pub(crate) identity_headers: Vec<IdentityHeaders>,
    pub(crate) guards: Arc<GuardSet>,
    /// Other providers that people sign in with.
    pub(crate) logins: Arc<LoginSet>,
    /// The roles that administer the service, from `[admin]`.
    pub(crate) admin_roles: AdminRoles,
    /// Whether people can sign in on pages.
    pub(crate) pages: bool,
    pub(crate) branding: BrandingSettings,
    pub(crate) registration: RegistrationPolicy,
    /// What somebody is told who registers with a taken address.
    pub(crate) registration_conflict: RegistrationConflict,
    pub(crate) invitations: InvitationPolicy,
    /// Where mail is handed over, and whom it is from.
    pub(crate) mail: MailSettings,
    /// Of what users are told by mail.
    pub(crate) notices: Notices,
    /// Who signs in with a mailed code.
    pub(crate) mail_code_sign_in: MailCodeSignIn,
    /// Whether users need a second factor.
    pub(crate) factors: FactorPolicy,
    /// The kinds of second factors that users can add. Has security keys if it has passkeys.
    pub(crate) factor_kinds: Factors,
    /// The domain that passkeys belong to, if it is not the host of [`Self::public_url`].
    pub(crate) passkey_domain: Option<String>,
    /// Origins whose pages may use the passkeys, besides that of [`Self::public_url`].
    pub(crate) passkey_origins: Vec<AppOrigin>,
    pub(crate) audit: AuditSettings,
    pub(crate) log: LogFilter,
    pub(crate) log_format: LogFormat,
    /// The first invalid value that a method received.
    pub(crate) refused: Option<SettingsError>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 3000)),
            metrics_listen: MetricsListen::default(),
            public_url: None,
            tls: TlsFiles::default(),
            database: DatabaseUrl::Sqlite("data/doorward.db".into()),
            postgres: PostgresOptions::default(),
            data_folder: None,
            token: TokenTerms {
                issuer: "doorward".into(),
                audience: "doorward".into(),
                lifetime: Duration::from_secs(24 * 60 * 60),
                publish_before_signing: Duration::from_secs(60),
                algorithm: Algorithm::default(),
            },
            key_file: None,
            session_lifetime: Duration::from_secs(30 * 24 * 60 * 60),
            session_idle_timeout: Duration::from_secs(12 * 60 * 60),
            designated_name: "Miles Davis".into(),
            designated_segment: "miles".into(),
            password: PasswordSettings::default(),
            password_cost: Cost::default(),
            password_threads: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            throttle: ThrottleSettings::default(),
            body_limit: 64 << 10,
            connections: 10_000,
            stop_grace: Duration::from_secs(2),
            clients: OAuthClients::default(),
            cors_origins: Vec::new(),
            trusted_proxies: proxies::loopback().into(),
            identity_headers: Vec::new(),
            guards: Arc::default(),
            logins: Arc::default(),
            admin_roles: AdminRoles::default(),
            pages: true,
            branding: BrandingSettings::default(),
            registration: RegistrationPolicy::default(),
            registration_conflict: RegistrationConflict::default(),
            invitations: InvitationPolicy::default(),
            mail: MailSettings::default(),
            notices: Notices::default(),
            mail_code_sign_in: MailCodeSignIn::default(),
            factors: FactorPolicy::default(),
            factor_kinds: sign_in::all_kinds(),
            passkey_domain: None,
            passkey_origins: Vec::new(),
            audit: AuditSettings::default(),
            log: LogFilter::default(),
            log_format: LogFormat::Auto,
            refused: None,
        }
    }
}

/// How the settings are read again for `doorward reload`.
pub type ReadSettings = dyn Fn() -> Result<Settings, SettingsError> + Send + Sync;

/// A setting that cannot be used: one line with its place, its value and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SettingsError(String);

impl SettingsError {
    /// An error with this message, for an app that reads its settings in its own way.
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl Settings {
    /// Checks settings that depend on each other, and reports the first invalid value that a method received.
    ///
    /// # Errors
    /// For a setting that cannot be used.
    pub fn check(&self) -> Result<(), SettingsError> {
        if let Some(refused) = &self.refused {
            return Err(refused.clone());
        }
        let PasswordSettings { min_length: min, max_length: max, .. } = self.password;
        if min > max {
            return Err(SettingsError(format!(
                "password.min_length: {min} is more than password.max_length, which is {max}"
            )));
        }
        if let (Some(folder), DatabaseUrl::Sqlite(_)) = (&self.data_folder, &self.database) {
            return Err(SettingsError(format!(
                "data_folder: \"{}\" is set although the database is a SQLite file, whose folder is used: remove \
                 data_folder",
                folder.display()
            )));
        }
        let on_pages = self.guards.iter().find(|guard| !guard.origins.is_empty());
        if let (Some(guard), false) = (on_pages, self.pages) {
            return Err(SettingsError(format!(
                "guards.{}: origins needs the sign-in page: remove origins, or set pages = \"on\"",
                guard.name
            )));
        }
        if self.registration_conflict == RegistrationConflict::Silent && self.mail.url.is_none() {
            return Err(SettingsError(
                "registration_conflict: \"silent\" needs mail, which tells the owner of the address: set mail.url"
                    .into(),
            ));
        }
        audit::check(self)?;
        mail::check(self)?;
        sign_in::check(self)?;
        tls::check(self)?;
        let segment = &self.designated_segment;
        if self.guards.by_name(segment).is_some() {
            return Err(SettingsError(format!(
                "guards.{segment}: /api/auth/{segment} is the designated route (designated.segment): choose another \
                 name"
            )));
        }
        Ok(())
    }

    /// The data folder of this process: that of the SQLite file, or `data_folder`.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.database {
            DatabaseUrl::Sqlite(file) => Some(folder_of(file)),
            DatabaseUrl::Postgres(_) => self.data_folder.as_deref(),
            DatabaseUrl::Memory(_) => None,
        }
    }

    /// The URL of a service that listens on this address, without a slash at the end.
    pub(crate) fn base_url(&self, listening: SocketAddr) -> String {
        match &self.public_url {
            Some(url) => url.to_string(),
            None => self.local_url(listening),
        }
    }

    /// The URL at which this machine reaches a service that listens on this address.
    pub(crate) fn local_url(&self, listening: SocketAddr) -> String {
        format!("{}://{}", self.scheme(), host_and_port(listening))
    }

    /// Whether this is `doorward dev`, whose data ends with its process.
    pub(crate) fn is_development(&self) -> bool {
        matches!(self.database, DatabaseUrl::Memory(_))
    }

    /// What the service speaks where it listens.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.tls.pair().is_some() { "https" } else { "http" }
    }

    /// Whether people reach the service through https: its own, or that of a proxy.
    pub(crate) fn is_reached_by_https(&self) -> bool {
        match &self.public_url {
            Some(url) => url.is_https(),
            None => self.tls.pair().is_some(),
        }
    }

    /// Whether other machines can connect to this address without TLS, and no setting indicates a proxy with TLS in front.
    pub(crate) fn is_exposed_on(&self, listening: IpAddr) -> bool {
        let local = |ip: IpAddr| ip.to_canonical().is_loopback();
        let has_tls = self.tls.pair().is_some();
        let behind_tls = self.public_url.as_ref().is_some_and(PublicUrl::is_https);
        let behind_proxy = !self.trusted_proxies.iter().all(|network| local(network.addr()));
        !local(listening) && !has_tls && !behind_tls && !behind_proxy
    }
}

/// A service that listens on this address, as it stands in URLs. Loopback is called `localhost`, because browsers offer passkeys
/// under this name and not under an address.
fn host_and_port(listening: SocketAddr) -> String {
    let address = reachable(listening);
    match [IpAddr::V4(Ipv4Addr::LOCALHOST), Ipv6Addr::LOCALHOST.into()].contains(&address.ip()) {
        true => format!("localhost:{}", address.port()),
        false => address.to_string(),
    }
}

/// The address at which this machine reaches a service that listens on this one: loopback is the only address that is certain
/// to reach one that listens on all.
pub(crate) fn reachable(mut listening: SocketAddr) -> SocketAddr {
    match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => listening.set_ip(Ipv4Addr::LOCALHOST.into()),
        IpAddr::V6(ip) if ip.is_unspecified() => listening.set_ip(Ipv6Addr::LOCALHOST.into()),
        _ => {}
    }
    listening
}
