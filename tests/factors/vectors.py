"""Computes the test vectors of WebAuthn Level 3: 15 credentials, each with a registration and an authentication. The standard
derives every random value from a constant with HKDF, and makes ECDSA signatures deterministic, so they come out to the byte.

`python tests/factors/vectors.py` writes them to vectors.json, for the tests in Rust."""

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import cbor
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, padding, rsa
from cryptography.hazmat.primitives.hashes import SHA256, SHA384, SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

FILE = Path(__file__).resolve().parents[2] / "src/credential/passkey/vectors.json"
RP_ID = "example.org"
ORIGIN = f"https://{RP_ID}"
UP, UV, BE, BS, AT = 0x01, 0x04, 0x08, 0x10, 0x40


class Random:
    """The random values of one credential, in the order in which they are drawn."""

    def __init__(self, info):
        self.info = info.encode()
        self.drawn = 0

    def bytes(self, length):
        salt = bytes([self.drawn])
        self.drawn += 1
        return HKDF(SHA256(), length, salt, self.info).derive(b"WebAuthn test vectors")

    def byte(self):
        return self.bytes(1)[0]


class EcKey:
    def __init__(self, seed, curve, algorithm, number, hashed):
        self.key = ec.derive_private_key(int.from_bytes(seed), curve)
        self.algorithm, self.number, self.hashed = algorithm, number, hashed

    def point(self):
        return self.key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)

    def coordinates(self):
        point = self.point()[1:]
        return point[: len(point) // 2], point[len(point) // 2 :]

    def cose(self):
        x, y = self.coordinates()
        return {1: 2, 3: self.algorithm, -1: self.number, -2: x, -3: y}

    def sign(self, message):
        return self.key.sign(message, ec.ECDSA(self.hashed, deterministic_signing=True))


class EdKey:
    def __init__(self, key, algorithm, number):
        self.key, self.algorithm, self.number = key, algorithm, number

    def cose(self):
        return {1: 1, 3: self.algorithm, -1: self.number, -2: self.key.public_key().public_bytes_raw()}

    def sign(self, message):
        return self.key.sign(message)


class RsaKey:
    def __init__(self, p, q):
        e = 65537
        d = pow(e, -1, (p - 1) * (q - 1))
        public = rsa.RSAPublicNumbers(e, p * q)
        exponents = rsa.rsa_crt_dmp1(d, p), rsa.rsa_crt_dmq1(d, q), rsa.rsa_crt_iqmp(p, q)
        # The check that both are primes takes two seconds.
        self.key = rsa.RSAPrivateNumbers(p, q, d, *exponents, public).private_key(unsafe_skip_rsa_key_validation=True)

    def cose(self):
        numbers = self.key.public_key().public_numbers()
        n, e = (number.to_bytes((number.bit_length() + 7) // 8) for number in (numbers.n, numbers.e))
        return {1: 3, 3: -257, -1: n, -2: e}

    def sign(self, message):
        return self.key.sign(message, padding.PKCS1v15(), SHA256())


def es256(random):
    return EcKey(random.bytes(32), ec.SECP256R1(), -7, 1, SHA256())


def es384(random):
    return EcKey(random.bytes(48), ec.SECP384R1(), -35, 2, SHA384())


def es512(random):
    return EcKey(random.bytes(65), ec.SECP521R1(), -36, 3, SHA512())


def rs256(_random):
    # The smallest Mersenne primes of at least 1024 bits.
    return RsaKey(2**1279 - 1, 2**2203 - 1)


def eddsa(random):
    return EdKey(ed25519.Ed25519PrivateKey.from_private_bytes(random.bytes(32)), -8, 6)


def ed448_(random):
    return EdKey(ed448.Ed448PrivateKey.from_private_bytes(random.bytes(57)), -53, 7)


# --- attestation statements -----------------------------------------------------------------------------------------


def name(unit):
    attributes = [
        (x509.NameOID.COMMON_NAME, "WebAuthn test vectors"),
        (x509.NameOID.ORGANIZATION_NAME, "W3C"),
        (x509.NameOID.ORGANIZATIONAL_UNIT_NAME, unit),
        (x509.NameOID.COUNTRY_NAME, "AA"),
    ]
    return x509.Name([x509.NameAttribute(*attribute) for attribute in attributes])


def certificate(key, serial_number, subject, *extensions):
    """A certificate for the key, from the authority that all vectors share."""
    authority = es256(Random("Attestation CA")).key
    usage = dict.fromkeys(
        ["content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "key_cert_sign", "crl_sign"], False
    )
    usage = x509.KeyUsage(digital_signature=True, **usage, encipher_only=False, decipher_only=False)
    builder = x509.CertificateBuilder(
        name("Authenticator Attestation CA"),
        subject,
        key.public_key(),
        int.from_bytes(serial_number),
        datetime(2024, 1, 1, tzinfo=UTC),
        datetime(3024, 1, 1, tzinfo=UTC),
    )
    for extension, critical in [
        (x509.BasicConstraints(False, None), True),
        (usage, True),
        (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        (x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.public_key()), False),
        *extensions,
    ]:
        builder = builder.add_extension(extension, critical)
    return builder.sign(authority, SHA256(), ecdsa_deterministic=True).public_bytes(Encoding.DER)


AUTHENTICATOR = name("Authenticator Attestation")


def unrecognized(oid, value):
    return x509.UnrecognizedExtension(x509.ObjectIdentifier(oid), value), False


def none(_random, _credential):
    return lambda _data, _hash: {}


def packed_self(_random, credential):
    return lambda data, hash: {"alg": -7, "sig": credential.sign(data + hash)}


def packed(random, _credential):
    key, serial_number = es256(random), random.bytes(16)
    chain = [certificate(key.key, serial_number, AUTHENTICATOR)]
    return lambda data, hash: {"alg": -7, "sig": key.sign(data + hash), "x5c": chain}


def tpm(random, credential):
    key, serial_number = es256(random), random.bytes(16)
    # The manufacturer, the version and the model.
    hardware = [("2.23.133.2.1", "id:00000000"), ("2.23.133.2.3", "id:00000000"), ("2.23.133.2.2", "WebAuthn test vectors")]
    hardware = [x509.NameAttribute(x509.ObjectIdentifier(oid), value) for oid, value in hardware]
    hardware = x509.DirectoryName(x509.Name([x509.RelativeDistinguishedName(hardware)]))
    extensions = [
        (x509.ExtendedKeyUsage([x509.ObjectIdentifier("2.23.133.8.3")]), False),
        (x509.SubjectAlternativeName([hardware]), True),
    ]
    chain = [certificate(key.key, serial_number, x509.Name([]), *extensions)]
    x, y = credential.coordinates()
    # An ECC key with SHA-256, no policy, no symmetric algorithm, scheme or key derivation, on P-256.
    area = bytes.fromhex("0023 000b 00040000 0000 0010 0010 0003 0010 0020") + x + bytes.fromhex("0020") + y
    named = bytes.fromhex("000b") + sha256(area).digest()

    def statement(data, hash):
        # A certification without a signer, with a clock and a version of the firmware.
        info = bytes.fromhex("ff544347 8017 0000 0020") + sha256(data + hash).digest()
        info += bytes.fromhex("0000000000000000 11111111 22222222 33 0000000000000000 0022") + named + bytes(2)
        return {"alg": -7, "sig": key.sign(info), "ver": "2.0", "x5c": chain, "pubArea": area, "certInfo": info}

    return statement


def android_key(random, credential):
    serial_number = random.bytes(16)

    def statement(data, hash):
        description = bytes.fromhex("3035 0202012c 0a0100 020100 0a0100 0420") + hash + bytes.fromhex("0400 3000 3000")
        extension = unrecognized("1.3.6.1.4.1.11129.2.1.17", description)
        chain = [certificate(credential.key, serial_number, AUTHENTICATOR, extension)]
        return {"alg": -7, "sig": credential.sign(data + hash), "x5c": chain}

    return statement


def apple(random, credential):
    serial_number = random.bytes(16)

    def statement(data, hash):
        nonce = bytes.fromhex("3024 a122 0420") + sha256(data + hash).digest()
        extension = unrecognized("1.2.840.113635.100.8.2", nonce)
        return {"x5c": [certificate(credential.key, serial_number, AUTHENTICATOR, extension)]}

    return statement


def fido_u2f(random, credential):
    key, serial_number = es256(random), random.bytes(16)
    chain = [certificate(key.key, serial_number, AUTHENTICATOR)]

    def statement(data, hash):
        length = int.from_bytes(data[53:55])
        return {"sig": key.sign(b"\0" + data[:32] + hash + data[55 : 55 + length] + credential.point()), "x5c": chain}

    return statement


# --- the ceremonies -------------------------------------------------------------------------------------------------


def base64url(data):
    return urlsafe_b64encode(data).decode().rstrip("=")


def client_data(kind, challenge, info, random):
    data = {"type": kind, "challenge": base64url(challenge), "origin": ORIGIN}
    data["crossOrigin"] = info.endswith(("crossOrigin", "topOrigin"))
    if info.endswith("topOrigin"):
        data["topOrigin"] = "https://example.com"
    if random.byte() & 1:
        extra = f"clientDataJSON may be extended with additional fields in the future, such as this: {base64url(random.bytes(16))}"
        data["extraData"] = extra
    return json.dumps(data, separators=(",", ":")).encode()


def authenticator_data(flags, credential=b""):
    return sha256(RP_ID.encode()).digest() + bytes([flags]) + bytes(4) + credential


def vector(info, key, statement, challenge_length=32, id_length=32):
    random = Random(info)
    challenge = random.bytes(challenge_length)
    credential = key(random)
    client = client_data("webauthn.create", challenge, info, random)
    aaguid, credential_id = random.bytes(16), random.bytes(id_length)
    # A U2F key has none of these flags.
    flags = 0 if statement is fido_u2f else random.byte() & (UV | BE | BS)
    if not flags & BE:
        flags &= ~BS
    make_statement = statement(random, credential)
    attested = aaguid + len(credential_id).to_bytes(2) + credential_id + cbor.encode(credential.cose())
    data = authenticator_data(flags | UP | AT, attested)
    format = info.partition(".")[0].removesuffix("-self")
    object = {"fmt": format, "attStmt": make_statement(data, sha256(client).digest()), "authData": data}
    registration = {"challenge": challenge, "clientDataJSON": client, "attestationObject": cbor.encode(object)}

    challenge = random.bytes(challenge_length)
    client = client_data("webauthn.get", challenge, info, random)
    now = random.byte() & (UV | BS)
    if statement is fido_u2f:
        now = 0
    if not flags & BE:
        now &= ~BS
    data = authenticator_data(now | flags & BE | UP)
    authentication = {
        "challenge": challenge,
        "clientDataJSON": client,
        "authenticatorData": data,
        "signature": credential.sign(data + sha256(client).digest()),
    }
    return {"name": info, "credentialId": credential_id, "registration": registration, "authentication": authentication}


def vectors():
    return [
        vector("none.ES256", es256, none),
        vector("packed-self.ES256", es256, packed_self),
        vector("none.ES256.crossOrigin", es256, none),
        vector("none.ES256.topOrigin", es256, none),
        vector("none.ES256.long-credential-id", es256, none, id_length=1023),
        vector("packed.ES256", es256, packed),
        vector("packed.ES384", es384, packed),
        vector("packed.ES512", es512, packed, challenge_length=128),
        vector("packed.RS256", rs256, packed),
        vector("packed.EdDSA", eddsa, packed),
        vector("packed.Ed448", ed448_, packed),
        vector("tpm.ES256", es256, tpm),
        vector("android-key.ES256", es256, android_key),
        vector("apple.ES256", es256, apple),
        vector("fido-u2f.ES256", es256, fido_u2f),
    ]


def to_json(vectors):
    return json.dumps(vectors, indent=1, default=base64url) + "\n"


if __name__ == "__main__":
    FILE.write_text(to_json(vectors()))
