"""Backups of a server under load: what was acknowledged before a backup began is in it, and works when it is restored."""

import json
import time

import pytest
from installation import Browser, Registrations, is_copied, refused

# With each kind of target one from before the keys are rotated, and one from after it.
BACKUPS, ALL_BACKUPS = 4, 10
# Where each backup is restored into, in turn.
TARGETS = {"sqlite": ["sqlite", "postgres"], "postgres": ["postgres", "sqlite"]}


def more_people(load, count):
    """Waits until some more people have registered."""
    deadline = time.monotonic() + 120
    while len(load.acknowledged()) < count:
        assert time.monotonic() < deadline, "the service registers nobody"
        time.sleep(0.01)


@pytest.mark.parametrize("kind", TARGETS)
def test_everybody_acknowledged_before_a_backup_is_in_it(request, kind, new_installation, tmp_path):
    source = new_installation(kind)
    backups, count = [], ALL_BACKUPS if request.config.getoption("--all") else BACKUPS
    with source.service() as service:
        browser = Browser(service, "browser@example.com")
        with Registrations(service) as load:
            for number in range(count):
                more_people(load, len(load.acknowledged()) + 10)
                if number == count // 2:
                    # Tokens of the old key and of the next one.
                    source.run("keys", "rotate")
                file = tmp_path / f"backup-{number}"
                people = load.acknowledged()
                source.run("backup", file)
                backups.append((file, people))
        assert json.loads(source.run("user", "list", "--json", "--limit", "1"))
    target = dict.fromkeys(TARGETS[kind])
    for number, (file, people) in enumerate(backups):
        described = source.verify(file)
        assert described["users"] >= len(people) and described["sessions"] >= len(people)
        into = TARGETS[kind][number % 2]
        target[into] = restored = target[into] or new_installation(into)
        restored.run("restore", file, "--replace")
        emails = restored.emails()
        assert len(emails) == described["users"]
        assert {person.email for person in people} <= emails
        with restored.service() as service:
            # The first and the last ones: their keys and sessions may differ.
            assert refused(service, people[:40] + people[-40:]) == []
            assert browser.is_signed_in(service)


def test_a_backup_without_a_server_is_the_same(new_installation, tmp_path):
    source = new_installation("sqlite")
    with source.service() as service, Registrations(service) as load:
        more_people(load, 30)
        source.run("backup", tmp_path / "online")
    people = load.acknowledged()
    source.run("backup", tmp_path / "offline")
    online, offline = source.verify(tmp_path / "online"), source.verify(tmp_path / "offline")
    assert online["users"] <= offline["users"] == len(people)
    restored = new_installation("sqlite")
    restored.run("restore", tmp_path / "offline")
    restored.run("backup", tmp_path / "again")
    assert is_copied(tmp_path / "offline", tmp_path / "again")
    with restored.service() as service:
        assert refused(service, people) == []


def test_a_slow_receiver_delays_nobody(new_installation, tmp_path):
    """The server has finished reading the database when it sends, so the log is reset while the receiver waits."""
    source = new_installation("sqlite")
    with source.service() as service, Registrations(service) as load:
        more_people(load, 1000)
        with open(tmp_path / "backup", "wb") as output:
            slow = source.start("backup", "-")
            first = slow.stdout.read(1)
            # More than the pipe and the socket hold has not been sent.
            assert slow.poll() is None
            before = len(load.acknowledged())
            more_people(load, before + 50)
            source.run("backup", tmp_path / "another")
            output.write(first + slow.stdout.read())
        assert slow.wait(60) == 0, slow.stderr.read()
    assert 1000 <= source.verify(tmp_path / "backup")["users"] <= source.verify(tmp_path / "another")["users"]
