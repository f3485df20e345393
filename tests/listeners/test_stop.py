"""A stop under a load of kept connections, while an answer is being written, or during a handshake. Small buffers in the kernel make a
large answer wait for its reader."""

import contextlib
import math
import random
import re
import shutil
import socket
import ssl
import sys
import threading
import time

import pytest
from harness import HOST, PATIENCE_SECONDS
from harness.connection import GUARD, Connection, get, post
from harness.ports import reserved_port
from harness.process import PATH as PROGRAMS
from harness.process import Process
from harness.service import Service
from harness.wait import eventually
from test_socket_activation import listening, start, stop
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


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "tls"])
def test_a_client_that_connects_while_the_service_stops_has_the_time_that_is_left(authority, tmp_path, is_encrypted):
    # Much longer than the pauses below, on a busy machine as well.
    options = {"DOORWARD_LIMITS_STOP_GRACE": "1m"}
    service = TlsService(authority, tmp_path, **options) if is_encrypted else Service(tmp_path, **options)
    opened = connect_with_tls if is_encrypted else connect
    with service, opened(service) as used:
        used.sendall(REQUEST)
        used.recv(1)
        with stopping_later(service):
            try:
                eventually("the service stops", lambda: "stopping: waiting" in service.output())
                # The line of the log comes a moment before.
                time.sleep(0.5)
                with connect(service) as new:
                    # Each is longer than those have that began before the stop.
                    time.sleep(1.5)
                    if is_encrypted:
                        new = service.context().wrap_socket(new, server_hostname=HOST)
                        time.sleep(1.5)
                    with new:
                        new.sendall(REQUEST)
                        answer = read_to_end(new)
            finally:
                used.close()
    body_of(answer)


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


# How long clients wait between two requests: without a pause, as an app does, and as a person does.
PAUSES = [(0, 0.01), (0.02, 0.3), (0.5, 1.5)]
CLIENTS_PER_PAUSE = 4
RESTARTS = 10

NGINX = """
events {{}}
http {{
    access_log off;
    upstream doorward {{
        server {host}:{upstream};
        keepalive 16;
    }}
    server {{
        listen {host}:{port};
        location / {{
            proxy_pass http://doorward;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_next_upstream off;
        }}
    }}
}}
"""


class Load:
    """Clients that keep their connections until an answer says that it is the last one, and repeat nothing."""

    def __init__(self, port):
        self.port, self.answered, self.lost = port, 0, []
        self._numbers, self._lock, self._ended = iter(range(1 << 30)), threading.Lock(), threading.Event()
        self._threads = [threading.Thread(target=self._run, args=[pause]) for pause in PAUSES for _ in range(CLIENTS_PER_PAUSE)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def wait_for_answers(self):
        """Waits until the service answers that runs now, however busy the machine is: of the one before, each client counts one at most."""
        enough = self.answered + len(self._threads) + 1
        eventually("the service answers", lambda: self.answered >= enough)

    def _run(self, pause):
        connection = None
        while not self._ended.wait(random.uniform(*pause)):
            with self._lock:
                number = next(self._numbers)
            # Reads and writes.
            is_write = number % 4 == 0
            request = post("/api/user", {"name": "Ada", "email": f"ada-{number}@example.com"}) if is_write else get(GUARD)
            try:
                connection = connection or Connection(self.port)
                answer = connection.exchange(request)
            except OSError as error:
                connection = None
                with self._lock:
                    self.lost.append(repr(error))
                continue
            with self._lock:
                if answer.status == (201 if is_write else 401):
                    self.answered += 1
                else:
                    self.lost.append(answer.head)
            if re.search(rb"(?i)\r\nconnection: close", answer.head):
                connection.__exit__()
                connection = None


@contextlib.contextmanager
def nginx(folder, upstream):
    port = reserved_port()
    (folder / "nginx.conf").write_text(NGINX.format(host=HOST, upstream=upstream, port=port))
    command = [shutil.which("nginx", path=PROGRAMS), "-p", folder, "-e", "error.log", "-c", folder / "nginx.conf"]
    with Process([*command, "-g", "daemon off; pid nginx.pid;"], folder / "nginx.log") as process:
        process.wait_until(lambda: not is_refused_at(port))
        yield port


def is_refused_at(port):
    try:
        socket.create_connection((HOST, port), PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("is_proxied", [False, True], ids=["direct", "nginx"])
def test_restarts_lose_no_request_of_a_kept_connection(tmp_path, is_proxied):
    # The socket stays open, so that a new connection waits for the next start.
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(listening())
        port = listener.getsockname()[1]
        process = start(tmp_path, [listener], ["http"])
        try:
            reached = stack.enter_context(nginx(tmp_path, port)) if is_proxied else port
            with Load(reached) as load:
                for _ in range(RESTARTS):
                    load.wait_for_answers()
                    time.sleep(0.5)
                    _, log = stop(process)
                    assert "stopping with unanswered requests" not in log
                    process = start(tmp_path, [listener], ["http"])
                load.wait_for_answers()
                time.sleep(0.5)
        finally:
            stop(process)
    print(f"{RESTARTS} restarts: {load.answered} requests answered, {len(load.lost)} lost")
    assert load.answered > 100 * RESTARTS / 2
    assert load.lost == []


def test_a_stop_waits_for_one_more_request_of_a_connection_in_use_and_for_no_other(tmp_path):
    with Service(tmp_path, DOORWARD_LIMITS_STOP_GRACE="5s") as service, service.connect() as used, service.connect() as unused:
        unused.exchange(get(GUARD))
        # Longer than the grace.
        time.sleep(6)
        assert b"connection: close" not in used.exchange(get(GUARD)).head.lower()
        with stopping_later(service):
            with pytest.raises(ConnectionError):
                unused.receive()
            assert not is_refused(service), "new connections are served meanwhile"
            with service.connect() as new:
                assert b"connection: close" in new.exchange(get(GUARD)).head.lower()
            assert b"connection: close" in used.exchange(get(GUARD)).head.lower()
            with pytest.raises(ConnectionError):
                used.receive()


@contextlib.contextmanager
def stopping_later(service):
    """As `stopping`, without waiting until connections are refused."""
    stopped = []
    thread = threading.Thread(target=lambda: stopped.append(service.stop()))
    thread.start()
    try:
        yield
    finally:
        thread.join()
    [(code, _)] = stopped
    assert code == 0
