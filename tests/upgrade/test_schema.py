"""Who changes the schema of an older database: a server and `doorward migrate`, after saying so, and nothing else."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
import subprocess
from pathlib import Path

import pytest
from harness import BINARY
from harness.process import environment

# Each would read or write the database without a server. The settings of the command are those of no fixture.
READING = [
    ("user", "list"),
    ("user", "show", "ada@example.com"),
    ("user", "sessions", "ada@example.com"),
    ("user", "invitations"),
    ("user", "factor", "list", "ada@example.com"),
    ("keys", "list"),
    ("api-key", "list"),
    ("mail", "queue"),
    ("guard", "list"),
    ("audit", "list"),
    ("audit", "key"),
    ("audit", "verify"),
    ("import", "status"),
    ("export",),
    ("export", "--user", "ada@example.com"),
    ("backup", "backup"),
]
WRITING = [
    ("user", "add", "new@example.com", "--name", "New"),
    ("user", "grant", "ada@example.com", "admin"),
    ("user", "disable", "ada@example.com"),
    ("user", "reset-code", "ada@example.com"),
    ("user", "invite", "new@example.com", "--print"),
    ("keys", "rotate"),
    ("api-key", "create", "ci", "--scope", "users:read"),
    ("mail", "retry"),
    ("import", "users.csv"),
    ("emergency", "--new-passwords", "all", "--yes"),
]


class OldDatabase:
    """A database of a release, and commands on it."""

    def __init__(self, upgrade):
        self.folder = upgrade.folder
        self.file = self.folder / "doorward.db"
        self.url = upgrade.database or f"sqlite://{self.file}"
        (self.folder / "users.csv").write_text("name,email\nNew,new@example.com\n")

    def run(self, *arguments):
        command = [BINARY, *arguments, "--database-url", self.url]
        return subprocess.run(command, cwd=self.folder, env=environment(), capture_output=True, text=True, timeout=120)

    def state(self):
        raise NotImplementedError


class OldFile(OldDatabase):
    def schema(self, file=None):
        with contextlib.closing(sqlite3.connect(f"file:{file or self.file}?mode=ro", uri=True)) as db:
            return db.execute("PRAGMA user_version").fetchone()[0]

    def state(self):
        return hashlib.sha256(self.file.read_bytes()).hexdigest()

    def copies(self):
        return sorted(path.name for path in self.folder.glob("doorward.db.*"))


class OldServer(OldDatabase):
    def __init__(self, upgrade, query):
        super().__init__(upgrade)
        self._query = query

    def schema(self):
        return int(self._query("SELECT max(version) FROM schema_versions")[0][0])

    def state(self):
        tables = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1, 2"
        return self._query(tables), self._query("SELECT count(*) FROM changes"), self._query("SELECT id FROM users ORDER BY 1")


@pytest.fixture
def old(upgrade, request):
    if upgrade.database is None:
        return OldFile(upgrade)
    server = request.getfixturevalue("postgres_server")
    name = upgrade.database.rpartition("/")[2].partition("?")[0]
    return OldServer(upgrade, lambda statement: server.query(statement, name))


FIXTURES = pytest.mark.parametrize("upgrade", ["sqlite", "postgres"], indirect=True)
ON_SQLITE = pytest.mark.parametrize("upgrade", ["sqlite"], indirect=True)


def newest():
    return len(list((Path(__file__).parents[2] / "migrations" / "sqlite").glob("*.sql")))


@FIXTURES
@pytest.mark.parametrize("commands", [READING, WRITING], ids=["reading", "writing"])
def test_a_command_without_a_server_leaves_an_older_schema_and_says_what_to_do(old, commands):
    before, schema = old.state(), old.schema()
    assert schema < newest()
    for command in commands:
        done = old.run(*command)
        assert done.returncode == 1 and done.stdout == "", (command, done)
        assert f"(schema {schema}, this version reads schema {newest()})" in done.stderr, (command, done)
        assert "start the server or run `doorward migrate`" in done.stderr, (command, done)
    assert (old.state(), old.schema()) == (before, schema)


@FIXTURES
def test_doctor_changes_nothing_and_names_the_schema(old):
    before = old.state()
    found = json.loads(old.run("doctor", "--json").stdout)["findings"]
    assert "schema-old" in [finding["name"] for finding in found], found
    assert old.state() == before


@FIXTURES
def test_migrate_says_from_where_to_where_and_does_it_once(old):
    schema = old.schema()
    done = old.run("migrate")
    assert done.returncode == 0, done
    assert f"changing the schema of the database from {schema} to {newest()}; " in done.stderr, done
    copies = isinstance(old, OldFile)
    assert len(done.stderr.splitlines()) == 1 + copies, done
    copying = rf"doorward: copying the database \(\d+ MiB\) to \S+\.schema-{schema} before its schema is changed from {schema} to "
    assert not copies or re.match(copying, done.stderr), done
    assert done.stdout.endswith(f"has schema {newest()}, that of this version\n"), done
    assert old.schema() == newest()
    assert "ada@example.com" in old.run("user", "list").stdout
    again = old.run("migrate", "--json")
    assert again.returncode == 0 and again.stderr == "" and json.loads(again.stdout)["schema"] == newest(), again


@FIXTURES
def test_a_start_logs_the_change_before_it_listens(upgrade, old):
    schema = old.schema()
    with upgrade.service() as service:
        output = service.output()
    line = f"changing the schema of the database from {schema} to {newest()}; "
    assert line in output and output.index(line) < output.index('"message":"listening"'), output
    if upgrade.database is None:
        # A copy of a large file takes long.
        assert output.index("copying the database (") < output.index(line), output
    assert ("a copy of the database before the change is" in output) == (upgrade.database is None), output
    assert ("pg_dump" in output) == (upgrade.database is not None), output


@FIXTURES
def test_a_restore_says_whether_it_changes_the_schema(upgrade, old, release):
    schema = old.schema()
    done = old.run("restore", release / "backup", "--replace")
    assert done.returncode == 0, done
    line = f"doorward: changing the schema of the database from {schema} to {newest()}; "
    assert (line in done.stderr) == (upgrade.database is not None), done
    assert old.schema() == newest()
    if upgrade.database is None:
        # The file of before stays as it was.
        [replaced] = old.folder.glob("replaced-*/doorward.db")
        assert old.schema(replaced) == schema


@ON_SQLITE
def test_the_older_database_is_kept_as_a_copy(old):
    schema = old.schema()
    with contextlib.closing(sqlite3.connect(old.file)) as db:
        people = db.execute("SELECT count(*) FROM users").fetchone()
    # Two of other upgrades, of which the older one goes.
    for number in (schema - 1, schema + 100):
        (old.folder / f"doorward.db.schema-{number}").write_text("older")
    assert old.run("migrate").returncode == 0
    assert old.copies() == [f"doorward.db.schema-{schema}", f"doorward.db.schema-{schema + 100}"]
    copy = old.folder / f"doorward.db.schema-{schema}"
    assert copy.stat().st_mode & 0o777 == 0o600 and old.schema(copy) == schema
    with contextlib.closing(sqlite3.connect(copy)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM users").fetchone() == people


@ON_SQLITE
def test_a_copy_takes_the_place_of_the_database(upgrade, old):
    """The way back, as docs/operate.md says, and forward again."""
    schema = old.schema()
    with upgrade.service():
        pass
    for path in (old.file, *old.folder.glob("doorward.db-*")):
        path.unlink()
    (old.folder / f"doorward.db.schema-{schema}").rename(old.file)
    assert old.schema() == schema
    with upgrade.service() as service:
        assert service.log_in(upgrade.people["verified"]["email"], upgrade.people["verified"]["password"])


@ON_SQLITE
@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_without_space_for_a_copy_nothing_changes_until_the_operator_waives_it(upgrade, old, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "doorward-test", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr}")
    try:
        small = disk / "data"
        shutil.copytree(old.folder, small)
        upgrade.folder = small
        old = OldFile(upgrade)
        before = old.state()
        for command in ("migrate", "serve"):
            done = old.run(command)
            assert done.returncode == 1 and "doorward migrate --no-copy" in done.stderr, done
            assert "no space for a copy" in done.stderr and "copying the database" not in done.stderr, done
        assert old.state() == before and old.copies() == []
        done = old.run("migrate", "--no-copy")
        assert done.returncode == 0 and "no copy of it was made" in done.stderr, done
        assert old.schema() == newest() and old.copies() == []
    finally:
        subprocess.run(["umount", disk], check=True)
