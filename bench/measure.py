"""The tools of the benchmark: pinned processes, load, CPU time and memory, and rounds in which programs take turns.

Linux only: CPU time and memory are read from /proc.
"""

import contextlib
import json
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from harness import HOST, REPOSITORY  # noqa: E402
from harness.ports import reserved_port  # noqa: E402

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPOSITORY / "target"))
WORK = TARGET / "bench"
DOORWARD = TARGET / "release" / "doorward"
TOOL = TARGET / "release" / "doorward-bench"
PASSWORD = "correct horse battery"
CORES = sorted(os.sched_getaffinity(0))
SERVER_CORE, LOAD_CORE = CORES[0], CORES[-1]
CONNECTIONS = 64
LOGIN_CONNECTIONS = 32


def pinned(core, *command, niceness=-10):
    """A command on one core, with raised priority if root runs it."""
    order = ["nice", "-n", str(niceness)] if niceness > 0 or os.geteuid() == 0 else []
    return [*order, "taskset", "-c", str(core), *map(str, command)]


def output(*command, **options):
    try:
        return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, **options).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"bench: {error}")


def note(text):
    """Prints progress."""
    print(f"-- {text}", file=sys.stderr, flush=True)


# --- processes -------------------------------------------------------------------------------------------------------


class Process:
    """A server on one core, stopped at the end of the `with` block."""

    def __init__(self, command, *, core=SERVER_CORE, cwd=None, env=None, stdin=None, stdout=subprocess.DEVNULL):
        self.log = tempfile.TemporaryFile("w+", dir=WORK)  # noqa: SIM115
        self._process = subprocess.Popen(
            pinned(core, *command), cwd=cwd, env=plain_environment() | (env or {}),
            stdin=stdin, stdout=stdout, stderr=self.log, text=True,
        )  # fmt: skip

    @property
    def pid(self):
        return self._process.pid

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.log.close()

    def line(self):
        return self._process.stdout.readline()

    def cpu_micros(self):
        """In nanoseconds from the threads, unless some have ended: then from the coarser total of the process."""
        threads = Path(f"/proc/{self.pid}/task").glob("*/schedstat")
        exact = sum(int(thread.read_text().split()[0]) for thread in threads) / 1e3
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(") ")[2].split()
        tick = 1e6 / os.sysconf("SC_CLK_TCK")
        coarse = (int(fields[11]) + int(fields[12])) * tick
        return coarse if coarse > exact + 10 * tick else exact

    def rss(self):
        return self._memory("VmRSS")

    def own_memory(self):
        """Without pages of files, which the kernel can drop and read again."""
        return self._memory("RssAnon")

    def peak_rss(self):
        return self._memory("VmHWM")

    def reset_peak(self):
        Path(f"/proc/{self.pid}/clear_refs").write_text("5")

    def _memory(self, name):
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) / 1024

    def wait_for(self, port, path="/api/user/x", seconds=60):
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(OSError):
                send(port, request("GET", path))
                return self
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.log.seek(0)
                sys.exit(f"bench: the server does not answer:\n{self.log.read()[-2000:]}")
            time.sleep(0.01)


class Doorward(Process):
    """The binary with default settings in its own folder."""

    def __init__(self, folder, *, core=SERVER_CORE, **environment):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.port = folder, reserved_port()
        super().__init__([DOORWARD], core=core, cwd=folder, env=settings(folder, self.port) | environment)
        self.wait_for(self.port)

    def database(self):
        return self.folder / "doorward.db"

    def sign_up(self, email, name="Ada Lovelace", password=PASSWORD):
        return register(self.port, email, name, password)


def settings(folder, port):
    return {
        "DOORWARD_LISTEN": f"{HOST}:{port}",
        "DOORWARD_METRICS_LISTEN": f"{HOST}:0",
        "DOORWARD_DATABASE_URL": f"sqlite://{folder}/doorward.db",
    }


def plain_environment():
    return {name: value for name, value in os.environ.items() if not name.startswith(("DOORWARD_", "RUST_LOG"))}


class PostgreSQL:
    """A separate server with default flushing, on the core of the load; stopped at the end of the `with` block."""

    def __init__(self):
        self._programs = max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)
        if not self._programs:
            sys.exit("bench: needs Debian's PostgreSQL: apt-get install postgresql")
        # A separate folder, because PostgreSQL does not run as root and its user may not have access to the others.
        self._folder, self._port = Path(tempfile.mkdtemp(prefix="doorward-bench-")), reserved_port()
        self._as_owner = []
        if os.geteuid() == 0:
            shutil.chown(self._folder, "postgres", "postgres")
            self._as_owner = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]

    def __enter__(self):
        data = self._folder / "data"
        initdb = [self._programs / "initdb", "-D", data, "-U", "doorward", "-A", "trust", "-E", "UTF8", "--locale=C"]
        output(*map(str, [*self._as_owner, *initdb]), cwd="/")
        options = ["-c", f"listen_addresses={HOST}", "-c", f"unix_socket_directories={self._folder}"]
        serve = [*self._as_owner, self._programs / "postgres", "-D", data, "-p", self._port, *options]
        self._log = open(WORK / "postgresql.log", "w")  # noqa: SIM115
        self._process = subprocess.Popen(pinned(LOAD_CORE, *serve), cwd="/", stdout=self._log, stderr=self._log)
        ready = [str(self._programs / "pg_isready"), "-q", "-h", HOST, "-p", str(self._port)]
        while subprocess.run(ready, check=False).returncode:
            if self._process.poll() is not None:
                sys.exit(f"bench: PostgreSQL does not start: see {self._log.name}")
            time.sleep(0.05)
        return self

    def __exit__(self, *_):
        self._process.terminate()
        self._process.wait()
        self._log.close()
        shutil.rmtree(self._folder)

    def url(self, name="postgres"):
        return f"postgres://doorward@{HOST}:{self._port}/{name}"


# --- requests --------------------------------------------------------------------------------------------------------


def request(method, path, *, token=None, fields=None, headers=()):
    lines = [f"{method} {path} HTTP/1.1", f"host: {HOST}", *headers]
    if token:
        lines.append(f"authorization: Bearer {token}")
    body = "" if fields is None else json.dumps(fields)
    if fields is not None:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join(lines) + "\r\n\r\n" + body


def send(port, text):
    """Sends one request on a new connection; returns the status, the head and the body."""
    with socket.create_connection((HOST, port), 60) as connection:
        connection.sendall(text.replace("\r\n", "\r\nconnection: close\r\n", 1).encode())
        received = b""
        while more := connection.recv(65536):
            received += more
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1."):
        raise ConnectionError("no answer")
    return int(head[9:12]), head.decode("latin-1"), body.decode()


def register(port, email, name="Ada Lovelace", password=PASSWORD):
    fields = {"name": name, "email": email, "password": password}
    status, _, body = send(port, request("POST", "/api/user", fields=fields))
    if status != 201:
        sys.exit(f"bench: registering answered {status}: {body}")
    return json.loads(body)


@dataclass
class Answered:
    """The load generator's figures after the warm-up, and the number of all answers; times in microseconds."""

    answered: int
    requests: int
    seconds: float
    statuses: dict
    p50: int
    p99: int
    p999: int
    max: int
    cpu: float = 0

    @property
    def rate(self):
        return self.requests / self.seconds


class Load:
    """Requests to one port, sent from the core of the load."""

    _files = 0

    def __init__(self, port, requests, *, connections=CONNECTIONS, expect=200):
        Load._files += 1
        self._file = WORK / f"requests-{Load._files}.json"
        self._file.write_text(json.dumps(requests))
        self._port, self._connections, self._expect = port, connections, str(expect)

    def start(self, seconds, *, rate=None, warm_up=0.0, once=False):
        options = ["--connections", self._connections, "--seconds", seconds, "--warm-up", warm_up]
        options += ["--rate", rate] if rate else []
        options += ["--once"] if once else []
        command = pinned(LOAD_CORE, TOOL, "load", f"{HOST}:{self._port}", self._file, *options)
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    def finish(self, running):
        text, _ = running.communicate()
        if running.returncode:
            sys.exit("bench: the load generator failed")
        answered = Answered(**json.loads(text))
        if set(answered.statuses) - {self._expect}:
            sys.exit(f"bench: expected {self._expect} only, got {answered.statuses}")
        return answered

    def run(self, seconds, *, server=None, **options):
        """Runs the load. With a server, also measures its CPU time per request."""
        before = server.cpu_micros() if server else 0
        answered = self.finish(self.start(seconds, **options))
        if server and answered.answered:
            answered.cpu = (server.cpu_micros() - before) / answered.answered
        return answered


# --- rounds ----------------------------------------------------------------------------------------------------------


@dataclass
class Rounds:
    """Several contenders that take turns in random order, so that other load on the machine affects all of them."""

    contenders: dict
    results: dict = field(default_factory=dict)

    def run(self, rounds):
        self.results = {name: [] for name in self.contenders}
        for _ in range(rounds):
            for name in random.sample(list(self.contenders), len(self.contenders)):
                self.results[name].append(self.contenders[name]())
        return self

    def median(self, name, value):
        return statistics.median(value(result) for result in self.results[name])

    def ratio(self, name, other, value):
        """The median of the ratios of each round, without rounds in which one contender got no answer."""
        pairs = zip(self.results[name], self.results[other], strict=True)
        complete = [(value(one), value(two)) for one, two in pairs if value(one) and value(two)]
        if not complete:
            sys.exit(f"bench: {name} and {other} were never both answered: is the machine busy with something else?")
        return statistics.median(one / two for one, two in complete)

    def all(self, name, value):
        return [value(result) for result in self.results[name]]
