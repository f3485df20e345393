//! The headers that tell the app who the user is: Doorward's own, and those that a guard declares. A proxy copies those of the
//! guard to the app and removes those of the client.

use crate::{config::IdentityHeaders, http::identity_names as names};

/// The headers of an app, or of all apps of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct HeaderLists {
    pub(super) sets: Vec<IdentityHeaders>,
    /// Those that the guard declares, as the operator has written them.
    pub(super) declared: Vec<String>,
    /// Those that other guards declare. An app may trust them, too, so no client may send them to any host.
    pub(super) of_others: Vec<String>,
}

/// Headers with which other systems name the user. No client may send them, and a guard may declare them.
pub(super) const OTHER_SYSTEMS: [&str; 15] = [
    "X-Remote-User",
    "X-Remote-Name",
    "X-Remote-Email",
    "X-Remote-Group",
    "X-Remote-Groups",
    "X-WebAuth-User",
    "X-WebAuth-Name",
    "X-WebAuth-Fullname",
    "X-WebAuth-Email",
    "X-WebAuth-Role",
    "X-WebAuth-Groups",
    "X-Forwarded-User",
    "X-Forwarded-Preferred-Username",
    "X-Forwarded-Email",
    "X-Forwarded-Groups",
];

impl HeaderLists {
    /// The headers of these apps together, for what the apps share in a file.
    pub(super) fn of_all<'a>(apps: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut all = Self::default();
        for headers in apps {
            all.sets.clone_from(&headers.sets);
            for name in &headers.declared {
                if !all.declares(name) {
                    all.declared.push(name.clone());
                }
            }
            all.of_others.extend_from_slice(&headers.of_others);
        }
        all
    }

    /// The headers of all sets in lower case, which no client may send.
    pub(super) fn of_sets() -> impl Iterator<Item = &'static str> {
        names::X_AUTH.into_iter().chain(names::REMOTE).chain(names::X_AUTH_REQUEST)
    }

    /// The names in lower case of those that are copied to the app.
    pub(super) fn copied(&self) -> Vec<String> {
        let others = self.sets.iter().flat_map(|set| match set {
            IdentityHeaders::Remote => names::REMOTE,
            IdentityHeaders::XAuthRequest => names::X_AUTH_REQUEST,
        });
        let mut copied: Vec<_> =
            names::X_AUTH.into_iter().chain(others).map(str::to_owned).collect();
        let declared: Vec<_> =
            self.declared().into_iter().filter(|name| !copied.contains(name)).collect();
        copied.extend(declared);
        copied
    }

    /// The names in lower case of those that no client may send.
    pub(super) fn removed(&self) -> Vec<String> {
        let is_in_a_set = |name: &String| Self::of_sets().any(|known| known == name);
        let declared = self.declared().into_iter().filter(|name| !is_in_a_set(name));
        Self::of_sets().map(str::to_owned).chain(declared).collect()
    }

    /// The names in lower case of those that only other guards set.
    pub(super) fn only_of_others(&self) -> Vec<String> {
        let removed = self.removed();
        let others = self.of_others.iter().map(|name| name.to_ascii_lowercase());
        let mut others: Vec<_> = others.filter(|name| !removed.contains(name)).collect();
        others.sort_unstable_by(|one, other| other.cmp(one));
        others.dedup();
        others
    }

    /// The names in lower case of those that guards declare, this one or others.
    pub(super) fn declared_by_guards(&self) -> Vec<String> {
        let own = self.declared().into_iter().rev();
        self.only_of_others().into_iter().chain(own).collect()
    }

    /// The names in lower case of those that the guard declares.
    pub(super) fn declared(&self) -> Vec<String> {
        self.declared.iter().map(|name| name.to_ascii_lowercase()).collect()
    }

    pub(super) fn declares(&self, name: &str) -> bool {
        self.declared.iter().any(|declared| declared.eq_ignore_ascii_case(name))
    }

    pub(super) fn has_remote(&self) -> bool {
        self.sets.contains(&IdentityHeaders::Remote)
    }

    /// A name as files show it.
    pub(super) fn shown(&self, name: &str) -> String {
        let mut declared = self.declared.iter().chain(&self.of_others);
        let declared = declared.find(|own| own.eq_ignore_ascii_case(name));
        declared.cloned().unwrap_or_else(|| Self::capitalised(name))
    }

    /// What nginx sets a header to: what the guard has answered, or nothing, which removes the header.
    pub(super) fn nginx_value(&self, name: &str) -> String {
        match self.copied().iter().any(|copied| copied == name) {
            true => Self::nginx_variable(name),
            false => r#""""#.to_owned(),
        }
    }

    /// The nginx variable for a header.
    pub(super) fn nginx_variable(name: &str) -> String {
        format!("$doorward_{}", name.trim_start_matches("x-auth-").replace('-', "_"))
    }

    pub(super) fn is_of_other_systems(name: &str) -> bool {
        OTHER_SYSTEMS.iter().any(|known| known.eq_ignore_ascii_case(name))
    }

    /// Whether every file removes a header by its name, whatever the guards declare.
    pub(super) fn is_always_removed(name: &str) -> bool {
        Self::is_of_other_systems(name) || Self::of_sets().any(|known| known == name)
    }

    pub(super) fn capitalised(name: &str) -> String {
        let words = name.split('-').map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_ascii_uppercase() + rest
        });
        words.collect::<Vec<_>>().join("-")
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::{
        super::{
            Kind,
            files::tests::{entries, one_app, text as filled},
            hosts::Entry,
        },
        *,
    };

    const SETS: [&[IdentityHeaders]; 4] = [
        &[],
        &[IdentityHeaders::Remote],
        &[IdentityHeaders::XAuthRequest],
        &[IdentityHeaders::Remote, IdentityHeaders::XAuthRequest],
    ];

    fn of(sets: &[IdentityHeaders]) -> HeaderLists {
        HeaderLists { sets: sets.to_vec(), ..HeaderLists::default() }
    }

    fn copied(sets: &[IdentityHeaders]) -> Vec<String> {
        of(sets).copied()
    }

    fn text(kind: Kind, entry: Entry, headers: &HeaderLists) -> String {
        let mut setup = one_app(entry);
        setup.headers = headers.clone();
        setup.apps[0].headers = headers.clone();
        filled(kind, &setup)
    }

    /// Every kind of file in every form with every setting.
    fn all_texts() -> impl Iterator<Item = (Kind, &'static [IdentityHeaders], String)> {
        let kinds = Kind::value_variants().iter();
        let forms = kinds.flat_map(|kind| entries().map(|entry| (*kind, entry)));
        let sets = forms.flat_map(|(kind, entry)| SETS.map(|sets| (kind, entry.clone(), sets)));
        sets.map(|(kind, entry, sets)| (kind, sets, text(kind, entry, &of(sets))))
    }

    #[test]
    fn every_snippet_removes_the_headers_of_all_sets() {
        // The text that removes a header, by name or by prefix.
        let removed = |kind, name: &str| match kind {
            Kind::Nginx => vec![format!("proxy_set_header {} ", HeaderLists::capitalised(name))],
            Kind::Traefik => vec![format!("          {}: \"\"\n", HeaderLists::capitalised(name))],
            Kind::Caddy if name.starts_with("remote-") => {
                vec!["request_header -Remote-*".into(), "request_header -*_*".into()]
            }
            Kind::Caddy => vec!["request_header -X-Auth*".into(), "request_header -*_*".into()],
            Kind::Haproxy => vec![
                "del-header [^a-z0-9-] -m reg".into(),
                "del-header ^(x-auth|(x-)?remote-|x-webauth-|x-forwarded-|x-original-) -m reg"
                    .into(),
            ],
            Kind::Envoy => {
                let prefix = if name.starts_with("remote-") { "remote-" } else { "x-auth" };
                vec![
                    format!(
                        "remove_on_match: {{ key_matcher: {{ prefix: {prefix}, ignore_case: true }} }}"
                    ),
                    r#"key_matcher: { safe_regex: { regex: ".*[^a-z0-9:-].*" } }"#.into(),
                ]
            }
            Kind::Express => vec!["/[^a-z0-9-]|^(x-auth|(x-)?remote-|x-webauth-)/".into()],
            Kind::Fastapi => vec!["b\"[^a-z0-9-]|^(x-auth|(x-)?remote-|x-webauth-)\"".into()],
            Kind::Axum => vec![
                "[\"x-auth\", \"remote-\", \"x-remote-\", \"x-webauth-\"]".into(),
                "b.is_ascii_alphanumeric() || b == b'-'".into(),
            ],
        };
        for (kind, _, text) in all_texts() {
            for name in HeaderLists::of_sets() {
                assert!(name.starts_with("x-auth-") || name.starts_with("remote-"), "{name}");
                for removal in removed(kind, name) {
                    assert!(text.contains(&removal), "{name} is not removed by {removal}:\n{text}");
                }
            }
        }
    }

    #[test]
    fn a_snippet_copies_only_the_headers_of_the_sets_that_are_on() {
        for (kind, sets, text) in all_texts() {
            for name in HeaderLists::of_sets() {
                let is_copied = match kind {
                    Kind::Nginx => {
                        text.contains(&format!(
                            "proxy_set_header {} {};",
                            HeaderLists::capitalised(name),
                            HeaderLists::nginx_variable(name)
                        )) && text.contains(&format!("$upstream_http_{};", name.replace('-', "_")))
                    }
                    Kind::Caddy => line(&text, "copy_headers ")
                        .split(' ')
                        .any(|word| word == HeaderLists::capitalised(name)),
                    Kind::Traefik => line(&text, "authResponseHeaders: ")
                        .split([' ', ',', '[', ']'])
                        .any(|word| word == HeaderLists::capitalised(name)),
                    // What Doorward does not send is not copied.
                    Kind::Envoy => {
                        let prefix =
                            if name.starts_with("remote-") { "remote-" } else { "x-auth-" };
                        line(&text, "patterns: [").contains(&format!("{{ prefix: {prefix} }}"))
                            && (copied(sets).contains(&name.to_owned())
                                || !name.starts_with("x-auth-"))
                    }
                    Kind::Fastapi => {
                        text.contains(&format!("\"{}\",\n", HeaderLists::capitalised(name)))
                    }
                    Kind::Express => text.contains(&format!("'{name}',\n")),
                    Kind::Haproxy | Kind::Axum => text.contains(&format!("\"{name}\",\n")),
                };
                assert_eq!(
                    is_copied,
                    copied(sets).contains(&name.to_owned()),
                    "{name} with {sets:?}:\n{text}"
                );
            }
        }
    }

    fn line<'a>(text: &'a str, start: &str) -> &'a str {
        text.lines().find_map(|line| line.trim_start().strip_prefix(start)).unwrap_or_default()
    }

    #[test]
    fn a_declared_header_is_copied_and_removed_by_every_file() {
        // The first is in a set that is off, the second in a list of headers that are removed, the third in none.
        let declared = ["Remote-User", "X-WEBAUTH-USER", "Tailscale-User-Login"];
        let headers =
            HeaderLists { declared: declared.map(str::to_owned).into(), ..HeaderLists::default() };
        for (kind, entry) in
            Kind::value_variants().iter().flat_map(|kind| entries().map(|entry| (*kind, entry)))
        {
            let text = text(kind, entry, &headers);
            for name in declared {
                let lower = name.to_ascii_lowercase();
                let (copied, removed) = match kind {
                    Kind::Nginx => {
                        let set = format!(
                            "proxy_set_header {name} {};",
                            HeaderLists::nginx_variable(&lower)
                        );
                        (set.clone(), set)
                    }
                    Kind::Caddy => (
                        format!(" {name}"),
                        if lower.starts_with("remote-") {
                            "request_header -Remote-*".into()
                        } else {
                            format!("request_header -{name}\n")
                        },
                    ),
                    Kind::Traefik => (format!(", {name}"), format!("          {name}: \"\"\n")),
                    Kind::Envoy => {
                        (format!("{{ exact: {lower} }}"), format!("- remove: {lower}\n"))
                    }
                    // What is in the list is removed, too.
                    Kind::Express => (format!("'{lower}',\n"), "IDENTITY.includes(name)".into()),
                    Kind::Fastapi => (format!("\"{name}\",\n"), "name in NAMES".into()),
                    Kind::Axum => (format!("\"{lower}\",\n"), "IDENTITY.contains(&name)".into()),
                    Kind::Haproxy => (format!("\"{lower}\",\n"), "req_del_header(name)".into()),
                };
                for part in [copied, removed] {
                    assert!(
                        text.to_lowercase().contains(&part.to_lowercase()),
                        "{name}: {part}\n{text}"
                    );
                }
                if kind == Kind::Nginx {
                    let sets = format!("proxy_set_header {lower} ");
                    assert_eq!(text.to_lowercase().matches(&sets).count(), 1, "{name}:\n{text}");
                }
            }
        }
    }
}
