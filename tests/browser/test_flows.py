"""People reach their apps through every proxy: sign up, come back to the very link, and leave. JavaScript is off."""

import json
import re

import pytest
from guarded_site import BARRED, TITLE
from people import Person, assert_account, is_sign_in, press, sign_in, sign_out, sign_up, submit
from support import send

# What browsers send for these links is the same to the byte.
LINKS = (
    "/reports/2026/q4?a=1&b=2&a=3",
    "/files/a%2Fb%20c?path=%2Fetc%2F..%2Fhome&encoded=%26%3D%3F%23&percent=100%25",
    "/search?q=a+b%2Bc&empty=&flag&=x",
    "/%C3%BCber/%E2%9C%93?name=%C3%85sa&check=%E2%9C%93&emoji=%F0%9F%9A%AA",
    "/go?to=https://evil.test/?x=1&//evil.test=\\evil.test&quote=%27(~)*!$,:@",
)
UNICODE = "/grüße/✓?q=Ünï çödé&r=ß", "/gr%C3%BC%C3%9Fe/%E2%9C%93?q=%C3%9Cn%C3%AF%20%C3%A7%C3%B6d%C3%A9&r=%C3%9F"


@pytest.fixture
def ada(site):
    """A person with an account who has signed in nowhere."""
    ada = Person()
    body = json.dumps({"name": ada.name, "email": ada.email, "password": ada.password}).encode()
    answer = send(site.doorward.port, "POST", "/api/user", [("Content-Type", "application/json")], body)
    assert answer.status == 201, answer
    return ada


def signed_in(page, url, person):
    """Opens a URL of an app and signs in on the way."""
    page.goto(url)
    sign_in(page, person)
    assert page.url == url


def assert_asked(site, page):
    assert page.url.startswith(f"{site.auth_url}/sign-in?"), page.url
    assert is_sign_in(page)


def assert_arrived(site, target, person):
    """Asserts that the app got the target to the byte, the person's identity and no cookie of Doorward."""
    arrivals = site.arrivals(target)
    [arrival, *_] = [arrival for arrival in arrivals if arrival.header("X-Auth-User-Email") == person.email]
    assert arrival.header("X-Auth-User-Id")
    assert arrival.header("X-Auth-User-Name") == person.name
    assert "doorward" not in (arrival.header("Cookie") or "")
    return arrival


def test_a_person_signs_up_and_is_back_at_the_very_link(site, context, page):
    ada = Person()
    context.add_cookies([{"name": "theme", "value": "dark", "url": site.app_url}])
    page.goto(site.app_url + UNICODE[0])
    assert_asked(site, page)
    assert TITLE in page.locator("h1").inner_text()
    press(page, "main a[href*='/sign-up']")
    assert TITLE in page.locator("h1").inner_text()
    sign_up(page, ada)
    assert page.url == site.app_url + UNICODE[1]
    arrival = assert_arrived(site, UNICODE[1], ada)
    assert arrival.header("Cookie") == "theme=dark"

    # The second app is on another domain, and asks for nothing.
    page.goto(site.wiki_url + LINKS[0])
    assert page.url == site.wiki_url + LINKS[0]
    assert_arrived(site, LINKS[0], ada)


def test_every_link_is_reached_to_the_byte(site, new_context, ada):
    for link in LINKS:
        page = new_context().new_page()
        page.goto(site.wiki_url + link)
        assert_asked(site, page)
        sign_in(page, ada)
        assert page.url == site.wiki_url + link
        assert_arrived(site, link, ada)


def open_tabs(site, context, links):
    """Opens all links at the same moment, each in its own tab, and waits until each shows a sign-in page."""
    site.app.links[:] = links
    start = context.new_page()
    start.goto(f"http://127.0.0.1:{site.app.port}/")
    opened = []
    context.on("page", lambda tab: opened.append(tab))
    start.evaluate("document.querySelectorAll('a[target]').forEach(link => link.click())")
    while len(opened) < len(links):
        context.wait_for_event("page")
    for tab in opened:
        tab.locator("input[name='password']").wait_for()
    start.close()
    return opened


def eight_links(site):
    urls = site.app_url, site.wiki_url
    return [f"{urls[number % 2]}/tab/{number}?n={number}&x=%2F" for number in range(8)]


def test_eight_tabs_wait_while_one_signs_in(site, context, ada):
    links = eight_links(site)
    first, *others = open_tabs(site, context, links)
    first.bring_to_front()
    sign_in(first, ada)
    for tab in others:
        tab.reload()
    assert sorted(tab.url for tab in [first, *others]) == sorted(links)


def test_a_person_signs_in_in_each_of_eight_tabs(site, context, ada):
    links = eight_links(site)
    tabs = open_tabs(site, context, links)
    for tab in tabs:
        # Chromium slows tabs in the background down.
        tab.bring_to_front()
        sign_in(tab, ada)
    assert sorted(tab.url for tab in tabs) == sorted(links)
    # The first session has ended, and the tab uses the cookie of the last one.
    assert tabs[0].reload().status == 200
    assert tabs[0].url in links


def test_tabs_that_share_an_attempt_do_not_invalidate_each_other(site, context, ada):
    """Tabs that are opened one after the other, before the person signs in in each of them."""
    links = eight_links(site)[:4]
    tabs = [context.new_page() for _ in links]
    for tab, link in zip(tabs, links):
        tab.goto(link)
    for tab, link in zip(tabs, links):
        tab.bring_to_front()
        sign_in(tab, ada)
        assert tab.url == link


def test_a_session_that_ended_elsewhere_asks_at_the_next_click(site, new_context):
    ada = Person()
    page = new_context().new_page()
    page.goto(f"{site.app_url}/start")
    press(page, "main a[href*='/sign-up']")
    sign_up(page, ada)
    assert page.url == f"{site.app_url}/start"

    other = new_context().new_page()
    other.goto(f"{site.auth_url}/sign-in")
    sign_in(other, ada)
    assert_account(other)
    submit(other, "/account/sessions/end")
    assert other.locator("[role=status]").count() == 1

    press(page, "#next")
    assert_asked(site, page)
    sign_in(page, ada)
    assert page.url == f"{site.app_url}/next?page=2"


def test_a_form_sent_without_a_session_leads_back_to_its_page(site, page, ada):
    url = f"{site.app_url}/editor?draft=7"
    signed_in(page, url, ada)
    site.doorward.run("user", "logout", ada.email)
    press(page, "button")
    assert_asked(site, page)
    sign_in(page, ada)
    assert page.url == url
    assert site.arrivals("/save") == []


def test_a_refusal_is_a_page_in_place(site, page, ada):
    url = f"{site.wiki_url}/plans?for=2027"
    signed_in(page, f"{site.app_url}/start", ada)
    site.doorward.run("user", "grant", ada.email, BARRED)
    response = page.goto(url)
    assert (response.status, page.url) == (403, url)
    text = page.locator("main").inner_text()
    assert TITLE in text and ada.name in text and ada.email in text
    assert BARRED not in page.content()
    decision = response.header_value("X-Decision-Id")
    assert decision in text
    assert BARRED in site.doorward.run("why", decision)
    assert page.reload().status == 403

    # A changed role takes effect at the next request.
    site.doorward.run("user", "revoke", ada.email, BARRED)
    assert page.reload().status == 200
    assert_arrived(site, "/plans?for=2027", ada)


def test_a_refused_person_signs_in_as_somebody_else(site, new_context, page, ada):
    url = f"{site.wiki_url}/somebody?else=%2F"
    signed_in(page, f"{site.app_url}/start", ada)
    site.doorward.run("user", "grant", ada.email, BARRED)
    page.goto(url)
    press(page, "main a[href*='other=1']")
    assert_asked(site, page)
    grace = Person(name="Grace Hopper")
    press(page, "main a[href*='/sign-up']")
    sign_up(page, grace)
    assert page.url == url
    assert_arrived(site, "/somebody?else=%2F", grace)


def test_signing_out_reaches_both_apps(site, page, ada):
    signed_in(page, f"{site.app_url}/one", ada)
    page.goto(f"{site.wiki_url}/two")
    assert page.url == f"{site.wiki_url}/two"
    sign_out(page, site.auth_url)
    assert page.url.startswith(f"{site.auth_url}/sign-in")
    for url in (f"{site.app_url}/three", f"{site.wiki_url}/four"):
        page.goto(url)
        assert_asked(site, page)
    assert not site.arrivals("/three") and not site.arrivals("/four")


def test_all_cookies_belong_to_one_host(site, context, page, ada):
    signed_in(page, f"{site.app_url}/cookies", ada)
    cookies = {re.sub("-try-.*", "-try", cookie["name"]): cookie for cookie in context.cookies()}
    assert set(cookies) == {"__Host-doorward", "__Host-doorward-app", "__Host-doorward-try"}
    for cookie in cookies.values():
        assert not cookie["domain"].startswith(".") and cookie["path"] == "/"
        assert cookie["httpOnly"] and cookie["secure"] and cookie["sameSite"] == "Lax"
    # Without Max-Age, a cookie ends with the browser.
    assert cookies["__Host-doorward"]["expires"] == cookies["__Host-doorward-app"]["expires"] == -1


def test_staying_signed_in_outlives_the_browser(site, context, page, ada):
    page.goto(f"{site.app_url}/stay")
    sign_in(page, ada, stay=True)
    assert page.url == f"{site.app_url}/stay"
    assert all(cookie["expires"] > 0 for cookie in context.cookies())


OPEN_SOCKET = """url => new Promise(resolve => {
    const socket = new WebSocket(url);
    socket.onopen = () => socket.send("Is anybody there?");
    socket.onmessage = message => resolve(message.data);
    socket.onerror = () => resolve("refused");
})"""
FETCH = """url => fetch(url).then(async response => ({
    status: response.status, redirected: response.redirected, body: await response.json().catch(() => null)
}))"""


def test_scripts_and_websockets_pass_until_the_session_ends(site, new_context, ada):
    page = new_context(java_script_enabled=True).new_page()
    signed_in(page, f"{site.app_url}/script", ada)
    socket = f"{site.app_url.replace('https', 'wss')}/socket"
    assert page.evaluate(OPEN_SOCKET, socket) == "Is anybody there?"
    assert page.evaluate(FETCH, "/data")["status"] == 200

    site.doorward.run("user", "logout", ada.email)
    assert page.evaluate(OPEN_SOCKET, socket) == "refused"
    answer = page.evaluate(FETCH, "/data")
    assert (answer["status"], answer["redirected"]) == (401, False)
    assert re.fullmatch("The provided credentials .*", answer["body"]["message"])


def test_another_site_cannot_use_the_session(site, new_context, ada):
    """A form of another site that posts to the app gets a refusal, not the app."""
    page = new_context().new_page()
    signed_in(page, f"{site.app_url}/victim", ada)
    form = f"<form method=post action='{site.app_url}/transfer'><button>Press</button></form>"
    page.goto(f"data:text/html,{form}")
    press(page, "button")
    assert site.arrivals("/transfer") == []


def test_an_app_cannot_send_forms_to_doorward(site, new_context, ada):
    page = new_context().new_page()
    signed_in(page, f"{site.app_url}/evil", ada)
    page.evaluate("action => { document.forms[0].action = action }", f"{site.auth_url}/sign-out")
    press(page, "button")
    assert page.url == f"{site.auth_url}/sign-out"
    # Still signed in.
    page.goto(f"{site.wiki_url}/still")
    assert page.url == f"{site.wiki_url}/still"


@pytest.mark.long
def test_firefox_signs_up_and_reaches_both_apps(site, firefox):
    ada = Person()
    link, other = site.app_url + LINKS[1], site.wiki_url + LINKS[3]
    seen = firefox.follow(link=link, other=other, name=ada.name, email=ada.email, password=ada.password)
    assert seen["asked"].startswith(f"{site.auth_url}/sign-in?")
    assert (seen["signedUp"], seen["other"]) == (link, other)
    for target in (LINKS[1], LINKS[3]):
        assert_arrived(site, target, ada)
