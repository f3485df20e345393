"""A service that speaks HTTPS with certificates made here, and what a test needs to look at it."""

import contextlib
import datetime
import ipaddress
import socket
import ssl
import time
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID
from support import HOST, Service

PATIENCE_SECONDS = 60
PEM = serialization.Encoding.PEM
PKCS8 = serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()


def wait_until(holds, what="it"):
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not (result := holds()):
        assert time.monotonic() < deadline, f"{what} does not hold after {PATIENCE_SECONDS} seconds"
        time.sleep(0.02)
    return result


class Authority:
    """A certificate authority."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test Authority")])
        self.certificate = self._sign(self.name, self.key.public_key(), 365, is_authority=True)
        self.file = self.folder / "authority.pem"
        self.file.write_bytes(self.certificate.public_bytes(PEM))
        self._count = 0

    def issue(self, days=90, key=None):
        """The PEM texts of a certificate for this machine and of its key."""
        self._count += 1
        key = key or ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"server {self._count}")])
        certificate = self._sign(name, key.public_key(), days)
        return certificate.public_bytes(PEM), key.private_bytes(PEM, PKCS8, PLAIN)

    def _sign(self, name, public_key, days, is_authority=False):
        now = datetime.datetime.now(datetime.UTC)
        alternatives = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address(HOST))]
        builder = (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self.name)
            .public_key(public_key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=30))
            .not_valid_after(now + datetime.timedelta(days=days))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        )
        return builder.sign(self.key, hashes.SHA256())


def rsa_key():
    return rsa.generate_private_key(65537, 2048)


class TlsService(Service):
    """A service with a certificate in its folder. Its files are replaced with `put`."""

    def __init__(self, authority, folder, settings="", pair=None, **environment):
        self.authority = authority
        self.certificate_file = Path(folder) / "certificate.pem"
        self.key_file = Path(folder) / "key.pem"
        self.put(*(pair or authority.issue()))
        files = f'[tls]\ncertificate = "{self.certificate_file}"\nkey = "{self.key_file}"\n'
        super().__init__(folder, settings + files, **environment)

    def put(self, certificate=None, key=None, key_mode=0o600):
        """Replaces each file at once, as certbot does: the certificate first."""
        for file, content, mode in ((self.certificate_file, certificate, 0o600), (self.key_file, key, key_mode)):
            if content is not None:
                new = file.with_suffix(".new")
                new.touch(mode=0o600)
                new.write_bytes(content)
                new.chmod(mode)
                new.rename(file)

    @property
    def url(self):
        return f"https://{HOST}:{self.port}"

    def log(self):
        return (self._folder / "output").read_text(errors="replace")

    def log_with(self, text, count=1):
        """The log as soon as it contains a text this many times. A line may be a moment late."""
        wait_until(lambda: self.log().count(text) >= count, f"the log contains {count} times: {text}")
        return self.log()

    def reload(self):
        self.run("reload")

    def context(self, protocols=("http/1.1",)):
        context = ssl.create_default_context(cafile=self.authority.file)
        context.set_alpn_protocols(list(protocols))
        return context

    @contextlib.contextmanager
    def open(self, protocols=("http/1.1",), context=None):
        context = context or self.context(protocols)
        with socket.create_connection((HOST, self.port), PATIENCE_SECONDS) as plain:
            with context.wrap_socket(plain, server_hostname=HOST) as encrypted:
                yield encrypted

    def subject(self):
        """The name in the certificate that a new connection is shown."""
        with self.open() as connection:
            certificate = x509.load_der_x509_certificate(connection.getpeercert(binary_form=True))
        return certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value

    def connect(self):
        # For the first answer.
        context = self.context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        return TlsConnection(self.port, context)


class TlsConnection:
    """Enough of the lab's connection to wait for the service."""

    def __init__(self, port, context):
        plain = socket.create_connection((HOST, port), PATIENCE_SECONDS)
        self._socket = context.wrap_socket(plain)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def exchange(self, request):
        self._socket.sendall(request)
        return self._socket.recv(65536)
