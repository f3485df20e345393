"""A proxy between a service and its database that can be interrupted in two ways."""

import contextlib
import socket
import threading

from harness import HOST


class Proxy:
    """Forwards bytes in both directions until it is `silent` (nothing is forwarded or closed, as with a pulled cable) or
    `refused` (everything is reset, as when a machine restarts)."""

    def __init__(self, port):
        self._target = port
        self._listener = socket.create_server((HOST, 0), backlog=128)
        self.port = self._listener.getsockname()[1]
        self._passes = threading.Event()
        self._passes.set()
        self._refuses = False
        self._ends = set()
        self._lock = threading.Lock()

    def __enter__(self):
        threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()
        return self

    def __exit__(self, *_):
        self._listener.close()
        self._reset_all()

    def silent(self):
        self._passes.clear()

    def refused(self):
        self._refuses = True
        # Also wakes the thread that waits in accept().
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._reset_all()

    def restored(self):
        if self._refuses:
            self._refuses = False
            self._listener = socket.create_server((HOST, self.port), backlog=128)
            threading.Thread(target=self._accept, args=[self._listener], daemon=True).start()
        self._passes.set()

    def _accept(self, listener):
        with contextlib.suppress(OSError):
            while True:
                near, _ = listener.accept()
                threading.Thread(target=self._connect, args=[near], daemon=True).start()

    def _connect(self, near):
        self._passes.wait()
        try:
            far = socket.create_connection((HOST, self._target))
        except OSError:
            _reset(near)
            return
        with self._lock:
            self._ends |= {near, far}
        for end in (near, far):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=self._pass_on, args=[near, far], daemon=True).start()
        self._pass_on(far, near)

    def _pass_on(self, source, sink):
        with contextlib.suppress(OSError):
            while True:
                received = source.recv(65536)
                self._passes.wait()
                if not received:
                    break
                sink.sendall(received)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        with self._lock:
            self._ends -= {source, sink}

    def _reset_all(self):
        with self._lock:
            ends, self._ends = self._ends, set()
        for end in ends:
            _reset(end)


def _reset(end):
    """Closes the connection with a reset."""
    with contextlib.suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        # Wakes the thread that reads from it; close() alone does not.
        end.shutdown(socket.SHUT_RD)
        end.close()
