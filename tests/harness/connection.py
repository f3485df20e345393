"""A fast HTTP client for measurements, and for tests that need no other."""

import json
import re
import socket
from dataclasses import dataclass

from harness import HOST

LOGIN = "/api/auth/login"
GUARD = "/api/auth/guard"


def get(path, token=None):
    return request("GET", path, token)


def post(path, fields, token=None):
    return request("POST", path, token, json.dumps(fields))


def request(method, path, token=None, body=None):
    head = [f"{method} {path} HTTP/1.1", "Host: lab"]
    if token:
        head.append(f"Authorization: Bearer {token}")
    if body is not None:
        head += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*head, "", body or ""]).encode()


@dataclass(frozen=True)
class Answer:
    status: int
    head: bytes
    body: bytes

    @property
    def closes(self):
        """Whether the service closes the connection after this answer."""
        return b"\r\nconnection: close" in self.head.lower()

    @property
    def visible(self):
        """Everything that a caller sees, except for the date and the request id."""
        return re.sub(rb"(?im)^(date|x-request-id):.*$", rb"\1", self.head), self.body


class Connection:
    """A keep-alive connection with little overhead, for measurements."""

    def __init__(self, port, timeout=60):
        self._socket = socket.create_connection((HOST, port), timeout)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def exchange(self, request):
        self.send(request)
        return self.receive()

    def send(self, request):
        self._socket.sendall(request)

    def receive(self):
        received = self._more()
        while b"\r\n\r\n" not in received:
            received += self._more()
        head, _, body = received.partition(b"\r\n\r\n")
        announced = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        length = int(announced[1]) if announced else 0
        while len(body) < length:
            body += self._more()
        return Answer(int(head[9:12]), head, body)

    def _more(self):
        received = self._socket.recv(65536)
        if not received:
            raise ConnectionError("closed by the service")
        return received
