"""A person with a provider, in Chromium without JavaScript, through proxies: signs up, in, links, removes, and is signed out from
there. The provider is npm's oidc-provider."""

import pytest
from counterparts import RealProvider, client
from guarded_site import GuardedSite
from people import Person, assert_account, fill, is_sign_in, press, sign_out, sign_up
from sites import AUTH

from harness.ports import reserved_port

SECRET = "a secret/with+signs:that&need=%care"
LABEL = "Example SSO"
LINK = "/reports/2026/q4?a=1&b=%2F"


class ProvidedSite(GuardedSite):
    """Apps and Doorward behind a proxy, and a provider for its people."""

    def __init__(self, name, folder, certificate):
        folder.mkdir()
        port = reserved_port()
        public_url = f"https://{AUTH}:{port}"
        self.provider = RealProvider(folder, client(public_url, "op", SECRET))
        (folder / "upstream.secret").write_text(SECRET)
        login = f"""
[logins.op]
preset = "oidc"
label = "{LABEL}"
issuer = "{self.provider.url}"
client_id = "doorward"
client_secret_file = "{folder}/upstream.secret"
"""
        super().__init__(name, folder / "site", certificate, more=login, port=port)
        self.provider.control(reach={public_url: self.doorward.port})

    def person(self):
        """Somebody with an account there."""
        ada = Person()
        self.provider.knows(ada.email, email=ada.email, email_verified=True, name=ada.name)
        return ada

    def stop(self):
        super().stop()
        self.provider.stop()


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def provided(request, folder, certificate):
    site = ProvidedSite(request.param, folder / f"logins-{request.param}", certificate)
    yield site
    site.stop()


def press_provider(page):
    press(page, "a[href*='/sign-in/with/op']")


def prove_there(page, person):
    """Signs in at the provider."""
    assert page.locator("h1").inner_text() == LABEL, page.url
    page.locator("input[name='login']").fill(person.email)
    press(page, "button")


def linked(page):
    return page.locator("form[action$='/account/security/logins/remove']")


def test_a_person_signs_up_and_in_with_a_provider(provided, page):
    ada = provided.person()
    page.goto(f"{provided.auth_url}/sign-in")
    assert LABEL in page.locator("a[href*='/sign-in/with/op']").inner_text()
    press_provider(page)
    prove_there(page, ada)
    assert_account(page)
    assert ada.email in page.content()
    sign_out(page, provided.auth_url)
    # The next time the provider knows them, and the app gets them back at the very link.
    page.goto(provided.app_url + LINK)
    assert is_sign_in(page)
    press_provider(page)
    assert page.url == provided.app_url + LINK
    [arrival, *_] = provided.arrivals(LINK)
    assert arrival.header("X-Auth-User-Email") == ada.email


def test_a_person_links_and_removes_a_provider(provided, page):
    bob, there = Person(), provided.person()
    page.goto(f"{provided.auth_url}/sign-up")
    sign_up(page, bob)
    page.goto(f"{provided.auth_url}/account/security")
    press_provider(page)
    prove_there(page, there)
    assert there.email in page.locator("main").inner_text()
    press(page, "form[action$='/account/security/link'] button")
    page.goto(f"{provided.auth_url}/account/security")
    assert linked(page).count() == 1
    assert there.email in page.locator("main").inner_text()
    press(page, "form[action$='/account/security/logins/remove'] button")
    page.goto(f"{provided.auth_url}/account/security")
    assert linked(page).count() == 0


def test_who_has_an_account_already_signs_in_to_link(provided, page, new_context):
    ada = provided.person()
    page.goto(f"{provided.auth_url}/sign-up")
    sign_up(page, ada)
    provided.doorward.run("user", "verify", ada.email)
    other = new_context().new_page()
    other.goto(f"{provided.auth_url}/sign-in")
    press_provider(other)
    prove_there(other, ada)
    press(other, "main a[href*='/sign-in']")
    assert is_sign_in(other), other.url
    fill(other, "/sign-in", email=ada.email, password=ada.password)
    press(other, "form[action$='/sign-in'] button:not([type=button], [data-passkey])")
    press(other, "form[action$='/account/security/link'] button")
    other.goto(f"{provided.auth_url}/account/security")
    assert linked(other).count() == 1


def test_who_signs_out_at_the_provider_is_signed_out_of_the_apps(provided, page):
    ada = provided.person()
    page.goto(provided.app_url + LINK)
    press_provider(page)
    prove_there(page, ada)
    assert page.url == provided.app_url + LINK
    page.goto(f"{provided.provider.url}/session/end")
    press(page, "button[name='logout'][value='yes']")
    provided.provider.wait_until(lambda: "logout token taken by doorward" in provided.provider.text())
    page.goto(provided.app_url + LINK)
    assert is_sign_in(page), page.url
