"""What is left of imported password hashes: `import status` and `import drop`."""

import json
import time

import pytest
from harness import PATIENCE_SECONDS
from people import Doorward

BCRYPT = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"  # of "a"
PBKDF2 = "$pbkdf2-sha256$i=20000,l=32$c2FsdHNhbHQ$qQDPSZa3Ormyy9oK1Pu0ZLLwP2Svzmx3yu8OvDdq/J0"
FIREBASE_KEY = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA"
FIREBASE = f"$fbscrypt$v=1,n=4,r=8,p=1,ss=Bw,sk={FIREBASE_KEY}$c2FsdHNhbHQ${FIREBASE_KEY}"
HASHES = {"ada": BCRYPT, "bob": BCRYPT, "cyd": PBKDF2, "dan": FIREBASE, "eve": None}


@pytest.fixture
def imported(new_database, tmp_path):
    """A service with users of another system, one of whom has no password."""
    with Doorward(tmp_path / "service", new_database("first")) as service:
        file = tmp_path / "users.jsonl"
        users = [{"email": f"{name}@example.com", "hash": hashed} for name, hashed in HASHES.items()]
        file.write_text("".join(json.dumps(user) + "\n" for user in users))
        service.told = service.command("import", file)
        yield service


def status(service, *arguments):
    done = service.command("import", "status", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def drop(service, *arguments):
    done = service.command("import", "drop", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["dropped"]


def test_who_has_not_logged_in_is_shown_and_their_hashes_are_dropped(imported):
    service = imported
    assert "5 users added" in service.told.stdout and "each failed login takes" in service.told.stdout
    left = status(service, "--users")
    assert left["users"] == 4 and left["failedLoginSeconds"] == left["hashes"][0]["seconds"] > 0
    assert {group["hash"]: group["users"] for group in left["hashes"]} == {
        "bcrypt, cost 6": 2,
        "pbkdf2-sha256, 20000 iterations": 1,
        "Firebase scrypt, N=16, r=8": 1,
    }
    assert [user["email"][:3] for user in left["waiting"]] == ["ada", "bob", "cyd", "dan"]
    told = service.command("import", "status", "--users").stdout
    assert "4 imported users have not logged in yet" in told and "bob@example.com" in told
    assert FIREBASE_KEY not in told + json.dumps(left)

    assert service.log_in("ada@example.com", "wrong") == 404
    assert service.log_in("ada@example.com", "a") == 200
    assert "waiting" not in status(service) and status(service)["users"] == 3

    assert drop(service, "--unused-for", "1d") == 0
    deadline = time.monotonic() + PATIENCE_SECONDS
    while drop(service, "--unused-for", "1s", "--dry-run") != 3:
        assert time.monotonic() < deadline
    assert status(service)["users"] == 3, "a dry run changes nothing"
    assert drop(service, "--unused-for", "1s") == 3
    assert status(service) == {"users": 0, "failedLoginSeconds": 0.0, "hashes": []}
    assert service.log_in("bob@example.com", "a") == 404
    assert service.log_in("ada@example.com", "a") == 200
    assert service.command("user", "reset-code", "bob@example.com").returncode == 0

    service.stop()
    assert "no imported password hash is left" in service.command("import", "status").stdout


def test_hashes_are_dropped_without_a_server(imported):
    service = imported
    service.stop()
    deadline = time.monotonic() + PATIENCE_SECONDS
    while drop(service, "--unused-for", "1s", "--dry-run") != 4:
        assert time.monotonic() < deadline
    assert drop(service, "--unused-for", "1s") == 4
    assert [user["hash"] for user in service.users()] == [None] * 5


def test_a_backup_keeps_who_has_not_logged_in(imported, new_database, tmp_path):
    service = imported
    before = status(service, "--users")["waiting"]
    done = service.command("backup", tmp_path / "all.backup")
    assert done.returncode == 0, done.stderr
    second = Doorward(tmp_path / "second", new_database("other"))
    done = second.command("restore", tmp_path / "all.backup")
    assert done.returncode == 0, done.stderr
    assert status(second, "--users")["waiting"] == before
