"""Starts Chromium, Firefox, the guarded sites and a Doorward without a proxy, each when a test first needs it."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
# The programs that tests/proxies starts are the same, and so are the mail servers of tests/mail and the provider of tests/logins.
sys.path += [str(HERE.parent / name) for name in ("proxies", "mail", "logins")]
for module in ("support", "sites", "letters", "guarded_site", "people", "visitor", "factors", "page_states", "admin_states", "login_states"):
    pytest.register_assert_rewrite(module)

import https_settings  # noqa: E402
from firefox import Firefox  # noqa: E402
from guarded_site import GuardedSite, Service  # noqa: E402
from loopback_site import LoopbackSite  # noqa: E402
from provider_site import ProviderSite  # noqa: E402
from sites import PROXIES, Certificate  # noqa: E402

# The longest wait for a page or an element. The machine may be busy with other work.
PATIENCE_MS = 60_000
expect.set_options(timeout=PATIENCE_MS)


def pytest_addoption(parser):
    parser.addoption(
        "--screenshots",
        type=Path,
        help="a folder for screenshots: of every page in every state, or in docs/screenshots those of the main pages",
    )


def program(*names):
    found = next(filter(None, map(shutil.which, names)), None)
    assert found, f"{names[0]} is missing; it comes from the Debian package {names[0]}"
    return found


def public_key_hash(certificate):
    """The SHA-256 of the public key in Base64, by which Chromium trusts the certificate."""
    pem = subprocess.check_output(["openssl", "x509", "-in", certificate.path, "-pubkey", "-noout"], text=True)
    key = base64.b64decode("".join(line for line in pem.splitlines() if not line.startswith("-")))
    return base64.b64encode(hashlib.sha256(key).digest()).decode()


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("browser")


@pytest.fixture(scope="session")
def certificate(folder):
    return Certificate.create(folder / "certificate")


@pytest.fixture(scope="session")
def chromium_arguments(certificate):
    arguments = [
        "--host-resolver-rules=MAP *.test 127.0.0.1",
        # A proxy of the environment knows no host of the tests.
        "--no-proxy-server",
        # Caddy offers HTTP/3, which Chromium does not speak with a certificate of unknown authorities.
        "--disable-quic",
        f"--ignore-certificate-errors-spki-list={public_key_hash(certificate)}",
    ]
    # Chromium refuses to run its sandbox as root.
    return [*arguments, "--no-sandbox"] if os.geteuid() == 0 else arguments


@pytest.fixture(scope="session")
def chromium(request, chromium_arguments):
    """The engine in a shell without windows, which takes a third of the CPU time; with --all, the whole browser."""
    name = "chromium" if request.config.getoption("--all") else "chromium-headless-shell"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program(name), args=chromium_arguments)
        yield browser
        browser.close()


@pytest.fixture
def new_context(chromium):
    """Opens a browser profile of its own, without JavaScript unless the test asks for it."""
    contexts = []

    def new_context(**options):
        context = chromium.new_context(**{"java_script_enabled": False, "locale": "en-GB"} | options)
        context.set_default_timeout(PATIENCE_MS)
        context.set_default_navigation_timeout(PATIENCE_MS)
        contexts.append(context)
        return context

    yield new_context
    for context in contexts:
        context.close()


@pytest.fixture
def context(new_context):
    return new_context()


@pytest.fixture
def page(context):
    return context.new_page()


@pytest.fixture(scope="session")
def firefox(folder):
    firefox = Firefox(program("firefox-esr", "firefox"), folder)
    yield firefox
    firefox.stop()


# The proxies differ in what they ask, which tests/proxies compares. nginx asks twice.
ONE_PROXY = [name if name == "nginx" else pytest.param(name, marks=pytest.mark.long) for name in PROXIES]


@pytest.fixture(scope="module", params=ONE_PROXY)
def site(request, folder, certificate):
    """Two apps behind a proxy, and Doorward."""
    site = GuardedSite(request.param, folder / f"{request.module.__name__}-{request.param}", certificate)
    yield site
    site.stop()


@pytest.fixture(scope="session")
def loopback(folder):
    """Doorward on plain HTTP, and an app behind Caddy."""
    site = LoopbackSite(folder / "loopback")
    yield site
    site.stop()


@pytest.fixture(scope="session")
def mailing(folder):
    """Like `loopback`, with mail, sign-in by mailed codes, and people who may invite."""
    site = LoopbackSite(folder / "mailing", with_mail=True)
    yield site
    site.stop()


@pytest.fixture(scope="session")
def passkeys(folder):
    """Like `loopback`, at a host for which passkeys can be made."""
    site = LoopbackSite(folder / "passkeys", with_passkeys=True)
    yield site
    site.stop()


@pytest.fixture(scope="session")
def providers(folder):
    """Like `mailing`, with other providers."""
    site = ProviderSite(folder / "providers")
    yield site
    site.stop()


@pytest.fixture(scope="session")
def start_https_service(folder):
    """Starts a Doorward with these settings that tests ask directly, in the place of a proxy."""
    services = []

    def start(name, settings):
        services.append(Service(folder / name, settings))
        return services[-1]

    yield start
    for service in services:
        service.stop()


@pytest.fixture(scope="session")
def https_service(start_https_service):
    return start_https_service("https", https_settings.SETTINGS)
