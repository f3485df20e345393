"""A provider of Debian, which says neither when somebody has signed in nor whether their address is verified."""

import time
from http.cookiejar import Cookie

import pytest

from counterparts import Glewlwyd, client
from harness import HOST
from people import PASSWORD, PUBLIC, LoginService, Visitor, login

# It compares the credentials of Basic as they are sent, so there must be nothing to encode in them.
SECRET = "a-secret-of-letters"


@pytest.fixture(scope="module")
def glewlwyd(tmp_path_factory):
    with Glewlwyd(tmp_path_factory.mktemp("glewlwyd"), client(PUBLIC, "glewlwyd", SECRET)) as glewlwyd:
        yield glewlwyd


@pytest.fixture(scope="module")
def service(glewlwyd, tmp_path_factory):
    file = tmp_path_factory.mktemp("secret") / "secret"
    file.write_text(SECRET)
    declared = login("glewlwyd", glewlwyd.issuer, preset="oidc", label="Glewlwyd", client_secret_file=str(file))
    with LoginService(declared) as service:
        yield service


def sign_in(visitor, glewlwyd):
    """Signs in there, and goes there from here. Its own page goes on when the browser comes with `g_continue`."""
    name, value = glewlwyd.session(f"ada-{visitor.number}", PASSWORD, "doorward").split("=", 1)
    visitor.jar.set_cookie(
        Cookie(0, name, value, None, False, HOST, True, False, "/", True, False, int(time.time()) + 600, False, None, None, {})
    )
    page = visitor.go("/sign-in/with/glewlwyd")
    asked = next(url for url in reversed(visitor.history) if url.startswith(f"{glewlwyd.issuer}/auth?"))
    assert page.path == "/login.html", page
    return visitor.open(f"{asked}&g_continue")


def test_a_person_proves_their_address_once(service, glewlwyd):
    ada = Visitor(service)
    glewlwyd.add_person(f"ada-{ada.number}", ada.email, PASSWORD)
    sign_in(ada, glewlwyd)
    assert ada.account() is None, ada.page
    ada.prove_address(ada.email)
    assert ada.account() == ada.email, ada.page
    ada.sign_out()
    sign_in(ada, glewlwyd)
    assert ada.account() == ada.email, ada.page


def test_a_time_of_nothing_proves_nothing(service, glewlwyd):
    """`auth_time` is 0 there, so a change asks for a proof."""
    ada = Visitor(service)
    glewlwyd.add_person(f"ada-{ada.number}", ada.email, PASSWORD)
    sign_in(ada, glewlwyd)
    ada.prove_address(ada.email)
    browser = ada.again()
    browser.number = ada.number
    sign_in(browser, glewlwyd)
    assert browser.account() == ada.email, browser.page
    assert browser.go("/account/security/totp").path == "/step-up", browser.page
