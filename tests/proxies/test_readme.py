"""Runs the commands of the README in an empty folder and compares their output with the README."""

import contextlib
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

GUIDE = "Guard your app"
# The folder of the guide is in the home of whoever follows it.
FOLDER = "doorward-guide"
PORTS = 3000, 3100, 8000, 8080


def section(title=GUIDE):
    readme = (REPOSITORY / "README.md").read_text()
    return readme.split(f"## {title}\n")[1].split("\n## ")[0]


def blocks(language, title=GUIDE):
    found = re.findall(rf"^```{language}\n(.*?)^```$", section(title), re.MULTILINE | re.DOTALL)
    assert found, f"no {language} in the section"
    return found


def commands():
    return "".join(blocks("sh"))


def output():
    return "".join(blocks("text"))


def commands_before_the_end():
    """All but those that take the role away and stop the servers."""
    return "".join(blocks("sh")[:-1])


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
        # The commands may have left no process.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    await_free_ports()


def test_the_commands_wait_for_an_app_that_starts_late(shell, tmp_path):
    wrapper = tmp_path / "late" / "python3"
    wrapper.parent.mkdir()
    wrapper.write_text(f'#!/bin/sh\nsleep 5\nexec {os.sys.executable} "$@"\n')
    wrapper.chmod(0o755)
    assert shell(commands()) == (0, output())


def test_the_commands_print_what_the_readme_shows_twice_in_a_row(shell):
    assert shell(commands()) == (0, output())
    await_free_ports()
    assert shell(commands()) == (0, output())


def test_the_commands_work_again_while_the_servers_run(shell):
    *first, last = blocks("sh")
    role_is_taken_away = last.replace("kill $(jobs -p); wait\n", "")
    assert role_is_taken_away != last
    again = "".join([*first, role_is_taken_away])
    assert shell(again) == (0, output())
    assert shell(again) == (0, output())


def test_the_first_requests_print_what_the_readme_shows_and_a_repetition_is_told(shell):
    shown = "".join(blocks("text", "Try")).splitlines()
    start = "doorward > doorward.log 2>&1 &\nuntil curl -s localhost:3000; do sleep 0.1; done > /dev/null\n"
    status, printed = shell(start + "".join(blocks("sh", "Try")))
    assert status == 0
    registered, *rest = printed.splitlines()
    # The id and the token differ.
    start_of_token = r'","token":"eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiIsImtpZCI6'
    assert re.fullmatch(rf'{{"id":"[0-9a-f-]{{36}}{start_of_token}[^"]+"}}', registered)
    assert start_of_token in shown[0]
    assert rest == shown[1:]

    status, printed = shell("".join(blocks("sh", "Try")))
    assert status == 0
    refused, *rest = printed.splitlines()
    assert '{"email":"Already registered"}' in refused
    assert rest == shown[1:]


def status_of(url):
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as refusal:
        return refusal.code


def test_the_app_serves_its_own_folder_and_nothing_of_doorward(shell, tmp_path):
    assert shell(commands_before_the_end())[0] == 0
    app = "http://127.0.0.1:8080"
    assert status_of(f"{app}/index.html") == 200
    folder = tmp_path / FOLDER
    others = [path.relative_to(folder) for path in folder.rglob("*") if path.name not in ("app", "index.html")]
    assert Path("data/signing-key.pem") in others
    served = [str(path) for path in others if status_of(f"{app}/{path}") != 404]
    assert served == []
