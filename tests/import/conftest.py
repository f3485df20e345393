"""Starts services that import users."""

import pytest

pytest.register_assert_rewrite("people")

from harness.postgres import PostgreSQL  # noqa: E402
from people import Doorward  # noqa: E402


@pytest.fixture
def service(tmp_path):
    with Doorward(tmp_path / "service") as service:
        yield service


@pytest.fixture(scope="session")
def server():
    with PostgreSQL() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def new_database(request, tmp_path):
    """Makes an empty database of one kind; returns its URL."""

    def make(name):
        if request.param == "sqlite":
            # Its keys are beside it.
            folder = tmp_path / f"database-{name}"
            folder.mkdir()
            return f"sqlite://{folder}/doorward.db"
        server = request.getfixturevalue("server")
        return server.url(server.fresh_database())

    return make
