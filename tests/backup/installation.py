"""An installation of Doorward: its folder, its database and its commands, with a server or without one."""

import itertools
import json
import re
import subprocess
import threading
import time
import urllib.parse
from dataclasses import dataclass

from harness import BINARY, PATIENCE_SECONDS
from harness.connection import GUARD, get, post
from harness.process import environment
from harness.service import Service

PASSWORD = "correct horse battery"


@dataclass(frozen=True)
class Person:
    email: str
    token: str


class Installation:
    """Keeps its database in the folder, or in the database given by its URL."""

    def __init__(self, folder, database=None):
        self.folder, self.database = folder, database

    def service(self):
        """A server, running in a `with` block."""
        return Service(folder=self.folder, database=self.database)

    def variables(self):
        return environment(DOORWARD_DATABASE_URL=self.database or f"sqlite://{self.folder}/doorward.db")

    def start(self, *arguments, **options):
        """Starts a command."""
        command = [BINARY, *map(str, arguments)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, cwd=self.folder, env=self.variables(), **pipes | options)

    def run(self, *arguments):
        """Runs a command that succeeds, and returns what it prints."""
        code, out, err = self._finish(*arguments)
        assert code == 0, err.decode()
        return out.decode()

    def refuses(self, *arguments):
        """Runs a command that fails, and returns its error."""
        code, out, err = self._finish(*arguments)
        assert (code, out) == (1, b""), (code, out, err)
        assert err.startswith(b"doorward: ") and err.count(b"\n") == 1, err.decode()
        return err.decode()

    def _finish(self, *arguments):
        """Runs a command to its end. Tries again if a stalled machine kept PostgreSQL from answering in time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            process = self.start(*arguments)
            out, err = process.communicate(timeout=120)
            is_stalled = process.returncode and self.database and b"the database is unavailable" in err
            if not is_stalled or time.monotonic() > deadline:
                return process.returncode, out, err

    def verify(self, file, *arguments):
        return json.loads(self.run("backup", "verify", file, "--json", *arguments))

    def emails(self):
        """The addresses of all users."""
        users = json.loads(self.run("user", "list", "--json", "--limit", "100000"))
        return {user["email"] for user in users}

    def files(self):
        """All files of the data folder but the lock and the log, with their contents."""
        ignored = {"doorward.lock", "doorward.reserve", "output"}
        paths = [path for path in self.folder.rglob("*") if path.is_file() and path.name not in ignored]
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in paths}


def is_copied(file, again):
    """Whether a backup of what a file was restored into has its lines, but for the time and the counts. It also has the events of the
    restore and of itself."""
    first, second = (path.read_text().splitlines()[1:-1] for path in (file, again))
    known = set(first)
    added = [json.loads(line) for line in second if line not in known]
    kinds = [row["audit_events"]["kind"] if "audit_events" in row else row for row in added]
    return [line for line in second if line in known] == first and kinds == ["backup_restored", "backup_made"]


def registered(service, prefix, count):
    """Registers people without a password, which costs no hash."""
    with service.connect() as connection:
        return [register(connection, f"{prefix}-{number}@example.com") for number in range(count)]


def register(connection, email, password=None):
    """Registers somebody. After a 503 it is unknown whether the address is taken, so another one is tried."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    for attempt in itertools.count():
        fields = {"name": "Ada Lovelace", "email": f"{attempt}-{email}"} | ({"password": password} if password else {})
        answer = connection.exchange(post("/api/user", fields))
        if answer.status == 201:
            return Person(fields["email"], json.loads(answer.body)["token"])
        assert answer.status == 503 and time.monotonic() < deadline, answer
        time.sleep(0.1)


def refused(service, people):
    """The people whose tokens the guard refuses."""
    with service.connect() as connection:
        return [person.email for person in people if not passes(connection, person.token)]


def passes(connection, token):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while (answer := connection.exchange(get(GUARD, token))).status == 503 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert answer.status in (200, 401), answer
    return answer.status == 200


class Registrations:
    """Registers people on several connections in the background, until the end of the `with` block."""

    def __init__(self, service, connections=3):
        self._stopped, self._lock = threading.Event(), threading.Lock()
        self._people, self._failures = [], []
        names = (f"load-{number}" for number in range(connections))
        self._threads = [threading.Thread(target=self._run, args=(service, name)) for name in names]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        assert not self._failures, self._failures

    def acknowledged(self):
        """The people whose registration was answered before this call."""
        with self._lock:
            return list(self._people)

    def _run(self, service, name):
        number = 0
        try:
            with service.connect() as connection:
                while not self._stopped.is_set():
                    number += 1
                    person = register(connection, f"{name}-{number}@example.com")
                    with self._lock:
                        self._people.append(person)
                    # The number of people decides how long a restore takes.
                    time.sleep(0.01)
        except Exception as error:
            self._failures.append(error)


class Browser:
    """A person with a session cookie."""

    def __init__(self, service, email):
        with service.connect() as connection:
            email = register(connection, email, PASSWORD).email
        form = urllib.parse.urlencode({"email": email, "password": PASSWORD, "stay": "1"})
        answer = self._exchange(service, "POST", "/sign-in", form)
        assert answer.status == 303, answer
        self._cookie = re.search(rb"(?i)set-cookie: ([^;]+)", answer.head)[1].decode()

    def is_signed_in(self, service):
        return self._exchange(service, "GET", "/account", cookie=self._cookie).status == 200

    def _exchange(self, service, method, path, form="", cookie=None):
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: localhost:{service.port}",
            "Sec-Fetch-Site: same-origin",
            "Accept: text/html",
            f"Content-Length: {len(form)}",
            *(["Content-Type: application/x-www-form-urlencoded"] if form else []),
            *([f"Cookie: {cookie}"] if cookie else []),
        ]
        with service.connect() as connection:
            return connection.exchange("\r\n".join([*head, "", form]).encode())
