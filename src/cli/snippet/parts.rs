//! Which parts of the files of `deploy/` stand once for each app, and how they differ if there are several.

use super::{
    app::App,
    block::{Block, Start},
};

/// The parts of all files. A file has those whose anchor it contains.
pub(super) const PARTS: &[Part] = &[
    // nginx
    Part::new(4, "upstream app {", |text, app, _| {
        text.replace("upstream app {", &format!("upstream app{} {{", app.suffix))
    }),
    Part::new(4, "client_max_body_size 0;", |text, app, _| {
        text.replace("http://app;", &format!("http://app{};", app.suffix))
    }),
    // Caddy
    Part::new(0, "\tforward_auth ", |text, _, _| text.to_owned()),
    // Traefik
    Part::new(4, "[remove-client-headers, remove-upgrade, doorward]", rename_router),
    Part::new(4, "[remove-client-headers, set-upgrade, doorward]", rename_router),
    Part::new(4, "forwardAuth:", |text, app, _| {
        text.replace("    doorward:\n", &format!("    doorward{}:\n", app.suffix))
    }),
    Part::new(4, "- url: http://127.0.0.1:8080", |text, app, _| {
        text.replace("    app:\n", &format!("    app{}:\n", app.suffix))
    }),
    // HAProxy: other hosts get the first app, as in the other files.
    Part::new(4, "default_backend app\n", |_, app, apps| {
        let hosts = app.hosts.join(" ");
        let by_host = format!(
            "    use_backend app{} if {{ req.hdr(host),field(1,:) -i {hosts} }}\n",
            app.suffix
        );
        match apps.last().is_some_and(|last| last.guard == app.guard) {
            true => format!("{by_host}    default_backend app{}\n", apps[0].suffix),
            false => by_host,
        }
    }),
    Part::new(0, "http-request lua.doorward ", |text, app, _| {
        text.replace("backend app\n", &format!("backend app{}\n", app.suffix))
            .replace("server app ", &format!("server app{} ", app.suffix))
    }),
    // Envoy: every filter is on, except where it is switched off.
    Part {
        block: Block { anchor: "ExtAuthzPerRoute", start: Start::Parent },
        distinguish: |text, app, _| {
            text.replacen("doorward:", &format!("doorward{}:", app.suffix), 1)
        },
    },
    Part::new(18, "failure_mode_allow: false", |text, app, _| {
        text.replace("- name: doorward\n", &format!("- name: doorward{}\n", app.suffix))
    }),
    Part::new(20, "cluster: app, timeout: 0s", |text, app, apps| {
        let mut domains = app.hosts.clone();
        if apps.first().is_some_and(|first| first.guard == app.guard) {
            domains.push("\"*\"".into());
        }
        let others = apps.iter().filter(|other| other.guard != app.guard);
        let off: String = others
            .map(|other| {
                format!(
                    "                        doorward{}:\n                          \"@type\": type.googleapis.com/envoy.extensions.filters.http.ext_authz.v3.ExtAuthzPerRoute\n                          disabled: true\n",
                    other.suffix
                )
            })
            .collect();
        text.replace("- name: app\n", &format!("- name: app{}\n", app.suffix))
            .replace("cluster: app,", &format!("cluster: app{},", app.suffix))
            .replace(
                "domains: [\"*\"]\n",
                &format!(
                    "domains: [{}]\n                      typed_per_filter_config:\n{off}",
                    domains.join(", ")
                ),
            )
    }),
    Part::new(4, "cluster_name: app\n", |text, app, _| {
        text.replace("name: app\n", &format!("name: app{}\n", app.suffix))
    }),
];

fn rename_router(text: &str, app: &App<'_>, _: &[App<'_>]) -> String {
    let suffix = &app.suffix;
    text.replace("    app:\n", &format!("    app{suffix}:\n"))
        .replace("    app-websocket:\n", &format!("    app{suffix}-websocket:\n"))
        .replace("upgrade, doorward]", &format!("upgrade, doorward{suffix}]"))
        .replace("service: app\n", &format!("service: app{suffix}\n"))
}

/// A part of a file that stands once for each app.
pub(super) struct Part {
    pub(super) block: Block,
    /// Gives its names the suffix of the app, and names its hosts, where there are several apps.
    pub(super) distinguish: fn(&str, &App<'_>, &[App<'_>]) -> String,
}

impl Part {
    const fn new(
        indentation: usize,
        anchor: &'static str,
        distinguish: fn(&str, &App<'_>, &[App<'_>]) -> String,
    ) -> Self {
        Self { block: Block::at(indentation, anchor), distinguish }
    }
}
