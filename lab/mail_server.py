"""A mail server that takes every mail and records its recipient and its Message-ID. Needs only Python."""

import contextlib
import re
import socket
import socketserver
import threading

from harness import HOST


class MailServer:
    """Takes mail until the end of the `with` block."""

    def __init__(self, port):
        self._port = port
        # The recipient and the Message-ID of each mail, in the order of arrival.
        self.mails = []
        self._connections = []

    def __enter__(self):
        mails, connections = self.mails, self._connections

        class Handler(socketserver.StreamRequestHandler):
            disable_nagle_algorithm = True

            def handle(self):
                connections.append(self.request)
                try:
                    self.converse()
                except OSError:
                    # The service was killed.
                    pass

            def converse(self):
                self.reply("220 lab")
                recipient = None
                while line := self.rfile.readline():
                    verb = line.split()[0].upper() if line.split() else b""
                    if verb == b"RCPT":
                        recipient = re.search(rb"<(.*)>", line)[1].decode()
                    if verb == b"DATA":
                        self.reply("354 go on")
                        if (content := self.content()) is None:
                            return
                        # Recorded before the answer, so that a mail whose answer is lost counts as well.
                        mails.append((recipient, re.search(rb"(?im)^message-id: *(\S+)", content)[1].decode()))
                    self.reply("221 bye" if verb == b"QUIT" else "250 ok")

            def content(self):
                lines = []
                while line := self.rfile.readline():
                    if line == b".\r\n":
                        return b"".join(lines)
                    lines.append(line)
                return None

            def reply(self, text):
                self.wfile.write(f"{text}\r\n".encode())

        class Server(socketserver.ThreadingTCPServer):
            allow_reuse_address = True
            daemon_threads = True
            block_on_close = False

        self._server = Server((HOST, self._port), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
