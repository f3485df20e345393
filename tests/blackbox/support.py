"""A small HTTP client, and functions that make and change tokens.

The client writes raw bytes, because HTTP libraries refuse to send most of what these tests need: repeated headers,
malformed targets, truncated bodies.
"""

import base64
import hashlib
import hmac
import json
import re
import select
import socket
import time
import uuid
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from statistics import median

from cryptography.hazmat.primitives import cmac, hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers import algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from harness.stall import StallRecorder

USER = "/api/user"
LOGIN = "/api/auth/login"
GUARD = "/api/auth/guard"
MILES = "/api/auth/miles"
GUARDS = (GUARD, MILES)

STALLS = StallRecorder()

BODY_LIMIT = 64 * 1024
JSON_TYPE = ("Content-Type", "application/json")

MALFORMED = "The requested action could not be exercised due to malformed syntax."
REFUSED = {
    "message": "The provided credentials are either invalid or has insufficient privilege"
    " to perform the requested action."
}
NOT_FOUND = {"message": "The requested resource could not be found."}


# --- answers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def header(self, name):
        """The value of a header that may occur once; None when it is absent."""
        values = self.all(name)
        assert len(values) <= 1, f"{name} occurs {len(values)} times"
        return values[0] if values else None

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def fingerprint(self):
        """Everything that a caller sees, except for the date and the request id."""
        volatile = ("date", "x-request-id")
        headers = [(name, None if name.lower() in volatile else value) for name, value in self.headers]
        return self.status, headers, self.body

    @property
    def challenge_error(self):
        """The error code of the one Bearer challenge; None when it has no code."""
        challenge = self.header("WWW-Authenticate")
        assert challenge is not None, "WWW-Authenticate is missing"
        assert re.fullmatch(r"Bearer( .*)?", challenge), challenge
        code = re.search(r'\berror="([^"]*)"', challenge)
        return code and code[1]


def assert_answer(answer, status, body):
    """Compares status and whole body; the order of keys counts, white space between them does not."""
    assert (answer.status, answer.body and json.dumps(answer.json)) == (status, json.dumps(body))


def assert_message_only(answer, status):
    """For statuses whose message is not specified."""
    assert answer.status == status, answer
    assert list(answer.json) == ["message"]
    assert isinstance(answer.json["message"], str) and answer.json["message"]


def assert_takes_less_than(seconds, action):
    """The limit is extended by the time for which the machine stalled."""
    start = time.monotonic()
    action()
    took, stalled = time.monotonic() - start, STALLS.since(start)
    assert took < seconds + stalled, f"{took:.2f} s, of them {stalled:.2f} s stalled"


def assert_take_equally_long(*actions, rounds=50):
    """Detects a skipped hash, not small differences. A quiet machine shows it in the fastest runs. One that is busy all the time
    interrupts all of them, and shows it in the medians."""
    took = [[] for _ in actions]
    for number in range(rounds):
        for seconds, action in zip(took, actions, strict=True):
            start = time.perf_counter()
            action()
            seconds.append(time.perf_counter() - start)
        fastest, medians = [min(seconds) for seconds in took], [median(seconds) for seconds in took]
        if number >= 4 and any(max(compared) < 2 * min(compared) for compared in (fastest, medians)):
            return
    raise AssertionError(f"the fastest took {fastest} seconds, the medians {medians}")


def invalid(**errors):
    return {"message": MALFORMED, "error": [errors]}


# --- client ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class User:
    id: str
    token: str
    name: str
    email: str
    password: str | None


def fresh_email(prefix="user"):
    return f"{prefix}-{uuid.uuid4().hex}@example.com"


def person(**fields):
    """A valid sign-up body; a field that is None is omitted."""
    body = {"name": "Ada Lovelace", "email": fresh_email()} | fields
    return {name: value for name, value in body.items() if value is not None}


def as_json(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def bearer(token):
    return [("Authorization", f"Bearer {token}")]


def padded_to(size, payload):
    """The payload as JSON of exactly `size` bytes, filled up with an unknown field."""
    room = size - len(as_json(payload | {"padding": ""}))
    return as_json(payload | {"padding": "x" * room})


def in_chunks(body, size=4096):
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"


# Without an answer of its database for a second, the service takes it for unreachable. It notices its return soon after.
UNREACHABLE_STALL_SECONDS, UNREACHABLE_MEMORY_SECONDS = 0.5, 5
UNREACHABLE_PATIENCE_SECONDS = 30


class Client:
    """One keep-alive connection, reopened after the service has closed it."""

    def __init__(self, host, port, timeout=20):
        self.host, self.port, self.timeout = host, port, timeout
        self.socket = None

    def another(self, timeout=20):
        return Client(self.host, self.port, timeout)

    def close(self):
        if self.socket:
            self.socket.close()
            self.socket = None

    def _connect(self):
        self.close()
        self.socket = socket.create_connection((self.host, self.port), self.timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def _read(self, method):
        response = HTTPResponse(self.socket, method=method)
        try:
            response.begin()
            answer = Answer(response.status, tuple(response.getheaders()), response.read())
            if response.will_close:
                self.close()
            return answer
        finally:
            response.close()

    def _exchange(self, raw, method):
        try:
            self.socket.sendall(raw)
        except (BrokenPipeError, ConnectionResetError):
            pass  # A service that refuses early may stop reading. Its answer can still be read.
        return self._read(method)

    def raw(self, raw, method="GET"):
        """Sends raw bytes on a new connection."""
        self._connect()
        try:
            return self._exchange(raw, method)
        finally:
            self.close()

    def drip(self, pieces, method="GET"):
        """Sends piece by piece on a new connection and stops as soon as the service answers."""
        self._connect()
        try:
            for piece in pieces:
                if select.select([self.socket], [], [], 0.005)[0]:
                    break
                try:
                    self.socket.sendall(piece)
                except (BrokenPipeError, ConnectionResetError):
                    break  # Its answer can still be read.
            return self._read(method)
        finally:
            self.close()

    def head(self, method, target, headers=()):
        lines = [f"{method} {target} HTTP/1.1", f"Host: {self.host}:{self.port}"]
        lines += [f"{name}: {value}" for name, value in headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def send(self, method, target, headers=(), body=None):
        """A body of None sends no body and no Content-Length; b"" sends Content-Length: 0.

        Asks again if the machine stalled for so long that the service took its database for unreachable."""
        length = [] if body is None else [("Content-Length", len(body))]
        raw = self.head(method, target, [*headers, *length]) + (body or b"")
        deadline = time.monotonic() + UNREACHABLE_PATIENCE_SECONDS
        while True:
            answer = self._send(raw, method)
            now = time.monotonic()
            if answer.status != 503 or now > deadline:
                return answer
            if STALLS.since(now - UNREACHABLE_MEMORY_SECONDS) < UNREACHABLE_STALL_SECONDS:
                return answer
            time.sleep(0.1)

    def _send(self, raw, method):
        if self.socket:
            try:
                return self._exchange(raw, method)
            except (HTTPException, ConnectionError):
                pass  # The service has closed the idle connection.
        self._connect()
        return self._exchange(raw, method)

    def get(self, target, headers=()):
        return self.send("GET", target, headers)

    def post(self, target, payload):
        return self.post_bytes(target, as_json(payload))

    def post_bytes(self, target, body, content_type=JSON_TYPE[1]):
        return self.send("POST", target, [("Content-Type", content_type)], body)

    def post_chunked(self, target, body):
        headers = [JSON_TYPE, ("Transfer-Encoding", "chunked")]
        return self.raw(self.head("POST", target, headers) + in_chunks(body), "POST")

    def sign_up(self, **fields):
        """Registers a user and asserts success."""
        body = person(**fields)
        answer = self.post(USER, body)
        assert answer.status == 201, answer
        return User(**answer.json, name=body["name"], email=body["email"], password=body.get("password"))

    def login(self, email, password):
        return self.post(LOGIN, {"email": email, "password": password})

    def guard(self, token, path=GUARD):
        return self.get(path, bearer(token))


# --- tokens ----------------------------------------------------------------------------------------------------------

ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
MISSING = object()


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def header_of(token):
    return json.loads(unb64(token.split(".")[0]))


def claims_of(token):
    return json.loads(unb64(token.split(".")[1]))


def signature_of(token):
    return unb64(token.split(".")[2])


def with_signature(token, signature):
    return f"{token.rpartition('.')[0]}.{b64(signature)}"


def altered(mapping, **changes):
    """A copy with some entries replaced, or removed if the value is MISSING."""
    return {key: value for key, value in (mapping | changes).items() if value is not MISSING}


def signing_input(header, claims):
    parts = (part if isinstance(part, bytes) else as_json(part) for part in (header, claims))
    return ".".join(b64(part) for part in parts)


def with_mac(key, header, claims):
    """The claims with the service's MAC at the end, so that the service also checks everything else."""
    if not isinstance(claims, bytes):
        claims = as_json(altered(claims, mac=MISSING))
    if not claims.endswith(b"}") or claims == b"{}":
        return claims
    head = b64(header if isinstance(header, bytes) else as_json(header))
    private = key.private_numbers().private_value.to_bytes(32, "big")
    derived = HKDF(hashes.SHA256(), 16, None, b"doorward token mac 1 " + head.encode()).derive(private)
    covered = claims[:-1] + b" " * (-len(claims[:-1]) % 3)
    mac = cmac.CMAC(algorithms.AES(derived))
    mac.update(b64(covered).encode())
    return covered + b',"mac":"%s"}' % b64(mac.finalize()).encode()


def sign_es256(key, header, claims, mac=True):
    content = signing_input(header, with_mac(key, header, claims) if mac else claims)
    r, s = utils.decode_dss_signature(key.sign(content.encode(), ec.ECDSA(hashes.SHA256())))
    return f"{content}.{b64(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"


def sign_hmac(secret, header, claims, digest="sha256"):
    content = signing_input(header, claims)
    return f"{content}.{b64(hmac.digest(secret, content.encode(), digest))}"


def new_key():
    return ec.generate_private_key(ec.SECP256R1())


def public_jwk(key):
    numbers = key.public_key().public_numbers()
    return {
        "crv": "P-256",
        "kty": "EC",
        "x": b64(numbers.x.to_bytes(32, "big")),
        "y": b64(numbers.y.to_bytes(32, "big")),
    }


def thumbprint(key):
    """RFC 7638: the members in alphabetical order, no white space."""
    return b64(hashlib.sha256(as_json(public_jwk(key))).digest())


def public_encodings(key):
    """Every encoding of the public key that a careless verifier might use as an HMAC secret."""
    public = key.public_key()
    spki, point = serialization.PublicFormat.SubjectPublicKeyInfo, serialization.PublicFormat.UncompressedPoint
    pem = public.public_bytes(serialization.Encoding.PEM, spki)
    der = public.public_bytes(serialization.Encoding.DER, spki)
    jwk = public_jwk(key)
    return {
        "PEM": pem,
        "PEM without the last newline": pem.rstrip(b"\n"),
        "PEM with CRLF": pem.replace(b"\n", b"\r\n"),
        "DER": der,
        "base64 of the DER": base64.b64encode(der),
        "uncompressed point": public.public_bytes(serialization.Encoding.X962, point),
        "bare coordinates": unb64(jwk["x"]) + unb64(jwk["y"]),
        "x coordinate": unb64(jwk["x"]),
        "JWK": as_json(jwk),
        "thumbprint": thumbprint(key).encode(),
        "nothing": b"",
    }
