"""Makes the modules of the lab and the databases of the black-box suite importable."""

import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
sys.path += [str(TESTS.parent / "lab"), str(TESTS / "blackbox")]
pytest.register_assert_rewrite("people")

from databases import DATABASES  # noqa: E402
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
