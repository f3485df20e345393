"""What an attacker sends: another provider's answer, another browser's, a forged token, another's address, and URLs that lead
elsewhere. None opens an account that is not theirs."""

import os
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, urlencode, urlsplit

import pytest

from fakes import CLIENT, SECRET, Microsoft, Oidc
from harness.certificates import Authority
from people import ADDRESS, LINK, NUMBERS, PUBLIC, REFUSED, REMOVE, LoginService, Visitor, login
from tokens import RsaKey, unsigned, with_secret
from upstreams import Upstream

# None of this is about the database.
pytestmark = pytest.mark.parametrize("database", ["sqlite"], indirect=True)


@pytest.fixture(autouse=True)
def nothing_is_in_the_log(service, fakes):
    """Whatever happens, no secret is logged."""
    with open(service.folder / "output") as log:
        log.seek(0, os.SEEK_END)
        yield
        written = log.read()
    for fake in fakes.all():
        for secret in [SECRET, *fake.codes, *fake.granted]:
            assert secret not in written


def subject():
    return f"attacked-{next(NUMBERS)}"


def fields_of(url):
    return dict(parse_qsl(urlsplit(url).query))


def begun(visitor, name, query=""):
    """Begins to sign in, without going there. Returns what the provider is asked."""
    page = visitor.step(f"{PUBLIC}/sign-in/with/{name}{query}")
    assert page.status == 303, page
    return page.headers["Location"]


def given(visitor, url):
    """What a provider leads a browser back to, without going there."""
    page = visitor.step(url)
    assert page.status == 302, page
    return page.headers["Location"]


def back(name, **fields):
    return f"{PUBLIC}/sign-in/with/{name}/back?{urlencode(fields)}"


def is_refused(visitor):
    return visitor.page.status in REFUSED and visitor.account() is None


# --- what is asked ----------------------------------------------------------------------------------------------------


def test_each_login_is_asked_with_pkce_nonce_and_a_redirect_uri_of_its_own(ada, everybody):
    seen = set()
    for name, upstream in everybody.items():
        asked = fields_of(begun(ada, name))
        assert asked["redirect_uri"] == f"{PUBLIC}/sign-in/with/{name}/back"
        assert (asked["client_id"], asked["response_type"]) == (CLIENT, "code")
        assert len(asked["state"]) >= 22
        if name != "apple":
            assert asked["code_challenge_method"] == "S256" and len(asked["code_challenge"]) == 43, asked
        if name != "github":
            assert len(asked["nonce"]) >= 22 and "openid" in asked["scope"].split()
        for secret in (asked["state"], asked.get("nonce"), asked.get("code_challenge")):
            assert secret is None or secret not in seen
            seen.add(secret)
        again = fields_of(begun(ada, name))
        assert again["state"] != asked["state"] and again.get("nonce") != asked.get("nonce", ""), again


def test_the_verifier_is_in_no_url(ada, sso):
    sso.become(subject(), ada.email)
    sso.sign_in(ada)
    [redeemed] = sso.provider.asked("/token")
    verifier = redeemed.fields["code_verifier"]
    assert len(verifier) >= 43
    assert not any(verifier in url for url in ada.history)
    assert redeemed.fields.get("client_secret") is None or not redeemed.headers.get("Authorization")


# --- two providers ----------------------------------------------------------------------------------------------------


def test_the_code_of_one_provider_is_not_given_to_another(fakes, sso, ada):
    """Mix-up: a provider leads the browser to another one, and waits for its code."""
    sso.become(subject(), ada.email)
    asked = fields_of(begun(ada, "evil"))
    # Under the redirect URI that the honest provider knows.
    honest = fields_of(begun(ada, "sso"))
    url = f"{fakes.oidc.url}/authorize?{urlencode(honest | {'state': asked['state']})}"
    ada.open(given(ada, url))
    assert is_refused(ada), ada.page
    # Under its own, which a careless provider accepts.
    asked = fields_of(begun(ada, "evil"))
    url = f"{fakes.oidc.url}/authorize?{urlencode(asked)}"
    ada.open(given(ada, url))
    assert is_refused(ada), ada.page
    # Without a parameter that says whose it is, although both say that they send one.
    asked = fields_of(begun(ada, "evil"))
    fakes.oidc.back = lambda fields: {name: value for name, value in fields.items() if name != "iss"}
    ada.open(given(ada, f"{fakes.oidc.url}/authorize?{urlencode(asked)}"))
    assert is_refused(ada), ada.page
    assert fakes.evil.asked("/token") == fakes.oidc.asked("/token") == []


@pytest.mark.parametrize("issuer", ["https://evil.example", "", "HTTP://127.0.0.1", None])
def test_an_answer_in_the_name_of_another_is_refused(ada, sso, issuer):
    sso.become(subject(), ada.email)

    def changed(fields):
        del fields["iss"]
        return fields if issuer is None else fields | {"iss": issuer}

    sso.provider.back = changed
    sso.sign_in(ada)
    assert is_refused(ada), ada.page
    assert sso.provider.asked("/token") == []


def test_the_state_of_one_login_does_not_count_at_another(ada, everybody):
    everybody["sso"].become(subject(), ada.email)
    asked = fields_of(begun(ada, "members"))
    ada.open(back("sso", code="any", state=asked["state"], iss=everybody["sso"].provider.issuer))
    assert is_refused(ada), ada.page
    assert everybody["sso"].provider.asked("/token") == []


# --- other browsers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sso", "google", "github", "apple"])
def test_a_code_of_somebody_else_does_not_sign_in(ada, eve, everybody, name):
    """Code injection: Eve has got Ada's code, and gives it to her own sign-in."""
    upstream = everybody[name]
    upstream.become(subject(), ada.email)
    if name == "apple":
        page = ada.open(begun(ada, name))
        stolen = page.forms(f"/sign-in/with/{name}/back")[0].fields
    else:
        stolen = fields_of(given(ada, begun(ada, name)))
    own = fields_of(begun(eve, name))
    eve.open(back(name, **(stolen | {"state": own["state"]})))
    assert is_refused(eve), eve.page


def test_the_way_back_of_one_browser_is_closed_to_another(ada, eve, sso):
    """Otherwise Ada would be signed in as Eve without noticing it."""
    sso.become(subject(), eve.email)
    ended = given(eve, begun(eve, "sso"))
    ada.open(ended)
    assert is_refused(ada), ada.page
    assert sso.provider.asked("/token") == []
    # Nor does it help that Ada has begun to sign in as well.
    begun(ada, "sso")
    ada.open(ended)
    assert is_refused(ada), ada.page
    eve.open(ended)
    assert eve.account() == eve.email


def test_a_way_back_is_gone_once(ada, sso):
    sso.become(subject(), ada.email)
    sso.sign_in(ada)
    assert ada.account() == ada.email
    [ended] = [url for url in ada.history if url.startswith(f"{PUBLIC}/sign-in/with/sso/back")]
    session = next(cookie.value for cookie in ada.jar if cookie.name == "__Host-doorward")
    ada.sign_out()
    ada.open(ended)
    assert is_refused(ada), ada.page
    assert session not in [cookie.value for cookie in ada.jar]
    assert len(sso.provider.asked("/token")) == 1


@pytest.mark.parametrize("state", ["", "x", "A" * 43, "A" * 5000, "%00", None])
def test_a_state_that_nobody_has_sealed_causes_no_request(ada, sso, state):
    begun(ada, "sso")
    fields = {"code": "any", "iss": sso.provider.issuer} | ({} if state is None else {"state": state})
    ada.open(back("sso", **fields))
    assert is_refused(ada), ada.page
    assert sso.provider.asked("/token") == []


def test_a_changed_state_is_refused(ada, sso):
    sso.become(subject(), ada.email)
    ended = given(ada, begun(ada, "sso"))
    state = fields_of(ended)["state"]
    for at in range(0, len(state), 5):
        other = state[:at] + ("A" if state[at] != "A" else "B") + state[at + 1 :]
        ada.open(ended.replace(state, other))
        assert is_refused(ada), ada.page
    assert sso.provider.asked("/token") == []


# --- tokens -----------------------------------------------------------------------------------------------------------

PAST = 1_700_000_000
FUTURE = 4_000_000_000
FORGERIES = {
    "not signed": {"forge": "none"},
    "signed with the public key as a secret": {"forge": "hs256"},
    "signed by another key": {"forge": "unknown-key"},
    "expired": {"claims": {"iat": PAST, "exp": PAST + 3600}},
    "without an expiry": {"claims": {"exp": None}},
    "of tomorrow": {"claims": {"iat": FUTURE, "exp": FUTURE + 3600}},
    "not yet valid": {"claims": {"nbf": FUTURE}},
    "with the nonce of another": {"claims": {"nonce": "another"}},
    "without a nonce": {"claims": {"nonce": None}},
    "for another client": {"claims": {"aud": "another"}},
    "for nobody": {"claims": {"aud": None}},
    "for several without saying whose it is": {"claims": {"aud": [CLIENT, "another"]}},
    "for several and of another": {"claims": {"aud": [CLIENT, "another"], "azp": "another"}},
    "of another provider": {"claims": {"iss": "https://accounts.google.com"}},
    "of no provider": {"claims": {"iss": None}},
    "about nobody": {"claims": {"sub": None}},
    "about the empty name": {"claims": {"sub": ""}},
    "about a number": {"claims": {"sub": 7}},
    "about a long name": {"claims": {"sub": "s" * 256}},
}


def test_an_honest_token_signs_in(ada, everybody):
    forger = everybody["forger"]
    forger.become(subject(), ada.email)
    forger.sign_in(ada)
    assert ada.account() == ada.email, ada.page
    # For several, and it says that it was given to this one.
    other = ada.again()
    forger.forge({"aud": [CLIENT, "another"], "azp": CLIENT})
    forger.sign_in(other)
    assert other.account() == ada.email, other.page


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_token_does_not_count(ada, everybody, forgery):
    forger = everybody["forger"]
    forger.become(subject(), ada.email)
    forger.forge(**FORGERIES[forgery])
    forger.sign_in(ada)
    assert is_refused(ada), (forgery, ada.page)
    assert ada.page.status < 500 or ada.page.status in (502, 503), ada.page


def test_a_token_of_another_tenant_does_not_count(ada, fakes, everybody):
    """Each key is for one tenant, although `common` lists those of all."""
    microsoft = everybody["microsoft"]
    microsoft.become(subject(), ada.email)
    fakes.microsoft.adjust = lambda claims: claims | {
        "tid": Microsoft.FABRIKAM,
        "iss": f"{fakes.microsoft.url}/{Microsoft.FABRIKAM}/v2.0",
    }
    microsoft.sign_in(ada)
    assert is_refused(ada), ada.page


@pytest.mark.parametrize("tenant", ["../evil", "{tenantid}", "", 7, None, "common", "72F988BF/86f1"])
def test_a_tenant_is_a_uuid(ada, fakes, everybody, tenant):
    microsoft = everybody["microsoft"]
    microsoft.become(subject(), ada.email)

    def changed(claims):
        claims |= {"tid": tenant, "iss": f"{fakes.microsoft.url}/{tenant}/v2.0"}
        return {name: value for name, value in claims.items() if value is not None}

    fakes.microsoft.adjust = changed
    microsoft.sign_in(ada)
    assert is_refused(ada), ada.page


def test_only_people_of_the_tenant_sign_in_where_it_is_named(ada, eve, everybody):
    contoso = everybody["microsoft"]
    contoso.login = "contoso"
    contoso.become(subject(), eve.email, tid=Microsoft.FABRIKAM)
    contoso.sign_in(eve)
    assert is_refused(eve), eve.page
    contoso.become(subject(), ada.email)
    contoso.sign_in(ada)
    assert ada.account() == ada.email, ada.page


@pytest.mark.parametrize("made", ["none", "hs256 with the client's secret", "another key of the same name"])
@pytest.mark.parametrize("name", ["google", "apple", "gitlab"])
def test_each_provider_signs_its_tokens(ada, everybody, made, name):
    upstream = everybody[name]
    upstream.become(subject(), ada.email)
    fake, other = upstream.provider, RsaKey()
    fake.sign = {
        "none": unsigned,
        "hs256 with the client's secret": lambda claims: with_secret(claims, fake.key.public_pem(), kid=fake.key.kid),
        "another key of the same name": lambda claims: other.sign(claims, kid=fake.key.kid),
    }[made]
    upstream.sign_in(ada)
    assert is_refused(ada), ada.page


def test_a_token_of_another_access_token_does_not_count(ada, sso):
    sso.become(subject(), ada.email)
    sso.provider.adjust = lambda claims: claims | {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"}
    sso.sign_in(ada)
    assert is_refused(ada), ada.page


# --- addresses of others ----------------------------------------------------------------------------------------------

# What a provider lets anybody say about an address, which is Ada's.
BORROWED = {
    "google": [{"email_verified": False}, {"email_verified": None}, {"email_verified": "no"}],
    "github": [
        {"emails": []},
        # Only the first is verified, and only the second is primary.
        {"emails": "split"},
    ],
    "microsoft": [
        {"xms_edov": None},
        {"xms_edov": False},
        {"xms_edov": None, "email_verified": True},
        {"xms_edov": None, "verified_primary_email": ["other@example.net"]},
        {"xms_edov": None, "upn": "ada"},
    ],
    "apple": [{"email_verified": "false"}, {"email_verified": False}, {"email_verified": None}],
    "gitlab": [{"email_verified": False}, {"email_verified": None}],
    "sso": [{"email_verified": False}, {"email_verified": None}, {"email_verified": "false"}, {"email_verified": 1}],
}


@pytest.mark.parametrize("name, claims", [(name, claims) for name, each in BORROWED.items() for claims in each], ids=str)
def test_whoever_writes_down_an_address_does_not_own_it(ada, eve, everybody, name, claims):
    ada.sign_up().verify()
    upstream = everybody[name]
    if claims.get("emails") == "split":
        own = {"email": f"eve.{eve.number}@example.net", "verified": True, "primary": False}
        claims = {"emails": [own, {"email": ada.email, "verified": False, "primary": True}]}
    upstream.become(subject(), ada.email, **claims)
    upstream.sign_in(eve)
    assert eve.account() is None, eve.page
    # Not even a question whether to link, which would say that there is an account.
    assert LINK not in eve.page.text
    assert ada.identities() == 0 and ada.account() == ada.email


@pytest.mark.parametrize("owned", [True, 1, "1", None])
def test_microsoft_says_in_several_ways_that_an_address_is_verified(ada, everybody, owned):
    upstream = everybody["microsoft"]
    listed = {"verified_primary_email": [ada.email]} if owned is None else {}
    upstream.become(subject(), ada.email, xms_edov=owned, **listed)
    upstream.sign_in(ada)
    assert ada.account() == ada.email, ada.page


def test_userinfo_of_microsoft_is_not_asked(ada, fakes, everybody):
    everybody["microsoft"].become(subject(), ada.email, verified=False)
    everybody["microsoft"].sign_in(ada)
    assert fakes.microsoft.asked("/oidc/userinfo") == []


def test_userinfo_about_somebody_else_does_not_count(service, ada, sso):
    """A provider whose token has no address is asked for it."""
    ada.sign_up().verify()
    eve = Visitor(service)
    sso.become("eve", None)
    own = {"sub": "eve", "email": eve.email, "email_verified": True}
    sso.provider.instead["/userinfo"] = lambda request: request.json(own | {"sub": "ada"})
    sso.sign_in(eve)
    assert eve.account() is None, eve.page


@pytest.mark.parametrize("email_verified", [True, "true"])
def test_apple_says_true_in_two_ways(service, ada, everybody, email_verified):
    apple = everybody["apple"]
    ada.email = f"relay{ada.number}@privaterelay.appleid.com"
    who = subject()
    apple.become(who, ada.email, email_verified=email_verified, is_private_email=str(email_verified).lower())
    apple.sign_in(ada)
    assert ada.account() == ada.email, ada.page
    assert service.user(ada.email)["name"] == "Ada Lovelace", "the name comes with the form, once"


def test_the_name_in_apples_form_is_text(service, ada, everybody):
    apple = everybody["apple"]
    apple.become(subject(), ada.email)
    apple.provider.back = lambda fields: fields | {"user": '{"name":{"firstName":"<script>alert(1)</script>"},"email":"x@y.z"}'}
    apple.provider.seen.add(apple.provider.person["sub"])
    apple.sign_in(ada)
    assert ada.account() == ada.email
    assert "<script>alert" not in ada.look("/account").text
    assert service.user("x@y.z") is None


# --- other sites ------------------------------------------------------------------------------------------------------


def test_another_site_cannot_make_somebody_link(ada, eve, sso):
    """The browser of Ada is signed in at the provider as Eve, and another site leads it through the flow."""
    ada.sign_up().verify()
    sso.become(subject(), eve.email)
    sso.sign_in(ada, "?link=1")
    assert ada.identities() == 0, "Ada has pressed no button"
    page = ada.page
    forms = page.forms(LINK)
    assert eve.email in page.words and forms, page
    ada.post(PUBLIC + LINK, "https://evil.example/", **forms[0].fields, link="1")
    assert ada.identities() == 0, ada.page
    # What Eve could link is in her browser, not in her form.
    eve.sign_up().verify()
    sso.become(subject(), f"other.{eve.email}")
    sso.sign_in(eve, "?link=1")
    [form] = eve.page.forms(LINK)
    other = ada.again()
    other.go("/sign-in")
    other.sign_in()
    other.send(form, link="1")
    assert other.account() == ada.email and ada.identities() == 0, other.page


def test_another_site_cannot_ask_somebody_for_the_code_of_a_stranger(service, ada, eve, sso):
    """With the code, Eve's login would open Ada's account."""
    sso.become(subject(), eve.email, verified=False)
    sso.sign_in(eve)
    [form] = eve.page.forms(ADDRESS)
    ada.post(PUBLIC + ADDRESS, "https://evil.example/", **(form.fields | {"email": ada.email}))
    assert is_refused(ada) and service.subjects(ada.email) == [], ada.page


def test_another_site_cannot_remove_a_login(ada, sso):
    sso.become(subject(), ada.email)
    sso.sign_in(ada)
    [form] = ada.go("/account/security").forms(REMOVE)
    ada.post(PUBLIC + REMOVE, "https://evil.example/", **form.fields, **dict(form.buttons))
    assert ada.identities() == 1


def test_a_link_begun_before_signing_out_is_not_finished_by_the_next_person(service, ada, sso):
    ada.sign_up().verify()
    sso.become(subject(), f"other.{ada.email}")
    ended = given(ada, begun(ada, "sso", "?link=1"))
    ada.sign_out()
    bob = Visitor(service)
    bob.jar = ada.jar
    bob.sign_up().verify()
    bob.open(ended)
    if bob.page.forms(LINK):
        bob.confirm_link()
    assert bob.identities() == 0, bob.page


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example/", "/\\evil.example", "javascript:alert(1)", "evil", "A" * 3000, "%0d%0aLocation: x"],
)
def test_nobody_is_led_elsewhere_after_a_sign_in(ada, sso, target):
    sso.become(subject(), ada.email)
    sso.sign_in(ada, f"?{urlencode({'for': target, 'redirect_uri': target, 'next': target, 'stay': '1'})}")
    assert ada.page.url == f"{PUBLIC}/account", ada.page
    assert not any("evil.example" in urlsplit(url).netloc for url in ada.history)


def test_the_parameters_of_a_stranger_do_not_reach_the_provider(ada, sso):
    evil = {"redirect_uri": "https://evil.example/", "client_id": "evil", "state": "evil", "scope": "evil", "prompt": "none"}
    query = urlencode(evil)
    asked = fields_of(begun(ada, "sso", f"?{query}&hint=ada%40example.com%26scope%3Devil"))
    assert asked["client_id"] == CLIENT and asked["redirect_uri"].startswith(PUBLIC)
    assert "evil" not in (asked["state"], asked["scope"]) and "prompt" not in asked


def test_a_login_that_is_not_declared_does_not_exist(ada):
    for name in ("unknown", "sso%2F..%2Fevil", "SSO", "sso.", "%00"):
        assert ada.go(f"/sign-in/with/{name}").status in (400, 404), ada.page
        assert ada.go(f"/sign-in/with/{name}/back?code=a&state=b").status in (400, 404), ada.page


def test_the_words_of_a_provider_are_text(ada, fakes, sso):
    fakes.oidc.person = None
    fakes.oidc.back = lambda fields: fields | {"error": "<i>own</i>", "error_description": "<script>alert(1)</script>" * 20}
    sso.sign_in(ada)
    assert is_refused(ada), ada.page
    assert "<script>alert" not in ada.page.text and "<i>own" not in ada.page.text


def test_who_leaves_the_page_of_the_provider_can_choose_another_way(ada, fakes, sso):
    fakes.oidc.person = None
    sso.sign_in(ada)
    assert ada.account() is None and ada.page.status < 500, ada.page
    ada.open(ada.page.link("/sign-in")) if not ada.page.forms("/sign-in") else None
    assert ada.page.forms("/sign-in"), ada.page


# Many more than a budget of 10, and made within a few seconds.
ATTEMPTS = 60


def test_codes_that_the_provider_does_not_accept_have_a_budget(fakes):
    """Each costs a request in the name of the operator."""
    oidc = login("sso", fakes.oidc.issuer, preset="oidc")
    with LoginService(oidc, with_mail=False, DOORWARD_THROTTLE_NETWORK_FAILURES="10") as service:
        eve, answers, began = Visitor(service), [], time.monotonic()
        for _ in range(ATTEMPTS):
            there = eve.step(f"{PUBLIC}/sign-in/with/sso")
            state = parse_qs(urlsplit(there.headers["Location"]).query)["state"][0]
            query = urlencode({"state": state, "code": "made up", "iss": fakes.oidc.issuer})
            answers.append(eve.step(f"{PUBLIC}/sign-in/with/sso/back?{query}").status)
        # One charge expires each second, however busy the machine is.
        allowed = 10 + time.monotonic() - began + 1
        assert answers[:10] == [502] * 10 and set(answers) <= {502, 429}, answers
        assert answers.count(502) <= allowed and len(fakes.oidc.asked(fakes.oidc.token)) <= allowed, answers
        upstream, ada = Upstream(fakes.oidc, "sso"), Visitor(service)
        for _ in range(14):
            upstream.become("ada", "ada@example.com")
            upstream.sign_in(ada)
            assert ada.account() == "ada@example.com", "who comes back rightly is not charged"


def test_attempts_that_nobody_finishes_do_not_fill_the_cookies(ada, sso):
    for _ in range(8):
        ada.step(f"{PUBLIC}/sign-in/with/sso")
    assert 0 < sum("-login-" in cookie.name for cookie in ada.jar) <= 3


# --- requests that a provider would like to have sent -----------------------------------------------------------------


class Trap(ThreadingHTTPServer):
    """A server inside, at an address that nobody has named in the settings."""

    daemon_threads = True

    def __init__(self):
        self.arrivals = []
        super().__init__(("127.0.0.2", 0), Caught)
        self.url = f"http://127.0.0.2:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Caught(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.arrivals.append(self.path)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    do_POST = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def trap():
    with Trap() as trap:
        yield trap


ENDPOINTS = ("token_endpoint", "jwks_uri", "userinfo_endpoint")


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_a_discovery_document_leads_no_request_inside(fresh, trap, endpoint):
    upstream, ada = fresh()
    upstream.become("ada", None if endpoint == "userinfo_endpoint" else ada.email)
    upstream.provider.discovered = lambda fields: fields | {endpoint: f"{trap.url}/inside"}
    upstream.sign_in(ada)
    assert ada.account() is None, ada.page
    assert trap.arrivals == []


@pytest.mark.parametrize("path", ["/.well-known/openid-configuration", "/keys", "/token", "/userinfo"])
def test_a_redirect_leads_no_request_inside(fresh, trap, path):
    upstream, _ = fresh()
    for status in (301, 302, 303, 307, 308):
        _, ada = fresh(upstream)
        upstream.become("ada", None if path == "/userinfo" else ada.email)
        upstream.provider.instead[path] = lambda request: request.redirect(f"{trap.url}/inside", status)
        upstream.sign_in(ada)
        assert ada.account() is None, ada.page
    assert trap.arrivals == []


@pytest.mark.parametrize("url", ["javascript:alert(1)", "file:///etc/passwd", "/authorize", "", 7, None])
def test_a_browser_is_only_led_to_a_secure_page(fresh, url):
    upstream, ada = fresh()
    upstream.provider.discovered = lambda fields: fields | {"authorization_endpoint": url}
    page = ada.step(f"{PUBLIC}/sign-in/with/{upstream.login}")
    assert page.status in REFUSED, (page, page.headers)


# --- TLS --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    """A service, and a provider with a certificate of an authority that only two of its logins trust. The second is not asked
    before its test."""
    authority = Authority(tmp_path_factory.mktemp("authority"))
    with Oidc(tls=authority.server_context()) as provider:
        own = {"preset": "oidc", "label": "Secure"}
        logins = [login(name, provider.issuer, **own, ca_file=str(authority.file)) for name in ("trusting", "later")]
        with LoginService("".join([*logins, login("wary", provider.issuer, **own)])) as service:
            yield service, provider


def test_a_certificate_of_an_authority_of_ones_own_counts_where_it_is_named(secure):
    service, provider = secure
    for name, counts in (("trusting", True), ("wary", False)):
        ada, upstream = Visitor(service), Upstream(provider, name)
        upstream.become(subject(), ada.email)
        upstream.sign_in(ada)
        assert ada.account() == (ada.email if counts else None), ada.page


@pytest.mark.parametrize("endpoint", ["authorization_endpoint", *ENDPOINTS])
def test_a_provider_with_tls_names_no_endpoint_without(secure, fakes, endpoint):
    service, provider = secure
    provider.discovered = lambda fields: fields | {endpoint: f"{fakes.evil.url}/any"}
    page = Visitor(service).step(f"{PUBLIC}/sign-in/with/later")
    assert page.status in REFUSED, (page, page.headers)
    assert fakes.evil.requests == []
