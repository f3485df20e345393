//! `doorward snippet`: prints a complete configuration for a proxy or an app, with the address, the guard and the identity
//! headers of the settings.

mod identity;

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use anyhow::{Context, bail};

use crate::{Settings, spelling::suggest};

#[derive(clap::Args)]
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
}

#[derive(Clone, Copy, clap::ValueEnum)]
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
    /// The files of `deploy/`, which work unchanged with the default settings.
    fn files(self) -> &'static [(&'static str, &'static str)] {
        macro_rules! deployed {
            ($($name:literal),+) => { &[$(($name, include_str!(concat!("../../../deploy/", $name)))),+] };
        }
        match self {
            Self::Nginx => deployed!("nginx.conf"),
            Self::Caddy => deployed!("Caddyfile"),
            Self::Traefik => deployed!("traefik-static.yaml", "traefik.yaml"),
            Self::Haproxy => deployed!("haproxy.cfg", "doorward.lua"),
            Self::Envoy => deployed!("envoy.yaml"),
            Self::Express => deployed!("express.mjs"),
            Self::Fastapi => deployed!("fastapi_app.py"),
            Self::Axum => deployed!("axum.rs"),
        }
    }
}

impl Snippet {
    pub(super) fn run(self, settings: &Settings) -> anyhow::Result<()> {
        let designated = settings.designated_segment.as_str();
        let declared = settings.guards.iter().map(|guard| guard.name.as_str());
        let guards: Vec<_> = ["guard", designated].into_iter().chain(declared).collect();
        if !guards.contains(&self.guard.as_str()) {
            match suggest(&self.guard, guards.iter().copied()) {
                Some(meant) => bail!("there is no guard {}: did you mean {meant}?", self.guard),
                None => bail!("there is no guard {}: there are {}", self.guard, guards.join(", ")),
            }
        }
        let filled_in = |(name, contents): &(&'static str, &str)| {
            let contents = fill_in(contents, settings.listen, &self.guard);
            (*name, identity::fill_in(&contents, &settings.identity_headers))
        };
        let files: Vec<_> = self.kind.files().iter().map(filled_in).collect();
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

    #[test]
    fn every_snippet_names_the_real_address_and_guard() {
        let listen = SocketAddr::from(([0, 0, 0, 0], 4711));
        for kind in Kind::value_variants() {
            let all: String =
                kind.files().iter().map(|(_, text)| fill_in(text, listen, "staff")).collect();
            assert!(all.contains("/api/auth/staff") && !all.contains("/api/auth/guard"), "{all}");
            assert!(all.contains("4711") && !all.contains("3000"), "{all}");
        }
    }
}
