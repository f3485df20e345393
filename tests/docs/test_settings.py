"""Starts a server with each block of settings of the documents."""

import signal
import subprocess

import pytest
from documents import Block, blocks
from exceptions import is_excepted
from harness import BINARY, PATIENCE_SECONDS
from harness.process import Process, environment
from stage import places

SETTINGS = [block for block in blocks("toml") if not is_excepted(block.document, block.first)]


def start(folder, block):
    """Starts a server with these settings, which ends as soon as it listens. Returns what it has said if it does not."""
    text = block.text
    for place, here in places(folder).items():
        text = text.replace(place, here)
    (folder / "doorward.toml").write_text(text)
    variables = environment(DOORWARD_LISTEN="127.0.0.1:0")
    checked = subprocess.run([BINARY, "config"], cwd=folder, env=variables, capture_output=True, text=True)
    if checked.returncode:
        return checked.stderr
    with Process([BINARY], folder / "log", folder=folder, variables=variables) as server:
        try:
            server.wait_until(lambda: '"message":"listening"' in server.text())
        except RuntimeError as error:
            return str(error)
        server.process.send_signal(signal.SIGTERM)
        return "" if server.process.wait(PATIENCE_SECONDS) == 0 else server.text()


@pytest.mark.parametrize("block", SETTINGS, ids=lambda block: block.place)
def test_a_server_starts_with_the_settings(block, tmp_path):
    assert start(tmp_path, block) == ""


def test_settings_that_do_not_start_are_found(tmp_path):
    wrong = '[[guards]]\nname = "reports"\nallow = "true"\n'
    assert "guards" in start(tmp_path, Block("docs/x.md", 1, "toml", wrong))
