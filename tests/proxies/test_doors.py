"""One table for every door: who passes, what the app learns, and what nobody can talk a door into."""

import hashlib
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import unquote

import pytest

from support import KINDS, METHODS, ask, bearer

IDENTITY = ("X-Auth-User-Id", "X-Auth-Policy", "X-Auth-User-Name", "X-Auth-User-Email")
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
    return [value for name, value in arrival.headers if name.lower().replace("_", "-").startswith("x-auth-")]


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
    targets = ("/", "//", "/?a", "/docs", "/openapi.json", "/favicon.ico", "/a/../b", "/a/%2e%2e/b", "/api/auth/guard")
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
    for name in ("X-Auth-User-Name", "X-Auth-User-Email"):
        assert arrival.header(name) in (None, "")


def test_a_guard_that_grants_the_user_hands_over_name_and_email(miles_door, miles):
    arrival = assert_passes(miles_door, miles)
    name = arrival.header("X-Auth-User-Name")
    assert name.isascii() and unquote(name) == miles.name
    assert unquote(arrival.header("X-Auth-User-Email")) == miles.email


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
    forged = [(spelling(name), FORGED) for name in IDENTITY] * 2
    assert_refused(doorward, door, headers=forged)
    assert_refused(doorward, door, headers=forged + bearer("nonsense"))
    assert_passes(door, ada, headers=forged)


def test_a_client_cannot_have_the_identity_removed_on_the_way(door, ada):
    assert_passes(door, ada, headers=[("Connection", ", ".join(IDENTITY))])


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
    forged = [(name, FORGED) for name in [*ORIGIN, *IDENTITY]]
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
        return time.monotonic() - started

    late = doors
    # Up to three times, because a busy machine may delay some of them.
    for _ in range(3):
        with doorward.silent(), ThreadPoolExecutor(len(late)) as pool:
            waited = dict(zip(late, pool.map(wait, late.values())))
        assert min(waited.values()) > 1.9, waited
        late = {name: late[name] for name, seconds in waited.items() if seconds >= 6}
        if not late:
            break
    assert not late, waited
    for door in doors.values():
        assert_passes(door, ada)
