//! Where PostgreSQL is and how to get there: `postgres://…`, read as libpq reads it.

use std::{fmt, net::IpAddr, path::PathBuf, time::Duration};

use percent_encoding::percent_decode_str;
use tokio_postgres::{
    Config,
    config::{Host, SslMode, TargetSessionAttrs},
};

/// A database, on one host or on several of which one takes writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresUrl {
    /// One for each host.
    hosts: Vec<Config>,
    security: Security,
    root_certificates: Option<PathBuf>,
}

/// What is asked of an encrypted connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Security {
    /// `disable`, `prefer`, `require`: whoever answers.
    Anybody,
    /// `verify-ca`: a certificate from somebody we trust.
    Issuer,
    /// `verify-full`: and for the host that was asked for.
    IssuerAndHost,
}

impl PostgresUrl {
    const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
    /// For how long sent bytes may stay without an acknowledgement.
    const UNANSWERED: Duration = Duration::from_secs(5);

    /// None if it is not a URL of PostgreSQL, or has a parameter that is not known.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return None;
        }
        let (plain, parameters) = text.split_once('?').unwrap_or((text, ""));
        let (mut ssl_mode, mut root_certificates, mut others) = (None, None, Vec::new());
        for parameter in parameters.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=')?;
            match name {
                "sslmode" => ssl_mode = Some(value),
                "sslrootcert" if value == "system" => {}
                "sslrootcert" => {
                    let path = percent_decode_str(value).decode_utf8().ok()?;
                    root_certificates = Some(PathBuf::from(path.as_ref()));
                }
                _ => others.push(parameter),
            }
        }
        let all: Config = format!("{plain}?{}", others.join("&")).parse().ok()?;
        let count = all.get_hosts().len().max(all.get_hostaddrs().len());
        if count == 0 || !(all.get_ports().len() <= 1 || all.get_ports().len() == count) {
            return None;
        }
        let (ssl_mode, security) = match ssl_mode {
            None if is_on_this_machine(&all) => (SslMode::Prefer, Security::Anybody),
            None | Some("verify-full") => (SslMode::Require, Security::IssuerAndHost),
            Some("disable") => (SslMode::Disable, Security::Anybody),
            Some("prefer") => (SslMode::Prefer, Security::Anybody),
            // As in libpq: whoever names certificates wants them looked at.
            Some("require") if root_certificates.is_some() => (SslMode::Require, Security::Issuer),
            Some("require") => (SslMode::Require, Security::Anybody),
            Some("verify-ca") => (SslMode::Require, Security::Issuer),
            Some(_) => return None,
        };
        let hosts = (0..count).map(|number| only_host(&all, number, ssl_mode)).collect();
        Some(Self { hosts, security, root_certificates })
    }

    pub(super) fn hosts(&self) -> &[Config] {
        &self.hosts
    }

    pub(super) fn security(&self) -> Security {
        self.security
    }

    /// A file with the certificates of those who are trusted; the system's without one.
    pub(super) fn root_certificates(&self) -> Option<&PathBuf> {
        self.root_certificates.as_ref()
    }
}

/// Without the password and whatever else is nobody's business.
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

/// The same with one of the hosts, so that each can be given its own time to answer.
fn only_host(all: &Config, number: usize, ssl_mode: SslMode) -> Config {
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
        .tcp_user_timeout(PostgresUrl::UNANSWERED)
        .keepalives_idle(Duration::from_secs(5))
        .keepalives_interval(Duration::from_secs(2))
        .keepalives_retries(3)
        // A server that does not take writes is of no use, whatever the URL says.
        .target_session_attrs(TargetSessionAttrs::ReadWrite);
    one
}

#[cfg(test)]
mod tests {
    use super::*;

    fn security(text: &str) -> (SslMode, Security) {
        let url = PostgresUrl::parse(text).unwrap();
        (url.hosts[0].get_ssl_mode(), url.security)
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
    fn beyond_this_machine_the_server_has_to_show_who_it_is() {
        let full = (SslMode::Require, Security::IssuerAndHost);
        assert_eq!(security("postgres://u@db.example.com/app"), full);
        assert_eq!(security("postgres://u@127.0.0.1,db.example.com/app"), full);
        for here in ["localhost", "127.0.0.1", "[::1]", "%2Frun%2Fpostgresql"] {
            let url = format!("postgres://u@{here}/app");
            assert_eq!(security(&url), (SslMode::Prefer, Security::Anybody), "{here}");
        }
        let ca = security("postgres://u@db/app?sslmode=verify-ca&sslrootcert=%2Fca.pem");
        assert_eq!(ca, (SslMode::Require, Security::Issuer));
        assert_eq!(security("postgres://u@db/a?sslmode=require").1, Security::Anybody);
        let named = "postgres://u@db/a?sslmode=require&sslrootcert=%2Fca.pem";
        assert_eq!(security(named).1, Security::Issuer);
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        for wrong in [
            "mysql://db/app",
            "postgres://",
            "postgres:///app",
            "postgres://db/app?sslmode=verify",
            "postgres://db/app?sslmodus=require",
            "postgres://db:port/app",
            "postgres://a,b/app?port=1,2,3",
        ] {
            assert_eq!(PostgresUrl::parse(wrong), None, "{wrong}");
        }
    }
}
