"""Proofs and checkpoints hold for others: a library that shares no code with Doorward, and a second Doorward."""

import base64
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from harness import HOST, REPOSITORY
from harness.ports import reserved_port
from trail import Client, Installation

PACKAGES = REPOSITORY / "target" / "test-node"


def sigstore(key, proofs):
    """What the code of sigstore says about each proof: the event, or why it is refused. Node starts once for all of them."""
    command = ["node", Path(__file__).with_name("verify.mjs"), key, *proofs]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=os.environ | {"PACKAGES": str(PACKAGES)})
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def trail(tmp_path_factory):
    installation = Installation(tmp_path_factory.mktemp("trail"))
    with installation.service() as service, Client(service) as client:
        for number in range(270):
            assert client.register(f"member-{number}@example.com")[0] == 201
    return installation


def test_an_independent_verifier_accepts_proofs_of_every_tree_and_nothing_else(trail, tmp_path):
    key = trail.run("audit", "key").strip()
    events = trail.events()
    for number, event in enumerate(random.sample(events, 6)):
        file = tmp_path / f"{number}.tlog-proof"
        trail.run("audit", "prove", event["id"], file)
        # Proofs of something else.
        pairs = list(changes(file.read_text()))
        changed = [tmp_path / f"{number}.{place}.changed" for place in range(len(pairs))]
        for path, (old, new) in zip(changed, pairs):
            assert old != new
            path.write_text(file.read_text().replace(old, new, 1))
        verdict, *others = sigstore(key, [file, *changed])
        assert "event" in verdict, verdict
        proved = verdict["event"]
        for name in ("id", "at", "kind", "subject", "requestId", "details"):
            assert proved.get(name) == event.get(name), name
        assert proved["actor"]["type"] == event["actor"]["type"]
        # Of what it says of its person, a proof has only the hash.
        assert ("personal" in proved) == ("address" in event)
        # The settings of a start name the address that it listens on.
        assert "127.0.0.1" not in json.dumps(proved | {"details": None})
        assert trail.run("audit", "verify", "--proof", file, "--key", key, "--json")
        for path, pair, verdict in zip(changed, pairs, others, strict=True):
            assert "refused" in verdict, pair
            assert trail.command("audit", "verify", "--proof", path, "--key", key)[0] == 1, pair


def changes(proof):
    """Parts of a proof, each with another text in its place."""
    lines = proof.split("\n")
    entry = base64.b64decode(lines[1].removeprefix("extra "))
    yield lines[1], "extra " + base64.b64encode(entry.replace(b'"at":"2', b'"at":"1')).decode()
    index = int(lines[2].removeprefix("index "))
    yield lines[2], f"index {index ^ 1}"
    yield lines[3], base64.b64encode(bytes(32)).decode()
    yield lines[3] + "\n", ""
    body = proof.split("\n\n")[1].split("\n")
    yield f"\n{body[1]}\n", f"\n{int(body[1]) + 1}\n"
    yield body[2], base64.b64encode(bytes(32)).decode()


def test_a_proof_is_checked_without_a_database(trail, tmp_path):
    event = random.choice(trail.events())
    proof, key = trail.run("audit", "prove", event["id"]), trail.run("audit", "key").strip()
    elsewhere = Installation(tmp_path)
    (tmp_path / "proof").write_text(proof)
    assert event["id"] in elsewhere.run("audit", "verify", "--proof", tmp_path / "proof", "--key", key)
    other = key.replace("+A", "+B", 1)
    assert elsewhere.command("audit", "verify", "--proof", tmp_path / "proof", "--key", other)[0] == 1
    assert trail.command("audit", "prove", "01a00000-0000-7000-8000-000000000000")[0] == 4


def test_a_witness_cosigns_what_continues_and_refuses_a_roll_back(tmp_path):
    log, witness = Installation(tmp_path / "log"), Installation(tmp_path / "witness")
    log.folder.mkdir()
    witness.folder.mkdir()
    for installation in (log, witness):
        with installation.service():
            pass
    key, witness_key = log.run("audit", "key").strip(), witness.run("audit", "key", "--witness").strip()
    port = reserved_port()
    settings = {
        "DOORWARD_AUDIT_WITNESS": f"http://{HOST}:{port}/audit/witness",
        "DOORWARD_AUDIT_WITNESS_KEY": witness_key,
    }
    watching = {"DOORWARD_LISTEN": f"{HOST}:{port}", "DOORWARD_AUDIT_WITNESS_FOR": key}

    def run(people):
        with log.service(**settings) as service, Client(service) as client:
            for person in people:
                assert client.register(f"{person}@example.com")[0] == 201
        return service.output() if service.folder.exists() else ""

    with witness.service(**watching):
        run(["ada"])
        copied = tmp_path / "copy"
        shutil.copytree(log.folder, copied)
        run(["bob", "eve"])
        last = log.checkpoints.read_text().rsplit(f"\n{key.split('+')[0]}\n", 1)[-1]
        assert last.count("\n— ") == 2 and witness_key.split("+")[0] in last, last
        assert log.verify("--checkpoint", log.checkpoints)["findings"] == []
        # The database of before is put in the place of the newer one.
        for path in log.folder.glob("doorward.db*"):
            path.unlink()
        for path in copied.glob("doorward.db*"):
            shutil.copy(path, log.folder / path.name)
        run(["mallory"])
        output = (log.folder / "output").read_text()
        assert "the witness refuses the audit trail" in output and "rolled back" in output, output
        last = log.checkpoints.read_text().rsplit(f"\n{key.split('+')[0]}\n", 1)[-1]
        assert witness_key.split("+")[0] not in last
