"""script/check-advisories against a made-up database."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "script" / "check-advisories"
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def load():
    loader = importlib.machinery.SourceFileLoader("check_advisories", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("requirement", "inside", "outside"),
    [
        (">= 1.2.3", "1.2.3 1.2.4 1.10.0 2.0.0-beta", "1.2.2 1.2.3-rc.1 0.9.9"),
        ("> 1.2.3", "1.2.4 1.2.4-alpha", "1.2.3 1.2.3+build"),
        ("> 1.2", "1.3.0", "1.2.9 1.2.0"),
        ("< 1.2.3", "1.2.2 1.2.3-rc.1 0.0.0", "1.2.3"),
        ("<=1.2.3", "1.2.3 1.0.0", "1.2.4 1.2.4-alpha"),
        ("<= 1.2", "1.2.9", "1.3.0 1.3.0-rc"),
        ("=0.3.1", "0.3.1", "0.3.2 0.3.0"),
        ("^0.2.5", "0.2.5 0.2.9", "0.3.0 0.2.4 0.3.0-alpha"),
        ("^ 0.0.3", "0.0.3", "0.0.4"),
        ("1.2", "1.2.0 1.9.9", "2.0.0 1.1.9 2.0.0-rc.1"),
        ("0.0", "0.0.9", "0.1.0"),
        ("~1.2.3", "1.2.3 1.2.9", "1.3.0"),
        ("~1", "1.9.0", "2.0.0"),
        ("1.2.*", "1.2.0 1.2.9", "1.3.0"),
        ("*", "0.0.0 9.9.9", ""),
        (">= 0.8.4, < 0.9.0", "0.8.4 0.8.9", "0.8.3 0.9.0"),
        ("< 0.5, >= 0.4.1", "0.4.1", "0.5.0 0.4.0"),
        (">= 1.0.0-beta.2", "1.0.0 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc", "1.0.0-beta.1 1.0.0-alpha"),
    ],
)
def test_versions_are_compared_as_cargo_compares_them(requirement, inside, outside):
    script = load()
    for text in inside.split():
        assert script.admits(requirement, script.version(text)), f"{text} in {requirement}"
    for text in outside.split():
        assert not script.admits(requirement, script.version(text)), f"{text} in {requirement}"


@pytest.fixture
def check(tmp_path):
    """Runs the script with these rules; the lock has one crate of each kind."""
    database = tmp_path / "advisory-db"

    def add(identifier, crate, more):
        path = database / "crates" / crate / f"{identifier}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        head = f'[advisory]\nid = "{identifier}"\npackage = "{crate}"\ndate = "2026-01-02"\n'
        path.write_text(f"```toml\n{head}{more}\n```\n\n# What is wrong\n\nText.\n")

    add("RUSTSEC-2026-0001", "holey", '[versions]\npatched = [">= 2.0.0"]\nunaffected = ["< 1.0.0"]')
    add("RUSTSEC-2026-0002", "patched", '[versions]\npatched = ["^1.0.5", ">= 2.0.1"]')
    add("RUSTSEC-2026-0003", "left", 'informational = "unmaintained"\n[versions]\npatched = []')
    add("RUSTSEC-2026-0004", "mistaken", 'withdrawn = "2026-01-03"\n[versions]\npatched = []')
    add("RUSTSEC-2026-0005", "ours", "[versions]\npatched = []")
    lock = tmp_path / "Cargo.lock"
    crates = [("holey", "1.5.0"), ("patched", "1.0.5"), ("left", "0.1.0"), ("mistaken", "1.0.0")]
    packages = [f'[[package]]\nname = "{name}"\nversion = "{number}"\nsource = "{CRATES_IO}"\n' for name, number in crates]
    lock.write_text("".join(packages) + '[[package]]\nname = "ours"\nversion = "0.1.0"\n')
    environment = {**os.environ, "CARGO_HOME": str(tmp_path / "cargo"), "HOME": str(tmp_path)}
    environment.pop("ADVISORY_DB", None)

    def run(rules="", arguments=(str(database),)):
        (tmp_path / "rules.toml").write_text(rules)
        command = [sys.executable, SCRIPT, *arguments, "--lock", lock, "--rules", tmp_path / "rules.toml"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    run.database = database
    run.home = tmp_path / "cargo"
    return run


def rule(identifier, reason="not reachable"):
    return f'[[advisory]]\nid = "{identifier}"\nreason = "{reason}"\n'


def test_each_advisory_that_applies_is_named(check):
    status, _, errors = check()
    assert status == 1
    assert errors.splitlines() == [
        "check-advisories: holey 1.5.0: RUSTSEC-2026-0001 (vulnerability): What is wrong",
        "check-advisories: left 0.1.0: RUSTSEC-2026-0003 (unmaintained): What is wrong",
    ]


def test_an_exception_needs_a_reason_and_must_apply(check):
    both = rule("RUSTSEC-2026-0001") + rule("RUSTSEC-2026-0003")
    status, told, errors = check(both)
    assert (status, errors) == (0, "")
    assert told == "4 crates, no other advisory of 5 applies; the latest is of 2026-01-02\n"
    status, _, errors = check(both + rule("RUSTSEC-2026-0002"))
    assert (status, errors) == (1, "check-advisories: unused rule: RUSTSEC-2026-0002 does not apply\n")
    assert check(rule("RUSTSEC-2026-0001", reason=""))[0] == 1


def test_without_a_database_nothing_passes_for_a_check(check):
    status, told, errors = check(arguments=())
    assert (status, told) == (3, "")
    assert "NOT CHECKED" in errors and "git clone" in errors
    status, told, errors = check(arguments=(str(check.database / "nowhere"),))
    assert (status, told) == (1, "") and "holds no advisories" in errors


def test_the_copy_of_other_tools_is_found(check):
    check.home.mkdir()
    (check.home / "advisory-db").symlink_to(check.database)
    assert check(arguments=())[0] == 1
