"""Starts one Doorward per algorithm, whose URL is the issuer and which has one OAuth client, and the verifiers of other
projects."""

import contextlib
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
import uuid
from base64 import b64encode
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from string import Template
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
BINARY = REPOSITORY / os.environ.get("DOORWARD_BIN", "target/release/doorward")
START_SECONDS = 60
STOP_SECONDS = 20
AUDIENCE = "the-app"
PACKAGES = [
    "express@5.3.0",
    "express-jwt@8.5.1",
    "express-oauth2-jwt-bearer@1.10.0",
    "jose@6.2.3",
    "jwks-rsa@4.1.0",
]

# The service is on this machine, so no proxy of the environment is used.
opener = build_opener(ProxyHandler({}))
NO_PROXY = os.environ | {"NO_PROXY": "*", "no_proxy": "*"}


@dataclass
class Doorward:
    url: str
    folder: Path
    environment: dict
    client_secret: str
    algorithm: str

    def send(self, path, body=None, headers=None):
        try:
            with opener.open(Request(self.url + path, body, headers or {}), timeout=15) as answer:
                return answer.status, json.load(answer)
        except HTTPError as error:
            with error:
                return error.code, json.load(error)

    def read(self, path):
        with opener.open(self.url + path, timeout=15) as answer:
            return answer.read().decode()

    def end(self, path, token):
        request = Request(self.url + path, b"", {"Authorization": f"Bearer {token}"})
        with opener.open(request, timeout=15) as answer:
            assert answer.status == 204

    def command(self, *arguments):
        return subprocess.check_output([BINARY, *arguments], cwd=self.folder, env=self.environment, text=True)

    def sign_up(self):
        body = json.dumps({"name": "Ada Lovelace", "email": f"{uuid.uuid4().hex}@example.com"}).encode()
        status, created = self.send("/api/user", body, {"Content-Type": "application/json"})
        assert status == 201, created
        return created["token"]

    def introspect(self, token):
        basic = b64encode(f"app:{self.client_secret}".encode()).decode()
        return self.send("/oauth/introspect", urlencode({"token": token}).encode(), {"Authorization": f"Basic {basic}"})

    def key_set(self):
        return self.send("/.well-known/jwks.json")[1]


def free_port():
    """A port below the ephemeral ones, so that no connection takes it before its server listens."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def running(command, folder, environment, ready):
    """Starts a process that logs into its folder, waits until the log matches `ready`, and yields the match."""
    with open(folder / "log", "wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=environment, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not (match := re.search(ready, log_text := (folder / "log").read_text(errors="replace"))):
            assert process.poll() is None and time.monotonic() < deadline, log_text
            time.sleep(0.02)
        yield match
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


@contextmanager
def doorward_with(folder, settings):
    url = f"http://127.0.0.1:{free_port()}"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DOORWARD_")}
    environment = inherited | settings | {
        "DOORWARD_LISTEN": url.removeprefix("http://"),
        "DOORWARD_METRICS_LISTEN": "off",
        "DOORWARD_PUBLIC_URL": url,
        "DOORWARD_TOKEN_ISSUER": url,
        "DOORWARD_TOKEN_AUDIENCE": AUDIENCE,
        "DOORWARD_TOKEN_PUBLISH_BEFORE_SIGNING": "0s",
    }
    doorward = Doorward(url, folder, environment, "", settings["DOORWARD_TOKEN_ALGORITHM"])
    printed = doorward.command("client", "secret", "app")
    doorward.client_secret = re.search(r"^  ([0-9a-f]{64})$", printed, re.MULTILINE)[1]
    environment["DOORWARD_CLIENTS"] = re.search(r'clients = \["(.*)"\]', printed)[1]
    with running([BINARY], folder, environment, "listens on"):
        yield doorward


@pytest.fixture(scope="session", params=["ES256", "EdDSA", "RS256"])
def doorward(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    with doorward_with(folder, {"DOORWARD_TOKEN_ALGORITHM": request.param}) as doorward:
        yield doorward


@pytest.fixture(scope="session")
def packages(tmp_path_factory):
    """A folder with the npm packages and the program that uses them."""
    if not shutil.which("npm"):
        pytest.skip("npm is missing")
    folder = tmp_path_factory.mktemp("packages")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder, *PACKAGES]
    subprocess.run(command, check=True, timeout=600)
    shutil.copy(HERE / "middleware.mjs", folder)
    return folder


@pytest.fixture(scope="session")
def express(doorward, packages, tmp_path_factory):
    """The URL of an app whose routes are named after the libraries that guard them."""
    command = ["node", packages / "middleware.mjs", doorward.url, AUDIENCE, doorward.algorithm]
    with running(command, tmp_path_factory.mktemp("express"), NO_PROXY, r"^(\d+)\n") as match:
        yield f"http://127.0.0.1:{match[1]}"


@pytest.fixture(scope="session")
def envoy(doorward, tmp_path_factory):
    folder = tmp_path_factory.mktemp("envoy")
    port = free_port()
    values = {"PORT": port, "ISSUER": doorward.url, "AUDIENCE": AUDIENCE, "DOORWARD_PORT": doorward.url.rpartition(":")[2]}
    (folder / "envoy.yaml").write_text(Template((HERE / "envoy.yaml").read_text()).substitute(values))
    program = Path(sys.executable).with_name("envoy")
    command = [program, "-c", "envoy.yaml", "--disable-hot-restart", "--concurrency", "1", "--log-level", "info"]
    with running(command, folder, os.environ, "starting main dispatch loop"):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def token(doorward):
    return doorward.sign_up()
