"""The provider of `doorward dev`: people sign in with Google and others without a network, through the real flow."""

import json
import re
from http.cookiejar import CookieJar
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import HTTPCookieProcessor, HTTPRedirectHandler, ProxyHandler, Request, build_opener

import pytest
from conftest import ADA, Dev
from harness import PATIENCE_SECONDS

SETTINGS = """
[logins.google]
client_id = "shop"
client_secret_file = "/nowhere/secret"
join = 'claims.hd == "example.com"'
roles = 'claims.hd == "example.com" ? ["staff"] : []'
[logins.github]
client_id = "hub"
[logins.apple]
client_id = "com.example.shop"
team_id = "ABCDE12345"
key_id = "FGHIJ67890"
key_file = "/nowhere/key.p8"
[logins.microsoft]
client_id = "11111111-2222-4333-8444-555555555555"
tenant = "common"
[logins.work]
preset = "oidc"
issuer = "https://192.0.2.1"
client_id = "doorward"
label = "Example SSO"
session = "12h"
trust = '"mfa" in claims.amr'
"""
EVE = {"email": "eve@example.com", "verified": True, "name": "Eve Moneypenny", "claims": {"hd": "example.com"}}


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("logins") / "work"
    folder.mkdir()
    with Dev(folder, settings=SETTINGS) as dev:
        yield dev


class Kept(HTTPRedirectHandler):
    """Redirects are answers."""

    def redirect_request(self, *_):
        return None


class Browser:
    def __init__(self, dev):
        self.url = dev.url
        cookies = HTTPCookieProcessor(CookieJar())
        self.following = build_opener(ProxyHandler({}), cookies)
        self.once = build_opener(ProxyHandler({}), cookies, Kept())

    def open(self, url, fields=None, follows=True, **headers):
        """The status, the address and the text of the page that a browser ends on."""
        body = urlencode(fields).encode() if fields is not None else None
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        request = Request(url if "://" in url else self.url + url, body, headers)
        opener = self.following if follows else self.once
        try:
            answer = opener.open(request, timeout=PATIENCE_SECONDS)
        except HTTPError as refusal:
            answer = refusal
        with answer:
            return answer.status, answer.headers["Location"] or answer.url, answer.read().decode()


@pytest.fixture
def browser(dev):
    return Browser(dev)


def expect(dev, login, **answer):
    answered = dev.post(f"/dev/logins/{login}", **answer)
    assert answered.status == 204, answered


def user(dev, email):
    found = [user for user in dev.get("/dev/users").json if user["email"] == email]
    return found[0] if found else None


@pytest.mark.parametrize("login", ["google", "github", "apple", "microsoft", "work"])
def test_a_test_signs_a_new_user_in_without_a_page(dev, browser, login):
    expect(dev, login, **EVE)
    status, address, _ = browser.open(f"/sign-in/with/{login}")
    assert (status, urlsplit(address).path) == (200, "/account")
    eve = user(dev, "eve@example.com")
    assert (eve["name"], eve["emailVerified"]) == ("Eve Moneypenny", True)
    assert eve["roles"] == (["staff"] if login == "google" else [])
    expect(dev, login, **EVE | {"email": "changed@example.com", "sub": "eve@example.com"})
    status, address, _ = Browser(dev).open(f"/sign-in/with/{login}")
    assert (status, urlsplit(address).path) == (200, "/account")
    assert user(dev, "changed@example.com") is None, "the subject decides"


def test_the_buttons_look_as_in_production_and_lead_to_a_page(dev, browser):
    _, _, page = browser.open("/sign-in")
    assert page.count("<svg") == 5
    for label in ["Google", "GitHub", "Apple", "Microsoft", "Example SSO"]:
        assert f"Continue with {label}" in page
    [link] = re.findall(r'href="(/sign-in/with/github[^"]*)"', page)
    status, address, page = browser.open(link)
    assert status == 200 and urlsplit(address).path == "/dev/logins/github/authorize"
    assert "GitHub (development)" in page and ADA["email"] in page
    status, _, page = browser.open(address, {"email": "nobody", "claims": "{", "name": '"<i>'})
    assert status == 400 and "claims: Not a JSON object" in page and 'value="nobody"' in page and "<i>" not in page
    status, _, page = browser.open(address, {"email": "nobody"})
    assert status == 400 and "email: Invalid email" in page
    fields = {"email": "eve@example.com", "verified": "1", "name": "Eve Moneypenny", "sub": "", "claims": '{"a": 1}'}
    status, address, _ = browser.open(address, fields)
    assert (status, urlsplit(address).path) == (200, "/account")
    assert user(dev, "eve@example.com")["name"] == "Eve Moneypenny"


def test_a_user_who_has_an_account_proves_it_first(dev, browser):
    _, address, page = browser.open("/sign-in/with/github")
    assert f'name="email" value="{ADA["email"]}"' in page
    _, address, page = browser.open(address, {"email": ADA["email"], "verified": "1"})
    assert urlsplit(address).path == "/sign-in/with/github/back" and "You have an account here already" in page


def test_what_goes_wrong_at_a_provider_can_be_tried(dev, browser):
    _, address, _ = browser.open("/sign-in/with/github")
    _, _, page = browser.open(address, {"error": "access_denied"})
    assert "You cancelled there" in page
    expect(dev, "google", error="access_denied")
    assert "You cancelled there" in browser.open("/sign-in/with/google")[2]
    expect(dev, "google", error="server_error")
    assert browser.open("/sign-in/with/google")[0] == 502
    expect(dev, "google", **EVE | {"claims": {"hd": "elsewhere.example"}})
    assert browser.open("/sign-in/with/google")[0] == 403
    expect(dev, "github", sub="7")
    assert 'action="/sign-in/address"' in browser.open("/sign-in/with/github")[2], "without an address one is asked for"
    assert user(dev, "eve@example.com") is None


def test_a_code_counts_only_in_the_browser_that_has_begun_and_once(dev, browser):
    expect(dev, "github", **EVE)
    _, authorize, _ = browser.open("/sign-in/with/github", follows=False)
    status, back, _ = browser.open(authorize, follows=False)
    assert status == 303 and urlsplit(back).path == "/sign-in/with/github/back"
    assert parse_qs(urlsplit(back).query)["iss"] == [authorize.partition("/authorize")[0]]
    assert Browser(dev).open(back)[0] == 400
    assert user(dev, "eve@example.com") is None
    assert browser.open(back)[0] == 200
    assert browser.open(back)[0] == 400
    assert user(dev, "eve@example.com")


def test_it_sends_browsers_back_to_this_service_only(dev, browser):
    _, authorize, _ = browser.open("/sign-in/with/github", follows=False)
    address, _, query = authorize.partition("?")
    for name, value in [
        ("redirect_uri", "https://evil.example"), ("client_id", "x"), ("response_type", "token"),
        ("code_challenge_method", "plain"), ("state", ""), ("nonce", ""), ("code_challenge", ""),
    ]:
        changed = urlencode(parse_qs(query) | {name: value}, doseq=True)
        status, _, text = browser.open(f"{address}?{changed}")
        assert status == 400 and list(json.loads(text)["error"][0]) == [name], text


def test_pages_of_other_sites_lead_there_and_control_nothing(dev, browser):
    _, authorize, _ = browser.open("/sign-in/with/github", follows=False)
    navigation = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Sec_Fetch_Dest": "document"}
    assert browser.open(authorize, **navigation)[0] == 200
    assert browser.open(authorize, **navigation | {"Sec_Fetch_Dest": "iframe"})[0] == 403
    assert browser.open(authorize, Host="evil.example")[0] == 403
    assert browser.open(authorize, {"sub": "7"}, **navigation)[0] == 403
    assert dev.call("POST", "/dev/logins/github", {"sub": "7"}, Origin="https://evil.example").status == 403
    assert dev.call("DELETE", "/dev/logins/github").status == 405
    assert dev.call("PUT", urlsplit(authorize).path).status == 405


@pytest.fixture
def signed_in_at_work(dev, browser):
    expect(dev, "work", **EVE)
    assert browser.open("/sign-in/with/work")[1].endswith("/account")
    return browser


def test_a_session_that_has_lasted_as_long_as_its_login_allows_is_renewed_without_a_question(dev, signed_in_at_work):
    browser = signed_in_at_work
    dev.advance("719m")
    assert browser.open("/account")[1].endswith("/account")
    dev.advance("2m")
    expect(dev, "work", **EVE)
    _, address, page = browser.open("/account/security")
    assert urlsplit(address).path == "/account" and "eve@example.com" in page
    dev.advance("13h")
    expect(dev, "work", **EVE)
    assert urlsplit(browser.open("/sign-in")[1]).path == "/account", "and again"


def test_who_is_signed_out_at_the_provider_is_out_when_the_session_is_over(dev, signed_in_at_work):
    browser = signed_in_at_work
    dev.advance("13h")
    for _ in range(2):
        status, address, page = browser.open("/account")
        assert (status, urlsplit(address).path) == (200, "/sign-in") and "Continue with Example SSO" in page
    expect(dev, "work", **EVE)
    assert urlsplit(browser.open("/sign-in")[1]).path == "/sign-in", "it is asked once"


def test_a_renewal_signs_nobody_else_in(dev, signed_in_at_work):
    dev.advance("13h")
    expect(dev, "work", **EVE | {"email": "mallory@example.com"})
    assert urlsplit(signed_in_at_work.open("/account")[1]).path == "/sign-in"
    assert user(dev, "mallory@example.com") is None


def test_a_session_that_was_ended_elsewhere_is_not_renewed(dev, signed_in_at_work):
    expect(dev, "work", **EVE)
    phone = Browser(dev)
    assert phone.open("/sign-in/with/work")[1].endswith("/account")
    assert phone.open("/account/sign-out-everywhere", {}, Sec_Fetch_Site="same-origin")[0] == 200
    dev.advance("13h")
    expect(dev, "work", **EVE)
    assert urlsplit(signed_in_at_work.open("/account")[1]).path == "/sign-in"


def test_a_provider_that_is_down_is_asked_once_and_other_ways_are_open(dev, signed_in_at_work):
    browser = signed_in_at_work
    dev.advance("13h")
    _, there, _ = browser.open("/sign-in", follows=False)
    _, authorize, _ = browser.open(there, follows=False)
    assert there.endswith("renew=1") and "prompt=none" in authorize
    # Nobody comes back from there.
    status, address, page = browser.open("/sign-in")
    assert (status, urlsplit(address).path) == (200, "/sign-in") and "Continue with GitHub" in page


def test_an_error_of_the_provider_ends_a_renewal(dev, signed_in_at_work):
    dev.advance("13h")
    expect(dev, "work", error="server_error")
    status, address, page = signed_in_at_work.open("/account")
    assert (status, urlsplit(address).path) == (200, "/sign-in") and "session" in page.lower()


@pytest.mark.parametrize("after, path", [("83h", "/account"), ("85h", "/sign-in")])
def test_a_session_is_renewed_within_three_days(dev, signed_in_at_work, after, path):
    dev.advance(after)
    expect(dev, "work", **EVE)
    assert urlsplit(signed_in_at_work.open("/account")[1]).path == path


def test_who_signs_out_is_not_signed_in_again(dev, signed_in_at_work):
    browser = signed_in_at_work
    status, address, _ = browser.open("/sign-out", {}, Sec_Fetch_Site="same-origin")
    assert (status, urlsplit(address).path) == (200, "/sign-in")
    dev.advance("13h")
    expect(dev, "work", **EVE)
    assert urlsplit(browser.open("/account")[1]).path == "/sign-in"
    assert browser.open("/sign-in/with/work?renew=1")[1].endswith("/sign-in")


def test_it_follows_the_clock_and_forgets_at_a_reset(dev, browser):
    dev.post("/dev/clock", time="2031-01-01T00:00:00Z", frozen=True)
    expect(dev, "work", **EVE)
    assert browser.open("/sign-in/with/work")[1].endswith("/account")
    expect(dev, "work", **EVE)
    keys = dev.get("/dev/logins/work/keys").json
    assert dev.post("/dev/reset").status == 204
    assert dev.get("/dev/logins/work/keys").json == keys
    assert "Example SSO (development)" in browser.open("/sign-in/with/work")[2]


def test_mistakes_are_named(dev):
    refused = dev.post("/dev/logins/googel", sub="7")
    assert refused.status == 404
    assert refused.json["error"] == [{"login": "No such login: there are apple, github, google, microsoft, work"}]
    refused = dev.post("/dev/logins/google", email="nobody", verified="yes", claims={"iss": "x"}, emial="x")
    assert refused.status == 400 and list(refused.json["error"][0]) == ["email", "verified", "claims", "emial"], refused
    assert "sub" in dev.post("/dev/logins/google", verified=True).json["error"][0]


def test_without_declared_logins_there_are_none(start):
    with start() as dev:
        assert "/sign-in/with/" not in dev.get("/sign-in").text
        assert dev.get("/sign-in/with/google").status == 404
        refused = dev.post("/dev/logins/google", sub="7")
        assert refused.status == 404 and "[logins.google]" in refused.json["error"][0]["login"]
