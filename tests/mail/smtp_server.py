"""A mail server whose behaviour a test chooses: aiosmtpd, with STARTTLS and a login if the test asks for them."""

import asyncio
import datetime
import ipaddress
import ssl
import threading
from email import message_from_bytes, policy

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from support import free_port

HOST = "127.0.0.1"
USER, PASSWORD = "shop", "geheim-geheim"
TAKEN, REFUSED, LATER = "250 taken", "550 5.1.1 no such mailbox", "451 4.7.1 greylisted, try again later"


class MailServer:
    """Takes mail until the end of the `with` block. `reply` decides about each recipient."""

    def __init__(self, port=None, tls=None, reply=lambda address: TAKEN):
        self.port = port or free_port()
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


def certificate(folder):
    """Writes the certificate of an authority; returns its path and the TLS settings of a server with one of its
    certificates."""
    now = datetime.datetime.now(datetime.UTC)

    def issue(name, key, issuer, issuer_key, extensions):
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
        )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        return builder.sign(issuer_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)

    def named(text):
        return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])

    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    authority, host = named("authority"), named("mail")
    authority_file, server_file = folder / "authority.pem", folder / "server.pem"
    authority_file.write_bytes(
        issue(authority, authority_key, authority, authority_key, [x509.BasicConstraints(ca=True, path_length=None)])
    )
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))])
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    server_file.write_bytes(private + issue(host, key, authority, authority_key, [names]))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(server_file)
    return authority_file, context
