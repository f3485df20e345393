"""What people do with the links and codes in their mail. The mails come from a real server. JavaScript is off."""

import json

import pytest
from letters import wait_for_letter
from loopback_site import LoopbackSite
from page_states import Tour
from people import Person, assert_account, fill, is_sign_in, press, sign_in, sign_out, sign_up, submit
from harness import HOST
from harness.mail_server import MailServer
from support import bearer, send

NEW_PASSWORD = "battery staple horse"
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def smtp():
    with MailServer() as server:
        yield server


@pytest.fixture(scope="module")
def mail_site(folder, smtp):
    """Doorward with a mail server, and two apps."""
    site = LoopbackSite(folder / "mail", with_mail=True, mail_url=f"smtp://{HOST}:{smtp.port}")
    site.smtp = smtp
    yield site
    site.stop()


class MailTour(Tour):
    """A browser profile, the mail of its person, and every request that it sends."""

    def __init__(self, site, context):
        super().__init__(site, context, context.new_page())
        self.smtp, self.requests = site.smtp, []
        context.on("request", lambda request: self.requests.append(request))

    def mail(self, address, count=1):
        return wait_for_letter(self.smtp, address, count)

    def open_link(self, mail):
        response = self.page.goto(mail.link)
        return response.status

    def assert_left(self, mail):
        """Asserts that the secret is not where the person is now, and was in no Referer."""
        history = self.context.new_cdp_session(self.page).send("Page.getNavigationHistory")
        entry = history["entries"][history["currentIndex"]]
        for text in (self.page.url, entry["url"], self.page.content()):
            assert mail.secret not in text
        for request in self.requests:
            referer = request.all_headers().get("referer", "")
            assert mail.secret not in referer, request.url
        opened = [request.url for request in self.requests if mail.secret in request.url]
        assert set(opened) <= {mail.link}


@pytest.fixture
def new_tour(mail_site, new_context):
    return lambda **options: MailTour(mail_site, new_context(**options))


@pytest.fixture
def tour(new_tour):
    return new_tour()


def register_without_password(site, person):
    answer = api(site, "POST", "/api/user", {"name": person.name, "email": person.email})
    assert answer.status == 201, answer


def api(site, method, path, body=None, token=None):
    headers = [("Content-Type", "application/json"), *(bearer(token) if token else ())]
    return send(site.doorward.port, method, path, headers, json.dumps(body).encode() if body else None)


def logged_in(site, person):
    """Logs a person in through the API. Returns the token."""
    answer = api(site, "POST", "/api/auth/login", {"email": person.email, "password": person.password})
    assert answer.status == 200, answer
    return json.loads(answer.body)["token"]


def me(site, token):
    return json.loads(api(site, "GET", "/api/me", token=token).body)


# --- verify and change an address ------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desktop", "phone"])
def test_a_new_person_verifies_their_address(mail_site, new_tour, options):
    tour, ada = new_tour(**options), Person()
    tour.open("/sign-up")
    sign_up(tour.page, ada)
    assert_account(tour.page)
    mail = tour.mail(ada.email)
    token = logged_in(mail_site, ada)
    assert tour.open_link(mail) == 200
    assert ada.email in tour.page.locator("main").inner_text()
    assert not me(mail_site, token)["emailVerified"], "opening a link changes nothing"
    submit(tour.page, "/verify")
    assert_account(tour.page)
    assert me(mail_site, token)["emailVerified"]
    tour.assert_left(mail)


def test_a_code_is_typed_on_the_account_page(mail_site, tour):
    ada = Person()
    tour.open("/sign-up")
    sign_up(tour.page, ada)
    tour.mail(ada.email)
    submit(tour.page, "/account/verify")
    mail = tour.mail(ada.email, 2)
    fill(tour.page, "/verify", code=mail.code)
    press(tour.page, "form:has(input[name='code']) button")
    assert_account(tour.page)
    assert tour.page.locator("form[action$='/account/verify']").count() == 0


def test_an_address_is_changed_and_the_change_is_taken_back(mail_site, tour, new_tour):
    ada = tour.signed_up()
    first = tour.mail(ada.email)
    token = logged_in(mail_site, ada)
    assert tour.mail(ada.email, 2).subject.startswith("New sign-in ")
    tour.open_link(first)
    submit(tour.page, "/verify")
    new = f"new.{ada.email}"
    tour.open_details("/account/email")
    fill(tour.page, "/account/email", email=new, password=ada.password)
    submit(tour.page, "/account/email")
    assert_account(tour.page)
    mail = tour.mail(new)
    tour.open_link(mail)
    assert me(mail_site, token)["email"] == ada.email
    submit(tour.page, "/verify")
    assert me(mail_site, token)["email"] == new
    tour.assert_left(mail)

    # The owner of the old address takes it back, in another browser.
    owner, told = new_tour(), tour.mail(ada.email, 3)
    assert owner.open_link(told) == 200
    assert me(mail_site, token)["email"] == new
    fill(owner.page, "/restore-email", password=NEW_PASSWORD)
    submit(owner.page, "/restore-email")
    owner.assert_left(told)
    tour.open("/account")
    assert is_sign_in(tour.page), "the intruder is signed out"
    owner.open("/sign-in")
    sign_in(owner.page, Person(email=ada.email, password=NEW_PASSWORD))
    assert_account(owner.page)
    assert owner.open_link(told) == 410
    assert owner.page.locator("main a[href]").count() > 0


# --- a forgotten password --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("by_code", [False, True], ids=["link", "code"])
def test_a_forgotten_password_is_replaced(mail_site, tour, new_tour, by_code):
    elsewhere = new_tour()
    ada = elsewhere.signed_up()
    elsewhere.open_link(elsewhere.mail(ada.email))
    submit(elsewhere.page, "/verify")
    tour.open("/sign-in")
    press(tour.page, "main a[href*='/forgot']")
    fill(tour.page, "/forgot", email=ada.email)
    submit(tour.page, "/forgot")
    said = tour.page.locator("main").inner_text()
    mail = tour.mail(ada.email, 2)
    if by_code:
        fill(tour.page, "/reset", code=mail.code, password=NEW_PASSWORD)
    else:
        assert tour.open_link(mail) == 200
        fill(tour.page, "/reset", password=NEW_PASSWORD)
    elsewhere.open("/account")
    assert_account(elsewhere.page)
    submit(tour.page, "/reset")
    tour.assert_left(mail)
    assert tour.mail(ada.email, 3).subject.startswith("Your password for ")
    assert is_sign_in(tour.page)
    elsewhere.open("/account")
    assert is_sign_in(elsewhere.page), "the reset ends all sessions"
    sign_in(tour.page, Person(email=ada.email, password=NEW_PASSWORD))
    assert_account(tour.page)
    # The page says the same for an address that nobody has.
    nobody = Person()
    tour.open("/forgot")
    fill(tour.page, "/forgot", email=nobody.email)
    submit(tour.page, "/forgot")
    assert tour.page.locator("main").inner_text().replace(nobody.email, ada.email) == said


# --- sign in without a password --------------------------------------------------------------------------------------


def ask_for_code(tour, person):
    press(tour.page, "main a[href*='/sign-in/code']")
    fill(tour.page, "/sign-in/code", email=person.email)
    submit(tour.page, "/sign-in/code")


def test_a_person_signs_in_by_a_link(mail_site, tour):
    ada = Person()
    register_without_password(mail_site, ada)
    tour.mail(ada.email)
    tour.open("/sign-in")
    ask_for_code(tour, ada)
    mail = tour.mail(ada.email, 2)
    assert tour.open_link(mail) == 200
    submit(tour.page, "/sign-in/code/use")
    assert_account(tour.page)
    tour.assert_left(mail)
    submit(tour.page, "/sign-out")
    assert tour.open_link(mail) == 410
    press(tour.page, "main a[href*='/sign-in/code']")


def test_a_person_on_the_way_to_an_app_types_the_code(mail_site, tour):
    ada = Person()
    register_without_password(mail_site, ada)
    tour.mail(ada.email)
    url = mail_site.app_urls["reports"] + "/numbers?year=2026"
    tour.page.goto(url)
    assert is_sign_in(tour.page)
    ask_for_code(tour, ada)
    mail = tour.mail(ada.email, 2)
    fill(tour.page, "/sign-in/code/use", code=mail.code)
    submit(tour.page, "/sign-in/code/use")
    assert tour.page.url == url
    tour.assert_left(mail)


def test_a_wrong_code_can_be_corrected(mail_site, tour):
    ada = Person()
    register_without_password(mail_site, ada)
    tour.mail(ada.email)
    tour.open("/sign-in")
    ask_for_code(tour, ada)
    right = tour.mail(ada.email, 2).code
    wrong = f"{(int(right[:4]) + 1) % 10_000:04} {right[5:]}"
    fill(tour.page, "/sign-in/code/use", code=wrong)
    submit(tour.page, "/sign-in/code/use")
    assert tour.page.locator("#code-fault").count() == 1
    fill(tour.page, "/sign-in/code/use", code=right)
    submit(tour.page, "/sign-in/code/use")
    assert_account(tour.page)


# --- invitations -----------------------------------------------------------------------------------------------------


def test_an_invited_person_signs_up_with_the_address_of_the_mail(mail_site, tour):
    bob = Person(name="Bob")
    mail_site.doorward.run("user", "invite", bob.email, "--role", "staff")
    mail = tour.mail(bob.email)
    assert tour.open_link(mail) == 200
    address = tour.page.locator("form[action$='/sign-up'] input[name='email']")
    assert address.input_value() == bob.email
    assert address.get_attribute("readonly") is not None
    fill(tour.page, "/sign-up", name=bob.name, password=bob.password)
    submit(tour.page, "/sign-up")
    assert_account(tour.page)
    tour.assert_left(mail)
    # The mail has verified the address, and the invitation had a role.
    tour.page.goto(mail_site.app_urls["staff"])
    assert tour.page.url == mail_site.app_urls["staff"] + "/"
    sign_out(tour.page, mail_site.url)
    tour.open_link(mail)
    assert tour.page.locator("main a[href]").count() > 0


# --- dead links ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", ["/verify?code=", "/reset?code=", "/restore-email?code=", "/sign-in/code/use?code=", "/sign-up?invitation="]
)
def test_a_dead_link_shows_what_to_do(tour, path):
    secret = "A" * 43
    tour.open(path + secret)
    page = tour.page
    assert secret not in page.content()
    press(page, "main a[href] >> nth=0")
    assert secret not in page.url
    for request in tour.requests:
        assert secret not in request.all_headers().get("referer", "")
