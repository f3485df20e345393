"""Starts Doorward and the app once, and each integration when a test first needs it."""

import functools
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

pytest.register_assert_rewrite("support", "sites", "counts")

import counts  # noqa: E402
from harness.process import PATH  # noqa: E402
from support import EXPRESS, KINDS, PROXY_VERSIONS, Doorward, EchoApp, Integration, Journal  # noqa: E402
from versions import one_each  # noqa: E402

# Has a character outside ASCII, and the one that percent-encoding uses.
DESIGNATED_NAME = "Míles 100% Davis"

SETTINGS = f"""
[designated]
name = "{DESIGNATED_NAME}"
"""

# A guard whose condition reads every fact that an integration sends about a request.
CONDITIONAL_GUARD = """
[guards.conditional-{style}]
proxy = "{style}"
preflight = true
allow = '''
    request.method == "POST" && request.path.endsWith("/letter") && request.scheme == "http"
        && request.host == "127.0.0.1" && request.address == "127.0.0.1"
'''
"""

# A guard for browsers on this machine, without TLS.
LOOPBACK_GUARD = """
[guards.loopback-{style}]
proxy = "{style}"
allow = "true"
origins = ["http://localhost:8000"]
"""

# As LOOPBACK_GUARD, for people with a role.
STAFF_GUARD = """
[guards.staff-{style}]
proxy = "{style}"
allow = '"staff" in user.roles'
origins = ["http://localhost:8000"]
"""

# A guard before an app that is attacked.
ATTACKED_GUARD = """
[guards.attacked-{style}]
proxy = "{style}"
preflight = true
allow = "true"
"""

# Guards with headers of their own.
HEADERS_GUARD = """
[guards.headers-{style}]
proxy = "{style}"
allow = "true"
[guards.headers-{style}.headers]
X-Remote-User = "user.email"
Remote-User = "user.name"
Tailscale-User-Login = "user.roles"
X-Forwarded-User = "user.id"
X-First-Role = "user.roles[0]"
X-Asked = "request.method"

[guards.utf8-{style}]
proxy = "{style}"
allow = "true"
header_encoding = "utf-8"
headers = {{ X-WEBAUTH-USER = "user.name" }}
"""


def pytest_terminal_summary(terminalreporter):
    if counts.ROWS:
        terminalreporter.section("attacks")
        terminalreporter.write_line("\n".join(counts.lines()))


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("proxies")


@pytest.fixture(scope="session")
def doorward(folder):
    styles = sorted({kind.style for kind in KINDS.values()})
    declared = (CONDITIONAL_GUARD, LOOPBACK_GUARD, STAFF_GUARD, ATTACKED_GUARD, HEADERS_GUARD)
    guards = [guard.format(style=style) for guard in declared for style in styles]
    service = Doorward(folder / "doorward", "".join([SETTINGS, *guards]))
    yield service
    service.stop()


@pytest.fixture(scope="session", params=["none", "remote", "x-auth-request", "remote x-auth-request"])
def doorward_with_headers(request, folder):
    """A Doorward that sends these sets of identity headers."""
    service = Doorward(folder / f"doorward sending {request.param}", SETTINGS, request.param)
    yield service
    service.stop()


@pytest.fixture(scope="session")
def designated(doorward_with_headers):
    return doorward_with_headers.sign_up(DESIGNATED_NAME)


@pytest.fixture(scope="session")
def app(folder):
    app = EchoApp(Journal(folder / "journal"))
    yield app
    app.shutdown()
    app.server_close()


@pytest.fixture(scope="session")
def express(folder):
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, EXPRESS]
    subprocess.run(command, check=True, env=os.environ | {"PATH": PATH}, timeout=600)


@pytest.fixture(scope="session")
def start_integration(request, folder, doorward, app):
    """Starts the named integration with this guard. Equal calls share one process."""
    integrations = []

    @functools.cache
    def start_integration(name, guard="guard", auth_port=None, doorward=doorward, app_port=app.port, among=""):
        kind = KINDS[name]
        if name == "express":
            if not kind.available:
                pytest.skip(f"npm is missing; it comes with {kind.comes_from}")
            request.getfixturevalue("express")
        assert kind.available, f"{kind.program} is missing; it comes from {kind.comes_from}"
        place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder))
        integration = Integration(name, place, app.journal, guard, doorward, auth_port or doorward.port, app_port, among=among)
        integrations.append(integration)
        return integration

    yield start_integration
    for integration in integrations:
        integration.process.terminate()
    for integration in integrations:
        integration.stop()


@pytest.fixture(params=one_each(KINDS))
def integration(request, start_integration):
    return start_integration(request.param)


@pytest.fixture(params=one_each(KINDS))
def miles_integration(request, start_integration):
    """Admits only the user with the designated name."""
    return start_integration(request.param, "miles")


@pytest.fixture(params=one_each(PROXY_VERSIONS))
def proxy(request, start_integration):
    return start_integration(request.param)


@pytest.fixture(params=one_each(KINDS))
def integration_with_headers(request, start_integration, doorward_with_headers):
    """Admits only the user with the designated name, and sends the configured identity headers."""
    return start_integration(request.param, "miles", doorward=doorward_with_headers)


@pytest.fixture(params=one_each(KINDS))
def conditional(request, start_integration):
    """Admits a POST from this machine to a path that ends in /letter."""
    return start_integration(request.param, f"conditional-{KINDS[request.param].style}")


@pytest.fixture(params=one_each(KINDS))
def recorded_integration(request, start_integration, app):
    """Asks the app instead of Doorward, so that the journal records the authorization request."""
    return start_integration(request.param, auth_port=app.port)


@pytest.fixture(scope="session")
def ada(doorward):
    return doorward.sign_up("Ada Lovelace")


@pytest.fixture(scope="session")
def miles(doorward):
    return doorward.sign_up(DESIGNATED_NAME)
