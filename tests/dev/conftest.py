"""Starts `doorward dev` and talks to it."""

import json
import os
import signal
import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from harness import BINARY, PATIENCE_SECONDS
from harness.process import environment

ADA = {"name": "Ada Lovelace", "email": "ada@example.com", "password": "correct horse", "verified": True, "roles": ["staff"]}
BOB = {"name": "Bob Noyce", "email": "bob@example.com", "password": "x", "id": "a564182b-8d44-45ca-91fe-2410facae02e"}


def clean_environment(**more):
    """The environment without settings of Doorward and without proxies."""
    return {name: value for name, value in environment().items() if not name.lower().endswith("_proxy")} | more


class Answer:
    def __init__(self, response):
        self.status, self.headers, self.text = response.status, response.headers, response.read().decode()

    @property
    def json(self):
        return json.loads(self.text)

    def __repr__(self):
        return f"{self.status} {self.text}"


class Dev:
    """A running `doorward dev` in a folder."""

    def __init__(self, folder, *arguments, users=(ADA, BOB), settings="", variables=None):
        self.folder = folder
        if users:
            lines = (json.dumps(user) + "\n" for user in users)
            (folder.parent / "users.jsonl").write_text("".join(lines))
            arguments = ("--users", folder.parent / "users.jsonl", *arguments)
        if settings:
            (folder / "doorward.toml").write_text(settings)
        self.log = open(folder.parent / "log", "w+")
        self.process = subprocess.Popen(
            [BINARY, "dev", "--listen", "127.0.0.1:0", "--json", *arguments],
            cwd=folder, env=variables or clean_environment(), stdout=subprocess.PIPE, stderr=self.log, text=True,
        )

    def __enter__(self):
        line = self.process.stdout.readline()
        assert line, self.stderr()
        self.ready = json.loads(line)
        self.url = self.ready["url"]
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self, sent=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(sent)
        code = self.process.wait(PATIENCE_SECONDS)
        self.process.stdout.close()
        return code

    def stderr(self):
        self.log.flush()
        return Path(self.log.name).read_text()

    def call(self, method, path, body=None, token=None, **headers):
        address = urlsplit(self.url)
        connection = HTTPConnection(address.hostname, address.port, timeout=PATIENCE_SECONDS)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
            body = json.dumps(body)
        try:
            connection.request(method, path, body, headers)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def get(self, path, **more):
        return self.call("GET", path, **more)

    def post(self, path, **body):
        return self.call("POST", path, body or None)

    def login(self, email="ada@example.com", password="correct horse"):
        return self.post("/api/auth/login", email=email, password=password)

    def sign_in(self, user="ada@example.com"):
        answer = self.post("/dev/sign-in", user=user)
        assert answer.status == 200, answer
        return answer.json["token"]

    def guard(self, token, name="guard"):
        return self.get(f"/api/auth/{name}", token=token).status

    def advance(self, duration):
        answer = self.post("/dev/clock", advance=duration)
        assert answer.status == 200, answer
        return answer.json["time"]

    def mails(self, to=""):
        answer = self.get(f"/dev/mail?to={to}" if to else "/dev/mail")
        assert answer.status == 200, answer
        return answer.json


@pytest.fixture
def folder(tmp_path):
    """An empty working directory. What tests write for the server is beside it."""
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def start(folder):
    return lambda *arguments, **options: Dev(folder, *arguments, **options)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """One server for tests that reset it first."""
    folder = tmp_path_factory.mktemp("dev") / "work"
    folder.mkdir()
    with Dev(folder, settings="[guards.staff]\nallow = '\"staff\" in user.roles'\n[sign_in]\nmail_code = true\n"
             "[mail]\nurl = 'smtp://mail.example.com'\nfrom = 'Shop <shop@example.com>'\n") as dev:
        yield dev


@pytest.fixture
def dev(shared):
    answer = shared.post("/dev/reset")
    assert answer.status == 204, answer
    return shared


@pytest.fixture
def path_with_doorward(tmp_path):
    """A PATH on which the binary is called `doorward`."""
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "doorward").symlink_to(BINARY)
    return os.pathsep.join([str(folder), os.path.dirname(sys.executable), os.environ["PATH"]])
