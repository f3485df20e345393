"""No return target leads a person to another site, whoever wrote it."""

import re
import string
from urllib.parse import quote, urlsplit

import pytest
from https_settings import APP, PUBLIC_URL, SETTINGS, WIKI
from visitor import NAVIGATION, OWN_FORM, Visitor, return_target, split

EVIL = "evil.test"

# --- the corpus ------------------------------------------------------------------------------------------------------

PLAIN = [
    f"https://{EVIL}",
    f"https://{EVIL}/",
    f"http://{EVIL}/",
    f"HTTPS://{EVIL}/",
    f"https:{EVIL}",
    f"https:/{EVIL}",
    f"https:///{EVIL}",
    f"https:////{EVIL}",
    f"https:\\\\{EVIL}",
    f"https:/\\{EVIL}",
    f"https:\\/{EVIL}",
    f"//{EVIL}",
    f"///{EVIL}",
    f"////{EVIL}",
    f"/\\{EVIL}",
    f"\\\\{EVIL}",
    f"\\/{EVIL}",
    f"/\\/{EVIL}",
    f"\\{EVIL}",
    f"/./\\{EVIL}",
    f"/.//{EVIL}",
    f"/..//{EVIL}",
    f"./\\{EVIL}",
    f"/;//{EVIL}",
    f"/%2F{EVIL}",
    f"/%5C{EVIL}",
    f"%2F%2F{EVIL}",
    f"%5C%5C{EVIL}",
    f"/%09/{EVIL}",
    f"/%0A/{EVIL}",
    f"/%0D/{EVIL}",
    f"/\t/{EVIL}",
    f"/\n/{EVIL}",
    f"/\r/{EVIL}",
    f"/\x00/{EVIL}",
    f"\t//{EVIL}",
    f"\n//{EVIL}",
    f" //{EVIL}",
    f"\x0b//{EVIL}",
    f"\u00a0//{EVIL}",
    f"\u2028//{EVIL}",
    f"ht\ttps://{EVIL}",
    f"ht\ntps://{EVIL}",
    f"java\tscript:alert(1)//{EVIL}",
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    f"javascript://{EVIL}/%0aalert(1)",
    "javascript:%61lert(1)",
    "data:text/html,<script>alert(1)</script>",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "vbscript:msgbox(1)",
    f"ftp://{EVIL}/",
    f"ws://{EVIL}/",
    "file:///etc/passwd",
    "about:blank",
    "blob:https://evil.test/1",
    "view-source:https://evil.test/",
    "mailto:ada@evil.test",
    f"intent://{EVIL}#Intent;scheme=https;end",
    f"{APP}@{EVIL}/",
    f"https://app.one.test:443@{EVIL}/",
    f"https://user:password@{EVIL}/",
    f"https://app.one.test%40{EVIL}/",
    f"https://app.one.test%2F@{EVIL}/",
    f"https://app.one.test%00@{EVIL}/",
    f"{APP}.{EVIL}/",
    f"{APP}%2E{EVIL}/",
    f"https://{EVIL}/{APP}",
    f"https://{EVIL}?{APP}/",
    f"https://{EVIL}#{APP}/",
    f"https://{EVIL}#@app.one.test/",
    f"https://{EVIL}\\@app.one.test/",
    f"https://{EVIL}%23@app.one.test/",
    f"https://{EVIL}%3F@app.one.test/",
    f"https://{EVIL};app.one.test/",
    f"https://{EVIL}&app.one.test/",
    "https://app.one.test.",
    "https://app-one.test/",
    "https://xapp.one.test/",
    "https://one.test/",
    "https://sub.app.one.test/",
    "https://app.one.test:8443/",
    "http://app.one.test/",
    "https://аpp.one.test/",
    "https://app.οne.test/",
    "https://app。one。test/",
    "https://ａｐｐ.one.test/",
    "https://xn--pp-6kc.one.test/",
    "https://app.one.test\u200b/",
    "https://[::1]/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://127.1/",
    f"{APP}/",
    f"{WIKI}/",
    f"{PUBLIC_URL}/account",
    "/account",
    "account",
    "?",
    "#",
    "",
    " ",
    "null",
    "undefined",
    ".",
    "..",
    "../..",
    f"{PUBLIC_URL}@{EVIL}",
    f"{PUBLIC_URL}.{EVIL}",
    f"x\r\nLocation: https://{EVIL}/",
    f"x\nSet-Cookie: a=b",
    f"x%0d%0aLocation:%20https://{EVIL}/",
    f"x\u560d\u560aLocation: https://{EVIL}",
    "A" * 8000,
]
# Each also once and twice encoded, and with white space around it.
CORPUS = list(
    dict.fromkeys(
        [
            *PLAIN,
            *(quote(target, safe="") for target in PLAIN[:60]),
            *(quote(quote(target, safe=""), safe="") for target in PLAIN[:30]),
            *(f" {target} " for target in PLAIN[:20]),
            *(f"\t{target}" for target in PLAIN[:10]),
        ]
    )
)

# What a proxy may report as the path of a request, because a client sent it.
PATHS = [
    f"//{EVIL}/",
    f"///{EVIL}/",
    f"/\\{EVIL}/",
    f"/%2F{EVIL}/",
    f"/%5c{EVIL}/",
    f"/.//{EVIL}/",
    f"/..//{EVIL}/",
    f"/@{EVIL}/",
    f"@{EVIL}/",
    f".{EVIL}/",
    f":80@{EVIL}/",
    f":8443/",
    f"https://{EVIL}/",
    f"http:{EVIL}/",
    f"\\\\{EVIL}/",
    f"?@{EVIL}/",
    f"#@{EVIL}/",
    f";@{EVIL}/",
    f"%40{EVIL}/",
    f"/?next=https://{EVIL}/",
    f"/#https://{EVIL}/",
    f"/%0d%0aLocation:%20https://{EVIL}/",
    f"/\tx//{EVIL}",
    "*",
    "",
]

# What a client that is no proxy may claim as the host.
HOSTS = [
    EVIL,
    f"app.one.test.{EVIL}",
    f"app.one.test@{EVIL}",
    f"{EVIL}@app.one.test",
    f"app.one.test, {EVIL}",
    f"{EVIL}, app.one.test",
    f"app.one.test/{EVIL}",
    f"app.one.test#{EVIL}",
    f"app.one.test?{EVIL}",
    f"app.one.test\\{EVIL}",
    "app.one.test:8443",
    "app.one.test:444",
    "app.one.test:0443",
    "app.one.test.",
    "app.one.test:",
    "xn--pp-6kc.one.test",
    "app.two.test",
    "",
    "[app.one.test]",
    " app.one.test",
]


def test_the_corpus_has_more_than_200_targets():
    assert len(CORPUS) + len(PATHS) + len(HOSTS) > 200


# --- the tests -------------------------------------------------------------------------------------------------------


@pytest.fixture
def ada(https_service):
    """A person who is signed in to Doorward only."""
    visitor = Visitor(https_service, PUBLIC_URL)
    visitor.person = visitor.sign_up()
    return visitor


def is_on(origin, location):
    """Whether every browser reads a Location as a URL of this origin, whatever follows it."""
    return bool(re.fullmatch(re.escape(origin) + r"/[!-~]*", location))


def is_on_doorward(location):
    return is_on(PUBLIC_URL, location) or bool(re.fullmatch(r"/(?![/\\])[!-~]*", location))


def assert_stays(answer, target):
    """Asserts that an answer leads nowhere but to Doorward's own pages, and that it has no injected header."""
    location = answer.header("Location")
    assert location is None or is_on_doorward(location), (target, location)
    assert not answer.header("Refresh")
    for line in answer.all("Set-Cookie"):
        assert line.startswith("__Host-doorward"), (target, line)


def test_a_target_that_doorward_did_not_seal_is_ignored(ada):
    for target in CORPUS:
        for name in ("for", "rd", "next", "url", "redirect", "return_to", "redirect_uri"):
            answer = ada.page(f"/sign-in?{name}={quote(target, safe='')}")
            assert answer.status < 500, (target, answer)
            assert_stays(answer, target)
            if name == "for":
                raw = re.sub(r"[^!-~]", lambda found: quote(found[0]), target)
                assert_stays(ada.page(f"/sign-in?for={raw}"), target)
                assert_stays(ada.page(f"/sign-up?for={raw}"), target)


def test_a_form_with_a_target_that_doorward_did_not_seal_leads_to_the_account(https_service, ada):
    for target in [*PLAIN[:100:4], *PLAIN[-8:]]:
        visitor = Visitor(https_service, PUBLIC_URL)
        answer = visitor.post(
            "/sign-in", email=ada.person.email, password=ada.person.password, **{"for": target}
        )
        assert answer.status == 303, (target, answer)
        assert urlsplit(answer.header("Location")).path == "/account"
        assert_stays(answer, target)


def test_no_page_contains_a_target_that_doorward_did_not_seal(https_service):
    stranger = Visitor(https_service, PUBLIC_URL)
    for target in CORPUS:
        if EVIL not in target:
            continue
        for path in ("/sign-in", "/sign-up"):
            body = stranger.page(f"{path}?for={quote(target, safe='')}").body.decode()
            assert not re.search(rf"(href|action|src|content)=[\"']?[^\"'>]*{EVIL}", body), target


def test_a_changed_target_is_ignored(ada):
    sealed = return_target(ada.visit("app", APP, "/deep?link=1"))
    assert is_on(APP, ada.exchange(sealed))
    alphabet = string.ascii_letters + string.digits + "-_"
    changed = {sealed[:-1], sealed[1:], sealed + "A", f"{sealed}.{sealed}", sealed.swapcase(), sealed * 2, sealed[::-1]}
    for place, letter in enumerate(sealed):
        # The last letter may have unused bits, but most of its changes are changes.
        other = alphabet[(alphabet.index(letter) + 32) % 64] if letter in alphabet else "A"
        changed.add(sealed[:place] + other + sealed[place + 1 :])
    changed.discard(sealed)
    for target in changed:
        answer = ada.page(f"/sign-in?for={target}")
        location = answer.header("Location")
        assert location is None or is_on_doorward(location), (target, location)


def test_a_target_of_another_doorward_is_ignored(ada, start_https_service):
    other = start_https_service("another Doorward", SETTINGS)
    sealed = return_target(Visitor(other, PUBLIC_URL).visit("app", APP))
    answer = ada.page(f"/sign-in?for={sealed}")
    assert_stays(answer, sealed)


def assert_leads_back(visitor, asked):
    """Follows a redirect to the sign-in page to its end, which is on the app."""
    code_url = visitor.exchange(return_target(asked))
    assert is_on(APP, code_url), code_url
    entered = visitor.visit("app", *split(code_url))
    assert entered.status == 303, entered
    assert is_on(APP, entered.header("Location")), entered


def signed_in(service, person):
    visitor = Visitor(service, PUBLIC_URL)
    assert visitor.sign_in(person).status == 303
    return visitor


def test_no_path_of_a_guarded_request_leads_to_another_origin(https_service, ada):
    for path in PATHS:
        asked = Visitor(https_service, PUBLIC_URL).visit("app", APP, path)
        if asked.header("Location") is None:
            assert asked.status in (400, 401, 403), (path, asked)
            continue
        visitor = signed_in(https_service, ada.person)
        assert_leads_back(visitor, visitor.visit("app", APP, path))


def test_no_host_of_a_guarded_request_leads_to_another_origin(https_service, ada):
    for host in HOSTS:
        visitor = signed_in(https_service, ada.person)
        asked = visitor.visit("app", f"https://{host}", "/x")
        if asked.header("Location") is None:
            assert asked.status in (400, 401, 403), (host, asked)
        else:
            assert is_on(APP, visitor.exchange(return_target(asked))), host


def test_a_client_that_is_no_proxy_cannot_name_a_host(https_service):
    stranger = Visitor(https_service, PUBLIC_URL, source="127.0.0.2")
    for origin in (APP, f"https://{EVIL}"):
        answer = stranger.visit("app", origin, "/x")
        assert (answer.status, answer.header("Location"), answer.all("Set-Cookie")) == (401, None, [])


def test_a_referrer_of_another_site_is_not_returned_to(https_service, ada):
    """A form is not sent again: the person returns to its page if that is the app's own."""
    for referrer, returns in [
        (f"{APP}/editor?draft=1", f"{APP}/editor?draft=1"),
        *((target, f"{APP}/") for target in PLAIN if target.isascii() and target.isprintable()),
    ]:
        if referrer == f"{APP}/":
            continue
        visitor = Visitor(https_service, PUBLIC_URL)
        visitor.cookies[visitor.host] = dict(ada.cookies[ada.host])
        asked = visitor.visit("app", APP, "/save", [*OWN_FORM, ("Referer", referrer)], method="POST")
        assert asked.status == 303, (referrer, asked)
        entered = visitor.visit("app", *split(visitor.exchange(return_target(asked))))
        assert entered.header("Location") == returns, referrer
        # The same form, sent by another site.
        headers = [*NAVIGATION, ("Sec-Fetch-Site", "cross-site"), ("Referer", referrer)]
        foreign = Visitor(https_service, PUBLIC_URL).visit("app", APP, "/save", headers, method="POST")
        assert (foreign.status, foreign.header("Location"), foreign.all("Set-Cookie")) == (303, returns, [])


def test_what_follows_a_code_does_not_change_where_it_leads(https_service, ada):
    for extra in (f"&url=https://{EVIL}/", f"&for=//{EVIL}", f"#//{EVIL}", f"/..//{EVIL}", "%00", "&code=x"):
        visitor = signed_in(https_service, ada.person)
        asked = visitor.visit("app", APP, "/deep?link=1")
        code_url = visitor.exchange(return_target(asked)) + extra
        answer = visitor.visit("app", *split(code_url))
        location = answer.header("Location")
        assert location is None or is_on(APP, location), (extra, location)
        assert EVIL not in (location or "")
        assert EVIL not in answer.body.decode()
