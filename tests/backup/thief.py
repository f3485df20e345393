"""What somebody who has a backup can make of it: tokens, cookies, sign-in codes and links of everybody in it."""

import base64
import hashlib
import hmac
import json
import re
import time
import uuid

from cryptography.hazmat.primitives import cmac, hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import load_pem_private_key


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def parts_of(token):
    """The header and the claims of a token."""
    return (json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))) for part in token.split(".")[:2])


def as_json(value):
    return json.dumps(value, separators=(",", ":")).encode()


def aes_cmac(key, data):
    mac = cmac.CMAC(algorithms.AES(key))
    mac.update(data)
    return mac.finalize()


class Thief:
    """Has a backup, and a token of their own to see what tokens look like."""

    def __init__(self, backup, own_token):
        lines = [json.loads(line) for line in backup.read_text().splitlines()]
        self._lines = lines[1:]
        self._secret = base64.b64decode(self._one("cookieSecret"))
        self._keys = [load_pem_private_key(key["pem"].encode(), None) for key in self._all("key") if key["stage"] == "signing"]
        self._header, self._claims = parts_of(own_token)

    def _all(self, kind):
        return [line[kind] for line in self._lines if kind in line]

    def _one(self, kind):
        [line] = self._all(kind)
        return line

    def session(self, email):
        """The ids of a user, their session and its token."""
        [user] = [user for user in self._all("users") if user["email"] == email]
        session = next(session for session in self._all("sessions") if session["user_id"] == user["id"])
        return user["id"], session["id"], session["token_id"]

    def token(self, session):
        """A token of a session, with the MAC of Doorward and a signature."""
        [key] = self._keys
        user, session_id, token_id = session
        claims = self._claims | {"sub": user, "sid": session_id, "jti": token_id}
        del claims["mac"]
        head = b64(as_json(self._header))
        private = key.private_numbers().private_value.to_bytes(32, "big")
        mac_key = HKDF(hashes.SHA256(), 16, None, b"doorward token mac 1 " + head.encode()).derive(private)
        covered = as_json(claims)[:-1]
        covered += b" " * (-len(covered) % 3)
        mac = b64(aes_cmac(mac_key, b64(covered).encode()))
        covered += b',"mac":"%s"}' % mac.encode()
        content = f"{head}.{b64(covered)}"
        r, s = utils.decode_dss_signature(key.sign(content.encode(), ec.ECDSA(hashes.SHA256())))
        return f"{content}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"

    def cookie_name(self, kind):
        """The name of a cookie on plain HTTP, with what it has of this installation."""
        installation = HKDF(hashes.SHA256(), 4, None, b"doorward 1 cookie names").derive(self._secret)
        return f"doorward-{kind}-{installation.hex()}"

    def session_cookie(self, session):
        return self._seal("session cookie", self._names(session), "")

    def app_cookie(self, session, origin):
        return self._seal("app cookie", self._names(session), origin)

    def sign_in_code(self, session, origin, attempt, url):
        """A code with which a guard signs the thief's browser in to an app."""
        expires = int((time.time() + 30) * 1000).to_bytes(8, "big")
        digest = hashlib.sha256(attempt.encode()).digest()[:16]
        payload = uuid.uuid4().bytes + self._names(session) + expires + digest + url.encode()
        return self._seal("sign-in code", payload, origin)

    def link(self, purpose, email):
        """The secret of a mailed link, which the backup does not contain."""
        [row] = [row for row in self._all("one_time_secrets") if row["purpose"] == purpose and row["email"] == email]
        return self._one_time(purpose, row["id"])

    def invitation(self, email):
        [row] = [row for row in self._all("invitations") if row["email"] == email]
        return self._one_time("invitation", row["id"])

    def _one_time(self, purpose, one_time):
        key = hmac.digest(self._secret, b"doorward 1 one-time secret", "sha256")
        return b64(hmac.digest(key, b"secret " + purpose.encode() + b" " + uuid.UUID(one_time).bytes, "sha256"))

    @staticmethod
    def _names(session):
        user, session_id, _ = session
        return uuid.UUID(user).bytes + uuid.UUID(session_id).bytes

    def _seal(self, purpose, payload, context):
        key = HKDF(hashes.SHA256(), 16, None, b"doorward 1 " + purpose.encode()).derive(self._secret)
        tag = aes_cmac(key, len(context).to_bytes(8, "big") + context.encode() + payload)
        return b64(payload + tag)


def revoked_tokens(service):
    """The ids of tokens that the revocation feed reports."""
    with service.connect() as connection:
        answer = connection.exchange(b"GET /.well-known/revocations HTTP/1.1\r\nHost: lab\r\n\r\n")
    _, claims = parts_of(re.sub(r"\s", "", answer.body.decode()))
    return set(claims["revoked"])
