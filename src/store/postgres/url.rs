//! URLs of PostgreSQL databases: `postgres://…`, parsed as libpq does.

use std::{
    fmt,
    net::IpAddr,
    path::{Path, PathBuf},
    time::Duration,
};

use percent_encoding::percent_decode_str;
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

use crate::outbound::tls::Verification;

/// The URL of a database, on one host or on several of which one accepts writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresUrl {
    /// One configuration for each host.
    hosts: Vec<Config>,
    verification: Verification,
    root_certificates: Option<PathBuf>,
}

impl PostgresUrl {
    /// The time limit for the TCP connection alone.
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
    /// How long sent bytes may stay unacknowledged.
    const TCP_USER_TIMEOUT: Duration = Duration::from_secs(5);

    /// What [`Self::parse`] accepts, for error messages.
    pub(crate) const SYNTAX: &str = "postgres:// as libpq reads it, such as \
                                     postgres://user:password@host1,host2/name?sslmode=verify-full";

    /// Returns `None` if the text is not a PostgreSQL URL or has an unknown parameter.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return None;
        }
        let (base, parameters) = text.split_once('?').unwrap_or((text, ""));
        let (mut ssl_mode, mut root_certificates, mut others) = (None, None, Vec::new());
        let mut system_roots = false;
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=')?;
            match name {
                "sslmode" => ssl_mode = Some(value),
                "sslrootcert" if value == "system" => system_roots = true,
                "sslrootcert" => {
                    let path = percent_decode_str(value).decode_utf8().ok()?;
                    root_certificates = Some(PathBuf::from(path.as_ref()));
                }
                _ => others.push(parameter),
            }
        }
        let all: Config = format!("{base}?{}", others.join("&")).parse().ok()?;
        let count = all.get_hosts().len().max(all.get_hostaddrs().len());
        if count == 0 || !(all.get_ports().len() <= 1 || all.get_ports().len() == count) {
            return None;
        }
        let (ssl_mode, verification) = match ssl_mode {
            // As in libpq: anybody can get a certificate that the system trusts, so that only `verify-full` makes sense.
            Some(mode) if system_roots && mode != "verify-full" => return None,
            None if is_on_this_machine(&all) && !system_roots => {
                (SslMode::Prefer, Verification::None)
            }
            None | Some("verify-full") => (SslMode::Require, Verification::IssuerAndHost),
            Some("disable") => (SslMode::Disable, Verification::None),
            Some("prefer") => (SslMode::Prefer, Verification::None),
            // As in libpq: with `sslrootcert`, `require` verifies the chain.
            Some("require") if root_certificates.is_some() => {
                (SslMode::Require, Verification::Issuer)
            }
            Some("require") => (SslMode::Require, Verification::None),
            Some("verify-ca") => (SslMode::Require, Verification::Issuer),
            Some(_) => return None,
        };
        let hosts = (0..count).map(|number| config_for_host(&all, number, ssl_mode)).collect();
        Some(Self { hosts, verification, root_certificates })
    }

    /// Whether it contains a password.
    #[cfg(feature = "cli")]
    pub(crate) fn has_password(&self) -> bool {
        self.hosts.iter().any(|host| host.get_password().is_some())
    }

    pub(super) fn hosts(&self) -> &[Config] {
        &self.hosts
    }

    pub(super) fn verification(&self) -> Verification {
        self.verification
    }

    /// A file with the trusted root certificates. If there is none, those of the system are used.
    pub(super) fn root_certificates(&self) -> Option<&Path> {
        self.root_certificates.as_deref()
    }
}

/// Shows hosts and database only: no user, password or option.
impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("postgres://")?;
        for (number, host) in self.hosts.iter().enumerate() {
            let separator = if number == 0 { "" } else { "," };
            let port = host.get_ports().first().copied().unwrap_or(5432);
            match host.get_hosts().first() {
                Some(Host::Tcp(name)) => write!(f, "{separator}{name}:{port}")?,
                Some(Host::Unix(path)) => write!(f, "{separator}{}", path.display())?,
                None => f.write_str(separator)?,
            }
        }
        let database = self.hosts.first().and_then(Config::get_dbname);
        write!(f, "/{}", database.unwrap_or_default())
    }
}

fn is_on_this_machine(config: &Config) -> bool {
    let is_loopback = |host: &Host| match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse().is_ok_and(|address: IpAddr| address.is_loopback())
        }
        Host::Unix(_) => true,
    };
    config.get_hosts().iter().all(is_loopback)
        && config.get_hostaddrs().iter().all(IpAddr::is_loopback)
}

/// The configuration for one of the hosts, so that each has its own timeout.
fn config_for_host(all: &Config, number: usize, ssl_mode: SslMode) -> Config {
    let mut one = Config::new();
    if let Some(user) = all.get_user() {
        one.user(user);
    }
    if let Some(password) = all.get_password() {
        one.password(password);
    }
    if let Some(database) = all.get_dbname() {
        one.dbname(database);
    }
    if let Some(options) = all.get_options() {
        one.options(options);
    }
    match all.get_hosts().get(number) {
        Some(Host::Tcp(name)) => drop(one.host(name)),
        Some(Host::Unix(path)) => drop(one.host_path(path)),
        None => {}
    }
    if let Some(address) = all.get_hostaddrs().get(number) {
        one.hostaddr(*address);
    }
    let ports = all.get_ports();
    if let Some(port) = ports.get(number).or(ports.first()) {
        one.port(*port);
    }
    one.ssl_mode(ssl_mode)
        .ssl_negotiation(all.get_ssl_negotiation())
        .channel_binding(all.get_channel_binding())
        .application_name(all.get_application_name().unwrap_or("doorward"))
        .connect_timeout(PostgresUrl::CONNECT_TIMEOUT)
        .tcp_user_timeout(PostgresUrl::TCP_USER_TIMEOUT)
        .keepalives_idle(Duration::from_secs(5))
        .keepalives_interval(Duration::from_secs(2))
        .keepalives_retries(3)
        // Overrides the URL: Doorward needs a server that accepts writes.
        .target_session_attrs(TargetSessionAttrs::ReadWrite);
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verification(text: &str) -> (SslMode, Verification) {
        let url = PostgresUrl::parse(text).unwrap();
        (url.hosts[0].get_ssl_mode(), url.verification)
    }

    #[test]
    fn each_host_keeps_its_port_and_shares_the_rest() {
        let url = "postgresql://ada:s%20t@db1:1,db2:2/app?target_session_attrs=any&sslmode=disable";
        let url = PostgresUrl::parse(url).unwrap();
        assert_eq!(url.to_string(), "postgres://db1:1,db2:2/app");
        for (host, port) in url.hosts().iter().zip([1, 2]) {
            assert_eq!((host.get_user(), host.get_ports()), (Some("ada"), &[port][..]));
            assert_eq!(host.get_password(), Some(&b"s t"[..]));
            assert_eq!(host.get_target_session_attrs(), TargetSessionAttrs::ReadWrite);
        }
    }

    #[test]
    fn a_remote_server_is_verified_by_default() {
        let full = (SslMode::Require, Verification::IssuerAndHost);
        assert_eq!(verification("postgres://u@db.example.com/app"), full);
        assert_eq!(verification("postgres://u@127.0.0.1,db.example.com/app"), full);
        for here in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fpostgresql"] {
            let url = format!("postgres://u@{here}/app");
            assert_eq!(verification(&url), (SslMode::Prefer, Verification::None), "{here}");
        }
        let ca = verification("postgres://u@db/app?sslmode=verify-ca&sslrootcert=%2Fca.pem");
        assert_eq!(ca, (SslMode::Require, Verification::Issuer));
        assert_eq!(verification("postgres://u@db/a?sslmode=require").1, Verification::None);
        let named = "postgres://u@db/a?sslmode=require&sslrootcert=%2Fca.pem";
        assert_eq!(verification(named).1, Verification::Issuer);
        assert_eq!(verification("postgres://u@localhost/a?sslrootcert=system"), full);
    }

    #[test]
    fn an_unknown_url_or_parameter_is_refused() {
        for wrong in [
            "mysql://db/app",
            "postgres://",
            "postgres:///app",
            "postgres://db/app?sslmode=verify",
            "postgres://db/app?sslmodus=require",
            "postgres://db/app?sslmode=require&sslrootcert=system",
            "postgres://db/app?sslrootcert=system&sslmode=verify-ca",
            "postgres://db:port/app",
            "postgres://a,b/app?port=1,2,3",
        ] {
            assert_eq!(PostgresUrl::parse(wrong), None, "{wrong}");
        }
    }
}
