"""What the tests cannot run or cannot compare, with the reason, and what a page presupposes. `test_exceptions.py` fails for an
entry that fits nothing."""

import re
from pathlib import Path

from harness import REPOSITORY

# By document and how the block or the command begins: why it is not run. The binary still parses the commands of Doorward in it.
EXCEPTED = {
    ("README.md", "cargo run"): "the first build of an empty machine; script/test builds, and test_readme.py starts what it has built",
    ("README.md", "script/test"): "it would run this test; tests/scripts checks its arguments",
    ("README.md", ""): "tests/proxies/test_readme.py and tests/browser/test_readme_in_a_browser.py run it",
    ("docs/operate.md", ""): "tests/operate/test_operate.py runs it and compares every line",
    ("docs/accounts.md", "curl $URL/api/me/factors/passkeys -H"): "a passkey is made in a browser: tests/factors/test_passkeys.py",
    ("docs/audit.md", "doorward audit export --format ocsf"): "your-collector stands for a program of the reader",
    ("docs/backup.md", "doorward restore"): "the server runs: tests/backup/test_commands.py restores",
    ("docs/commands.md", "doorward mail test"): "needs a mail server that refuses the login: tests/mail/test_servers.py",
    ("docs/commands.md", "doorward login list"): "needs a provider: tests/doctor/test_mistakes.py has one",
    ("docs/commands.md", "doorward login check"): "needs a provider: tests/doctor/test_mistakes.py has one",
    ("docs/commands.md", "doorward doctor"): "needs a set-up with mistakes: tests/doctor/test_mistakes.py",
    ("docs/embed.md", "# Cargo.toml"): "of another program: test_embedding.py resolves it",
    ("docs/import.md", "doorward import users.json --from"): "needs the file of another system: tests/import/test_formats.py",
    ("docs/import.md", "doorward import users.csv --from"): "needs the file of another system: tests/import/test_formats.py",
    ("docs/import.md", "doorward import realm.json"): "needs the file of another system: tests/import/test_formats.py",
    ("docs/import.md", "doorward import users.json --format"): "needs the file of another system: tests/import/test_formats.py",
    ("docs/import.md", "doorward import users.csv --scrypt"): "needs the file of another system: tests/import/test_formats.py",
    ("docs/keys.md", 'curl -H "Authorization: Bearer $KEY" https:'): "the app of an example: tests/proxies/test_keys.py",
    ("docs/keys.md", 'curl -u "ci:$KEY" https:'): "the app of an example: tests/proxies/test_keys.py",
    ("docs/postgres.md", "export DOORWARD_DATABASE_URL="): "needs a cluster of three: lab/failover",
    ("docs/postgres.md", "doorward migrate --to"): "needs a cluster of three: tests/store/migrate.rs copies to PostgreSQL",
    ("docs/registration.md", "curl $URL/api/invitations"): "needs somebody who registered yesterday: tests/api/invitations.rs",
    ("docs/testing.md", "doorward dev"): "pytest stands for the tests of an app: tests/dev/test_examples.py",
    ("docs/commands.md", "doorward COMMAND"): "COMMAND stands for any command",
    ("docs/tokens.md", "doorward --token-key-file"): "runs until it is stopped: tests/verifiers/test_key_file.py",
}
# By a program that a command needs, on every page: why it is not run.
PROGRAMS = {
    **dict.fromkeys(
        ("apt", "install", "sha256sum", "systemctl", "systemd-sysusers", "systemd-tmpfiles", "tar"),
        "changes the machine: tests/package/test_installation.py does it on a copy in memory",
    ),
    **dict.fromkeys(("age", "age-keygen"), "another program: tests/backup/test_commands.py encrypts with it"),
    **dict.fromkeys(
        ("litestream", "pg_dump", "pg_restore"), "needs a store elsewhere: tests/backup/test_continuous.py restores with it"
    ),
    **dict.fromkeys(
        ("bin/kc.sh", "firebase", "psql", "python", "sqlite3"),
        "the export of another system: tests/import/test_formats.py has its files",
    ),
    **dict.fromkeys(("node", "npm"), "needs packages: tests/openapi/test_client.py does it on a copy"),
    "git": "a server of an example: tests/proxies/test_keys.py clones",
    "podman": "builds a container: tests/package/test_container.py",
    "script/release": "builds twice: tests/package/test_release.py",
}
# What runs: it stays in the folder of the test and asks its server only.
RUN = {"chmod", "curl", "doorward", "export", "jq", "openssl", "printf", ""}


def write(name, text):
    return lambda stage: (stage.folder / "work" / name).write_text(text)


def must(command):
    return lambda stage: stage.must(command)


BCRYPT = "$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"
USERS = f"""name,email,hash
Ada,ada@elsewhere.example,{BCRYPT}
Nobody,nobody,{BCRYPT}
Mallory,mallory@elsewhere.example,md5$x$5f4dcc3b5aa765d61d8327deb882cf99
Grace,grace@elsewhere.example,{BCRYPT}
"""


def sign_up_bob(stage):
    """Bob has signed in once, with a password that is replaced afterwards."""
    stage.must("printf 'correct horse' | doorward user set-password bob@example.com")
    assert stage.call("POST", "/api/auth/login", {"email": "bob@example.com", "password": "correct horse"})[0] == 200


def new_password(stage):
    stage.must("printf 'battery staple' | doorward user set-password ada@example.com")
    stage.log_in("battery staple")


def users_of_another_system(stage):
    for address in ("ada@elsewhere.example", "grace@elsewhere.example"):
        stage.run(f"doorward user delete {address}")
    write("users.csv", USERS)(stage)


def forum_with_the_id_of_ada(stage):
    for address in ("ada@forum.example", "ada@example.com"):
        stage.run(f"doorward user delete {address}")
    write("shop.csv", "id,name,email\n7,Ada,ada@example.com\n")(stage)
    stage.must("doorward import shop.csv")
    write("forum.csv", "id,name,email\n7,Ada,ada@forum.example\n")(stage)


def invited_bob(stage):
    stage.run("doorward user delete bob@elsewhere.example")
    return '"%s"' % re.search(r"code +(.+)", stage.must("doorward user invite bob@elsewhere.example"))[1]


# What is done before a block or a command, by how it begins.
BEFORE = {
    ("docs/accounts.md", "curl -X DELETE $URL/api/me -H"): new_password,
    ("docs/accounts.md", "curl -X POST $URL/api/auth/logout-everywhere"): lambda stage: stage.log_in(),
    ("docs/accounts.md", "curl $URL/api/auth/login -H"): lambda stage: stage.add_app(),
    ("docs/admin-api.md", "curl -s http://localhost:3000/api/admin/guards/staff/check"): must(
        "doorward user show grace@example.com || doorward user add grace@example.com --name 'Grace Hopper'"
    ),
    ("docs/commands.md", "doorward user show bob@example.com"): sign_up_bob,
    ("docs/conditions.md", "doorward guard test"): must("doorward user grant ada@example.com staff"),
    ("docs/registration.md", "doorward user invite"): lambda stage: stage.run("doorward user delete bob@elsewhere.example"),
    ("docs/import.md", "doorward import users.csv --dry-run"): users_of_another_system,
    ("docs/import.md", "doorward import forum.csv"): forum_with_the_id_of_ada,
}
# What this run has in place of an example.
FILLED = {
    ("docs/accounts.md", "07775c46-9f64-4474-a139-e82d38cd7417"): lambda stage: stage.other_session(),
    ("docs/accounts.md", "271828"): lambda stage: stage.code_of_app(),
    ("docs/accounts.md", "8b7817d5e0bd3981106c9955e1b78589"): must("doorward user reset-code ada@example.com"),
    ("docs/audit.md", "--key doorward/248eeb4667f5cc12+5836d805+AVK3p1Thc3mFzCjtTY/6Dor7DK0lJQWh/QiPKwTpb5bI"): (
        lambda stage: f"--key {stage.proof()}"
    ),
    ("docs/keys.md", "6f1c6c1e-3a4b-4c5d-8e9f-0a1b2c3d4e5f"): lambda stage: re.search(r"id +(\S+)", stage.printed)[1],
    ("docs/mail.md", "1234 5678"): lambda stage: stage.reset_code(),
    ("docs/registration.md", '"9164 8614"'): invited_bob,
    ("docs/tokens.md", "keys revoke EcNq0zTR-zwSQk70p6h0hdUlq0kHaZfveOAondTTVtc"): lambda stage: "keys revoke "
    + stage.must("doorward keys list").split()[0],
}
# Commands that run, and whose output is another one here, with the reason.
DIFFERS = {
    ("docs/accounts.md", "curl $URL/api/auth/login -H"): "publicKey is there for who holds a passkey: tests/factors/test_passkeys.py",
    ("docs/commands.md", "doorward emergency"): "figures of a larger installation",
    ("docs/import.md", "doorward import status"): "figures of a larger installation",
    ("docs/import.md", "doorward import drop"): "figures of a larger installation",
    ("docs/metrics.md", "curl -s 'http://127.0.0.1:9464/readyz?verbose'"): "an outage of mail: tests/metrics/test_alerts.py",
}
# What refuses the second time, and how it says so: no file is overwritten by chance.
REFUSED_AGAIN = {
    ("docs/backup.md", "doorward backup /var/backups/doorward/monday"): "exists: choose another name, or add --force to replace it",
    ("docs/audit.md", "doorward audit export --from"): "xists",
    ("docs/browser.md", "doorward snippet caddy staff --into"): "exists and differs: use --force to overwrite it",
    ("docs/leave.md", "doorward export users.jsonl"): "users.jsonl exists: name another file, or remove it",
}

TABLES = {
    name: table
    for name, table in list(globals().items())
    if name in ("EXCEPTED", "PROGRAMS", "BEFORE", "FILLED", "DIFFERS", "REFUSED_AGAIN")
}
used = set()


def uses(name, document, text):
    """The value of the entry of a table for this text, or nothing."""
    for (of, begins), value in TABLES[name].items():
        if of == document and text.startswith(begins):
            used.add((name, (of, begins)))
            return value
    return None


def is_excepted(document, text):
    return bool(uses("EXCEPTED", document, text))


def reason_of(block, text, programs):
    """Why a command is not run, or nothing. A program that is in no table has no reason, and must not run."""
    reason = uses("EXCEPTED", block.document, text) or uses("EXCEPTED", block.document, block.first)
    for program in programs:
        if program in PROGRAMS:
            used.add(("PROGRAMS", program))
            reason = reason or PROGRAMS[program]
        elif "/" in program and (REPOSITORY / program).is_file() and Path(program).parts[0] in ("lab", "bench"):
            reason = reason or "a measurement: script/test runs the short form"
    return reason
