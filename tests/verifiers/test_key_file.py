"""Doorward signs tokens with keys that another program generated."""

import jwt
import pytest
from conftest import AUDIENCE, doorward_with
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

KINDS = {
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
    "RS256": lambda: rsa.generate_private_key(65537, 3072),
}


@pytest.mark.parametrize("algorithm", KINDS)
def test_tokens_are_signed_with_the_first_key_of_the_file(algorithm, tmp_path):
    keys = {algorithm: KINDS[algorithm]()} | {other: make() for other, make in KINDS.items() if other != algorithm}
    pem = b"".join(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) for key in keys.values())
    (tmp_path / "keys.pem").write_bytes(pem)
    settings = {"DOORWARD_TOKEN_KEY_FILE": str(tmp_path / "keys.pem"), "DOORWARD_TOKEN_ALGORITHM": "ES256"}
    with doorward_with(tmp_path, settings) as doorward:
        token = doorward.sign_up()
        public = keys[algorithm].public_key()
        jwt.decode(token, public, algorithms=[algorithm], issuer=doorward.url, audience=AUDIENCE)
        assert [key["alg"] for key in doorward.key_set()["keys"]] == list(keys)
        # The file is read only at the start.
        (tmp_path / "keys.pem").unlink()
        jwt.decode(doorward.sign_up(), public, algorithms=[algorithm], issuer=doorward.url, audience=AUDIENCE)
