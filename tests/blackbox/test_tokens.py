"""The format of a token, and refusal of a token with any changed character."""

import base64
import time

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

from support import (
    ALPHABET,
    GUARDS,
    REFUSED,
    as_json,
    assert_answer,
    b64,
    claims_of,
    header_of,
    signature_of,
    thumbprint,
    unb64,
    with_signature,
)

DAY = 24 * 60 * 60
ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551  # of the group behind P-256


def assert_none_accepted(api, tokens, path=GUARDS[0]):
    accepted = [token for token in tokens if api.guard(token, path).status != 401]
    assert accepted == []


def rs(signature):
    return int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big")


# --- shape -----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["sign-up", "login"], scope="module")
def issued(request, api, member):
    """A token from either route, with the times before and after the request."""
    before = time.time()
    if request.param == "sign-up":
        user = api.sign_up(name="Katherine Johnson")
        return user, user.token, before, time.time()
    return member, api.login(member.email, member.password).json["token"], before, time.time()


def test_a_token_is_three_parts_of_unpadded_base64url(issued):
    _, token, *_ = issued
    parts = token.split(".")
    assert len(parts) == 3
    assert all(part and set(part) <= set(ALPHABET) for part in parts)
    assert [b64(unb64(part)) for part in parts] == parts
    assert len(signature_of(token)) == 64


def test_the_header_says_es256_jwt_and_which_key(issued):
    _, token, *_ = issued
    header = header_of(token)
    assert header.keys() == {"alg", "typ", "kid"}
    assert (header["alg"], header["typ"]) == ("ES256", "JWT")
    assert isinstance(header["kid"], str) and header["kid"]


def test_the_key_id_is_the_thumbprint_of_the_key(issued, signing_key):
    _, token, *_ = issued
    assert header_of(token)["kid"] == thumbprint(signing_key)


def test_the_signature_can_be_verified_with_the_public_key(issued, signing_key):
    _, token, *_ = issued
    signature = utils.encode_dss_signature(*rs(signature_of(token)))
    content = token.rpartition(".")[0].encode()
    signing_key.public_key().verify(signature, content, ec.ECDSA(hashes.SHA256()))


def test_the_claims_are_exactly_the_documented_ones(issued):
    user, token, *_ = issued
    claims = claims_of(token)
    assert list(claims) == ["iss", "aud", "sub", "sid", "iat", "exp", "jti", "auth_time", "amr", "acr", "mac"]
    assert claims["sub"] == user.id
    assert all(claims[name] for name in ("iss", "aud", "sid", "jti", "mac"))


def test_a_token_is_valid_for_24_hours(issued):
    _, token, before, after = issued
    claims = claims_of(token)
    assert type(claims["iat"]) is type(claims["exp"]) is int
    assert claims["exp"] - claims["iat"] == DAY
    assert int(before) - 1 <= claims["iat"] <= after + 1


def test_neither_name_nor_address_is_in_a_token(issued):
    user, token, *_ = issued
    content = (unb64(token.split(".")[0]) + unb64(token.split(".")[1])).decode().lower()
    for secret in (*user.name.split(), user.email, user.email.partition("@")[0]):
        assert secret.lower() not in content


def test_two_users_share_the_issuer_audience_key_and_method_and_nothing_else(ada, miles):
    assert header_of(ada.token) == header_of(miles.token)
    ours, theirs = claims_of(ada.token), claims_of(miles.token)
    same = {name for name in ours if ours[name] == theirs[name]}
    always = {"iss", "aud", "amr", "acr"}
    assert always <= same <= always | {"iat", "exp", "auth_time"}


# --- damage ----------------------------------------------------------------------------------------------------------


def test_a_single_flipped_bit_is_detected(api, ada):
    token = ada.token
    damaged = [
        token[:place] + ALPHABET[ALPHABET.index(letter) ^ 1 << bit] + token[place + 1 :]
        for place, letter in enumerate(token)
        if letter != "."
        for bit in range(6)
    ]
    assert len(damaged) > 1500
    assert_none_accepted(api, damaged)


def test_a_changed_last_letter_of_a_part_is_detected(api, ada):
    """Base64 has spare bits at the end of a part, so another letter may decode to the same bytes."""
    parts = ada.token.split(".")
    damaged = [
        ".".join([*parts[:number], part[:-1] + letter, *parts[number + 1 :]])
        for number, part in enumerate(parts)
        for letter in ALPHABET
        if letter != part[-1]
    ]
    assert_none_accepted(api, damaged)


def test_no_letter_can_change_its_case(api, ada):
    token = ada.token
    damaged = [
        token[:place] + letter.swapcase() + token[place + 1 :] for place, letter in enumerate(token) if letter.isalpha()
    ]
    assert_none_accepted(api, damaged)


def test_no_letter_can_be_left_out_or_doubled(api, ada):
    token = ada.token
    shorter = [token[:place] + token[place + 1 :] for place in range(len(token))]
    longer = [token[:place] + token[place] + token[place:] for place in range(len(token))]
    assert_none_accepted(api, shorter + longer)


def test_no_prefix_is_accepted(api, ada):
    assert_none_accepted(api, [ada.token[:length] for length in range(len(ada.token))])


def test_no_suffix_is_accepted(api, ada):
    assert_none_accepted(api, [ada.token[start:] for start in range(1, len(ada.token))])


def test_no_extension_is_accepted(api, ada):
    extras = [*ALPHABET, *"=.,;:/+~!*'\"%", "==", "A" * 4, ".e30", "..", "%00", "\xff", "\xa0"]
    assert_none_accepted(api, [ada.token + extra for extra in extras] + [extra + ada.token for extra in extras])


@pytest.mark.parametrize("path", GUARDS)
def test_parts_of_two_tokens_do_not_mix(api, ada, miles, path):
    header, *ours = ada.token.split(".")
    _, *theirs = miles.token.split(".")
    mixed = [f"{header}.{ours[0]}.{theirs[1]}", f"{header}.{theirs[0]}.{ours[1]}"]
    assert_none_accepted(api, mixed, path)


def test_parts_in_another_order_or_number_are_refused(api, ada):
    header, payload, signature = ada.token.split(".")
    orders = [
        f"{payload}.{header}.{signature}",
        f"{header}.{signature}.{payload}",
        f"{signature}.{payload}.{header}",
        f"{header}.{payload}",
        f"{header}.{payload}.",
        f"{header}..{signature}",
        f".{payload}.{signature}",
        f"{header}.{payload}.{signature}.",
        f".{header}.{payload}.{signature}",
        f"{header}.{payload}.{signature}.{signature}",
        f"{header}.{payload}.{payload}.{signature}",
        f"{header}.{payload}.{signature}.{payload}.{signature}",
        f"{header}..{payload}.{signature}.{signature}",
        ada.token + ada.token,
        f"{ada.token}.{ada.token}",
    ]
    assert_none_accepted(api, orders)


def wrong_signatures(signature):
    r, s = rs(signature)
    whole = (1 << 256) - 1

    def pair(first, second):
        return first.to_bytes(32, "big") + second.to_bytes(32, "big")

    return {
        "empty": b"",
        "one byte": b"\0",
        "all zero": bytes(64),
        "all ones": b"\xff" * 64,
        "first byte missing": signature[1:],
        "last byte missing": signature[:-1],
        "a byte more at the end": signature + b"\0",
        "a byte more at the start": b"\0" + signature,
        "only r": signature[:32],
        "doubled": signature * 2,
        "halves swapped": signature[32:] + signature[:32],
        "r zero": pair(0, s),
        "s zero": pair(r, 0),
        "r and s one": pair(1, 1),
        "r equal to the order": pair(ORDER, s),
        "s equal to the order": pair(r, ORDER),
        "r and s equal to the order": pair(ORDER, ORDER),
        "r beyond the order": pair(min(r + ORDER, whole), s),
        "DER": utils.encode_dss_signature(r, s),
        "halves of 48 bytes": r.to_bytes(48, "big") + s.to_bytes(48, "big"),
    }


@pytest.mark.parametrize("kind", wrong_signatures(bytes(range(1, 65))))
def test_a_wrong_signature_is_refused(api, kind):
    """Each for another session, because after ten failures a session's tokens are refused unchecked."""
    token = api.sign_up().token
    signature = wrong_signatures(signature_of(token))[kind]
    assert_answer(api.guard(with_signature(token, signature)), 401, REFUSED)
    assert api.guard(token).status == 200


def test_padding_is_refused(api, ada):
    parts = ada.token.split(".")
    for number in range(3):
        for padding in ("=", "==", "===", "%3D"):
            padded = [part + padding * (place == number) for place, part in enumerate(parts)]
            assert_none_accepted(api, [".".join(padded)])


def test_the_ordinary_base64_alphabet_is_refused(api):
    """Needs a token with one of the two letters that differ between the alphabets."""
    tokens = [api.sign_up().token for _ in range(12)]
    respelt = [token.replace("-", "+").replace("_", "/") for token in tokens]
    telling = [new for old, new in zip(tokens, respelt) if new != old]
    assert telling
    assert_none_accepted(api, telling)


@pytest.mark.parametrize("space", [" ", "\t", "\xa0", "%20", "\u0085"], ids=repr)
def test_white_space_inside_a_token_is_refused(api, ada, space):
    header, payload, signature = ada.token.split(".")
    assert_none_accepted(
        api,
        [
            f"{header}{space}.{payload}.{signature}",
            f"{header}.{space}{payload}.{signature}",
            f"{header}.{payload}{space}.{signature}",
            f"{header}.{payload}.{space}{signature}",
            f"{header}.{payload}.{signature[:40]}{space}{signature[40:]}",
        ],
    )


def test_other_serialisations_of_a_token_are_refused(api, ada):
    header, payload, signature = ada.token.split(".")
    flat = {"protected": header, "payload": payload, "signature": signature}
    general = {"payload": payload, "signatures": [{"protected": header, "signature": signature}]}
    spellings = [as_json(form).decode() for form in (flat, general)]
    spellings += [b64(as_json(flat)), b64(ada.token.encode()), base64.b64encode(ada.token.encode()).decode()]
    spellings += [ada.token.replace(".", separator) for separator in ("%2E", ":", "~", "..", ",")]
    assert_none_accepted(api, spellings)


def test_the_unchanged_token_still_passes_after_these_tests(api, ada):
    assert api.guard(ada.token).status == 200
