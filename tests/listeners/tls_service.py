"""A service that speaks HTTPS with certificates made here, and what a test needs to look at it."""

import contextlib
import socket
import ssl
import subprocess
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from harness import BINARY, HOST, PATIENCE_SECONDS
from harness.service import Service
from harness.wait import eventually


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

    def log_with(self, text, count=1):
        """The log as soon as it contains a text this many times. A line may be a moment late."""
        eventually(f"the log contains {count} times: {text}", lambda: self.output().count(text) >= count)
        return self.output()

    def reload(self):
        self.run("reload")

    def refused_reload(self):
        """What `doorward reload` says when it fails."""
        done = subprocess.run([BINARY, "reload"], cwd=self.folder, env=self.variables(), capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (1, ""), done
        assert done.stderr.endswith("; the certificate in force stays\n"), done
        return done.stderr

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
