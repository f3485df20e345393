"""What people do on Doorward's own pages. JavaScript is off."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import https_settings
import pytest
from page_states import Tour, invitations
from people import Person, assert_account, fill, is_sign_in, press, sign_in, sign_up, submit
from playwright.sync_api import expect
from visitor import Visitor


@pytest.fixture
def tour(loopback, context, page):
    return Tour(loopback, context, page)


def summary(page):
    return page.locator("[role=alert]")


def without_browser_checks(page, form):
    """The browser would refuse to send the form itself."""
    page.locator(f"form[action$='{form}']").evaluate("form => form.noValidate = true")


# --- sign up, sign in ------------------------------------------------------------------------------------------------


def test_the_start_page_leads_to_sign_in_or_to_the_account(tour):
    tour.open("/")
    assert tour.page.url == f"{tour.site.url}/sign-in"
    tour.signed_up()
    tour.open("/")
    assert tour.page.url == f"{tour.site.url}/account"


def test_what_was_typed_stays_typed_except_for_the_password(tour):
    tour.open("/sign-up")
    without_browser_checks(tour.page, "/sign-up")
    sign_up(tour.page, Person(name="A", email="ada at example.com", password="short"))
    for name, value in (("name", "A"), ("email", "ada at example.com"), ("password", "")):
        field = tour.page.locator(f"input[name='{name}']")
        assert field.input_value() == value
        assert field.get_attribute("aria-invalid") == "true"
        described = field.get_attribute("aria-describedby").split()
        assert any(tour.page.locator(f"#{fault}.fault").count() for fault in described)
    assert "short" not in tour.page.content()
    # The faults lead to their fields.
    assert summary(tour.page).locator("a").count() == 3


def test_the_focus_lands_on_the_summary_of_faults(tour):
    tour.open("/sign-in")
    sign_in(tour.page, Person())
    expect(summary(tour.page)).to_be_focused()


def test_an_unknown_address_and_a_wrong_password_look_the_same(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    texts = []
    for email, password in ((person.email, "wrong password"), (Person().email, person.password)):
        tour.open("/sign-in")
        sign_in(tour.page, Person(email=email, password=password))
        texts.append(tour.page.content().replace(email, ""))
    assert texts[0] == texts[1]


def test_a_throttled_person_is_told_when_to_come_back(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    for _ in range(6):
        tour.open("/sign-in")
        sign_in(tour.page, Person(email=person.email, password="wrong password"))
    assert re.search(r"\d+ (second|minute|hour|day)", summary(tour.page).inner_text())


def test_each_sign_in_makes_a_new_session(tour):
    person = tour.signed_up()
    [before] = tour.context.cookies()
    tour.open("/sign-in?other=1")
    if not is_sign_in(tour.page):
        submit(tour.page, "/sign-out")
        tour.open("/sign-in")
    sign_in(tour.page, person)
    assert_account(tour.page)
    [after] = tour.context.cookies()
    assert before["name"] == after["name"] and before["value"] != after["value"]
    # The old session is gone.
    assert tour.page.locator("button[name=session]").count() == 0


def test_a_fixed_session_cookie_does_not_become_a_session(tour):
    tour.signed_up()
    [own] = tour.context.cookies()
    tour.context.clear_cookies()
    chosen = {"name": own["name"], "value": "chosen-by-somebody"}
    tour.context.add_cookies([chosen | {"url": tour.site.url}])
    tour.signed_up()
    [cookie] = tour.context.cookies()
    assert cookie["name"] == own["name"] and cookie["value"] != "chosen-by-somebody"


def test_password_managers_find_their_fields(tour):
    def fields(form):
        inputs = tour.page.locator(f"form[action$='{form}'] input:not([type=hidden]):not([type=checkbox])")
        return [(field.get_attribute("name"), field.get_attribute("autocomplete")) for field in inputs.all()]

    tour.open("/sign-in")
    assert fields("/sign-in") == [("email", "username"), ("password", "current-password")]
    tour.open("/sign-up")
    assert fields("/sign-up") == [("name", "name"), ("email", "username"), ("password", "new-password")]
    tour.open("/reset")
    assert fields("/reset") == [("code", "one-time-code"), ("password", "new-password")]
    tour.signed_up()
    assert fields("/account/password") == [
        (None, "username"),
        ("current", "current-password"),
        ("new", "new-password"),
    ]
    # Pasting is never prevented, because there is no script.
    assert tour.page.locator("script, [onpaste]").count() == 0


def test_password_managers_find_the_page_to_change_a_password(tour):
    tour.signed_up()
    tour.open("/.well-known/change-password")
    assert tour.page.url == f"{tour.site.url}/account#password"
    assert tour.page.locator("#password").count() == 1


# --- forms that were open for long, the back button, double clicks ---------------------------------------------------


def test_a_form_still_works_after_a_restart(tour):
    """Nothing in a form expires."""
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    tour.open("/sign-in")
    assert tour.page.locator("form[action$='/sign-in'] input[type=hidden]").count() == 0
    tour.site.doorward.restart()
    sign_in(tour.page, person)
    assert_account(tour.page)
    tour.open_details("/account/name")
    tour.site.doorward.restart()
    fill(tour.page, "/account/name", name="Ada King")
    submit(tour.page, "/account/name")
    assert tour.page.locator("[role=status]").count() == 1


def test_a_link_still_leads_back_after_a_restart(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    url = f"{tour.site.app_urls['reports']}/a?b=c"
    tour.page.goto(url)
    tour.site.doorward.restart()
    sign_in(tour.page, person)
    assert tour.page.url == url


def test_the_back_button_does_no_harm(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    url = f"{tour.site.app_urls['reports']}/a?b=c"
    tour.page.goto(url)
    sign_in(tour.page, person)
    assert tour.page.url == url
    # The sign-in page knows the person by now, and leads forward again.
    tour.page.go_back()
    tour.page.goto(url)
    assert tour.page.url == url
    # After signing out, no page of the history shows the account.
    tour.open("/account")
    submit(tour.page, "/sign-out")
    tour.page.go_back()
    assert person.email not in tour.page.content()


def double_click(page, form):
    """Presses the button of a form a second time before the first press has had an effect."""
    page.locator(f"form[action$='{form}'] button").evaluate("button => { button.click(); button.click(); }")


def test_a_double_click_signs_up_once(tour):
    person = Person()
    tour.open("/sign-up")
    fill(tour.page, "/sign-up", name=person.name, email=person.email, password=person.password)
    double_click(tour.page, "/sign-up")
    expect(tour.page).to_have_url(f"{tour.site.url}/account")


def test_a_double_click_signs_in(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    url = f"{tour.site.app_urls['reports']}/double?click=1"
    tour.page.goto(url)
    fill(tour.page, "/sign-in", email=person.email, password=person.password)
    double_click(tour.page, "/sign-in")
    expect(tour.page).to_have_url(url)


def at_the_same_time(*calls):
    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result() for future in [pool.submit(call) for call in calls]]


def test_a_form_that_is_sent_twice_has_one_effect(https_service):
    """Some browsers send a form again at the second click, and show the answer to that one."""
    person = Person()
    browsers = [Visitor(https_service, https_settings.PUBLIC_URL) for _ in range(2)]
    form = {"name": person.name, "email": person.email, "password": person.password}
    answers = at_the_same_time(*(partial(browser.post, "/sign-up", **form) for browser in browsers))
    assert [(answer.status, answer.header("Location")) for answer in answers] == [(303, "/account")] * 2
    assert all(browser.is_signed_in() for browser in browsers)

    answers = at_the_same_time(*(partial(browser.sign_in, person) for browser in browsers))
    assert [answer.status for answer in answers] == [303] * 2
    assert all(browser.is_signed_in() for browser in browsers)

    browser = browsers[0]
    answers = at_the_same_time(*[partial(browser.post, "/account/name", name="Ada King")] * 2)
    assert [answer.status for answer in answers] == [303] * 2
    answers = at_the_same_time(*[partial(browser.post, "/account/delete", password=person.password)] * 2)
    assert 303 in [answer.status for answer in answers]
    assert all(answer.status in (303, 409) for answer in answers), answers
    assert not browser.is_signed_in()


def test_a_double_click_changes_a_password_once(tour):
    person = tour.signed_up()
    fill(tour.page, "/account/password", current=person.password, new="a new password")
    double_click(tour.page, "/account/password")
    expect(tour.page).to_have_url(f"{tour.site.url}/account?done=password")


# --- the account -----------------------------------------------------------------------------------------------------


def test_the_account_shows_the_apps_that_admit_the_person(tour):
    person = tour.signed_up()
    apps = tour.page.locator(".apps a")
    assert [app.get_attribute("href").rstrip("/") for app in apps.all()] == [tour.site.app_urls["reports"]]
    tour.site.doorward.run("user", "grant", person.email, "staff")
    tour.site.doorward.run("user", "verify", person.email)
    tour.open("/account")
    assert apps.count() == 2
    press(tour.page, f".apps a[href^='{tour.site.app_urls['staff']}']")
    assert tour.page.url.startswith(tour.site.app_urls["staff"])


def test_a_person_changes_name_address_and_password(tour):
    person = tour.signed_up()
    tour.open_details("/account/name")
    fill(tour.page, "/account/name", name="Ada King")
    submit(tour.page, "/account/name")
    assert tour.page.url == f"{tour.site.url}/account?done=name"
    assert "Ada King" in tour.page.locator("main").inner_text()
    tour.open_details("/account/email")
    fill(tour.page, "/account/email", email=f"new-{person.email}", password=person.password)
    submit(tour.page, "/account/email")
    assert f"new-{person.email}" in tour.page.locator("main").inner_text()
    fill(tour.page, "/account/password", current=person.password, new="a new password")
    submit(tour.page, "/account/password")
    assert tour.page.locator("[role=status]").count() == 1
    submit(tour.page, "/sign-out")
    tour.open("/sign-in")
    sign_in(tour.page, Person(email=f"new-{person.email}", password="a new password"))
    assert_account(tour.page)


def test_sessions_are_told_in_words_and_can_be_ended(tour):
    person = tour.signed_up()
    agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
    tour.sign_in_elsewhere(person, agent)
    tour.open("/account")
    row = tour.page.locator("tr:has(button[name=session])")
    assert "Firefox on Linux" in row.inner_text() and "just now" in row.inner_text()
    press(tour.page, "button[name=session]")
    assert tour.page.locator("[role=status]").count() == 1
    assert tour.page.locator("button[name=session]").count() == 0


def test_a_person_takes_their_data_along(tour):
    person = tour.signed_up()
    with tour.page.expect_download() as download:
        tour.page.locator("form[action$='/account/export'] button").click()
    data = json.loads(download.value.path().read_text())
    assert person.email in json.dumps(data)
    assert person.password not in json.dumps(data)


def test_a_person_deletes_their_account(tour):
    person = tour.signed_up()
    tour.open_details("/account/delete")
    fill(tour.page, "/account/delete", password=person.password)
    submit(tour.page, "/account/delete")
    assert tour.context.cookies() == []
    tour.open("/sign-in")
    sign_in(tour.page, person)


def test_the_account_asks_strangers_to_sign_in(tour):
    for path in ("/account", "/account?done=name"):
        tour.open(path)
        assert is_sign_in(tour.page), path


# --- keyboard --------------------------------------------------------------------------------------------------------

# What the keyboard must reach: everything that can be pressed, chosen or filled in, and is visible.
REACHABLE = """[...document.querySelectorAll("a[href], button, input:not([type=hidden]), summary")]
    .filter(element => element.checkVisibility() && !element.hidden).length"""
FOCUS = """(element => [element.outerHTML.slice(0, 300), getComputedStyle(element).outline])(document.activeElement)"""


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up", "/reset", "/sign-out", "/account"])
def test_the_keyboard_reaches_everything(tour, path):
    if path in ("/sign-out", "/account"):
        tour.signed_up()
    tour.open(path)
    if tour.page.locator("[autofocus]").count():
        # The browser moves the focus after it has loaded the page.
        expect(tour.page.locator("[autofocus]")).to_be_focused()
    count = tour.page.evaluate(REACHABLE)
    reached = set()
    # Starts at the first field and goes round once, by way of the browser itself.
    for _ in range(count + 2):
        tour.page.keyboard.press("Tab")
        element, outline = tour.page.evaluate(FOCUS)
        if not element.startswith("<body"):
            assert "none" not in outline and not outline.endswith(" 0px"), element
            reached.add(element)
    assert len(reached) == count, reached


def test_a_person_signs_in_with_the_keyboard_alone(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    tour.open("/sign-in")
    expect(tour.page.locator("input[name='email']")).to_be_focused()
    tour.page.keyboard.type(person.email)
    tour.page.keyboard.press("Tab")
    tour.page.keyboard.type(person.password)
    with tour.page.expect_navigation():
        tour.page.keyboard.press("Enter")
    assert_account(tour.page)


# --- layout ----------------------------------------------------------------------------------------------------------

# The lines that the words of an element take.
LINES = """element => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return new Set([...range.getClientRects()].map(line => Math.round(line.top))).size;
}"""


def box(page, selector):
    return page.locator(selector).bounding_box()


@pytest.mark.parametrize("width", [320, 360, 1280])
def test_a_button_of_a_list_does_not_break(mailing, new_context, width):
    context = new_context(locale="de-DE", viewport={"width": width, "height": 800})
    tour = Tour(mailing, context, context.new_page())
    invitations(tour)
    button = tour.page.locator("button[name=id]").first
    assert button.inner_text() == "Zurückziehen"
    assert button.evaluate(LINES) == 1


@pytest.mark.parametrize("width", [360, 1280])
def test_the_brand_and_the_card_are_in_the_middle(tour, width):
    tour.page.set_viewport_size({"width": width, "height": 800})
    tour.open("/sign-in")
    for selector in ("header", "main", "h1"):
        element = box(tour.page, selector)
        assert abs(element["x"] + element["width"] / 2 - width / 2) <= 1, selector
    logo, name = box(tour.page, "header img"), box(tour.page, "header span")
    assert abs((logo["x"] + name["x"] + name["width"]) / 2 - width / 2) <= 1


def test_the_link_for_a_forgotten_password_is_beside_its_field(tour):
    tour.open("/sign-in")
    label, link = box(tour.page, "label[for=password]"), box(tour.page, "a[href$='/reset']")
    field = box(tour.page, "#password")
    assert link["x"] > label["x"] and abs(link["x"] + link["width"] - field["x"] - field["width"]) <= 1
    assert link["y"] < field["y"] and link["y"] + link["height"] <= field["y"] + 1
    # The keyboard goes from the address to the password, not to the link.
    tour.page.locator("#email").focus()
    for expected in ("password", "/reset"):
        tour.page.keyboard.press("Tab")
        focused = tour.page.evaluate("document.activeElement.id || document.activeElement.getAttribute('href')")
        assert focused == expected


def test_a_single_fault_has_the_focus_at_its_field(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    tour.open("/sign-up")
    sign_up(tour.page, Person(email=person.email, password="another password"))
    expect(tour.page.locator("#email")).to_be_focused()
    assert summary(tour.page).count() == 0
    press(tour.page, ".fault button")
    assert is_sign_in(tour.page)
    assert tour.page.locator("#email").input_value() == person.email
    expect(tour.page.locator("#password")).to_be_focused()


# --- for programs ----------------------------------------------------------------------------------------------------


def test_errors_are_pages_for_browsers_and_json_for_programs(tour):
    response = tour.page.goto(f"{tour.site.url}/nothing/here")
    assert (response.status, response.headers["content-type"]) == (404, "text/html; charset=utf-8")
    answer = tour.context.request.get(f"{tour.site.url}/nothing/here", headers={"Accept": "*/*"})
    assert answer.status == 404
    assert answer.json() == {"message": "The requested resource could not be found."}
