//! What the settings lack for a guard to sign people in with a browser, and what is probably wrong with it. `doorward guard
//! check` and `doorward snippet` report the same.

use super::Settings;
use crate::access::{
    factor_policy::FactorPolicy,
    guard::{AppOrigin, Guard, Mode, is_loopback_host},
    registration::RegistrationPolicy,
};

/// What a check of a guard has found. Each finding says what to do about it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct GuardFindings {
    /// What people with a browser need.
    pub(crate) missing: Vec<String>,
    /// What is valid but probably wrong.
    pub(crate) warnings: Vec<String>,
}

/// Checks a guard with the settings around it. `public_base` is the URL that browsers are sent to.
pub(crate) fn guard_findings(
    guard: &Guard,
    settings: &Settings,
    public_base: &str,
) -> GuardFindings {
    let missing = if guard.origins.is_empty() {
        vec![without_origins(guard)]
    } else {
        let findings = [
            only_reports(guard),
            public_url(guard, settings, public_base),
            ports(guard, public_base),
            shared_host(guard, public_base),
            trusted_proxies(guard, settings),
        ];
        findings.into_iter().flatten().collect()
    };
    GuardFindings {
        missing,
        warnings: [guard.condition_warning(), open_sign_up(guard, settings)]
            .into_iter()
            .flatten()
            .collect(),
    }
}

/// Whether strangers create accounts that pass, or that can do nothing.
fn open_sign_up(guard: &Guard, settings: &Settings) -> Option<String> {
    if settings.registration != RegistrationPolicy::Open {
        return None;
    }
    let host = guard.origins.first().map(AppOrigin::host);
    let is_admitted = |has_passkey| guard.condition.admits_stranger(host, has_passkey);
    let needs_factor = settings.factors == FactorPolicy::Required || !is_admitted(false);
    let strangers = match needs_factor {
        true => "anybody passes who signs up and adds a second factor",
        false => "anybody who signs up passes",
    };
    if is_admitted(true) || is_admitted(false) {
        return Some(format!(
            "{strangers}, because registration is open: set registration = \"invited\" or a condition, or ask for a role in \
             allow"
        ));
    }
    guard.condition.reads().roles.then(|| {
        "registration is open, so strangers can create accounts, which have no role and do not pass: set registration = \
         \"invited\" if only your own people should have one"
            .into()
    })
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

/// `doorward snippet` prints files for one port.
fn ports(guard: &Guard, public_base: &str) -> Option<String> {
    let own = AppOrigin::parse(public_base).ok().filter(AppOrigin::is_https)?;
    let secure = guard.origins.iter().filter(|origin| origin.is_https());
    let other = secure.into_iter().find(|origin| origin.port() != own.port())?;
    (other.host() != own.host()).then(|| {
        format!(
            "{other} and public_url have different ports, and a proxy has one for all hosts: use the same port, or \
             `doorward snippet --plain`"
        )
    })
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
        guard_findings(guard, &settings, &public_base).missing
    }

    fn warnings(settings: Settings, allow: &str) -> Vec<String> {
        let settings = settings.with_toml(&format!("[guards.staff]\nallow = '{allow}'\n{APP}"));
        settings.check().unwrap();
        let guard = settings.guards.by_name("staff").unwrap();
        guard_findings(guard, &settings, &settings.base_url(settings.listen)).warnings
    }

    #[test]
    fn open_sign_up_is_warned_of_where_strangers_pass_or_a_role_is_needed() {
        let strangers = "anybody who signs up passes";
        let with_factor = "anybody passes who signs up and adds a second factor";
        let roles = "registration is open, so strangers can create accounts";
        for (allow, expected) in [
            ("true", Some(strangers)),
            ("user.emailVerified", Some(strangers)),
            ("session.phishingResistant && session.strength >= 2", Some(with_factor)),
            ("user.emailVerified && session.strength >= 2", Some(with_factor)),
            (r#"size(user.factors) > 0"#, Some(with_factor)),
            (r#"request.time - session.verifiedAt < duration("1m")"#, Some(strangers)),
            (r#"request.method == "GET""#, Some(strangers)),
            (r#"request.host == "app.example.com""#, Some(strangers)),
            (r#"!("guest" in user.roles)"#, Some(strangers)),
            (r#""staff" in user.roles"#, Some(roles)),
            (r#"user.emailVerified && user.roles.exists(r, r.startsWith("team:"))"#, Some(roles)),
            (r#"user.emailVerified && user.domain == "corp.example""#, None),
        ] {
            let found = warnings(Settings::new(), allow);
            assert_eq!(found.len(), usize::from(expected.is_some()), "{allow}: {found:?}");
            assert!(
                found.iter().all(|text| text.starts_with(expected.unwrap_or("?"))),
                "{found:?}"
            );
            for closed in ["invited", "closed", r#"user.domain == "corp.example""#] {
                let settings = Settings::new().with("registration", closed);
                assert_eq!(warnings(settings, allow), [""; 0], "{allow}");
            }
        }
        let trusting = warnings(Settings::new(), r#"user.domain == "corp.example""#);
        assert!(trusting[0].contains("user.emailVerified"), "{trusting:?}");
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
            (public("https://auth.example.com:8443"), APP, ["different ports", "--plain"]),
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
