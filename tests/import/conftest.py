"""Starts services that import users."""

import pytest

pytest.register_assert_rewrite("people")

from harness.databases import DATABASES  # noqa: E402
from people import Doorward  # noqa: E402


@pytest.fixture
def service(tmp_path):
    with Doorward(tmp_path / "service") as service:
        yield service


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def two_databases(request, tmp_path_factory):
    """Two empty databases of one kind."""
    one, other = (DATABASES[request.param](tmp_path_factory.mktemp("database")) for _ in range(2))
    with one as first, other as second:
        yield first.url, second.url
