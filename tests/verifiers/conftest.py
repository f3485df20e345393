"""Starts one Doorward per algorithm, whose URL is the issuer and which has one OAuth client, and the verifiers of other
projects."""

import json
import os
import re
import shutil
import subprocess
import sys
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
from harness import BINARY
from harness.ports import reserved_port
from harness.process import Process, environment

HERE = Path(__file__).resolve().parent
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
    variables: dict
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
        return subprocess.check_output([BINARY, *arguments], cwd=self.folder, env=self.variables, text=True)

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


@contextmanager
def running(command, folder, variables, ready):
    """Starts a process that logs into its folder, waits until the log matches `ready`, and yields the match."""
    with Process(command, folder / "log", folder=folder, variables=variables) as process:
        yield process.wait_until(lambda: re.search(ready, process.text()))


@contextmanager
def doorward_with(folder, settings):
    url = f"http://127.0.0.1:{reserved_port()}"
    variables = environment(**settings) | {
        "DOORWARD_LISTEN": url.removeprefix("http://"),
        "DOORWARD_METRICS_LISTEN": "off",
        "DOORWARD_PUBLIC_URL": url,
        "DOORWARD_TOKEN_ISSUER": url,
        "DOORWARD_TOKEN_AUDIENCE": AUDIENCE,
        "DOORWARD_TOKEN_PUBLISH_BEFORE_SIGNING": "0s",
    }
    doorward = Doorward(url, folder, variables, "", settings["DOORWARD_TOKEN_ALGORITHM"])
    printed = doorward.command("client", "secret", "app")
    doorward.client_secret = re.search(r"^  ([0-9a-f]{64})$", printed, re.MULTILINE)[1]
    variables["DOORWARD_CLIENTS"] = re.search(r'clients = \["(.*)"\]', printed)[1]
    with running([BINARY], folder, variables, '"message":"listening"'):
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
    port = reserved_port()
    values = {"PORT": port, "ISSUER": doorward.url, "AUDIENCE": AUDIENCE, "DOORWARD_PORT": doorward.url.rpartition(":")[2]}
    (folder / "envoy.yaml").write_text(Template((HERE / "envoy.yaml").read_text()).substitute(values))
    program = Path(sys.executable).with_name("envoy")
    command = [program, "-c", "envoy.yaml", "--disable-hot-restart", "--concurrency", "1", "--log-level", "info"]
    with running(command, folder, os.environ, "starting main dispatch loop"):
        yield f"http://127.0.0.1:{port}"


@pytest.fixture
def token(doorward):
    return doorward.sign_up()
