"""Starts the service once for the whole run, or uses the one that DOORWARD_URL names."""

import contextlib
import os
import random
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

pytest.register_assert_rewrite("support")
sys.path.append(str(Path(__file__).resolve().parents[2] / "lab"))

from databases import DATABASES, Database  # noqa: E402
from support import Client, fresh_email  # noqa: E402

REPOSITORY = Path(__file__).resolve().parents[2]
START_SECONDS = 60
STOP_SECONDS = 20


@dataclass(frozen=True)
class Service:
    host: str
    port: int
    # None for a service that this run did not start.
    folder: Path | None = None
    database: Database | None = None


def pytest_addoption(parser):
    parser.addoption("--database", choices=DATABASES, default="sqlite", help="the database of the service")


def free_port():
    """A port below the ephemeral ones, so that no connection takes it before its server listens."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_until_listening(process, port, log):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.02)
    process.kill()
    pytest.exit(f"the service did not start (exit code {process.wait()}):\n{log()}", returncode=1)


@pytest.fixture(scope="session")
def service(tmp_path_factory, request):
    if url := os.environ.get("DOORWARD_URL"):
        parts = urlsplit(url)
        yield Service(parts.hostname, parts.port or 80)
        return

    folder = tmp_path_factory.mktemp("doorward")
    with DATABASES[request.config.getoption("--database")](folder) as database:
        yield from running(folder, database)


def running(folder, database):
    binary = REPOSITORY / os.environ.get("DOORWARD_BIN", "target/release/doorward")
    port = free_port()
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DOORWARD_")}
    settings = {
        "DOORWARD_LISTEN": f"127.0.0.1:{port}",
        "DOORWARD_METRICS_LISTEN": "off",
        "DOORWARD_DATABASE_URL": database.url,
    }

    def log():
        return "\n".join((folder / name).read_text(errors="replace") for name in ("stdout", "stderr"))

    with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
        process = subprocess.Popen([binary], cwd=folder, env=inherited | settings, stdout=out, stderr=err)
    wait_until_listening(process, port, log)
    try:
        yield Service("127.0.0.1", port, folder, database)
    finally:
        process.terminate()
        try:
            code = process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            code = "none: it was killed"
    assert code == 0, f"exit code after SIGTERM: {code}\n{log()}"


@pytest.fixture(scope="session")
def folder(service):
    if service.folder is None:
        pytest.skip("needs the data folder of the service")
    return service.folder


@pytest.fixture(scope="session")
def database(service):
    if service.database is None:
        pytest.skip("needs the database of the service")
    return service.database


@pytest.fixture(scope="session")
def signing_key(database):
    return load_pem_private_key(database.signing_key(), password=None)


@pytest.fixture(scope="session")
def api(service):
    client = Client(service.host, service.port)
    yield client
    client.close()


@pytest.fixture(scope="session")
def ada(api):
    """A user without a password, for tests that need a token but no login. The token is cached, because the service
    refuses uncached tokens of a session unchecked after many wrong signatures."""
    user = api.sign_up(name="Ada Lovelace")
    assert api.guard(user.token).status == 200
    return user


@pytest.fixture(scope="session")
def miles(api):
    return api.sign_up(name="Miles Davis")


@pytest.fixture(scope="session")
def member(api):
    """A user with a password."""
    return api.sign_up(name="Grace Hopper", email=fresh_email("Grace.Hopper"), password="correct horse battery")
