"""Second factors in a browser: passkeys in virtual authenticators, an authenticator app that reads the QR code, recovery codes."""

import io
import re
from urllib.parse import parse_qs, urlsplit

import pytest
import zxingcpp
from authenticators import Device
from factors import App
from harness.wait import eventually
from page_states import Tour
from people import Person, assert_account, fill, is_sign_in, press, sign_in, sign_up, submit
from PIL import Image
from playwright.sync_api import expect

BUTTON = "button[data-passkey]"


class Violations(list):
    """What the browser says about the policy of pages."""

    def __init__(self, page):
        page.on("console", lambda message: "Content Security Policy" in message.text and self.append(message.text))


@pytest.fixture
def tour(passkeys, new_context):
    context = new_context(java_script_enabled=True)
    page = context.new_page()
    tour = Tour(passkeys, context, page)
    tour.violations = Violations(page)
    yield tour
    assert tour.violations == []


@pytest.fixture
def scriptless(passkeys, context, page):
    return Tour(passkeys, context, page)


def signed_up(tour):
    person = Person()
    tour.open("/sign-up")
    sign_up(tour.page, person)
    assert_account(tour.page)
    return person


def add(tour, kind="passkey"):
    """Adds a passkey or a security key, and returns the recovery codes."""
    tour.open(f"/account/security/{kind}")
    press(tour.page, BUTTON)
    codes = tour.page.locator("main code").all_inner_texts()
    assert len(codes) == 8
    press(tour.page, "main a.button:not([download])")
    return codes


def test_a_passkey_signs_in_by_autofill_and_by_its_button(tour):
    device = Device(tour.page)
    person = signed_up(tour)
    add(tour)
    assert len(device.credentials()) == 1
    tour.page.locator("a[href$='/account']").click()

    # The browser offers it at the field for the address. Here the person accepts at once.
    with tour.page.expect_navigation(url=f"{tour.site.url}/account"):
        submit(tour.page, "/sign-out")
    assert person.email in tour.page.content()

    # While autofill waits, the button asks as well.
    device.confirm(False)
    submit(tour.page, "/sign-out")
    expect(tour.page.locator(BUTTON)).to_be_visible()
    device.confirm(True)
    with tour.page.expect_navigation(url=f"{tour.site.url}/account"):
        tour.page.locator(BUTTON).click()
    assert person.email in tour.page.content()


def test_a_passkey_stands_in_for_the_password_at_sign_up(tour):
    device = Device(tour.page)
    person = Person()
    tour.open("/sign-up")
    fill(tour.page, "/sign-up", name=person.name, email=person.email)
    press(tour.page, BUTTON)
    assert urlsplit(tour.page.url).path == "/sign-up/passkey"
    assert person.email in tour.page.locator("main").inner_text()
    press(tour.page, BUTTON)
    assert len(tour.page.locator("main code").all_inner_texts()) == 8
    [passkey] = device.credentials()
    assert passkey["userName"] == person.email
    press(tour.page, "main a.button:not([download])")
    assert_account(tour.page)

    # Nothing here needs a password, not even the end of the account.
    tour.page.locator("details:has(form[action$='/account/delete']) summary").click()
    assert tour.page.locator("form[action$='/account/delete'] input[type=password]").count() == 0
    with tour.page.expect_navigation(url=f"{tour.site.url}/account"):
        submit(tour.page, "/sign-out")
    assert person.email in tour.page.content(), "autofill has signed in"


def test_a_passkey_with_which_nobody_registered_is_forgotten_by_the_device(tour):
    device = Device(tour.page)
    person = Person()
    tour.open("/sign-up")
    fill(tour.page, "/sign-up", name=person.name, email=person.email)
    press(tour.page, BUTTON)
    # Somebody else takes the address meanwhile.
    tour.visitor("Mozilla/5.0").sign_up(person)
    press(tour.page, BUTTON)
    assert urlsplit(tour.page.url).path == "/sign-up/passkey"
    assert tour.page.locator("#email-fault").count() == 1
    eventually("the device forgets it", lambda: device.credentials() == [])


def test_without_javascript_a_passkey_is_not_offered_at_sign_up(scriptless):
    scriptless.open("/sign-up")
    assert scriptless.page.locator(BUTTON).is_hidden()


def test_a_passkey_whose_backup_flags_change_still_signs_in(tour):
    device = Device(tour.page)
    person = signed_up(tour)
    add(tour)
    for flags in ((True, False), (True, True), (False, False)):
        device.confirm(False)
        tour.page.goto(f"{tour.site.url}/account")
        submit(tour.page, "/sign-out")
        [passkey] = device.credentials()
        device.set_backup(passkey, *flags)
        expect(tour.page.locator(BUTTON)).to_be_visible()
        device.confirm(True)
        with tour.page.expect_navigation(url=f"{tour.site.url}/account"):
            tour.page.locator(BUTTON).click()
        assert person.email in tour.page.content(), flags


def test_a_passkey_follows_a_password(tour):
    device = Device(tour.page)
    person = signed_up(tour)
    add(tour)
    device.confirm(False)
    tour.page.goto(f"{tour.site.url}/account")
    submit(tour.page, "/sign-out")
    sign_in(tour.page, person)
    assert tour.page.locator("#code").count() == 0
    device.confirm(True)
    press(tour.page, BUTTON)
    assert_account(tour.page)


def test_a_security_key_follows_a_password(tour):
    Device(tour.page, is_key=True)
    person = signed_up(tour)
    add(tour, "key")
    tour.page.goto(f"{tour.site.url}/account")
    submit(tour.page, "/sign-out")
    sign_in(tour.page, person)
    press(tour.page, BUTTON)
    assert_account(tour.page)


def test_a_passkey_that_is_removed_in_the_account_is_forgotten_by_the_device(tour):
    device = Device(tour.page)
    signed_up(tour)
    add(tour)
    tour.open("/account/security")
    press(tour.page, "a[href*='/security/passkeys/']")
    submit(tour.page, "/passkeys/remove")
    assert len(device.credentials()) == 1, "a page asks first"
    submit(tour.page, "/passkeys/remove")
    eventually("the device forgets it", lambda: device.credentials() == [])


def test_a_passkey_that_the_device_lost_leaves_the_page_as_it_is(tour):
    device = Device(tour.page)
    person = signed_up(tour)
    codes = add(tour)
    device.clear()
    tour.page.goto(f"{tour.site.url}/account")
    submit(tour.page, "/sign-out")
    sign_in(tour.page, person)
    tour.page.locator(BUTTON).click()
    # The browser says so itself, and the page still takes a recovery code.
    tour.page.locator("summary").click()
    tour.page.locator("#recovery").fill(codes[0].lower())
    press(tour.page, "details button")
    [new] = tour.page.locator("main code").all_inner_texts()
    assert new not in codes
    press(tour.page, "main a.button:not(.quiet)")
    # What to do about the passkey that is lost.
    assert urlsplit(tour.page.url).path == "/account/security"
    assert "recovery code" in tour.page.locator(".notice").inner_text()
    press(tour.page, "a[href*='/security/passkeys/']")
    submit(tour.page, "/passkeys/remove")
    submit(tour.page, "/passkeys/remove")
    assert tour.page.locator("a[href*='/security/passkeys/']").count() == 0


def test_a_device_makes_one_passkey_for_an_account(tour):
    Device(tour.page)
    signed_up(tour)
    add(tour)
    tour.open("/account/security/passkey")
    failed = tour.page.locator("output[name=failed]")
    expect(failed).to_be_hidden()
    tour.page.locator(BUTTON).click()
    expect(failed).to_be_visible()
    assert urlsplit(tour.page.url).path == "/account/security/passkey"


def scanned(page):
    """What a phone reads from the QR code on the page."""
    image = Image.open(io.BytesIO(page.screenshot()))
    # Now and then, another format is found in the pattern of a random code.
    [code] = zxingcpp.read_barcodes(image, zxingcpp.BarcodeFormat.QRCode)
    return code.text


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_an_app_reads_the_qr_code_and_its_codes_sign_in_without_javascript(scriptless, scheme):
    page = scriptless.page
    page.emulate_media(color_scheme=scheme)
    person = signed_up(scriptless)
    scriptless.open("/account/security")
    press(page, "a[href$='/security/totp']")
    uri = scanned(page)
    assert uri == page.locator("a[href^='otpauth:']").get_attribute("href")
    app = App(parse_qs(urlsplit(uri).query)["secret"][0])
    page.locator("#code").fill(app.code())
    submit(page, "/security/totp")
    codes = page.locator("main code").all_inner_texts()
    with page.expect_download() as download:
        page.locator("a[download]").click()
    assert re.findall(r"[0-9A-Z-]{29}", download.value.path().read_text()) == codes

    page.goto(f"{scriptless.site.url}/account")
    submit(page, "/sign-out")
    assert page.locator(BUTTON).is_hidden(), "nothing that does not work is offered"
    sign_in(page, person)
    page.locator("#code").fill(app.code())
    page.locator("input[name=trust]").check()
    press(page, "form button:not([type=button]) >> nth=0")
    assert_account(page)

    # The browser is trusted.
    submit(page, "/sign-out")
    sign_in(page, person)
    assert_account(page)

    # Another one is not.
    scriptless.context.clear_cookies()
    scriptless.open("/sign-in")
    sign_in(page, person)
    page.locator("summary").click()
    page.locator("#recovery").fill(codes[3])
    press(page, "details button")
    press(page, "main a.button.quiet")
    assert_account(page)


def test_somebody_on_the_way_to_an_app_signs_in_with_a_passkey(tour):
    device = Device(tour.page)
    signed_up(tour)
    add(tour)
    device.confirm(False)
    tour.page.goto(f"{tour.site.url}/account")
    submit(tour.page, "/sign-out")
    tour.open_app("reports", "/numbers?year=2026")
    assert is_sign_in(tour.page)
    device.confirm(True)
    with tour.page.expect_navigation(url=f"{tour.site.app_urls['reports']}/numbers?year=2026"):
        tour.page.locator(BUTTON).click()
