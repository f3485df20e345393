"""What the commands promise: files, modes, refusals, and the time of the last backup."""

import hashlib
import json
import os
import subprocess
import time
from collections import Counter

import pytest
from installation import is_copied, registered, refused

KINDS = ["sqlite", "postgres"]


@pytest.fixture
def filled(new_installation):
    """An installation with three people, without a running server."""
    installation = new_installation("sqlite")
    with installation.service() as service:
        installation.people = registered(service, "ada", 3)
    return installation


def test_a_backup_is_private_and_replaced_only_on_request(filled, tmp_path):
    folder = tmp_path / "backups"
    folder.mkdir()
    file = folder / "today"
    said = filled.run("backup", file)
    assert said.startswith(f"{file}: 3 users, 3 sessions, 1 signing key, made 20") and "of sqlite" in said
    assert file.stat().st_mode & 0o777 == 0o600
    before = file.read_bytes()
    assert "exists: choose another name, or add --force" in filled.refuses("backup", file)
    assert file.read_bytes() == before
    filled.run("backup", file, "--force")
    assert file.read_bytes() != before
    assert [path.name for path in folder.iterdir()] == ["today"]
    assert "is a folder" in filled.refuses("backup", folder)
    assert "No such file" in filled.refuses("backup", folder / "missing" / "file")


def test_only_a_regular_file_is_replaced(filled, tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(tmp_path / "file")
    for path in (pipe, link):
        before = os.lstat(path)
        for force in ([], ["--force"]):
            assert "is not a regular file" in filled.refuses("backup", path, *force)
        assert os.path.samestat(os.lstat(path), before)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_disk_that_is_full_is_named(filled, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k", "doorward-test", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr}")
    try:
        file = disk / "backup"
        (disk / "ballast").write_bytes(bytes(4096))
        message = f"{file}: No space left on device"
        assert message in filled.refuses("backup", file)
        with filled.service():
            said = filled.refuses("backup", file)
            assert message in said and "what the server sent" not in said, said
        assert [path.name for path in disk.iterdir()] == ["ballast"]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_standard_output_gets_the_backup_and_nothing_else(filled, tmp_path):
    with filled.service():
        process = filled.start("backup", "-")
        out, err = process.communicate(timeout=60)
    assert process.returncode == 0 and b"3 users" in err
    (tmp_path / "piped").write_bytes(out)
    assert filled.verify(tmp_path / "piped")["users"] == 3
    verified = filled.start("backup", "verify", "-", "--json", stdin=subprocess.PIPE)
    out, err = verified.communicate(out, timeout=60)
    assert json.loads(out)["users"] == 3, err


def test_the_description_is_complete(filled, tmp_path):
    file = tmp_path / "file"
    described = json.loads(filled.run("backup", file, "--json"))
    assert described == filled.verify(file)
    _, *records, end = (json.loads(line) for line in file.read_text().splitlines())
    tables = [name for name in end["end"]["counts"] if name != "keys"]
    assert list(described) == ["createdAt", "version", "schema", "database", *tables, "keys", "sha256"]
    lines = Counter(kind for record in records for kind in record)
    assert {table: described[table] for table in tables} == {table: lines.pop(table, 0) for table in tables}
    assert lines == {"key": described["keys"], "cookieSecret": 1, "auditSecret": 1, "factorSecret": 1}
    assert filled.run("backup", "verify", file).startswith(f"{file}: 3 users, 3 sessions, 1 signing key")


def test_the_time_of_the_last_good_backup_is_recorded(filled, tmp_path):
    recorded = filled.folder / "last-backup"
    assert not recorded.exists()
    before = time.time()
    filled.run("backup", tmp_path / "one")
    millis, text = recorded.read_text().split()
    assert before - 1 <= int(millis) / 1000 <= time.time() + 1 and text.endswith("Z")
    assert recorded.stat().st_mode & 0o777 == 0o600
    filled.refuses("backup", tmp_path)
    assert recorded.read_text() == f"{millis} {text}\n"
    with filled.service():
        filled.run("backup", tmp_path / "two")
        assert int(recorded.read_text().split()[0]) > int(millis)


@pytest.mark.parametrize("kind", KINDS)
def test_second_factors_and_their_secret_are_restored(kind, filled, new_installation, tmp_path):
    (tmp_path / "users.csv").write_text("email,totpSecret\ngrace@example.com,GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\n")
    filled.run("import", tmp_path / "users.csv")
    command = ("user", "factor", "list", "grace@example.com", "--json")
    before = json.loads(filled.run(*command))
    assert [factor["kind"] for factor in before["factors"]] == ["totp"]
    filled.run("backup", tmp_path / "file")
    target = new_installation(kind)
    target.run("restore", tmp_path / "file")
    assert json.loads(target.run(*command)) == before
    # Another backup has the same secret and the same row.
    target.run("backup", tmp_path / "again")
    lines = [(tmp_path / name).read_text().splitlines() for name in ("file", "again")]
    first, second = ([line for line in of if "factorSecret" in line or "totp_secrets" in line] for of in lines)
    assert len(first) == 3 and first[:2] == second[:2], "the last line has the counts"


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_restored_while_a_server_runs(kind, filled, new_installation, tmp_path):
    filled.run("backup", tmp_path / "file")
    target = new_installation(kind)
    with target.service() as service:
        people = registered(service, "grace", 2)
        assert "in use by another doorward" in target.refuses("restore", tmp_path / "file", "--replace")
        assert refused(service, people) == []
        assert target.emails() == {person.email for person in people}


def test_what_was_there_is_kept_beside(filled, new_installation, tmp_path):
    filled.run("backup", tmp_path / "file")
    target = new_installation("sqlite")
    with target.service() as service:
        people = registered(service, "grace", 2)
    before = target.files()
    assert "already has users: add --replace" in target.refuses("restore", tmp_path / "file")
    assert target.files() == before
    said = target.run("restore", tmp_path / "file", "--replace")
    [kept] = target.folder.glob("replaced-*")
    assert str(kept) in said and kept.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in kept.iterdir()} == {
        "doorward.db",
        "signing-key.pem",
        "cookie-secret",
        "factor-secret",
        "audit-secret",
    }
    with target.service() as service:
        assert refused(service, filled.people) == []
        assert len(refused(service, people)) == 2
    # The old files in a folder of their own are the old installation.
    target.database = f"sqlite://{kept}/doorward.db"
    with target.service() as service:
        assert refused(service, people) == []


def test_a_damaged_database_is_moved_aside(filled, tmp_path):
    filled.run("backup", tmp_path / "file")
    (filled.folder / "doorward.db").write_bytes(b"x" * 8192)
    assert "add --replace to move it aside" in filled.refuses("restore", tmp_path / "file")
    filled.run("restore", tmp_path / "file", "--replace")
    with filled.service() as service:
        assert refused(service, filled.people) == []


def test_an_installation_without_its_signing_key_is_not_backed_up(filled, tmp_path):
    key, file = filled.folder / "signing-key.pem", tmp_path / "file"
    kept = key.read_bytes()
    with filled.service():
        # The running server has it in memory only.
        key.unlink()
        assert "no signing key, so no server would start with the backup" in filled.refuses("backup", file)
    assert "start the server once with --new-signing-key" in filled.refuses("backup", file)
    assert not file.exists()
    key.write_bytes(kept)
    filled.run("backup", file)


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_without_a_signing_key_is_restored_only_on_request(kind, filled, new_installation, tmp_path):
    keyless, target = tmp_path / "keyless", new_installation(kind)
    filled.run("backup", tmp_path / "file")
    lines = (tmp_path / "file").read_bytes().splitlines(keepends=True)
    # As an older version has made it.
    kept = [line for line in lines[:-1] if not line.startswith(b'{"key":')]
    end = json.loads(lines[-1])
    end["end"]["counts"]["keys"] = 0
    end["end"]["sha256"] = hashlib.sha256(b"".join(kept)).hexdigest()
    keyless.write_bytes(b"".join(kept) + json.dumps(end, separators=(",", ":")).encode() + b"\n")
    for command in (["backup", "verify"], ["restore"]):
        refusal = target.refuses(*command, keyless)
        assert "has users but no signing key" in refusal and "restore --new-signing-key" in refusal
    said = target.run("restore", keyless, "--new-signing-key")
    assert "3 users, 3 sessions, 1 signing key" in said
    with target.service() as service:
        assert len(refused(service, filled.people)) == 3
        assert target.emails() == {person.email for person in filled.people}


def test_keys_of_the_operator_are_not_in_the_backup(filled, new_installation, tmp_path):
    key = tmp_path / "key.pem"
    command = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key]
    subprocess.run(command, check=True, capture_output=True)
    process = filled.start("backup", tmp_path / "file", "--token-key-file", key)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0 and b"key.pem (token.key_file) are not in the backup" in err
    secret = key.read_text().splitlines()[1]
    assert secret not in (tmp_path / "file").read_text()
    (filled.folder / "signing-key.pem").unlink()
    filled.run("backup", tmp_path / "file", "--force", "--token-key-file", key)
    filled.run("backup", "verify", tmp_path / "file")
    target = new_installation("sqlite")
    assert "set token.key_file to that file" in target.refuses("restore", tmp_path / "file")
    target.run("restore", tmp_path / "file", "--token-key-file", key)


@pytest.mark.parametrize("kind", KINDS)
def test_users_with_hashes_of_other_systems_are_restored(kind, new_installation, tmp_path):
    """Twice as many as a page has, all with the same scheme."""
    source, target = new_installation("sqlite"), new_installation(kind)
    scheme = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"
    rows = [f"Ada,ada-{number}@example.com,{scheme}\n" for number in range(1000)]
    (tmp_path / "users.csv").write_text("".join(["name,email,hash\n", *rows]))
    with source.service():
        source.run("import", tmp_path / "users.csv")
    source.run("backup", tmp_path / "file")
    for number in range(2):
        # The second time, the database has the same users.
        target.run("restore", tmp_path / "file", "--replace")
        target.run("backup", tmp_path / f"again-{number}")
        assert is_copied(tmp_path / "file", tmp_path / f"again-{number}")
    assert len((tmp_path / "file").read_text().splitlines()) > 1000
