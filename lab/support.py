"""Shared code of the lab's commands: a service to measure, a fast HTTP client, worker processes, and the report.

Linux only: memory is read from /proc.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
HOST = "127.0.0.1"
LOGIN = "/api/auth/login"
GUARD = "/api/auth/guard"
START_SECONDS = 60
STOP_SECONDS = 15
FORK = multiprocessing.get_context("fork")
CORES = len(os.sched_getaffinity(0))


def arguments(doc, **options):
    """Parses the command line. Each option has a default (a number, or False for a switch) and a help text."""
    parser = argparse.ArgumentParser(
        description=doc,
        epilog="Runs target/release/doorward or what DOORWARD_BIN names; exits with 1 if a bound is not met.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, (default, text) in options.items():
        if default is False:
            parser.add_argument(f"--{name}", action="store_true", help=text)
            continue
        text += f" (default {default})"
        parser.add_argument(f"--{name}", type=positive, default=default, metavar="N", help=text)
    return parser.parse_args()


def positive(text):
    if (number := int(text)) < 1:
        raise ValueError
    return number


# --- the service -----------------------------------------------------------------------------------------------------


class Service:
    """A running service in a temporary or the given folder, stopped at the end of the `with` block.

    It keeps its users in that folder, or in the database given by its URL, and is started through another program if
    that is given by its command line."""

    _numbers = count(1)

    def __init__(self, folder=None, settings="", database=None, through=(), **environment):
        self._cleanup = contextlib.ExitStack()
        self._folder = Path(folder or self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="doorward-lab-")))
        self._environment = environment | ({"DOORWARD_DATABASE_URL": database} if database else {})
        self._through = through
        self.port = free_port()
        if settings:
            (self._folder / "doorward.toml").write_text(settings)

    @property
    def pid(self):
        return self._process.pid

    @staticmethod
    def binary():
        return REPOSITORY / os.environ.get("DOORWARD_BIN", "target/release/doorward")

    def __enter__(self):
        self.launch()
        self.wait()
        return self

    def launch(self):
        """Starts the service without waiting for it."""
        # SIGTERM to the command must stop its service, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        with open(self._folder / "output", "wb") as output:
            self._started = time.monotonic()
            try:
                self._process = subprocess.Popen(
                    [*self._through, self.binary()], cwd=self._folder, env=self._settings(), stdout=output, stderr=output
                )
            except OSError as error:
                sys.exit(f"{error}: build it with `cargo build --release`, or set DOORWARD_BIN")

    def wait(self):
        """Waits for the first answer, and records how long the start took."""
        try:
            self._wait_for_an_answer(self._started + START_SECONDS)
        except BaseException:
            self.__exit__()
            raise
        self.start = Span(self._started, time.monotonic())

    def run(self, *arguments):
        """Runs a command of the binary with the same settings; returns its output."""
        command = [self.binary(), *arguments]
        return subprocess.check_output(command, cwd=self._folder, env=self._settings(), text=True)

    def _settings(self):
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("DOORWARD_")}
        own = {
            "DOORWARD_LISTEN": f"{HOST}:{self.port}",
            "DOORWARD_METRICS_LISTEN": f"{HOST}:0",
            "DOORWARD_DATABASE_URL": f"sqlite://{self._folder}/doorward.db",
        }
        return inherited | own | self._environment

    def __exit__(self, *_):
        if self._process.poll() is None:
            self.stop()
        elif self._process.returncode not in (0, -signal.SIGKILL):
            print(f"The service exited unexpectedly ({self._process.returncode}):\n{self._tail()}", file=sys.stderr)
        self._cleanup.close()

    def stop(self):
        """Stops the service; returns the exit code (None if it had to be killed) and the seconds that it took."""
        started = time.perf_counter()
        self._process.terminate()
        try:
            code = self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            code = None
        return code, time.perf_counter() - started

    def kill(self):
        """Kills the service without a warning. `launch` starts it again."""
        self._process.kill()
        self._process.wait()

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

    def peak_rss(self):
        """The most resident memory so far, in MiB."""
        return self._memory("VmHWM")

    def _memory(self, field):
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1024

    def _wait_for_an_answer(self, deadline):
        while True:
            try:
                with self.connect() as connection:
                    connection.exchange(get("/api/user/x"))
                    return
            except OSError as error:
                if time.monotonic() > deadline or self._process.poll() is not None:
                    sys.exit(f"the service does not answer ({error}):\n{self._tail()}")
                time.sleep(0.0005)

    def _tail(self):
        return "\n".join((self._folder / "output").read_text(errors="replace").splitlines()[-20:])


def free_port():
    """A port below the ephemeral ones, so that no connection takes it before its server listens."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind((HOST, port))
            return port


# --- HTTP ------------------------------------------------------------------------------------------------------------


def get(path, token=None):
    return request("GET", path, token)


def post(path, fields, token=None):
    return request("POST", path, token, json.dumps(fields))


def request(method, path, token=None, body=None):
    head = [f"{method} {path} HTTP/1.1", "Host: lab"]
    if token:
        head.append(f"Authorization: Bearer {token}")
    if body is not None:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "", body or ""]).encode()


@dataclass(frozen=True)
class Answer:
    status: int
    head: bytes
    body: bytes

    @property
    def visible(self):
        """Everything that a caller sees, except for the date and the request id."""
        return re.sub(rb"(?im)^(date|x-request-id):.*$", rb"\1", self.head), self.body


class Connection:
    """A keep-alive connection with little overhead, for measurements."""

    def __init__(self, port, timeout=60):
        self._socket = socket.create_connection((HOST, port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def exchange(self, request):
        self.send(request)
        return self.receive()

    def send(self, request):
        self._socket.sendall(request)

    def receive(self):
        received = self._more()
        while b"\r\n\r\n" not in received:
            received += self._more()
        head, _, body = received.partition(b"\r\n\r\n")
        announced = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        length = int(announced[1]) if announced else 0
        while len(body) < length:
            body += self._more()
        return Answer(int(head[9:12]), head, body)

    def _more(self):
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("closed by the service")
        return received


# --- worker processes ------------------------------------------------------------------------------------------------


class Worker:
    """Runs a function in its own process, because threads of one Python process slow each other down."""

    def __init__(self, function, *args, niceness=0):
        self._result, result = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=self._run, args=(result, niceness, function, args), daemon=True)
        self._process.start()
        result.close()

    @staticmethod
    def _run(result, niceness, function, args):
        # SIGTERM ends the worker immediately. An exception would not reach its other threads.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.nice(niceness)
        result.send(function(*args))

    def result(self):
        """Waits for the function's result."""
        try:
            return self._result.recv()
        except EOFError:
            sys.exit("a worker process of the lab failed")
        finally:
            self._process.join()


class Probe:
    """Calls the guard at a steady rate, on one connection or on a new one each time, until it is stopped."""

    def __init__(self, port, token, rate, *, fresh):
        self._stop = FORK.Event()
        self._worker = Worker(self._send_requests, port, get(GUARD, token), 1 / rate, fresh)

    def stop(self):
        self._stop.set()
        return self._worker.result()

    def _send_requests(self, port, request, interval, fresh):
        latencies, failures, connection = [], [], None
        due = time.perf_counter()
        while not self._stop.wait(max(0, due - time.perf_counter())):
            started = time.perf_counter()
            try:
                connection = connection or Connection(port)
                answer = connection.exchange(request)
                failure = None if answer.status == 200 else f"status {answer.status}"
            except OSError as error:
                failure = str(error) or type(error).__name__
            if failure:
                failures.append(failure)
            else:
                latencies.append(time.perf_counter() - started)
            if connection and (fresh or failure):
                connection.__exit__()
                connection = None
            due = max(due + interval, time.perf_counter())
        return ProbeResult(latencies, failures)


@dataclass(frozen=True)
class ProbeResult:
    """Latencies and failures of a probe's requests."""

    latencies: list
    failures: list

    def __str__(self):
        if not self.latencies:
            return "no answer"
        p50, p99 = (percentile(self.latencies, share) * 1000 for share in (50, 99))
        most = max(self.latencies) * 1000
        return f"p50 {p50:.2f}, p99 {p99:.2f}, max {most:.1f} ms (of {len(self.latencies)})"


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, len(values) * share // 100)]


def milliseconds(values):
    return f"{statistics.median(values) * 1000:.2f} ms"


# --- the report ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Span:
    """A measured time, from start to end in time.monotonic()."""

    start: float
    end: float

    @property
    def seconds(self):
        return self.end - self.start

    def exceeds(self, bound, stalls):
        """Whether it is longer than the bound plus the stall in that time."""
        return self.seconds > bound and self.seconds > bound + stalls.between(self.start, self.end)


class Report:
    """A table of measurements, with bounds where there are any."""

    def __init__(self):
        self._rows = []

    def add(self, what, value, bound="", met=True):
        self._rows.append((what, str(value), bound, ("ok" if met else "NOT MET") if bound else ""))

    def add_times(self, what, spans, seconds, stalls, value=None):
        """Adds times with a bound in seconds, which stalls extend. A span is None if it did not end."""
        value = value or slowest(spans)
        late = [span for span in spans if span and span.seconds > seconds]
        met = None not in spans and not any(span.exceeds(seconds, stalls) for span in late)
        if late and met:
            value += f", {max(stalls.between(span.start, span.end) for span in late):.2f} s of them stalled"
        self.add(what, value, f"<= {seconds} s", met)

    def finish(self):
        """Prints the table and exits with 1 if a bound is not met."""
        widths = [max(map(len, column)) for column in zip(*self._rows)]
        for row in self._rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        verdicts = {verdict for *_, verdict in self._rows}
        sys.exit(1 if "NOT MET" in verdicts else 0)


def slowest(spans):
    if None in spans:
        return "never"
    longest = max(span.seconds for span in spans)
    return f"{longest:.2f} s" if len(spans) == 1 else f"{longest:.2f} s at most, of {len(spans)}"
