"""Runs every command of docs/operate.md, in its order, against a real server, and compares the output with the page.

Folders of the test stand for those of the package. `systemctl start|stop doorward` and `journalctl` are small programs
of the test that start and stop the same binary and print its log: tests/package runs the package under systemd.
"""

import json
import os
import re
import subprocess
import time
import urllib.request

import pytest
from harness import BINARY, HOST, REPOSITORY
from harness.ports import reserved_port
from harness.process import environment

PAGE = REPOSITORY / "docs" / "operate.md"
# What a command that changes something says at its end. The page leaves it out: it is the same for all of them.
CHANGED_DATABASE = "database: /var/lib/doorward/doorward.db\n"
# The longest wait for a command or a start. The machine may be busy with other work.
PATIENCE_SECONDS = 120

SYSTEMCTL = """#!/bin/bash
set -eu
[[ $# == 2 && $2 == doorward ]]
case $1 in
start)
    doorward >>"$JOURNAL" 2>&1 </dev/null &
    echo $! >"$PID_FILE"
    # Type=notify makes systemctl wait until the service is ready.
    until doorward health >/dev/null; do kill -0 "$(<"$PID_FILE")"; done
    ;;
stop)
    kill "$(<"$PID_FILE")"
    while kill -0 "$(<"$PID_FILE")" 2>/dev/null; do sleep 0.05; done
    rm -f "$PID_FILE"
    ;;
*) exit 2 ;;
esac
"""
JOURNALCTL = """#!/bin/bash
[[ $* == "-u doorward -o cat" ]] && exec cat "$JOURNAL"
exit 2
"""


def commands():
    """Each command of the page with the exit code and the lines that it shows."""
    for block in re.findall(r"^```console\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            command, _, code = command.partition(" # exits with ")
            yield command, int(code or 0), shown.splitlines()


def is_shown(shown, printed):
    """Whether these are the lines that the page shows. `…` is any text, and alone on a line one line or more."""
    lines = (r"(?:.*\n)+" if line == "…" else re.escape(line).replace("…", ".+") + r"\n" for line in shown)
    return re.fullmatch("".join(lines), printed) is not None


@pytest.fixture
def machine(tmp_path):
    """Runs a command of the page on what looks like a machine with the package, where Doorward runs."""
    port, metrics_port = reserved_port(), reserved_port()
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    places = {
        "/var/backups/doorward": str(tmp_path / "backups"),
        "/var/lib/doorward": str(data),
        "127.0.0.1:9464": f"{HOST}:{metrics_port}",
    }
    programs = tmp_path / "programs"
    programs.mkdir()
    for name, text in {"systemctl": SYSTEMCTL, "journalctl": JOURNALCTL}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    (programs / "doorward").symlink_to(BINARY)
    work = tmp_path / "work"
    work.mkdir()
    pid_file = tmp_path / "pid"
    variables = environment() | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "DOORWARD_LISTEN": f"{HOST}:{port}",
        "DOORWARD_METRICS_LISTEN": f"{HOST}:{metrics_port}",
        "DOORWARD_DATABASE_URL": f"sqlite://{data}/doorward.db",
        "JOURNAL": str(tmp_path / "journal"),
        "PID_FILE": str(pid_file),
    }

    def run(command):
        for place, here in places.items():
            command = command.replace(place, here)
        # In a file, because a server that a command leaves running would keep a pipe open.
        with open(tmp_path / "output", "w+b") as output:
            code = subprocess.run(
                ["bash", "-o", "pipefail", "-c", command],
                cwd=work,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=PATIENCE_SECONDS,
            ).returncode
            output.seek(0)
            printed = output.read().decode()
        for place, here in places.items():
            printed = printed.replace(here, place)
        return code, printed

    try:
        assert run("systemctl start doorward") == (0, "")
        register(port)
        yield run
    finally:
        if pid_file.exists():
            run("systemctl stop doorward")


def register(port):
    body = {"name": "Ada Lovelace", "email": "ada@example.com", "password": "correct horse"}
    request = urllib.request.Request(
        f"http://{HOST}:{port}/api/user", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        assert answer.status == 201


# Commands that refuse the second time, and how: nothing is overwritten by chance.
REFUSED_AGAIN = {
    "doorward backup /": "exists: choose another name, or add --force to replace it",
    "doorward restore /var/backups/doorward/monday --database-url": "--replace",
    "doorward export --user": "exists: name another file, or remove it",
}


def test_every_command_of_the_page_works_again(machine):
    """Only the figures differ then, so the output is not compared."""
    for command, expected, _ in commands():
        machine(command)
    for command, expected, _ in commands():
        code, printed = machine(command)
        refusal = next((text for begins, text in REFUSED_AGAIN.items() if command.startswith(begins)), None)
        # The backup that was missing at first is there.
        expected = 0 if command == "doorward doctor" else expected
        assert code == (1 if refusal else expected), f"{command} exits with {code}:\n{printed}"
        assert not refusal or refusal in printed, f"{command} prints:\n{printed}"


def test_a_trial_restore_on_a_host_with_postgresql_needs_the_flag_that_the_page_names(machine):
    assert "with `data_folder` for PostgreSQL, add `--data-folder none`" in PAGE.read_text()
    restore = next(command for command, *_ in commands() if "--database-url" in command)
    assert machine("mkdir -p /var/backups/doorward && doorward backup /var/backups/doorward/monday")[0] == 0
    settings = 'database_url = "postgres://db.example.com/doorward"\ndata_folder = "/var/lib/doorward"\n'
    machine(f"printf '%s' '{settings}' > doorward.toml")
    # Otherwise the variables of the test stand before the file.
    restore = f"env -u DOORWARD_DATABASE_URL {restore}"
    code, printed = machine(restore)
    assert code == 2 and "data_folder" in printed, printed
    assert machine(f"{restore} --data-folder none")[0] == 0
    users = restore.split("--")[1].join(["env -u DOORWARD_DATABASE_URL doorward user list --", " --data-folder none"])
    code, printed = machine(users)
    assert code == 0 and "ada@example.com" in printed, printed


def test_every_command_of_the_page_prints_what_the_page_shows(machine):
    steps = list(commands())
    # None of the blocks is misread.
    assert len(steps) == len(re.findall(r"(?m)^\$ ", PAGE.read_text()))
    for command, expected, shown in steps:
        code, printed = machine(command)
        # A thread of the server writes the log.
        deadline = time.monotonic() + PATIENCE_SECONDS
        while command.startswith("journalctl") and not is_shown(shown, printed) and time.monotonic() < deadline:
            code, printed = machine(command)
        assert code == expected, f"{command} exits with {code}:\n{printed}"
        printed = printed.removesuffix(CHANGED_DATABASE)
        assert is_shown(shown, printed), f"{command} prints:\n{printed}"
