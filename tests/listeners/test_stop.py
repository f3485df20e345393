"""A stop while an answer is being written, or during a handshake. Small buffers in the kernel make a large answer wait for its reader."""

import contextlib
import math
import re
import socket
import ssl
import sys
import threading
import time

import pytest
from harness import HOST, PATIENCE_SECONDS
from harness.ports import reserved_port
from harness.service import Service
from harness.wait import eventually
from tls_service import TlsService

PATH = "/openapi.json"
REQUEST = f"GET {PATH} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
BUFFER_BYTES = 16 << 10

# Passes a socket as systemd does. Connections inherit the size of its buffer.
LAUNCHER = f"""
import os, socket, sys
host, _, port = os.environ["DOORWARD_LISTEN"].rpartition(":")
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, {BUFFER_BYTES})
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind((host, int(port)))
listener.listen(100)
listener.set_inheritable(True)
if listener.fileno() != 3:
    os.dup2(listener.fileno(), 3)
    listener.set_inheritable(False)
os.environ |= {{"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}}
os.execv(sys.argv[1], sys.argv[1:])
"""
THROUGH = [sys.executable, "-c", LAUNCHER]


def connect(service):
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
    connection.settimeout(PATIENCE_SECONDS)
    connection.connect((HOST, service.port))
    return connection


def connect_with_tls(service):
    connection = service.context().wrap_socket(connect(service), server_hostname=HOST)
    # `recv` fails if the end is not announced.
    connection.suppress_ragged_eofs = False
    return connection


def is_refused(service):
    try:
        socket.create_connection((HOST, service.port), PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return True
    # Its place in the queue is gone before the queue.
    except ConnectionResetError:
        pass
    return False


@contextlib.contextmanager
def stopping(service):
    """Ends when the service has stopped. Nobody may have been cut off."""
    stopped = []
    thread = threading.Thread(target=lambda: stopped.append(service.stop()))
    thread.start()
    try:
        eventually("connections are refused", lambda: is_refused(service))
        yield
    finally:
        thread.join()
    code, _ = stopped[0]
    assert code == 0
    assert "stopping with unanswered requests" not in service.output()


def read_to_end(connection):
    answer = b""
    while received := connection.recv(65536):
        answer += received
    return answer


def body_of(answer):
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 "), head
    assert len(body) == int(re.search(rb"(?i)\r\ncontent-length: (\d+)", head)[1])
    return body


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "tls"])
def test_an_answer_that_has_begun_is_written_whole(authority, tmp_path, is_encrypted):
    options = {"through": THROUGH, "port": reserved_port()}
    service = TlsService(authority, tmp_path, **options) if is_encrypted else Service(tmp_path, **options)
    with service:
        with connect_with_tls(service) if is_encrypted else connect(service) as slow:
            slow.sendall(REQUEST)
            begin = slow.recv(1)
            with stopping(service):
                body = body_of(begin + read_to_end(slow))
    assert len(body) > 4 * BUFFER_BYTES


def test_a_handshake_in_progress_is_completed_and_its_request_answered(authority, tmp_path):
    # The service waits for a second. Where the machine has kept the client from sending within half of it, nothing follows.
    for _ in range(20):
        with TlsService(authority, tmp_path) as service, connect(service) as plain:
            seconds, answer = stop_within_handshake(service, plain)
        if seconds < 0.5:
            break
    body_of(answer)


def stop_within_handshake(service, plain):
    """How long after the signal the client has sent the rest of its handshake and a request, and the answer."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    encrypted = service.context().wrap_bio(incoming, outgoing, server_hostname=HOST)
    finish_handshake(encrypted, plain, incoming, outgoing)
    encrypted.write(REQUEST)
    signalled, seconds, answer = time.monotonic(), math.inf, b""
    with stopping(service), contextlib.suppress(OSError):
        plain.sendall(outgoing.read())
        seconds = time.monotonic() - signalled
        incoming.write(read_to_end(plain))
        while received := encrypted.read(65536):
            answer += received
    return seconds, answer


def finish_handshake(encrypted, plain, incoming, outgoing):
    """What the client sends last stays in `outgoing`."""
    while True:
        try:
            return encrypted.do_handshake()
        except ssl.SSLWantReadError:
            plain.sendall(outgoing.read())
            incoming.write(plain.recv(65536))


def test_a_handshake_that_does_not_continue_does_not_delay_the_stop(authority, tmp_path):
    with TlsService(authority, tmp_path) as service, connect(service) as silent, connect(service) as half:
        half.sendall(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
        # Both are accepted when a later connection is.
        service.subject()
        with stopping(service):
            assert silent.recv(1) == b""
            # Unread bytes reset the connection.
            with contextlib.suppress(ConnectionResetError):
                assert half.recv(1) == b""
