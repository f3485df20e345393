"""A script that an attacker runs in the page of an app gets no code that signs the attacker in."""

from urllib.parse import urlsplit

import pytest
from guarded_site import GuardedSite
from people import Person, sign_up

CODE = "/.doorward/in?code="
FRAME = """url => new Promise(resolve => {
    const frame = document.createElement('iframe')
    frame.onload = resolve
    frame.src = url
    document.body.append(frame)
})"""
OBJECT = """url => new Promise(resolve => {
    const element = document.createElement('object')
    element.onload = element.onerror = resolve
    element.data = url
    document.body.append(element)
})"""
FETCH = "url => fetch(url, {mode: 'no-cors', credentials: 'include'}).catch(() => {})"
FETCH_WITH_CORS = "url => fetch(url, {credentials: 'include'}).catch(() => {})"


@pytest.fixture(scope="module")
def site(folder, certificate):
    """Two apps and Doorward. The first app is on the same site as Doorward, so its frames have Doorward's cookie."""
    site = GuardedSite("caddy", folder / "script-in-an-app", certificate)
    yield site
    site.stop()


@pytest.fixture
def victim(site, new_context):
    """A page of the app, in the browser of a person who is signed in."""
    page = new_context(java_script_enabled=True).new_page()
    page.goto(f"{site.app_url}/start")
    page.locator("main a[href*='/sign-up']").click()
    sign_up(page, Person())
    assert page.url == f"{site.app_url}/start"
    page.requested = []
    page.context.on("request", lambda request: page.requested.append(request.url))
    return page


@pytest.fixture
def attempt(site, new_context):
    """The address at which a code for the attempt of the attacker is made."""
    page = new_context().new_page()
    page.goto(f"{site.app_url}/start")
    assert urlsplit(page.url).path == "/sign-in", page.url
    return page.url


@pytest.mark.parametrize("attack", [FRAME, OBJECT, FETCH, FETCH_WITH_CORS], ids=["frame", "object", "fetch", "cors"])
def test_a_frame_or_a_fetch_gets_no_code(victim, attempt, attack):
    with victim.expect_request(attempt):
        victim.evaluate(attack, attempt)
    assert not [url for url in victim.requested if CODE in url]


def test_a_window_gets_a_code_that_is_void_in_this_browser(site, victim, attempt):
    """The person sees the window. Its code belongs to the attempt of another browser."""
    with victim.expect_request(lambda request: CODE in request.url):
        victim.goto(attempt)
    assert urlsplit(victim.url).path in ("/start", "/.doorward/in"), victim.url
