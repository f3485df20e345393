"""Providers that are down, slow, endless or huge, change their keys or their name, or have another time. Nobody else notices."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from fakes import Oidc
from harness.clock import MovingClock
from harness.connection import GUARD, get
from harness.stall import Span, StallRecorder
from harness.wait import eventually
from people import PUBLIC, REFUSED, LoginService, Visitor, login
from tokens import RsaKey
from upstreams import Upstream

STALLS = StallRecorder()
# For a whole call, as documented.
LIMIT_SECONDS = 10
GUARD_SECONDS = 0.25
MIB = 1024 * 1024


# --- bodies that do not end as they should ----------------------------------------------------------------------------


def begin_body(request, length):
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", str(length))
    request.end_headers()


def silent(request):
    """Says nothing until the other side has enough."""
    request.connection.settimeout(60)
    request.connection.recv(1)


def slow(request):
    """One byte after the other."""
    begin_body(request, 1000)
    while True:
        request.wfile.write(b" ")
        time.sleep(0.2)


def endless(request):
    """Chunks without an end, and no length."""
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    while True:
        request.wfile.write(b"1000\r\n" + b" " * 4096 + b"\r\n")


def huge(request):
    """64 MiB, as announced."""
    begin_body(request, 64 * MIB)
    for _ in range(64):
        request.wfile.write(b" " * MIB)


def headers_without_end(request):
    request.connection.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        request.connection.sendall(b"X-More: " + b"x" * 4096 + b"\r\n")


BAD = {each.__name__: each for each in (silent, slow, endless, huge, headers_without_end)}
DISCOVERY, TOKEN = "/.well-known/openid-configuration", "/token"


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A service with one provider for each way to answer badly, at discovery and at the token request."""
    key, providers = RsaKey(), {}
    for name in BAD:
        for path in (DISCOVERY, TOKEN):
            providers[name.replace("_", "-") + ("-d" if path == DISCOVERY else "-t")] = provider = Oidc(key)
            provider.instead[path] = BAD[name]
    providers["good"] = Oidc(key)
    logins = [login(name, provider.issuer, preset="oidc", label=name) for name, provider in providers.items()]
    with LoginService("".join(logins)) as service:
        yield service, providers
    for provider in providers.values():
        provider.__exit__()


def test_no_answer_of_a_provider_holds_a_guard_up(watched):
    service, providers = watched
    visitors = {name: Visitor(service) for name in providers}
    for name, provider in providers.items():
        provider.person = {"sub": "ada", "email": visitors[name].email, "email_verified": True}

    def sign_in(name):
        started = time.monotonic()
        visitors[name].go(f"/sign-in/with/{name}")
        return Span(started, time.monotonic())

    _, token = service.sign_up()
    before = service.peak_rss()
    slowest = Span(0, 0)
    with ThreadPoolExecutor(len(providers)) as threads, service.connect() as connection:
        running = {name: threads.submit(sign_in, name) for name in providers}
        while not all(each.done() for each in running.values()):
            started = time.monotonic()
            answer = connection.exchange(get(GUARD, token))
            assert answer.status == 200, answer
            span = Span(started, time.monotonic())
            slowest = max(slowest, span, key=lambda each: each.seconds)
            assert not span.exceeds(GUARD_SECONDS, STALLS), span.seconds
            time.sleep(0.02)
    # Discovery and the token request have a limit each.
    late = {name: each.result().seconds for name, each in running.items() if each.result().exceeds(2 * LIMIT_SECONDS + 2, STALLS)}
    assert not late, late
    for name, visitor in visitors.items():
        if name == "good":
            assert visitor.account() == visitor.email, visitor.page
        else:
            assert visitor.account() is None and visitor.page.status in (502, 503, 504), (name, visitor.page)
    assert service.peak_rss() - before < 32, "bodies are bounded"


# --- a provider that is there no longer -------------------------------------------------------------------------------


def test_a_provider_that_is_down_leaves_the_other_ways(fresh):
    upstream, ada = fresh()
    upstream.provider.__exit__()
    upstream.sign_in(ada)
    page = ada.page
    assert page.status in (502, 503) and "Stranger" in page.words, page
    assert page.forms("/sign-in") or page.link("/sign-in")
    ada.sign_up()
    assert ada.account() == ada.email


def test_what_was_learnt_lasts_while_a_provider_does_not_tell_it_again(fresh):
    upstream, ada = fresh()
    upstream.become("ada", ada.email)
    upstream.sign_in(ada)
    for path in (DISCOVERY, "/keys"):
        upstream.provider.instead[path] = lambda request: request.json({}, 503)
    _, again = fresh(upstream)
    upstream.sign_in(again)
    assert again.account() == ada.email, again.page


def test_a_provider_is_asked_once_for_what_it_is(fresh):
    upstream, ada = fresh()
    for _ in range(3):
        _, ada = fresh(upstream)
        upstream.become("ada", ada.email)
        upstream.sign_in(ada)
    assert [len(upstream.provider.asked(path)) for path in (DISCOVERY, "/keys", TOKEN)] == [1, 1, 3]


def test_parallel_sign_ins_ask_once(fresh):
    upstream, _ = fresh()
    visitors = [fresh(upstream)[1] for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        pages = list(threads.map(lambda each: each.step(f"{PUBLIC}/sign-in/with/{upstream.login}"), visitors))
    assert {page.status for page in pages} == {303}, pages
    assert len(upstream.provider.asked(DISCOVERY)) == 1


@pytest.mark.parametrize("status", [400, 401, 500, 503])
def test_an_error_of_a_provider_is_a_page_that_says_so(fresh, status):
    upstream, ada = fresh()
    upstream.become("ada", ada.email)
    upstream.provider.instead[TOKEN] = lambda request: request.json({"error": "invalid_client"}, status)
    upstream.sign_in(ada)
    assert ada.account() is None and ada.page.status in REFUSED, ada.page
    assert ada.page.link("/sign-in")
    assert len(upstream.provider.asked(TOKEN)) == 1, "a code is never redeemed twice"


@pytest.mark.parametrize("text", ["", "[]", "null", "{", '{"issuer": 7}', "<html>", '{"issuer"' * 5000])
def test_a_document_that_is_none_is_refused(fresh, text):
    upstream, ada = fresh()
    upstream.provider.instead[DISCOVERY] = lambda request: request.reply(text, "application/json")
    page = ada.go(f"/sign-in/with/{upstream.login}")
    assert page.status in (502, 503), page


# --- keys and names ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def years(tmp_path_factory):
    """A service whose clock a test moves, and its provider, which has the same time."""
    clock = MovingClock(tmp_path_factory.mktemp("clock"))
    with Oidc() as provider:
        logins = login("sso", provider.issuer, preset="oidc", label="Example SSO")
        with LoginService(logins, **clock.variables) as service:

            def forward(seconds):
                clock.forward(seconds)
                provider.skew = clock.seconds

            yield service, Upstream(provider, "sso"), forward


def test_new_keys_are_fetched_when_a_token_names_one(years):
    service, upstream, forward = years
    provider, ada = upstream.provider, Visitor(service)

    def signs_in():
        browser = ada.again()
        upstream.sign_in(browser)
        return browser.account() == ada.email

    upstream.become("ada", ada.email)
    assert signs_in()
    # Not before a minute has passed since the last time, so that a forger does not make it ask again and again.
    provider.key = RsaKey()
    provider.sign = provider.key.sign
    assert not signs_in() and not signs_in()
    assert len(provider.asked("/keys")) == 1
    forward(61)
    assert signs_in() and signs_in()
    assert len(provider.asked("/keys")) == 2
    # What is known lasts for a day, and longer while the provider does not tell it again.
    for path in (DISCOVERY, "/keys"):
        provider.instead[path] = lambda request: request.json({}, 503)
    forward(86_400)
    assert signs_in()
    provider.instead.clear()
    forward(61)
    assert signs_in()
    assert len(provider.asked("/keys")) == 3


def test_keys_of_other_kinds_do_no_harm(fresh):
    upstream, ada = fresh()
    strange = [
        {"kty": "AKP", "alg": "ML-DSA-65", "kid": "new", "pub": "AAAA"},
        {"kty": "EC", "crv": "P-9000", "kid": "curve", "x": "AA", "y": "AA"},
        {"kty": "oct", "k": "c2VjcmV0", "kid": "secret"},
        {"kty": "RSA", "kid": 7, "n": "AQAB", "e": "AQAB"},
        {},
    ]
    own = upstream.provider.key.public()
    upstream.provider.instead["/keys"] = lambda request: request.json({"keys": [*strange, own]})
    upstream.become("ada", ada.email)
    upstream.sign_in(ada)
    assert ada.account() == ada.email, ada.page


@pytest.mark.parametrize("change", ["slash", "host", "case", "other"])
def test_a_provider_with_another_name_is_not_believed(fresh, change):
    upstream, ada = fresh()
    issuer = upstream.provider.issuer
    named = {
        "slash": f"{issuer}/",
        "host": issuer.replace("127.0.0.1", "localhost"),
        "case": issuer.upper(),
        "other": "https://other.example",
    }
    upstream.provider.discovered = lambda fields: fields | {"issuer": named[change]}
    page = ada.go(f"/sign-in/with/{upstream.login}")
    assert page.status in (502, 503), page
    assert ada.account() is None


def test_people_of_before_stay_out_after_a_provider_has_changed_its_name(fresh):
    upstream, ada = fresh()
    upstream.become("ada", ada.email)
    upstream.sign_in(ada)
    upstream.provider.adjust = lambda claims: claims | {"iss": "https://other.example"}
    _, again = fresh(upstream)
    upstream.sign_in(again)
    assert again.account() is None and again.page.status in REFUSED, again.page


# --- time -------------------------------------------------------------------------------------------------------------


def test_a_clock_that_is_five_minutes_ahead_is_named(strangers, fresh):
    upstream, ada = fresh()
    upstream.provider.skew = 300
    upstream.become("ada", ada.email)
    upstream.sign_in(ada)
    assert ada.account() is None and ada.page.status in REFUSED, ada.page
    service, _ = strangers
    eventually("the log names the cause", lambda: "clock is 300 s ahead" in service.output())
    check = service.command("login", "check", upstream.login)
    assert check.returncode != 0 and "clock" in check.stdout + check.stderr, check


def test_a_clock_that_is_five_minutes_behind_makes_tokens_older(fresh):
    upstream, ada = fresh()
    upstream.provider.skew = -300
    upstream.become("ada", ada.email)
    upstream.sign_in(ada)
    assert ada.account() == ada.email, ada.page


def test_the_command_says_what_is_right_and_what_to_register(strangers, fresh):
    upstream, _ = fresh()
    service, _ = strangers
    check = service.command("login", "check", upstream.login)
    assert check.returncode == 0, check
    assert f"{PUBLIC}/sign-in/with/{upstream.login}/back" in check.stdout
    missing = service.command("login", "check", "unknown")
    assert missing.returncode != 0 and "unknown" in missing.stderr, missing
