"""Follows the README to its end: runs its commands, and then does what its numbered steps say in Chromium."""

import re

from people import Person, sign_in
from test_readme import commands_before_the_end, section, shell  # noqa: F401 (shell is a fixture)


def test_the_steps_in_a_browser_work_as_written(shell, page):  # noqa: F811
    status, _ = shell(commands_before_the_end())
    assert status == 0
    opening, signing_in, account = re.findall(r"^\d\. (.+)$", section(), re.MULTILINE)

    app = re.search(r"<(http\S+)>", opening)[1]
    page.goto(app)
    assert page.locator("h1").inner_text() == "S" + re.search(r"asks you to s(ign in to \w+)", opening)[1]

    email, password = re.findall(r"`([^`]+)`", signing_in)
    sign_in(page, Person(email=email, password=password))
    assert page.url == app
    assert page.locator("h1").inner_text() == re.search(r'"(.+)"', signing_in)[1]

    page.goto(re.search(r"<(http\S+)>", account)[1])
    assert page.url.endswith("/account")
    assert email in page.content()
