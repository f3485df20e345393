"""Every page in every state: accessible, small, one request, without violations of its policy, at every width."""

import io
import itertools
import json
import re

import pytest
from firefox import NODE
from guarded_site import Service
from harness import REPOSITORY
import admin_states  # noqa: F401
import login_states  # noqa: F401
from page_states import STATES, Tour
from PIL import Image

MAX_BYTES = 20 * 1024
# The documentation of the API is for programmers: larger, in English, and the same for everybody. It has about 50 operations.
DOCUMENTATION = ("api-documentation", "api-documentation-unfolded")
MAX_DOCUMENTATION_BYTES = 208 * 1024
# A page of the administration has lists of up to 50 rows.
MAX_ADMIN_BYTES = 64 * 1024
WIDTHS = (320, 1280)
SCHEMES = ("light", "dark")
# Each width and each scheme once.
PAIRS = ((320, "dark"), (1280, "light"))
SCREENSHOT_WIDTHS = (390, 1280)
# The pages in docs/screenshots.
DOCUMENTED = (
    "sign-in-for-an-app",
    "sign-in-wrong-password",
    "sign-up-with-faults",
    "verify-for-an-app",
    "sign-out-question",
    "reset-plain",
    "account-with-sessions",
    "refused",
    "refused-for-operators",
    "factor",
    "security",
    "admin-overview",
    "admin-user",
    "admin-users",
    "admin-refusal",
    "sign-in-with-providers",
    "provider-down",
    "provider-with-another-issuer",
    "provider-with-a-clock-five-minutes-ahead",
    "link-question",
)
AXE = "axe.run().then(({violations}) => violations.map(({id, nodes}) => [id, nodes.map(node => node.html)]))"
# The number of pixels by which the page is wider than the window.
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class Record:
    """What a page caused: requests, responses, and messages in the browser's log."""

    def __init__(self, page):
        self.documents, self.others, self.violations = [], [], []
        page.on("request", self.request)
        page.on("response", self.response)
        page.on("console", self.message)

    def request(self, request):
        if not request.is_navigation_request():
            self.others.append(request.url)

    def response(self, response):
        if response.request.is_navigation_request():
            self.documents.append(response)

    def message(self, message):
        if "Content Security Policy" in message.text:
            self.violations.append(message.text)


@pytest.fixture(scope="session")
def axe():
    script = NODE / "node_modules" / "axe-core" / "axe.min.js"
    assert script.is_file(), f"{script} is missing; script/install installs it"
    return script.read_text()


@pytest.fixture(scope="session")
def page_sizes():
    """The bytes of each page, written to target/page-sizes.txt."""
    sizes = {}
    yield sizes
    lines = [f"{size:6} {name}\n" for name, size in sorted(sizes.items())]
    (REPOSITORY / "target" / "page-sizes.txt").write_text("".join(lines))


def at(page, width, scheme):
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")


def opened(request, new_context, name, language, has_scripts):
    """Opens a page, and asserts what holds for every page in every language. Afterwards scripts run, because the tests of
    accessibility are one."""
    steps, status, site = STATES[name]
    context = new_context(java_script_enabled=True, locale=language)
    page = context.new_page()
    record = Record(page)
    scripts = context.new_cdp_session(page)
    scripts.send("Emulation.setScriptExecutionDisabled", {"value": not has_scripts})
    steps(Tour(request.getfixturevalue(site), context, page))
    scripts.send("Emulation.setScriptExecutionDisabled", {"value": False})
    response = record.documents[-1]
    assert response.status == status
    assert page.locator("html").get_attribute("lang") == response.headers["content-language"]
    # An icon is requested unless the page has one.
    assert page.locator("link[rel=icon]").get_attribute("href").startswith("data:")
    assert record.others == []
    assert record.violations == []
    for width in WIDTHS:
        at(page, width, "light")
        assert page.evaluate(OVERFLOW) <= 0, f"the page is wider than {width} pixels"
    return page, response


def assert_accessible(request, page, axe):
    page.evaluate(axe)
    everything = request.config.getoption("--all")
    for width, scheme in itertools.product(WIDTHS, SCHEMES) if everything else PAIRS:
        at(page, width, scheme)
        violations = page.evaluate(AXE)
        assert violations == [], f"{scheme}, {width} pixels: {json.dumps(violations, indent=2)}"


@pytest.mark.parametrize("name", STATES)
def test_a_page_is_small_and_accessible_and_works_without_scripts(request, new_context, page_sizes, axe, name):
    """In German, whose words are longer."""
    page, response = opened(request, new_context, name, "de-DE", has_scripts=False)
    headers, body = response.headers, response.body()
    page_sizes[name] = len(body)
    is_of_api = name in DOCUMENTATION
    assert len(body) <= max_bytes(name)
    assert headers["content-language"] == ("en" if is_of_api else "de")
    assert headers["cache-control"] == ("public, max-age=3600" if is_of_api else "no-store")
    has_secret = re.search(r"[?&](code|invitation)=", response.url)
    assert headers["referrer-policy"] == ("strict-origin" if has_secret else "same-origin")
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cross-origin-opener-policy"] == headers["cross-origin-resource-policy"] == "same-origin"
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy
    for word in ("frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"):
        assert word in policy
    # Only passkeys need a script, which the policy names.
    body, scripts = re.subn(rb"<script>[^<]*</script>", b"", body)
    assert scripts == policy.count("script-src 'sha256-") == (b"data-passkey=" in body)
    assert not re.search(rb"<script|<iframe|<link rel=.?stylesheet|\sstyle=|\son\w+=|@import|url\(", body)
    assert_accessible(request, page, axe)


# Only pages with passkeys have a script. The others differ from what is shown above in their words alone.
WITH_SCRIPTS = [name if site == "passkeys" else pytest.param(name, marks=pytest.mark.long) for name, (*_, site) in STATES.items()]


@pytest.mark.parametrize("name", WITH_SCRIPTS)
def test_a_page_in_english_is_accessible_while_scripts_run(request, new_context, axe, name):
    page, _ = opened(request, new_context, name, "en-GB", has_scripts=True)
    assert_accessible(request, page, axe)
    folder = request.config.getoption("--screenshots")
    for scheme in SCHEMES:
        for width in screenshot_widths(name, scheme, folder):
            at(page, width, scheme)
            screenshot(page, folder / f"{name}-{width}-{scheme}.png")


def screenshot(page, path):
    image = page.screenshot(full_page=True, animations="disabled", caret="hide")
    path.parent.mkdir(parents=True, exist_ok=True)
    if is_documentation(path.parent):
        # A third of the size, and nobody sees the difference.
        Image.open(io.BytesIO(image)).quantize(96, dither=Image.Dither.NONE).save(path, optimize=True)
    else:
        path.write_bytes(image)


def is_documentation(folder):
    return folder.parent.name == "docs"


def screenshot_widths(name, scheme, folder):
    """None unless a folder is given: a screenshot of every page, and all of those that the documentation has."""
    if folder is None:
        return ()
    if name in DOCUMENTED:
        return SCREENSHOT_WIDTHS
    return SCREENSHOT_WIDTHS[:1] if scheme == "light" and not is_documentation(folder) else ()


def max_bytes(name):
    if name in DOCUMENTATION:
        return MAX_DOCUMENTATION_BYTES
    return MAX_ADMIN_BYTES if name.startswith("admin-") else MAX_BYTES


BRANDING = """
[branding]
name = "Example & Söhne"
logo = "logo.svg"
accent = "#ffd400"
terms = "https://example.com/terms"
privacy = "https://example.com/privacy"
"""
LOGO = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><circle cx="4" cy="4" r="4" fill="#c00"/></svg>'


def test_a_page_in_the_colours_of_its_operator_is_accessible(request, folder, new_context, axe):
    """Even if the colour is too light for text."""
    place = folder / "branded"
    (folder / "logo.svg").write_text(LOGO)
    doorward = Service(place, BRANDING.replace("logo.svg", str(folder / "logo.svg")))
    try:
        page = new_context(java_script_enabled=True).new_page()
        record = Record(page)
        page.goto(f"http://localhost:{doorward.port}/sign-in")
        assert (record.others, record.violations) == ([], [])
        assert "Example & Söhne" in page.locator("header").inner_text()
        logo = page.locator("header img")
        assert logo.get_attribute("src").startswith("data:image/svg+xml")
        assert logo.evaluate("image => image.naturalWidth") > 0
        assert page.locator("footer a").count() == 2
        page.evaluate(axe)
        pictures = request.config.getoption("--screenshots")
        for scheme in SCHEMES:
            at(page, SCREENSHOT_WIDTHS[0], scheme)
            assert page.evaluate(AXE) == []
            if pictures:
                screenshot(page, pictures / f"branded-{SCREENSHOT_WIDTHS[0]}-{scheme}.png")
    finally:
        doorward.stop()


def test_a_violation_of_the_policy_would_be_seen(page):
    """The record of violations is worth something: it has those of a page that has one."""
    record = Record(page)
    policy = {"Content-Security-Policy": "default-src 'none'"}
    body = "<!doctype html><style>p { color: red }</style><p>A page"
    page.route("**/*", lambda route: route.fulfill(headers=policy, content_type="text/html", body=body))
    with page.expect_console_message():
        page.goto("http://page.test/")
    assert len(record.violations) == 1


def test_an_inaccessible_page_would_be_seen(new_context, axe):
    page = new_context(java_script_enabled=True).new_page()
    page.set_content("<input><img src='data:,'><p style='color: #ccc'>Pale")
    page.evaluate(axe)
    found = {name for name, _ in page.evaluate(AXE)}
    assert {"label", "image-alt", "color-contrast"} <= found
