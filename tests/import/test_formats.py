"""Users of other systems log in with the passwords that they had, and have our hash afterwards."""

import os

import pytest
from formats import FORMATS, Argon2, Bcrypt
from people import OURS, Doorward, people
from harness.connection import post

# Each way of hashing, of which a system has six at most, meets each kind of password. The lab runs it with 1000.
NUMBER = int(os.environ.get("DOORWARD_IMPORT_USERS", "60"))


@pytest.mark.parametrize("format", FORMATS, ids=lambda format: format.__name__)
def test_users_of_each_system_log_in_and_wrong_passwords_do_not(service, tmp_path, format):
    users = people(NUMBER)
    summary = service.imports(*format().write(tmp_path, users))
    assert (summary["added"], summary["bad"]) == (NUMBER, [])
    assert not any(user["hash"].startswith(OURS) for user in service.users())
    # Another password at the beginning, because bcrypt does not read the end of a long one.
    assert set(service.log_in_all((email, "x" + password) for email, password in users)) == {404}
    assert not any(user["hash"].startswith(OURS) for user in service.users())
    assert set(service.log_in_all(users)) == {200}
    assert all(user["hash"].startswith(OURS) for user in service.users())
    # With the new hash, too.
    assert set(service.log_in_all(users[:20])) == {200}
    assert set(service.log_in_all((email, "x" + password) for email, password in users[:10])) == {404}


def test_users_of_each_system_log_in_with_the_default_cost_of_that_system(service, tmp_path):
    for format in FORMATS:
        users = people({"Django": 4, "Keycloak": 2}.get(format.__name__, 1), format.__name__.lower())
        summary = service.imports(*format().write(tmp_path, users, cheap=False))
        assert summary["added"] == len(users), summary
        assert set(service.log_in_all(users)) == {200}, format
    assert service.log_in("argon2-0@example.com", "wrong password") == 404
    assert all(user["hash"].startswith(OURS) for user in service.users())


def test_a_password_can_be_confirmed_changed_and_reset_before_the_first_login(service, tmp_path):

    users = people(2)
    service.imports(*Bcrypt().write(tmp_path, users))
    assert "password    set" in service.command("user", "show", users[0][0]).stdout
    code = service.command("user", "reset-code", users[0][0]).stdout.strip()
    with service.connect() as connection:
        answer = connection.exchange(post("/api/auth/reset", {"code": code, "password": "another horse"}))
        assert answer.status < 300, answer
    assert service.log_in(users[0][0], "another horse") == 200
    done = service.command("user", "set-password", users[1][0], given="another horse")
    assert done.returncode == 0, done.stderr
    assert service.log_in(*users[1]) == 404
    assert service.log_in(users[1][0], "another horse") == 200


def test_many_logins_of_one_imported_user_at_once_all_succeed(service, tmp_path):
    users = people(1)
    service.imports(*Argon2().write(tmp_path, users))
    assert service.log_in_all(users * 16) == [200] * 16
    assert service.users()[0]["hash"].startswith(OURS)


def test_unknown_users_are_refused_while_hashes_of_every_scheme_are_stored(service, tmp_path):
    for format in FORMATS:
        service.imports(*format().write(tmp_path, people(6, format.__name__.lower())))
    assert service.log_in("nobody@example.com", "wrong password") == 404
    assert service.log_in("bcrypt-0@example.com", "wrong password") == 404
    email, _ = service.sign_up("correct horse battery")
    assert service.log_in(email, "wrong horse battery") == 404
    assert service.log_in(email, "correct horse battery") == 200


def test_data_survives_a_restart_of_the_service(tmp_path):
    users = people(4)
    with Doorward(tmp_path / "service") as service:
        service.imports(*Bcrypt().write(tmp_path, users))
    with Doorward(tmp_path / "service") as service:
        assert service.log_in(users[0][0], "wrong password") == 404
        assert set(service.log_in_all(users)) == {200}
