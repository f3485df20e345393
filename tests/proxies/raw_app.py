"""An app that agrees to every protocol a client names, and records the bytes that reach it."""

import re
import socket
import threading
from collections import defaultdict

END = b"\r\n\r\n"
# What a test puts into a request to find it again.
MARK = re.compile(rb"[0-9a-f]{32}")


class Head:
    """The head of a request as its bytes. A tunnelled one came after a switch of protocols: no proxy has read it."""

    def __init__(self, raw, is_tunnelled):
        self.raw, self.is_tunnelled = raw, is_tunnelled
        line, *fields = raw.removesuffix(END).split(b"\r\n")
        self.method, self.target, *_ = [*line.split(b" "), b""]
        pairs = [field.partition(b":") for field in fields]
        self.headers = [(name.decode("latin-1"), value.strip(b" \t").decode("latin-1")) for name, _, value in pairs]

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]


class RawApp:
    """Switches to any protocol but WebSocket, whose handshake it refuses, and accepts CONNECT."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        # By the marks in them.
        self.heads, self.lock = defaultdict(list), threading.Lock()
        threading.Thread(target=self.accept, daemon=True).start()

    def stop(self):
        self.listener.close()

    def arrivals(self, mark):
        with self.lock:
            return list(self.heads[mark.encode()])

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=[connection], daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            try:
                is_tunnel = False
                while head := self.read(stream, is_tunnel):
                    answer, is_tunnel = self.answer(head)
                    connection.sendall(answer)
                    if b"Connection: close" in answer:
                        return
            except OSError:
                pass

    def read(self, stream, is_tunnel):
        """Reads and records a head. Bodies have a length."""
        raw = b""
        while not raw.endswith(END):
            line = stream.readline()
            if not line:
                return None
            raw += line
        head = Head(raw, is_tunnel)
        with self.lock:
            for mark in set(MARK.findall(raw)):
                self.heads[mark].append(head)
        stream.read(int("".join(head.all("Content-Length")[:1]) or 0))
        return head

    def answer(self, head):
        """The answer, and whether a tunnel begins behind it."""
        if head.is_tunnelled:
            return b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n\r\npassed", False
        if head.method == b"CONNECT":
            return b"HTTP/1.1 200 Connection established\r\n\r\n", True
        protocols = [word.strip().lower() for value in head.all("Upgrade") for word in value.split(",")]
        if others := [protocol for protocol in protocols if protocol != "websocket"]:
            protocol = others[0].encode("latin-1")
            return b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n" % protocol, True
        if protocols:
            return b"HTTP/1.1 426 Upgrade Required\r\nSec-WebSocket-Version: 13\r\nContent-Length: 0\r\n\r\n", False
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", False
