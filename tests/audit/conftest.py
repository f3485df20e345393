"""Starts PostgreSQL once for the run."""

import pytest

pytest.register_assert_rewrite("trail")

from harness.postgres import PostgreSQL  # noqa: E402
from trail import Installation  # noqa: E402


@pytest.fixture(scope="session")
def server():
    with PostgreSQL() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def installation(request, tmp_path):
    """An installation with an empty database of each kind."""
    if request.param == "sqlite":
        return Installation(tmp_path)
    server = request.getfixturevalue("server")
    name = server.fresh_database()
    return Installation(tmp_path, server.url(name), lambda statement: server.query(statement, name))


@pytest.fixture
def sqlite(tmp_path):
    return Installation(tmp_path)
