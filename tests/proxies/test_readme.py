"""Follows the README to the letter: its commands, in a folder of one's own, say what it says they do."""

import os
import re
import signal
import socket
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BINARY = REPOSITORY / os.environ.get("DOORWARD_BIN", "target/release/doorward")
SECTION = "Guard your app in five minutes"
PORTS = 3000, 8000, 8080


def blocks(language):
    readme = (REPOSITORY / "README.md").read_text()
    section = readme.split(f"## {SECTION}\n")[1].split("\n## ")[0]
    found = re.findall(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    assert found, f"no {language} in the section"
    return "".join(found)


def is_free(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture
def shell(tmp_path):
    """Runs a script, and ends whatever it left in the background."""
    taken = [port for port in PORTS if not is_free(port)]
    assert not taken, f"the README uses ports that something else listens on: {taken}"
    settings = {name: value for name, value in os.environ.items() if not name.startswith("DOORWARD_")}
    # caddy comes into the environment of the tests; doorward is the one just built.
    venv = Path(os.sys.executable).parent
    settings |= {"PATH": f"{BINARY.parent}:{venv}:{settings['PATH']}", "HOME": str(tmp_path)}
    script = tmp_path / "five-minutes"
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
        # What stays in the background has its own output, so this ends with the script.
        said, _ = process.communicate(timeout=180)
        return process.returncode, said

    yield run
    for process in running:
        os.killpg(process.pid, signal.SIGTERM)


def test_the_five_minutes_go_as_the_readme_says(shell):
    assert shell(blocks("sh")) == (0, blocks("text"))
