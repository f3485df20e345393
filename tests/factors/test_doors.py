"""Every door, for every kind of second factor: none opens a session without the factor. The table is made from the two lists, and
the routes of the service say whether a door is missing from it."""

import html
import json
import re

import pytest

from harness.authenticator import Authenticator
from people import ORIGIN, Person

HOLDINGS = {
    "nothing": lambda ada: ada,
    "app": lambda ada: ada.add_totp(),
    "passkey": lambda ada: ada.add_passkey(),
    "security key": lambda ada: ada.add_passkey(verifies_user=False),
    "app and passkey": lambda ada: ada.add_totp().add_passkey(),
}


def new_password(ada, code, path="/api/auth/reset"):
    ada.password = "another horse battery"
    return ada.call("POST", path, {"code": code, "password": ada.password})


def mailed(ada, ask, body, link):
    assert ada.call("POST", ask, body).status_code == 202
    return ada.service.secret(ada.email, link)


def mailed_code(ada):
    return mailed(ada, "/api/auth/code", {"email": ada.email}, "/sign-in/code/use")


def operator_reset(ada):
    output = ada.service.run("user", "reset-code", ada.email)
    return re.search(r"^[\w-]{20,}$", output, re.MULTILINE)[0]


def restored(ada):
    """Takes back a change of the address, which sets a new password."""
    old, new = ada.email, f"new.{ada.email}"
    fields = {"email": new, "password": ada.password}
    assert ada.call("PATCH", "/api/me", fields, token=ada.token).status_code == 200
    ada.call("POST", "/api/auth/verify", {"code": ada.service.secret(new, "/verify")})
    return new_password(ada, ada.service.secret(old, "/restore-email"), "/api/auth/restore-email")


def invited_again(ada):
    return ada.call("POST", "/api/user", {"name": "Ada", "email": ada.email, "password": ada.password})


# What each does, and whether it signs in a person without a factor.
DOORS = {
    "POST /api/auth/login": (lambda ada: ada.log_in(), True),
    "POST /api/auth/code/login": (lambda ada: ada.call("POST", "/api/auth/code/login", {"code": mailed_code(ada)}), True),
    "POST /sign-in": (lambda ada: ada.page("/sign-in", {"email": ada.email, "password": ada.password}), True),
    "POST /sign-in/code/use": (lambda ada: ada.page("/sign-in/code/use", {"code": mailed_code(ada)}), True),
    "POST /sign-up": (
        lambda ada: ada.page("/sign-up", {"name": "Ada", "email": ada.email, "password": ada.password}),
        True,
    ),
    "POST /sign-up/passkey": (lambda ada: ada.page("/sign-up/passkey", {"name": "Ada", "email": ada.email}), False),
    "POST /api/user": (invited_again, False),
    "POST /api/auth/reset": (
        lambda ada: new_password(ada, mailed(ada, "/api/auth/forgot", {"email": ada.email}, "/reset")),
        False,
    ),
    "POST /reset": (
        lambda ada: ada.page(
            "/reset",
            {"code": mailed(ada, "/api/auth/forgot", {"email": ada.email}, "/reset"), "password": "another horse battery"},
        ),
        False,
    ),
    "doorward user reset-code": (lambda ada: new_password(ada, operator_reset(ada)), False),
    "POST /api/auth/restore-email": (restored, False),
}


def session_of(answer):
    """The token or the session cookie in an answer."""
    token = answer.json().get("token") if "json" in answer.headers.get("Content-Type", "") and answer.text else None
    cookies = [line for line in answer.headers.get("Set-Cookie", "").split(",") if "__Host-doorward=" in line]
    return token or next((line for line in cookies if "Max-Age=0" not in line), None)


@pytest.mark.parametrize("holding", HOLDINGS)
@pytest.mark.parametrize("door", DOORS)
def test_no_door_forgets_the_factor(ada, door, holding):
    HOLDINGS[holding](ada)
    opens, signs_in = DOORS[door]
    answer = opens(ada)
    assert answer.status_code < 500, answer.text
    assert bool(session_of(answer)) == (signs_in and holding == "nothing"), (answer.status_code, answer.headers, answer.text)
    # Whatever the door has changed, the factor is still asked for.
    asked = ada.log_in()
    if asked.status_code == 404:
        ada.password = "another horse battery"
        asked = ada.log_in()
    assert asked.status_code == (200 if holding == "nothing" else 401), asked.text
    if holding != "nothing":
        assert asked.json()["challenge"]


@pytest.mark.parametrize("holding", [name for name in HOLDINGS if name != "nothing"])
def test_the_answer_to_the_challenge_signs_in(ada, holding):
    HOLDINGS[holding](ada)
    asked = ada.log_in().json()
    if ada.secret:
        answer = ada.answer(asked, code=ada.next_code())
        assert answer.status_code == 200, answer.text
        assert ada.methods(answer.json()["token"]) == ["pwd", "totp"]
    for authenticator in ada.authenticators:
        asked = ada.log_in().json()
        answer = ada.answer(asked, credential=authenticator.get(asked["publicKey"]))
        assert answer.status_code == 200, answer.text
        kind = "passkey" if authenticator.verifies_user else "key"
        assert ada.methods(answer.json()["token"]) == ["pwd", kind]
    answer = ada.answer(ada.log_in().json(), code=ada.recovery_codes[0])
    assert ada.methods(answer.json()["token"]) == ["pwd", "recovery"]


def test_a_new_person_signs_up_with_a_passkey_and_is_asked_for_nothing_else(service):
    ada = Person(service)
    person = {"name": "Ada", "email": ada.email}
    page = ada.page("/sign-up/passkey", person)
    assert page.status_code == 200 and not session_of(page), page.text
    authenticator = Authenticator(ORIGIN, True)
    options = json.loads(html.unescape(re.search(r'data-passkey="([^"]*)"', page.text)[1]))
    setup = re.search(r'name="setup" value="([^"]*)"', page.text)[1]
    made = json.dumps(authenticator.create(options))
    for name, email in (("Ada", f"other.{ada.email}"), ("Ada", ada.email)):
        # The setup counts once, for whoever comes first.
        fields = {"name": name, "email": email, "setup": setup, "credential": made}
        answer = ada.page("/sign-up/passkey", fields)
        is_first = email != ada.email
        assert bool(session_of(answer)) == is_first, (answer.status_code, answer.text)
        assert len(set(re.findall(r"<code>([0-9A-Z-]{29})</code>", answer.text))) == (8 if is_first else 0)
    asked = ada.call("POST", "/api/auth/login/passkey").json()
    answer = ada.answer(asked, credential=authenticator.get(asked["publicKey"]))
    assert answer.status_code == 200, answer.text
    assert ada.methods(answer.json()["token"]) == ["passkey"]


def test_a_refreshed_token_is_as_strong_as_before(ada):
    ada.add_totp()
    for token, methods in ((ada.token, ["pwd", "totp"]),):
        refreshed = ada.call("POST", "/api/auth/refresh", token=token)
        assert refreshed.status_code == 200, refreshed.text
        assert ada.methods(refreshed.json()["token"]) == methods


def test_a_challenge_of_one_person_does_not_sign_in_another(service, ada):
    ada.add_totp()
    eve = Person(service).sign_up().add_totp()
    answer = eve.answer(ada.log_in().json(), code=eve.next_code())
    assert answer.status_code == 401, answer.text


def test_the_answer_of_another_origin_is_refused(ada):
    ada.add_passkey()
    asked = ada.log_in().json()
    ada.authenticators[0].origin = ORIGIN + ".evil.test"
    answer = ada.answer(asked, credential=ada.authenticators[0].get(asked["publicKey"]))
    assert answer.status_code == 401, answer.text
