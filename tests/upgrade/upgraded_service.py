"""Doorward with the settings of a fixture, and its API."""

import json
import subprocess
import time
import urllib.parse

from harness import BINARY, HOST
from harness.connection import request
from harness.service import Service

SETTINGS = """
[mail]
url = "smtp://{host}:{port}"
from = "Example <accounts@example.com>"

[sign_in]
mail_code = true

[invitations]
allow = '"staff" in user.roles'

[token]
lifetime = "30d"
publish_before_signing = "{publish}"

[session]
lifetime = "90d"
"""


class FixtureService(Service):
    """A service that sends its mail to a server of the test."""

    def __init__(self, folder, mail_server, database=None, publish="7d", **variables):
        settings = SETTINGS.format(host=HOST, port=mail_server.port, publish=publish)
        super().__init__(folder=folder, settings=settings, database=database, **variables)

    def command(self, *arguments, text=None):
        """Runs a command that succeeds; returns what it prints."""
        done = subprocess.run(
            [BINARY, *map(str, arguments)], cwd=self.folder, env=self.variables(), input=text, capture_output=True, text=True
        )
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout

    def call(self, method, path, body=None, token=None):
        """The status and the parsed body of an answer."""
        with self.connect() as connection:
            answer = connection.exchange(request(method, path, token, None if body is None else json.dumps(body)))
        return answer.status, json.loads(answer.body) if answer.body else None

    def post(self, path, **body):
        return self.call("POST", path, body)

    def log_in(self, email, password):
        """The token of a login; None if it is refused."""
        status, body = self.post("/api/auth/login", email=email, password=password)
        assert status in (200, 404), (status, body)
        return body["token"] if status == 200 else None

    def admits(self, token):
        status, body = self.call("GET", "/api/auth/guard", token=token)
        assert status in (200, 401), (status, body)
        return status == 200

    def page(self, path, form=None, cookie=""):
        """The answer to a browser."""
        sent = "" if form is None else urllib.parse.urlencode(form)
        head = [
            f"{'GET' if form is None else 'POST'} {path} HTTP/1.1",
            f"Host: localhost:{self.port}",
            "Sec-Fetch-Site: same-origin",
            "Accept: text/html",
            "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0",
            f"Content-Length: {len(sent)}",
            *(["Content-Type: application/x-www-form-urlencoded"] if sent else []),
            *([f"Cookie: {cookie}"] if cookie else []),
        ]
        with self.connect() as connection:
            return connection.exchange("\r\n".join([*head, "", sent]).encode())


def now_millis():
    return time.time_ns() // 1_000_000
