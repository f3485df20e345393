"""Sockets that the service manager keeps open across restarts."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time

import pytest
from harness import BINARY, HOST
from harness.connection import Connection, get
from harness.process import environment
from harness.ports import reserved_port
from harness.service import Service

PATIENCE_SECONDS = 60


@contextlib.contextmanager
def listening(family=socket.AF_INET, host=HOST):
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen(1024)
        yield listener


# Moves the descriptors in its arguments to their places and becomes the program, whose id only it knows.
LAUNCHER = """
import fcntl, os, sys
program, *sources = sys.argv[1:]
copies = [fcntl.fcntl(int(source), fcntl.F_DUPFD, 100) for source in sources]
for place, copy in enumerate(copies, start=3):
    os.dup2(copy, place)
os.environ["LISTEN_PID"] = str(os.getpid())
os.execv(program, [program])
"""


def start(folder, sockets, names, **variables):
    """Starts the service as systemd does: the sockets are the descriptors from 3 on, and LISTEN_PID is its id."""
    settings = {
        "DOORWARD_DATABASE_URL": f"sqlite://{folder}/doorward.db",
        "DOORWARD_METRICS_LISTEN": "off",
        "LISTEN_FDS": str(len(sockets)),
        "LISTEN_FDNAMES": ":".join(names),
    }
    descriptors = [descriptor.fileno() for descriptor in sockets]
    return subprocess.Popen(
        [sys.executable, "-c", LAUNCHER, BINARY, *map(str, descriptors)],
        cwd=folder,
        env=environment(**settings, **variables),
        pass_fds=descriptors,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def stop(process):
    process.terminate()
    output, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, log
    return output, log


def status_of(address):
    with socket.create_connection(address[:2], PATIENCE_SECONDS) as connection:
        connection.sendall(b"GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = b""
        while received := connection.recv(65536):
            answer += received
    return answer.split(b" ")[1].decode() if answer else "closed"


def test_all_sockets_are_served_and_listen_is_not_needed(tmp_path):
    with listening() as first, listening() as second:
        process = start(tmp_path, [first, second], ["doorward.socket", "http"])
        assert status_of(first.getsockname()) == status_of(second.getsockname()) == "200"
        _, log = stop(process)
        assert f'"message":"listening","address":"{HOST}:{first.getsockname()[1]}"' in log
        assert "set listen to the same address" in log


def test_the_setting_listen_is_quiet_when_it_names_the_socket(tmp_path):
    with listening() as only:
        port = only.getsockname()[1]
        process = start(tmp_path, [only], ["doorward.socket"], DOORWARD_LISTEN=f"{HOST}:{port}")
        assert status_of(only.getsockname()) == "200"
        _, log = stop(process)
        assert not [line for line in log.splitlines() if '"WARN"' in line or '"ERROR"' in line], log


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM), "not a valid tcp socket"),
        (lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), "not a valid tcp socket"),
        (lambda: open(os.devnull), "not a socket"),  # noqa: SIM115
    ],
)
def test_another_kind_of_descriptor_is_refused_with_what_to_do(tmp_path, make, message):
    with make() as other:
        process = start(tmp_path, [other], ["odd"])
        _, log = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode != 0
    assert 'socket 1 of the service manager ("odd"): ' in log
    assert message in log
    assert "use ListenStream= with an address and a port, and Accept=no" in log


def test_sockets_for_another_process_are_left_alone(tmp_path):
    """A variable that a parent has left behind does not make the service use a descriptor."""
    with listening() as foreign, Service(tmp_path, LISTEN_FDS="1", LISTEN_PID=str(os.getpid())) as service:
        with Connection(service.port) as connection:
            assert connection.exchange(get("/readyz")).status == 200
        assert foreign.fileno() >= 0


def test_systemd_socket_activate_starts_it(tmp_path):
    """systemd's own program listens and starts the service at the first connection."""
    port = reserved_port()
    command = ["systemd-socket-activate", f"--listen={HOST}:{port}", f"--setenv=DOORWARD_LISTEN={HOST}:{port}"]
    command.append("--setenv=DOORWARD_METRICS_LISTEN=off")
    environment = {"PATH": os.environ["PATH"]}
    process = subprocess.Popen([*command, BINARY], cwd=tmp_path, env=environment, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                assert status_of((HOST, port)) == "200"
                break
            except ConnectionRefusedError:
                assert time.monotonic() < deadline
                time.sleep(0.01)
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE_SECONDS)


def test_restarts_under_load_refuse_and_lose_no_request(tmp_path):
    """Every request of a new connection is answered, by the old process or by the next one."""
    restarts, clients = 5, 4
    statuses, ended = [], threading.Event()
    with listening() as kept:
        address = kept.getsockname()
        settings = {"DOORWARD_LISTEN": f"{HOST}:{address[1]}"}

        def ask():
            while not ended.is_set():
                try:
                    statuses.append(status_of(address))
                except OSError as error:
                    statuses.append(repr(error))

        process = start(tmp_path, [kept], ["doorward.socket"], **settings)
        threads = [threading.Thread(target=ask) for _ in range(clients)]
        for thread in threads:
            thread.start()
        try:
            for restart in range(restarts):
                answered, deadline = len(statuses), time.monotonic() + PATIENCE_SECONDS
                # Some answers between the restarts, whose moments differ.
                while len(statuses) < answered + 50 * (restart + 1):
                    assert time.monotonic() < deadline, statuses[-5:]
                    time.sleep(0.001)
                stop(process)
                process = start(tmp_path, [kept], ["doorward.socket"], **settings)
        finally:
            ended.set()
            for thread in threads:
                thread.join()
            stop(process)
    failures = [status for status in statuses if status != "200"]
    print(json.dumps({"restarts": restarts, "answers": len(statuses), "failures": len(failures)}))
    assert not failures, failures[:10]
