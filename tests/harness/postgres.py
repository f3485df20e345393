"""PostgreSQL and pgbouncer: real servers on loopback, each in a temporary folder, removed
at the end of the `with` block, and stopped even when the process that started them is killed.

Needs only Python. When started by root, servers run as the user `postgres` or `nobody`, because they refuse to run as
root. PostgreSQL flushes to disk as by default.
"""

import base64
import contextlib
import hashlib
import hmac
import os
import pwd
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
from itertools import count
from pathlib import Path

from harness import HOST
from harness.ports import reserved_port
from harness.wait import eventually

STOP_SECONDS = 30
ROLE, PASSWORD = "doorward", "not-for-the-log"


def verifier():
    """What a server stores of the password, made with one iteration. With the usual 4096, a client that was built without
    optimisation spends a third of a second of CPU time on each connection."""
    salt = b"salt of the role"
    salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), salt, 1)
    client_key, server_key = (hmac.digest(salted, name, "sha256") for name in (b"Client Key", b"Server Key"))
    salt, stored_key, server_key = (base64.b64encode(key).decode() for key in (salt, hashlib.sha256(client_key).digest(), server_key))
    return f"SCRAM-SHA-256$1:{salt}${stored_key}:{server_key}"


# Stops the server when the pipe to this process closes, which happens even when this process is killed.
SUPERVISOR = """
exec 2>/dev/null
trap '' HUP INT PIPE TERM
end=$1; shift
"$@" </dev/null >>"$LOG" 2>&1 &
echo $!
read -r _
kill -$end $!
wait $!
"""


def debian():
    """The folder with the programs of the newest PostgreSQL that Debian has installed."""
    found = [path for path in Path("/usr/lib/postgresql").glob("*/bin") if (path / "postgres").exists()]
    return max(found, key=lambda path: int(path.parent.name), default=None)


# --- processes -------------------------------------------------------------------------------------------------------


def account():
    """The account that runs the servers."""
    if os.geteuid():
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise SystemExit("no user that is not root to run PostgreSQL as")


def as_account():
    """The prefix of a command that runs as that account."""
    if user := account():
        return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    return []


@contextlib.contextmanager
def folder():
    """A temporary folder that belongs to the account."""
    with tempfile.TemporaryDirectory(prefix="doorward-servers-", ignore_cleanup_errors=True) as path:
        if user := account():
            os.chown(path, user.pw_uid, user.pw_gid)
        yield Path(path)


class SupervisedProcess:
    """A program that runs until it is stopped or this process ends."""

    def __init__(self, command, log, *, end=signal.SIGTERM, before=(), environment=None):
        self._log = log
        self._supervisor = subprocess.Popen(
            [*before, *as_account(), "sh", "-c", SUPERVISOR, "supervisor", str(int(end)), *map(str, command)],
            cwd="/",
            env=os.environ | {"LOG": str(log)} | (environment or {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        self.pid = int(self._supervisor.stdout.readline())

    def runs(self):
        return self._supervisor.poll() is None and not _is_zombie(self.pid)

    def log(self):
        return self._log.read_text(errors="replace")

    def signal(self, number):
        os.kill(self.pid, number)

    def stop(self):
        """Stops the program with the signal given at its start. Does nothing if it was stopped before."""
        if self._supervisor.stdin.closed:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGCONT)
        # A line, because other processes may have inherited this end of the pipe.
        with contextlib.suppress(BrokenPipeError):
            self._supervisor.stdin.write(b"\n")
            self._supervisor.stdin.close()
        try:
            self._supervisor.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._supervisor.wait()
        self._supervisor.stdout.close()


def _is_zombie(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


# --- PostgreSQL ------------------------------------------------------------------------------------------------------


class PostgreSQL:
    """One server with a role for Doorward; the superuser can connect by the Unix socket only."""

    _numbers = count(1)

    def __init__(self, programs=None, **settings):
        self._programs = Path(programs or debian() or "")
        self._settings = {"listen_addresses": HOST, "max_connections": 300} | settings
        self.port = reserved_port()
        self._cleanup = contextlib.ExitStack()

    def __enter__(self):
        if not (self._programs / "postgres").exists():
            raise SystemExit("no PostgreSQL here: install Debian's package postgresql")
        self._folder = self._cleanup.enter_context(folder())
        try:
            self._reach_programs()
            self._initialise()
            self.start()
            self.query(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{verifier()}'")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if hasattr(self, "_process"):
            self._process.stop()
        self._cleanup.close()

    @property
    def data(self):
        return self._folder / "data"

    @property
    def pid(self):
        return self._process.pid

    def version(self):
        return self.query("SHOW server_version")[0][0].split()[0]

    def url(self, database, port=None):
        return f"postgres://{ROLE}:{PASSWORD}@{HOST}:{port or self.port}/{database}?sslmode=disable"

    def fresh_database(self):
        """The name of an empty database that belongs to Doorward's role."""
        name = f"doorward_{next(self._numbers)}"
        self.query(f"CREATE DATABASE {name} OWNER {ROLE} TEMPLATE template0")
        return name

    def connect(self, database="postgres", timeout=10):
        """A session of the superuser."""
        return Session(str(self._folder / f".s.PGSQL.{self.port}"), "postgres", database, timeout)

    def query(self, statement, database="postgres"):
        with self.connect(database) as session:
            return session.query(statement)

    def start(self):
        """Starts the server; returns when it accepts connections."""
        settings = [f"--{name}={value}" for name, value in self._settings.items()]
        command = [self._programs / "postgres", "-D", self.data, "-p", self.port, "-k", self._folder, *settings]
        self._process = SupervisedProcess(command, self._folder / "log", end=signal.SIGQUIT)
        eventually("PostgreSQL accepts connections", self._accepts)

    def stop(self):
        """Stops in fast mode: sessions are closed, then the server shuts down cleanly."""
        self._process.signal(signal.SIGINT)
        eventually("PostgreSQL has stopped", lambda: not self._process.runs())
        self._process.stop()

    def kill(self):
        """Kills all processes at once, as a power failure does."""
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.stop()

    def freeze(self):
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def family(self):
        """The server and its children."""
        return family(self.pid)

    def _signal_all(self, number):
        for pid in self.family():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _accepts(self):
        if not self._process.runs():
            raise SystemExit(f"PostgreSQL did not start:\n{self._process.log()}")
        try:
            return self.query("SELECT 1")
        except (OSError, Refused):
            return False

    def _reach_programs(self):
        """Copies programs from a folder that the account cannot access."""
        version = [*as_account(), self._programs / "postgres", "--version"]
        if subprocess.run(version, capture_output=True).returncode:
            copy = self._folder / "installation"
            shutil.copytree(self._programs.parent, copy, symlinks=True)
            self._programs = copy / "bin"

    def _initialise(self):
        initdb = [self._programs / "initdb", "-D", self.data, "-U", "postgres", "-E", "UTF8", "--locale=C", "--no-sync"]
        done = subprocess.run([*as_account(), *initdb], capture_output=True, text=True, cwd="/")
        if done.returncode:
            raise SystemExit(f"initdb failed:\n{done.stdout}{done.stderr}")
        rules = f"local all postgres trust\nhost all {ROLE} {HOST}/32 scram-sha-256\n"
        (self.data / "pg_hba.conf").write_text(rules)


def family(pid):
    """A process and its descendants."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = stat.read_text().rpartition(")")[2].split()[1]
            children.setdefault(int(parent), []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


class PgBouncer:
    """Transaction mode in front of a PostgreSQL, otherwise with Debian's settings."""

    def __init__(self, server):
        self._server = server
        self.port = reserved_port()
        self._cleanup = contextlib.ExitStack()

    def __enter__(self):
        path = self._cleanup.enter_context(folder())
        (path / "users.txt").write_text(f'"{ROLE}" "{verifier()}"\n')
        (path / "pgbouncer.ini").write_text(
            f"[databases]\n* = host={HOST} port={self._server.port}\n"
            f"[pgbouncer]\nlisten_addr = {HOST}\nlisten_port = {self.port}\nunix_socket_dir =\n"
            f"pool_mode = transaction\nauth_type = scram-sha-256\nauth_file = {path}/users.txt\n"
        )
        self._process = SupervisedProcess([shutil.which("pgbouncer") or "/usr/sbin/pgbouncer", path / "pgbouncer.ini"], path / "log")
        eventually("pgbouncer accepts connections", self._accepts)
        return self

    def __exit__(self, *_):
        self._process.stop()
        self._cleanup.close()

    def url(self, database):
        return self._server.url(database, self.port)

    def _accepts(self):
        if not self._process.runs():
            raise SystemExit(f"pgbouncer did not start:\n{self._process.log()}")
        try:
            socket.create_connection((HOST, self.port), 1).close()
            return True
        except OSError:
            return False


# --- a client --------------------------------------------------------------------------------------------------------


class Refused(Exception):
    """An error of the server, with its SQLSTATE."""

    def __init__(self, fields):
        super().__init__(f"{fields.get('C')}: {fields.get('M')}")
        self.state = fields.get("C")


class Session:
    """A connection that runs one statement after the other, to a server that asks for no password."""

    def __init__(self, address, user, database, timeout=10):
        self._socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        self._socket.settimeout(timeout)
        try:
            self._socket.connect(address)
            self._stream = self._socket.makefile("rb")
            names = ("user", user, "database", database)
            body = struct.pack("!i", 196608) + b"".join(name.encode() + b"\0" for name in names) + b"\0"
            self._socket.sendall(struct.pack("!i", len(body) + 4) + body)
            self._answer()
        except BaseException:
            self._socket.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def query(self, statement):
        """The rows of an answer, as text."""
        body = statement.encode() + b"\0"
        self._socket.sendall(b"Q" + struct.pack("!i", len(body) + 4) + body)
        return self._answer()

    def _answer(self):
        rows, refusal = [], None
        while (message := self._message())[0] != b"Z":
            kind, body = message
            if kind == b"D":
                rows.append(_columns(body))
            elif kind == b"E":
                refusal = Refused({part[:1].decode(): part[1:].decode() for part in body.split(b"\0") if part})
                if refusal.state[:2] in ("28", "3D", "53", "57"):
                    raise refusal
            elif kind == b"R" and struct.unpack("!i", body[:4]) != (0,):
                raise ConnectionError("the server asks for a password")
        if refusal:
            raise refusal
        return rows

    def _message(self):
        kind, length = struct.unpack("!ci", self._read(5))
        return kind, self._read(length - 4)

    def _read(self, length):
        received = self._stream.read(length)
        if len(received) < length:
            raise ConnectionError("closed by the server")
        return received


def _columns(body):
    columns, at = [], 2
    for _ in range(struct.unpack("!h", body[:2])[0]):
        (length,) = struct.unpack("!i", body[at : at + 4])
        columns.append(None if length < 0 else body[at + 4 : at + 4 + length].decode())
        at += 4 + max(length, 0)
    return columns
