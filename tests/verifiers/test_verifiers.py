"""Libraries and programs of others verify the tokens of a running Doorward with its published keys."""

import json
from urllib.error import HTTPError
from urllib.request import Request

import jwt
import pytest
from conftest import AUDIENCE, opener
from joserfc import jwk
from joserfc import jwt as joserfc_jwt
from joserfc.errors import JoseError


def changed(token):
    """The token with one changed character in its claims, then in its signature."""
    head, claims, signature = token.split(".")
    other = "A" if claims[10] != "A" else "B"
    yield f"{head}.{claims[:10]}{other}{claims[11:]}.{signature}"
    other = "A" if signature[10] != "A" else "B"
    yield f"{head}.{claims}.{signature[:10]}{other}{signature[11:]}"


# Each of these returns a function that maps a token to its claims, or to None if the token is refused.


def pyjwt(request, doorward):
    _, metadata = doorward.send("/.well-known/openid-configuration")
    # Here a new key signs immediately. By default it is published for longer than PyJWT's cooldown of 30 seconds.
    keys = jwt.PyJWKClient(metadata["jwks_uri"], cooldown_duration=0)

    def verify(token):
        try:
            key = keys.get_signing_key_from_jwt(token)
            algorithms = metadata["id_token_signing_alg_values_supported"]
            return jwt.decode(token, key, algorithms=algorithms, issuer=metadata["issuer"], audience=AUDIENCE)
        except jwt.PyJWTError:
            return None

    return verify


def joserfc(request, doorward):
    def verify(token):
        keys = jwk.KeySet.import_key_set(doorward.key_set())
        registry = joserfc_jwt.JWTClaimsRegistry(
            iss={"essential": True, "value": doorward.url}, aud={"essential": True, "value": AUDIENCE}
        )
        try:
            claims = joserfc_jwt.decode(token, keys, algorithms=[doorward.algorithm]).claims
            registry.validate(claims)
            return claims
        except (JoseError, ValueError):
            return None

    return verify


def introspection(request, doorward):
    def verify(token):
        status, claims = doorward.introspect(token)
        assert status == 200
        return claims if claims["active"] else None

    return verify


def through_express(name):
    def verifier(request, doorward):
        if name == "express-jwt" and doorward.algorithm == "EdDSA":
            pytest.skip("express-jwt does not support EdDSA")
        url = f"{request.getfixturevalue('express')}/{name}"
        return lambda token: send(url, token, lambda answer: json.load(answer))

    verifier.__name__ = name
    return verifier


def envoy(request, doorward):
    url = request.getfixturevalue("envoy")
    return lambda token: send(url, token, lambda answer: json.loads(answer.headers["x-claims"]))


def send(url, token, claims_of):
    try:
        with opener.open(Request(url, headers={"Authorization": f"Bearer {token}"}), timeout=15) as answer:
            return claims_of(answer)
    except HTTPError as error:
        with error:
            assert error.code == 401, error.read()
            return None


VERIFIERS = [
    pyjwt,
    joserfc,
    introspection,
    through_express("jose"),
    through_express("express-oauth2-jwt-bearer"),
    through_express("express-jwt"),
    envoy,
]


@pytest.fixture(params=VERIFIERS, ids=lambda verifier: verifier.__name__)
def verify(request, doorward):
    return request.param(request, doorward)


def test_a_token_is_verified_with_its_claims(doorward, verify, token):
    assert jwt.get_unverified_header(token)["alg"] == doorward.algorithm
    claims = verify(token)
    assert (claims["iss"], claims["aud"]) == (doorward.url, AUDIENCE)
    assert claims["exp"] - claims["iat"] == 24 * 60 * 60
    assert all(len(claims[name]) == 36 for name in ("sub", "sid", "jti"))


def test_one_changed_character_is_refused(verify, token):
    for forged in changed(token):
        assert verify(forged) is None


def test_old_and_new_tokens_are_valid_after_a_rotation(doorward, verify, token):
    assert verify(token)
    doorward.command("keys", "rotate")
    younger = doorward.sign_up()
    assert jwt.get_unverified_header(younger)["kid"] != jwt.get_unverified_header(token)["kid"]
    assert verify(token) and verify(younger)


def test_a_revoked_key_is_no_longer_published(request, doorward, token):
    kid = jwt.get_unverified_header(token)["kid"]
    doorward.command("keys", "revoke", kid)
    assert kid not in [key["kid"] for key in doorward.key_set()["keys"]]
    # Verifiers without a cached key set refuse its tokens, and so does Doorward.
    for verifier in (pyjwt, joserfc, introspection):
        assert verifier(request, doorward)(token) is None
