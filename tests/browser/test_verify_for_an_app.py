"""A guard on a verified address, behind proxies: people confirm their address on the way to the app. JavaScript is off."""

import pytest
from guarded_site import TITLE, GuardedSite
from harness import HOST
from harness.mail_server import MailServer
from letters import letters_to, wait_for_letter
from people import Person, fill, is_sign_in, press, sign_in, sign_up, submit

LINK = "/reports/2026/q4?a=1&b=%2F&name=%C3%85sa"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
MAIL = """
[mail]
url = "smtp://{host}:{port}"
from = "Doorward <doorward@example.com>"
"""


@pytest.fixture(scope="module")
def smtp():
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module", params=["nginx", "caddy"])
def site(request, folder, certificate, smtp):
    """Apps that want a verified address. nginx asks twice about a refusal."""
    more = MAIL.format(host=HOST, port=smtp.port)
    folder = folder / f"verify-{request.param}"
    site = GuardedSite(request.param, folder, certificate, allow="user.emailVerified", more=more)
    yield site
    site.stop()


def signed_up(site, page):
    """Signs a new person up on the way to the app, up to the page that asks for the code."""
    ada = Person()
    page.goto(site.app_url + LINK)
    assert is_sign_in(page)
    press(page, "main a[href*='/sign-up']")
    sign_up(page, ada)
    assert page.url.startswith(f"{site.auth_url}/verify?for="), page.url
    assert page.locator("h1").inner_text() == f"Confirm your address to go on to {TITLE}"
    assert ada.email in page.locator("main").inner_text()
    return ada


def assert_arrived(site, page, person):
    assert page.url == site.app_url + LINK
    arrivals = site.arrivals(LINK)
    [arrival] = [arrival for arrival in arrivals if arrival.header("X-Auth-User-Email") == person.email]
    assert arrival.header("X-Auth-User-Email-Verified") == "true"


def test_a_new_person_types_the_code_and_is_at_the_very_link(site, smtp, page):
    ada = signed_up(site, page)
    code = wait_for_letter(smtp, ada.email).code
    fill(page, "/verify", code="0000 0000")
    submit(page, "/verify")
    assert page.locator("#code-fault").count() == 1
    fill(page, "/verify", code=code)
    submit(page, "/verify")
    assert_arrived(site, page, ada)
    # The second app asks for nothing.
    page.goto(site.wiki_url + LINK)
    assert page.url == site.wiki_url + LINK
    # Its link to sign out leads back to it, and reaches both apps.
    page.goto(f"{site.wiki_url}/.doorward/out")
    press(page, "form[action*='/sign-out'] button")
    assert is_sign_in(page)
    sign_in(page, ada)
    assert page.url == f"{site.wiki_url}/"


def test_a_link_on_another_device_lets_the_first_one_go_on(site, smtp, page, new_context):
    ada = signed_up(site, page)
    letter = wait_for_letter(smtp, ada.email)
    page.reload()
    phone = new_context(**PHONE).new_page()
    phone.goto(letter.link)
    submit(phone, "/verify")
    button = phone.locator("main a.button")
    assert button.inner_text() == f"Continue to {TITLE}"
    assert button.get_attribute("href") == site.app_url + LINK
    # The first device goes on by a link, without the code.
    press(page, "main a[href*='/verify?for=']")
    assert_arrived(site, page, ada)
    assert len(letters_to(smtp, ada.email)) == 1
    # The other one has to sign in, and gets there too.
    press(phone, "main a.button")
    assert is_sign_in(phone)
    sign_in(phone, ada)
    assert phone.url == site.app_url + LINK


def test_a_link_in_the_same_browser_leads_to_the_very_link(site, smtp, page, context):
    ada = signed_up(site, page)
    tab = context.new_page()
    tab.goto(wait_for_letter(smtp, ada.email).link)
    submit(tab, "/verify")
    assert_arrived(site, tab, ada)
    page.reload()
    assert page.url == site.app_url + LINK


def test_the_mail_is_sent_again_and_a_person_becomes_somebody_else(site, smtp, page):
    ada = signed_up(site, page)
    wait_for_letter(smtp, ada.email)
    submit(page, "/verify/send")
    assert page.locator("[role=status]").count() == 1
    wait_for_letter(smtp, ada.email, 2)
    press(page, "main a[href*='/sign-out']")
    press(page, "form[action*='/sign-out'] button")
    assert is_sign_in(page)
    press(page, "main a[href*='/sign-up']")
    grace = Person(name="Grace Hopper")
    sign_up(page, grace)
    fill(page, "/verify", code=wait_for_letter(smtp, grace.email).code)
    submit(page, "/verify")
    assert_arrived(site, page, grace)


FETCH = """url => fetch(url).then(async response => ({
    status: response.status, decision: response.headers.get("x-decision-id"), body: await response.json()
}))"""


def test_a_script_is_told_what_is_missing(site, smtp, new_context):
    page = new_context(java_script_enabled=True, bypass_csp=True).new_page()
    ada = signed_up(site, page)
    # A page on the host of the app. The app itself has none for this person yet.
    page.goto(f"{site.app_url}/.doorward/in?used")
    answer = page.evaluate(FETCH, "/data")
    assert answer["status"] == 403
    assert answer["body"]["message"].endswith("You would be admitted with a verified address.")
    sentence = "refused: would be admitted with a verified address\n"
    assert sentence in site.doorward.run("why", answer["decision"])
    assert site.doorward.run("guard", "check", "apps", "--user", ada.email).startswith(sentence)
    assert not site.arrivals("/data")
