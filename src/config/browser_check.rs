//! What the settings lack for a guard to sign people in with a browser.

use super::Settings;
use crate::access::guard::{AppOrigin, Guard, Mode, is_loopback_host};

/// Checks the settings that the way to the sign-in page and back depends on. `public_base` is the URL that browsers are sent
/// to. Each finding says what to do about it.
pub(crate) fn browser_findings(
    guard: &Guard,
    settings: &Settings,
    public_base: &str,
) -> Vec<String> {
    if guard.origins.is_empty() {
        return vec![without_origins(guard)];
    }
    let findings = [
        only_reports(guard),
        public_url(guard, settings, public_base),
        shared_host(guard, public_base),
        trusted_proxies(guard, settings),
    ];
    findings.into_iter().flatten().collect()
}

fn without_origins(guard: &Guard) -> String {
    let proxy = match guard.proxy {
        Some(_) => "",
        None => " and proxy = \"nginx\", \"caddy\", \"traefik\", \"haproxy\" or \"envoy\"",
    };
    format!(
        "nobody is sent to sign in: set origins = [\"https://app.example.com\"], the URL of the app in the browser{proxy}"
    )
}

fn only_reports(guard: &Guard) -> Option<String> {
    let finding = "mode = \"report\" admits everybody, so nobody is sent to sign in: remove it";
    (guard.mode == Mode::Report).then(|| finding.into())
}

fn public_url(guard: &Guard, settings: &Settings, public_base: &str) -> Option<String> {
    if public_base.starts_with("https://") {
        return match AppOrigin::parse(public_base) {
            Ok(_) => None,
            Err(_) => Some(format!(
                "public_url has a path ({public_base}): the proxy must remove it from requests to Doorward"
            )),
        };
    }
    let state = match &settings.public_url {
        Some(url) => format!("public_url is {url}"),
        None => format!("public_url is not set, so browsers are sent to {public_base}"),
    };
    let is_loopback = AppOrigin::parse(public_base).is_ok();
    let secure = guard.origins.iter().find(|origin| origin.is_https());
    let set = "set public_url to the https:// URL at which the proxy publishes Doorward";
    match secure {
        Some(origin) => Some(format!("{state}, but people come from {origin}: {set}")),
        None if !is_loopback => Some(format!("{state}, but sign-in pages need HTTPS: {set}")),
        None => None,
    }
}

fn shared_host(guard: &Guard, public_base: &str) -> Option<String> {
    let (scheme, rest) = public_base.split_once("://")?;
    let authority = rest.split('/').next()?;
    let own = AppOrigin::parse(&format!("{scheme}://{authority}")).ok()?;
    let own_host = "give Doorward a host of its own in public_url";
    let shares = |origin: &&AppOrigin| origin.host() == own.host();
    let origin = guard.origins.iter().find(shares)?;
    if origin == &own {
        Some(format!("{origin} is also the origin of public_url: {own_host}"))
    } else if is_loopback_host(own.host()) {
        None
    } else {
        Some(format!("{origin} has the host of public_url, and cookies ignore ports: {own_host}"))
    }
}

fn trusted_proxies(guard: &Guard, settings: &Settings) -> Option<String> {
    let proxy = guard.proxy.map_or("the proxy", |style| style.name());
    let trusted = &settings.trusted_proxies;
    if trusted.is_empty() {
        return Some(format!(
            "trusted_proxies is empty, so no request is known to be to the app: add the address of {proxy}"
        ));
    }
    let is_remote = !settings.listen.ip().to_canonical().is_loopback();
    let trusts_remote = trusted.iter().any(|network| !network.addr().to_canonical().is_loopback());
    (is_remote && !trusts_remote).then(|| {
        format!(
            "Doorward listens on {} and trusts only proxies on this machine: if {proxy} runs elsewhere, add its address \
             to trusted_proxies",
            settings.listen
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(settings: Settings, guard: &str) -> Vec<String> {
        let settings = settings.with_toml(&format!("[guards.staff]\nallow = 'true'\n{guard}"));
        settings.check().unwrap();
        let public_base = settings.base_url(settings.listen);
        let guard = settings.guards.by_name("staff").unwrap();
        browser_findings(guard, &settings, &public_base)
    }

    const APP: &str = "proxy = 'caddy'\norigins = ['https://app.example.com']";
    const LOCAL: &str = "proxy = 'caddy'\norigins = ['http://localhost:8000']";

    fn public(url: &str) -> Settings {
        Settings::new().with("public_url", url)
    }

    #[test]
    fn complete_settings_have_no_findings() {
        assert_eq!(findings(public("https://auth.example.com"), APP), [""; 0]);
        assert_eq!(findings(public("https://auth.example.com"), LOCAL), [""; 0]);
        assert_eq!(findings(Settings::new(), LOCAL), [""; 0]);
    }

    #[test]
    fn each_finding_says_what_to_do() {
        let auth = || public("https://auth.example.com");
        let remote = || Settings { listen: "0.0.0.0:3000".parse().unwrap(), ..auth() };
        for (settings, guard, parts) in [
            (auth(), "", ["nobody is sent to sign in", "and proxy = "]),
            (auth(), "proxy = 'caddy'", ["nobody is sent to sign in", "set origins"]),
            (auth(), &format!("{APP}\nmode = 'report'"), ["mode = \"report\"", "remove it"]),
            (Settings::new(), APP, ["public_url is not set", "set public_url to the https://"]),
            (public("http://127.0.0.1:3000"), APP, ["public_url is http://", "set public_url"]),
            (public("http://auth.example.com"), LOCAL, ["need HTTPS", "set public_url"]),
            (public("https://example.com/auth"), APP, ["has a path", "must remove it"]),
            (public("https://app.example.com"), APP, ["is also the origin", "host of its own"]),
            (public("https://app.example.com:8443"), APP, ["cookies ignore ports", "its own"]),
            (public("http://localhost:8000"), LOCAL, ["is also the origin", "host of its own"]),
            (auth().with("trusted_proxies", "none"), APP, ["trusted_proxies is empty", "of caddy"]),
            (remote(), APP, ["trusts only proxies on this machine", "add its address"]),
        ] {
            let found = findings(settings, guard);
            let [finding] = &found[..] else { panic!("{guard}: {found:?}") };
            assert!(parts.iter().all(|part| finding.contains(part)), "{finding}");
        }
        assert_eq!(findings(remote().with("trusted_proxies", "10.0.0.7"), APP), [""; 0]);
    }
}
