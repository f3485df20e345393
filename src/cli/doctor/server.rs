//! The server: whether it runs, answers and is ready, and who can reach it.

use std::{net::SocketAddr, time::Duration};

use ipnet::IpNet;

use super::{
    super::{health::readiness, serve::OTHER_DESCRIPTORS},
    finding::{Kind, Report},
};
use crate::{
    Settings,
    account::status::Status,
    config::{MetricsListen, reachable},
};

/// Checks what the running server says about itself, and whether it answers at its address.
pub(super) async fn check(report: &mut Report, running: &Status, settings: &Settings) {
    if running.version != env!("CARGO_PKG_VERSION") {
        report.add(
            Kind::ServerVersion,
            format!(
                "the running server is version {}, this program {}",
                running.version,
                env!("CARGO_PKG_VERSION")
            ),
            "restart the server",
        );
    }
    if let Some(reason) = &running.not_ready {
        report.add(
            Kind::ServerNotReady,
            format!("the server is not ready: {reason}"),
            "its log tells the cause",
        );
    }
    let needed = (settings.connections + OTHER_DESCRIPTORS) as u64;
    if let Some(limit) = running.open_files.filter(|limit| *limit < needed) {
        report.add(
            Kind::OpenFiles,
            format!("the server may open {limit} files, and limits.connections needs {needed}"),
            "raise the limit (LimitNOFILE= in a systemd unit, ulimit -n in a shell), or lower limits.connections",
        );
    }
    let address = reachable(running.listening.unwrap_or(settings.listen));
    answers(report, settings.scheme(), address, running.not_ready.is_some()).await;
}

/// Whether a server answers at this address.
pub(super) async fn answers(
    report: &mut Report,
    scheme: &str,
    address: SocketAddr,
    is_known_unready: bool,
) {
    const LIMIT: Duration = Duration::from_secs(5);
    let readiness = readiness(scheme, address, LIMIT).await;
    match readiness.message {
        None => report.checked(format!("{} is ready", readiness.url)),
        Some(_) if is_known_unready => {}
        Some(message) => report.add(
            Kind::ServerNotAnswering,
            format!("{}: {message}", readiness.url),
            "check that the server runs with these settings (`listen`), and its log",
        ),
    }
}

/// Whether `trusted_proxies` has a network that no proxy needs: one request cannot show that, because it comes from this machine.
pub(super) fn check_proxies(report: &mut Report, settings: &Settings) {
    let is_wide = |network: &&IpNet| match network {
        IpNet::V4(network) => network.prefix_len() < 8,
        IpNet::V6(network) => network.prefix_len() < 16,
    };
    if let Some(network) = settings.trusted_proxies.iter().find(is_wide) {
        report.add(
            Kind::ProxiesTooWide,
            format!("trusted_proxies has {network}, so everybody can choose their address with X-Forwarded-For"),
            "list only the addresses of your proxies in trusted_proxies, and restart the server",
        );
    }
}

/// Whether the server is the first process, as in a container. There it listens on all addresses, and what publishes its port decides who
/// reaches it.
fn is_in_container() -> bool {
    std::fs::read_to_string("/proc/1/comm").is_ok_and(|name| name.trim_end() == "doorward")
}

/// Whether other machines reach the server, or its metrics, past the proxy with https.
fn check_past_proxy(report: &mut Report, settings: &Settings) {
    if !settings.is_reached_by_https() {
        return;
    }
    if is_in_container() {
        report.checked("in a container, whose published ports decide who can connect");
        return;
    }
    if settings.listen.ip().is_unspecified() && settings.tls.pair().is_none() {
        report.add(
            Kind::ListenEverywhere,
            format!(
                "public_url is https, but other machines can also connect to {} without TLS, past the proxy",
                settings.listen
            ),
            "listen on 127.0.0.1, or on the address of the network that the proxy connects from",
        );
    }
    if let MetricsListen::At(address) = settings.metrics_listen
        && address.ip().is_unspecified()
    {
        report.add(
            Kind::MetricsEverywhere,
            format!("other machines can read the metrics at {address}, without TLS and without a password"),
            "let metrics.listen be 127.0.0.1, or the address of the network that Prometheus connects from",
        );
    }
}

/// Whether other machines reach the server without encryption.
pub(super) fn check_exposure(report: &mut Report, settings: &Settings) {
    check_past_proxy(report, settings);
    let is_local = settings.listen.ip().to_canonical().is_loopback();
    report.checked(format!("who can reach {}", settings.listen));
    if settings.is_exposed_on(settings.listen.ip()) {
        report.add(
            Kind::ExposedWithoutTls,
            format!(
                "other machines can connect to {}, and passwords are sent unencrypted",
                settings.listen
            ),
            "listen on 127.0.0.1 behind a proxy with TLS and set public_url to its https:// URL, or set tls.certificate and tls.key",
        );
    } else if !is_local && settings.public_url.is_none() {
        report.add(
            Kind::PublicUrlMissing,
            format!("public_url is not set although other machines can connect to {}", settings.listen),
            "set public_url to the https:// URL at which people reach the service: links and redirects start with it",
        );
    }
}
