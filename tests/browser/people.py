"""What a person does in a browser: fill in forms and press buttons."""

import itertools
from dataclasses import dataclass, field
from urllib.parse import urlsplit

PASSWORD = "correct horse battery"
# Every Doorward of a test run starts without users.
NUMBERS = itertools.count(1)


@dataclass(frozen=True)
class Person:
    name: str = "Ada Lovelace"
    email: str = field(default_factory=lambda: f"ada.{next(NUMBERS)}@example.com")
    password: str = PASSWORD


def fill(page, form, **values):
    """Fills in the fields of the form with this action."""
    for name, value in values.items():
        page.locator(f"form[action$='{form}'] input[name='{name}']").fill(value)


def press(page, selector):
    """Presses a link or a button, and waits for the page that it leads to."""
    with page.expect_navigation():
        page.locator(selector).click()


def submit(page, form):
    press(page, f"form[action$='{form}'] button:not([type=button], [data-passkey])")


def sign_in(page, person, stay=False):
    """Fills in the sign-in page that is open, and sends it."""
    fill(page, "/sign-in", email=person.email, password=person.password)
    if stay:
        page.locator("input[name='stay']").check()
    submit(page, "/sign-in")


def sign_up(page, person, stay=False):
    """Fills in the sign-up page that is open, and sends it."""
    fill(page, "/sign-up", name=person.name, email=person.email, password=person.password)
    if stay:
        page.locator("input[name='stay']").check()
    submit(page, "/sign-up")


def assert_account(page):
    """Asserts that the page is the account of a signed-in person."""
    assert urlsplit(page.url).path == "/account", page.url


def is_sign_in(page):
    return page.locator("form[action$='/sign-in'] input[name='password']").count() == 1


def sign_out(page, auth_url):
    page.goto(f"{auth_url}/account")
    submit(page, "/sign-out")
