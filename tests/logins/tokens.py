"""Keys and signed tokens, made without the code of the service."""

import base64
import hashlib
import hmac
import itertools
import json

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa, utils

NUMBERS = itertools.count(1)
PKCS1 = padding.PKCS1v15()
SHA256 = hashes.SHA256()


def encode(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def part(fields):
    return encode(json.dumps(fields).encode())


def claims_of(token):
    return json.loads(decode(token.split(".")[1]))


def number(value, size):
    return encode(value.to_bytes(size, "big"))


class RsaKey:
    """A key for RS256."""

    def __init__(self):
        self._key = rsa.generate_private_key(65537, 2048)
        self.kid = f"key-{next(NUMBERS)}"

    def public(self):
        """As in a key set."""
        numbers = self._key.public_key().public_numbers()
        own = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.kid}
        return own | {"n": number(numbers.n, 256), "e": number(numbers.e, 3)}

    def public_pem(self):
        return self._key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )

    def sign(self, claims, **header):
        signed = f"{part({'alg': 'RS256', 'kid': self.kid} | header)}.{part(claims)}"
        return f"{signed}.{encode(self._key.sign(signed.encode(), PKCS1, SHA256))}"


class EcKey:
    """A key for ES256, as Apple gives one to each client."""

    def __init__(self):
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.kid = f"KEY{next(NUMBERS):07}"

    def p8(self):
        return self._key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def verified(self, token):
        """The header and the claims of a token of this key. None if it is not one."""
        try:
            signed, _, signature = token.rpartition(".")
            raw = decode(signature)
            halves = (int.from_bytes(half, "big") for half in (raw[:32], raw[32:]))
            self._key.public_key().verify(utils.encode_dss_signature(*halves), signed.encode(), ec.ECDSA(SHA256))
            header, claims = (json.loads(decode(text)) for text in signed.split("."))
            return (header, claims) if header["alg"] == "ES256" and len(raw) == 64 else None
        except (InvalidSignature, ValueError, KeyError):
            return None


def unsigned(claims):
    return f"{part({'alg': 'none', 'typ': 'JWT'})}.{part(claims)}."


def with_secret(claims, secret, **header):
    signed = f"{part({'alg': 'HS256', 'typ': 'JWT'} | header)}.{part(claims)}"
    return f"{signed}.{encode(hmac.digest(secret, signed.encode(), 'sha256'))}"


def challenge_of(verifier):
    """What a verifier of PKCE is compared with."""
    return encode(hashlib.sha256(verifier.encode()).digest())
