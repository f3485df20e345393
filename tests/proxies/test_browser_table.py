"""What people with a browser get through each proxy, over TLS: one table for all five, and what the app receives."""

import json
import re
import socket
import threading
import uuid
from urllib.parse import urlencode

import pytest

from harness import REPOSITORY
from sites import APP, AUTH, NAVIGATION, OTHER_APP, PAGE, PASSWORD, Browser, Certificate, Sites
from support import KINDS, PROXY_VERSIONS, bearer, connect, open_websocket, read_answer, send
from versions import one_each

DOCUMENTATION = REPOSITORY / "docs" / "browser.md"
REFUSAL = "The provided credentials are either invalid or has insufficient privilege to perform the requested action."
OWN_COOKIES = "theme=dark; lang=en"
APP_COOKIE = "__Host-doorward-app"


@pytest.fixture(scope="module")
def certificate(folder):
    return Certificate.create(folder / "certificate")


@pytest.fixture(scope="module", params=one_each(PROXY_VERSIONS))
def sites(request, folder, app, certificate):
    place = folder / f"sites behind {request.param}"
    place.mkdir()
    sites = Sites(request.param, place, app, certificate)
    yield sites
    sites.stop()


@pytest.fixture(scope="module")
def states(sites):
    """The headers that identify a caller, by the state of the caller."""

    def signed_in(user):
        browser = Browser(sites)
        url, answer = browser.sign_in(f"{sites.origin}/", user)
        assert (url, answer.status) in ((f"{sites.origin}/", 200), (f"{sites.origin}/", 403)), answer
        return browser

    def cookies(browser, host=APP):
        first, last = OWN_COOKIES.split("; ")
        return [("Cookie", f"{first}; {APP_COOKIE}={browser.jars[host][APP_COOKIE]}; {last}")]

    staff, guest, leaver = sites.user("Ada", "staff"), sites.user("Bob"), sites.user("Eve", "staff")
    good, refused, ended = signed_in(staff), signed_in(guest), signed_in(leaver)
    url, answer = good.open(f"{sites.other_origin}/")
    assert (url, answer.status) == (f"{sites.other_origin}/", 200), "the second app needs no sign-in"
    sites.doorward.run("user", "logout", leaver.email)
    return {
        "no cookie": [("Cookie", OWN_COOKIES)],
        "signed in": cookies(good),
        "refused": cookies(refused),
        "session ended": cookies(ended),
        "cookie of another app": cookies(good, OTHER_APP),
        "bearer token": [*bearer(staff.token), ("Cookie", OWN_COOKIES)],
    }


# --- the table -------------------------------------------------------------------------------------------------------

SCRIPT = [("Accept", "application/json"), ("Sec-Fetch-Mode", "cors"), ("Sec-Fetch-Dest", "empty")]
OWN, OTHER = ("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "cross-site")
SOCKET = [("Sec-Fetch-Mode", "websocket"), ("Sec-Fetch-Dest", "empty")]
FORM = ("Content-Type", "application/x-www-form-urlencoded")

# By name: method, headers, body. WebSockets have no body and a method of their own.
REQUESTS = {
    "page": ("GET", [*NAVIGATION, ("Sec-Fetch-Site", "none")], None),
    "page, old browser": ("GET", PAGE, None),
    "`HEAD` of a page": ("HEAD", PAGE, None),
    "page, prefetched": ("GET", [*NAVIGATION, OWN, ("Sec-Purpose", "prefetch")], None),
    "script": ("GET", [*SCRIPT, OWN], None),
    "script, `OPTIONS`": ("OPTIONS", [*SCRIPT, OTHER, ("Access-Control-Request-Method", "POST")], None),
    "script, `POST`": ("POST", [*SCRIPT, OWN], b"{}"),
    "script of another site, `POST`": ("POST", [*SCRIPT, OTHER], b"{}"),
    "form, `POST`": ("POST", [*NAVIGATION, OWN, FORM], b"a=b"),
    "form of another site, `POST`": ("POST", [*NAVIGATION, OTHER, FORM], b"a=b"),
    "WebSocket": ("WebSocket", [*SOCKET, OWN], None),
    "WebSocket of another site": ("WebSocket", [*SOCKET, OTHER], None),
    "program": ("GET", [("Accept", "*/*")], None),
}
STATES = ("no cookie", "signed in", "refused", "session ended", "cookie of another app", "bearer token")

# The answers, in the order of STATES.
SIGN_IN, START, JSON_401, JSON_403, PAGE_403 = "303", "303 to the app", "401", "403", "403 page"
PASSES, OPENS = "200", "101"
PAGES = (SIGN_IN, PASSES, PAGE_403, SIGN_IN, SIGN_IN, PASSES)
SCRIPTS = (JSON_401, PASSES, JSON_403, JSON_401, JSON_401, PASSES)
EXPECTED = {
    "page": PAGES,
    "page, old browser": PAGES,
    "`HEAD` of a page": PAGES,
    "page, prefetched": SCRIPTS,
    "script": SCRIPTS,
    "script, `OPTIONS`": SCRIPTS,
    "script, `POST`": SCRIPTS,
    "script of another site, `POST`": (JSON_401, JSON_403, JSON_403, JSON_401, JSON_401, PASSES),
    "form, `POST`": PAGES,
    "form of another site, `POST`": (START, PAGE_403, PAGE_403, START, START, PASSES),
    "WebSocket": (JSON_401, OPENS, JSON_403, JSON_401, JSON_401, OPENS),
    "WebSocket of another site": (JSON_401, JSON_403, JSON_403, JSON_401, JSON_401, OPENS),
    "program": SCRIPTS,
}


def markdown():
    rows = [["", *STATES], ["---"] * (1 + len(STATES)), *([name, *cells] for name, cells in EXPECTED.items())]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def test_the_documentation_has_this_table():
    assert markdown() in DOCUMENTATION.read_text(), f"docs/browser.md needs this table:\n\n{markdown()}"


class Exchange:
    """A request to the app and its answer."""

    def __init__(self, sites, name, caller):
        method, headers, body = REQUESTS[name]
        self.mark, self.method, self.sites = f"/{uuid.uuid4().hex}", method, sites
        self.is_of_another_site = OTHER in headers
        origin = sites.origin if OWN in headers else "https://elsewhere.example"
        # Browsers name the origin in every request that may change something.
        named = [("Origin", origin)] if method not in ("GET", "HEAD") else []
        sent = [*headers, *named, *caller]
        if method == "WebSocket":
            self.answer, self.echo = open_websocket(sites.port, self.mark, sent, sites.tls(APP))
        else:
            self.answer = sites.send(APP, method, self.mark, sent, body)

    @property
    def arrivals(self):
        return self.sites.app.journal.arrivals(self.mark)

    def kind(self):
        is_page = (self.answer.header("Content-Type") or "").startswith("text/html")
        is_start = self.answer.header("Location") == f"{self.sites.origin}/"
        return f"{self.answer.status}{' page' if is_page else ''}{' to the app' if is_start else ''}"


@pytest.mark.parametrize("name", REQUESTS)
def test_every_proxy_gives_every_caller_the_same_answer(sites, states, name):
    for state, expected in zip(STATES, EXPECTED[name]):
        exchange = Exchange(sites, name, states[state])
        where = f"{name}, {state}: {exchange.answer}"
        if expected == PAGE_403 and exchange.method == "HEAD":
            # Envoy sends no Content-Type without a body.
            assert exchange.answer.status == 403, where
        else:
            assert exchange.kind() == expected, where
            CHECKS[expected](exchange, where)
        assert not [name for name, _ in exchange.answer.headers if name.lower().startswith("x-auth-")], where
        assert bool(exchange.arrivals) == (expected in (PASSES, OPENS)), where


def assert_headers(answer, where, present=(), absent=()):
    for name in present:
        assert answer.header(name), f"{name} is missing. {where}"
    for name in absent:
        assert answer.all(name) == [], f"{name} is present. {where}"


def check_try_cookie(answer, where):
    pair, *attributes = answer.header("Set-Cookie").split("; ")
    assert re.fullmatch(r"__Host-doorward-try-[\w-]{8}=[\w-]+", pair), where
    assert {"Path=/", "HttpOnly", "SameSite=Lax", "Secure"} < set(attributes), where


def check_sign_in(exchange, where):
    answer, sites = exchange.answer, exchange.sites
    assert re.fullmatch(rf"{re.escape(sites.auth)}/sign-in\?for=[\w-]+", answer.header("Location")), where
    check_try_cookie(answer, where)
    assert answer.header("Cache-Control") == "no-store" and "Cookie" in answer.header("Vary"), where
    assert_headers(answer, where, absent=["WWW-Authenticate"])
    assert answer.body == b"", where


def check_start(exchange, where):
    """Another site must not be able to begin a sign-in. The request that follows has the browser's cookies."""
    assert exchange.answer.header("Cache-Control") == "no-store" and exchange.answer.body == b"", where
    assert_headers(exchange.answer, where, absent=["Set-Cookie", "WWW-Authenticate"])


def check_json(exchange, where):
    answer = exchange.answer
    assert answer.header("Content-Type") == "application/json", where
    assert set(json.loads(answer.body)) == {"message"}, where
    assert answer.header("Cache-Control") == "no-store", where
    assert_headers(answer, where, present=["X-Decision-Id"], absent=["Location", "Set-Cookie"])


def check_json_401(exchange, where):
    check_json(exchange, where)
    assert json.loads(exchange.answer.body)["message"] == REFUSAL, where
    assert exchange.answer.header("WWW-Authenticate").startswith("Bearer"), where


def check_json_403(exchange, where):
    check_json(exchange, where)
    assert_headers(exchange.answer, where, absent=["WWW-Authenticate"])


def check_page_403(exchange, where):
    answer = exchange.answer
    assert answer.header("Cache-Control") == "no-store", where
    assert answer.header("Referrer-Policy") == "same-origin", where
    assert answer.header("X-Content-Type-Options") == "nosniff", where
    assert answer.header("X-Frame-Options") == "DENY", where
    assert answer.header("Cross-Origin-Opener-Policy") == "same-origin", where
    assert answer.header("Cross-Origin-Resource-Policy") == "same-origin", where
    assert "default-src 'none'" in answer.header("Content-Security-Policy"), where
    present = ["Vary", "X-Decision-Id", "Content-Language"]
    assert_headers(answer, where, present, absent=["Location", "WWW-Authenticate"])
    if exchange.is_of_another_site:
        assert_headers(answer, where, absent=["Set-Cookie"])
    else:
        # The page offers to sign in as somebody else, which begins another attempt.
        check_try_cookie(answer, where)
        assert answer.header("X-Decision-Id").encode() in answer.body, where


def check_passes(exchange, where):
    [arrival] = exchange.arrivals
    assert arrival.header("X-Auth-User-Id") and arrival.header("X-Auth-Policy") == "staff", where
    assert arrival.header("Cookie") == OWN_COOKIES, where
    assert exchange.method == "HEAD" or exchange.answer.body == b"ok", where


def check_opens(exchange, where):
    [arrival] = exchange.arrivals
    assert arrival.header("X-Auth-User-Id") and arrival.header("Cookie") == OWN_COOKIES, where
    assert exchange.echo == (0x81, b"Is anybody there?"), where


CHECKS = {
    SIGN_IN: check_sign_in,
    START: check_start,
    JSON_401: check_json_401,
    JSON_403: check_json_403,
    PAGE_403: check_page_403,
    PASSES: check_passes,
    OPENS: check_opens,
}


# --- the way to the sign-in page and back ----------------------------------------------------------------------------


def test_a_person_returns_to_the_very_url_that_they_asked_for(sites):
    user = sites.user("Ada", "staff")
    for target in ("/a/b%2Fc;d?q=1&r=a+b%20%C3%A4&s=%25&t", "/?", "/%E4%BD%A0?%26=%3D"):
        browser = Browser(sites)
        url, answer = browser.sign_in(sites.origin + target, user)
        assert (url, answer.status) == (sites.origin + target, 200)
        assert sites.app.journal.arrivals()[-1].target.endswith(target.removeprefix("/"))


def test_each_host_has_cookies_of_its_own(sites):
    browser = Browser(sites)
    browser.sign_in(f"{sites.origin}/", sites.user("Ada", "staff"))
    [attempt] = browser.jars[APP].keys() - {APP_COOKIE}
    assert attempt.startswith("__Host-doorward-try-"), "it stays for other tabs"
    assert list(browser.jars[AUTH]) == ["__Host-doorward"]


def test_signing_out_of_doorward_signs_out_of_every_app(sites):
    browser = Browser(sites)
    browser.sign_in(f"{sites.origin}/", sites.user("Ada", "staff"))
    assert browser.open(f"{sites.other_origin}/")[1].status == 200
    browser.submit(f"{sites.auth}/sign-out")
    for origin in (sites.origin, sites.other_origin):
        url, answer = browser.open(f"{origin}/")
        assert (url.split("?")[0], answer.status) == (f"{sites.auth}/sign-in", 200)


def sign_in_without_tls(doorward, proxy, user, deep):
    """Signs in at Doorward for a URL of the app at localhost. Returns the try cookie and the app cookie."""

    def ask(target, cookies):
        return send(proxy.port, "GET", target, [("Host", "localhost:8000"), *PAGE, ("Cookie", cookies)])

    answer = ask(deep, "theme=dark")
    assert (answer.status, proxy.arrivals(deep)) == (303, [])
    [attempt] = re.findall(r"^(doorward-try-[\w-]+=[\w-]+); ", answer.header("Set-Cookie"))
    pages = f"http://localhost:{doorward.port}"
    [target] = re.findall(rf"^{pages}/sign-in\?for=([\w-]+)$", answer.header("Location"))
    form = urlencode({"email": user.email, "password": PASSWORD, "for": target}).encode()
    headers = [*PAGE, FORM, ("Host", f"localhost:{doorward.port}"), ("Origin", pages)]
    signed_in = send(doorward.port, "POST", "/sign-in", headers, form)
    assert signed_in.status == 303
    assert re.match(r"doorward-session-[0-9a-f]{8}=", signed_in.header("Set-Cookie"))
    origin, path = signed_in.header("Location").split("/.doorward/in?")
    assert origin == "http://localhost:8000"

    answer = ask(f"/.doorward/in?{path}", f"theme=dark; {attempt}")
    assert (answer.status, answer.header("Location")) == (303, f"http://localhost:8000{deep}")
    assert proxy.arrivals(deep) == []
    app_cookie = answer.header("Set-Cookie").split(";")[0]
    assert re.match(r"doorward-app-[0-9a-f]{8}=", app_cookie)
    return attempt, app_cookie


@pytest.mark.parametrize("name", one_each(PROXY_VERSIONS))
def test_without_tls_a_person_signs_in_on_the_same_machine(doorward, start_integration, name):
    """The form without TLS, with the app and Doorward's pages at localhost."""
    proxy, user = start_integration(name, f"loopback-{KINDS[name].style}"), doorward.sign_up("Ada", password=PASSWORD)
    deep = f"/{uuid.uuid4().hex}?a=b"
    attempt, app_cookie = sign_in_without_tls(doorward, proxy, user, deep)
    # Cookies ignore ports, so the session cookies of Doorwards at localhost, of this one and of another, come along.
    cookies = f"doorward-session-0123abcd=x; doorward-app-4567cdef=y; {app_cookie}; theme=dark; {attempt}"
    answer = send(proxy.port, "GET", deep, [("Host", "localhost:8000"), *PAGE, ("Cookie", cookies)])
    assert (answer.status, [arrival.all("Cookie") for arrival in proxy.arrivals(deep)]) == (200, [["theme=dark"]])


# --- what differs between proxies ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sites", ["nginx"], indirect=True)
def test_nginx_refuses_a_large_body_without_reading_it(sites):
    """nginx reads the whole body before it asks for Doorward's answer, so it gives an answer of its own."""
    mark = f"/{uuid.uuid4().hex}"
    sent = [("Host", f"{APP}:{sites.port}"), *NAVIGATION, OWN, FORM, ("Content-Length", "10000000")]
    head = "".join(f"{name}: {value}\r\n" for name, value in sent)
    with connect(sites.port, tls=sites.tls(APP)) as connection:
        connection.sendall(f"POST {mark} HTTP/1.1\r\n{head}\r\n".encode())
        answer = read_answer(connection, "POST")
    assert (answer.status, json.loads(answer.body)["message"]) == (401, REFUSAL)
    assert not sites.app.journal.arrivals(mark)


class Relay:
    """Passes bytes on to Doorward, and acts before the second request of nginx about a refused one."""

    def __init__(self, port):
        self.act, self.upstream = lambda: None, port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            upstream = socket.create_connection(("127.0.0.1", self.upstream))
            for pair in ((connection, upstream), (upstream, connection)):
                threading.Thread(target=self.pass_on, args=pair, daemon=True).start()

    def pass_on(self, source, target):
        try:
            while received := source.recv(65536):
                if b"?answer=full " in received:
                    self.act()
                target.sendall(received)
        except OSError:
            pass
        finally:
            target.close()


@pytest.mark.parametrize("name", ["nginx", "nginx-newest"])
def test_a_form_that_nginx_refuses_a_moment_too_early_is_not_lost_silently(doorward, start_integration, name):
    user = doorward.sign_up("Ada", password=PASSWORD)
    relay = Relay(doorward.port)
    direct = start_integration(name, "staff-nginx")
    _, app_cookie = sign_in_without_tls(doorward, direct, user, f"/{uuid.uuid4().hex}")
    proxy, mark = start_integration(name, "staff-nginx", auth_port=relay.port), f"/{uuid.uuid4().hex}"
    headers = [("Host", "localhost:8000"), *NAVIGATION, OWN, FORM, ("Origin", "http://localhost:8000"), ("Cookie", app_cookie)]
    relay.act = lambda: doorward.run("user", "grant", user.email, "staff")
    answer = send(proxy.port, "POST", mark, headers, b"a=b")
    assert (answer.status, answer.header("Location"), proxy.arrivals(mark)) == (409, None, [])
    assert "Your form was not sent" in answer.body.decode()
    # The person sends it again.
    assert send(proxy.port, "POST", mark, headers, b"a=b").status == 200
    assert [arrival.method for arrival in proxy.arrivals(mark)] == ["POST"]
    relay.listener.close()


UNAVAILABLE = {"nginx": 503, "caddy": 502, "traefik": 500, "haproxy": 503, "envoy": 503}


def test_nobody_passes_while_doorward_is_down(sites, states):
    with sites.doorward.stopped():
        for state in ("signed in", "bearer token"):
            exchange = Exchange(sites, "page", states[state])
            assert (exchange.answer.status, exchange.arrivals) == (UNAVAILABLE[KINDS[sites.name].snippet], []), state
    assert Exchange(sites, "page", states["signed in"]).answer.status == 200, "a restart signs nobody out"


# --- hosts -----------------------------------------------------------------------------------------------------------


def test_doorwards_pages_are_on_its_own_host_only(sites):
    headers = [*NAVIGATION, ("Sec-Fetch-Site", "none")]
    page = sites.send(AUTH, "GET", "/sign-in", headers)
    assert page.status == 200 and page.header("Content-Type").startswith("text/html")
    assert json.loads(sites.send(AUTH, "GET", "/.well-known/jwks.json").body)["keys"]
    for target in ("/sign-in", "/account", "/api/me"):
        assert sites.send(APP, "GET", target, headers).status == 303, target
        assert sites.send(APP, "GET", target).status == 401, target


def test_doorward_learns_the_address_and_scheme_from_the_proxy_alone(sites):
    """With a forged scheme or host, the origin of a form would not be Doorward's own."""
    user = sites.user("Ada")
    forged = [("X-Forwarded-For", "198.51.100.9"), ("X-Forwarded-Proto", "http"), ("X-Forwarded-Host", "evil.example")]
    body = json.dumps({"email": user.email, "password": PASSWORD}).encode()
    login = sites.send(AUTH, "POST", "/api/auth/login", [*forged, ("Content-Type", "application/json")], body)
    token = json.loads(login.body)["token"]
    sessions = json.loads(sites.send(AUTH, "GET", "/api/sessions", bearer(token)).body)
    assert {session["address"] for session in sessions} == {"127.0.0.1"}
    answer = sites.send(APP, "GET", "/", [*forged, *NAVIGATION, ("Sec-Fetch-Site", "none")])
    assert (answer.status, answer.header("Location").startswith(f"{sites.auth}/sign-in?")) == (303, True)


def test_plain_http_leads_to_https(sites):
    answer = send(sites.proxy.http_port, "GET", "/a?b=%26", [("Host", APP)])
    assert answer.status in (301, 302, 307, 308)
    assert answer.header("Location") == f"{sites.origin}/a?b=%26"


# --- cookies ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "others",
    [
        ["{}"],
        ["a=1", "{}"],
        ["{}", "a=1"],
        ["a=1", "{}", "b=\"x y\"", "doorward=d", "doorward-app=e", "c==", "doorward-device=g", "doorward-try-0123abcd=f"],
        ["__Host-doorward=s", "{}", "__Host-doorward-try-a=t", "__Host-doorward-try-b=u", "z=26"],
        ["Doorward=1", "xdoorward=2", "{}", "doorward-apple=3", "doorward-devices=6", "doorward-tr=4", "a__Host-doorward=5"],
        ["doorward-session-0123abcd=d", "a=1", "doorward-app-0123abcd=e", "b=2", "doorward-device-4567cdef=f", "{}"],
        ["doorward-sessions=1", "doorward-try-4567cdef-x=2", "{}", "doorward-application=3"],
        [f"{name}{n}={n}" for n in range(7) for name in ("doorward-try-", "own")] + ["{}"],
    ],
    ids=str,
)
def test_the_app_gets_its_own_cookies_in_their_order(sites, states, others):
    [(_, cookies)] = states["signed in"]
    app_cookie = next(cookie for cookie in cookies.split("; ") if cookie.startswith(APP_COOKIE))
    mark = f"/{uuid.uuid4().hex}"
    sent = [("Cookie", "; ".join(others).format(app_cookie))]
    assert sites.send(APP, "GET", mark, sent).status == 200
    [arrival] = sites.app.journal.arrivals(mark)
    own = [other for other in others if not re.match(r"\{|__Host-doorward|doorward(-(app|device|session|try)(-[\w-]*)?)?=", other)]
    assert arrival.all("Cookie") == (["; ".join(own)] if own else [])


def test_many_cookies_of_an_app_pass_unchanged(sites, states):
    """A pattern that backtracks would reach its limit here, and nginx would log the cookies."""
    own, mark = "; ".join(f"k{n}=v" for n in range(200)), f"/{uuid.uuid4().hex}"
    token = [header for header in states["bearer token"] if header[0] == "Authorization"]
    assert sites.send(APP, "GET", mark, [*token, ("Cookie", own)]).status == 200
    [arrival] = sites.app.journal.arrivals(mark)
    assert arrival.all("Cookie") == [own]
    assert "pcre" not in (sites.proxy.folder / "log").read_text(errors="replace")
