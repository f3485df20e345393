//! `[sign_in]`: mailed codes, second factors, and the domain of passkeys.

use std::net::{Ipv4Addr, SocketAddr};

use super::{
    Settings, SettingsError,
    key::Key,
    value::{Choice, Custom, List, NONE, field},
};
use crate::{
    access::{
        factor_policy::FactorPolicy,
        guard::{AppOrigin, InvalidOrigin},
    },
    credential::{
        factor::{FactorKind, Factors},
        passkey::RelyingParty,
    },
};

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "sign_in.mail_code",
        purpose: "Who signs in with a code that is mailed to them: nobody, users without a password, or everybody",
        value: &Choice {
            field: field!(mail_code_sign_in),
            choices: &[
                ("false", MailCodeSignIn::Off),
                ("true", MailCodeSignIn::WithoutPassword),
                ("everybody", MailCodeSignIn::Everybody),
            ],
        },
    },
    Key {
        name: "sign_in.factors",
        purpose: "Whether users may have a second factor, or must have one before guards and the API admit them",
        value: &Choice {
            field: field!(factors),
            choices: &[("optional", FactorPolicy::Optional), ("required", FactorPolicy::Required)],
        },
    },
    Key {
        name: FACTOR_KINDS,
        purpose: "Kinds of second factors that users can add; security keys come with passkeys",
        value: &List {
            field: field!(factor_kinds),
            parse: offered_kind,
            collect: |kinds| Some(with_security_keys(kinds)),
            show: |kinds| {
                let offered = kinds.iter().filter(|kind| *kind != FactorKind::SecurityKey);
                offered.map(|kind| kind.name().to_owned()).collect()
            },
            allowed: || format!("a list of passkey and totp, or {NONE}"),
            choices: &["passkey", "totp"],
            reason: |_| None,
            secret: false,
        },
    },
    Key {
        name: "sign_in.passkey_domain",
        purpose: "Domain that passkeys belong to; auto is the host of public_url",
        value: &Custom {
            field: field!(passkey_domain),
            parse: |text| match text {
                AUTO => Some(None),
                domain => domain_name(domain).map(Some),
            },
            show: |domain| domain.clone().unwrap_or_else(|| AUTO.into()),
            allowed: || format!("{AUTO}, or a domain without https://, such as example.com"),
            secret: false,
        },
    },
    Key {
        name: "sign_in.passkey_origins",
        purpose: "Origins besides that of public_url whose pages may use the passkeys",
        value: &List {
            field: field!(passkey_origins),
            parse: |text| AppOrigin::parse(text).ok().filter(has_domain),
            collect: Some,
            show: |origins| origins.iter().map(ToString::to_string).collect(),
            allowed: || {
                format!(
                    "a list of origins, such as https://auth.example.com and http://localhost:3000, or {NONE}"
                )
            },
            choices: &[],
            reason: not_for_passkeys,
            secret: false,
        },
    },
];

/// The domain of passkeys is the host of `public_url`.
const AUTO: &str = "auto";

/// The setting that offers passkeys, where they can be used.
pub(crate) const FACTOR_KINDS: &str = "sign_in.factor_kinds";

/// Why passkeys have no domain of their own.
const NOT_SET: &str = "public_url is not set";

/// Who signs in with a mailed code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MailCodeSignIn {
    #[default]
    Off,
    /// Users without a password.
    WithoutPassword,
    /// Also users with a password, if their address is verified.
    Everybody,
}

/// All kinds that can be offered.
pub(super) fn all_kinds() -> Factors {
    FactorKind::ALL.into_iter().collect()
}

fn offered_kind(name: &str) -> Option<FactorKind> {
    [FactorKind::Passkey, FactorKind::Totp].into_iter().find(|kind| kind.name() == name)
}

/// Where passkeys are offered, so are security keys: whether a key verifies its user is known only when it is added.
fn with_security_keys(kinds: Vec<FactorKind>) -> Factors {
    let keys = kinds.contains(&FactorKind::Passkey).then_some(FactorKind::SecurityKey);
    kinds.into_iter().chain(keys).collect()
}

/// A host name in lower case. Passkeys cannot belong to an IP address.
fn domain_name(text: &str) -> Option<String> {
    let origin = AppOrigin::parse(&format!("https://{text}")).ok().filter(has_domain)?;
    (origin.port() == 443 && !text.contains([':', '/'])).then(|| origin.host().to_owned())
}

/// Whether the host of an origin is a name and not an address.
fn has_domain(origin: &AppOrigin) -> bool {
    !origin.host().starts_with('[') && origin.host().parse::<Ipv4Addr>().is_err()
}

/// Whether passkeys of a domain can be used on this host: it is the domain or below it.
fn is_within(host: &str, domain: &str) -> bool {
    host == domain || host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.'))
}

/// Whether others can register names below a domain of one label, such as `com`. Browsers know all of these domains.
fn is_shared(domain: &str) -> bool {
    !domain.contains('.')
}

/// Why pages of an origin cannot use passkeys. Follows the origin.
fn not_for_passkeys(item: &str) -> Option<String> {
    Some(match AppOrigin::parse(item) {
        Ok(origin) if has_domain(&origin) => return None,
        Ok(_) => "has an IP address: passkeys belong to a domain".into(),
        Err(InvalidOrigin::PlainHttp) => {
            "is plain HTTP: browsers offer passkeys only with https://, except on localhost".into()
        }
        Err(invalid) => invalid.to_string(),
    })
}

/// Checks the settings that depend on each other.
pub(super) fn check(settings: &Settings) -> Result<(), SettingsError> {
    let refuse = |message: String| Err(SettingsError::new(message));
    let origin = match settings.passkey_site(settings.listen) {
        PasskeySite::Origin(origin) => Some(origin),
        PasskeySite::Without(reason) => {
            let set = [
                ("sign_in.passkey_domain", settings.passkey_domain.is_some()),
                ("sign_in.passkey_origins", !settings.passkey_origins.is_empty()),
            ];
            if let Some((name, _)) = set.into_iter().find(|(_, is_set)| *is_set) {
                return refuse(format!(
                    "{name}: passkeys cannot be used because {reason}: set public_url to https:// and a domain, such as \
                     https://auth.example.com"
                ));
            }
            None
        }
    };
    if let (Some(domain), Some(origin)) = (&settings.passkey_domain, &origin) {
        let hosts = || [origin].into_iter().chain(&settings.passkey_origins).map(AppOrigin::host);
        if !hosts().any(|host| is_within(host, domain)) {
            return refuse(format!(
                "sign_in.passkey_domain: \"{domain}\" is neither the host of public_url, which is {}, nor a domain above it: \
                 correct it, or add an origin of this domain to sign_in.passkey_origins, such as https://{domain}",
                origin.host()
            ));
        }
        if is_shared(domain) && !hosts().any(|host| host == domain) {
            return refuse(format!(
                "sign_in.passkey_domain: \"{domain}\" is shared by sites of others: browsers refuse passkeys for it. Set a \
                 domain that is yours, such as {}",
                origin.host()
            ));
        }
    }
    if settings.factors == FactorPolicy::Required {
        if settings.factor_kinds.is_empty() {
            return refuse(
                "sign_in.factors: \"required\" needs a kind of factor that users can add: name passkey or totp in \
                 sign_in.factor_kinds"
                    .into(),
            );
        }
        if let (PasskeySite::Without(reason), false) = (
            settings.passkey_site(settings.listen),
            settings.factor_kinds.contains(FactorKind::Totp),
        ) {
            return refuse(format!(
                "sign_in.factors: \"required\" needs a kind of factor that users can add, and passkeys cannot be used because \
                 {reason}: set public_url to https:// and a domain, or add totp to sign_in.factor_kinds"
            ));
        }
    }
    Ok(())
}

/// Whether browsers offer passkeys on the service's own pages.
enum PasskeySite {
    /// The origin of the pages.
    Origin(AppOrigin),
    /// Why not. Follows "because".
    Without(&'static str),
}

/// The origin of a URL, which may have a path.
fn origin_of(url: &str) -> Result<AppOrigin, InvalidOrigin> {
    let authority = url.find("://").map_or(0, |colon| colon + "://".len());
    let end = url[authority..].find('/').map_or(url.len(), |slash| authority + slash);
    AppOrigin::parse(&url[..end])
}

impl Settings {
    /// Whether browsers offer passkeys on the pages of a service that listens on this address.
    fn passkey_site(&self, listening: SocketAddr) -> PasskeySite {
        // The port of a service that chooses a free one is not known yet.
        let listening = SocketAddr::new(listening.ip(), listening.port().max(1));
        match (origin_of(&self.base_url(listening)), &self.public_url) {
            (Ok(origin), _) if has_domain(&origin) => PasskeySite::Origin(origin),
            (_, None) => PasskeySite::Without(NOT_SET),
            (Ok(_), _) => PasskeySite::Without("the host of public_url is an IP address"),
            (Err(InvalidOrigin::PlainHttp), _) => PasskeySite::Without("public_url is plain HTTP"),
            (Err(_), _) => PasskeySite::Without("the host of public_url is not a domain"),
        }
    }

    /// The service as browsers know it when they make and use passkeys, if it listens on this address. `None` if passkeys are not
    /// offered.
    pub(crate) fn passkey_relying_party(&self, listening: SocketAddr) -> Option<RelyingParty> {
        match self.passkey_site(listening) {
            PasskeySite::Origin(origin) if self.factor_kinds.contains(FactorKind::Passkey) => {
                let id = self.passkey_domain.clone().unwrap_or_else(|| origin.host().to_owned());
                let mut origins = vec![origin.to_string()];
                for origin in self.passkey_origins.iter().map(ToString::to_string) {
                    if !origins.contains(&origin) {
                        origins.push(origin);
                    }
                }
                Some(RelyingParty { id, origins })
            }
            _ => None,
        }
    }

    /// The kinds of second factors that people can add here.
    pub(crate) fn offered_factors(&self, listening: SocketAddr) -> Factors {
        let has_passkeys = self.passkey_relying_party(listening).is_some();
        let is_offered = |kind: &FactorKind| has_passkeys || *kind == FactorKind::Totp;
        self.factor_kinds.iter().filter(is_offered).collect()
    }

    /// Why passkeys for another domain cannot be used, and what to do.
    pub(crate) fn passkeys_lost_because(&self, domain: &str) -> String {
        if !self.factor_kinds.contains(FactorKind::Passkey) {
            return "add passkey to sign_in.factor_kinds, or remove the passkeys first (doorward user factor reset)".into();
        }
        let set = |reason: &str| {
            format!(
                "{reason}: set public_url to https:// and a domain, and sign_in.passkey_domain to \"{domain}\" if it is \
                 another one"
            )
        };
        match self.passkey_site(self.listen) {
            PasskeySite::Without(reason) => set(reason),
            PasskeySite::Origin(_) if self.public_url.is_none() => set(NOT_SET),
            PasskeySite::Origin(origin) => {
                let own = self.passkey_domain.as_deref().unwrap_or(origin.host());
                let origins = match is_within(origin.host(), domain) {
                    true => String::new(),
                    false => format!(
                        " and add https://{domain} to sign_in.passkey_origins, and let that host still lead to this service"
                    ),
                };
                format!(
                    "with these settings passkeys belong to {own}. Set sign_in.passkey_domain to \"{domain}\"{origins}; or, \
                     if public_url is a mistake, correct it"
                )
            }
        }
    }

    /// Why passkeys are not offered although they could be. Follows "because".
    pub(crate) fn lacks_passkeys_because(&self) -> Option<&'static str> {
        match self.passkey_site(self.listen) {
            PasskeySite::Without(reason) if self.factor_kinds.contains(FactorKind::Passkey) => {
                Some(reason)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{
        Settings,
        access::factor_policy::FactorPolicy,
        config::{keys, tests::load},
        credential::factor::{FactorKind, Factors},
    };

    fn kinds<const N: usize>(kinds: [FactorKind; N]) -> Factors {
        kinds.into_iter().collect()
    }

    #[test]
    fn kinds_of_factors_are_read_and_shown() {
        let shown = |settings: &Settings| {
            let key = keys().find(|key| key.name == "sign_in.factor_kinds").unwrap();
            key.toml_value(settings)
        };
        let defaults = load(&[], &[], "").unwrap();
        assert_eq!(defaults.factor_kinds, kinds(FactorKind::ALL));
        assert_eq!(defaults.factors, FactorPolicy::Optional);
        for (list, expected) in [
            (r#"["passkey"]"#, kinds([FactorKind::Passkey, FactorKind::SecurityKey])),
            (r#"["totp"]"#, kinds([FactorKind::Totp])),
            (r#"["passkey", "totp"]"#, kinds(FactorKind::ALL)),
            ("[]", Factors::default()),
        ] {
            let settings = load(&[], &[], &format!("sign_in.factor_kinds = {list}")).unwrap();
            assert_eq!((&settings.factor_kinds, &*shown(&settings)), (&expected, list));
        }
        let required = load(&[], &[], "sign_in.factors = 'required'").unwrap();
        assert_eq!(required.factors, FactorPolicy::Required);
        for (file, error) in [
            (
                "sign_in.factor_kinds = ['key']",
                "doorward.toml:1:25: sign_in.factor_kinds: \"key\" is not a list of passkey and totp, or none: did you mean passkey?",
            ),
            (
                "sign_in.factors = 'require'",
                "doorward.toml:1:9: sign_in.factors: \"require\" is not optional or required: did you mean required?",
            ),
        ] {
            assert_eq!(load(&[], &[], file), Err(error.into()));
        }
    }

    #[test]
    fn a_required_factor_must_be_one_that_users_can_add() {
        let refused = |file: &str| load(&[], &[], &format!("sign_in.factors = 'required'\n{file}"));
        assert_eq!(
            refused("sign_in.factor_kinds = []").unwrap_err(),
            "sign_in.factors: \"required\" needs a kind of factor that users can add: name passkey or totp in \
             sign_in.factor_kinds"
        );
        let only_passkeys = "sign_in.factor_kinds = ['passkey']\n";
        for (url, reason) in [
            ("auto'\nlisten = '192.0.2.7:3000", "public_url is not set"),
            ("http://127.0.0.1:3000", "the host of public_url is an IP address"),
            ("http://auth.example.com", "public_url is plain HTTP"),
        ] {
            let error = refused(&format!("{only_passkeys}public_url = '{url}'")).unwrap_err();
            assert!(error.contains(&format!("cannot be used because {reason}: set ")), "{error}");
        }
        refused(&format!("{only_passkeys}public_url = 'https://auth.example.com'")).unwrap();
        refused("").unwrap();
    }

    #[test]
    fn passkeys_belong_to_the_host_of_the_public_url() {
        let party = |file: &str| {
            let party = load(&[], &[], file).unwrap();
            let party = party.passkey_relying_party(party.listen);
            party.map(|party| format!("{} {}", party.id, party.origins.join(" ")))
        };
        for (file, expected) in [
            (
                "public_url = 'https://Auth.example.com:443/in'",
                "auth.example.com https://auth.example.com",
            ),
            ("public_url = 'http://localhost:3000'", "localhost http://localhost:3000"),
            ("", "localhost http://localhost:3000"),
            ("listen = '[::]:3001'", "localhost http://localhost:3001"),
            (
                "public_url = 'https://auth.example.com'\nsign_in.passkey_domain = 'Example.com'",
                "example.com https://auth.example.com",
            ),
            (
                "public_url = 'https://new.example'\nsign_in.passkey_domain = 'old.example'\n\
                 sign_in.passkey_origins = ['https://old.example', 'https://new.example']",
                "old.example https://new.example https://old.example",
            ),
        ] {
            assert_eq!(party(file).as_deref(), Some(expected), "{file}");
        }
        for file in [
            "listen = '192.0.2.7:3000'",
            "public_url = 'http://127.0.0.1:3000'",
            "public_url = 'https://192.0.2.1'",
            "public_url = 'https://[::1]:3000'",
            "public_url = 'http://auth.example.com'",
            "public_url = 'https://auth.example.com'\nsign_in.factor_kinds = ['totp']",
        ] {
            assert_eq!(party(file), None, "{file}");
        }
    }

    #[test]
    fn passkeys_of_another_domain_can_be_kept() {
        let advice =
            |file: &str, domain| load(&[], &[], file).unwrap().passkeys_lost_because(domain);
        let url = "public_url = 'https://id.example.com'\n";
        assert_eq!(
            advice(url, "old.example"),
            "with these settings passkeys belong to id.example.com. Set sign_in.passkey_domain to \"old.example\" and add \
             https://old.example to sign_in.passkey_origins, and let that host still lead to this service; or, if public_url \
             is a mistake, correct it"
        );
        // What it advises is allowed.
        let kept = "sign_in.passkey_domain = 'old.example'\nsign_in.passkey_origins = ['https://old.example']";
        let kept = load(&[], &[], &format!("{url}{kept}")).unwrap();
        assert_eq!(kept.passkey_relying_party(kept.listen).unwrap().id, "old.example");
        assert_eq!(
            advice(url, "example.com"),
            "with these settings passkeys belong to id.example.com. Set sign_in.passkey_domain to \"example.com\"; or, if \
             public_url is a mistake, correct it"
        );
        let unset = advice("listen = '192.0.2.7:3000'", "a.example");
        assert!(unset.starts_with("public_url is not set: set public_url to "), "{unset}");
        let local = advice("", "a.example");
        assert_eq!(
            local,
            "public_url is not set: set public_url to https:// and a domain, and sign_in.passkey_domain to \"a.example\" if it is another one"
        );
        let totp = advice("sign_in.factor_kinds = ['totp']", "a.example");
        assert!(totp.starts_with("add passkey to sign_in.factor_kinds, or remove"), "{totp}");
    }

    #[test]
    fn a_domain_that_browsers_would_refuse_is_refused_with_what_to_do() {
        let url = "public_url = 'https://auth.example.com'\n";
        for (file, error) in [
            (
                format!("{url}sign_in.passkey_domain = 'ample.com'"),
                "sign_in.passkey_domain: \"ample.com\" is neither the host of public_url, which is auth.example.com, nor a \
                 domain above it: correct it, or add an origin of this domain to sign_in.passkey_origins, such as \
                 https://ample.com",
            ),
            (
                format!("{url}sign_in.passkey_domain = 'com'"),
                "sign_in.passkey_domain: \"com\" is shared by sites of others: browsers refuse passkeys for it. Set a domain \
                 that is yours, such as auth.example.com",
            ),
            (
                "sign_in.passkey_domain = 'example.com'".into(),
                "sign_in.passkey_domain: \"example.com\" is neither the host of public_url, which is localhost, nor a domain \
                 above it: correct it, or add an origin of this domain to sign_in.passkey_origins, such as https://example.com",
            ),
            (
                "listen = '192.0.2.7:3000'\nsign_in.passkey_domain = 'example.com'".into(),
                "sign_in.passkey_domain: passkeys cannot be used because public_url is not set: set public_url to https:// \
                 and a domain, such as https://auth.example.com",
            ),
            (
                "public_url = 'https://192.0.2.1'\nsign_in.passkey_origins = ['https://a.example']"
                    .into(),
                "sign_in.passkey_origins: passkeys cannot be used because the host of public_url is an IP address: set \
                 public_url to https:// and a domain, such as https://auth.example.com",
            ),
        ] {
            assert_eq!(load(&[], &[], &file), Err(error.into()), "{file}");
        }
        for (name, text, part) in [
            ("passkey_domain", "https://example.com", "is not auto, or a domain without https://"),
            ("passkey_domain", "example.com:443", "is not auto, or a domain without https://"),
            ("passkey_domain", "192.0.2.1", "is not auto, or a domain without https://"),
            ("passkey_origins", "https://192.0.2.1", "has an IP address: passkeys belong to a"),
            ("passkey_origins", "http://a.example", "is plain HTTP: browsers offer passkeys only"),
            ("passkey_origins", "a.example", "is not https:// and a host"),
        ] {
            let error = Settings::new().with(&format!("sign_in.{name}"), text).check();
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with(&format!("sign_in.{name}: \"{text}\" {part}")), "{error}");
        }
    }
}
