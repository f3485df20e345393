"""An installation of Doorward with its audit trail, with a server or without one."""

import json
import subprocess
import uuid

from harness import BINARY
from harness.connection import post, request
from harness.identities import link
from harness.process import environment
from harness.service import Service

PASSWORD = "correct horse battery"


class Installation:
    """Keeps its database in the folder, or in the one given by its URL, on which `execute` runs a statement."""

    def __init__(self, folder, database=None, execute=None):
        self.folder, self.database, self._execute = folder, database, execute
        self.checkpoints = folder / "checkpoints"

    def service(self, **settings):
        """A server, running in a `with` block, that appends its checkpoints to a file."""
        settings = {"DOORWARD_AUDIT_CHECKPOINT_FILE": str(self.checkpoints)} | settings
        return Service(folder=self.folder, database=self.database, **settings)

    def command(self, *arguments):
        """Runs a command to its end. Returns its exit code and what it prints."""
        variables = environment(DOORWARD_DATABASE_URL=self.database or f"sqlite://{self.folder}/doorward.db")
        done = subprocess.run(
            [BINARY, *map(str, arguments)], cwd=self.folder, env=variables, capture_output=True, text=True, timeout=120
        )
        return done.returncode, done.stdout, done.stderr

    def run(self, *arguments):
        """Runs a command that succeeds, and returns what it prints."""
        code, out, err = self.command(*arguments)
        assert code == 0, (arguments, out, err)
        return out

    def events(self, *filters):
        """All events, the oldest first. Unlike an export, this leaves no event."""
        return json.loads(self.run("audit", "list", "--json", "--limit", 1_000_000, *filters))[::-1]

    def verify(self, *arguments):
        """The report of a verification. The exit code says whether the trail is intact."""
        code, out, err = self.command("audit", "verify", "--json", *arguments)
        report = json.loads(out)
        assert code == (1 if report["findings"] else 0), (code, out, err)
        return report

    def link(self, user):
        """Links an account at another provider to a user, as a sign-in there does. Returns its id."""
        if not self._execute:
            return link(self.folder / "doorward.db", user)
        id = uuid.uuid4()
        self._execute(f"INSERT INTO identities VALUES ('{id}', '{user}', 'https://sso.example.com', 'ada', 'work', 'ada', 0, NULL)")
        return str(id)

    def keep_checkpoint(self):
        """Appends the state of the trail to the file."""
        with open(self.checkpoints, "a") as file:
            file.write(self.run("audit", "checkpoint"))


class Client:
    """Calls the API on one connection."""

    def __init__(self, service):
        self._connection = service.connect()

    def __enter__(self):
        self._connection.__enter__()
        return self

    def __exit__(self, *error):
        self._connection.__exit__(*error)

    def call(self, method, path, token=None, fields=None):
        body = None if fields is None else json.dumps(fields)
        answer = self._connection.exchange(request(method, path, token, body))
        return answer.status, json.loads(answer.body) if answer.body else None

    def register(self, email, password=None):
        fields = {"name": "Ada Lovelace", "email": email} | ({"password": password} if password else {})
        answer = self._connection.exchange(post("/api/user", fields))
        return answer.status, json.loads(answer.body)
