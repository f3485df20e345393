"""The command line of script/test."""

import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "script" / "test"


def run(*arguments):
    return subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_help_describes_all_forms():
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: script/test [--quick | --all]\n")


def test_two_forms_are_refused_before_anything_runs():
    done = run("--quick", "--all")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "script/test: --quick and --all exclude each other (try script/test --help)\n"


def test_an_unknown_argument_is_refused_before_anything_runs():
    for arguments, named in [(["--fast"], "--fast"), (["--quick", "all"], "all")]:
        done = run(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"script/test: unknown argument: {named} (try script/test --help)\n"
