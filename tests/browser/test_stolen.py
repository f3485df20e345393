"""A cookie or a code that was copied from a browser is of no use anywhere else."""

import re

import pytest
from https_settings import APP, PUBLIC_URL, WIKI
from visitor import NAVIGATION, Visitor, return_target, split

SESSION_COOKIE = "__Host-doorward"
APP_COOKIE = "__Host-doorward-app"
APP_HOST, WIKI_HOST, AUTH_HOST = (url.removeprefix("https://") for url in (APP, WIKI, PUBLIC_URL))


@pytest.fixture
def ada(https_service):
    """A person who is signed in to an app."""
    visitor = Visitor(https_service, PUBLIC_URL)
    visitor.person = visitor.sign_up()
    visitor.enter("app", APP, "/start")
    assert visitor.visit("app", APP, "/").status == 200
    return visitor


@pytest.fixture
def thief(https_service):
    return Visitor(https_service, PUBLIC_URL)


def assert_asked(answer):
    assert answer.status == 303, answer
    assert answer.header("Location").startswith(f"{PUBLIC_URL}/sign-in?for=")


# --- cookies ---------------------------------------------------------------------------------------------------------


def test_the_app_cookie_is_refused_by_another_app(ada, thief):
    thief.cookies[WIKI_HOST] = {APP_COOKIE: ada.cookies[APP_HOST][APP_COOKIE]}
    assert_asked(thief.visit("wiki", WIKI))


def test_the_app_cookie_is_no_session_of_doorward(ada, thief):
    for name in (SESSION_COOKIE, APP_COOKIE, "doorward", "doorward-app"):
        thief.cookies[AUTH_HOST] = {name: ada.cookies[APP_HOST][APP_COOKIE]}
        assert not thief.is_signed_in()


def test_the_session_cookie_is_no_app_cookie(ada, thief):
    for name in (SESSION_COOKIE, APP_COOKIE, "doorward", "doorward-app"):
        thief.cookies[APP_HOST] = {name: ada.cookies[AUTH_HOST][SESSION_COOKIE]}
        assert_asked(thief.visit("app", APP))


def test_a_name_without_the_prefix_does_not_count(ada, thief):
    """A subdomain or plain HTTP could set these."""
    thief.cookies[APP_HOST] = {"doorward-app": ada.cookies[APP_HOST][APP_COOKIE]}
    assert_asked(thief.visit("app", APP))
    thief.cookies[AUTH_HOST] = {"doorward": ada.cookies[AUTH_HOST][SESSION_COOKIE]}
    assert not thief.is_signed_in()


def test_cookies_are_no_bearer_tokens(ada, thief):
    cookies = [ada.cookies[APP_HOST][APP_COOKIE], ada.cookies[AUTH_HOST][SESSION_COOKIE]]
    for cookie in cookies:
        bearer = [("Authorization", f"Bearer {cookie}")]
        assert thief.send(AUTH_HOST, "GET", "/api/me", bearer).status == 401
        for guard in ("guard", "miles", "app"):
            assert thief.send(APP_HOST, "GET", f"/api/auth/{guard}", bearer).status == 401
        answer = thief.visit("app", APP, "/", [*NAVIGATION, *bearer])
        assert (answer.status, answer.header("Location")) == (401, None)


def test_a_bearer_token_is_no_cookie(https_service, thief):
    token = https_service.sign_up("Ada Lovelace").token
    thief.cookies = {APP_HOST: {APP_COOKIE: token}, AUTH_HOST: {SESSION_COOKIE: token}}
    assert_asked(thief.visit("app", APP))
    assert not thief.is_signed_in()


def test_no_cookie_counts_after_signing_out(ada, thief):
    thief.cookies = {host: dict(cookies) for host, cookies in ada.cookies.items()}
    assert thief.visit("app", APP).status == 200
    assert ada.post("/sign-out").status == 303
    assert_asked(thief.visit("app", APP))
    assert not thief.is_signed_in()


def test_a_changed_cookie_does_not_count(ada, thief):
    cookie = ada.cookies[APP_HOST][APP_COOKIE]
    for place in range(len(cookie)):
        letter = "A" if cookie[place] not in "AQgw" else "h"
        thief.cookies[APP_HOST] = {APP_COOKIE: cookie[:place] + letter + cookie[place + 1 :]}
        assert_asked(thief.visit("app", APP))
        thief.cookies.clear()


def test_two_app_cookies_do_not_count(ada, thief):
    """Nobody knows which one the browser got from Doorward."""
    cookie = ada.cookies[APP_HOST][APP_COOKIE]
    for value in (f"{cookie}; {APP_COOKIE}=x", f"x; {APP_COOKIE}={cookie}"):
        thief.cookies[APP_HOST] = {APP_COOKIE: value}
        assert_asked(thief.visit("app", APP))


def test_a_disabled_person_is_out_at_the_next_request(https_service, ada):
    https_service.run("user", "disable", ada.person.email)
    assert_asked(ada.visit("app", APP))
    assert not ada.is_signed_in()


# --- codes -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def code_url(ada):
    """A sign-in code of a second attempt: the browser has the try cookie and no app cookie."""
    del ada.cookies[APP_HOST]
    return ada.exchange(return_target(ada.visit("app", APP, "/deep?link=1")))


def assert_no_entry(visitor, answer, guard="app", origin=APP):
    """Asserts that a code is refused: a page that says why, under a URL without the code, and no cookie."""
    assert answer.status == 303, answer
    assert answer.header("Location") in (f"{origin}/.doorward/in?used", f"{origin}/.doorward/in?no-cookie")
    assert answer.all("Set-Cookie") == []
    reason = visitor.visit(guard, *split(answer.header("Location")))
    assert (reason.status, reason.all("Set-Cookie")) == (403, [])
    assert reason.header("Content-Type") == "text/html; charset=utf-8"


def test_a_code_works_in_the_browser_that_asked_for_it(ada, code_url):
    answer = ada.visit("app", *split(code_url))
    assert (answer.status, answer.header("Location")) == (303, f"{APP}/deep?link=1")
    assert ada.visit("app", APP).status == 200


@pytest.mark.parametrize("has_try_cookie", [False, True])
def test_a_code_does_not_work_in_another_browser(ada, thief, code_url, has_try_cookie):
    if has_try_cookie:
        thief.visit("app", APP)
    assert_no_entry(thief, thief.visit("app", *split(code_url)))
    # Somebody else knows the code, so it is void.
    assert_no_entry(ada, ada.visit("app", *split(code_url)))


def test_a_code_works_once(ada, thief, code_url):
    tries = dict(ada.cookies[APP_HOST])
    assert ada.visit("app", *split(code_url)).status == 303
    thief.cookies[APP_HOST] = tries
    assert_no_entry(thief, thief.visit("app", *split(code_url)))
    # The browser that used it is already signed in: going back in its history leads to the link.
    answer = ada.visit("app", *split(code_url))
    assert (answer.status, answer.header("Location")) == (303, f"{APP}/deep?link=1")


def test_a_code_does_not_work_at_another_origin(ada, code_url):
    ada.cookies[WIKI_HOST] = dict(ada.cookies[APP_HOST])
    _, target = split(code_url)
    assert_no_entry(ada, ada.visit("wiki", WIKI, target), "wiki", WIKI)


def test_a_code_does_not_work_after_the_session_ended(https_service, ada, code_url):
    https_service.run("user", "logout", ada.person.email)
    assert_no_entry(ada, ada.visit("app", *split(code_url)))


def test_a_changed_code_does_not_work(ada, code_url):
    origin, target = split(code_url)
    start = target.index("=") + 1
    for place in range(start, len(target), 3):
        letter = "A" if target[place] not in "AQgw" else "h"
        assert_no_entry(ada, ada.visit("app", origin, target[:place] + letter + target[place + 1 :]))
    assert ada.visit("app", origin, target).status == 303


def test_programs_get_the_refusal_of_a_code_too(thief, code_url):
    assert_no_entry(thief, thief.visit("app", *split(code_url), headers=[("Accept", "*/*")]))


def test_a_code_is_no_return_target_and_no_cookie(ada, thief, code_url):
    code = re.search(r"code=(.*)", code_url)[1]
    answer = ada.page(f"/sign-in?for={code}")
    assert (answer.header("Location") or "/account").endswith("/account")
    thief.cookies = {APP_HOST: {APP_COOKIE: code}, AUTH_HOST: {SESSION_COOKIE: code}}
    assert_asked(thief.visit("app", APP))
    assert not thief.is_signed_in()


def test_asking_for_a_code_needs_the_session(thief, ada):
    sealed = return_target(ada.visit("wiki", WIKI))
    answer = thief.page(f"/sign-in?for={sealed}")
    assert answer.status == 200
    assert "code=" not in answer.body.decode()
