"""Starts PostgreSQL once for the run."""

import pytest

pytest.register_assert_rewrite("installation")

from installation import Installation  # noqa: E402
from harness.postgres import PostgreSQL  # noqa: E402


@pytest.fixture(scope="session")
def server():
    with PostgreSQL() as server:
        yield server


@pytest.fixture
def new_installation(tmp_path, request):
    """Makes an installation with an empty database of a kind."""
    numbers = iter(range(1000))

    def make(kind):
        folder = tmp_path / f"{kind}-{next(numbers)}"
        folder.mkdir()
        if kind == "sqlite":
            return Installation(folder)
        server = request.getfixturevalue("server")
        return Installation(folder, server.url(server.fresh_database()))

    return make
