"""A running Doorward."""

import contextlib
import json
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from itertools import count
from pathlib import Path

from harness import BINARY, HOST, PATIENCE_SECONDS
from harness.connection import Connection, get, post
from harness.process import environment
from harness.stall import Span

STOP_SECONDS = 15


class Service:
    """A running service in a temporary or the given folder, stopped at the end of the `with` block.

    It keeps its users in that folder, or in the database given by its URL, and is started through another program if
    that is given by its command line. It listens on a port of its own choice, or on the given one."""

    # Settings of every service that is not given others.
    defaults = {}

    _numbers = count(1)

    def __init__(self, folder=None, settings="", database=None, through=(), port=0, **variables):
        self._cleanup = contextlib.ExitStack()
        self.folder = Path(folder or self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="doorward-test-")))
        self.settings = self.defaults | variables | ({"DOORWARD_DATABASE_URL": database} if database else {})
        self._through = through
        self._chosen_port, self._port = port, port
        if settings:
            (self.folder / "doorward.toml").write_text(settings)

    @property
    def pid(self):
        return self.process.pid

    @property
    def port(self):
        if not self._port:
            found = re.findall(r'"message":"listening","address":"\S+:(\d+)"', self.output())
            if not found:
                raise ConnectionRefusedError("it does not listen yet")
            self._port = int(found[-1])
        return self._port

    def __enter__(self):
        self.launch()
        try:
            self.wait()
        except BaseException:
            self.__exit__()
            raise
        return self

    def launch(self, keep_output=False):
        """Starts the service without waiting for it."""
        if threading.current_thread() is threading.main_thread():
            # SIGTERM to a command of the lab must stop its service, too.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        with open(self.folder / "output", "ab" if keep_output else "wb") as output:
            self._started = time.monotonic()
            self._port = self._chosen_port
            try:
                self.process = subprocess.Popen(
                    [*self._through, BINARY], cwd=self.folder, env=self.variables(), stdout=output, stderr=output
                )
            except OSError as error:
                sys.exit(f"{error}: build it with `cargo build --release`, or set DOORWARD_BIN")

    def wait(self):
        """Waits for the first answer, and records how long the start took."""
        self._wait_for_an_answer(self._started + PATIENCE_SECONDS)
        self.start = Span(self._started, time.monotonic())

    def run(self, *arguments):
        """Runs a command of the binary with the same settings; returns its output."""
        command = [BINARY, *arguments]
        return subprocess.check_output(command, cwd=self.folder, env=self.variables(), text=True)

    def variables(self):
        """The environment of the service and its commands."""
        own = {
            "DOORWARD_LISTEN": f"{HOST}:{self._port}",
            "DOORWARD_METRICS_LISTEN": f"{HOST}:0",
            # Clients of the tests keep connections that they do not use again.
            "DOORWARD_LIMITS_STOP_GRACE": "0s",
            "DOORWARD_DATABASE_URL": f"sqlite://{self.folder}/doorward.db",
        }
        return environment() | own | self.settings

    def output(self):
        return (self.folder / "output").read_text(errors="replace")

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()
        elif self.process.returncode not in (0, -signal.SIGKILL):
            print(f"The service exited unexpectedly ({self.process.returncode}):\n{self._tail()}", file=sys.stderr)
        self._cleanup.close()

    def stop(self):
        """Stops the service; returns the exit code (None if it had to be killed) and the seconds that it took."""
        started = time.perf_counter()
        self.process.terminate()
        try:
            code = self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            code = None
        return code, time.perf_counter() - started

    def kill(self):
        """Kills the service without a warning. `launch` starts it again."""
        self.process.kill()
        self.process.wait()

    def connect(self):
        return Connection(self.port)

    def sign_up(self, password=None):
        """Registers a new user; returns the e-mail address and a token."""
        email = f"member-{next(self._numbers):06}@example.com"
        fields = {"name": "Ada Lovelace", "email": email} | ({"password": password} if password else {})
        with self.connect() as connection:
            answer = connection.exchange(post("/api/user", fields))
        if answer.status != 201:
            sys.exit(f"sign-up answered {answer.status}: {answer.body.decode(errors='replace')}")
        return email, json.loads(answer.body)["token"]

    def rss(self):
        """Resident memory now, in MiB."""
        return self._memory("VmRSS")

    def private_memory(self):
        """Resident memory without the pages of files, which the kernel can drop and read again, in MiB."""
        return self._memory("RssAnon")

    def peak_rss(self):
        """The most resident memory so far, in MiB."""
        return self._memory("VmHWM")

    def _memory(self, field):
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1024

    def _wait_for_an_answer(self, deadline):
        while True:
            try:
                with self.connect() as connection:
                    connection.exchange(get("/api/user/x"))
                    return
            except OSError as error:
                has_ended, is_late = self.process.poll() is not None, time.monotonic() > deadline
                if has_ended and not is_late and "the database is unavailable" in self.output():
                    # A stalled machine kept PostgreSQL from answering in time. A service manager would start it again.
                    self.launch(keep_output=True)
                elif has_ended or is_late:
                    sys.exit(f"the service does not answer ({error}):\n{self._tail()}")
                # Often enough to measure a start to a twentieth, without taking the CPU that the service starts with.
                time.sleep(min((time.monotonic() - self._started) / 20, 0.05))

    def _tail(self):
        return "\n".join(self.output().splitlines()[-20:])
