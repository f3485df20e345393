//! Asks the public URL for this server, and the server how the request arrived: whether a proxy passes requests to it, and with
//! the address of the client.

use std::{
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use axum::http::Method;
use hyper::Uri;
use serde::Deserialize;
use uuid::Uuid;

use super::{
    certificate,
    finding::{Kind, Report},
};
use crate::{
    Settings,
    clock::Timestamp,
    config::PublicUrl,
    control::AdminClient,
    http::{
        api::admin::probes::{self, ProbeResult},
        paths::METADATA,
    },
    network::{Arrival, PROBE_HEADER},
    outbound::http::{self, Error, HttpResponse},
};

/// Where the server is told of requests, and tells how they arrived.
const PATH: &str = "/api/admin/probes";
/// A documentation address (RFC 5737), which no client has.
const FORGED: &str = "192.0.2.123";
/// Clocks may differ by this much, and an answer may be this old.
const MAX_CLOCK_DIFFERENCE: Duration = Duration::from_secs(30);
/// How many times to ask before giving up to reach this instance among others.
const ATTEMPTS: usize = 8;
/// The time for one answer.
const LIMIT: Duration = Duration::from_secs(10);

pub(super) async fn check(
    report: &mut Report,
    settings: &Settings,
    client: Option<&AdminClient>,
    now: Timestamp,
) {
    let Some(public_url) = &settings.public_url else {
        report.checked("public_url is not set");
        return;
    };
    let url = public_url.to_string();
    let Ok(uri) = url.parse::<Uri>() else { return };
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let is_local = host == "localhost"
        || host.parse().is_ok_and(|ip: std::net::IpAddr| ip.to_canonical().is_loopback());
    if !public_url.is_https() && !is_local {
        report.add(
            Kind::PublicUrlPlain,
            format!("public_url is {url}: passwords and tokens are sent unencrypted"),
            "publish the service with https:// and correct public_url",
        );
    }
    let probe = Probe { url: &url, client };
    let place = format!("the certificate of {url}");
    let (answer, arrival) = match probe.ask_until_arrival(&[], settings).await {
        Ok(asked) => asked,
        // Whoever has answered is not trusted, so what they have answered does not count.
        Err(Error::Certificate { cause, .. }) => {
            certificate::report_invalid(report, &place, &host, cause);
            return;
        }
        Err(error @ Error::NoIssuers) => {
            report.checked(format!("{place}: not checked, because {error}"));
            return;
        }
        Err(error) => {
            report.add(
                Kind::PublicUrlUnreachable,
                format!("public_url {url}: {error}"),
                "check that the proxy runs, that DNS names it, and that this machine may connect to it",
            );
            return;
        }
    };
    certificate::check_expiry(report, &place, &host, &answer.certificates, now);
    check_clock(report, &url, &answer, now);
    if !is_doorward(&answer, settings) {
        let text = match answer.status {
            200 => "the answer is not from Doorward".to_owned(),
            status => format!("the answer has status {status}"),
        };
        report.add(
            Kind::PublicUrlElsewhere,
            format!("public_url {url} does not lead to this server: {text}"),
            format!("let the proxy pass {} to Doorward (`doorward snippet` prints its configuration), or correct public_url", METADATA),
        );
        return;
    }
    if client.is_none() {
        report.checked(format!(
            "public_url {url} leads to a Doorward; set data_folder to find out how requests arrive"
        ));
        return;
    }
    let Some(arrival) = arrival else {
        report.add(
            Kind::PublicUrlElsewhere,
            format!("public_url {url} leads to another server than this one"),
            "let the proxy pass requests to this server, stop the other one, or correct public_url",
        );
        return;
    };
    report.checked(format!("public_url {url} leads to this server"));
    let forged = [("x-forwarded-for", FORGED)];
    let forged =
        probe.ask_until_arrival(&forged, settings).await.ok().and_then(|(_, arrival)| arrival);
    judge(report, public_url, answer.local, &arrival, forged.as_ref());
}

/// Judges how requests arrive: an honest one from `local`, and one with a forged address.
fn judge(
    report: &mut Report,
    public_url: &PublicUrl,
    local: SocketAddr,
    honest: &Arrival,
    forged: Option<&Arrival>,
) {
    let same_end = |peer: &SocketAddr| {
        (peer.ip().to_canonical(), peer.port()) == (local.ip().to_canonical(), local.port())
    };
    // The address that was forged counts, although the proxy has named the one that it got the request from.
    let is_believed = |forged: &&Arrival| forged.client.to_string() == FORGED;
    let too_wide = |report: &mut Report, client: IpAddr| {
        report.add(
            Kind::ProxiesTooWide,
            format!(
                "trusted_proxies trusts {client}, which is a client of public_url: with X-Forwarded-For: {FORGED} it \
                 counted as {FORGED}"
            ),
            "list only the addresses of your proxies in trusted_proxies, and restart the server",
        );
    };
    if honest.peer.as_ref().is_some_and(same_end) {
        report.checked("no proxy is between public_url and the server");
        if forged.as_ref().is_some_and(is_believed) && !local.ip().to_canonical().is_loopback() {
            too_wide(report, local.ip().to_canonical());
        }
        return;
    }
    let peer = honest
        .peer
        .map_or_else(|| "unknown".to_owned(), |peer| peer.ip().to_canonical().to_string());
    report.checked(format!("requests to public_url arrive from {peer}"));
    let is_forgeable = forged.is_some_and(|forged| last_hop(forged) == Some(FORGED));
    if honest.forwarded_for.is_none() {
        report.add(
            Kind::ProxyHidesClients,
            format!("requests to public_url arrive from {peer} without X-Forwarded-For, so all clients look alike"),
            "let the proxy send the client's address in X-Forwarded-For: one attacker uses up the limits of everybody",
        );
    } else if !honest.is_trusted {
        report.add(
            Kind::ProxyUntrusted,
            format!("the proxy {peer} is not in trusted_proxies, so all clients look like {peer}"),
            format!("add \"{peer}\" to trusted_proxies, and restart the server"),
        );
    } else if !is_forgeable
        && let Some(forged) = forged.filter(is_believed)
        && let Some(client) = last_hop(forged).and_then(|hop| hop.parse().ok())
        && !is_same_machine(client, honest.peer)
    {
        too_wide(report, client);
    }
    // Also where it names no client itself, or is not trusted yet: whoever mends only that lets everybody choose an address.
    if is_forgeable {
        report.add(
            Kind::ProxyForgeable,
            "the proxy passes X-Forwarded-For of clients on, so everybody can forge an address",
            "let the proxy replace it (nginx: proxy_set_header X-Forwarded-For $remote_addr) or append to it",
        );
    }
    let scheme = if public_url.is_https() { "https" } else { "http" };
    if let Some(sent) = honest.forwarded_proto.as_deref().filter(|sent| *sent != scheme) {
        report.add(
            Kind::ProxyScheme,
            format!("the proxy sends X-Forwarded-Proto: {sent}, but public_url is {scheme}://"),
            format!("let the proxy send {scheme}: conditions read it as request.scheme"),
        );
    }
}

/// Whether this command is on the machine of the proxy, which is rightly trusted.
fn is_same_machine(client: IpAddr, proxy: Option<SocketAddr>) -> bool {
    proxy.is_some_and(|proxy| {
        let proxy = proxy.ip().to_canonical();
        proxy == client.to_canonical() || proxy.is_loopback() && client.to_canonical().is_loopback()
    })
}

fn last_hop(arrival: &Arrival) -> Option<&str> {
    arrival.forwarded_for.as_deref()?.rsplit(',').next().map(str::trim)
}

/// Compares the clock of this machine with the time in the answer.
fn check_clock(report: &mut Report, url: &str, answer: &HttpResponse, now: Timestamp) {
    let Some(date) = answer.date() else { return };
    let difference = now.seconds() - date.seconds();
    if difference.unsigned_abs() > MAX_CLOCK_DIFFERENCE.as_secs() {
        let way = if difference > 0 { "ahead of" } else { "behind" };
        report.add(
            Kind::ClockPublic,
            format!(
                "the clock of this machine is {} s {way} that of {url}",
                difference.unsigned_abs()
            ),
            "synchronise the clocks (systemd-timesyncd, chrony): tokens expire by the clock",
        );
    }
}

fn is_doorward(answer: &HttpResponse, settings: &Settings) -> bool {
    #[derive(Deserialize)]
    struct Metadata {
        issuer: String,
        revocations_uri: String,
    }
    answer.status == 200
        && answer.json().is_some_and(|metadata: Metadata| {
            metadata.issuer == settings.token.issuer && !metadata.revocations_uri.is_empty()
        })
}

/// Requests to the public URL.
struct Probe<'a> {
    url: &'a str,
    /// The running server.
    client: Option<&'a AdminClient>,
}

impl Probe<'_> {
    /// Asks, and returns how the request arrived at this server. Other instances may share the public URL, so it asks again
    /// if another one has answered.
    async fn ask_until_arrival(
        &self,
        headers: &[(&str, &str)],
        settings: &Settings,
    ) -> Result<(HttpResponse, Option<Arrival>), Error> {
        let mut asked = self.ask(headers).await?;
        for _ in 1..ATTEMPTS {
            if asked.1.is_some() || self.client.is_none() || !is_doorward(&asked.0, settings) {
                break;
            }
            asked = self.ask(headers).await?;
        }
        Ok(asked)
    }

    async fn ask(
        &self,
        headers: &[(&str, &str)],
    ) -> Result<(HttpResponse, Option<Arrival>), Error> {
        let nonce = Uuid::new_v4().simple().to_string();
        self.announce(&nonce).await;
        // The query keeps caches from answering.
        let url = format!("{}{}?probe={nonce}", self.url, METADATA);
        let own = [(PROBE_HEADER, nonce.as_str()), ("cache-control", "no-cache")];
        let answer = http::get(&url, &[&own, headers].concat(), LIMIT).await?;
        let arrival = match self.client {
            Some(client) => {
                let result = client.get::<ProbeResult>(&format!("{PATH}/{nonce}")).await;
                result.ok().and_then(|result| result.arrival)
            }
            None => None,
        };
        Ok((answer, arrival))
    }

    async fn announce(&self, nonce: &str) {
        if let Some(client) = self.client {
            let probe = probes::Probe { nonce: nonce.to_owned() };
            // Without it, the request is not found to have arrived.
            let _ = client.order::<()>(Method::POST, PATH, &probe).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(url: &str, honest: &Arrival, forged: &Arrival) -> String {
        let mut report = Report::default();
        let local = "198.51.100.7:5000".parse().unwrap();
        let url = PublicUrl::parse(url).unwrap();
        judge(&mut report, &url, local, honest, Some(forged));
        report.names().join(" ")
    }

    fn arrival(peer: &str, is_trusted: bool, forwarded_for: Option<&str>) -> Arrival {
        Arrival {
            peer: Some(peer.parse().unwrap()),
            is_trusted,
            client: [198, 51, 100, 7].into(),
            forwarded_for: forwarded_for.map(str::to_owned),
            forwarded_proto: Some("https".into()),
        }
    }

    #[test]
    fn a_proxy_that_tells_the_real_client_is_good() {
        let (https, proxy) = ("https://auth.example.com", "10.0.0.9:4711");
        let real = arrival(proxy, true, Some("198.51.100.7"));
        let appended = arrival(proxy, true, Some("192.0.2.123, 198.51.100.7"));
        assert_eq!(found(https, &real, &real), "");
        assert_eq!(found(https, &real, &appended), "");
        let direct = arrival("198.51.100.7:5000", false, None);
        assert_eq!(found(https, &direct, &direct), "");
        // This command runs on the machine of the proxy.
        for proxy in ["198.51.100.7:4711", "127.0.0.1:4711"] {
            let client = if proxy.starts_with("127") { "::1" } else { "198.51.100.7" };
            let believed = Arrival {
                client: FORGED.parse().unwrap(),
                ..arrival(proxy, true, Some(&format!("192.0.2.123, {client}")))
            };
            assert_eq!(found(https, &arrival(proxy, true, Some(client)), &believed), "", "{proxy}");
        }
    }

    #[test]
    fn each_mistake_of_a_proxy_is_found() {
        let (https, proxy) = ("https://auth.example.com", "10.0.0.9:4711");
        let real = arrival(proxy, true, Some("198.51.100.7"));
        let forged = arrival(proxy, true, Some("192.0.2.123"));
        let untrusted = arrival(proxy, false, Some("198.51.100.7"));
        let silent = arrival(proxy, true, None);
        assert_eq!(found(https, &real, &forged), "proxy-forgeable");
        assert_eq!(found(https, &untrusted, &untrusted), "proxy-untrusted");
        let believed = Arrival {
            client: FORGED.parse().unwrap(),
            ..arrival(proxy, true, Some("192.0.2.123, 198.51.100.7"))
        };
        assert_eq!(found(https, &real, &believed), "proxies-too-wide");
        let direct = arrival("198.51.100.7:5000", true, None);
        let believed = Arrival { client: FORGED.parse().unwrap(), ..direct.clone() };
        assert_eq!(found(https, &direct, &believed), "proxies-too-wide");
        assert_eq!(found(https, &silent, &silent), "proxy-hides-clients");
        // It only passes on what a client sends.
        assert_eq!(found(https, &silent, &forged), "proxy-hides-clients proxy-forgeable");
        let unknown = arrival(proxy, false, Some("192.0.2.123"));
        assert_eq!(found(https, &untrusted, &unknown), "proxy-untrusted proxy-forgeable");
        assert_eq!(found("http://localhost:8000", &real, &real), "proxy-scheme");
    }
}
