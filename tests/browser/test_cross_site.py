"""Only Doorward's own pages, or the person directly, can change something. No other page can use the API."""

import itertools
import json

import pytest
from guarded_site import PageApp
from https_settings import APP, PUBLIC_URL, WIKI
from people import PASSWORD
from support import Journal, send
from visitor import NAVIGATION, Visitor

# Fetch Metadata as browsers send it, and as an attacker might wish it were read.
SITES = (
    (),
    ("same-origin",),
    ("none",),
    ("same-site",),
    ("cross-site",),
    ("",),
    ("Same-Origin",),
    ("same-origin, cross-site",),
    ("same-origin", "cross-site"),
    ("cross-site", "same-origin"),
    ("same-origin", "same-origin"),
)
ORIGINS = (
    (),
    (PUBLIC_URL,),
    ("null",),
    ("",),
    ("https://evil.test",),
    (APP,),
    (f"{PUBLIC_URL}.evil.test",),
    (f"{PUBLIC_URL}:8443",),
    (f"{PUBLIC_URL}/",),
    ("http://auth.one.test",),
    ("https://one.test",),
    ("https://evil.test", PUBLIC_URL),
    (PUBLIC_URL, "https://evil.test"),
)
# Every page that changes something, with a form that has no effect if it passes: a required field is missing.
FORMS = {
    "/sign-in": {"email": "nobody@example.com"},
    "/sign-up": {"email": "nobody@example.com"},
    "/reset": {"code": "0"},
    "/account/name": {},
    "/account/email": {"email": "nobody@example.com"},
    "/account/password": {"current": "x"},
    "/account/delete": {},
    "/account/sessions/end": {"session": "x"},
    "/account/export": {},
}
# These have no field that could be missing.
COMPLETE = ("/sign-out", "/account/sign-out-everywhere")
UNSAFE = ("POST", "PUT", "PATCH", "DELETE")


def is_own(sites, origins, own=PUBLIC_URL):
    if sites:
        return sites in (("same-origin",), ("none",))
    return origins == (own,)


def headers(sites, origins):
    return [*NAVIGATION, *(("Sec-Fetch-Site", site) for site in sites), *(("Origin", origin) for origin in origins)]


COMBINATIONS = list(itertools.product(SITES, ORIGINS))
FOREIGN = [both for both in COMBINATIONS if not is_own(*both)]
OWN = [both for both in COMBINATIONS if is_own(*both)]


@pytest.fixture(scope="module")
def ada(https_service):
    visitor = Visitor(https_service, PUBLIC_URL)
    visitor.person = visitor.sign_up()
    return visitor


@pytest.mark.parametrize("path", FORMS)
def test_a_form_counts_only_from_doorwards_own_pages(ada, path):
    for sites, origins in COMBINATIONS:
        answer = ada.send(ada.host, "POST", path, headers(sites, origins), FORMS[path])
        passed = answer.status != 403
        assert passed == is_own(sites, origins), (sites, origins, answer)
    assert ada.is_signed_in()


@pytest.mark.parametrize("path", COMPLETE)
def test_nobody_else_can_sign_a_person_out(ada, https_service, path):
    for both in FOREIGN:
        assert ada.send(ada.host, "POST", path, headers(*both), {}).status == 403, both
    assert ada.is_signed_in()
    for both in OWN:
        visitor = Visitor(https_service, PUBLIC_URL)
        assert visitor.sign_in(ada.person).status == 303
        answer = visitor.send(visitor.host, "POST", path, headers(*both), {})
        assert answer.status == 303, (both, answer)
        assert not visitor.is_signed_in()
        if path != "/sign-out":
            ada.sign_in(ada.person)


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up"])
def test_nobody_else_can_sign_a_person_in(https_service, ada, path):
    """The complete form with the right password: another site would sign its own account in."""
    person = ada.person
    form = {"name": person.name, "email": person.email, "password": person.password}
    for both in FOREIGN:
        visitor = Visitor(https_service, PUBLIC_URL)
        answer = visitor.send(visitor.host, "POST", path, headers(*both), form)
        assert answer.status == 403, (both, answer)
        assert answer.all("Set-Cookie") == []


@pytest.mark.parametrize("path", [*FORMS, *COMPLETE])
def test_no_other_method_changes_anything(ada, path):
    for method in ("GET", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE"):
        for both in ((("same-origin",), (PUBLIC_URL,)), (("cross-site",), ("https://evil.test",))):
            answer = ada.send(ada.host, method, path, headers(*both))
            pages = method in ("GET", "HEAD") and path in ("/sign-in", "/sign-up", "/sign-out", "/reset")
            expected = (200, 303) if pages else (403, 405)
            assert answer.status in expected, (method, both, answer)
    assert ada.is_signed_in()


# What a page can load of another origin without opening it.
LOADS = (("navigate", "iframe"), ("navigate", "object"), ("no-cors", "image"), ("no-cors", "empty"), ("cors", "empty"))
READ_PATHS = ("/account", "/account/security", "/account/keys", "/account/activity", "/admin", "/sign-in", "/refused/x")


@pytest.mark.parametrize("path", READ_PATHS)
def test_another_origin_learns_nothing_of_who_its_visitor_is(https_service, ada, path):
    stranger = Visitor(https_service, PUBLIC_URL)
    for site in ("same-site", "cross-site"):
        for mode, dest in LOADS:
            sent = [("Sec-Fetch-Site", site), ("Sec-Fetch-Mode", mode), ("Sec-Fetch-Dest", dest)]
            answers = [visitor.send(visitor.host, "GET", path, sent) for visitor in (ada, stranger)]
            assert [answer.status for answer in answers] == [403, 403], (site, mode, dest)
            assert answers[0].body == answers[1].body
    # A prefetch gets nothing, whoever has caused it.
    for site in ("same-origin", "same-site", "none"):
        sent = [*NAVIGATION, ("Sec-Fetch-Site", site), ("Sec-Purpose", "prefetch")]
        answer = ada.send(ada.host, "GET", path, sent)
        assert (answer.status, answer.all("Set-Cookie")) == (403, []), site


def test_an_app_counts_unsafe_requests_only_from_its_own_pages(https_service, ada):
    visitor = Visitor(https_service, PUBLIC_URL)
    assert visitor.sign_in(ada.person).status == 303
    visitor.enter("wiki", WIKI, "/start")
    own_and_other = [(WIKI,), *((PUBLIC_URL,) if origins == (WIKI,) else origins for origins in ORIGINS)]
    for method, sites, origins in itertools.product(UNSAFE, SITES, own_and_other):
        answer = visitor.visit("wiki", WIKI, "/save", headers(sites, origins), method)
        expected = 200 if is_own(sites, origins, WIKI) else 403
        assert answer.status == expected, (method, sites, origins, answer)


def test_safe_requests_pass_from_everywhere(https_service, ada):
    visitor = Visitor(https_service, PUBLIC_URL)
    assert visitor.sign_in(ada.person).status == 303
    visitor.enter("wiki", WIKI, "/start")
    for method in ("GET", "HEAD"):
        for both in COMBINATIONS:
            assert visitor.visit("wiki", WIKI, "/read", headers(*both), method).status == 200, both


def test_the_json_api_does_not_know_the_cookies(ada):
    """A request with the session cookie is a request without credentials."""
    for method, path in (("GET", "/api/me"), ("DELETE", "/api/me"), ("POST", "/api/auth/logout"), ("GET", "/api/sessions")):
        answer = ada.send(ada.host, method, path, [("Sec-Fetch-Site", "same-origin")])
        assert answer.status == 401, (method, path, answer)
    assert ada.is_signed_in()


# --- pages of other sites in Chromium --------------------------------------------------------------------------------

# What a page can send without CORS: a body without a content type. It cannot read the answers.
ATTACK = """async ([url, body, times]) => {
    for (let i = 0; i < times; i++) {
        const sent = fetch(url, {method: 'POST', mode: 'no-cors', body: new TextEncoder().encode(body)})
        // Chromium does not let the page have an answer with a `Cross-Origin-Resource-Policy`.
        await sent.catch(() => {})
    }
}"""
READ = "async path => { const answer = await fetch(path); return [answer.status, await answer.text()] }"
# A network has 20 wrong logins on an account.
WRONG_LOGINS = 25


@pytest.fixture(scope="module")
def evil_url(folder):
    app = PageApp(Journal(folder / "evil"))
    yield f"http://evil.test:{app.port}/"
    app.stop()


def post(service, path, body):
    return send(service.port, "POST", path, [("Content-Type", "application/json")], json.dumps(body).encode())


# Chromium sends Fetch Metadata to loopback addresses, and only `Origin` to other hosts on plain HTTP.
@pytest.mark.parametrize("host", ["127.0.0.1", "auth.one.test"])
def test_a_page_of_another_site_registers_nobody_and_locks_nobody_out(https_service, new_context, evil_url, host):
    owner = https_service.sign_up("Ada Lovelace", password=PASSWORD)
    page = new_context(java_script_enabled=True).new_page()
    page.goto(evil_url)
    api = f"http://{host}:{https_service.port}/api"
    stranger = {"name": "Mallory", "email": f"mallory@{host}.example", "password": PASSWORD}
    page.evaluate(ATTACK, [f"{api}/user", json.dumps(stranger), 1])
    wrong = json.dumps({"email": owner.email, "password": "wrong horse battery"})
    page.evaluate(ATTACK, [f"{api}/auth/login", wrong, WRONG_LOGINS])

    credentials = {"email": stranger["email"], "password": PASSWORD}
    assert post(https_service, "/api/auth/login", credentials).status == 404, "nobody was registered"
    credentials = {"email": owner.email, "password": PASSWORD}
    assert post(https_service, "/api/auth/login", credentials).status == 200, "nothing was charged"
    # A page of the service itself, and a program, are not affected.
    assert post(https_service, "/api/user", stranger).status == 201


def test_a_page_under_a_name_that_leads_here_reads_nothing(https_service, new_context):
    """DNS rebinding: the browser takes the service for a part of the page's own site."""
    owner = https_service.sign_up("Ada Lovelace")
    page = new_context(java_script_enabled=True).new_page()
    page.goto(f"http://rebound.test:{https_service.port}/livez")
    status, body = page.evaluate(READ, f"/api/user/{owner.id}")
    assert (status, owner.name in body) == (421, False)
    page.goto(f"http://127.0.0.1:{https_service.port}/livez")
    status, body = page.evaluate(READ, f"/api/user/{owner.id}")
    assert (status, owner.name in body) == (200, True)
