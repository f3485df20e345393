"""A stolen backup: what a thief makes of it works, until `doorward emergency`. And what a restore brings back."""

import contextlib
import json
import subprocess
import time

import pytest
from installation import PASSWORD, PATIENCE_SECONDS, Installation
from harness.connection import GUARD, LOGIN, get, post
from thief import Thief, parts_of, revoked_tokens

KINDS = ["sqlite", "postgres"]
ORIGIN = "http://localhost:8000"
ATTEMPT = "0123456789abcdefABCDEF"
SETTINGS = f"""
[mail]
url = "file:mails"
from = "doorward@example.com"
[guards.app]
allow = 'user.name != ""'
proxy = "caddy"
origins = ["{ORIGIN}"]
"""
PEOPLE = ["ada", "grace", "linus", "thief"]


def exchange(service, request):
    """The answer, as soon as a stalled PostgreSQL gives one."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        with service.connect() as connection:
            answer = connection.exchange(request)
        if answer.status != 503 or time.monotonic() > deadline:
            return answer


def with_cookie(service, path, cookie, headers=()):
    head = [f"GET {path} HTTP/1.1", f"Host: localhost:{service.port}", "Accept: text/html", f"Cookie: {cookie}", *headers]
    return exchange(service, "\r\n".join([*head, "", ""]).encode())


def visit(service, target, cookie):
    """What a guard answers to a proxy about a navigation of a browser."""
    forwarded = {"Method": "GET", "Proto": "http", "Host": "localhost:8000", "Uri": target}
    headers = [f"X-Forwarded-{name}: {value}" for name, value in forwarded.items()]
    fetch = {"Mode": "navigate", "Dest": "document", "Site": "none"}
    headers += [f"Sec-Fetch-{name}: {value}" for name, value in fetch.items()]
    return with_cookie(service, "/api/auth/app", cookie, headers)


class Attacks:
    """Each way in that a thief tries as one user. Returns whether it works."""

    def __init__(self, thief, session):
        self._thief, self._session = thief, session

    def token(self, service):
        return exchange(service, get(GUARD, self._thief.token(self._session))).status == 200

    def session_cookie(self, service):
        cookie = f"{self._thief.cookie_name('session')}={self._thief.session_cookie(self._session)}"
        answer = with_cookie(service, "/account", cookie)
        assert answer.status in (200, 303), answer
        return answer.status == 200

    def app_cookie(self, service):
        name = self._thief.cookie_name("app")
        answer = visit(service, "/", f"{name}={self._thief.app_cookie(self._session, ORIGIN)}")
        assert answer.status in (200, 303), answer
        return answer.status == 200

    def sign_in_code(self, service):
        code = self._thief.sign_in_code(self._session, ORIGIN, ATTEMPT, f"{ORIGIN}/")
        answer = visit(service, f"/.doorward/in?code={code}", f"{self._thief.cookie_name('try')}-{ATTEMPT[:8]}={ATTEMPT}")
        assert answer.status == 303, answer
        return f"{self._thief.cookie_name('app')}=".encode() in answer.head

    def all(self):
        return {"token": self.token, "session": self.session_cookie, "app": self.app_cookie, "code": self.sign_in_code}


def reset(service, code):
    return exchange(service, post("/api/auth/reset", {"code": code, "password": f"{PASSWORD} 2"})).status


def accept(service, email, invitation):
    fields = {"name": "Somebody", "email": email, "password": PASSWORD, "invitation": invitation}
    return exchange(service, post("/api/user", fields)).status


def log_in(service, name):
    return exchange(service, post(LOGIN, {"email": f"{name}@example.com", "password": PASSWORD})).status


@pytest.fixture
def installed(new_installation):
    """Makes an installation with mail, a guard for browsers and some people. Returns it with their tokens."""

    def make(kind):
        installation = new_installation(kind)
        (installation.folder / "doorward.toml").write_text(SETTINGS)
        tokens = {}
        with installation.service() as service:
            for name in PEOPLE:
                fields = {"name": name.title(), "email": f"{name}@example.com", "password": PASSWORD}
                answer = exchange(service, post("/api/user", fields))
                assert answer.status == 201, answer
                tokens[name] = json.loads(answer.body)["token"]
            for name in ("grace", "linus"):
                assert exchange(service, post("/api/auth/forgot", {"email": f"{name}@example.com"})).status == 202
                installation.run("user", "invite", f"friend-of-{name}@example.com")
        return installation, tokens

    return make


def wait_until(holds, what):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


@pytest.mark.parametrize("runs", [True, False], ids=["running", "stopped"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_forged_from_a_stolen_backup_works_until_the_emergency_command(kind, runs, installed, tmp_path):
    installation, tokens = installed(kind)
    installation.run("backup", tmp_path / "stolen")
    thief = Thief(tmp_path / "stolen", tokens["thief"])
    attacks = Attacks(thief, thief.session("ada@example.com"))
    code = installation.run("user", "reset-code", "linus@example.com").strip()
    emergency = ["emergency", "--new-passwords", "all", "--yes", "--json"]
    with contextlib.ExitStack() as running:
        service = running.enter_context(installation.service())
        services = [service]
        if kind == "postgres":
            folder = tmp_path / "second"
            folder.mkdir()
            (folder / "doorward.toml").write_text(SETTINGS)
            services.append(running.enter_context(Installation(folder, installation.database).service()))
        for each in services:
            worked = {name: attack(each) for name, attack in attacks.all().items()}
            assert all(worked.values()), worked
        assert reset(service, thief.link("reset_password", "grace@example.com")) == 204
        assert accept(service, "friend-of-grace@example.com", thief.invitation("friend-of-grace@example.com")) == 201

        if runs:
            report = json.loads(installation.run(*emergency))
        else:
            running.close()
            report = json.loads(installation.run(*emergency))
            services = [service := running.enter_context(installation.service())]
        # Ada, Linus, the thief and the friend of Grace: the new password has ended Grace's session.
        assert report["sessionsEnded"] == 4, report
        assert (len(report["keysRevoked"]), report["keysInFile"]) == (1, []), report
        assert report["invitationsRevoked"] == 1 and report["passwordsRemoved"] == 5, report
        # Each address has a link that verifies it, and Linus has a link and a code for a new password.
        assert report["codesRevoked"] >= 2, report

        # On the instance that runs the command, it takes effect on the next request.
        if len(services) == 1:
            worked = {name: attack(service) for name, attack in attacks.all().items()}
            assert not any(worked.values()), worked
        for each in services:
            wait_until(lambda: not any(attack(each) for attack in attacks.all().values()), "the forgeries are refused")  # noqa: B023
            assert reset(each, thief.link("reset_password", "linus@example.com")) == 401
            assert reset(each, code) == 401
            assert accept(each, "friend-of-linus@example.com", thief.invitation("friend-of-linus@example.com")) == 403
            assert log_in(each, "ada") == 404
            wait_until(lambda: attacks._session[2] in revoked_tokens(each), "the feed reports the token")  # noqa: B023

            # The old secrets are of no use with a session that begins later.
            fields = {"name": "New", "email": f"new-{each.port}@example.com", "password": PASSWORD}
            token = json.loads(exchange(each, post("/api/user", fields)).body)["token"]
            assert exchange(each, get(GUARD, token)).status == 200
            _, claims = parts_of(token)
            later = Attacks(thief, (claims["sub"], claims["sid"], claims["jti"]))
            worked = {name: attack(each) for name, attack in later.all().items()}
            assert not any(worked.values()), worked


@pytest.mark.parametrize("kind", KINDS)
def test_new_passwords_are_forced_for_a_role_or_for_nobody(kind, installed):
    installation, _ = installed(kind)
    installation.run("user", "grant", "ada@example.com", "admin")
    installation.run("user", "grant", "linus@example.com", "administrator")
    with installation.service() as service:
        report = json.loads(installation.run("emergency", "--new-passwords", "none", "--yes", "--json"))
        assert (report["passwordsRemoved"], report["sessionsEnded"]) == (0, len(PEOPLE))
        assert [log_in(service, name) for name in PEOPLE] == [200] * len(PEOPLE)
        report = json.loads(installation.run("emergency", "--new-passwords", "role:admin", "--yes", "--json"))
        assert (report["passwordsRemoved"], report["sessionsEnded"]) == (1, len(PEOPLE))
        assert [log_in(service, name) for name in PEOPLE] == [404, 200, 200, 200]
        code = installation.run("user", "reset-code", "ada@example.com").strip()
        assert reset(service, code) == 204


def test_it_changes_nothing_without_yes_or_with_an_unknown_choice(installed):
    installation, tokens = installed("sqlite")
    with installation.service() as service:
        process = installation.start("emergency", "--new-passwords", "all", stdin=subprocess.DEVNULL)
        _, error = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 1 and b"add --yes; nothing has changed" in error, error
        # The value is checked before anything is asked.
        process = installation.start("emergency", "--new-passwords", "everybody", stdin=subprocess.DEVNULL)
        _, error = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 2 and b"write all, none, or role:everybody" in error, error
        assert exchange(service, get(GUARD, tokens["ada"])).status == 200


@pytest.mark.parametrize("kind", KINDS)
def test_a_restore_says_what_it_brings_back(kind, installed, tmp_path):
    installation, tokens = installed(kind)
    installation.run("backup", tmp_path / "file")
    [key] = json.loads(installation.run("keys", "list", "--json"))
    installation.run("emergency", "--new-passwords", "none", "--yes")
    said = installation.run("restore", tmp_path / "file", "--replace")
    assert "valid again: 4 sessions, " in said and "2 invitations, 1 signing key, passwords" in said, said
    assert f"signing key {key['kid']} was not in use any more: if it was revoked, run `doorward keys revoke" in said, said
    with installation.service() as service:
        assert exchange(service, get(GUARD, tokens["ada"])).status == 200, "the backup has revived the session"
        installation.run("emergency", "--new-passwords", "none", "--yes")
        # On PostgreSQL, the command does not speak with the service, which notices within a second.
        wait_until(lambda: exchange(service, get(GUARD, tokens["ada"])).status == 401, "the session goes on")


def test_keys_of_the_operator_stay_and_the_command_says_what_to_do(installed, tmp_path):
    installation, _ = installed("sqlite")
    key = tmp_path / "key.pem"
    command = ["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key]
    subprocess.run(command, check=True, capture_output=True)
    said = installation.run("emergency", "--new-passwords", "none", "--yes", "--token-key-file", key)
    assert "the keys in the file of token.key_file still sign: put new ones into it and restart every server" in said
