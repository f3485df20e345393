"""Gives thousands of ceremonies of passkeys, most of them changed, to our verifier and to three of other projects. All agree,
except for what DIFFERENCES lists."""

import json
import random
import subprocess
from collections import Counter
from dataclasses import dataclass

import cbor2
from fido2.utils import websafe_decode
from mutations import inputs
from oracles import FOREIGN, PROGRAM, ours
from vectors import AT, FILE, base64url, to_json, vectors

NUMBER, ALL = 5_000, 10_000
# Always the same, because a person has explained each difference.
FIXED_SEED = "passkeys"
SIMPLE, PY, FIDO2 = FOREIGN
EVERYBODY = {SIMPLE, PY, FIDO2}


@dataclass(frozen=True)
class Difference:
    """What others judge in another way, and why."""

    # What we say: `accepted`, or why we refuse. They say the opposite.
    ours: str
    who: frozenset
    why: str
    holds: object = lambda each: True


def difference(ours, who, why, holds=lambda each: True):
    return Difference(ours, frozenset(who), why, holds)


def bytes_of(each, name):
    return websafe_decode(each["credential"]["response"].get(name, ""))


def fields(each):
    """The fields of the client data, in their order. None if they are not JSON."""
    try:
        return json.loads(bytes_of(each, "clientDataJSON").decode(), object_pairs_hook=list, parse_constant=refuse_constant)
    except ValueError:
        return None


def refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def field(each, name):
    return dict(fields(each) or []).get(name)


def has_a_field_twice(each):
    names = [name for name, _ in fields(each) or []]
    return len(set(names)) < len(names)


def is_not_utf8(each):
    try:
        bytes_of(each, "clientDataJSON").decode()
    except UnicodeDecodeError:
        return True
    return False


def is_registration(each):
    return "publicKey" not in each


def asserts_a_new_credential(each):
    flags = bytes_of(each, "authenticatorData")[32:33]
    return bool(flags) and flags[0] & AT


def in_a_frame(each):
    return field(each, "crossOrigin") is True or field(each, "topOrigin") is not None


def posted_id(each):
    return websafe_decode(each["credential"]["rawId"])


# In the order in which they are tried. Each has to occur, for each of the verifiers.
DIFFERENCES = [
    difference("CrossOrigin", EVERYBODY, "They leave frames to the caller, all or most of them. None of our pages is in one.", in_a_frame),
    difference(
        "CredentialId",
        EVERYBODY,
        "They do not bound the length of the id. The standard says 1023 bytes.",
        lambda each: is_registration(each) and len(posted_id(each)) > 1023,
    ),
    difference("CredentialId", EVERYBODY, "They do not compare `rawId` with the id that the authenticator made.", is_registration),
    difference(
        "CredentialId",
        {SIMPLE, PY},
        "Their callers look the key up by `rawId`, so it is not compared again.",
        lambda each: not is_registration(each),
    ),
    difference("BackupFlags", {FIDO2}, "It does not judge these flags."),
    difference("Algorithm", {FIDO2}, "It accepts algorithms that were not offered."),
    difference("PublicKey", EVERYBODY, "They look at the numbers of a key, all or some, when it is used for the first time."),
    difference("AttestationObject", EVERYBODY, "Each reads some CBOR that is not strict, or members of other types, or ignores the statement."),
    difference("AuthenticatorData", {SIMPLE, PY}, "They do not read the key of a new credential in an assertion.", asserts_a_new_credential),
    difference("AuthenticatorData", EVERYBODY, "Each reads some CBOR that is not strict, or extensions that are not a map."),
    difference("ClientData", EVERYBODY, "They take the last of two fields with the same name.", has_a_field_twice),
    difference(
        "ClientData",
        EVERYBODY,
        "They do not look at the type of `crossOrigin`.",
        lambda each: not isinstance(field(each, "crossOrigin"), bool | None),
    ),
    difference("ClientData", {PY}, "Its parser also reads UTF-16.", lambda each: bytes_of(each, "clientDataJSON")[:2] == b"\xff\xfe"),
    difference("ClientData", {SIMPLE}, "It replaces what is not UTF-8.", is_not_utf8),
    difference("ClientData", {PY, FIDO2}, "Their parser reads NaN.", lambda each: b"NaN" in bytes_of(each, "clientDataJSON")),
    difference("Challenge", {PY, FIDO2}, "They decode base64 with padding before they compare.", lambda each: field(each, "challenge")[-1] == "="),
    difference("Challenge", {PY}, "It skips characters that are not base64."),
    difference("Signature", {SIMPLE}, "It reads signatures of ECDSA that are not DER."),
    difference(
        "accepted",
        {SIMPLE, PY},
        "They verify the statement, which we do not ask for and ignore.",
        lambda each: is_registration(each) and cbor2.loads(bytes_of(each, "attestationObject"))["fmt"] != "none",
    ),
    difference(
        "accepted",
        {FIDO2},
        "It does not skip a byte order mark, as the standard says.",
        lambda each: bytes_of(each, "clientDataJSON")[:3] == b"\xef\xbb\xbf",
    ),
    difference("accepted", {SIMPLE, PY}, "They read `tokenBinding`, which is obsolete.", lambda each: field(each, "tokenBinding") is not None),
    difference(
        "accepted",
        {SIMPLE, FIDO2},
        "They do not read floats of 16 bits. Nothing reads the extension that has one.",
        lambda each: b"\xf9\x3c\x00" in bytes_of(each, "authenticatorData") + bytes_of(each, "attestationObject"),
    ),
    difference(
        "accepted",
        {FIDO2},
        "It parses the key of a new credential in an assertion, where nobody uses it.",
        asserts_a_new_credential,
    ),
]


def ceremonies_of(vector):
    """The registration and the assertion of a vector, as inputs of verifiers."""
    identifier = base64url(vector["credentialId"])
    for part in ("registration", "authentication"):
        values = {name: base64url(value) for name, value in vector[part].items()}
        challenge = values.pop("challenge")
        credential = {"id": identifier, "rawId": identifier, "type": "public-key", "clientExtensionResults": {}, "response": values}
        made = {"challenge": challenge, "credential": credential}
        if part == "authentication":
            data = cbor2.loads(vector["registration"]["attestationObject"])["authData"]
            key = data[55 + int.from_bytes(data[53:55]) :]
            made |= {"credentialId": identifier, "publicKey": base64url(key)}
        yield made


def test_the_vectors_in_the_repository_are_those_of_the_standard():
    assert FILE.read_text() == to_json(vectors())


def test_all_verifiers_agree(request):
    # Ours does not take the keys of other algorithms, so their assertions are left out.
    offered = [vector for vector in vectors() if not vector["name"].endswith(("ES384", "ES512", "Ed448"))]
    made = [(vector["name"], each) for vector in offered for each in ceremonies_of(vector)]
    number = ALL if request.config.getoption("--all") else NUMBER
    made += inputs(number, random.Random(FIXED_SEED))
    all_inputs = [each for _, each in made]
    our_verdicts = ours(all_inputs)
    assert len(our_verdicts) == len(made)
    used, unexplained = set(), Counter()
    for name, judge in FOREIGN.items():
        verdicts = judge(all_inputs)
        assert len(verdicts) == len(made)
        for (what, each), our, their in zip(made, our_verdicts, verdicts):
            if ("refused" in our) == ("refused" in their):
                # Who accepts has read the same.
                if "refused" not in our:
                    assert their.items() <= our.items(), (what, each)
                continue
            verdict = our.get("refused", "accepted")
            for row in DIFFERENCES:
                if row.ours == verdict and name in row.who and row.holds(each):
                    used.add((row, name))
                    break
            else:
                ceremony = "registration" if is_registration(each) else "assertion"
                unexplained[ceremony, verdict, name, what, their.get("refused", "accepted")[:120]] += 1
    assert not unexplained, "\n".join(f"{number} x {case}" for case, number in unexplained.most_common())
    unused = [(row, name) for row in DIFFERENCES for name in row.who if (row, name) not in used]
    assert not unused, "\n".join(f"{name}: {row.ours}: {row.why}" for row, name in unused)


def test_no_changed_assertion_is_accepted_and_nothing_panics():
    """The short form of lab/passkey-fuzz."""
    run = subprocess.run([PROGRAM, "fuzz", "20000"], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    seed, outcomes = run.stdout.splitlines()
    outcomes = json.loads(outcomes)
    # All reasons but those that need a whole ceremony of another kind.
    assert sum(outcomes.values()) == 20000, seed
    assert {"accepted", "AttestationObject", "AuthenticatorData", "ClientData", "PublicKey", "Signature"} <= outcomes.keys()
