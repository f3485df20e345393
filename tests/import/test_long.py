"""An import over TCP works to its end, however long it takes, also through nginx, and its lines arrive as they were sent."""

import contextlib
import json
import socket
import subprocess
import time

import pytest
from harness import HOST
from harness.connection import LOGIN, post
from harness.ports import reserved_port
from harness.process import Process, environment

SECONDS = 600

NGINX = """
daemon off;
# One process, of the user who runs the test.
master_process off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_max_body_size 0;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen {host}:{port};
        proxy_http_version 1.1;
        proxy_request_buffering {buffering};
        proxy_set_header Connection "";
        location / {{ proxy_pass http://{host}:{upstream}; }}
    }}
}}
"""


def lines(first, number):
    for n in range(first, first + number):
        yield json.dumps({"id": f"0190a0a0-0000-4000-8000-{n:012}", "name": f"User {n}", "email": f"user-{n}@example.com"}) + "\n"


def import_through(port, token, file, *arguments):
    """Sends a file as curl does; returns the lines of the answer."""
    url = f"http://{HOST}:{port}/api/admin/import"
    command = ["curl", "-sS", "--fail-with-body", "-X", "POST", "-H", f"Authorization: Bearer {token}", *arguments, url]
    with open(file) as given:
        done = subprocess.run(command, stdin=given, capture_output=True, text=True, timeout=SECONDS, env=environment())
    assert done.returncode == 0, done.stderr + done.stdout[-1000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture
def sign_in(service):
    """Signs an administrator in, because an import needs a new sign-in; returns the token."""
    password = "correct horse battery"
    email, _ = service.sign_up(password)
    assert service.command("user", "grant", email, "admin").returncode == 0

    def sign_in():
        with service.connect() as connection:
            answer = connection.exchange(post(LOGIN, {"email": email, "password": password}))
        return json.loads(answer.body)["token"]

    return sign_in


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0


@pytest.fixture
def nginx(service, tmp_path):
    """Starts nginx in front of the service; returns its port."""
    with contextlib.ExitStack() as started:

        def start(buffering):
            folder, port = tmp_path / f"nginx-{buffering}", reserved_port()
            folder.mkdir()
            settings = NGINX.format(folder=folder, host=HOST, port=port, upstream=service.port, buffering=buffering)
            (folder / "nginx.conf").write_text(settings)
            command = ["nginx", "-p", folder, "-e", "stderr", "-c", folder / "nginx.conf"]
            process = started.enter_context(Process(command, folder / "log"))
            process.wait_until(lambda: listens(port))
            return port

        yield start


@pytest.mark.parametrize("number", [2000, pytest.param(200_000, marks=pytest.mark.long)])
def test_a_long_import_works_to_its_end(service, sign_in, nginx, tmp_path, number):
    file, first = tmp_path / "users.jsonl", 1
    for port, arguments in [
        (service.port, ["-T", str(file)]),
        (service.port, ["-T", "-"]),
        (nginx("on"), ["-T", str(file)]),
        (nginx("off"), ["-T", "-"]),
    ]:
        file.write_text("".join(lines(first, number)))
        answer = import_through(port, sign_in(), file, *arguments)
        assert len(answer) == number, answer[-1]
        assert answer == [{"line": n, "outcome": "added"} for n in range(1, number + 1)]
        first += number
    assert len(service.users()) == first


def test_an_import_may_take_longer_than_other_requests(service, sign_in):
    """A body of a slow network arrives for longer than the 15 seconds that other requests have."""
    sent = list(lines(1, 3))
    head = "POST /api/admin/import HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n"
    with socket.create_connection((HOST, service.port), timeout=60) as client:
        client.sendall(f"{head}Authorization: Bearer {sign_in()}\r\n\r\n".encode())
        for line in sent:
            client.sendall(f"{len(line):x}\r\n{line}\r\n".encode())
            time.sleep(5.5)
        client.sendall(b"0\r\n\r\n")
        with client.makefile("rb") as answer:
            answer = answer.read().decode()
    assert answer.startswith("HTTP/1.1 200 OK\r\n"), answer
    assert answer.count('"outcome":"added"') == len(sent), answer
