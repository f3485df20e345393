"""Puts the test of the exceptions last: it sees which of them the others have used."""

import subprocess

import pytest
from harness import BINARY, PATIENCE_SECONDS
from harness.process import environment


def pytest_collection_modifyitems(items):
    items.sort(key=lambda item: item.path.name == "test_exceptions.py")


@pytest.fixture(scope="session")
def doorward():
    """Runs a command in a folder, and returns what it prints."""

    def run(*arguments, folder):
        done = subprocess.run(
            [BINARY, *arguments], cwd=folder, env=environment(), capture_output=True, text=True, timeout=PATIENCE_SECONDS
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run
