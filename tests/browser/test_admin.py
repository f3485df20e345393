"""The administration in a browser: why somebody was refused, a role that lets them in, and a key for a program."""

import subprocess

import pytest
from admin_states import administered, open_user, order
from people import Person, fill, is_sign_in, press, submit
from page_states import CHROME, Tour


@pytest.fixture
def admin(loopback, new_context):
    """A browser profile of an administrator."""
    context = new_context()
    tour = Tour(loopback, context, context.new_page())
    administered(tour)
    return tour


def test_an_operator_reads_why_somebody_was_refused_and_lets_them_in(admin, loopback, new_context):
    name = "Wilhelmina Quist"
    theirs = new_context()
    user = Tour(loopback, theirs, theirs.new_page())
    person = user.signed_up(name=name)
    user.open_app("staff", "/plans")
    assert "no access to Staff only" in user.page.locator("h1").inner_text()

    # The operator finds them by the start of the surname.
    admin.open("/admin")
    press(admin.page, "nav > ul a[href='/admin/users']")
    fill(admin.page, "/admin/users", text="qui")
    submit(admin.page, "/admin/users")
    assert admin.page.locator("table tbody tr").count() == 1
    press(admin.page, "table a")
    assert admin.page.locator("h1").inner_text() == name

    # The reason names the part that decides.
    press(admin.page, "a[href*='/admin/refusals/'] >> nth=0")
    decisive = admin.page.locator("tr.cause code").first.inner_text()
    assert decisive.strip() == '"staff" in user.roles'
    assert person.email in admin.page.locator("main").inner_text()
    press(admin.page, "dd a[href*='/admin/users/']")

    order(admin, "grant", role="staff")
    order(admin, "verify")
    assert "confirmed" in admin.page.locator("[role=status]").inner_text()

    # The next click of the user passes.
    press(user.page, "main a.button >> nth=0")
    assert "/plans" in user.page.locator("pre").inner_text()


def curl(url, *options):
    """The status of a request of a program."""
    command = ["curl", "--silent", "--output", "/dev/null", "--write-out", "%{http_code}", *options, url]
    return int(subprocess.check_output(command, text=True, timeout=30))


def test_a_key_passes_a_guard_until_it_is_revoked(admin, loopback):
    admin.open("/admin/keys")
    admin.open_details("/create")
    fill(admin.page, "/create", name="Continuous integration")
    admin.page.locator("input[name='scope-guard:reports']").check()
    submit(admin.page, "/create")
    key = admin.page.locator("[role=status] code").inner_text()
    assert key.startswith("dw_key_")
    host, _, port = loopback.app_urls["reports"].removeprefix("http://").partition(":")
    url, resolved = f"http://{host}:{port}/numbers", ("--resolve", f"{host}:{port}:127.0.0.1")
    bearer = ("--header", f"Authorization: Bearer {key}")
    assert curl(url, *resolved) == 401
    assert curl(url, *resolved, *bearer) == 200
    assert curl(url, *resolved, "--user", f"ci:{key}") == 200, "as the password of HTTP Basic"

    admin.open("/admin/keys")
    row = "tr:has-text('Continuous integration')"
    assert key not in admin.page.content(), "it is shown once"
    admin.page.locator(f"{row} summary").click()
    press(admin.page, f"{row} form button")
    assert "Revoked" in admin.page.locator(row).inner_text()
    assert curl(url, *resolved, *bearer) == 401


def test_an_operator_who_is_not_signed_in_returns_to_the_page(admin, loopback, new_context):
    page = new_context().new_page()
    page.goto(f"{loopback.url}/admin/users?text=x")
    assert is_sign_in(page)


def test_an_operator_downloads_the_trail(admin, loopback):
    admin.open("/admin/audit?kind=registered")
    for form, name in (("export", "audit.jsonl"), ("checkpoint", "audit.checkpoint.txt")):
        with admin.page.expect_download() as download:
            admin.page.locator(f"form[action$='/admin/audit/{form}'] button").click()
        assert download.value.suggested_filename == name
        text = download.value.path().read_text()
        assert "registered" in text if form == "export" else "\u2014 " in text
    # The checkpoint has given all events their places.
    admin.open("/admin/audit?kind=registered")
    with admin.page.expect_download() as download:
        admin.page.locator("form[action$='/admin/audit/proof'] button >> nth=0").click()
    assert "tlog-proof" in download.value.path().read_text()


def test_the_list_of_refusals_loads_itself_again_on_a_page_without_a_form(admin, loopback):
    admin.open("/admin/refusals")
    fill(admin.page, "/admin/refusals", guard="staff")
    submit(admin.page, "/admin/refusals")
    press(admin.page, "a[href*='/admin/refusals/live']")
    assert admin.page.locator("main form").count() == 0
    visitor = admin.visitor(CHROME)
    person = visitor.sign_up(Person(name="Refreshed Person"))
    staff = loopback.app_urls["staff"]
    visitor.enter("staff", staff)
    assert visitor.visit("staff", staff).status == 403
    admin.page.locator(f"text={person.email}").first.wait_for()


def test_an_order_needs_its_confirmation(admin, loopback):
    visitor = admin.visitor(CHROME)
    person = visitor.sign_up(Person())
    open_user(admin, person)
    button = admin.page.locator("form[action$='/delete'] button")
    assert not button.is_visible()
    admin.open_details("/delete")
    press(admin.page, "form[action$='/delete'] button")
    assert "deleted" in admin.page.locator("[role=status]").inner_text()
    assert not visitor.is_signed_in()
