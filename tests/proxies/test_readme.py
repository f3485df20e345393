"""Runs the commands of the README in an empty folder and compares their output with the README."""

import os
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from harness import BINARY, REPOSITORY
from harness.ports import ports_of_the_readme
from harness.process import environment

SECTION = "Guard your app"
PORTS = 3000, 8000, 8080


def section():
    readme = (REPOSITORY / "README.md").read_text()
    return readme.split(f"## {SECTION}\n")[1].split("\n## ")[0]


def blocks(language):
    found = re.findall(rf"^```{language}\n(.*?)^```$", section(), re.MULTILINE | re.DOTALL)
    assert found, f"no {language} in the section"
    return "".join(found)


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def await_free_ports():
    deadline = time.monotonic() + 30
    while taken := [port for port in PORTS if not is_free(port)]:
        assert time.monotonic() < deadline, f"the README needs ports that are in use: {taken}"
        time.sleep(0.05)


@pytest.fixture
def shell(tmp_path):
    """Runs a script, and ends the processes that it left in the background."""
    with ports_of_the_readme():
        yield from shell_with_free_ports(tmp_path)


def shell_with_free_ports(tmp_path):
    await_free_ports()
    settings = environment()
    # caddy comes from the test environment, doorward from the build.
    venv = Path(os.sys.executable).parent
    late = tmp_path / "late"
    settings |= {"PATH": f"{late}:{BINARY.parent}:{venv}:{settings['PATH']}", "HOME": str(tmp_path)}
    script = tmp_path / "readme.sh"
    running = []

    def run(commands):
        script.write_text(commands)
        process = subprocess.Popen(
            ["bash", "-eu", script],
            cwd=tmp_path,
            env=settings,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        running.append(process)
        # Background processes write elsewhere, so this returns when the script ends.
        output, _ = process.communicate(timeout=180)
        return process.returncode, output

    yield run
    for process in running:
        os.killpg(process.pid, signal.SIGTERM)
    await_free_ports()


def test_the_commands_wait_for_an_app_that_starts_late(shell, tmp_path):
    wrapper = tmp_path / "late" / "python3"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nsleep 5\nexec {os.sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    assert shell(blocks("sh")) == (0, blocks("text"))


def test_the_commands_print_what_the_readme_shows(shell):
    assert shell(blocks("sh")) == (0, blocks("text"))


def status_of(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as refusal:
        return refusal.code


def test_the_app_serves_its_own_folder_and_nothing_of_doorward(shell, tmp_path):
    assert shell(blocks("sh")) == (0, blocks("text"))
    app = "http://127.0.0.1:8080"
    assert status_of(f"{app}/index.html") == 200
    others = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.name != "index.html"]
    assert Path("data/signing-key.pem") in others
    served = [str(path) for path in others if status_of(f"{app}/{path}") != 404]
    assert served == []
