"""Starts Doorward once, under a URL that its tokens name as their issuer, with one client that may introspect."""

import json
import os
import re
import socket
import subprocess
import time
import uuid
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
BINARY = REPOSITORY / os.environ.get("DOORWARD_BIN", "target/release/doorward")
START_SECONDS = 20
STOP_SECONDS = 20
AUDIENCE = "the-app"

# The service is on this machine, whatever proxy the environment names.
opener = build_opener(ProxyHandler({}))


@dataclass
class Doorward:
    url: str
    folder: Path
    environment: dict
    client_secret: str

    def ask(self, path, body=None, headers=None):
        try:
            with opener.open(Request(self.url + path, body, headers or {}), timeout=15) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def command(self, *arguments):
        return subprocess.check_output([BINARY, *arguments], cwd=self.folder, env=self.environment, text=True)

    def sign_up(self):
        body = json.dumps({"name": "Ada Lovelace", "email": f"{uuid.uuid4().hex}@example.com"}).encode()
        status, created = self.ask("/api/user", body, {"Content-Type": "application/json"})
        assert status == 201, created
        return created["token"]

    def introspect(self, token):
        basic = b64encode(f"app:{self.client_secret}".encode()).decode()
        return self.ask("/oauth/introspect", urlencode({"token": token}).encode(), {"Authorization": f"Basic {basic}"})

    def key_set(self):
        return self.ask("/.well-known/jwks.json")[1]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def doorward(tmp_path_factory):
    folder = tmp_path_factory.mktemp("doorward")
    url = f"http://127.0.0.1:{free_port()}"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DOORWARD_")}
    environment = inherited | {
        "DOORWARD_LISTEN": url.removeprefix("http://"),
        "DOORWARD_PUBLIC_URL": url,
        "DOORWARD_TOKEN_ISSUER": url,
        "DOORWARD_TOKEN_AUDIENCE": AUDIENCE,
        "DOORWARD_TOKEN_PUBLISH_BEFORE_SIGNING": "0s",
    }
    doorward = Doorward(url, folder, environment, "")
    printed = doorward.command("client", "secret", "app")
    doorward.client_secret = re.search(r"^  ([0-9a-f]{64})$", printed, re.MULTILINE)[1]
    environment["DOORWARD_CLIENTS"] = re.search(r'clients = "(.*)"', printed)[1]
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen([BINARY], cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_SECONDS
        while "listens on" not in (said := (folder / "log").read_text(errors="replace")):
            assert process.poll() is None and time.monotonic() < deadline, said
            time.sleep(0.02)
        yield doorward
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


@pytest.fixture
def token(doorward):
    return doorward.sign_up()
