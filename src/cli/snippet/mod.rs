//! `doorward snippet`: prints a complete configuration for a proxy or an app, with the address, the guards and the headers
//! of the settings.

mod app;
mod certificate;
mod files;
mod hosts;
mod identity;
mod output;

use std::path::PathBuf;

use anyhow::bail;

use self::{
    app::{App, addresses},
    certificate::Certificate,
    files::Setup,
    hosts::Entry,
    identity::HeaderLists,
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

impl Kind {
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
        let headers = HeaderLists::of_all(apps.iter().map(|app| &app.headers));
        let files = self.kind.files(&Setup {
            apps,
            headers,
            entry,
            doorward: reachable(settings.listen),
            certificate: certificate.unwrap_or_else(Certificate::example),
            servers_only: self.servers_only,
        })?;
        match &self.into {
            Some(folder) => output::write(folder, &files, self.force)?,
            None => output::print(&files),
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
