"""Ports of servers that must know their number before they start. All others listen on port 0."""

import contextlib
import fcntl
import os
import socket
import tempfile
from pathlib import Path

from harness import HOST

# Below the ephemeral ports, so that no connection takes one of them while its server does not listen.
FIRST, BLOCKS, BLOCK_SIZE = 20_000, 240, 50
# As in tests/postgres/mod.rs.
LOCKS = Path(tempfile.gettempdir()) / f"doorward-test-ports-{os.geteuid()}"

_left = iter(())
_locks = []


def reserved_port():
    """A port that no other process of the tests gets: each has blocks of ports of its own, which it locks until it ends.
    No port is returned twice, because a server may start long after its port is chosen."""
    global _left
    while True:
        for port in _left:
            # A program that is not of these tests may have it.
            with socket.socket() as probe:
                try:
                    probe.bind((HOST, port))
                    return port
                except OSError:
                    continue
        _left = iter(_lock_a_block())


@contextlib.contextmanager
def ports_of_the_readme():
    """The ports that stand in the README, which one test at a time can use."""
    LOCKS.mkdir(exist_ok=True)
    with open(LOCKS / "readme", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _lock_a_block():
    LOCKS.mkdir(exist_ok=True)
    for block in range(BLOCKS):
        lock = open(LOCKS / str(block), "ab")  # noqa: SIM115
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            lock.close()
            continue
        _locks.append(lock)
        return range(FIRST + block * BLOCK_SIZE, FIRST + (block + 1) * BLOCK_SIZE)
    raise RuntimeError("other tests hold all ports")
