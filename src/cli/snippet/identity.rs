//! The identity headers in the files of `deploy/`. A proxy copies those of Doorward to the app and removes those of the
//! client.

use crate::{config::IdentityHeaders, http::identity_names as names};

/// Adds the headers of these sets to those that the files of `deploy/` copy.
pub(super) fn fill_in(contents: &str, sets: &[IdentityHeaders]) -> String {
    let write = |text: String, list: &HeaderList| text.replace(&list(&[]), &list(sets));
    LISTS.iter().fold(contents.to_owned(), write)
}

/// Writes a list of headers in the syntax of one file.
type HeaderList = fn(&[IdentityHeaders]) -> String;

const LISTS: &[HeaderList] = &[
    |sets| {
        let line = |name: &&str| {
            let upstream = name.replace('-', "_");
            format!("            auth_request_set {} $upstream_http_{upstream};\n", variable(name))
        };
        copied(sets).iter().map(line).collect()
    },
    |sets| {
        let copied = copied(sets);
        let line = |name: &'static str| {
            let value = if copied.contains(&name) { variable(name) } else { r#""""#.into() };
            format!("            proxy_set_header {} {value};\n", capitalised(name))
        };
        all().map(line).collect()
    },
    |sets| {
        let names: Vec<_> = copied(sets).into_iter().map(capitalised).collect();
        format!("copy_headers {}\n", names.join(" "))
    },
    |sets| {
        let names: Vec<_> = copied(sets).into_iter().map(capitalised).collect();
        format!("authResponseHeaders: [{}]\n", names.join(", "))
    },
    |sets| {
        let remote = sets.contains(&IdentityHeaders::Remote);
        let more = if remote { ", { prefix: remote- }" } else { "" };
        format!("patterns: [{{ prefix: x-auth- }}{more}]\n")
    },
    |sets| list("local IDENTITY = {\n", copied(sets), |name| format!("    \"{name}\",\n"), "}\n"),
    |sets| list("const IDENTITY = [\n", copied(sets), |name| format!("  '{name}',\n"), "];\n"),
    |sets| {
        let line = |name| format!("    \"{}\",\n", capitalised(name));
        list("IDENTITY = (\n", copied(sets), line, ")\n")
    },
    |sets| {
        let line = |name| format!("    \"{name}\",\n");
        list("const IDENTITY: &[&str] = &[\n", copied(sets), line, "];\n")
    },
];

fn list(
    start: &str,
    names: Vec<&'static str>,
    line: impl Fn(&'static str) -> String,
    end: &str,
) -> String {
    let lines: String = names.into_iter().map(line).collect();
    format!("{start}{lines}{end}")
}

/// The headers that are copied to the app.
fn copied(sets: &[IdentityHeaders]) -> Vec<&'static str> {
    let others = sets.iter().flat_map(|set| match set {
        IdentityHeaders::Remote => names::REMOTE,
        IdentityHeaders::XAuthRequest => names::X_AUTH_REQUEST,
    });
    names::X_AUTH.into_iter().chain(others).collect()
}

/// The headers that no client may send.
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

    fn text(kind: Kind, form: Form, sets: &[IdentityHeaders]) -> String {
        kind.files(form).iter().map(|(_, contents)| fill_in(contents, sets)).collect()
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
            let written = list(&[]);
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
                            && (copied(sets).contains(&name) || !name.starts_with("x-auth-"))
                    }
                    Kind::Fastapi => text.contains(&format!("\"{}\",\n", capitalised(name))),
                    Kind::Express => text.contains(&format!("'{name}',\n")),
                    Kind::Haproxy | Kind::Axum => text.contains(&format!("\"{name}\",\n")),
                };
                assert_eq!(
                    is_copied,
                    copied(sets).contains(&name),
                    "{name} with {sets:?}:\n{text}"
                );
            }
        }
    }

    fn line<'a>(text: &'a str, start: &str) -> &'a str {
        text.lines().find_map(|line| line.trim_start().strip_prefix(start)).unwrap_or_default()
    }
}
