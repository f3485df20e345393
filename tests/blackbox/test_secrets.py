"""The files and logs of the service contain no secrets."""

import uuid
from urllib.parse import urlsplit

import pytest

from support import LOGIN, MILES, USER, person, signature_of


def files_holding(folders, secret):
    paths = {path for folder in folders for path in folder.rglob("*")}
    return [path.name for path in paths if path.is_file() and secret in path.read_bytes()]


def test_neither_passwords_nor_tokens_reach_a_file(api, folder, database):
    secrets = [f"canary-{uuid.uuid4()}" for _ in range(4)]
    user = api.sign_up(name="Miles Davis", password=secrets[0])
    token = api.login(user.email, secrets[0]).json["token"]
    assert api.guard(token, MILES).status == 200
    api.login(user.email, secrets[1])
    api.post(USER, person(email=user.email, password=secrets[2]))
    api.post_bytes(LOGIN, b'{"email":"%s","password":"%s"' % (user.email.encode(), secrets[3].encode()))
    api.guard(token + "x")
    folders = [folder, database.folder]
    for secret in [*secrets, user.token, token]:
        assert files_holding(folders, secret.encode()) == []
    assert files_holding(folders, signature_of(token)) == []


def test_the_user_is_in_the_database_and_the_hash_is_not_in_the_log(api, folder, database):
    user = api.sign_up(name="Miles Davis", password="kind of blue")
    assert api.guard(user.token, MILES).status == 200
    assert database.holds(user.email)
    assert b"$argon2" not in (folder / "output").read_bytes()


def test_the_password_of_the_database_reaches_no_file(service, folder):
    password = urlsplit(service.database.url).password
    if password is None:
        pytest.skip("this database has no password")
    assert files_holding([folder], password.encode()) == []
