"""Everything around the routes: unknown paths, wrong methods, odd targets, oversized heads, headers on every answer."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from support import (
    BODY_LIMIT,
    GUARD,
    GUARDS,
    JSON_TYPE,
    LOGIN,
    MILES,
    NOT_FOUND,
    REFUSED,
    USER,
    as_json,
    assert_answer,
    assert_message_only,
    bearer,
    fresh_email,
    padded_to,
    person,
)

# --- unknown routes and wrong methods --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/users",
        "/api/user/",
        "/api/auth",
        "/api/auth/",
        "/api/auth/nobody",
        "/api/auth/login/x",
        "/api/auth/guards",
        "/auth/guard",
        "/user",
        "/v1/api/user",
        "/API/user",
        "/api/User",
        "/.env",
        "/.git/config",
        "/signing-key.pem",
        "/doorward.db",
        "/data/doorward.db",
        "/%00",
        "/%ff",
    ],
)
def test_an_unknown_route_is_answered_with_the_fixed_404(api, path):
    assert_answer(api.get(path), 404, NOT_FOUND)


# Some proxies append the guarded path to that of the guard, so a guard answers every path below its own.
@pytest.mark.parametrize("tail", ["/", "/x", "/deep/er?query=1"])
@pytest.mark.parametrize("guard", GUARDS)
def test_a_guard_decides_the_same_for_every_path_below_its_own(api, ada, miles, guard, tail):
    assert_answer(api.get(guard + tail), 401, REFUSED)
    assert api.get(guard + tail, bearer(miles.token)).status == 200
    assert api.get(guard + tail, bearer(ada.token)).status == api.get(guard, bearer(ada.token)).status


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "MADEUP"])
def test_an_unknown_route_is_unknown_for_every_method(api, method):
    assert_answer(api.send(method, "/api/nowhere"), 404, NOT_FOUND)


def test_an_unknown_route_stays_unknown_with_a_body_and_a_token(api, ada):
    answer = api.send("POST", "/api/nowhere", bearer(ada.token) + [("Content-Type", "text/plain")], b"{")
    assert_answer(answer, 404, NOT_FOUND)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "MADEUP"])
@pytest.mark.parametrize("path, allowed", [(USER, "POST"), (LOGIN, "POST"), (f"{USER}/{{id}}", "GET")])
def test_a_wrong_method_is_answered_with_the_right_one(api, ada, method, path, allowed):
    answer = api.send(method, path.format(id=ada.id))
    assert_message_only(answer, 405)
    assert allowed in answer.header("Allow").replace(" ", "").split(",")
    assert method not in answer.header("Allow").replace(" ", "").split(",")


@pytest.mark.parametrize("path", [USER, LOGIN])
def test_get_is_a_wrong_method_where_only_post_is_served(api, path):
    answer = api.get(path)
    assert_message_only(answer, 405)
    assert answer.header("Allow") == "POST"


def test_post_is_a_wrong_method_for_the_look_up(api, ada):
    answer = api.post(f"{USER}/{ada.id}", person())
    assert_message_only(answer, 405)
    assert "GET" in answer.header("Allow")


def test_a_wrong_method_does_not_reveal_whether_a_user_exists(api, ada):
    known = api.send("DELETE", f"{USER}/{ada.id}")
    unknown = api.send("DELETE", f"{USER}/00000000-0000-4000-8000-000000000000")
    assert known.fingerprint == unknown.fingerprint


def test_trace_does_not_echo_the_request(api, ada):
    for path in (USER, LOGIN, *GUARDS):
        answer = api.send("TRACE", path, [*bearer(ada.token), ("X-Canary", "canary")])
        assert b"canary" not in answer.body and ada.token.encode() not in answer.body


# --- odd targets -----------------------------------------------------------------------------------------------------

ODD_TARGETS = [
    "{path}",
    "/{path}",
    "//{path}",
    "/.{path}",
    "/..{path}",
    "/x/..{path}",
    "/%2e{path}",
    "/%2e%2e{path}",
    "{parent}//{leaf}",
    "{parent}/./{leaf}",
    "{parent}/x/../{leaf}",
    "{parent}/%2e/{leaf}",
    "{parent}/x/%2e%2e/{leaf}",
    "{parent}/../auth/{leaf}",
    "{parent}/..%2fauth/{leaf}",
    "{parent}%2f{leaf}",
    "{parent}%2F{leaf}",
    "{parent}%5c{leaf}",
    "{parent}\\{leaf}",
    "{parent};x/{leaf}",
    "/api/user/../auth/{leaf}",
    "/api/user/..%2fauth%2f{leaf}",
    "/api/user/%2e%2e/auth/{leaf}",
    "/api/auth/login/../{leaf}",
    "{path}/",
    "{path}//",
    "{path}/.",
    "{path}/..",
    "{path}/../{leaf}",
    "{path}/%2e",
    "{path}%2f",
    "{path}%00",
    "{path}%20",
    "{path}%09",
    "{path}%0a",
    "{path}%23",
    "{path}%3f",
    "{path};x=1",
    "{path}.json",
    "{path}~",
    "{path}*",
    "{path}?",
    "{path}??",
    "{path}?/api/user",
    "{path}?_method=OPTIONS",
    "{path}#x",
    "{upper}",
    "{title}",
    "{encoded}",
    "{twice}",
    "http://127.0.0.1{path}",
    "http://example.com{path}",
    "https://example.com:443{path}",
    "HTTP://EXAMPLE.COM{path}",
    "http://user:secret@example.com{path}",
    "ftp://example.com{path}",
    "{relative}",
    "*",
    "?",
]


def odd(form, path):
    parent, _, leaf = path.rpartition("/")
    encoded = parent + "/" + "".join(f"%{ord(letter):02x}" for letter in leaf)
    return form.format(
        path=path,
        parent=parent,
        leaf=leaf,
        upper=path.upper(),
        title=path.title(),
        encoded=encoded,
        twice=encoded.replace("%", "%25"),
        relative=path[1:],
    )


@pytest.mark.parametrize("form", ODD_TARGETS)
def test_no_odd_target_gets_past_a_guard_without_a_token(api, form):
    for path in GUARDS:
        for method in ("GET", "HEAD", "POST", "PUT", "OPTIONS", "TRACE", "MADEUP"):
            answer = api.send(method, odd(form, path))
            assert answer.status in (400, 401, 404, 405), f"{method} {odd(form, path)}: {answer}"
            if answer.status in (401, 404) and method != "HEAD":
                assert_answer(answer, answer.status, REFUSED if answer.status == 401 else NOT_FOUND)


@pytest.mark.parametrize("form", ODD_TARGETS)
def test_no_odd_target_turns_an_ordinary_token_into_the_designated_one(api, ada, form):
    answer = api.get(odd(form, MILES), bearer(ada.token))
    assert answer.status in (400, 401, 404), answer


@pytest.mark.parametrize("path", GUARDS)
def test_the_absolute_form_of_a_target_reaches_the_same_guard(api, miles, path):
    target = f"http://{api.host}:{api.port}{path}"
    assert api.get(target).status == 401
    assert api.get(target, bearer(miles.token)).status == 200


@pytest.mark.parametrize("target", ["{host}:{port}", "{guard}", "example.com:443"])
def test_connect_is_refused(api, target):
    target = target.format(host=api.host, port=api.port, guard=GUARD)
    assert api.raw(api.head("CONNECT", target), "CONNECT").status in (400, 401, 404, 405)


# --- heads that are too large ----------------------------------------------------------------------------------------


def huge_head(api, path=GUARD, size=2**20):
    yield api.head("GET", path).removesuffix(b"\r\n")
    for number in range(size // 4096):
        yield b"X-Filler-%d: %s\r\n" % (number, b"x" * 4070)
    yield b"\r\n"


def one_huge_header(api, path=GUARD, size=2**20):
    yield api.head("GET", path).removesuffix(b"\r\n") + b"X-Filler: "
    for _ in range(size // 4096):
        yield b"x" * 4096
    yield b"\r\n\r\n"


@pytest.mark.parametrize("pieces", [huge_head, one_huge_header])
@pytest.mark.parametrize("path", [GUARD, "/api/nowhere"])
def test_a_head_that_is_too_large_is_refused_as_such(api, pieces, path):
    assert_message_only(api.drip(pieces(api, path)), 431)


def test_a_head_of_ordinary_size_is_accepted(api, ada):
    headers = bearer(ada.token) + [(f"X-Filler-{number}", "x" * 200) for number in range(30)]
    assert api.get(GUARD, headers).status == 200


# --- requests that never end -----------------------------------------------------------------------------------------


def test_a_slow_request_gets_408(api):
    """Runs all in parallel, because each takes until the timeout of the service."""
    beginnings = [
        b"GET /api/auth/guard HTTP/1.1\r\nHo",
        api.head("POST", USER, [JSON_TYPE, ("Content-Length", 10)]) + b"{}",
        api.head("POST", LOGIN, [JSON_TYPE, ("Transfer-Encoding", "chunked")]) + b"2\r\n{",
    ]
    with ThreadPoolExecutor(len(beginnings)) as pool:
        answers = list(pool.map(lambda raw: api.another(timeout=60).raw(raw), beginnings))
    for answer in answers:
        assert_message_only(answer, 408)


# --- every answer ----------------------------------------------------------------------------------------------------


KINDS = {
    "201": lambda api, ada, member: api.post(USER, person()),
    "200 look-up": lambda api, ada, member: api.get(f"{USER}/{ada.id}"),
    "200 login": lambda api, ada, member: api.login(member.email, member.password),
    "200 guard": lambda api, ada, member: api.guard(ada.token),
    "400 validation": lambda api, ada, member: api.post(USER, {}),
    "400 no JSON": lambda api, ada, member: api.post_bytes(LOGIN, b"{"),
    "401 no token": lambda api, ada, member: api.get(GUARD),
    "401 bad token": lambda api, ada, member: api.guard("nonsense"),
    "401 other name": lambda api, ada, member: api.guard(ada.token, MILES),
    "404 route": lambda api, ada, member: api.get("/api/nowhere"),
    "404 user": lambda api, ada, member: api.get(f"{USER}/nobody"),
    "404 login": lambda api, ada, member: api.login(fresh_email("nobody"), "long enough"),
    "405": lambda api, ada, member: api.get(LOGIN),
    "409": lambda api, ada, member: api.post(USER, person(email=ada.email)),
    "413": lambda api, ada, member: api.post_bytes(USER, padded_to(BODY_LIMIT + 1, person())),
    "415": lambda api, ada, member: api.post_bytes(USER, as_json(person()), "text/plain"),
    "431": lambda api, ada, member: api.drip(huge_head(api)),
}


@pytest.fixture
def get_answer(api, ada, member):
    """A function that provokes an answer of one kind."""
    return lambda kind: KINDS[kind](api, ada, member)


every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
def test_every_answer_has_a_unique_request_id(get_answer, kind):
    first, second = (get_answer(kind).header("X-Request-Id") for _ in range(2))
    assert first and second and first != second


@every_kind
def test_every_answer_has_the_expected_status_and_is_json(get_answer, kind):
    answer = get_answer(kind)
    assert answer.status == int(kind[:3])
    assert answer.header("Content-Type").partition(";")[0].strip() == "application/json"
    if answer.status >= 400:
        assert isinstance(answer.json["message"], str) and answer.json["message"]


@every_kind
def test_no_answer_sets_a_cookie_or_redirects(get_answer, kind):
    answer = get_answer(kind)
    assert answer.header("Set-Cookie") is None
    assert answer.header("Location") is None or answer.status == 201


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"nonsense\r\n\r\n", id="no request line"),
        pytest.param(b"GET\r\n\r\n", id="only a method"),
        pytest.param(b"GET /api/auth/guard HTTP/9.9\r\nHost: x\r\n\r\n", id="an unknown version"),
        pytest.param(b"GET /api/auth/guard HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n", id="a header without a colon"),
        pytest.param(
            b"GET /api/auth/guard HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer x\r\n\r\n",
            id="a space before the colon",
        ),
        pytest.param(b"GET /api/auth/guard HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n", id="a NUL in a header"),
        pytest.param(b"GET /api/auth/guard HTTP/1.1\nHost: x\n\n", id="lines that end with a bare line feed"),
        pytest.param(b"GET /api/auth/guard HTTP/1.1\r\nHost: x\r\nX: a\nY: b\r\n\r\n", id="a bare line feed"),
        pytest.param(b"GET /api/me HTTP/1.1\r\nHost: x:+443\r\n\r\n", id="a port with a sign"),
        pytest.param(b"POST /api/user HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", id="a negative length"),
        pytest.param(
            b"POST /api/user HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}", id="two lengths"
        ),
    ],
)
def test_a_request_that_is_not_http_is_refused(api, raw):
    assert api.raw(raw).status in (400, 501, 505)


def test_the_service_still_answers_after_these_tests(api, ada):
    assert api.guard(ada.token).status == 200
