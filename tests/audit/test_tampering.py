"""Whatever is done to the trail behind Doorward's back is found and named."""

import base64
import hashlib
import itertools
import json
import random
import shutil
import sqlite3
from datetime import UTC, datetime

import pytest
from trail import Client, Installation

# More than one tile of hashes.
PEOPLE = 330


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """A trail with a checkpoint after each part, and a backup from the middle."""
    installation = Installation(tmp_path_factory.mktemp("original"))
    with installation.service() as service, Client(service) as client:
        for number in range(PEOPLE):
            assert client.register(f"member-{number}@example.com")[0] == 201
            if number % 40 == 39:
                installation.keep_checkpoint()
            if number == 150:
                installation.run("backup", installation.folder / "backup")
    report = installation.verify("--checkpoint", installation.checkpoints)
    assert report["findings"] == [] and report["size"] == report["stored"] >= PEOPLE
    installation.size = report["size"]
    return installation


@pytest.fixture
def copy(original, tmp_path):
    """Makes copies of the original, and opens their databases."""
    numbers = itertools.count()

    def make():
        folder = tmp_path / str(next(numbers))
        shutil.copytree(original.folder, folder)
        return Installation(folder)

    return make


def database(installation):
    return sqlite3.connect(installation.folder / "doorward.db", isolation_level=None)


def rows(db, columns="number, id"):
    return db.execute(f"SELECT {columns} FROM audit_events WHERE number IS NOT NULL ORDER BY number").fetchall()


def hyphenated(id):
    text = id.hex()
    return "-".join([text[:8], text[8:12], text[12:16], text[16:20], text[20:]])


# Each makes one change, and returns what a finding must say: its kind, and the number or id of the event.


def change_text(db, number):
    (record,) = db.execute("SELECT record FROM audit_events WHERE number = ?", [number]).fetchone()
    at = random.randrange(len(record))
    other = random.choice([c for c in "abcdef0123456789" if c != record[at]])
    db.execute("UPDATE audit_events SET record = ? WHERE number = ?", [record[:at] + other + record[at + 1 :], number])
    return {"finding": "changed", "number": number}


def change_address(db, number):
    (personal,) = db.execute("SELECT personal FROM audit_events WHERE number = ?", [number]).fetchone()
    other = personal.replace(b"127.0.0.1", b"192.0.2.1")
    assert other != personal
    db.execute("UPDATE audit_events SET personal = ? WHERE number = ?", [other, number])
    return {"finding": "changed", "number": number}


def remove_address(db, number):
    db.execute("UPDATE audit_events SET personal = NULL WHERE number = ?", [number])
    return {"finding": "changed", "number": number}


def erase_somebody(db, number):
    """Erases what an event says of its person, as if that account had been deleted."""
    (id, personal) = db.execute("SELECT id, personal FROM audit_events WHERE number = ?", [number]).fetchone()
    commitment = hashlib.sha256(personal).digest()
    db.execute("UPDATE audit_events SET personal = NULL, commitment = ? WHERE number = ?", [commitment, number])
    return {"finding": "erased", "id": hyphenated(id)}


def change_salt(db, number):
    db.execute("UPDATE audit_events SET salt = randomblob(32) WHERE number = ?", [number])
    return {"finding": "changed", "number": number}


def change_kind(db, number):
    db.execute("UPDATE audit_events SET kind = 'mail_requested' WHERE number = ?", [number])
    return {"finding": "changed", "number": number}


def hide_from_user(db, number):
    db.execute("UPDATE audit_events SET subject_id = randomblob(16) WHERE number = ?", [number])
    return {"finding": "changed", "number": number}


def cut_subject(db, number):
    db.execute("UPDATE audit_events SET subject_id = x'01' WHERE number = ?", [number])
    return {"finding": "changed", "number": number}


def blame_another(db, number):
    db.execute("UPDATE audit_events SET actor_id = randomblob(16) WHERE number = ?", [number])
    return {"finding": "changed", "number": number}


def change_id(db, number):
    db.execute("UPDATE audit_events SET id = randomblob(16) WHERE number = ?", [number])
    return {"finding": "changed", "number": number}


def delete(db, number):
    db.execute("DELETE FROM audit_events WHERE number = ?", [number])
    return {"finding": "removed", "first": number, "last": number}


def delete_several(db, number):
    last = min(number + random.randint(1, 20), len(rows(db)) - 1)
    db.execute("DELETE FROM audit_events WHERE number BETWEEN ? AND ?", [number, last])
    return {"finding": "removed", "first": number, "last": last}


def swap(db, number):
    other = random.choice([n for n, _ in rows(db) if n != number])
    db.execute("UPDATE audit_events SET number = -1 WHERE number = ?", [number])
    db.execute("UPDATE audit_events SET number = ? WHERE number = ?", [number, other])
    db.execute("UPDATE audit_events SET number = ? WHERE number = -1", [other])
    return {"finding": "reordered", "number": other, "belongs_at": number}


def move_onto_another(db, number):
    other = random.choice([n for n, _ in rows(db) if n != number])
    db.execute("DELETE FROM audit_events WHERE number = ?", [other])
    db.execute("UPDATE audit_events SET number = ? WHERE number = ?", [other, number])
    return {"finding": "removed", "first": other, "last": other}


def insert(db, number, place="NULL"):
    (record,) = db.execute("SELECT record FROM audit_events WHERE number = ?", [number]).fetchone()
    made_up = "01a00000-0000-7000-8000-000000000000"
    values = [bytes.fromhex(made_up.replace("-", "")), "role_granted", record]
    db.execute(
        "INSERT INTO audit_events (id, number, kind, subject_id, actor_id, salt, record) "
        f"VALUES (?, {place}, ?, NULL, NULL, randomblob(32), ?)",
        values,
    )
    return {"finding": "inserted", "id": made_up}


def insert_beside(db, number):
    return insert(db, number, str(number))


def insert_behind(db, number):
    return insert(db, number, str(len(rows(db)) + random.randint(0, 5)))


def forget_number(db, number):
    db.execute("UPDATE audit_events SET number = NULL WHERE number = ?", [number])
    return {"finding": "removed", "first": number, "last": number}


def negative_number(db, number):
    db.execute("UPDATE audit_events SET number = -number - 1 WHERE number = ?", [number])
    return {"finding": "reordered", "belongs_at": number}


def change_stored_hash(db, number):
    path, offset = f"0/{number // 256:03}", number % 256 * 32
    (hashes,) = db.execute("SELECT hashes FROM audit_tiles WHERE path = ?", [path]).fetchone()
    changed = hashes[:offset] + bytes([hashes[offset] ^ 1]) + hashes[offset + 1 :]
    db.execute("UPDATE audit_tiles SET hashes = ? WHERE path = ?", [changed, path])
    return {"finding": "hashesChanged", "tile": path}


def remove_tile(db, number):
    path = random.choice([f"0/{number // 256:03}", "1/000"])
    db.execute("DELETE FROM audit_tiles WHERE path = ?", [path])
    return {"finding": "hashesChanged", "tile": path}


def add_tile(db, number):
    db.execute("INSERT INTO audit_tiles VALUES (?, randomblob(32), NULL)", [f"0/{100 + number % 800:03}"])
    return {"finding": "hashesChanged", "tile": f"0/{100 + number % 800:03}"}


def change_upper_tile(db, _):
    db.execute("UPDATE audit_tiles SET hashes = randomblob(length(hashes)) WHERE path = '1/000'")
    return {"finding": "hashesChanged", "tile": "1/000"}


def change_root(db, _):
    db.execute("UPDATE audit_tree SET hash = randomblob(32) WHERE log = 'own'")
    return {"finding": "treeChanged"}


def change_size(db, number):
    db.execute("UPDATE audit_tree SET size = ? WHERE log = 'own'", [number])
    return {"finding": "treeChanged"}


def enlarge(db, number):
    """Pretends more events than can be read."""
    size = random.choice([2**62, 2**63 - 1, 2**40])
    db.execute("UPDATE audit_tree SET size = ? WHERE log = 'own'", [size])
    if number % 2:
        db.execute("UPDATE audit_events SET number = ? WHERE number = ?", [size - 1, number])
    return {"finding": "treeChanged"}


def pretend_retention(db, number):
    """Removes events and marks them as pruned."""
    db.execute("UPDATE audit_tiles SET pruned = CAST(zeroblob(32) || randomblob(16) AS BLOB) WHERE path LIKE '0/%'")
    db.execute("DELETE FROM audit_events WHERE number <= ?", [number])
    return {"finding": "removed", "first": 0, "last": number}


def change_marks(db, number):
    db.execute("UPDATE audit_tiles SET pruned = randomblob(48) WHERE path = ?", [f"0/{number // 256:03}"])
    return {"finding": "marksChanged", "tile": f"0/{number // 256:03}"}


def cut_off(db, number):
    """Removes the newest events, and makes the tree that there was before them."""
    size = len(rows(db))
    db.execute("DELETE FROM audit_events WHERE number >= ? OR number IS NULL", [number])
    cut_tree(db, number)
    return {"finding": "cutOff", "first": number, "last": size - 1}


def cut_tree(db, size):
    leaves = b"".join(h for (h,) in db.execute("SELECT hashes FROM audit_tiles WHERE path LIKE '0/%' ORDER BY path"))
    leaves = [leaves[at : at + 32] for at in range(0, size * 32, 32)]
    write_tree(db, leaves)


def write_tree(db, leaves):
    """Writes a tree over these hashes, as somebody would who knows how trees are made."""
    def root(hashes):
        if len(hashes) <= 1:
            return hashes[0] if hashes else hashlib.sha256(b"").digest()
        split = 1 << ((len(hashes) - 1).bit_length() - 1)
        return hashlib.sha256(b"\x01" + root(hashes[:split]) + root(hashes[split:])).digest()

    db.execute("DELETE FROM audit_tiles")
    full = []
    for index in range(0, len(leaves), 256):
        tile = leaves[index : index + 256]
        db.execute("INSERT INTO audit_tiles VALUES (?, ?, NULL)", [f"0/{index // 256:03}", b"".join(tile)])
        if len(tile) == 256:
            full.append(root(tile))
    if full:
        db.execute("INSERT INTO audit_tiles VALUES ('1/000', ?, NULL)", [b"".join(full)])
    db.execute(
        "UPDATE audit_tree SET size = ?, hash = ?, checkpoint = NULL WHERE log = 'own'", [len(leaves), root(leaves)]
    )


def rewrite(db, number):
    """Changes an event, and makes the tree that would follow from it."""
    change_address(db, number)
    columns = "salt, id, kind, subject_id, actor_id, personal, commitment, record"
    leaves = [hashlib.sha256(b"\0" + salt + text_of(*row).encode()).digest() for salt, *row in rows(db, columns)]
    write_tree(db, leaves)
    return {"finding": "changed", "number": number}


def text_of(id, kind, subject, actor, personal, commitment, record):
    """The text that is hashed, as docs/audit.md says."""
    millis = int.from_bytes(id[:6])
    at = datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    fields = {"id": hyphenated(id), "at": at, "kind": kind}
    fields |= {"subject": hyphenated(subject)} if subject else {}
    fields |= {"by": hyphenated(actor)} if actor else {}
    if hidden := hashlib.sha256(personal).digest() if personal else commitment:
        fields["personal"] = base64.b64encode(hidden).decode()
    return json.dumps(fields, separators=(",", ":"))[:-1] + "," + record[1:]


KINDS = [
    change_text,
    change_address,
    remove_address,
    erase_somebody,
    change_salt,
    change_kind,
    hide_from_user,
    cut_subject,
    blame_another,
    change_id,
    delete,
    delete_several,
    swap,
    move_onto_another,
    insert,
    insert_beside,
    insert_behind,
    forget_number,
    negative_number,
    change_stored_hash,
    remove_tile,
    add_tile,
    change_upper_tile,
    change_root,
    change_size,
    enlarge,
    pretend_retention,
    change_marks,
    cut_off,
    rewrite,
]


def tamper(installation, kind, size):
    """Makes a change of this kind, and asserts that it is found and named."""
    number = random.randrange(1, size - 1)
    with database(installation) as db:
        expected = kind(db, number)
    db.close()
    report = installation.verify("--checkpoint", installation.checkpoints)
    named = [finding for finding in report["findings"] if expected.items() <= finding.items()]
    assert named, (kind.__name__, number, expected, report["findings"][:5])


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_kind_of_tampering_is_found_and_named(copy, original, kind):
    tamper(copy(), kind, original.size)


@pytest.mark.long
def test_500_tamperings_are_found(copy, original):
    pristine = copy()
    contents = {path.name: path.read_bytes() for path in pristine.folder.glob("doorward.db*")}
    for number in range(500):
        for path in pristine.folder.glob("doorward.db*"):
            path.unlink()
        for name, content in contents.items():
            (pristine.folder / name).write_bytes(content)
        tamper(pristine, KINDS[number % len(KINDS)], original.size)


def test_a_roll_back_to_a_backup_is_found_also_after_it_has_grown_again(copy):
    installation = copy()
    installation.run("restore", installation.folder / "backup", "--replace")
    report = installation.verify("--checkpoint", installation.checkpoints)
    assert [finding["finding"] for finding in report["findings"]] == ["cutOff"], report
    with installation.service(DOORWARD_AUDIT_CHECKPOINT_FILE="none") as service, Client(service) as client:
        for number in range(2 * PEOPLE):
            assert client.register(f"later-{number}@example.com")[0] == 201
    report = installation.verify("--checkpoint", installation.checkpoints)
    assert [finding["finding"] for finding in report["findings"]] == ["notContinued"], report
    text = installation.command("audit", "verify", "--checkpoint", installation.checkpoints)[1]
    assert "rolled back to an older backup" in text


def test_a_checkpoint_of_another_installation_does_not_count(copy, sqlite):
    installation = copy()
    with sqlite.service() as service, Client(service) as client:
        assert client.register("ada@example.com")[0] == 201
    report = installation.verify("--checkpoint", sqlite.checkpoints)
    # One for each checkpoint: the server writes one at its end, and one after its start unless its end comes first.
    assert {finding["finding"] for finding in report["findings"]} == {"notSigned"}, report


def test_tampering_in_postgresql_is_found(server, tmp_path):
    name = server.fresh_database()
    installation = Installation(tmp_path, server.url(name))
    with installation.service() as service, Client(service) as client:
        for number in range(20):
            assert client.register(f"member-{number}@example.com")[0] == 201
    assert installation.verify("--checkpoint", installation.checkpoints)["findings"] == []
    size = installation.verify()["size"]
    server.query("UPDATE audit_tree SET size = 4611686018427387904 WHERE log = 'own'", name)
    report = installation.verify("--checkpoint", installation.checkpoints)
    assert report["findings"] == [{"finding": "treeChanged"}], report
    server.query(f"UPDATE audit_tree SET size = {size} WHERE log = 'own'", name)
    for statement, expected in [
        ("UPDATE audit_events SET record = record || ' ' WHERE number = 3", {"finding": "changed", "number": 3}),
        ("DELETE FROM audit_events WHERE number = 5", {"finding": "removed", "first": 5, "last": 5}),
        ("UPDATE audit_events SET kind = 'signed_in' WHERE number = 7", {"finding": "changed", "number": 7}),
        ("DELETE FROM audit_tiles", {"finding": "hashesChanged", "tile": "0/000"}),
        ("DELETE FROM audit_tree", {"finding": "cutOff", "first": 0, "last": size - 1}),
    ]:
        server.query(statement, name)
        report = installation.verify("--checkpoint", installation.checkpoints)
        assert any(expected.items() <= finding.items() for finding in report["findings"]), (statement, report)


def test_a_backup_and_a_move_carry_the_trail(copy, server, tmp_path):
    installation = copy()
    name = server.fresh_database()
    installation.run("migrate", "--to", server.url(name))
    moved = Installation(tmp_path / "moved", server.url(name))
    moved.folder.mkdir()
    report = moved.verify("--checkpoint", installation.checkpoints)
    assert report["findings"] == []
    file = installation.folder / "newest"
    moved.run("backup", file)
    restored = Installation(tmp_path / "restored")
    restored.folder.mkdir()
    restored.run("restore", file)
    assert restored.verify("--checkpoint", installation.checkpoints)["findings"] == []
    # Each of the three orders is in the database that it was given to, and in those that were made of it.
    kinds = [event["kind"] for event in restored.events()]
    assert kinds[-3:] == ["data_moved", "backup_made", "backup_restored"]
    assert [event["kind"] for event in installation.events()] == kinds[:-2]
    for event in restored.events()[-3:]:
        assert event["actor"]["type"] == "operator" and event["actor"]["name"]
