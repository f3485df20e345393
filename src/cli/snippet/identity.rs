//! The headers in the files of `deploy/` that tell the app who the user is: Doorward's own, and those that a guard declares. A
//! proxy copies those of the guard to the app and removes those of the client.

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

impl HeaderLists {
    /// The names in lower case of those that are copied to the app.
    fn copied(&self) -> Vec<String> {
        let others = self.sets.iter().flat_map(|set| match set {
            IdentityHeaders::Remote => names::REMOTE,
            IdentityHeaders::XAuthRequest => names::X_AUTH_REQUEST,
        });
        let own = names::X_AUTH.into_iter().chain(others).map(str::to_owned);
        own.chain(self.declared_besides(|name| self.is_in_a_set(name))).collect()
    }

    /// The names in lower case of those that no client may send.
    fn removed(&self) -> Vec<String> {
        let is_known = |name: &str| all().any(|known| known == name);
        all().map(str::to_owned).chain(self.declared_besides(is_known)).collect()
    }

    /// The names in lower case of those that only other guards set.
    fn only_of_others(&self) -> Vec<String> {
        let removed = self.removed();
        let others = self.of_others.iter().map(|name| name.to_ascii_lowercase());
        let mut others: Vec<_> = others.filter(|name| !removed.contains(name)).collect();
        others.sort_unstable();
        others.dedup();
        others
    }

    fn is_in_a_set(&self, name: &str) -> bool {
        let sets = Self { sets: self.sets.clone(), ..Self::default() };
        sets.copied().iter().any(|known| known == name)
    }

    /// The declared names in lower case, without some.
    fn declared_besides(&self, is_left_out: impl Fn(&str) -> bool) -> Vec<String> {
        let mut names: Vec<_> =
            self.declared.iter().map(|name| name.to_ascii_lowercase()).collect();
        names.retain(|name| !is_left_out(name));
        names.dedup();
        names
    }

    /// A name as files show it.
    fn shown(&self, name: &str) -> String {
        let mut declared = self.declared.iter().chain(&self.of_others);
        let declared = declared.find(|own| own.eq_ignore_ascii_case(name));
        declared.cloned().unwrap_or_else(|| capitalised(name))
    }
}

/// Adds the headers to those that the files of `deploy/` copy and remove.
pub(super) fn fill_in(contents: &str, headers: &HeaderLists) -> String {
    let default = HeaderLists::default();
    let write = |text: String, list: &HeaderList| text.replace(&list(&default), &list(headers));
    let text = LISTS.iter().fold(contents.to_owned(), write);
    let declared = headers.declared_besides(|_| false);
    let text = declared.iter().fold(text, |text, name| {
        // nginx: the list of copied headers sets it.
        let emptied =
            format!("            proxy_set_header {} \"\";\n", listed_spelling(&text, name));
        remove(text.replace(&emptied, ""), &removals(name, &headers.shown(name)))
    });
    headers.only_of_others().iter().fold(text, |text, name| {
        let shown = headers.shown(name);
        let removals = [&removals(name, &shown)[..], &removals_unless_copied(&shown)[..]].concat();
        remove(text, &removals)
    })
}

/// The line that removes a header, and the line after which it stands, in the files where what is copied is removed by another line.
fn removals(name: &str, shown: &str) -> [(&'static str, String); 3] {
    [
        ("request_header -X-Method-Override\n", format!("request_header -{shown}\n")),
        ("X-Original-URL: \"\"\n", format!("{shown}: \"\"\n")),
        ("- remove: forwarded\n", format!("- remove: {name}\n")),
    ]
}

/// The same in the files where the list of what is copied also says what is removed.
fn removals_unless_copied(shown: &str) -> [(&'static str, String); 2] {
    [
        ("proxy_set_header HTTP2-Settings \"\";\n", format!("proxy_set_header {shown} \"\";\n")),
        ("http-request del-header HTTP2-Settings\n", format!("http-request del-header {shown}\n")),
    ]
}

/// Adds lines that remove a header, unless a file removes it already.
fn remove(mut text: String, removals: &[(&'static str, String)]) -> String {
    for (anchor, line) in removals {
        let Some(at) = text.find(anchor) else { continue };
        let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
        let indented = format!("{}{line}", &text[start..at]);
        if !text.to_ascii_lowercase().contains(&indented.to_ascii_lowercase()) {
            text.insert_str(at + anchor.len(), &indented);
        }
    }
    text
}

/// The spelling in which nginx.conf removes a header, if it does.
fn listed_spelling(text: &str, name: &str) -> String {
    let spelling = |line: &str| {
        let (header, value) = line.trim().strip_prefix("proxy_set_header ")?.split_once(' ')?;
        (header.eq_ignore_ascii_case(name) && value == "\"\";").then(|| header.to_owned())
    };
    text.lines().find_map(spelling).unwrap_or_else(|| name.to_owned())
}

/// Writes a list of headers in the syntax of one file.
type HeaderList = fn(&HeaderLists) -> String;

const LISTS: &[HeaderList] = &[
    |headers| {
        let line = |name: &String| {
            let upstream = name.replace('-', "_");
            format!("            auth_request_set {} $upstream_http_{upstream};\n", variable(name))
        };
        headers.copied().iter().map(line).collect()
    },
    |headers| {
        let copied = headers.copied();
        let line = |name: &String| {
            let value = if copied.contains(name) { variable(name) } else { r#""""#.into() };
            format!("            proxy_set_header {} {value};\n", headers.shown(name))
        };
        headers.removed().iter().map(line).collect()
    },
    |headers| {
        let names: Vec<_> = headers.copied().iter().map(|name| headers.shown(name)).collect();
        format!("copy_headers {}\n", names.join(" "))
    },
    |headers| {
        let names: Vec<_> = headers.copied().iter().map(|name| headers.shown(name)).collect();
        format!("authResponseHeaders: [{}]\n", names.join(", "))
    },
    |headers| {
        let remote = headers.sets.contains(&IdentityHeaders::Remote);
        let more = if remote { ", { prefix: remote- }" } else { "" };
        let exact = |name: String| format!(", {{ exact: {name} }}");
        let declared: String = headers.declared_besides(|_| false).into_iter().map(exact).collect();
        format!("patterns: [{{ prefix: x-auth- }}{more}{declared}]\n")
    },
    |headers| {
        list("local IDENTITY = {\n", &headers.copied(), |name| format!("    \"{name}\",\n"), "}\n")
    },
    |headers| {
        list("const IDENTITY = [\n", &headers.copied(), |name| format!("  '{name}',\n"), "];\n")
    },
    |headers| {
        let line = |name: &str| format!("    \"{}\",\n", headers.shown(name));
        list("IDENTITY = (\n", &headers.copied(), line, ")\n")
    },
    |headers| {
        let line = |name: &str| format!("    \"{name}\",\n");
        list("const IDENTITY: &[&str] = &[\n", &headers.copied(), line, "];\n")
    },
];

fn list(start: &str, names: &[String], line: impl Fn(&str) -> String, end: &str) -> String {
    let lines: String = names.iter().map(|name| line(name)).collect();
    format!("{start}{lines}{end}")
}

/// The headers of all sets, which no client may send.
fn all() -> impl Iterator<Item = &'static str> {
    names::X_AUTH.into_iter().chain(names::REMOTE).chain(names::X_AUTH_REQUEST)
}

/// The nginx variable for a header.
fn variable(name: &str) -> String {
    format!("$doorward_{}", name.trim_start_matches("x-auth-").replace('-', "_"))
}

fn capitalised(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::{
        super::{Form, Kind},
        *,
    };

    const FORMS: [Form; 2] = [Form::Plain, Form::Tls];

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

    fn text(kind: Kind, form: Form, sets: &[IdentityHeaders]) -> String {
        kind.files(form).iter().map(|(_, contents)| fill_in(contents, &of(sets))).collect()
    }

    /// Every kind of file in every form with every setting.
    fn all_texts() -> impl Iterator<Item = (Kind, &'static [IdentityHeaders], String)> {
        let kinds = Kind::value_variants().iter();
        let forms = kinds.flat_map(|kind| FORMS.map(|form| (*kind, form)));
        let sets = forms.flat_map(|(kind, form)| SETS.map(|sets| (kind, form, sets)));
        sets.map(|(kind, form, sets)| (kind, sets, text(kind, form, sets)))
    }

    #[test]
    fn each_list_appears_once_in_the_files_of_deploy() {
        for (list, form) in LISTS.iter().flat_map(|list| FORMS.map(|form| (list, form))) {
            let written = list(&HeaderLists::default());
            let found: usize = Kind::value_variants()
                .iter()
                .map(|kind| text(*kind, form, &[]).matches(&written).count())
                .sum();
            assert_eq!(found, 1, "{written}");
        }
    }

    #[test]
    fn every_snippet_removes_the_headers_of_all_sets() {
        // The text that removes a header, by name or by prefix.
        let removed = |kind, name: &str| match kind {
            Kind::Nginx => vec![format!("proxy_set_header {} ", capitalised(name))],
            Kind::Traefik => vec![format!("          {}: \"\"\n", capitalised(name))],
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
            for name in all() {
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
            for name in all() {
                let is_copied = match kind {
                    Kind::Nginx => {
                        text.contains(&format!(
                            "proxy_set_header {} {};",
                            capitalised(name),
                            variable(name)
                        )) && text.contains(&format!("$upstream_http_{};", name.replace('-', "_")))
                    }
                    Kind::Caddy => line(&text, "copy_headers ")
                        .split(' ')
                        .any(|word| word == capitalised(name)),
                    Kind::Traefik => line(&text, "authResponseHeaders: ")
                        .split([' ', ',', '[', ']'])
                        .any(|word| word == capitalised(name)),
                    // What Doorward does not send is not copied.
                    Kind::Envoy => {
                        let prefix =
                            if name.starts_with("remote-") { "remote-" } else { "x-auth-" };
                        line(&text, "patterns: [").contains(&format!("{{ prefix: {prefix} }}"))
                            && (copied(sets).contains(&name.to_owned())
                                || !name.starts_with("x-auth-"))
                    }
                    Kind::Fastapi => text.contains(&format!("\"{}\",\n", capitalised(name))),
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
        for (kind, form) in
            Kind::value_variants().iter().flat_map(|kind| FORMS.map(|form| (*kind, form)))
        {
            let files = kind.files(form).iter();
            let text: String = files.map(|(_, contents)| fill_in(contents, &headers)).collect();
            for name in declared {
                let lower = name.to_ascii_lowercase();
                let (copied, removed) = match kind {
                    Kind::Nginx => {
                        let set = format!("proxy_set_header {name} {};", variable(&lower));
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
