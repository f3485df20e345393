"""Authenticators and authenticator apps in software, which share no code with the service."""

import base64
import hashlib
import hmac
import json
import secrets
import struct
from urllib.parse import urlsplit

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

STEP_SECONDS = 30


class Authenticator:
    """A passkey in a device, or a security key that asks for no PIN."""

    def __init__(self, origin, verifies_user=True):
        self.origin, self.domain = origin, urlsplit(origin).hostname
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = secrets.token_bytes(16)
        self.verifies_user = verifies_user
        self.user_handle = None

    def _data(self, flags, rest=b""):
        flags |= 0x01 | (0x04 if self.verifies_user else 0)
        return hashlib.sha256(self.domain.encode()).digest() + bytes([flags]) + struct.pack(">I", 0) + rest

    def _client_data(self, kind, options):
        return json.dumps({"type": kind, "challenge": options["challenge"], "origin": self.origin}).encode()

    def create(self, options):
        self.user_handle = options["user"]["id"]
        numbers = self.key.public_key().public_numbers()
        x, y = numbers.x.to_bytes(32, "big"), numbers.y.to_bytes(32, "big")
        cose = b"\xa5\x01\x02\x03\x26\x20\x01\x21\x58\x20" + x + b"\x22\x58\x20" + y
        data = self._data(0x40, bytes(16) + struct.pack(">H", len(self.id)) + self.id + cose)
        attestation = b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x58" + bytes([len(data)]) + data
        response = {
            "clientDataJSON": encode(self._client_data("webauthn.create", options)),
            "attestationObject": encode(attestation),
        }
        return {"id": encode(self.id), "rawId": encode(self.id), "type": "public-key", "response": response}

    def get(self, options):
        data, client_data = self._data(0), self._client_data("webauthn.get", options)
        signed = data + hashlib.sha256(client_data).digest()
        response = {
            "clientDataJSON": encode(client_data),
            "authenticatorData": encode(data),
            "signature": encode(self.key.sign(signed, ec.ECDSA(hashes.SHA256()))),
            "userHandle": self.user_handle,
        }
        return {"id": encode(self.id), "rawId": encode(self.id), "type": "public-key", "response": response}


def encode(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def code_of(secret, step):
    """The code of an authenticator app for this time step."""
    key = base64.b32decode(secret + "=" * (-len(secret) % 8))
    digest = hmac.digest(key, struct.pack(">q", step), "sha1")
    offset = digest[19] & 15
    return f"{(struct.unpack('>I', digest[offset : offset + 4])[0] & 0x7FFFFFFF) % 1_000_000:06}"
