"""A service, its commands, and people who log in."""

import json
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor

from harness import BINARY, PATIENCE_SECONDS
from harness.connection import LOGIN, post
from harness.service import Service

# After which a command counts as stuck.
COMMAND_SECONDS = 300
# No throttle is in the way.
SETTINGS = """
[throttle]
account_failures = 100
account_failures_per_network = 100
network_failures = 100000
"""
# A hash of ours, with the cost that the services of all suites have.
OURS = "$argon2id$v=19$m=7168,t=1,p=1$"


class Doorward(Service):
    """A service in its own folder."""

    def __init__(self, folder, database=None):
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(folder, SETTINGS, database)

    def command(self, *arguments, given=None):
        """Runs a command; returns what it printed and its exit code."""
        return subprocess.run(
            [BINARY, *map(str, arguments)],
            cwd=self.folder,
            env=self.variables(),
            input=given,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
        )

    def spawn(self, *arguments, **options):
        """Starts a command and does not wait for it."""
        command = [BINARY, *map(str, arguments)]
        return subprocess.Popen(command, cwd=self.folder, env=self.variables(), stderr=subprocess.PIPE, text=True, **options)

    def imports(self, *arguments, given=None):
        """Imports a file; returns the summary."""
        done = self.command("import", *arguments, "--json", given=given)
        assert done.returncode == 0, done.stderr + done.stdout
        return json.loads(done.stdout)

    def export(self):
        done = self.command("export")
        assert done.returncode == 0, done.stderr
        return done.stdout

    def users(self):
        return [json.loads(line) for line in self.export().splitlines()]

    def log_in(self, email, password):
        """The status of a login. Tries again if a stalled machine kept the database from answering in time."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        with self.connect() as connection:
            while True:
                status = connection.exchange(post(LOGIN, {"email": email, "password": password})).status
                if status != 503 or time.monotonic() > deadline:
                    return status
                time.sleep(0.1)

    def log_in_all(self, people):
        """The statuses of these logins, four at a time."""
        with ThreadPoolExecutor(4) as threads:
            return list(threads.map(lambda person: self.log_in(*person), people))


def people(number, prefix="user"):
    """Addresses and passwords: some long, some with other letters than those of ASCII."""
    return [(f"{prefix}-{n}@example.com", password(n)) for n in range(number)]


def password(number):
    if number % 10 == 3:
        return f"{number} pässword ☃ {number}"
    if number % 10 == 7:
        return f"{number} " + "long password " * 8
    return f"correct horse {number}"
