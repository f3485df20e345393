"""Files that are not good backups: each is refused, and the database stays as it is."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
from harness import BINARY
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
    assert {"key", "cookieSecret", "users", "sessions", "end"} <= set(kinds)
    for kind, number in kinds.items():
        # In the middle of the line, which is in a value.
        yield f"a bit of {kind}", flipped(good, starts[number] + len(lines[number]) // 2), "damaged"
    yield "a line less", b"".join(lines[: kinds["users"]] + lines[kinds["users"] + 1 :]), "damaged"


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


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_pipe_restores_nothing(kind, new_installation, tmp_path):
    """Whatever fails in a pipeline, its end is missing."""
    source, target = new_installation("sqlite"), new_installation(kind)
    with source.service() as service:
        registered(service, "ada", 3)
        source.run("backup", tmp_path / "good")
    good = (tmp_path / "good").read_bytes()
    with target.service() as service:
        people = registered(service, "grace", 2)
    before = target.files()
    lines = good.count(b"\n")
    for cut, complete in ((good[: len(good) // 2], None), (good[:-1], lines - 1)):
        error = refuses_piped(target, cut, "restore", "-", "--replace")
        said = "the backup is incomplete: it ends after" + (f" {complete} lines: use another one" if complete else "")
        assert error.startswith("doorward: -: ") and said in error, error
        assert said in refuses_piped(target, cut, "backup", "verify", "-")
    assert target.files() == before
    with target.service() as service:
        assert refused(service, people) == []


def refuses_piped(installation, contents, *arguments):
    process = installation.start(*arguments, stdin=subprocess.PIPE)
    out, err = process.communicate(contents, timeout=120)
    assert (process.returncode, out) == (1, b""), (out, err)
    return err.decode()


@pytest.mark.parametrize("kind", KINDS)
def test_a_backup_is_encrypted_and_decrypted_in_a_pipe(kind, new_installation, tmp_path, identity, recipient):
    source, target = new_installation("sqlite"), new_installation(kind)
    file, other = tmp_path / "file.age", tmp_path / "other"
    subprocess.run(["age-keygen", "-o", other], check=True, capture_output=True)
    with source.service() as service:
        # More than one part of an encrypted file.
        people = registered(service, "ada", 200)
        bash(source, f"doorward backup - | age -r {recipient} > {file}")
    contents = file.read_bytes()
    assert len(contents) > 65536 and contents.startswith(b"age-encryption.org/v1\n") and b"example.com" not in contents
    assert "the backup is encrypted: decrypt it" in source.refuses("backup", "verify", file)
    bad = tmp_path / "bad.age"
    middle, end = len(contents) // 2, len(contents) - 1
    files = [contents[:middle], contents[:-1], *(flipped(contents, at) for at in (60, 150, middle, end))]
    for key, damaged in [(other, contents), *((identity, damaged) for damaged in files)]:
        bad.write_bytes(damaged)
        # Without `pipefail`, the exit code is that of doorward.
        for command in ("backup verify -", "restore -"):
            refused_by_doorward = f"set +o pipefail; age -d -i {key} {bad} | doorward {command}"
            assert re.search("not a backup|incomplete", bash(target, refused_by_doorward, code=1))
    assert target.emails() == set() if kind == "postgres" else target.files() == {}
    described = bash(source, f"age -d -i {identity} {file} | doorward backup verify - --json")
    assert json.loads(described)["users"] == 200
    bash(target, f"age -d -i {identity} {file} | doorward restore -")
    with target.service() as service:
        assert refused(service, people) == []


def test_the_script_of_the_package_makes_a_file_only_of_a_whole_backup(new_installation, tmp_path, identity, recipient):
    script = (Path(__file__).resolve().parents[2] / "deploy" / "doorward-backup").read_text()
    folder, recipients = tmp_path / "backups", tmp_path / "recipients"
    recipients.write_text(recipient)
    script = script.replace("/var/backups/doorward", str(folder)).replace("/etc/doorward/recipients", str(recipients))
    source = new_installation("sqlite")
    assert "there is no database" in bash(source, script, code=1)
    assert list(folder.glob("*.age")) == []
    with source.service() as service:
        registered(service, "ada", 3)
        bash(source, script)
    [file] = folder.iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d\.age", file.name) and file.stat().st_mode & 0o777 == 0o600
    bash(source, f"age -d -i {identity} {file} | doorward backup verify -")
    # Without public keys the backup is not encrypted, and one of the same day is replaced. Old ones are deleted, other files are not.
    recipients.write_text("")
    old, other = folder / "2020-01-01.age", folder / "notes"
    for left in (old, other):
        left.touch()
        os.utime(left, (0, 0))
    for _ in range(2):
        bash(source, script)
    plain = folder / file.stem
    assert {path.name for path in folder.iterdir()} == {file.name, plain.name, other.name}
    assert plain.stat().st_mode & 0o777 == 0o600
    bash(source, f"doorward backup verify {plain}")


def bash(installation, script, code=0):
    """Runs a script with the commands of this build. Returns its output, or its errors if it fails."""
    path = f"{BINARY.parent}:{os.environ['PATH']}"
    command = ["bash", "-o", "pipefail", "-c", script]
    environment = installation.variables() | {"PATH": path}
    ran = subprocess.run(command, cwd=installation.folder, env=environment, capture_output=True, text=True, timeout=120)
    assert ran.returncode == code, ran
    return ran.stderr if code else ran.stdout
