"""A mail server whose behaviour a test chooses: aiosmtpd, with STARTTLS and a login if the test asks for them."""

import asyncio
import threading
from email import message_from_bytes, policy

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult

from harness import HOST
from harness.ports import reserved_port

USER, PASSWORD = "shop", "geheim-geheim"
TAKEN, REFUSED, LATER = "250 taken", "550 5.1.1 no such mailbox", "451 4.7.1 greylisted, try again later"


class MailServer:
    """Takes mail until the end of the `with` block. `reply` decides about each recipient."""

    def __init__(self, port=None, tls=None, reply=lambda address: TAKEN):
        self.port = port or reserved_port()
        self.reply = reply
        # Closes the connection after the mail, without an answer.
        self.drops = False
        # The server answers to a mail only while this is set.
        self.answers = threading.Event()
        self.answers.set()
        self.mails = []
        # Mails that it has received completely, whether it has answered or not.
        self.received = 0
        self._changed = threading.Condition()
        options = {}
        if tls:
            options = {
                "tls_context": tls,
                "require_starttls": True,
                "auth_required": True,
                "authenticator": self._authenticate,
            }
        self._controller = Controller(self, hostname=HOST, port=self.port, ready_timeout=60, **options)

    def __enter__(self):
        self._controller.start()
        return self

    def __exit__(self, *_):
        self.answers.set()
        self._controller.stop()

    def wait_for(self, condition, seconds=30):
        """Waits until the condition holds, which is checked at each mail."""
        with self._changed:
            assert self._changed.wait_for(condition, seconds), f"{self.received} received, {len(self.mails)} taken"

    @staticmethod
    def _authenticate(server, session, envelope, mechanism, login):
        success = (login.login, login.password) == (USER.encode(), PASSWORD.encode())
        return AuthResult(success=success, handled=False)

    async def handle_RCPT(self, server, session, envelope, address, options):
        answer = self.reply(address)
        if answer == TAKEN:
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server, session, envelope):
        with self._changed:
            self.received += 1
            self._changed.notify_all()
        await asyncio.get_running_loop().run_in_executor(None, self.answers.wait)
        mail = message_from_bytes(envelope.content, policy=policy.default)
        mail.raw = envelope.content
        with self._changed:
            self.mails.append(mail)
            self._changed.notify_all()
        if self.drops:
            server.transport.abort()
        return TAKEN
