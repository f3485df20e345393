"""Every order leaves its event, which says who gave it and whom it concerns. tests/actions.toml lists all of them."""

import json
import sqlite3
import tomllib
from pathlib import Path

import pytest
from harness.wait import eventually
from trail import PASSWORD, Client

TABLES = tomllib.loads((Path(__file__).parents[1] / "actions.toml").read_text())
ACTIONS = TABLES["actions"]
# What each order to a command leaves, by the action or, for a command that is none, by its words.
COMMANDS = {name: (action["command"], action["leaves"]) for name, action in ACTIONS.items()} | {
    command: (command, leaves) for command, leaves in TABLES["commands"].items()
}
ADA, BOB, GRACE = "ada@example.com", "bob@example.com", "grace@example.com"
BCRYPT = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"
BY_OPERATOR = ["operator"]


class Trail:
    """What is new in the trail."""

    def __init__(self, installation):
        self.installation, self.seen = installation, set()
        self.new()

    def new(self):
        events = [event for event in self.installation.events() if event["id"] not in self.seen]
        self.seen |= {event["id"] for event in events}
        return events

    def kinds_of(self, actors, count):
        """The kinds of new events by these actors, and the events, by kind: those of one moment have no order. What changes nothing
        in the database, as a reload, is written within a second."""
        events = []

        def has_all():
            events.extend(event for event in self.new() if event["actor"]["type"] in actors)
            return len(events) >= count

        eventually("the order is recorded", has_all)
        events.sort(key=lambda event: event["kind"])
        return [event["kind"] for event in events], events


def line(number, **fields):
    id = f"0190a0a0-0000-4000-8000-{number:012}"
    return json.dumps({"id": id, "name": "Somebody", "email": f"m{number}@example.com"} | fields) + "\n"


def test_every_command_leaves_its_events(installation, tmp_path):
    (tmp_path / "users.jsonl").write_text(line(1, hash=BCRYPT))
    if installation.database:
        # A reload finds the server by it.
        (installation.folder / "doorward.toml").write_text(f'data_folder = "{installation.folder}"\n')
    with installation.service(DOORWARD_REGISTRATION="open") as service, Client(service) as client:
        _, ada = client.register(ADA, PASSWORD)
        client.register(BOB, PASSWORD)
        trail = Trail(installation)
        given = set()

        def given_to_command(name, *arguments):
            command, leaves = COMMANDS[name]
            installation.run(*command.split(), *arguments)
            kinds, events = trail.kinds_of(BY_OPERATOR, len(leaves))
            assert kinds == sorted(leaves), (name, kinds)
            given.add(name)
            return events

        def order(name, *arguments, about=None):
            events = given_to_command(name, *arguments)
            for event in events:
                assert event["actor"]["name"] and event.get("subject") == about, event
            return events

        ada = ada["id"]
        for name in ("verify an address", "user unverify", "disable a user", "enable a user", "make a reset code"):
            order(name, ADA, about=ada)
        order("change a user", ADA, "--name", "Ada King", about=ada)
        order("grant a role", ADA, "staff", about=ada)
        order("revoke a role", ADA, "staff", about=ada)
        order("unlock a user", ADA, about=ada)
        order("make a link that removes factors", ADA, about=ada)
        # Without a session, there is nothing to end.
        assert client.call("POST", "/api/auth/login", fields={"email": ADA, "password": PASSWORD})[0] == 200
        trail.new()
        order("end all sessions", ADA, about=ada)
        order("remove a login of a user", ADA, "--remove", installation.link(ada), about=ada)
        order("require a new password", ADA, about=ada)
        order("secure an account", ADA, about=ada)
        order("export a user", tmp_path / "ada.json", "--user", ADA, about=ada)
        # Nobody knows the subject of an order about somebody who does not exist before it.
        (added,) = given_to_command("add a user", GRACE, "--name", "Grace")
        assert added["subject"]
        order("delete a user", GRACE, about=added["subject"])
        (invited,) = order("invite", "eve@example.com", "--role", "admin", "--print")
        assert invited["details"]["roles"] == ["admin"]
        order("revoke an invitation", "eve@example.com")
        order("make an API key", "ci", "--scope", "users:read")
        key = json.loads(installation.run("api-key", "list", "--json"))
        order("revoke an API key", (key["keys"] if "keys" in key else key)[0]["id"])
        kid = order("rotate signing keys")[0]["details"]["kid"]
        order("revoke a signing key", kid)
        order("export the audit trail", tmp_path / "trail.jsonl")
        order("export all users", tmp_path / "export.jsonl")
        (imported, summary) = given_to_command("import users", tmp_path / "users.jsonl")
        assert summary["details"] == {"count": 1} and imported["subject"]
        order("drop imported hashes", "--unused-for", "0s", about=imported["subject"])
        with open(installation.folder / "doorward.toml", "a") as settings:
            settings.write("guards.door.allow = 'true'\n")
        order("reload guards")
        order("revoke everything", "--new-passwords", "none", "--yes")
        order("back up", tmp_path / "backup")
    # Without a server, too.
    trail.new()
    order("back up", tmp_path / "again")
    # Mail needs a server, which tests/mail has, and passwords are typed at a terminal, which tests/process has. One session is ended
    # as an operation.
    tested_elsewhere = {"retry mail", "migrate", "restore", "serve", "set a password", "end a session"}
    with_events = {name for name, (_, leaves) in COMMANDS.items() if isinstance(leaves, list)}
    assert given | tested_elsewhere == with_events
    assert installation.verify("--checkpoint", installation.checkpoints)["findings"] == []


def test_every_operation_leaves_its_events(installation):
    with installation.service() as service, Client(service) as client:
        _, ada = client.register(ADA, PASSWORD)
        _, admin = client.register("admin@example.com", PASSWORD)
        installation.run("user", "grant", "admin@example.com", "admin")
        # On PostgreSQL the command changes the database itself, and the service hears of it a moment later.
        eventually("the role counts", lambda: "admin" in client.call("GET", "/api/me", admin["token"])[1]["roles"])
        trail, given = Trail(installation), set()

        def order(name, fields=None, about=None, **parameters):
            method, path = ACTIONS[name]["api"].split()
            path = path.format(user=about, **parameters)
            status, body = client.call(method, path, admin["token"], fields)
            assert status < 300, (name, status, body)
            kinds, events = trail.kinds_of(["user"], len(ACTIONS[name]["leaves"]))
            assert kinds == ACTIONS[name]["leaves"], (name, kinds)
            for event in events:
                assert event["actor"]["id"] == admin["id"], event
                assert event["address"] == "127.0.0.1" and event.get("subject") == about, event
            given.add(name)
            return body

        ada = ada["id"]
        order("unlock a user", about=ada)
        order("change a user", {"name": "Ada King"}, about=ada)
        order("verify an address", {"emailVerified": True}, about=ada)
        order("export a user", about=ada)
        order("grant a role", role="staff", about=ada)
        order("revoke a role", role="staff", about=ada)
        sessions = client.call("GET", f"/api/admin/users/{ada}/sessions", admin["token"])[1]
        session = (sessions["sessions"] if isinstance(sessions, dict) else sessions)[0]["id"]
        order("end a session", id=session, about=ada)
        order("set a password", {"password": PASSWORD + " 2"}, about=ada)
        client.call("POST", "/api/auth/login", fields={"email": ADA, "password": PASSWORD + " 2"})
        trail.new()
        order("end all sessions", about=ada)
        order("remove a login of a user", id=installation.link(ada), about=ada)
        order("make a reset code", about=ada)
        order("make a link that removes factors", about=ada)
        order("require a new password", about=ada)
        order("secure an account", about=ada)
        order("disable a user", {"disabled": True}, about=ada)
        order("enable a user", {"disabled": False}, about=ada)
        order("delete a user", about=ada)
        order("rotate signing keys")
        key = order("make an API key", {"name": "ci", "scopes": ["users:read"]})
        order("revoke an API key", id=key.get("id") or key["key"]["id"])
        report = installation.verify()
        assert report["findings"] == [], report
    # Of the others, the ones with a body that is no JSON or that only the operator may give are tested as commands.
    as_commands = {
        "export the audit trail", "back up", "revoke everything", "export all users", "reload guards", "drop imported hashes",
        "import users", "invite", "revoke an invitation", "add a user", "revoke a signing key", "retry mail",
    }  # fmt: skip
    with_events = {name for name, action in ACTIONS.items() if isinstance(action["leaves"], list)}
    assert given | as_commands == with_events


@pytest.mark.parametrize("roles", [["admin"], ["staff", "admin"]], ids=" ".join)
def test_an_import_makes_administrators_only_if_it_is_told_to(installation, tmp_path, roles):
    file = tmp_path / "users.jsonl"
    file.write_text(line(1, roles=["staff"]) + line(2, roles=roles))
    with installation.service():
        code, _, err = installation.command("import", file)
        assert code == 1 and "--admin-roles" in err and "admin" in err, err
        assert installation.events("--kind", "user_imported") == []
        code, out, _ = installation.command("import", file, "--skip-bad")
        assert code == 0 and "1 user added" in out, out
        (event,) = installation.events("--kind", "user_imported")
        assert event["details"] == {"roles": ["staff"]}
        installation.run("import", file, "--admin-roles")
        # Again, it adds nobody and leaves nothing.
        installation.run("import", file)
    imported = installation.events("--kind", "user_imported")
    assert [event["details"]["roles"] for event in imported] == [["staff"], sorted(roles)]
    (granted,) = installation.events("--kind", "role_granted")
    assert granted["details"] == {"role": "admin"} and granted["subject"] == imported[1]["subject"]
    for event in [*imported, granted]:
        assert event["actor"]["type"] == "operator" and event["actor"]["name"]
    assert installation.verify("--checkpoint", installation.checkpoints)["findings"] == []


def test_nothing_of_a_deleted_person_is_left_in_the_trail(sqlite):
    agent = "Mozilla/5.0 (a browser that nobody else has)"
    with sqlite.service() as service:
        with Client(service) as client:
            _, ada = client.register(ADA, PASSWORD)
            client.register(BOB, PASSWORD)
            for _ in range(3):
                body = json.dumps({"email": ADA, "password": PASSWORD}).encode()
                head = (
                    "POST /api/auth/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                    f"User-Agent: {agent}\r\nContent-Length: {len(body)}\r\n\r\n"
                )
                assert client._connection.exchange(head.encode() + body).status == 200
            proved = sqlite.events("--kind", "signed_in")[0]
            assert proved["userAgent"] == agent
            sqlite.run("audit", "prove", proved["id"], sqlite.folder / "proof")
            sqlite.keep_checkpoint()
            assert client.call("DELETE", "/api/me", ada["token"], {"password": PASSWORD})[0] in (200, 204)
        about = sqlite.events("--user", ada["id"])
        assert len(about) >= 5 and not any({"address", "userAgent"} & set(event) for event in about), about
        assert [event["kind"] for event in about][-1] == "user_deleted"
        bobs = sqlite.events("--user", BOB)
        assert bobs[0]["address"] == "127.0.0.1"

        def is_erased():
            with sqlite3.connect(f"file:{sqlite.folder}/doorward.db?mode=ro", uri=True) as db:
                sql = "SELECT count(*) FROM audit_events WHERE subject_id = ? AND personal IS NOT NULL"
                return db.execute(sql, [bytes.fromhex(ada["id"].replace("-", ""))]).fetchone() == (0,)

        eventually("the events are erased", is_erased)
    key = sqlite.run("audit", "key").strip()
    assert sqlite.run("audit", "verify", "--proof", sqlite.folder / "proof", "--key", key)
    report = sqlite.verify("--checkpoint", sqlite.checkpoints)
    assert report["findings"] == [] and report["size"] == report["stored"], report
    sqlite.run("backup", sqlite.folder / "backup")
    lines = [json.loads(line) for line in (sqlite.folder / "backup").read_text().splitlines()]
    events = [line["audit_events"] for line in lines if "audit_events" in line]
    of_ada = [event for event in events if event["subject_id"] == ada["id"]]
    assert len(of_ada) == len(about) and all(event["personal"] is None for event in of_ada)


def test_all_kinds_are_listed_by_the_command(sqlite):
    listed = sqlite.run("audit", "list", "--kind", "help")
    kinds = json.loads(sqlite.run("audit", "list", "--kind", "help", "--json"))
    assert [row.split()[0] for row in listed.splitlines()] == kinds and "backup_made" in kinds
