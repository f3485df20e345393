"""One table for every door: who passes, what the app learns, and what nobody can talk a door into."""

import hashlib
import json
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pytest

from support import KINDS, METHODS, REPOSITORY, ask, bearer

sys.path.append(str(REPOSITORY / "lab"))
from stall import StallRecorder  # noqa: E402

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


def assert_refused(doorward, door, method="GET", target="/", headers=(), body=None):
    """Nothing reaches the app, and the client hears what Doorward itself says."""
    answer, arrivals = door.ask(method, target, headers, body)
    assert arrivals == []
    own = ask(doorward.port, method, f"/api/auth/{door.guard}", [h for h in headers if h[0] == "Authorization"])
    assert own.status == 401
    assert (answer.status, answer.body) == (401, own.body)
    for name in ("WWW-Authenticate", "Cache-Control", "Vary"):
        assert answer.header(name) == own.header(name), name
    # Envoy names no type of a body that is not there.
    assert method == "HEAD" or answer.header("Content-Type") == own.header("Content-Type")
    assert answer.header("WWW-Authenticate").startswith("Bearer")
    assert bool(answer.header("X-Decision-Id")) == bool(own.header("X-Decision-Id"))
    assert not [name for name, _ in answer.headers if name.lower().startswith("x-auth-")]


def assert_passes(door, user, method="GET", target="/", headers=(), body=None):
    """The app is reached once, learns who asks, and its answer comes back."""
    answer, arrivals = door.ask(method, target, [*headers, *bearer(user.token)], body)
    assert answer.status == 200
    [arrival] = arrivals
    assert (arrival.method, arrival.target.endswith(target)) == (method, True)
    assert arrival.header("X-Auth-User-Id") == user.id
    assert arrival.header("X-Auth-Policy") == door.guard
    assert FORGED not in identity(arrival)
    return arrival


def identity(arrival):
    """All that an app could take for an identity; many read an underscore as a dash."""
    prefixes = ("x-auth-", "remote-")
    return [value for name, value in arrival.headers if name.lower().replace("_", "-").startswith(prefixes)]


# --- who passes ------------------------------------------------------------------------------------------------------


def test_a_request_without_a_token_is_refused(doorward, door):
    assert_refused(doorward, door)


def test_a_bad_token_is_refused(doorward, door):
    assert_refused(doorward, door, headers=bearer("nonsense"))


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_guarded(doorward, door, ada, method):
    assert_refused(doorward, door, method)
    assert_passes(door, ada, method)


def test_every_path_is_guarded(door):
    apps = ("/", "//", "/?a", "/docs", "/openapi.json", "/favicon.ico", "/livez", "/.well-known/security.txt")
    odd = ("/a/../b", "/a/%2e%2e/b", "/api", "/api/users", "/api/auth", "/api/auth/guard")
    targets = apps + odd
    assert [ask(door.port, "GET", target).status for target in targets] == [401] * len(targets)


def test_a_token_in_the_query_is_ignored(doorward, door, ada):
    assert_refused(doorward, door, target=f"/?access_token={ada.token}&token={ada.token}")


def test_two_authorization_headers_do_not_pass(door, ada):
    for first, second in ((ada.token, "nonsense"), ("nonsense", ada.token)):
        answer, arrivals = door.ask(headers=bearer(first) + bearer(second))
        assert answer.status in (400, 401)
        assert arrivals == []


def test_a_user_with_another_name_is_refused_by_the_name_policy(doorward, miles_door, ada):
    assert_refused(doorward, miles_door, headers=bearer(ada.token))


# --- what the app receives -------------------------------------------------------------------------------------------


def test_a_guard_that_grants_the_id_hands_over_nothing_else(door, ada):
    arrival = assert_passes(door, ada)
    for name in ("X-Auth-User-Name", "X-Auth-User-Email", "X-Auth-User-Email-Verified"):
        assert arrival.header(name) in (None, "")


def test_a_guard_that_grants_the_user_hands_over_name_and_email(miles_door, miles):
    arrival = assert_passes(miles_door, miles)
    name = arrival.header("X-Auth-User-Name")
    assert name.isascii() and unquote(name) == miles.name
    assert unquote(arrival.header("X-Auth-User-Email")) == miles.email
    assert arrival.header("X-Auth-User-Email-Verified") == "false"


@pytest.mark.parametrize("body", [BODY, [BODY[:5000], BODY[5000:]]], ids=["with a length", "in chunks"])
def test_a_body_arrives_whole(door, ada, body):
    headers = [("Content-Type", "application/octet-stream")]
    arrival = assert_passes(door, ada, "POST", "/upload?a=b%20c", headers, body)
    assert (arrival.length, arrival.sha256) == (len(BODY), hashlib.sha256(BODY).hexdigest())
    assert arrival.header("Content-Type") == "application/octet-stream"


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if kind.is_app])
def test_the_app_of_the_example_greets_its_user(open_door, ada, name):
    answer = ask(open_door(name).port, "GET", "/", bearer(ada.token))
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
def test_a_forged_identity_never_reaches_the_app(doorward, door, ada, spelling):
    forged = [(spelling(name), FORGED) for name in ALL_IDENTITY] * 2
    assert_refused(doorward, door, headers=forged)
    assert_refused(doorward, door, headers=forged + bearer("nonsense"))
    assert_passes(door, ada, headers=forged)


def test_the_app_learns_from_doorward_alone_whatever_headers_are_on(telling_doorward, telling_door, designated):
    tries = [[(spelling(name), FORGED) for name in ALL_IDENTITY] * 2 for spelling in SPELLINGS.values()]
    # What Connection names is for the next program alone, so that a proxy may drop it on the way.
    tries += [[*tries[0], ("Connection", ", ".join(names))] for names in SETS.values()]
    for forged in tries:
        assert_refused(telling_doorward, telling_door, headers=forged)
        arrival = assert_passes(telling_door, designated, headers=forged)
        for name, set_of_headers in SETS.items():
            told = [unquote(arrival.header(name) or "") for name in set_of_headers]
            is_on = name in telling_doorward.identity_headers.split()
            assert told == ([designated.id, designated.name, designated.email, ""] if is_on else [""] * 4)


def test_a_client_cannot_have_the_identity_removed_on_the_way(door, ada):
    for names in (IDENTITY, *SETS.values()):
        assert_passes(door, ada, headers=[("Connection", ", ".join(names))])


def origin(method, uri, address):
    """Headers with which a client might pretend that its request is another one."""
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


def test_a_condition_judges_the_request_that_the_client_made(doorward, slot, ada):
    assert_passes(slot, ada, "POST", "/letter", body=BODY)
    assert_passes(slot, ada, "POST", "/letter?to=ada")
    for method, target in (("GET", "/letter"), ("POST", "/parcel"), ("POST", "/parcel?/letter")):
        assert_refused(doorward, slot, method, target, bearer(ada.token))


def test_a_forged_origin_changes_no_decision(doorward, slot, ada):
    assert_passes(slot, ada, "POST", "/letter", origin("GET", "/parcel", "10.0.0.1"))
    as_letter = origin("POST", "/letter", "127.0.0.1")
    assert_refused(doorward, slot, "GET", "/parcel", as_letter + bearer(ada.token))
    assert_refused(doorward, slot, "POST", "/letter", as_letter)


ORIGIN = [name for name, _ in origin("", "", "")]


@pytest.mark.parametrize("name", [name for name, kind in KINDS.items() if not kind.is_app])
def test_a_proxy_does_not_hand_a_forged_origin_to_the_app(open_door, ada, name):
    arrival = assert_passes(open_door(name), ada, headers=[(name, FORGED) for name in ORIGIN])
    assert not [name for name in ORIGIN if FORGED in ", ".join(arrival.all(name))]


PREFLIGHT = [("Origin", "http://elsewhere.example"), ("Access-Control-Request-Method", "POST")]


def test_a_preflight_passes_without_a_token_where_the_guard_says_so(doorward, slot):
    answer, [arrival] = slot.ask("OPTIONS", "/letter", PREFLIGHT + [("X-Auth-User-Id", FORGED)])
    assert answer.status == 200
    assert arrival.header("X-Auth-User-Id") in (None, "")
    assert_refused(doorward, slot, "OPTIONS", "/letter")
    assert_refused(doorward, slot, "GET", "/letter", [*PREFLIGHT, ("X-Forwarded-Method", "OPTIONS")])


def test_doorward_is_asked_about_the_request_itself_and_not_about_a_forged_one(overheard_door, app, ada):
    forged = [(name, FORGED) for name in [*ORIGIN, *ALL_IDENTITY]]
    before = len(app.journal.arrivals())
    target = "/a/b?c=d"
    _, arrivals = overheard_door.ask("POST", target, forged + bearer(ada.token), BODY)
    question = app.journal.arrivals()[before]

    assert question.target.startswith("/api/auth/guard")
    assert question.length == 0
    assert question.all("Authorization") == [f"Bearer {ada.token}"]
    assert question.header("X-Forwarded-Method") == "POST"
    assert question.header("X-Forwarded-Uri").endswith(target)
    assert question.header("X-Forwarded-Host") == f"127.0.0.1:{overheard_door.port}"
    assert question.header("X-Forwarded-Proto") == "http"
    assert question.header("X-Forwarded-For") == "127.0.0.1"
    assert FORGED not in [value for _, value in question.headers]
    # This answer names nobody, and so must the door.
    assert not [arrival for arrival in arrivals if FORGED in identity(arrival)]


# --- WebSockets ------------------------------------------------------------------------------------------------------


def test_a_websocket_is_opened_for_a_good_token_and_for_no_other(proxy, ada):
    for headers in ([], bearer("nonsense")):
        (status, _), arrivals = proxy.upgrade(headers)
        assert (status, arrivals) == (401, [])
    answer, [arrival] = proxy.upgrade(bearer(ada.token) + [("X-Auth-User-Id", FORGED)])
    assert answer == (101, (0x81, b"Is anybody there?"))
    assert arrival.header("X-Auth-User-Id") == ada.id


def test_no_other_protocol_is_switched_to(proxy, ada):
    """An app that switches to HTTP/2 would take further requests of the client that nobody guards."""
    h2c = [("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"), ("HTTP2-Settings", "AAMAAABkAARAAAAAAAIAAAAA")]
    _, arrivals = proxy.ask(headers=bearer(ada.token) + h2c)
    assert [arrival.header("Upgrade") for arrival in arrivals if arrival.header("Upgrade")] == []


# --- Doorward's own routes -------------------------------------------------------------------------------------------


CLIENT = "127.0.0.2"
JSON = [("Content-Type", "application/json")]


def test_a_client_signs_up_logs_in_and_passes_through_the_proxy_under_its_own_address(proxy):
    forged = origin("DELETE", "/elsewhere", "198.51.100.9")
    email, password = f"{uuid.uuid4().hex}@example.com", "correct horse"

    def call(method, target, headers=(), body=None):
        sent = None if body is None else json.dumps(body).encode()
        answer = ask(proxy.port, method, target, [*forged, *headers], sent, source=CLIENT)
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
    answer, [arrival] = proxy.ask(headers=token)
    assert (answer.status, arrival.header("X-Auth-User-Id")) == (200, created["id"])
    assert not [own for own in proxy.journal.arrivals() if created["id"] in own.target]
    assert call("POST", "/api/auth/logout", token) == (204, None)
    assert proxy.ask(headers=token)[0].status == 401


def test_the_paths_of_doorward_lead_nowhere_else(proxy):
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
        assert ask(proxy.port, "GET", target).status in range(300, 500), target
    assert proxy.arrivals(mark) == []


# --- Doorward away ---------------------------------------------------------------------------------------------------


def assert_closed(door, user):
    answer, arrivals = door.ask("POST", headers=bearer(user.token), body=BODY)
    assert arrivals == []
    assert answer.status >= 500 or answer.status in (401, 403)


def test_nobody_passes_while_doorward_is_away_and_everybody_does_when_it_is_back(doorward, door, ada):
    assert_passes(door, ada)
    with doorward.stopped():
        assert_closed(door, ada)
    assert_passes(door, ada)


# Traefik waits for 30 s, whatever its settings.
PATIENT = {"traefik"}


def test_nobody_passes_while_doorward_is_silent_and_nobody_waits_long(doorward, open_door, ada):
    doors = {name: open_door(name) for name, kind in KINDS.items() if name not in PATIENT and kind.available}

    def wait(door):
        started = time.monotonic()
        assert_closed(door, ada)
        return time.monotonic() - started, STALLS.since(started)

    with doorward.silent(), ThreadPoolExecutor(len(doors)) as pool:
        waited = dict(zip(doors, pool.map(wait, doors.values())))
    for name, (seconds, stalled) in waited.items():
        assert 1.9 < seconds < 6 + stalled, f"{name} waited {seconds:.2f} s, of them {stalled:.2f} s stalled"
    for door in doors.values():
        assert_passes(door, ada)
