"""Tokens of a running Doorward, verified by libraries that know nothing but its published keys."""

import os
import shutil
import subprocess
from pathlib import Path

import jwt
import pytest
from conftest import AUDIENCE
from joserfc import jwk
from joserfc import jwt as joserfc_jwt
from joserfc.errors import JoseError

JOSE = "jose@6.2.3"


def changed(token):
    """The token with one other character in its claims, and with one other in its signature."""
    head, claims, signature = token.split(".")
    other = "A" if claims[10] != "A" else "B"
    yield f"{head}.{claims[:10]}{other}{claims[11:]}.{signature}"
    other = "A" if signature[10] != "A" else "B"
    yield f"{head}.{claims}.{signature[:10]}{other}{signature[11:]}"


def with_pyjwt(doorward):
    _, metadata = doorward.ask("/.well-known/openid-configuration")
    # Here a new key signs at once. Usually it is published for longer than the 30 seconds for which PyJWT does not ask again.
    keys = jwt.PyJWKClient(metadata["jwks_uri"], cooldown_duration=0)

    def verify(token):
        try:
            key = keys.get_signing_key_from_jwt(token)
            algorithms = metadata["id_token_signing_alg_values_supported"]
            return jwt.decode(token, key, algorithms=algorithms, issuer=metadata["issuer"], audience=AUDIENCE)
        except jwt.PyJWTError:
            return None

    return verify


def with_joserfc(doorward):
    def verify(token):
        keys = jwk.KeySet.import_key_set(doorward.key_set())
        registry = joserfc_jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": doorward.url}, aud={"essential": True, "value": AUDIENCE}
        )
        try:
            claims = joserfc_jwt.decode(token, keys, algorithms=["ES256"]).claims
            registry.validate(claims)
            return claims
        except (JoseError, ValueError):
            return None

    return verify


def with_introspection(doorward):
    def verify(token):
        status, told = doorward.introspect(token)
        assert status == 200
        return told if told["active"] else None

    return verify


@pytest.fixture(params=[with_pyjwt, with_joserfc, with_introspection])
def verify(request, doorward):
    return request.param(doorward)


def test_a_token_is_verified_and_says_whose_it_is(doorward, verify, token):
    claims = verify(token)
    assert (claims["iss"], claims["aud"]) == (doorward.url, AUDIENCE)
    assert claims["exp"] - claims["iat"] == 24 * 60 * 60
    assert all(len(claims[name]) == 36 for name in ("sub", "sid", "jti"))


def test_one_changed_character_is_refused(verify, token):
    for forged in changed(token):
        assert verify(forged) is None


def test_a_rotation_leaves_old_and_new_tokens_good(doorward, verify, token):
    assert verify(token)
    doorward.command("keys", "rotate")
    younger = doorward.sign_up()
    assert jwt.get_unverified_header(younger)["kid"] != jwt.get_unverified_header(token)["kid"]
    assert verify(token) and verify(younger)


def test_a_revoked_key_is_no_longer_published(doorward, token):
    kid = jwt.get_unverified_header(token)["kid"]
    doorward.command("keys", "revoke", kid)
    assert kid not in [key["kid"] for key in doorward.key_set()["keys"]]
    # Whoever has no copy of the key set refuses its tokens, and so does Doorward itself.
    assert with_pyjwt(doorward)(token) is None
    assert with_joserfc(doorward)(token) is None
    assert doorward.introspect(token) == (200, {"active": False})


def test_jose_for_javascript_verifies_and_refuses(doorward, token, tmp_path):
    if not shutil.which("npm"):
        pytest.skip("npm is missing")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", tmp_path, JOSE]
    subprocess.run(command, check=True, timeout=120)
    shutil.copy(Path(__file__).with_name("verify.mjs"), tmp_path)
    tokens = [token, *changed(token)]
    run = ["node", tmp_path / "verify.mjs", doorward.url, AUDIENCE, *tokens]
    environment = os.environ | {"NO_PROXY": "*", "no_proxy": "*"}
    told = subprocess.check_output(run, env=environment, text=True, timeout=60)
    assert told.splitlines() == ["good", "refused", "refused"]
