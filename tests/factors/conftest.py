"""Starts services on both databases."""

import pytest

pytest.register_assert_rewrite("people")

from harness.databases import DATABASES  # noqa: E402
from people import FactorService, Person  # noqa: E402


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def database(request, tmp_path_factory):
    with DATABASES[request.param](tmp_path_factory.mktemp("database")) as database:
        yield database


@pytest.fixture(scope="session")
def service(database):
    with FactorService(database.url, mails=database.folder / "mails") as service:
        yield service


@pytest.fixture
def ada(service):
    return Person(service).sign_up().verify()
