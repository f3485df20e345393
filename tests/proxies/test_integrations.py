"""Every integration of deploy/ admits the same requests, sends the same headers, and resists the same attacks."""

import hashlib
import json
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pytest
from harness.stall import StallRecorder
from support import KINDS, METHODS, bearer, send

STALLS = StallRecorder()

IDENTITY = (
    "X-Auth-User-Id",
    "X-Auth-Policy",
    "X-Auth-User-Name",
    "X-Auth-User-Email",
    "X-Auth-User-Email-Verified",
)
# The headers of each setting of identity_headers: id, name, address, roles.
SETS = {
    "remote": ("Remote-User", "Remote-Name", "Remote-Email", "Remote-Groups"),
    "x-auth-request": (
        "X-Auth-Request-User",
        "X-Auth-Request-Preferred-Username",
        "X-Auth-Request-Email",
        "X-Auth-Request-Groups",
    ),
}
ALL_IDENTITY = (*IDENTITY, *SETS["remote"], *SETS["x-auth-request"])
FORGED = "forged"
BODY = bytes(range(256)) * 40


def assert_refused(doorward, integration, method="GET", target="/", headers=(), body=None):
    """Asserts that nothing reaches the app and that the client gets Doorward's refusal."""
    answer, arrivals = integration.send(method, target, headers, body)
    assert arrivals == []
    own = send(doorward.port, method, f"/api/auth/{integration.guard}", [h for h in headers if h[0] == "Authorization"])
    assert own.status == 401
    assert (answer.status, answer.body) == (401, own.body)
    for name in ("WWW-Authenticate", "Cache-Control", "Vary"):
        assert answer.header(name) == own.header(name), name
    # Envoy sends no Content-Type without a body.
    assert method == "HEAD" or answer.header("Content-Type") == own.header("Content-Type")
    assert answer.header("WWW-Authenticate").startswith("Bearer")
    assert bool(answer.header("X-Decision-Id")) == bool(own.header("X-Decision-Id"))
    assert not [name for name, _ in answer.headers if name.lower().startswith("x-auth-")]


def assert_passes(integration, user, method="GET", target="/", headers=(), body=None):
    """Asserts that the app gets the request once, with the user's id, and that its answer is returned."""
    answer, arrivals = integration.send(method, target, [*headers, *bearer(user.token)], body)
    assert answer.status == 200
    [arrival] = arrivals
    assert (arrival.method, arrival.target.endswith(target)) == (method, True)
    assert arrival.header("X-Auth-User-Id") == user.id
    assert arrival.header("X-Auth-Policy") == integration.guard
    assert FORGED not in identity(arrival)
    return arrival


def identity(arrival):
    """The values of all headers that an app could read as an identity. Many apps treat an underscore as a dash."""
    prefixes = ("x-auth-", "remote-")
    return [value for name, value in arrival.headers if name.lower().replace("_", "-").startswith(prefixes)]


# --- who passes ------------------------------------------------------------------------------------------------------


def test_a_request_without_a_token_is_refused(doorward, integration):
    assert_refused(doorward, integration)


def test_a_bad_token_is_refused(doorward, integration):
    assert_refused(doorward, integration, headers=bearer("nonsense"))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_guarded(doorward, integration, ada, method):
    assert_refused(doorward, integration, method)
    assert_passes(integration, ada, method)


def test_every_path_is_guarded(integration):
    apps = ("/", "//", "/?a", "/docs", "/openapi.json", "/favicon.ico", "/livez", "/.well-known/security.txt")
    odd = ("/a/../b", "/a/%2e%2e/b", "/api", "/api/users", "/api/auth", "/api/auth/guard")
    targets = apps + odd
    assert [send(integration.port, "GET", target).status for target in targets] == [401] * len(targets)


def test_a_token_in_the_query_is_ignored(doorward, integration, ada):
    assert_refused(doorward, integration, target=f"/?access_token={ada.token}&token={ada.token}")


def test_two_authorization_headers_do_not_pass(integration, ada):
    for first, second in ((ada.token, "nonsense"), ("nonsense", ada.token)):
        answer, arrivals = integration.send(headers=bearer(first) + bearer(second))
        assert answer.status in (400, 401)
        assert arrivals == []


def test_a_user_with_another_name_is_refused_by_the_name_policy(doorward, miles_integration, ada):
    assert_refused(doorward, miles_integration, headers=bearer(ada.token))


# --- what the app receives -------------------------------------------------------------------------------------------


def test_a_guard_that_grants_the_id_sends_nothing_else(integration, ada):
    arrival = assert_passes(integration, ada)
    for name in ("X-Auth-User-Name", "X-Auth-User-Email", "X-Auth-User-Email-Verified"):
        assert arrival.header(name) in (None, "")


def test_a_guard_that_grants_the_user_sends_name_and_email(miles_integration, miles):
    arrival = assert_passes(miles_integration, miles)
    name = arrival.header("X-Auth-User-Name")
    assert name.isascii() and unquote(name) == miles.name
    assert unquote(arrival.header("X-Auth-User-Email")) == miles.email
    assert arrival.header("X-Auth-User-Email-Verified") == "false"


@pytest.mark.parametrize("body", [BODY, [BODY[:5000], BODY[5000:]]], ids=["with a length", "in chunks"])
def test_a_body_arrives_complete(integration, ada, body):
    headers = [("Content-Type", "application/octet-stream")]
    arrival = assert_passes(integration, ada, "POST", "/upload?a=b%20c", headers, body)
    assert (arrival.length, arrival.sha256) == (len(BODY), hashlib.sha256(BODY).hexdigest())
    assert arrival.header("Content-Type") == "application/octet-stream"


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.is_app])
def test_the_app_of_the_example_greets_its_user(start_integration, ada, name):
    answer = send(start_integration(name).port, "GET", "/", bearer(ada.token))
    assert (answer.status, ada.id in answer.body.decode()) == (200, True)


# --- what a client can try -------------------------------------------------------------------------------------------


SPELLINGS = {
    "as documented": str,
    "in lower case": str.lower,
    "in upper case": str.upper,
    "with underscores": lambda name: name.replace("-", "_"),
    "with one underscore": lambda name: "_".join(name.rsplit("-", 1)),
}


@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_a_forged_identity_never_reaches_the_app(doorward, integration, ada, spelling):
    forged = [(spelling(name), FORGED) for name in ALL_IDENTITY] * 2
    assert_refused(doorward, integration, headers=forged)
    assert_refused(doorward, integration, headers=forged + bearer("nonsense"))
    assert_passes(integration, ada, headers=forged)


def test_identity_headers_come_only_from_doorward(doorward_with_headers, integration_with_headers, designated):
    tries = [[(spelling(name), FORGED) for name in ALL_IDENTITY] * 2 for spelling in SPELLINGS.values()]
    # Headers that Connection names are hop-by-hop, so a proxy may drop them.
    tries += [[*tries[0], ("Connection", ", ".join(names))] for names in SETS.values()]
    for forged in tries:
        assert_refused(doorward_with_headers, integration_with_headers, headers=forged)
        arrival = assert_passes(integration_with_headers, designated, headers=forged)
        for name, set_of_headers in SETS.items():
            received = [unquote(arrival.header(name) or "") for name in set_of_headers]
            is_on = name in doorward_with_headers.identity_headers.split()
            assert received == ([designated.id, designated.name, designated.email, ""] if is_on else [""] * 4)


def test_a_client_cannot_have_the_identity_removed_on_the_way(integration, ada):
    for names in (IDENTITY, *SETS.values()):
        assert_passes(integration, ada, headers=[("Connection", ", ".join(names))])


def origin(method, uri, address):
    """Headers with which a client might misrepresent its request."""
    return [
        ("X-Forwarded-For", address),
        ("X-Forwarded-Proto", "http"),
        ("X-Forwarded-Host", "127.0.0.1"),
        ("X-Forwarded-Method", method),
        ("X-Forwarded-Uri", uri),
        ("X-Original-Method", method),
        ("X-Original-URI", uri),
        ("X-Original-URL", uri),
        ("X-Real-IP", address),
        ("Forwarded", f"for={address};host=127.0.0.1;proto=http"),
    ]


def test_a_condition_evaluates_the_actual_request(doorward, conditional, ada):
    assert_passes(conditional, ada, "POST", "/letter", body=BODY)
    assert_passes(conditional, ada, "POST", "/letter?to=ada")
    for method, target in (("GET", "/letter"), ("POST", "/parcel"), ("POST", "/parcel?/letter")):
        assert_refused(doorward, conditional, method, target, bearer(ada.token))


def test_a_forged_origin_changes_no_decision(doorward, conditional, ada):
    assert_passes(conditional, ada, "POST", "/letter", origin("GET", "/parcel", "10.0.0.1"))
    as_letter = origin("POST", "/letter", "127.0.0.1")
    assert_refused(doorward, conditional, "GET", "/parcel", as_letter + bearer(ada.token))
    assert_refused(doorward, conditional, "POST", "/letter", as_letter)


ORIGIN = [name for name, _ in origin("", "", "")]


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.is_app])
def test_a_proxy_does_not_forward_a_forged_origin_to_the_app(start_integration, ada, name):
    arrival = assert_passes(start_integration(name), ada, headers=[(name, FORGED) for name in ORIGIN])
    assert not [name for name in ORIGIN if FORGED in ", ".join(arrival.all(name))]


PREFLIGHT = [("Origin", "http://elsewhere.example"), ("Access-Control-Request-Method", "POST")]


def test_a_preflight_passes_without_a_token_where_the_guard_allows_it(doorward, conditional):
    answer, [arrival] = conditional.send("OPTIONS", "/letter", PREFLIGHT + [("X-Auth-User-Id", FORGED)])
    assert answer.status == 200
    assert arrival.header("X-Auth-User-Id") in (None, "")
    assert_refused(doorward, conditional, "OPTIONS", "/letter")
    assert_refused(doorward, conditional, "GET", "/letter", [*PREFLIGHT, ("X-Forwarded-Method", "OPTIONS")])


def test_doorward_receives_the_actual_request_and_no_forged_facts(recorded_integration, app, ada):
    forged = [(name, FORGED) for name in [*ORIGIN, *ALL_IDENTITY]]
    before = len(app.journal.arrivals())
    target = "/a/b?c=d"
    _, arrivals = recorded_integration.send("POST", target, forged + bearer(ada.token), BODY)
    asked = app.journal.arrivals()[before]

    assert asked.target.startswith("/api/auth/guard")
    assert asked.length == 0
    assert asked.all("Authorization") == [f"Bearer {ada.token}"]
    assert asked.header("X-Forwarded-Method") == "POST"
    assert asked.header("X-Forwarded-Uri").endswith(target)
    assert asked.header("X-Forwarded-Host") == f"127.0.0.1:{recorded_integration.port}"
    assert asked.header("X-Forwarded-Proto") == "http"
    assert asked.header("X-Forwarded-For") == "127.0.0.1"
    assert FORGED not in [value for _, value in asked.headers]
    # This answer carries no identity, so none may reach the app.
    assert not [arrival for arrival in arrivals if FORGED in identity(arrival)]


# --- WebSockets ------------------------------------------------------------------------------------------------------


def test_a_websocket_needs_a_valid_token(proxy, ada):
    for headers in ([], bearer("nonsense")):
        (status, _), arrivals = proxy.upgrade(headers)
        assert (status, arrivals) == (401, [])
    answer, [arrival] = proxy.upgrade(bearer(ada.token) + [("X-Auth-User-Id", FORGED)])
    assert answer == (101, (0x81, b"Is anybody there?"))
    assert arrival.header("X-Auth-User-Id") == ada.id


def test_no_other_protocol_is_switched_to(proxy, ada):
    """After a switch to HTTP/2, further requests of the client would bypass the guard."""
    h2c = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA")]
    _, arrivals = proxy.send(headers=bearer(ada.token) + h2c)
    assert [arrival.header("Upgrade") for arrival in arrivals if arrival.header("Upgrade")] == []


# --- Doorward's own routes -------------------------------------------------------------------------------------------


CLIENT = "127.0.0.2"
JSON = [("Content-Type", "application/json")]


def test_a_client_signs_up_and_logs_in_through_the_proxy_with_its_own_address(proxy):
    forged = origin("DELETE", "/elsewhere", "198.51.100.9")
    email, password = f"{uuid.uuid4().hex}@example.com", "correct horse"

    def call(method, target, headers=(), body=None):
        sent = None if body is None else json.dumps(body).encode()
        answer = send(proxy.port, method, target, [*forged, *headers], sent, source=CLIENT)
        return answer.status, json.loads(answer.body) if answer.body else None

    status, created = call("POST", "/api/user", JSON, {"name": "Ada", "email": email, "password": password})
    assert status == 201
    status, login = call("POST", "/api/auth/login", JSON, {"email": email, "password": password})
    assert status == 200
    token = bearer(login["token"])
    status, sessions = call("GET", "/api/sessions", token)
    assert (status, [session["address"] for session in sessions]) == (200, [CLIENT, CLIENT])
    assert call("GET", "/api/me", token)[1]["id"] == created["id"]
    assert call("GET", "/api/auth/guard", token) == (200, "You are authenticated.")
    assert call("GET", f"/api/user/{created['id']}") == (200, {"id": created["id"], "name": "Ada"})
    assert call("GET", "/.well-known/jwks.json")[1]["keys"]
    assert call("POST", "/oauth/introspect")[0] == 401
    answer, [arrival] = proxy.send(headers=token)
    assert (answer.status, arrival.header("X-Auth-User-Id")) == (200, created["id"])
    assert not [own for own in proxy.journal.arrivals() if created["id"] in own.target]
    assert call("POST", "/api/auth/logout", token) == (204, None)
    assert proxy.send(headers=token)[0].status == 401


def test_no_path_of_doorward_reaches_the_app(proxy):
    mark = uuid.uuid4().hex
    for target in (
        f"/api/user/../../{mark}",
        f"/api/auth/..%2f..%2f{mark}",
        f"/oauth/%2e%2e/{mark}",
        f"/api/user;/{mark}",
        f"/api/users/{mark}",
        f"/.well-known/{mark}",
        f"//api/user/{mark}/x",
    ):
        assert send(proxy.port, "GET", target).status in range(300, 500), target
    assert proxy.arrivals(mark) == []


# --- Doorward unavailable --------------------------------------------------------------------------------------------


def assert_fails_closed(integration, user):
    answer, arrivals = integration.send("POST", headers=bearer(user.token), body=BODY)
    assert arrivals == []
    assert answer.status >= 500 or answer.status in (401, 403)


def test_requests_fail_closed_while_doorward_is_down_and_pass_afterwards(doorward, integration, ada):
    assert_passes(integration, ada)
    with doorward.stopped():
        assert_fails_closed(integration, ada)
    assert_passes(integration, ada)


# Traefik waits 30 s and has no setting for it.
WITHOUT_TIMEOUT = {"traefik"}


def test_requests_fail_closed_within_seconds_while_doorward_does_not_answer(doorward, start_integration, ada):
    names = [name for name, kind in KINDS.items() if name not in WITHOUT_TIMEOUT and kind.available]
    integrations = {name: start_integration(name) for name in names}

    def wait(integration):
        started = time.monotonic()
        assert_fails_closed(integration, ada)
        return time.monotonic() - started, STALLS.since(started)

    with doorward.silent(), ThreadPoolExecutor(len(integrations)) as pool:
        waited = dict(zip(integrations, pool.map(wait, integrations.values())))
    for name, (seconds, stalled) in waited.items():
        assert 1.9 < seconds < 6 + stalled, f"{name} waited {seconds:.2f} s, of them {stalled:.2f} s stalled"
    for integration in integrations.values():
        assert_passes(integration, ada)
