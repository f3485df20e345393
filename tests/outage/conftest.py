"""A PostgreSQL that a test stops, and instances of Doorward on it."""

import pytest

from harness.postgres import PostgreSQL
from harness.service import Service


@pytest.fixture
def server():
    with PostgreSQL() as server:
        yield server


@pytest.fixture
def instances(server):
    """Two instances on one database. The grace is longer than any test."""
    database = server.url(server.fresh_database())
    with (
        Service(database=database, DOORWARD_DATABASE_OUTAGE_GRACE="1h") as one,
        Service(database=database, DOORWARD_DATABASE_OUTAGE_GRACE="1h") as two,
    ):
        yield [one, two]
