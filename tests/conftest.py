"""What all suites share: tests that only `script/test --all` runs, cheap passwords, and a printed seed."""

import random

import pytest

pytest.register_assert_rewrite("harness.databases")

from harness import seed  # noqa: E402
from harness.process import CHEAP_PASSWORDS  # noqa: E402
from harness.service import Service  # noqa: E402

# Hundreds of passwords are hashed, and their cost is the subject of few tests. The lab and the benchmark hash as users do.
Service.defaults = CHEAP_PASSWORDS


def pytest_addoption(parser):
    parser.addoption("--all", action="store_true", help="also run the tests that are marked `long`")


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes long, or shows again what another test shows; needs --all")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--all"):
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if not item.get_closest_marker("long")]


def pytest_report_header():
    return seed.line()


@pytest.fixture(autouse=True)
def seeded(request):
    """The same chance for a test, whichever tests ran before it."""
    random.seed(f"{seed.SEED} {request.node.nodeid}")
