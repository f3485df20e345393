"""Programs that tests start: their environment, their output in a file, and their end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from harness import PATIENCE_SECONDS

STOP_SECONDS = 20
# Programs of the test environment come first. Some system packages are installed outside a normal user's PATH.
PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"], "/usr/sbin", "/sbin"])

# The least that hashing a password may cost.
CHEAP_PASSWORDS = {"DOORWARD_PASSWORD_MEMORY_KIB": "7168", "DOORWARD_PASSWORD_PASSES": "1"}


def environment(**more):
    """The environment without settings of Doorward."""
    return {name: value for name, value in os.environ.items() if not name.startswith("DOORWARD_")} | more


def freeze(pid):
    """Stops a process until SIGCONT. A thread may run on for a moment after the signal, so this waits for all of them."""
    os.kill(pid, signal.SIGSTOP)
    deadline = time.monotonic() + PATIENCE_SECONDS
    while set(_thread_states(pid)) != {"T"}:
        assert time.monotonic() < deadline, f"process {pid} does not stop"
        time.sleep(0.001)


def _thread_states(pid):
    return [stat.read_text().rpartition(") ")[2][0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]


class Process:
    """A program that runs until the end of the `with` block."""

    def __init__(self, command, log, *, folder=None, variables=None, **options):
        self._command, self.log = list(map(str, command)), Path(log)
        self._options = {"cwd": folder, "env": environment(PATH=PATH) if variables is None else variables} | options
        self.launch()

    def launch(self):
        """Starts the program, again after `stop`."""
        with open(self.log, "ab") as output:
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, **self._options
            )

    def wait_until(self, holds):
        """Waits until this is true, and returns its value."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not (outcome := holds()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                self.stop()
                raise RuntimeError(f"{self._command[0]} did not start:\n{self.text()}")
            time.sleep(0.02)
        return outcome

    def text(self):
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    def stop(self):
        """Stops the program; returns its exit code, or None if it had to be killed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
