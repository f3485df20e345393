"""An app that asks for a passkey, beside one that does not, on another registrable domain and behind the same proxy."""

import pytest
from authenticators import Device
from guarded_site import TITLE, GuardedSite
from people import Person, is_sign_in, press, sign_in, sign_up
from playwright.sync_api import expect

LINK = "/reports/2026/q4?a=1&b=%2F"
ALLOW = 'request.host == "{wiki_host}" || session.phishingResistant'
BUTTON = "button[data-passkey]"
FETCH = "url => fetch(url).then(answer => answer.status)"


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def site(request, folder, certificate):
    site = GuardedSite(request.param, folder / f"step-up-{request.param}", certificate, allow=ALLOW)
    yield site
    site.stop()


@pytest.fixture
def page(new_context):
    return new_context(java_script_enabled=True).new_page()


def confirm(page, device, url):
    """Presses the button that asks for the passkey, and waits until the browser is at this URL."""
    expect(page.locator(BUTTON)).to_be_visible()
    device.confirm(True)
    with page.expect_navigation(url=url):
        page.locator(BUTTON).click()
    device.confirm(False)


def signed_up(site, page):
    """A new person who is signed in to the open app."""
    ada = Person()
    page.goto(site.wiki_url + LINK)
    assert is_sign_in(page)
    press(page, "main a[href*='/sign-up']")
    sign_up(page, ada)
    assert page.url == site.wiki_url + LINK
    return ada


def enrolled(site, page, device):
    """A new person who adds a passkey on the way to the other app. Returns them and their recovery codes."""
    device.confirm(False)
    ada = signed_up(site, page)
    page.goto(site.app_url + LINK)
    assert page.url.startswith(f"{site.auth_url}/account/security?for="), page.url
    assert f"{TITLE} asks for a passkey." in page.locator("main").inner_text()
    assert page.locator("a[href*='/account/security/totp']").count() == 0, "a code is not enough"
    press(page, "main a[href*='/account/security/passkey']")
    expect(page.locator(BUTTON)).to_be_visible()
    device.confirm(True)
    press(page, BUTTON)
    device.confirm(False)
    codes = page.locator("main code").all_inner_texts()
    assert len(codes) == 8, page.content()
    press(page, "main a.button:not([download])")
    assert page.url == site.app_url + LINK, "back at the very link"
    return ada, codes


def sign_out(site, page):
    page.goto(f"{site.app_url}/.doorward/out")
    press(page, "form[action*='/sign-out'] button")
    assert is_sign_in(page)


def test_an_app_asks_for_a_passkey_while_the_other_stays_open(site, page):
    device = Device(page)
    ada, codes = enrolled(site, page, device)
    # A session without the passkey: password and recovery code.
    sign_out(site, page)
    page.goto(site.wiki_url + LINK)
    sign_in(page, ada)
    page.locator("details summary").click()
    page.locator("details input[name='code']").fill(codes[0])
    press(page, "details button")
    press(page, "main a.button.quiet")
    assert page.url == site.wiki_url + LINK
    # A second tab of the open app.
    wiki = page.context.new_page()
    wiki.goto(site.wiki_url + LINK)
    page.goto(site.app_url + LINK)
    assert page.url.startswith(f"{site.auth_url}/step-up?"), page.url
    assert page.locator("h1").inner_text() == f"{TITLE} asks for your passkey"
    assert page.locator("input[name='code']").count() == 0, "a code does not resist phishing"
    assert wiki.evaluate(FETCH, "/data") == 200
    confirm(page, device, site.app_url + LINK)
    # The tab has the cookie from before, and still passes. No page was loaded again.
    assert wiki.evaluate(FETCH, "/data") == 200
    wiki.reload()
    assert wiki.url == site.wiki_url + LINK


def test_a_passkey_signs_in_by_the_button_and_leads_to_the_app(site, page):
    device = Device(page)
    enrolled(site, page, device)
    sign_out(site, page)
    confirm(page, device, f"{site.app_url}/")


def test_a_program_is_told_what_is_missing(site, new_context):
    page = new_context(java_script_enabled=True, bypass_csp=True).new_page()
    ada = signed_up(site, page)
    # A page on the host of the app. The app itself has none for this person yet.
    page.goto(f"{site.app_url}/.doorward/in?used")
    assert page.evaluate(FETCH, "/secret-data") == 401
    assert not site.arrivals("/secret-data")
    checked = site.doorward.run("guard", "check", "apps", "--user", ada.email)
    assert "would be admitted with" in checked, checked


def test_the_password_alone_does_not_open_the_app(site, page):
    device = Device(page)
    ada, _ = enrolled(site, page, device)
    sign_out(site, page)
    sign_in(page, ada)
    assert page.locator("form[action$='/sign-in/factor']").count() > 0
    page.goto(site.app_url + LINK)
    assert is_sign_in(page)
