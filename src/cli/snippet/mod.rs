//! `doorward snippet`: prints a complete configuration for a proxy or an app, with the address, the guard and the identity
//! headers of the settings.

mod hosts;
mod identity;

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use self::hosts::Hosts;
use super::exit_code::NotFound;
use crate::{
    Settings,
    access::guard::{Guard, ProxyStyle},
    spelling::suggest,
};

#[derive(clap::Args)]
#[command(after_help = "Examples:
  doorward snippet nginx
  doorward snippet caddy staff --into /etc/caddy")]
pub(super) struct Snippet {
    /// Proxy in front of the app, or framework of the app
    #[arg(value_enum)]
    kind: Kind,
    /// Name of the guard
    #[arg(default_value = "guard")]
    guard: String,
    /// Write the files into this folder instead of printing them
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
    /// Overwrite files in the folder that differ
    #[arg(long, requires = "into")]
    force: bool,
    /// Leave TLS to another proxy in front, although the guard has https origins
    #[arg(long)]
    plain: bool,
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

    /// Whether the files carry people with a browser: redirects, pages and cookies.
    fn carries_browsers(self) -> bool {
        !matches!(self, Self::Express | Self::Fastapi | Self::Axum)
    }
}

impl Snippet {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let designated = settings.designated_segment.as_str();
        let declared = settings.guards.iter().map(|guard| guard.name.as_str());
        let guards: Vec<_> = ["guard", designated].into_iter().chain(declared).collect();
        if !guards.contains(&self.guard.as_str()) {
            let hint = match suggest(&self.guard, guards.iter().copied()) {
                Some(meant) => format!("did you mean {meant}?"),
                None => format!("there are {}", guards.join(", ")),
            };
            return Err(NotFound(format!("there is no guard {}: {hint}", self.guard)).into());
        }
        let declared = settings.guards.by_name(&self.guard);
        warn(self.kind, declared.map(|guard| &**guard));
        let hosts = match declared {
            Some(guard) if self.kind.carries_browsers() && !self.plain => {
                Hosts::of(settings.public_url.as_ref(), &guard.origins)?
            }
            _ => None,
        };
        let form = if hosts.is_some() { Form::Tls } else { Form::Plain };
        let has_origins = declared.is_some_and(|guard| !guard.origins.is_empty());
        let filled_in = |(name, contents): &(&'static str, &str)| {
            let mut contents = fill_in(contents, settings.listen, &self.guard);
            if let Some(hosts) = &hosts {
                contents = hosts.fill_in(&contents);
            }
            contents = identity::fill_in(&contents, &settings.identity_headers);
            // After the identity headers, which are found by the whole list of headers.
            if has_origins {
                contents = copy_cookies(&contents);
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
}

/// Warns of what the files and the guard disagree about.
fn warn(kind: Kind, guard: Option<&Guard>) {
    let Some(guard) = guard else { return };
    let name = &guard.name;
    if let Some(style) = guard.proxy
        && style != kind.style()
    {
        let (set, needed) = (style.name(), kind.style().name());
        eprint_line!("warning: guards.{name} has proxy = \"{set}\": these files need \"{needed}\"");
    }
    if !guard.origins.is_empty() && !kind.carries_browsers() {
        eprint_line!(
            "warning: guards.{name} has origins: these files do not carry browsers, a proxy does"
        );
    }
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

/// Replaces the address and the guard that the files of `deploy/` name by those of the settings.
fn fill_in(contents: &str, listen: SocketAddr, guard: &str) -> String {
    let mut address = listen;
    if address.ip().is_unspecified() {
        address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    }
    let default = Settings::default().listen;
    let envoy =
        |address: SocketAddr| format!("address: {}, port_value: {}", address.ip(), address.port());
    contents
        .replace(&envoy(default), &envoy(address))
        .replace(&default.to_string(), &address.to_string())
        .replace("/api/auth/guard", &format!("/api/auth/{guard}"))
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn text(kind: Kind, form: Form) -> String {
        kind.files(form).iter().map(|(_, text)| *text).collect()
    }

    #[test]
    fn every_snippet_names_the_real_address_and_guard() {
        let listen = SocketAddr::from(([0, 0, 0, 0], 4711));
        for (kind, form) in
            Kind::value_variants().iter().flat_map(|kind| [(kind, Form::Plain), (kind, Form::Tls)])
        {
            let all = fill_in(&text(*kind, form), listen, "staff");
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
