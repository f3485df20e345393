"""Files that are not good backups: each is refused, and the database stays as it is."""

import json
import subprocess

import pytest
from installation import registered, refused

KINDS = ["sqlite", "postgres"]


@pytest.fixture
def identity(tmp_path):
    file = tmp_path / "identity"
    subprocess.run(["age-keygen", "-o", file], check=True, capture_output=True)
    return file


@pytest.fixture
def recipient(identity):
    return subprocess.run(["age-keygen", "-y", identity], check=True, capture_output=True, text=True).stdout.strip()


def flipped(contents, at):
    return contents[:at] + bytes([contents[at] ^ 0x04]) + contents[at + 1 :]


def damaged_files(good):
    """Each kind of damage, and a part of the error."""
    lines = good.splitlines(keepends=True)
    starts = [sum(map(len, lines[:number])) for number in range(len(lines))]
    header = json.loads(lines[0])

    def with_header(**fields):
        return json.dumps(header | fields).encode() + b"\n" + b"".join(lines[1:])

    yield "empty", b"", "not a backup"
    yield "other", b"SQLite format 3\0" + b"x" * 4096, "not a backup"
    yield "wrong magic", good.replace(b"doorwardBackup", b"doorwardbackup", 1), "not a backup"
    yield "newer format", with_header(doorwardBackup=2, version="9.0.0"), "from a newer doorward (version 9.0.0"
    yield "newer schema", with_header(schema=99), "schema 99"
    yield "half", good[: len(good) // 2], "incomplete"
    yield "without the end", b"".join(lines[:-1]), "incomplete"
    yield "without the last byte", good[:-1], "incomplete"
    yield "something behind", good + b"\n", "damaged"
    kinds = {}
    for number, line in enumerate(lines[1:], 1):
        kinds.setdefault(next(iter(json.loads(line))), number)
    assert {"key", "cookieSecret", "user", "session", "end"} <= set(kinds)
    for kind, number in kinds.items():
        # In the middle of the line, which is in a value.
        yield f"a bit of {kind}", flipped(good, starts[number] + len(lines[number]) // 2), "damaged"
    yield "a line less", b"".join(lines[: kinds["user"]] + lines[kinds["user"] + 1 :]), "damaged"


@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_file_is_refused_and_changes_nothing(kind, new_installation, tmp_path):
    source, target = new_installation("sqlite"), new_installation(kind)
    with source.service() as service:
        registered(service, "ada", 3)
        source.run("backup", tmp_path / "good")
    with target.service() as service:
        people = registered(service, "grace", 2)
    before = target.files()
    bad = tmp_path / "bad"
    for what, contents, cause in damaged_files((tmp_path / "good").read_bytes()):
        bad.write_bytes(contents)
        error = target.refuses("backup", "verify", bad)
        assert error.startswith(f"doorward: {bad}: ") and cause in error, (what, error)
        # Both read the file in the same way, so a few suffice for the slower one.
        if kind == "sqlite" or what in ("half", "newer schema", "a bit of end"):
            assert target.refuses("restore", bad, "--replace") == error, what
    for missing in (tmp_path, tmp_path / "missing"):
        target.refuses("backup", "verify", missing)
        target.refuses("restore", missing, "--replace")
    assert target.files() == before
    with target.service() as service:
        assert refused(service, people) == []


def test_an_encrypted_backup_is_restored_with_its_identity(new_installation, tmp_path, identity, recipient):
    source, target = new_installation("sqlite"), new_installation("sqlite")
    file = tmp_path / "file.age"
    other = tmp_path / "other"
    subprocess.run(["age-keygen", "-o", other], check=True, capture_output=True)
    with source.service() as service:
        people = registered(service, "ada", 3)
        source.run("backup", file, "--recipient", recipient)
    contents = file.read_bytes()
    assert contents.startswith(b"age-encryption.org/v1\n") and b"example.com" not in contents
    assert "name the file with the identity with --identity" in source.refuses("backup", "verify", file)
    assert "encrypted for other recipients" in source.refuses("backup", "verify", file, "--identity", other)
    public = tmp_path / "public"
    public.write_text(recipient)
    assert "not an identity file of age" in source.refuses("backup", "verify", file, "--identity", public)
    bad = tmp_path / "bad.age"
    middle, end = len(contents) // 2, len(contents) - 1
    for damaged in (contents[:middle], contents[:-1], contents + b"x", *(flipped(contents, at) for at in (60, 150, middle, end))):
        bad.write_bytes(damaged)
        target.refuses("backup", "verify", bad, "--identity", identity)
        target.refuses("restore", bad, "--identity", identity)
    assert target.files() == {}
    target.run("restore", file, "--identity", identity)
    with target.service() as service:
        assert refused(service, people) == []


def test_age_reads_our_files_and_we_read_those_of_age(new_installation, tmp_path, identity, recipient):
    source = new_installation("sqlite")
    with source.service() as service:
        # More than one part of an encrypted file.
        registered(service, "ada", 200)
    second = tmp_path / "second"
    subprocess.run(["age-keygen", "-o", second], check=True, capture_output=True)
    recipients = tmp_path / "recipients"
    public = subprocess.run(["age-keygen", "-y", second], check=True, capture_output=True, text=True).stdout
    recipients.write_text(f"# the second\n{public}")
    file, plain, again = tmp_path / "file.age", tmp_path / "plain", tmp_path / "again.age"
    described = json.loads(source.run("backup", file, "--recipient", recipient, "--recipients-file", recipients, "--json"))
    for key in (identity, second):
        subprocess.run(["age", "-d", "-i", key, "-o", plain, file], check=True)
        assert source.verify(plain) == described == source.verify(file, "--identity", key)
        plain_bytes = plain.read_bytes()
        plain.unlink()
    assert len(plain_bytes) > 65536
    plain.write_bytes(plain_bytes)
    subprocess.run(["age", "-r", recipient, "-o", again, plain], check=True)
    assert source.verify(again, "--identity", identity) == described
