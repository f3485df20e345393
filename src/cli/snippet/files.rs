//! The files of each kind of proxy or app: templates that are filled with the apps, hosts and addresses of the settings.

use std::net::SocketAddr;

use askama::Template;

use super::{
    Kind,
    app::App,
    certificate::Certificate,
    hosts::Entry,
    identity::{HeaderLists, OTHER_SYSTEMS},
};

/// What the files are filled with.
pub(super) struct Setup<'a> {
    /// At least one.
    pub(super) apps: Vec<App<'a>>,
    /// Those of all apps, for what the apps share.
    pub(super) headers: HeaderLists,
    pub(super) entry: Entry,
    /// Where Doorward listens.
    pub(super) doorward: SocketAddr,
    pub(super) certificate: Certificate,
    /// Whether nginx.conf has no frame.
    pub(super) servers_only: bool,
}

impl Setup<'_> {
    /// The hosts of all apps, with spaces between them.
    fn host_names(&self) -> String {
        self.apps.iter().map(App::host_names).collect::<Vec<_>>().join(" ")
    }
}

/// A file. With the default settings it is the one in `deploy/`, or in `deploy/tls/`.
// A tag on a line of its own begins with `{%-`, which removes the line break before it, so that the line leaves no blank one.
#[derive(Template)]
#[template(escape = "none")]
enum File<'a> {
    #[template(path = "snippet/nginx.conf")]
    NginxConf { setup: &'a Setup<'a> },
    #[template(path = "snippet/Caddyfile")]
    Caddyfile { setup: &'a Setup<'a> },
    #[template(path = "snippet/traefik-static.yaml")]
    TraefikStatic { setup: &'a Setup<'a> },
    #[template(path = "snippet/traefik.yaml")]
    TraefikRoutes { setup: &'a Setup<'a> },
    #[template(path = "snippet/haproxy.cfg")]
    HaproxyConf { setup: &'a Setup<'a> },
    #[template(path = "snippet/doorward.lua")]
    HaproxyScript { setup: &'a Setup<'a> },
    #[template(path = "snippet/envoy.yaml")]
    EnvoyConf { setup: &'a Setup<'a> },
    #[template(path = "snippet/express.mjs")]
    ExpressApp { setup: &'a Setup<'a> },
    #[template(path = "snippet/fastapi_app.py")]
    FastapiApp { setup: &'a Setup<'a> },
    #[template(path = "snippet/axum.rs")]
    AxumApp { setup: &'a Setup<'a> },
}

impl Kind {
    /// The names of the files, and their contents.
    pub(super) fn files(self, setup: &Setup<'_>) -> anyhow::Result<Vec<(&'static str, String)>> {
        let files = match self {
            Self::Nginx => vec![("nginx.conf", File::NginxConf { setup })],
            Self::Caddy => vec![("Caddyfile", File::Caddyfile { setup })],
            Self::Traefik => vec![
                ("traefik-static.yaml", File::TraefikStatic { setup }),
                ("traefik.yaml", File::TraefikRoutes { setup }),
            ],
            Self::Haproxy => vec![
                ("haproxy.cfg", File::HaproxyConf { setup }),
                ("doorward.lua", File::HaproxyScript { setup }),
            ],
            Self::Envoy => vec![("envoy.yaml", File::EnvoyConf { setup })],
            Self::Express => vec![("express.mjs", File::ExpressApp { setup })],
            Self::Fastapi => vec![("fastapi_app.py", File::FastapiApp { setup })],
            Self::Axum => vec![("axum.rs", File::AxumApp { setup })],
        };
        // A template does not end with the line break of its file.
        let filled = |(name, file): (_, File<'_>)| Ok((name, file.render()? + "\n"));
        files.into_iter().map(filled).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::{fs, path::Path};

    use clap::ValueEnum;

    use super::{super::app::AppAddress, *};

    const PROXIES: [Kind; 5] =
        [Kind::Nginx, Kind::Caddy, Kind::Traefik, Kind::Haproxy, Kind::Envoy];

    fn app(guard: &'static str, hosts: &[&str]) -> App<'static> {
        App {
            guard,
            declared: None,
            address: AppAddress::default_of(0),
            headers: HeaderLists::default(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            suffix: String::new(),
        }
    }

    /// The entries of the files in `deploy/` and in `deploy/tls/`.
    pub(in super::super) fn entries() -> [Entry; 2] {
        [Entry::Plain { port: 8000 }, Entry::Tls { doorward: "auth.example.com".into(), port: 443 }]
    }

    fn setup(apps: Vec<App<'static>>, entry: Entry) -> Setup<'static> {
        Setup {
            headers: HeaderLists::of_all(apps.iter().map(|app| &app.headers)),
            apps,
            entry,
            doorward: ([127, 0, 0, 1], 3000).into(),
            certificate: Certificate::example(),
            servers_only: false,
        }
    }

    /// One app, as in `deploy/`.
    pub(in super::super) fn one_app(entry: Entry) -> Setup<'static> {
        let hosts: &[&str] = if entry.is_tls() { &["app.example.com"] } else { &[] };
        setup(vec![app("guard", hosts)], entry)
    }

    /// All files of a kind in a row.
    pub(in super::super) fn text(kind: Kind, setup: &Setup<'_>) -> String {
        kind.files(setup).unwrap().into_iter().map(|(_, contents)| contents).collect()
    }

    #[test]
    fn the_files_of_deploy_are_those_that_are_printed_by_default() {
        // Those are started from the root of the repository.
        let lines = |text: &str| -> Vec<_> {
            text.lines().filter(|line| !line.contains("Start")).map(str::to_owned).collect()
        };
        // They do not differ with TLS.
        let once = ["doorward.lua", "express.mjs", "fastapi_app.py", "axum.rs"];
        for (kind, entry) in
            Kind::value_variants().iter().flat_map(|kind| entries().map(|entry| (kind, entry)))
        {
            let folder = if entry.is_tls() { "deploy/tls" } else { "deploy" };
            for (name, contents) in kind.files(&one_app(entry)).unwrap() {
                let folder = if once.contains(&name) { "deploy" } else { folder };
                let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join(name);
                let deployed = lines(&fs::read_to_string(&path).unwrap());
                let printed = lines(&contents);
                let differs = deployed.iter().zip(&printed).find(|(one, other)| one != other);
                assert_eq!(differs, None, "{}", path.display());
                assert_eq!(deployed.len(), printed.len(), "{}", path.display());
            }
        }
    }

    #[test]
    fn no_file_names_a_folder_of_the_repository() {
        for (kind, entry) in
            Kind::value_variants().iter().flat_map(|kind| entries().map(|entry| (kind, entry)))
        {
            for (name, contents) in kind.files(&one_app(entry)).unwrap() {
                for folder in ["deploy", "examples/", "docs/", "tls/"] {
                    let line = contents.lines().find(|line| line.contains(folder));
                    assert_eq!(line, None, "{name}");
                }
                let starts = contents.contains("Start in the folder of this file: ");
                assert_eq!(starts, name != "doorward.lua", "{name}");
            }
        }
    }

    /// Two apps with hosts, addresses and headers of their own.
    fn two_apps() -> Vec<App<'static>> {
        let headers = |name: &str| HeaderLists {
            sets: Vec::new(),
            declared: vec![name.to_owned()],
            of_others: ["X-notes-User", "X-cal-User", "X-Far-User"].map(str::to_owned).into(),
        };
        let mut apps = vec![
            app("notes", &["notes.one.test", "notes.two.test"]),
            App { address: AppAddress::default_of(7), ..app("cal", &["cal.one.test"]) },
        ];
        for app in &mut apps {
            app.suffix = format!("-{}", app.guard);
            app.headers = headers(&format!("X-{}-User", app.guard));
        }
        apps
    }

    #[test]
    fn every_proxy_serves_all_apps_with_their_own_guard_address_hosts_and_headers() {
        for entry in [
            Entry::Tls { doorward: "door.one.test".into(), port: 8443 },
            Entry::Plain { port: 8123 },
        ] {
            let (is_tls, port) = (entry.is_tls(), entry.port().to_string());
            let setup = setup(two_apps(), entry);
            for kind in PROXIES {
                let all = text(kind, &setup);
                for part in [
                    "/api/auth/notes",
                    "/api/auth/cal",
                    "notes.one.test",
                    "notes.two.test",
                    "cal.one.test",
                    "8080",
                    "8087",
                    "x-notes-user",
                    "x-cal-user",
                ] {
                    assert!(all.to_lowercase().contains(part), "{part}:\n{all}");
                }
                for rest in ["/api/auth/guard", "example.com", ":8000", " 8000"] {
                    assert!(!all.contains(rest), "{rest}:\n{all}");
                }
                assert!(all.contains(&port), "{all}");
                assert!(!is_tls || all.contains("door.one.test"), "{all}");
                // What is copied to one app is not copied to the other.
                let copies = match kind {
                    Kind::Caddy => "copy_headers ",
                    Kind::Traefik => "authResponseHeaders: ",
                    Kind::Envoy => "patterns: [",
                    _ => continue,
                };
                let lines: Vec<_> = all.lines().filter(|line| line.contains(copies)).collect();
                let [notes, cal] = &lines[..] else { panic!("{lines:?}") };
                let of =
                    |line: &str, app: &str| line.to_lowercase().contains(&format!("x-{app}-user"));
                assert!(of(notes, "notes") && !of(notes, "cal") && of(cal, "cal"), "{lines:?}");
            }
        }
    }

    #[test]
    fn every_host_removes_the_headers_of_all_guards() {
        for entry in entries() {
            for kind in PROXIES {
                for hosts in [1, 2] {
                    let mut apps = two_apps();
                    apps.truncate(hosts);
                    let all = text(kind, &setup(apps, entry.clone()));
                    let all = all.to_lowercase();
                    let lines = |line: String| all.matches(&line).count();
                    for name in ["x-notes-user", "x-cal-user", "x-far-user"] {
                        let (removals, expected) = match kind {
                            // Set by the guard, or to nothing.
                            Kind::Nginx => (lines(format!("proxy_set_header {name} ")), hosts),
                            // What all sites import, or each site by itself.
                            Kind::Caddy => {
                                let sites = if entry.is_tls() { 1 } else { hosts };
                                (lines(format!("request_header -{name}\n")), sites)
                            }
                            Kind::Traefik => (lines(format!("          {name}: \"\"\n")), 1),
                            Kind::Envoy => (lines(format!("- remove: {name}\n")), 1),
                            // What the script copies, it removes first.
                            _ => {
                                let deleted = lines(format!("http-request del-header {name}\n"));
                                (deleted + lines(format!("    \"{name}\",\n")), 1)
                            }
                        };
                        assert_eq!(removals, expected, "{name} {hosts}:\n{all}");
                    }
                    let emptied = lines("proxy_set_header x-far-user \"\";\n".into());
                    assert!(kind != Kind::Nginx || emptied == hosts, "{all}");
                }
            }
        }
    }

    #[test]
    fn nginx_and_traefik_remove_what_clients_say_about_their_way() {
        // The others remove all headers with this prefix, and Traefik those that it sets itself.
        for entry in entries() {
            let setup = one_app(entry);
            for name in ["Port", "Scheme", "Ssl", "Prefix", "Server"] {
                let line = format!("proxy_set_header X-Forwarded-{name} \"\";\n");
                assert_eq!(text(Kind::Nginx, &setup).matches(&line).count(), 2, "{line}");
            }
            for name in ["Scheme", "Ssl", "Prefix"] {
                let line = format!("          X-Forwarded-{name}: \"\"\n");
                assert_eq!(text(Kind::Traefik, &setup).matches(&line).count(), 1, "{line}");
            }
        }
    }

    #[test]
    fn every_proxy_tells_what_is_prefetched_and_by_what() {
        for (kind, entry) in PROXIES.iter().flat_map(|kind| entries().map(|entry| (*kind, entry))) {
            let all = text(kind, &one_app(entry)).to_lowercase();
            for name in ["sec-purpose", "purpose", "x-moz", "user-agent"] {
                let named = match kind {
                    // It passes everything on.
                    Kind::Caddy => "forward_auth ".into(),
                    Kind::Nginx => format!("proxy_set_header {name} $http_"),
                    Kind::Traefik => format!(", {name}, "),
                    Kind::Envoy => format!("- exact: {name}\n"),
                    _ => format!("    \"{name}\",\n"),
                };
                assert!(all.contains(&named), "{named}:\n{all}");
            }
        }
    }

    #[test]
    fn the_servers_of_nginx_stand_without_their_frame() {
        for entry in entries() {
            let setup = Setup { servers_only: true, ..one_app(entry) };
            let servers = text(Kind::Nginx, &setup);
            assert!(!servers.contains("events {}") && !servers.contains("\nhttp {"), "{servers}");
            assert!(servers.contains("\nupstream app {\n    server 127"), "{servers}");
            assert!(
                servers.contains("\nserver {\n    ") && servers.ends_with("\n}\n"),
                "{servers}"
            );
            assert_eq!(servers.matches('{').count(), servers.matches('}').count());
        }
    }

    #[test]
    fn every_snippet_names_the_real_address_and_guard() {
        for (kind, entry) in
            Kind::value_variants().iter().flat_map(|kind| entries().map(|entry| (kind, entry)))
        {
            let doorward = ([127, 0, 0, 1], 4711).into();
            let setup = Setup { doorward, ..setup(vec![app("staff", &[])], entry) };
            let all = text(*kind, &setup);
            assert!(all.contains("/api/auth/staff") && !all.contains("/api/auth/guard"), "{all}");
            assert!(all.contains("4711") && !all.contains("3000"), "{all}");
        }
    }

    #[test]
    fn the_tls_form_guards_the_app_as_the_plain_form_does() {
        // What differs: how a file is started, its listeners, and where Doorward's routes are.
        let routes = |line: &str| line.contains("/api/user") || line.contains("/.well-known/");
        let differs = |line: &str| {
            let starts = [
                "#",
                "-- ",
                "listen ",
                "bind ",
                "address",
                "socket_address",
                "location ~ ",
                "handle ",
                "rule: ",
                "|| ",
                "acl ",
                "use_backend ",
                "@doorward path",
                "- match:",
                "safe_regex",
                "route: ",
                "typed_per_filter_config: ",
                "http://:8000",
                "- filters:",
                "route {",
                "middlewares: [remove-client-headers, remove-cookies]",
                "remove-cookies:",
                "Cookie: ",
            ];
            starts.iter().any(|start| line.starts_with(start)) || routes(line)
        };
        for kind in Kind::value_variants() {
            let [plain, tls] = entries().map(|entry| text(*kind, &one_app(entry)));
            let tls: Vec<_> = tls.lines().map(str::trim).collect();
            for line in plain.lines().map(str::trim).filter(|line| !differs(line)) {
                assert!(tls.contains(&line), "with TLS there is no such line: {line}");
            }
        }
    }
}
