"""Every exception fits something, and every file that a reason names exists. Runs last, when the other tests have used them."""

import re

import pytest
from exceptions import DIFFERS, EXCEPTED, PROGRAMS, TABLES, used
from harness import REPOSITORY


def test_every_file_that_a_reason_names_exists():
    reasons = [*EXCEPTED.values(), *PROGRAMS.values(), *DIFFERS.values()]
    named = {name for reason in reasons for name in re.findall(r"\b(?:tests|lab|script)/[\w/.]+\w", reason)}
    assert [name for name in sorted(named) if not (REPOSITORY / name).exists()] == []


def test_no_exception_is_stale(request):
    selected = {item.path.name for item in request.session.items}
    everything = {path.name for path in request.path.parent.glob("test_*.py")}
    if selected != everything or request.config.getoption("-k") or any("::" in argument for argument in request.config.args):
        pytest.skip("only some of the tests run")
    every = {(name, entry) for name, table in TABLES.items() for entry in table}
    assert sorted(every - used, key=str) == []
