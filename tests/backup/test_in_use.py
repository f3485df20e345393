"""Restores into a PostgreSQL database that something else uses, or begins to use."""

import contextlib
import os
import signal
import threading

import pytest
from installation import registered, refused
from harness import PATIENCE_SECONDS
from harness.postgres import ROLE
from harness.wait import eventually


@pytest.fixture
def backup(new_installation, tmp_path):
    """A backup of three people."""
    source = new_installation("sqlite")
    with source.service() as service:
        source.people = registered(service, "ada", 3)
    source.file = tmp_path / "backup"
    source.run("backup", source.file)
    return source


def name_of(installation):
    return installation.database.rpartition("/")[2].partition("?")[0]


def connections(server, installation, condition):
    """The other connections to a database for which a condition of `pg_stat_activity` holds."""
    activity = "SELECT pid FROM pg_stat_activity a WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
    return server.query(f"{activity} AND datname = current_database() AND {condition}", name_of(installation))


@contextlib.contextmanager
def repeated_query(server, database):
    """Connections whose last statement is never old, as those of a server."""
    connected, stopped = threading.Event(), threading.Event()

    def run():
        with server.connect(database) as session:
            session.query("SET application_name = 'doorward'")
            connected.set()
            while not stopped.wait(0.02):
                session.query("SELECT 1")

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert connected.wait(PATIENCE_SECONDS)
        yield
    finally:
        stopped.set()
        thread.join()


def test_a_refusal_leaves_an_empty_database_empty(backup, new_installation, server):
    target = new_installation("postgres")
    # The other connections belong to another role.
    server.query(f"GRANT pg_read_all_stats TO {ROLE}")
    try:
        with repeated_query(server, name_of(target)):
            assert "in use by another doorward" in target.refuses("restore", backup.file)
    finally:
        server.query(f"REVOKE pg_read_all_stats FROM {ROLE}")
    assert server.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", name_of(target)) == []


def test_nothing_is_migrated_while_a_server_uses_either_database(new_installation):
    busy, other = new_installation("postgres"), new_installation("sqlite")
    empty = new_installation("postgres")
    with other.service() as service:
        registered(service, "ada", 2)
    with busy.service() as service:
        people = registered(service, "grace", 2)
        # The source, in both directions, and the target.
        for target in (f"sqlite://{busy.folder}/new.db", empty.database):
            assert "in use by another doorward" in busy.refuses("migrate", "--to", target)
        assert "in use by another doorward" in other.refuses("migrate", "--to", busy.database)
        assert busy.emails() == {person.email for person in people}
    with other.service():
        assert "in use by another doorward" in other.refuses("migrate", "--to", empty.database)
    busy.run("migrate", "--to", empty.database)
    with empty.service() as service:
        assert refused(service, people) == []


def test_nothing_is_restored_while_a_table_is_locked(backup, new_installation, server):
    target = new_installation("postgres")
    with target.service() as service:
        people = registered(service, "grace", 2)
    with server.connect(name_of(target)) as session:
        # As pg_dump does.
        session.query("BEGIN")
        session.query("SELECT count(*) FROM sessions")
        assert "hold locks on the tables" in target.refuses("restore", backup.file, "--replace")
    assert target.emails() == {person.email for person in people}


def test_a_server_that_starts_during_a_restore_waits_for_it(backup, new_installation, server, tmp_path):
    target = new_installation("postgres")
    target.run("restore", backup.file)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    header, newline, records = backup.file.read_bytes().partition(b"\n")
    process = target.start("restore", pipe, "--replace")
    holds_locks = "EXISTS (SELECT 1 FROM pg_locks l WHERE l.pid = a.pid AND mode = 'AccessExclusiveLock' AND granted)"
    service = target.service()
    with pipe.open("wb", buffering=0) as writer:
        writer.write(header + newline)
        eventually("the restore locks the tables", lambda: connections(server, target, holds_locks), 60)
        service.launch()
        try:
            eventually("the server waits", lambda: connections(server, target, "wait_event_type = 'Lock'"), 60)
            writer.write(records)
            writer.close()
            _, error = process.communicate(timeout=60)
            assert process.returncode == 0, error.decode()
            service.wait()
            assert refused(service, backup.people) == []
        finally:
            service.stop()


def test_a_frozen_server_knows_nothing_of_before_the_restore(new_installation, server, tmp_path):
    target = new_installation("postgres")

    def is_frozen_between_statements():
        os.kill(service.pid, signal.SIGSTOP)
        if not connections(server, target, "state <> 'idle'"):
            return True
        os.kill(service.pid, signal.SIGCONT)

    with target.service() as service:
        # With the same keys, only the users differ.
        kept = registered(service, "ada", 2)
        target.run("backup", tmp_path / "file")
        people = registered(service, "grace", 2)
        assert refused(service, people) == []
        eventually("it is frozen", is_frozen_between_statements, 60)
        try:
            target.run("restore", tmp_path / "file", "--replace")
        finally:
            os.kill(service.pid, signal.SIGCONT)
        # Sooner than the minute after which the server would look them up again anyway.
        eventually("the others are refused", lambda: len(refused(service, people)) == 2, 40)
        eventually("the restored people are admitted", lambda: refused(service, kept) == [], 40)
