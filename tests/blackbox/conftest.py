"""Starts the service once for the whole run, or uses the one that DOORWARD_URL names."""

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

pytest.register_assert_rewrite("support")

from harness import HOST  # noqa: E402
from harness.databases import DATABASES, Database  # noqa: E402
from harness.service import Service  # noqa: E402
from support import Client, fresh_email  # noqa: E402


class UsualService(Service):
    """Hashes passwords as users do. Tests compare requests with a hash, and a cheap one takes less time than the rest of a request."""

    defaults = {}


@dataclass(frozen=True)
class Target:
    """The service under test."""

    host: str
    port: int
    # None for a service that this run did not start.
    folder: Path | None = None
    database: Database | None = None


def pytest_addoption(parser):
    parser.addoption("--database", choices=DATABASES, default="sqlite", help="the database of the service")


@pytest.fixture(scope="session")
def service(tmp_path_factory, request):
    if url := os.environ.get("DOORWARD_URL"):
        parts = urlsplit(url)
        yield Target(parts.hostname, parts.port or 80)
        return

    folder = tmp_path_factory.mktemp("doorward")
    with DATABASES[request.config.getoption("--database")](folder) as database:
        with UsualService(folder, database=database.url, DOORWARD_METRICS_LISTEN="off") as service:
            yield Target(HOST, service.port, folder, database)
            code, _ = service.stop()
            assert code == 0, f"exit code after SIGTERM: {code}\n{service.output()}"


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
