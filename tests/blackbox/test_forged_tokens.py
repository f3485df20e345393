"""Forged tokens: with the wrong key, the wrong algorithm, or the right key and the wrong content."""

import socket
import time
import uuid

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ed25519, padding, rsa

from support import (
    GUARD,
    GUARDS,
    MILES,
    MISSING,
    REFUSED,
    altered,
    as_json,
    assert_answer,
    b64,
    claims_of,
    header_of,
    new_key,
    public_encodings,
    public_jwk,
    sign_es256,
    sign_hmac,
    signature_of,
    signing_input,
    thumbprint,
    with_mac,
)


@pytest.fixture(scope="module")
def header(ada):
    return header_of(ada.token)


@pytest.fixture(scope="module")
def claims(ada):
    return claims_of(ada.token)


@pytest.fixture(scope="module")
def other_key():
    """A key of the right kind that is not the service's."""
    return new_key()


def assert_refused(api, token):
    for path in GUARDS:
        answer = api.guard(token, path)
        assert_answer(answer, 401, REFUSED)
        assert answer.challenge_error == "invalid_token"


def test_the_same_content_signed_again_with_the_right_key_passes(api, signing_key, header):
    """Shows that the refusals below do not come from a fault in `support`."""
    claims = claims_of(api.sign_up().token)
    assert api.guard(sign_es256(signing_key, header, claims)).status == 200


def test_a_token_without_the_mac_of_the_service_is_refused(api, ada, signing_key, other_key, header, claims):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, mac=MISSING), mac=False))
    assert_refused(api, sign_es256(signing_key, header, altered(claims, mac=b64(bytes(16))), mac=False))
    # Another order or spelling of the same claims is another text.
    assert_refused(api, sign_es256(signing_key, header, dict(sorted(claims.items())), mac=False))
    assert_refused(api, sign_es256(signing_key, header, with_mac(other_key, header, claims), mac=False))


def test_the_mac_does_not_replace_the_signature(api, ada, other_key, header, claims):
    """The first two parts of a token, for example from a log, are not enough."""
    content = ada.token.rpartition(".")[0]
    for signature in ("", b64(bytes(64)), b64(signature_of(sign_es256(other_key, header, claims)))):
        assert_refused(api, f"{content}.{signature}")


# --- the wrong key or algorithm --------------------------------------------------------------------------------------


def test_a_token_signed_with_another_key_is_refused(api, other_key, header, claims):
    assert_refused(api, sign_es256(other_key, header, claims))
    assert_refused(api, sign_es256(other_key, altered(header, kid=thumbprint(other_key)), claims))
    assert_refused(api, sign_es256(other_key, altered(header, kid=MISSING), claims))


@pytest.mark.parametrize("secret", public_encodings(new_key()))
@pytest.mark.parametrize(
    "algorithm, digest", [("HS256", "sha256"), ("HS384", "sha384"), ("HS512", "sha512"), ("ES256", "sha256")]
)
def test_the_public_key_is_not_used_as_a_shared_secret(api, signing_key, header, claims, secret, algorithm, digest):
    forged_header = altered(header, alg=algorithm)
    assert_refused(api, sign_hmac(public_encodings(signing_key)[secret], forged_header, claims, digest))


ALGORITHMS = [
    "none", "None", "NONE", "nOnE", " none", "none ", "", "HS256", "HS384", "HS512", "RS256", "PS256", "ES384", "ES512",
    "ES256K", "EdDSA", "Ed25519", "es256", "ES256 ", "ECDH-ES", "dir",
    None, True, 0, [], ["ES256"], {"ES256": True}, MISSING,
]  # fmt: skip


def spelling(value):
    return "missing" if value is MISSING else repr(value)


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=spelling)
def test_no_algorithm_but_es256_is_accepted(api, ada, signing_key, header, claims, algorithm):
    forged = altered(header, alg=algorithm)
    content = signing_input(forged, claims)
    assert_refused(api, f"{content}.")
    assert_refused(api, content)
    assert_refused(api, f"{content}.{b64(signature_of(ada.token))}")
    assert_refused(api, sign_es256(signing_key, forged, claims))


@pytest.mark.parametrize("algorithm", ["EdDSA", "RS256", "ES256"])
def test_a_signature_by_a_key_of_another_kind_is_refused(api, header, claims, algorithm):
    content = signing_input(altered(header, alg=algorithm), claims)
    assert_refused(api, f"{content}.{b64(ed25519.Ed25519PrivateKey.generate().sign(content.encode()))}")
    large = rsa.generate_private_key(65537, 2048)
    assert_refused(api, f"{content}.{b64(large.sign(content.encode(), padding.PKCS1v15(), hashes.SHA256()))}")


def test_an_encrypted_token_is_refused(api, ada, header):
    direct = {"alg": "dir", "enc": "A256GCM", "kid": header["kid"]}
    for first in (b64(as_json(direct)), b64(as_json(header)), ada.token.split(".")[0]):
        assert_refused(api, f"{first}..{b64(bytes(12))}.{b64(ada.token.encode())}.{b64(bytes(16))}")
        assert_refused(api, f"{first}.{b64(bytes(32))}.{b64(bytes(12))}.{b64(bytes(64))}.{b64(bytes(16))}")


def test_many_unknown_key_ids_do_not_affect_the_known_one(api, ada, other_key, header, claims):
    for number in range(1000):
        forged = sign_es256(other_key, altered(header, kid=f"{number}{header['kid'][4:]}"), claims)
        assert api.guard(forged).status == 401
    assert api.guard(ada.token).status == 200


# --- the header ------------------------------------------------------------------------------------------------------


KEY_IDS = [
    "unknown", "", " ", "0", "../../../dev/null", "/dev/null", "signing-key.pem", "' OR '1'='1", "' UNION SELECT 'x'--",
    "a\0b", "*", "k" * 10_240, None, True, 0, [], {}, MISSING,
]  # fmt: skip


@pytest.mark.parametrize("kid", KEY_IDS, ids=lambda kid: spelling(kid)[:24])
def test_an_unknown_key_id_is_refused(api, signing_key, header, claims, kid):
    assert_refused(api, sign_es256(signing_key, altered(header, kid=kid), claims))
    assert_refused(api, sign_hmac(b"", altered(header, kid=kid, alg="HS256"), claims))


@pytest.mark.parametrize(
    "typ",
    ["", "at+jwt", "JWE", "JOSE", "dpop+jwt", "logout+jwt", "JWT ", None, True, 0, [], ["JWT"], MISSING],
    ids=spelling,
)
def test_a_token_of_another_type_is_refused(api, signing_key, header, claims, typ):
    assert_refused(api, sign_es256(signing_key, altered(header, typ=typ), claims))


@pytest.mark.parametrize(
    "extra",
    [
        {"crit": ["exp"]},
        {"crit": ["x"], "x": 1},
        {"crit": []},
        {"crit": None},
        {"crit": "exp"},
        {"crit": ["b64"], "b64": False},
        {"b64": False},
        {"zip": "DEF"},
        {"enc": "A256GCM"},
    ],
    ids=str,
)
def test_an_extension_is_refused(api, signing_key, header, claims, extra):
    assert_refused(api, sign_es256(signing_key, header | extra, claims))


@pytest.mark.parametrize("kid", ["the service's", "the other key's", "missing"])
def test_a_key_that_comes_with_the_token_is_not_trusted(api, other_key, header, claims, kid):
    chosen = {"the service's": header["kid"], "the other key's": thumbprint(other_key), "missing": MISSING}[kid]
    jwk = public_jwk(other_key) | {"kid": thumbprint(other_key), "alg": "ES256", "use": "sig"}
    forged = altered(header, kid=chosen, jwk=jwk)
    assert_refused(api, sign_es256(other_key, forged, claims))
    symmetric = altered(header, alg="HS256", kid=chosen, jwk={"kty": "oct", "k": b64(b"secret")})
    assert_refused(api, sign_hmac(b"secret", symmetric, claims))


@pytest.mark.parametrize("parameter", ["jku", "x5u"])
def test_no_key_is_fetched_from_an_address_in_the_header(api, other_key, header, claims, parameter):
    with socket.create_server(("127.0.0.1", 0)) as trap:
        address = f"http://127.0.0.1:{trap.getsockname()[1]}/keys"
        for kid in (header["kid"], thumbprint(other_key)):
            assert_refused(api, sign_es256(other_key, altered(header, kid=kid) | {parameter: address}, claims))
        trap.settimeout(0.2)
        with pytest.raises(TimeoutError):
            trap.accept()


def test_a_certificate_in_the_header_is_not_trusted(api, other_key, header, claims):
    certificate = b64(public_encodings(other_key)["DER"])
    assert_refused(api, sign_es256(other_key, header | {"x5c": [certificate], "x5t": "x"}, claims))


@pytest.mark.parametrize("raw", [b"", b"{}", b"[]", b"null", b'"ES256"', b"{", b"\xff", b"\0"], ids=repr)
def test_a_header_or_payload_that_is_not_a_complete_object_is_refused(api, signing_key, header, claims, raw):
    assert_refused(api, sign_es256(signing_key, raw, claims))
    assert_refused(api, sign_es256(signing_key, header, raw))


def test_a_token_inside_a_token_is_refused(api, ada, signing_key, header):
    assert_refused(api, sign_es256(signing_key, header | {"cty": "JWT"}, ada.token.encode()))


# --- the claims ------------------------------------------------------------------------------------------------------

CLAIMS = ["iss", "aud", "sub", "sid", "iat", "exp", "jti"]
NO_STRINGS = [None, True, False, 0, 1, -1, 1.5, [], {}, {"value": "x"}]
NO_NUMBERS = [None, True, False, "", "x", "9999999999", [], {}, [9999999999], {"value": 9999999999}]
WRONG_TYPES = {name: NO_NUMBERS if name in ("iat", "exp") else NO_STRINGS for name in CLAIMS}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_token_without_one_of_its_claims_is_refused(api, signing_key, header, claims, name):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, **{name: MISSING})))


@pytest.mark.parametrize("name, value", [(name, value) for name in CLAIMS for value in WRONG_TYPES[name]], ids=repr)
def test_a_claim_of_the_wrong_type_is_refused(api, signing_key, header, claims, name, value):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, **{name: value})))


@pytest.mark.parametrize("name", ["iss", "sub", "sid", "jti", "iat", "exp"])
def test_a_claim_wrapped_in_a_list_is_refused(api, signing_key, header, claims, name):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, **{name: [claims[name]]})))


@pytest.mark.parametrize("name", ["iss", "aud", "sub", "sid"])
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda right: "", id="empty"),
        pytest.param(lambda right: "x", id="something else"),
        pytest.param(lambda right: right + " ", id="a space more"),
        pytest.param(lambda right: right + "\0", id="a NUL more"),
        pytest.param(lambda right: right[:-1], id="the last letter missing"),
        pytest.param(lambda right: right + "/", id="a slash more"),
        pytest.param(lambda right: "' OR '1'='1", id="SQL"),
        pytest.param(lambda right: str(uuid.uuid4()), id="another UUID"),
    ],
)
def test_a_claim_with_another_value_is_refused(api, signing_key, header, claims, name, change):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, **{name: change(claims[name])})))


@pytest.mark.parametrize("audience", [["x"], ["x", "y"], [None], [[]]], ids=repr)
def test_a_list_of_other_audiences_is_refused(api, signing_key, header, claims, audience):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, aud=audience)))


@pytest.mark.parametrize("expiry", [-(2**63), -1, 0, 1], ids=str)
def test_a_token_that_expired_long_ago_is_refused(api, signing_key, header, claims, expiry):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, exp=expiry)))


@pytest.mark.parametrize("seconds", [0, 1, 30, 3600])
def test_a_token_that_expired_just_now_is_refused(api, signing_key, header, claims, seconds):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, exp=int(time.time()) - seconds)))


def test_a_token_from_the_far_future_is_refused_unless_it_is_that_of_a_session(api, signing_key, header, claims):
    later = int(time.time()) + 10 * 365 * 86400
    future = altered(claims, iat=later, exp=later + 86400)
    # A clock that was ahead makes such tokens.
    assert api.guard(sign_es256(signing_key, header, future)).status == 200
    assert_refused(api, sign_es256(signing_key, header, altered(future, jti=str(uuid.uuid4()))))


@pytest.mark.parametrize("name", ["iat", "exp"])
@pytest.mark.parametrize("value", [2**53, 2**63 - 1, 2**63, 2**64, 10**30, -(10**30), 1e300, -0.0], ids=str)
def test_an_extreme_time_gets_a_regular_answer(api, signing_key, header, claims, name, value):
    assert api.guard(sign_es256(signing_key, header, altered(claims, **{name: value}))).status in (200, 401)


@pytest.mark.parametrize("name", ["iat", "exp"])
def test_a_time_that_no_number_type_holds_is_refused(api, signing_key, header, claims, name):
    body = as_json(altered(claims, **{name: MISSING}))
    for value in (b"1e400", b"-1e400", b"9" * 400):
        assert_refused(api, sign_es256(signing_key, header, body[:-1] + b',"%s":%s}' % (name.encode(), value)))


# --- sessions and users ----------------------------------------------------------------------------------------------


def test_a_session_cannot_be_used_for_another_user(api, ada, miles, signing_key, header):
    ours, theirs = claims_of(ada.token), claims_of(miles.token)
    assert_refused(api, sign_es256(signing_key, header, altered(ours, sub=theirs["sub"])))
    assert_refused(api, sign_es256(signing_key, header, altered(ours, sid=theirs["sid"])))


def test_an_unknown_session_is_refused(api, signing_key, header, claims):
    assert_refused(api, sign_es256(signing_key, header, altered(claims, sid=str(uuid.uuid4()), jti=str(uuid.uuid4()))))


def test_a_name_in_the_token_is_ignored(api, signing_key, header, claims):
    """The name policy reads the user record, never the token."""
    boasting = claims | {"name": "Miles Davis", "role": "admin", "scope": "miles", "preferred_username": "Miles Davis"}
    token = sign_es256(signing_key, header, boasting)
    assert api.guard(token, MILES).status == 401
    assert api.guard(token, GUARD).status in (200, 401)


def test_a_repeated_claim_cannot_select_another_user(api, ada, miles, signing_key, header, claims):
    body = as_json(altered(claims, sub=MISSING))
    for subjects in ((ada.id, miles.id), (miles.id, ada.id)):
        doubled = body[:-1] + b',"sub":"%s","sub":"%s"}' % tuple(map(str.encode, subjects))
        assert api.guard(sign_es256(signing_key, header, doubled), MILES).status == 401
