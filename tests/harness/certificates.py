"""Certificates of an authority of the tests, and certificates that sign themselves."""

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

PEM = serialization.Encoding.PEM
PKCS8 = serialization.PrivateFormat.PKCS8
PLAIN = serialization.NoEncryption()
THIS_MACHINE = ("localhost", "127.0.0.1")


class Authority:
    """A certificate authority, whose certificate is in a file."""

    def __init__(self, folder):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = named("Test Authority")
        self._count = 0
        self.file = Path(folder) / "authority.pem"
        certificate = sign(self._name, self._key, self._name, self._key.public_key(), (), 365, is_authority=True)
        self.file.write_bytes(certificate.public_bytes(PEM))

    def issue(self, *hosts, days=90, key=None):
        """The PEM texts of a certificate and of its key, by default for this machine. It has expired if the days are less
        than 0."""
        self._count += 1
        key = key or ec.generate_private_key(ec.SECP256R1())
        subject = named(f"server {self._count}")
        certificate = sign(self._name, self._key, subject, key.public_key(), hosts or THIS_MACHINE, days)
        return certificate.public_bytes(PEM), key.private_bytes(PEM, PKCS8, PLAIN)

    def server_context(self):
        """The TLS settings of a server on this machine."""
        both = self.file.with_name("server.pem")
        both.write_bytes(b"".join(self.issue()))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(both)
        return context


def self_signed(*hosts, days=90):
    """The PEM texts of a certificate that signs itself, and of its key."""
    key, name = ec.generate_private_key(ec.SECP256R1()), named(hosts[-1])
    certificate = sign(name, key, name, key.public_key(), hosts, days, is_authority=True)
    return certificate.public_bytes(PEM), key.private_bytes(PEM, PKCS8, PLAIN)


def named(text):
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


def sign(issuer, issuer_key, subject, public_key, hosts, days, is_authority=False):
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=30))
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
    )
    if hosts:
        names = x509.SubjectAlternativeName([general_name(host) for host in hosts])
        builder = builder.add_extension(names, critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def general_name(host):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
