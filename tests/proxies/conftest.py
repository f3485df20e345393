"""Starts Doorward and the app once, and every door when a test first needs it."""

import functools
import os
import subprocess
import tempfile
from pathlib import Path

import pytest

pytest.register_assert_rewrite("support")

from support import EXPRESS, KINDS, PATH, Door, Doorward, EchoApp, Journal  # noqa: E402

# Beyond ASCII, and with the character that percent-encoding itself uses.
DESIGNATED_NAME = "Míles 100% Davis"

SETTINGS = f"""
[designated]
name = "{DESIGNATED_NAME}"
"""

# A guard that looks at everything which a door says about a request.
SLOT = """
[guards.slot-{style}]
proxy = "{style}"
preflight = true
allow = '''
    request.method == "POST" && request.path.endsWith("/letter") && request.scheme == "http"
        && request.host == "127.0.0.1" && request.address == "127.0.0.1"
'''
"""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("proxies")


@pytest.fixture(scope="session")
def doorward(folder):
    styles = sorted({kind.style for kind in KINDS.values()})
    slots = [SLOT.format(style=style) for style in styles]
    service = Doorward(folder / "doorward", "".join([SETTINGS, *slots]))
    yield service
    service.stop()


@pytest.fixture(scope="session", params=["none", "remote", "x-auth-request", "remote x-auth-request"])
def telling_doorward(request, folder):
    """Sends the sets of identity headers that are on."""
    service = Doorward(folder / f"doorward telling {request.param}", SETTINGS, request.param)
    yield service
    service.stop()


@pytest.fixture(scope="session")
def designated(telling_doorward):
    return telling_doorward.sign_up(DESIGNATED_NAME)


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
def open_door(request, folder, doorward, app):
    """Starts the named door before the given guard; the same door is started once."""
    doors = []

    @functools.cache
    def open_door(name, guard="guard", asks=None, doorward=doorward):
        kind = KINDS[name]
        if name == "express":
            if not kind.available:
                pytest.skip(f"npm is missing; it comes with {kind.comes_from}")
            request.getfixturevalue("express")
        assert kind.available, f"{kind.program} is missing; it comes from {kind.comes_from}"
        place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=folder))
        door = Door(name, place, app.journal, guard, doorward, asks or doorward.port, app.port)
        doors.append(door)
        return door

    yield open_door
    for door in doors:
        door.process.terminate()
    for door in doors:
        door.stop()


@pytest.fixture(params=KINDS)
def door(request, open_door):
    return open_door(request.param)


@pytest.fixture(params=KINDS)
def miles_door(request, open_door):
    """Opens for the user with the designated name only."""
    return open_door(request.param, "miles")


@pytest.fixture(params=[name for name, kind in KINDS.items() if not kind.is_app])
def proxy(request, open_door):
    return open_door(request.param)


@pytest.fixture(params=KINDS)
def telling_door(request, open_door, telling_doorward):
    """Opens for the user with the designated name, with the identity headers that are on."""
    return open_door(request.param, "miles", doorward=telling_doorward)


@pytest.fixture(params=KINDS)
def slot(request, open_door):
    """Takes letters: a POST to a path that ends so, from this machine and under its address."""
    return open_door(request.param, f"slot-{KINDS[request.param].style}")


@pytest.fixture(params=KINDS)
def overheard_door(request, open_door, app):
    """Asks the app in place of Doorward, so that the question itself can be read in the journal."""
    return open_door(request.param, asks=app.port)


@pytest.fixture(scope="session")
def ada(doorward):
    return doorward.sign_up("Ada Lovelace")


@pytest.fixture(scope="session")
def miles(doorward):
    return doorward.sign_up(DESIGNATED_NAME)
