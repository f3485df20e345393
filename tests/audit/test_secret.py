"""The secret of the trail is lost: a start stops, and a trail that goes on under a new name is verified in both of its parts."""

import json
import sqlite3

import pytest
from trail import Client, Installation


def lose(installation):
    if installation.database:
        # The row of `audit-secret`.
        installation._execute("DELETE FROM cookie_secrets WHERE id = 3")
    else:
        (installation.folder / "audit-secret").unlink()


def replace(installation):
    if installation.database:
        installation._execute("UPDATE cookie_secrets SET secret = decode(repeat('ab', 32), 'hex') WHERE id = 3")
    else:
        (installation.folder / "audit-secret").write_bytes(b"x" * 32)


def register(installation, *people, through=()):
    with installation.service() as service, Client(service) as client:
        for person in people:
            assert client.register(f"{person}@example.com")[0] == 201


def go_on(installation):
    """Starts and stops a server once with the order to go on."""
    service = installation.service()
    service._through = ("sh", "-c", 'exec "$0" --new-audit-secret')
    with service as running, Client(running) as client:
        assert client.register("carol@example.com")[0] == 201
    return (installation.folder / "output").read_text()


@pytest.mark.parametrize("damage", [lose, replace])
def test_a_start_without_the_secret_of_the_trail_stops_with_the_way_out(installation, damage):
    register(installation, "ada")
    damage(installation)
    for command in (("serve",), ("audit", "verify"), ("user", "list")):
        code, out, err = installation.command(*command)
        assert (code, out) == (1, ""), (command, out, err)
        assert "audit-secret" in err and "from your backup" in err and "--new-audit-secret" in err, (command, err)
    if damage is lose and not installation.database:
        assert not (installation.folder / "audit-secret").exists(), "a refused start has made a secret"


@pytest.mark.parametrize("damage", [lose, replace])
def test_a_trail_goes_on_under_a_new_name_and_both_parts_are_verified(installation, damage):
    register(installation, "ada", "bob")
    old_key = installation.run("audit", "key").strip()
    before = installation.verify("--checkpoint", installation.checkpoints)
    assert (before["findings"], before["markedBefore"]) == ([], 0)
    old_checkpoints = installation.folder / "old"
    old_checkpoints.write_text(installation.checkpoints.read_text())
    installation.checkpoints.unlink()
    damage(installation)
    output = go_on(installation)
    assert "the audit trail goes on under a new name" in output, output
    # The order is for one start.
    register(installation, "dave")
    new_key = installation.run("audit", "key").strip()
    assert new_key != old_key
    (event,) = installation.events("--kind", "audit_secret_replaced")
    assert event["actor"]["type"] == "operator"
    assert event["details"]["before"] == before["size"], event
    assert event["details"]["checkpoint"] in old_checkpoints.read_text()
    report = installation.verify("--checkpoint", installation.checkpoints)
    assert (report["findings"], report["markedBefore"]) == ([], before["size"]), report
    report = installation.verify("--checkpoint", old_checkpoints, "--key", old_key)
    assert report["findings"] == [] and report["checkpoints"] > 0, report
    report = installation.verify("--checkpoint", old_checkpoints)
    assert {finding["finding"] for finding in report["findings"]} == {"notSigned"}
    text = installation.run("audit", "verify", "--checkpoint", installation.checkpoints)
    assert f"the first {before['size']} events were marked with a secret that is lost" in text, text


def test_what_is_changed_later_is_found_in_both_parts(tmp_path):
    installation = Installation(tmp_path)
    register(installation, "ada", "bob")
    old_key = installation.run("audit", "key").strip()
    old_checkpoints = installation.folder / "old"
    old_checkpoints.write_text(installation.checkpoints.read_text())
    installation.checkpoints.unlink()
    lose(installation)
    go_on(installation)
    events = installation.events()
    size = installation.verify()["markedBefore"]

    def change(number):
        (event,) = [event for event in events if event["number"] == number]
        with sqlite3.connect(tmp_path / "doorward.db") as db:
            id = bytes.fromhex(event["id"].replace("-", ""))
            (record,) = db.execute("SELECT record FROM audit_events WHERE id = ?", [id]).fetchone()
            # A success is not stored.
            failed = json.dumps(json.loads(record) | {"outcome": "failure"}, separators=(",", ":"))
            assert failed != record
            db.execute("UPDATE audit_events SET record = ? WHERE id = ?", [failed, id])
        report = installation.verify("--checkpoint", old_checkpoints, "--key", old_key)
        with sqlite3.connect(tmp_path / "doorward.db") as db:
            db.execute("UPDATE audit_events SET record = ? WHERE id = ?", [record, id])
        return report["findings"]

    for number in (1, size - 1, size + 1):
        (finding,) = change(number)
        assert (finding["finding"], finding["number"]) == ("changed", number), finding
    # Whoever removes the event of the order, or forges one, does not hide older events.
    with sqlite3.connect(tmp_path / "doorward.db") as db:
        db.execute("UPDATE audit_events SET salt = zeroblob(32) WHERE kind = 'audit_secret_replaced'")
    report = installation.verify()
    assert report["markedBefore"] == 0 and len(report["findings"]) > size, json.dumps(report)
