"""The headers that a guard declares: every integration gives them to the app, and none that a client has sent."""

from urllib.parse import unquote

import pytest
from support import KINDS, PROXY_VERSIONS, bearer
from versions import one_each

FORGED = "forged"
NAMES = ("X-Remote-User", "Remote-User", "Tailscale-User-Login", "X-Forwarded-User", "X-First-Role", "X-Asked")
SPELLINGS = (str, str.lower, str.upper, lambda name: name.replace("-", "_"), lambda name: "_".join(name.rsplit("-", 1)))
NAME = "Zoë, 100% Öz"


@pytest.fixture(scope="module")
def zoe(doorward):
    user = doorward.sign_up(NAME)
    for role in ("staff", "night-shift"):
        doorward.run("user", "grant", user.email, role)
    return user


@pytest.fixture(params=one_each(KINDS))
def with_headers(request, start_integration):
    return start_integration(request.param, f"headers-{KINDS[request.param].style}")


@pytest.fixture(params=one_each(KINDS))
def with_utf8(request, start_integration):
    return start_integration(request.param, f"utf8-{KINDS[request.param].style}")


def received(arrival):
    return [arrival.header(name) or "" for name in NAMES]


def test_an_app_gets_the_headers_of_its_guard_and_none_of_the_client(with_headers, zoe, ada):
    for forged in ([], *([(spelling(name), FORGED) for name in NAMES] * 2 for spelling in SPELLINGS)):
        answer, [arrival] = with_headers.send("PUT", headers=forged + bearer(zoe.token), body=b"x")
        assert answer.status == 200
        email, name, roles, id, first, asked = received(arrival)
        assert (email, unquote(name), id, asked) == (zoe.email, NAME, zoe.id, "PUT")
        assert name.isascii()
        assert (roles, first) == ("night-shift,staff", "night-shift")
        assert arrival.header("X-Auth-User-Id") == zoe.id
        assert FORGED not in [value for _, value in arrival.headers]
        # Without roles, the expression of the first role fails.
        answer, [arrival] = with_headers.send(headers=forged + bearer(ada.token))
        assert received(arrival) == [ada.email, ada.name, "", ada.id, "", "GET"]
        assert FORGED not in [value for _, value in arrival.headers]
        answer, arrivals = with_headers.send(headers=forged)
        assert (answer.status, arrivals) == (401, [])
        assert not [name for name, _ in answer.headers if name.lower() in map(str.lower, NAMES)]


WAY = ("Port", "Scheme", "Ssl", "Prefix", "Server")


@pytest.fixture(params=one_each(PROXY_VERSIONS))
def proxy_with_headers(request, start_integration):
    return start_integration(request.param, f"headers-{KINDS[request.param].style}")


def test_a_client_does_not_tell_the_app_which_way_it_came(proxy_with_headers, zoe):
    for spelling in SPELLINGS:
        forged = [(spelling(f"X-Forwarded-{name}"), FORGED) for name in WAY]
        answer, [arrival] = proxy_with_headers.send(headers=forged + bearer(zoe.token))
        assert answer.status == 200
        assert FORGED not in [value for _, value in arrival.headers], arrival.headers


def test_a_client_cannot_have_the_headers_removed_on_the_way(with_headers, zoe):
    answer, [arrival] = with_headers.send(headers=[("Connection", ", ".join(NAMES)), *bearer(zoe.token)])
    assert arrival.header("X-Remote-User") == zoe.email and arrival.header("Tailscale-User-Login")


def test_a_header_in_utf_8_has_the_characters_as_they_are(with_utf8, zoe):
    forged = [("X-WebAuth-User", FORGED), ("X_WEBAUTH_USER", FORGED)]
    answer, [arrival] = with_utf8.send(headers=forged + bearer(zoe.token))
    # The apps of these tests read headers as Latin-1, as HTTP once did.
    assert answer.status == 200 and arrival.header("X-WEBAUTH-USER").encode("latin-1").decode() == NAME
