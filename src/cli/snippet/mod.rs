//! `doorward snippet`: prints a complete configuration for a proxy or an app, with the address, the guards and the headers
//! of the settings.

mod app;
mod block;
mod certificate;
mod hosts;
mod identity;
mod parts;

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use self::{
    app::{App, addresses},
    certificate::Certificate,
    hosts::Entry,
    identity::HeaderLists,
    parts::PARTS,
};
use super::exit_code::NotFound;
use crate::{
    Settings,
    access::guard::ProxyStyle,
    config::{guard_findings, reachable},
    spelling::suggest,
};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward snippet nginx
  doorward snippet caddy notes cal --app notes=http://127.0.0.1:8081 --app cal=http://127.0.0.1:5232
  doorward snippet nginx notes --servers-only --into /etc/nginx/sites-enabled")]
pub(super) struct Snippet {
    /// Proxy in front of the apps, or framework of the app
    #[arg(value_enum)]
    kind: Kind,
    /// Names of the guards, one for each app
    #[arg(default_value = "guard", value_name = "GUARD")]
    guards: Vec<String>,
    /// Where an app listens: http://HOST:PORT; with several guards, GUARD=http://HOST:PORT for each
    #[arg(long, value_name = "[GUARD=]URL")]
    app: Vec<String>,
    /// Certificate of all hosts, in PEM, with its chain
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Key of the certificate, unless it is in the same file
    #[arg(long, value_name = "FILE", requires = "certificate")]
    key: Option<PathBuf>,
    /// nginx: print only what belongs into the http block, for sites-enabled
    #[arg(long)]
    servers_only: bool,
    /// Leave TLS to another proxy in front, although the guards have https origins
    #[arg(long)]
    plain: bool,
    /// Write the files into this folder instead of printing them
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Overwrite files in the folder that differ
    #[arg(long, requires = "into")]
    force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    Nginx,
    Caddy,
    Traefik,
    Haproxy,
    Envoy,
    Express,
    Fastapi,
    Axum,
}

/// How the proxy is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// By plain HTTP on this machine. The app's host also publishes Doorward's API.
    Plain,
    /// By HTTPS under the hosts of the settings. Doorward has a host of its own.
    Tls,
}

impl Kind {
    /// The files of `deploy/`, which work unchanged with the default settings, or those of `deploy/tls/`.
    fn files(self, form: Form) -> &'static [(&'static str, &'static str)] {
        macro_rules! deployed {
            ($($name:literal in $folder:literal),+) => {
                &[$(($name, include_str!(concat!("../../../deploy/", $folder, $name)))),+]
            };
        }
        match (self, form) {
            (Self::Nginx, Form::Plain) => deployed!("nginx.conf" in ""),
            (Self::Nginx, Form::Tls) => deployed!("nginx.conf" in "tls/"),
            (Self::Caddy, Form::Plain) => deployed!("Caddyfile" in ""),
            (Self::Caddy, Form::Tls) => deployed!("Caddyfile" in "tls/"),
            (Self::Traefik, Form::Plain) => {
                deployed!("traefik-static.yaml" in "", "traefik.yaml" in "")
            }
            (Self::Traefik, Form::Tls) => {
                deployed!("traefik-static.yaml" in "tls/", "traefik.yaml" in "tls/")
            }
            (Self::Haproxy, Form::Plain) => {
                deployed!("haproxy.cfg" in "", "doorward.lua" in "")
            }
            (Self::Haproxy, Form::Tls) => {
                deployed!("haproxy.cfg" in "tls/", "doorward.lua" in "")
            }
            (Self::Envoy, Form::Plain) => deployed!("envoy.yaml" in ""),
            (Self::Envoy, Form::Tls) => deployed!("envoy.yaml" in "tls/"),
            (Self::Express, _) => deployed!("express.mjs" in ""),
            (Self::Fastapi, _) => deployed!("fastapi_app.py" in ""),
            (Self::Axum, _) => deployed!("axum.rs" in ""),
        }
    }

    /// The `proxy` setting of a guard behind these files.
    fn style(self) -> ProxyStyle {
        match self {
            Self::Nginx => ProxyStyle::Nginx,
            Self::Caddy => ProxyStyle::Caddy,
            Self::Traefik => ProxyStyle::Traefik,
            Self::Haproxy | Self::Express | Self::Fastapi | Self::Axum => ProxyStyle::Haproxy,
            Self::Envoy => ProxyStyle::Envoy,
        }
    }

    /// Refuses `--servers-only` for files without a frame.
    fn check_servers_only(self) -> anyhow::Result<()> {
        let instead = match self {
            Self::Nginx => return Ok(()),
            Self::Caddy => "the Caddyfile has only sites: import it from another one as it is",
            Self::Traefik => {
                "traefik.yaml has only routes: the file provider reads it beside others"
            }
            Self::Haproxy => "HAProxy reads several files: haproxy -f common.cfg -f haproxy.cfg",
            Self::Envoy => "Envoy reads one file: copy the listeners and clusters into yours",
            Self::Express | Self::Fastapi | Self::Axum => "these files configure no proxy",
        };
        bail!("--servers-only is for nginx: {instead}")
    }

    /// Whether the files carry people with a browser: redirects, pages and cookies.
    fn carries_browsers(self) -> bool {
        !matches!(self, Self::Express | Self::Fastapi | Self::Axum)
    }
}

impl Snippet {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let (apps, entry) = self.apps(settings)?;
        for app in &apps {
            warn(self.kind, app, settings);
        }
        if self.app.is_empty() && apps.len() > 1 {
            let apps: Vec<_> =
                apps.iter().map(|app| format!("{} at {}", app.guard, app.address)).collect();
            eprint_line!("note: {}: --app GUARD=URL names another address", apps.join(", "));
        }
        let certificate = self.certificate(&entry)?;
        if entry.is_tls() && certificate.is_none() {
            eprint_line!(
                "note: /etc/ssl/doorward is an example of where a certificate is: --certificate FILE names yours"
            );
        }
        if self.servers_only {
            self.kind.check_servers_only()?;
        }
        let form = if entry.is_tls() { Form::Tls } else { Form::Plain };
        let filled_in = |(name, contents): &(&'static str, &str)| {
            let mut contents = write_apps(contents, &apps, &entry);
            contents = entry.fill_in(&contents, &apps);
            contents = fill_in_address(&contents, settings.listen);
            contents = start_beside_it(&contents);
            if let Some(certificate) = &certificate {
                contents = certificate.fill_in(&contents);
            }
            if self.servers_only {
                contents = servers_only(&contents);
            }
            (*name, contents)
        };
        let files: Vec<_> = self.kind.files(form).iter().map(filled_in).collect();
        if let Some(folder) = &self.into {
            return write(folder, &files, self.force);
        }
        for (name, contents) in &files {
            if files.len() > 1 {
                let comment = if name.ends_with(".lua") { "--" } else { "#" };
                print_line!("{comment} ---------- {name} ----------");
            }
            print_line!("{}", contents.trim_end());
        }
        Ok(())
    }

    /// The apps behind the named guards, and how their proxy is reached.
    fn apps<'a>(&'a self, settings: &'a Settings) -> anyhow::Result<(Vec<App<'a>>, Entry)> {
        let addresses = addresses(&self.guards, &self.app)?;
        let mut apps: Vec<App<'_>> = Vec::new();
        for (guard, address) in self.guards.iter().zip(addresses) {
            check_guard(settings, guard)?;
            if apps.iter().any(|other| other.guard == guard) {
                bail!("{guard} is named twice");
            }
            let declared = settings.guards.by_name(guard).map(|guard| &**guard);
            let names = declared.iter().flat_map(|guard| guard.headers.names());
            let all = settings.guards.iter().flat_map(|guard| guard.headers.names());
            let headers = HeaderLists {
                sets: settings.identity_headers.clone(),
                declared: names.map(str::to_owned).collect(),
                of_others: all.map(str::to_owned).collect(),
            };
            let (hosts, suffix) = (Vec::new(), String::new());
            apps.push(App { guard, declared, address, headers, hosts, suffix });
        }
        if !self.kind.carries_browsers() {
            if let [_, other, ..] = &apps[..] {
                bail!(
                    "these files are one app behind one guard: run the command again for {}",
                    other.guard
                );
            }
            return Ok((apps, Entry::of(None, &[], true)?));
        }
        let origins: Vec<_> = apps.iter().map(App::origins).collect();
        let entry = Entry::of(settings.public_url.as_ref(), &origins, self.plain)?;
        let are_several = apps.len() > 1;
        for app in apps.iter_mut().filter(|_| are_several || entry.is_tls()) {
            app.hosts = entry.hosts(app.origins());
            if are_several {
                app.suffix = format!("-{}", app.guard);
            }
        }
        check_hosts(&apps)?;
        Ok((apps, entry))
    }

    /// The certificate that the files name.
    fn certificate(&self, entry: &Entry) -> anyhow::Result<Option<Certificate>> {
        let Some(file) = &self.certificate else { return Ok(None) };
        if !entry.is_tls() {
            bail!(
                "--certificate: these files have no TLS: it needs https origins of each guard and an https public_url, and \
                 no --plain"
            );
        }
        if let (Kind::Haproxy, Some(key)) = (self.kind, &self.key) {
            let (file, key) = (file.display(), key.display());
            bail!(
                "--key: HAProxy reads both from one file: cat {file} {key} > both.pem, and --certificate both.pem"
            );
        }
        Certificate::new(file, self.key.as_deref()).map(Some)
    }
}

impl<'a> App<'a> {
    fn origins(&self) -> &'a [crate::access::guard::AppOrigin] {
        self.declared.map_or(&[], |guard| &guard.origins)
    }
}

/// Checks that there is a guard with this name.
fn check_guard(settings: &Settings, name: &str) -> anyhow::Result<()> {
    let designated = settings.designated_segment.as_str();
    let declared = settings.guards.iter().map(|guard| guard.name.as_str());
    let guards: Vec<_> = ["guard", designated].into_iter().chain(declared).collect();
    if guards.contains(&name) {
        return Ok(());
    }
    let hint = match suggest(name, guards.iter().copied()) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("there are {}", guards.join(", ")),
    };
    Err(NotFound(format!("there is no guard {name}: {hint}")).into())
}

/// Checks that a host tells which of several apps a request is for.
fn check_hosts(apps: &[App<'_>]) -> anyhow::Result<()> {
    let mut known: Vec<(&str, &str)> = Vec::new();
    for app in apps.iter().filter(|_| apps.len() > 1) {
        if app.hosts.is_empty() {
            bail!(
                "guard {} has no origins: the hosts of their origins tell several apps apart",
                app.guard
            );
        }
        for host in &app.hosts {
            if let Some((_, other)) = known.iter().find(|(other, _)| other == host) {
                bail!("{host} is a host of guard {other} and of guard {}", app.guard);
            }
            known.push((host, app.guard));
        }
    }
    Ok(())
}

/// Writes the apps into a file of `deploy/`.
fn write_apps(contents: &str, apps: &[App<'_>], entry: &Entry) -> String {
    if let [app] = apps {
        return write_app(contents, app, entry);
    }
    let (mut text, mut written) = (contents.to_owned(), Vec::new());
    for part in PARTS {
        text = part.block.replace(&text, |block| {
            let of_app = |app| write_app(&(part.distinguish)(block, app, apps), app, entry);
            let is_long = block.lines().count() > 4;
            let parts: Vec<_> = apps.iter().map(of_app).collect();
            // Stands for this part until the rest is written for all apps. It is indented as a part of what is around it.
            let indentation = &block[..block.len() - block.trim_start().len()];
            let mark = format!("{indentation}\u{0}{}\u{0}\n", written.len());
            written.push((mark.clone(), parts.join(if is_long { "\n" } else { "" })));
            mark
        });
    }
    let names = apps.iter().flat_map(|app| app.headers.declared.iter().cloned());
    let sets = apps.first().map(|app| app.headers.sets.clone()).unwrap_or_default();
    let mut declared: Vec<String> = Vec::new();
    for name in names {
        if !declared.iter().any(|known| known.eq_ignore_ascii_case(&name)) {
            declared.push(name);
        }
    }
    let of_others = apps.iter().flat_map(|app| app.headers.of_others.iter().cloned()).collect();
    text = identity::fill_in(&text, &HeaderLists { sets, declared, of_others });
    if !entry.is_tls() {
        // Envoy compares the hosts of virtual hosts with their ports.
        let routes = "                route_config:\n";
        let ignoring = format!("{routes}                  ignore_port_in_host_matching: true\n");
        text = text.replace(routes, &ignoring);
    }
    // A later part may contain an earlier one.
    for (mark, part) in written.iter().rev() {
        text = text.replace(mark, part);
    }
    text
}

/// Writes an app into its part of a file.
fn write_app(text: &str, app: &App<'_>, entry: &Entry) -> String {
    let App { guard, address, headers, suffix, .. } = app;
    let mut text = text.replace("/api/auth/guard", &format!("/api/auth/{guard}"));
    text = entry.fill_in_app(&text, app);
    text = identity::fill_in(&text, headers);
    // After the identity headers, which are found by the whole list of headers.
    if !app.origins().is_empty() {
        text = copy_cookies(&text);
    }
    let host = match address.host.contains(':') {
        true => format!("\"{}\"", address.host),
        false => address.host.clone(),
    };
    text = text
        .replace(
            "address: 127.0.0.1, port_value: 8080",
            &format!("address: {host}, port_value: {}", address.port),
        )
        .replace("127.0.0.1:8080", &address.to_string())
        .replace("--port 8080", &format!("--port {}", address.port));
    if address.is_name() {
        // Envoy looks up names only in such a cluster.
        let cluster = format!("    - name: app{suffix}\n      connect_timeout: 2s\n");
        text = text.replace(&cluster, &format!("{cluster}      type: STRICT_DNS\n"));
    }
    text
}

/// Warns of what the files and the guard disagree about, and of what `doorward guard check` finds.
fn warn(kind: Kind, app: &App<'_>, settings: &Settings) {
    let Some(guard) = app.declared else { return };
    let name = &guard.name;
    let warn = |text: &str| eprint_line!("warning: guards.{name}: {text}");
    if let Some(style) = guard.proxy
        && style != kind.style()
    {
        let (set, needed) = (style.name(), kind.style().name());
        warn(&format!("has proxy = \"{set}\", and these files need \"{needed}\""));
    }
    if !guard.origins.is_empty() && !kind.carries_browsers() {
        warn("has origins, and these files do not carry browsers: a proxy does");
    }
    let base = settings.base_url(settings.listen);
    let findings = guard_findings(guard, settings, &base);
    // A guard without origins is not meant for browsers.
    let is_for_browsers = kind.carries_browsers() && !guard.origins.is_empty();
    let missing = findings.missing.iter().filter(|_| is_for_browsers);
    missing.chain(&findings.warnings).for_each(|finding| warn(finding));
}

/// The part of nginx.conf that belongs into its http block.
fn servers_only(contents: &str) -> String {
    let Some((comment, rest)) = contents.split_once("events {}\n\nhttp {\n") else {
        return contents.to_owned();
    };
    let about = comment.lines().next().unwrap_or_default();
    let inside = rest.trim_end().strip_suffix('}').unwrap_or(rest);
    let lines = inside.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
    let place = "# For the http block of nginx.conf, such as in /etc/nginx/sites-enabled. One file for all guards: it declares\n\
                 # the names of upstreams and variables once.";
    let size = "variables_hash_max_size 2048;";
    let text = format!("{about}\n{place}\n\n{}\n", lines.collect::<Vec<_>>().join("\n").trim_end());
    text.replace(size, &format!("# Delete this line if nginx.conf has it already.\n{size}"))
}

/// Says how to start the proxy or the app from the folder of the file, wherever that is: `deploy/` is a folder of the repository.
fn start_beside_it(contents: &str) -> String {
    const START: &str = "Start: ";
    let Some(line) = contents.lines().find(|line| line.contains(START)) else {
        return contents.to_owned();
    };
    let folders =
        ["cd deploy/tls && ", "cd deploy && ", "--app-dir deploy ", "deploy/tls/", "deploy/"];
    let command = folders.iter().fold(line.to_owned(), |line, folder| line.replace(folder, ""));
    let command = command.replace("haproxy -f tls/", "haproxy -f ");
    contents.replacen(line, &command.replace(START, "Start in the folder of this file: "), 1)
}

/// Traefik cannot remove single cookies. It replaces them all by those that a guard with `proxy = "traefik"` returns: the
/// cookies of the request without Doorward's.
fn copy_cookies(contents: &str) -> String {
    contents.replace("authResponseHeaders: [", "authResponseHeaders: [Cookie, ")
}

/// Writes all files, or none if one exists and differs.
fn write(folder: &Path, files: &[(&str, String)], force: bool) -> anyhow::Result<()> {
    for (name, contents) in files {
        let path = folder.join(name);
        let differs = match fs::read(&path) {
            Ok(existing) => existing != contents.as_bytes(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        };
        if differs && !force {
            bail!("{} exists and differs: use --force to overwrite it", path.display());
        }
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    for (name, contents) in files {
        let path = folder.join(name);
        fs::write(&path, contents).with_context(|| path.display().to_string())?;
        print_line!("{}", path.display());
    }
    Ok(())
}

/// Replaces the address of Doorward that the files of `deploy/` name by that of the settings.
fn fill_in_address(contents: &str, listen: SocketAddr) -> String {
    let (address, default) = (reachable(listen), Settings::default().listen);
    let envoy =
        |address: SocketAddr| format!("address: {}, port_value: {}", address.ip(), address.port());
    contents
        .replace(&envoy(default), &envoy(address))
        .replace(&default.to_string(), &address.to_string())
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn text(kind: Kind, form: Form) -> String {
        kind.files(form).iter().map(|(_, text)| *text).collect()
    }

    fn app(guard: &'static str, hosts: &[&str]) -> App<'static> {
        App {
            guard,
            declared: None,
            address: app::AppAddress::default_of(0),
            headers: HeaderLists::default(),
            hosts: hosts.iter().map(|host| (*host).to_owned()).collect(),
            suffix: String::new(),
        }
    }

    const FORMS: [Form; 2] = [Form::Plain, Form::Tls];
    const PROXIES: [Kind; 5] =
        [Kind::Nginx, Kind::Caddy, Kind::Traefik, Kind::Haproxy, Kind::Envoy];

    /// Two apps with hosts, addresses and headers of their own.
    fn two_apps() -> Vec<App<'static>> {
        let headers = |name: &str| HeaderLists {
            sets: Vec::new(),
            declared: vec![name.to_owned()],
            of_others: ["X-notes-User", "X-cal-User", "X-Far-User"].map(str::to_owned).into(),
        };
        let mut apps = vec![
            app("notes", &["notes.one.test", "notes.two.test"]),
            App { address: app::AppAddress::default_of(7), ..app("cal", &["cal.one.test"]) },
        ];
        for app in &mut apps {
            app.suffix = format!("-{}", app.guard);
            app.headers = headers(&format!("X-{}-User", app.guard));
        }
        apps
    }

    #[test]
    fn no_file_names_a_folder_of_the_repository() {
        let apps = [Kind::Express, Kind::Fastapi, Kind::Axum];
        for (kind, form) in
            PROXIES.into_iter().chain(apps).flat_map(|kind| FORMS.map(|form| (kind, form)))
        {
            for (name, contents) in kind.files(form) {
                let written = start_beside_it(contents);
                for folder in ["deploy", "examples/", "docs/", "tls/"] {
                    let line = written.lines().find(|line| line.contains(folder));
                    assert_eq!(line, None, "{name}");
                }
                let starts =
                    written.lines().any(|line| line.contains("Start in the folder of this file: "));
                assert_eq!(starts, contents.contains("Start: "), "{name}");
            }
        }
    }

    #[test]
    fn every_proxy_serves_all_apps_with_their_own_guard_address_hosts_and_headers() {
        for entry in [
            Entry::Tls { doorward: "door.one.test".into(), port: 8443 },
            Entry::Plain { port: 8123 },
        ] {
            let form = if entry.is_tls() { Form::Tls } else { Form::Plain };
            for kind in PROXIES {
                let apps = two_apps();
                let all = entry.fill_in(&write_apps(&text(kind, form), &apps, &entry), &apps);
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
                for rest in ["/api/auth/guard", "example.com", "\u{0}", ":8000", " 8000"] {
                    assert!(!all.contains(rest), "{rest}:\n{all}");
                }
                let port = if entry.is_tls() { "8443" } else { "8123" };
                assert!(all.contains(port), "{all}");
                assert!(!entry.is_tls() || all.contains("door.one.test"), "{all}");
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
        for (entry, form) in [
            (Entry::Tls { doorward: "door.one.test".into(), port: 8443 }, Form::Tls),
            (Entry::Plain { port: 8123 }, Form::Plain),
        ] {
            for kind in PROXIES {
                let (mut apps, count) = (two_apps(), 2);
                let several = write_apps(&text(kind, form), &apps, &entry);
                apps.truncate(1);
                let one = write_apps(&text(kind, form), &apps, &entry);
                for (all, hosts) in [(several, count), (one, 1)] {
                    let all = all.to_lowercase();
                    let lines = |line: String| all.matches(&line).count();
                    for name in ["x-notes-user", "x-cal-user", "x-far-user"] {
                        let (removals, expected) = match kind {
                            // Set by the guard, or to nothing.
                            Kind::Nginx => (lines(format!("proxy_set_header {name} ")), hosts),
                            // What all sites import, or each site by itself.
                            Kind::Caddy => {
                                let sites = if form == Form::Tls { 1 } else { hosts };
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
        for form in [Form::Plain, Form::Tls] {
            for name in ["Port", "Scheme", "Ssl", "Prefix", "Server"] {
                let line = format!("proxy_set_header X-Forwarded-{name} \"\";\n");
                assert_eq!(text(Kind::Nginx, form).matches(&line).count(), 2, "{line}");
            }
            for name in ["Scheme", "Ssl", "Prefix"] {
                let line = format!("          X-Forwarded-{name}: \"\"\n");
                assert_eq!(text(Kind::Traefik, form).matches(&line).count(), 1, "{line}");
            }
        }
    }

    #[test]
    fn every_proxy_tells_what_is_prefetched_and_by_what() {
        for (kind, form) in PROXIES.iter().flat_map(|kind| FORMS.map(|form| (*kind, form))) {
            let all = text(kind, form).to_lowercase();
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
    fn the_parts_of_the_files_are_found_once() {
        for form in [Form::Plain, Form::Tls] {
            for part in PARTS {
                let found: usize = PROXIES
                    .iter()
                    .map(|kind| text(*kind, form).matches(part.block.anchor).count())
                    .sum();
                assert_eq!(found, 1, "{}", part.block.anchor);
            }
        }
    }

    #[test]
    fn the_servers_of_nginx_stand_without_their_frame() {
        for form in [Form::Plain, Form::Tls] {
            let servers = servers_only(&text(Kind::Nginx, form));
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
        let listen = SocketAddr::from(([0, 0, 0, 0], 4711));
        for (kind, form) in
            Kind::value_variants().iter().flat_map(|kind| [(kind, Form::Plain), (kind, Form::Tls)])
        {
            let app = app("staff", &[]);
            let entry = Entry::Plain { port: 8000 };
            let all = write_apps(&text(*kind, form), &[app], &entry);
            let all = fill_in_address(&all, listen);
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
            let tls = text(*kind, Form::Tls);
            let tls: Vec<_> = tls.lines().map(str::trim).collect();
            for line in
                text(*kind, Form::Plain).lines().map(str::trim).filter(|line| !differs(line))
            {
                assert!(tls.contains(&line), "deploy/tls has no such line: {line}");
            }
        }
    }
}
