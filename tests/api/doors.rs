//! Every action of an administrator, and its doors: the API, the page and the command. The table is complete: a route of the
//! administration that it lacks fails the test, and so does an action that lacks a door.

use std::{collections::BTreeSet, process::Command};

use doorward::internals::http::routes::routes;

/// A door of an action.
#[derive(Clone, Copy)]
enum Door {
    /// The method and the path of a route, or the words of a command.
    At(&'static str),
    /// Why the action has no such door.
    None(&'static str),
}

use Door::{At, None as No};

const STREAM: &str = "it is a file of any size, which no form carries";
const MACHINE: &str = "only the operator on the machine does this";
const ONCE: &str = "it ends an import, which is a command";

/// The action, its operation in the API, its page or form, and its command.
type Row = (&'static str, Door, Door, Door);

/// Every action of an administrator.
const ACTIONS: &[Row] = &[
    ("list users", At("GET /api/admin/users"), At("GET /admin/users"), At("user list")),
    (
        "show a user",
        At("GET /api/admin/users/{user}"),
        At("GET /admin/users/{id}"),
        At("user sessions"),
    ),
    ("add a user", At("POST /api/admin/users"), At("POST /admin/users/new"), At("user add")),
    (
        "change a user",
        At("PATCH /api/admin/users/{user}"),
        At("POST /admin/users/{id}/change"),
        At("user change"),
    ),
    (
        "verify an address",
        At("PATCH /api/admin/users/{user}"),
        At("POST /admin/users/{id}/verify"),
        At("user verify"),
    ),
    (
        "disable a user",
        At("PATCH /api/admin/users/{user}"),
        At("POST /admin/users/{id}/disable"),
        At("user disable"),
    ),
    (
        "enable a user",
        At("PATCH /api/admin/users/{user}"),
        At("POST /admin/users/{id}/enable"),
        At("user enable"),
    ),
    (
        "delete a user",
        At("DELETE /api/admin/users/{user}"),
        At("POST /admin/users/{id}/delete"),
        At("user delete"),
    ),
    (
        "export a user",
        At("GET /api/admin/users/{user}/export"),
        At("POST /admin/users/{id}/export"),
        At("export"),
    ),
    (
        "grant a role",
        At("PUT /api/admin/users/{user}/roles/{role}"),
        At("POST /admin/users/{id}/grant"),
        At("user grant"),
    ),
    (
        "revoke a role",
        At("DELETE /api/admin/users/{user}/roles/{role}"),
        At("POST /admin/users/{id}/revoke"),
        At("user revoke"),
    ),
    (
        "list sessions",
        At("GET /api/admin/users/{user}/sessions"),
        At("GET /admin/users/{id}"),
        At("user show"),
    ),
    (
        "end a session",
        At("DELETE /api/admin/users/{user}/sessions/{id}"),
        At("POST /admin/users/{id}/end-session"),
        At("user sessions"),
    ),
    (
        "end all sessions",
        At("DELETE /api/admin/users/{user}/sessions"),
        At("POST /admin/users/{id}/end-sessions"),
        At("user logout"),
    ),
    (
        "set a password",
        At("POST /api/admin/users/{user}/password"),
        At("POST /admin/users/{id}/password"),
        At("user set-password"),
    ),
    (
        "make a reset code",
        At("POST /api/admin/users/{user}/reset-code"),
        At("POST /admin/users/{id}/reset-code"),
        At("user reset-code"),
    ),
    (
        "require a new password",
        At("POST /api/admin/users/{user}/require-new-password"),
        At("POST /admin/users/{id}/require-new-password"),
        At("user require-new-password"),
    ),
    (
        "secure an account",
        At("POST /api/admin/users/{user}/secure"),
        At("POST /admin/users/{id}/secure"),
        At("user secure"),
    ),
    (
        "make a link that removes factors",
        At("POST /api/admin/users/{user}/factor-reset"),
        At("POST /admin/users/{id}/factor-reset"),
        At("user factor reset"),
    ),
    (
        "unlock a user",
        At("POST /api/admin/users/{user}/unlock"),
        At("POST /admin/users/{id}/unlock"),
        At("user unlock"),
    ),
    ("import users", At("POST /api/admin/import"), No(STREAM), At("import")),
    ("export all users", At("GET /api/admin/export"), No(STREAM), At("export")),
    ("list imported hashes", At("GET /api/admin/imported-hashes"), No(ONCE), At("import status")),
    ("drop imported hashes", At("DELETE /api/admin/imported-hashes"), No(ONCE), At("import drop")),
    (
        "list invitations",
        At("GET /api/admin/invitations"),
        At("GET /admin/invitations"),
        At("user invitations"),
    ),
    ("invite", At("POST /api/admin/invitations"), At("POST /admin/invitations"), At("user invite")),
    (
        "revoke an invitation",
        At("DELETE /api/admin/invitations/{invitation}"),
        At("POST /admin/invitations/revoke"),
        At("user uninvite"),
    ),
    (
        "list the refusals of a user",
        At("GET /api/admin/users/{user}/refusals"),
        At("GET /admin/users/{id}"),
        At("why"),
    ),
    ("list refusals", At("GET /api/admin/refusals"), At("GET /admin/refusals"), At("why")),
    (
        "explain a refusal",
        At("GET /api/admin/refusals/{decision}"),
        At("GET /admin/refusals/{decision}"),
        At("why"),
    ),
    ("list guards", At("GET /api/admin/guards"), At("GET /admin/guards"), At("guard list")),
    (
        "ask a guard",
        At("POST /api/admin/guards/{guard}/check"),
        At("GET /admin/guards/{guard}"),
        At("guard check"),
    ),
    (
        "check a guard for browsers",
        At("GET /api/admin/guards/{guard}/browsers"),
        At("GET /admin/guards/{guard}"),
        At("guard check"),
    ),
    ("reload guards", At("POST /api/admin/guards/reload"), No(MACHINE), At("reload")),
    (
        "list signing keys",
        At("GET /api/admin/signing-keys"),
        At("GET /admin/signing-keys"),
        At("keys list"),
    ),
    (
        "rotate signing keys",
        At("POST /api/admin/signing-keys"),
        At("POST /admin/signing-keys/rotate"),
        At("keys rotate"),
    ),
    (
        "revoke a signing key",
        At("DELETE /api/admin/signing-keys/{kid}"),
        At("POST /admin/signing-keys/revoke"),
        At("keys revoke"),
    ),
    ("list API keys", At("GET /api/admin/keys"), At("GET /admin/keys"), At("api-key list")),
    (
        "make an API key",
        At("POST /api/admin/keys"),
        At("POST /admin/keys/create"),
        At("api-key create"),
    ),
    (
        "revoke an API key",
        At("DELETE /api/admin/keys/{id}"),
        At("POST /admin/keys/revoke"),
        At("api-key revoke"),
    ),
    ("list mail", At("GET /api/admin/mail"), At("GET /admin/mail"), At("mail queue")),
    (
        "retry mail",
        At("POST /api/admin/mail/retry"),
        At("POST /admin/mail/retry"),
        At("mail retry"),
    ),
    ("show the status", At("GET /api/admin/status"), At("GET /admin"), At("doctor")),
    ("check the database", At("GET /api/admin/status/database"), No(MACHINE), At("doctor")),
    ("expect a probe", At("POST /api/admin/probes"), No(MACHINE), At("doctor")),
    ("show a probe", At("GET /api/admin/probes/{nonce}"), No(MACHINE), At("doctor")),
    (
        "revoke everything",
        At("POST /api/admin/emergency"),
        At("POST /admin/emergency"),
        At("emergency"),
    ),
    ("back up", At("GET /api/admin/backup"), No(MACHINE), At("backup")),
    ("list the audit trail", At("GET /api/admin/audit"), At("GET /admin/audit"), At("audit list")),
    ("count events by day", At("GET /api/admin/audit/days"), At("GET /admin"), At("audit list")),
    (
        "export the audit trail",
        At("GET /api/admin/audit/export"),
        At("POST /admin/audit/export"),
        At("audit export"),
    ),
    (
        "prove an event",
        At("GET /api/admin/audit/{id}/proof"),
        At("POST /admin/audit/proof"),
        At("audit prove"),
    ),
    (
        "sign the audit trail",
        At("GET /api/admin/audit/checkpoint"),
        At("POST /admin/audit/checkpoint"),
        At("audit checkpoint"),
    ),
    ("verify the audit trail", At("POST /api/admin/audit/verify"), No(STREAM), At("audit verify")),
];

#[test]
fn every_action_has_its_doors() {
    let (mut api, mut pages) = (BTreeSet::new(), BTreeSet::new());
    for route in routes() {
        let name = format!("{} {}", route.method.as_str(), route.path);
        if route.path.starts_with("/api/admin/") {
            api.insert(name);
        } else if route.path.starts_with("/admin") {
            pages.insert(name);
        }
    }
    // The empty form of a new user.
    pages.remove("GET /admin/users/new");
    // The same list, which loads itself again.
    pages.remove("GET /admin/refusals/live");
    let at = |door: &Door| match door {
        At(name) => Some((*name).to_owned()),
        No(reason) => {
            assert!([STREAM, MACHINE, ONCE].contains(reason), "{reason}");
            None
        }
    };
    let in_table: BTreeSet<_> = ACTIONS.iter().filter_map(|(_, api, _, _)| at(api)).collect();
    assert_eq!(in_table, api, "the table names every operation of the API");
    let in_table: BTreeSet<_> = ACTIONS.iter().filter_map(|(_, _, page, _)| at(page)).collect();
    assert_eq!(in_table, pages, "the table names every page and form");
}

#[test]
fn every_command_of_the_table_exists() {
    for (action, _, _, command) in ACTIONS {
        let At(words) = command else { continue };
        let mut run = Command::new(env!("CARGO_BIN_EXE_doorward"));
        let done = run.args(words.split(' ')).arg("--help").output().unwrap();
        assert!(done.status.success(), "{action}: doorward {words}");
        let usage = String::from_utf8(done.stdout).unwrap();
        assert!(usage.contains(&format!("Usage: doorward {words}")), "{action}: {usage}");
    }
}
