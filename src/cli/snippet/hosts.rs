//! The host names in the files of `deploy/tls/`: those of the app and of Doorward itself.

use anyhow::bail;

use crate::{access::guard::AppOrigin, config::PublicUrl};

const DEFAULT_PORT: u16 = 443;

/// The hosts at which a proxy serves HTTPS.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Hosts {
    apps: Vec<String>,
    doorward: String,
    port: u16,
}

impl Hosts {
    /// The hosts of a guard with `https` origins and of Doorward. None if one of them has none.
    ///
    /// # Errors
    /// If the files of `deploy/tls/` cannot serve these hosts.
    pub(super) fn of(
        public_url: Option<&PublicUrl>,
        origins: &[AppOrigin],
    ) -> anyhow::Result<Option<Self>> {
        let apps: Vec<_> = origins.iter().filter(|origin| origin.is_https()).collect();
        let (Some(url), Some(first)) = (public_url.filter(|url| url.is_https()), apps.first())
        else {
            return Ok(None);
        };
        let Ok(doorward) = AppOrigin::parse(&url.to_string()) else {
            bail!(
                "public_url has a path ({url}): --plain prints the files without TLS and without Doorward's pages"
            );
        };
        let port = first.port();
        if let Some(other) = apps.iter().find(|origin| origin.port() != port) {
            bail!("{first} and {other} have different ports: --plain prints the files without TLS");
        }
        if doorward.port() != port {
            bail!(
                "{first} and public_url ({url}) have different ports: --plain prints the files without TLS"
            );
        }
        if let Some(same) = apps.iter().find(|origin| origin.host() == doorward.host()) {
            bail!("{same} is also the public_url: Doorward needs a host of its own");
        }
        let apps = apps.iter().map(|origin| origin.host().to_owned()).collect();
        Ok(Some(Self { apps, doorward: doorward.host().to_owned(), port }))
    }

    /// Replaces the hosts and the port that the files of `deploy/tls/` name.
    pub(super) fn fill_in(&self, contents: &str) -> String {
        let port = self.port;
        let port_suffix = if port == DEFAULT_PORT { String::new() } else { format!(":{port}") };
        let list = |separator: &str, write: &dyn Fn(&str) -> String| {
            self.apps.iter().map(|host| write(host)).collect::<Vec<_>>().join(separator)
        };
        let mut text = contents
            .replace(
                "server_name app.example.com;",
                &format!("server_name {};", list(" ", &str::to_owned)),
            )
            .replace(
                "\napp.example.com {",
                &format!("\n{} {{", list(", ", &|host| format!("{host}{port_suffix}"))),
            )
            .replace("\nauth.example.com {", &format!("\n{}{port_suffix} {{", self.doorward))
            .replace("Host(`app.example.com`)", &list(" || ", &|host| format!("Host(`{host}`)")))
            .replace("auth.example.com", &self.doorward);
        if port != DEFAULT_PORT {
            for (default, chosen) in [
                ("listen 443 ", format!("listen {port} ")),
                ("bind :443 ", format!("bind :{port} ")),
                ("address: :443\n", format!("address: :{port}\n")),
                ("port_value: 443 ", format!("port_value: {port} ")),
                ("https://$host$request_uri", format!("https://$host{port_suffix}$request_uri")),
                (
                    "prefix https://%[req.hdr(host),field(1,:)]",
                    format!("prefix https://%[req.hdr(host),field(1,:)]{port_suffix}"),
                ),
                ("https_redirect: true,", format!("https_redirect: true, port_redirect: {port},")),
            ] {
                text = text.replace(default, &chosen);
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Form, Kind},
        *,
    };

    fn hosts(public_url: &str, origins: &[&str]) -> Result<Option<Hosts>, String> {
        let url = PublicUrl::parse(public_url).unwrap();
        let origins: Vec<_> = origins.iter().map(|text| AppOrigin::parse(text).unwrap()).collect();
        Hosts::of(Some(&url), &origins).map_err(|error| error.to_string())
    }

    const PROXIES: [Kind; 5] =
        [Kind::Nginx, Kind::Caddy, Kind::Traefik, Kind::Haproxy, Kind::Envoy];

    #[test]
    fn every_proxy_serves_the_hosts_and_the_port_of_the_settings() {
        let origins = ["https://a.one.test:8443", "https://b.two.test:8443"];
        let hosts = hosts("https://door.one.test:8443", &origins).unwrap().unwrap();
        for kind in PROXIES {
            let files = kind.files(Form::Tls).iter();
            let text: String = files.map(|(_, contents)| hosts.fill_in(contents)).collect();
            assert!(!text.contains("example.com"), "{text}");
            assert!(!text.contains("443 ") || text.contains("8443 "), "{text}");
            assert!(text.contains("door.one.test") && text.contains("8443"), "{text}");
            // HAProxy and Envoy guard every host except for Doorward's.
            if !matches!(kind, Kind::Haproxy | Kind::Envoy) {
                assert!(text.contains("a.one.test") && text.contains("b.two.test"), "{text}");
            }
        }
    }

    #[test]
    fn the_tls_form_needs_https_for_both_and_one_port() {
        assert_eq!(hosts("https://door.test", &[]), Ok(None));
        assert_eq!(hosts("https://door.test", &["http://localhost:8000"]), Ok(None));
        assert_eq!(hosts("http://127.0.0.1:3000", &["https://app.test"]), Ok(None));
        let mixed = hosts("https://door.test", &["https://app.test", "http://localhost:8000"]);
        assert_eq!(
            mixed,
            Ok(Some(Hosts {
                apps: vec!["app.test".into()],
                doorward: "door.test".into(),
                port: 443
            }))
        );
        for (public_url, origins, part) in [
            ("https://door.test/auth", &["https://app.test"][..], "has a path"),
            ("https://door.test", &["https://app.test:8443"], "different ports"),
            ("https://door.test", &["https://a.test", "https://b.test:8443"], "different ports"),
            ("https://door.test", &["https://door.test"], "host of its own"),
        ] {
            let error = hosts(public_url, origins).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
    }
}
