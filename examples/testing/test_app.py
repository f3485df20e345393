"""Tests of app.py with pytest. They need `doorward` in the PATH, and no other service."""

import json
import subprocess
import threading
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, Request, build_opener, urlopen

import pytest
from app import app

HERE = Path(__file__).parent


def call(url, method="GET", token=None, **body):
    """The status, and the JSON or the text of an answer."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = Request(url, json.dumps(body).encode() if body else None, headers, method=method)
    try:
        with urlopen(request) as answer:
            status, text = answer.status, answer.read().decode()
    except HTTPError as refusal:
        status, text = refusal.code, refusal.read().decode()
    try:
        return status, json.loads(text)
    except ValueError:
        return status, text


@pytest.fixture(scope="session")
def doorward():
    """The URL of `doorward dev`. It prints one line when it is ready."""
    command = ["doorward", "dev", "--listen", "127.0.0.1:0", "--users", "users.jsonl", "--json", "--log", "error"]
    with subprocess.Popen(command, cwd=HERE, stdout=subprocess.PIPE, text=True) as process:
        yield json.loads(process.stdout.readline())["url"]
        process.terminate()


@pytest.fixture(scope="session")
def reports(doorward):
    """The URL of the app."""
    server = app(doorward)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()


@pytest.fixture(autouse=True)
def clean(doorward):
    """Each test starts with the users of users.jsonl, the time of the system and nothing else."""
    call(f"{doorward}/dev/reset", "POST")


def token_of(doorward, user):
    """A token without a password."""
    return call(f"{doorward}/dev/sign-in", "POST", user=user)[1]["token"]


def test_analysts_read_reports_and_others_do_not(doorward, reports):
    assert call(reports)[0] == 401
    assert call(reports, token=token_of(doorward, "bob@example.com"))[0] == 401
    assert call(reports, token=token_of(doorward, "ada@example.com")) == (200, "Reports for Ada Lovelace")


def test_a_user_that_only_this_test_needs(doorward, reports):
    grace = {"name": "Grace Hopper", "email": "grace@example.com", "verified": True, "roles": ["analyst"]}
    assert call(f"{doorward}/dev/users", "POST", **grace)[0] == 201
    assert call(reports, token=token_of(doorward, "grace@example.com"))[0] == 200


def test_a_role_counts_from_the_next_request_on(doorward, reports):
    token = token_of(doorward, "bob@example.com")
    assert call(reports, token=token)[0] == 401
    call(f"{doorward}/dev/users/bob@example.com", "PATCH", roles=["analyst"], verified=True)
    assert call(reports, token=token) == (200, "Reports for Bob Noyce")


def test_a_token_expires_after_a_day(doorward, reports):
    login = {"email": "ada@example.com", "password": "correct horse"}
    token = call(f"{doorward}/api/auth/login", "POST", **login)[1]["token"]
    assert call(reports, token=token)[0] == 200
    call(f"{doorward}/dev/clock", "POST", advance="24h")
    assert call(reports, token=token)[0] == 401


def test_a_new_user_confirms_the_address_by_mail(doorward, reports):
    user = {"name": "Eve Moneypenny", "email": "eve@example.com", "password": "universal exports"}
    assert call(f"{doorward}/api/user", "POST", **user)[0] == 201
    [mail] = call(f"{doorward}/dev/mail?to=eve@example.com")[1]
    assert mail["kind"] == "verify_email"
    assert call(f"{doorward}/api/auth/verify", "POST", code=mail["code"], email="eve@example.com")[0] == 204


def test_people_of_the_company_sign_in_with_google_and_read_reports(doorward, reports):
    eve = {"email": "eve@example.com", "verified": True, "name": "Eve Moneypenny", "claims": {"hd": "example.com"}}
    assert call(f"{doorward}/dev/logins/google", "POST", **eve)[0] == 204
    browser = build_opener(HTTPCookieProcessor())
    with browser.open(f"{doorward}/sign-in/with/google") as page:
        assert page.url == f"{doorward}/account"
    assert call(reports, token=token_of(doorward, "eve@example.com")) == (200, "Reports for Eve Moneypenny")


def test_a_link_to_reset_a_password_expires(doorward):
    call(f"{doorward}/api/auth/forgot", "POST", email="ada@example.com")
    [mail] = call(f"{doorward}/dev/mail")[1]
    code = mail["link"].rpartition("=")[2]
    call(f"{doorward}/dev/clock", "POST", advance="1h")
    status, _ = call(f"{doorward}/api/auth/reset", "POST", code=code, password="a new password")
    assert status == 401
