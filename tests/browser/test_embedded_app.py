"""The app of examples/embed.rs in Chromium: a page of the app, the way to sign in and back, and forms of other sites."""

import signal
import subprocess
from urllib.parse import urlsplit

import pytest
from harness import EXAMPLES, PATIENCE_SECONDS
from harness.ports import reserved_port
from harness.process import environment
from people import Person, is_sign_in, press, sign_in, sign_up

# The cheapest hash: these tests are not about it.
SETTINGS = """
branding.name = "The Desk Company"
[password]
memory_kib = 7168
passes = 1
"""


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """The URL of the running app."""
    folder = tmp_path_factory.mktemp("embedded")
    port = reserved_port()
    url = f"http://localhost:{port}"
    (folder / "doorward.toml").write_text(f'public_url = "{url}"\n{SETTINGS}')
    process = subprocess.Popen(
        [EXAMPLES / "embed", f"127.0.0.1:{port}"],
        cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True,
    )
    line = process.stdout.readline()
    assert line.startswith("listening on "), line
    yield url
    process.send_signal(signal.SIGTERM)
    process.wait(PATIENCE_SECONDS)
    process.stdout.close()


@pytest.fixture
def person(app, page):
    """Somebody whose browser shows their desk, because they opened the app and signed up."""
    person = Person(name="Ada <b>Lovelace</b>")
    page.goto(f"{app}/")
    assert is_sign_in(page) and "The Desk Company" in page.content()
    press(page, "main a[href*='/sign-up']")
    sign_up(page, person)
    return person


def heading(page):
    return page.locator("h1").inner_text()


def test_a_person_signs_up_and_returns_to_the_page(app, page, person):
    assert page.url == f"{app}/desk"
    assert heading(page) == "The desk of Ada <b>Lovelace</b>"


def test_a_person_signs_in_and_returns_to_the_very_link(app, person, new_context):
    page = new_context().new_page()
    page.goto(f"{app}/desk?drawer=2&of=%2Ftop%20left")
    assert urlsplit(page.url).path == "/sign-in"
    sign_in(page, person)
    assert page.url == f"{app}/desk?drawer=2&of=%2Ftop%20left"


def test_a_form_of_the_page_itself_counts(app, page, person):
    press(page, "form button")
    assert page.url == f"{app}/desk?tidy"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_form_of_another_origin_does_not(app, page, person, host):
    """From the same site the browser sends the cookie, and the app refuses it. From another site the browser sends none."""
    form = f"<form method=post action={app}/desk><button>Win a prize</button></form>"
    other = f"http://{host}:4/"
    page.route(other, lambda route: route.fulfill(body=form, content_type="text/html"))
    page.goto(other)
    with page.expect_response(lambda answer: answer.request.method == "POST") as posted:
        press(page, "form button")
    assert posted.value.status == (403 if host == "localhost" else 303)
    assert "tidy" not in page.url
    page.goto(f"{app}/desk")
    assert heading(page).startswith("The desk of"), "still signed in"


def test_no_other_site_shows_a_page_in_a_frame(app, page, person):
    """A form in a frame comes from the app's own origin, so it would count."""
    other = "http://localhost:4/"
    page.route(other, lambda route: route.fulfill(body=f"<iframe src={app}/desk></iframe>", content_type="text/html"))
    page.goto(other)
    [frame] = page.frames[1:]
    assert "The desk of" not in frame.content()


def test_a_person_whom_a_policy_refuses_sees_a_page(app, page, person):
    answer = page.goto(f"{app}/reports")
    assert (answer.status, answer.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "The Desk Company" in page.locator("main").inner_text()
    assert person.email in page.content()


def test_scripts_of_the_page_use_the_session_until_it_ends(app, person, new_context):
    page = new_context(java_script_enabled=True).new_page()
    page.goto(f"{app}/desk")
    sign_in(page, person)
    get = "path => fetch(path).then(async answer => [answer.status, await answer.text()])"
    status, text = page.evaluate(get, "/hello")
    assert (status, text.startswith("Hello, user ")) == (200, True)
    assert page.evaluate(get, "/api/me")[0] == 401, "the API takes tokens only"
    other = page.context.new_page()
    other.goto(f"{app}/sign-out")
    press(other, "main form button")
    assert page.evaluate(get, "/hello")[0] == 401
    page.goto(f"{app}/desk")
    assert is_sign_in(page)
