"""The verifiers of other projects, and ours. Each judges a list of ceremonies: a verdict is what it read, or `refused` and why."""

import json
import subprocess
from pathlib import Path

from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.utils import websafe_decode
from fido2.webauthn import AttestedCredentialData, PublicKeyCredentialRpEntity
from fido2 import cbor as fido2_cbor
from harness import EXAMPLES, REPOSITORY
from vectors import ORIGIN, RP_ID, base64url
from webauthn import verify_authentication_response, verify_registration_response
from webauthn.helpers.cose import COSEAlgorithmIdentifier

HERE = Path(__file__).resolve().parent
PROGRAM = EXAMPLES / "passkeys"
NODE = REPOSITORY / "target/test-node"


def ours(inputs):
    return from_program([PROGRAM], inputs)


def simplewebauthn(inputs):
    return from_program(["node", HERE / "simplewebauthn.mjs", NODE, RP_ID, ORIGIN], inputs)


def from_program(command, inputs):
    lines = "".join(json.dumps(each) + "\n" for each in inputs)
    answer = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True, timeout=300)
    return [json.loads(line) for line in answer.stdout.splitlines()]


def each_by(judge):
    def judge_all(inputs):
        verdicts = []
        for each in inputs:
            try:
                verdicts.append(judge(each))
            # They also fail with errors of the parsers below them.
            except Exception as error:
                verdicts.append({"refused": f"{type(error).__name__}: {error}"})
        return verdicts

    return judge_all


@each_by
def py_webauthn(each):
    expected = {
        "credential": each["credential"],
        "expected_challenge": websafe_decode(each["challenge"]),
        "expected_rp_id": RP_ID,
        "expected_origin": ORIGIN,
    }
    if "publicKey" not in each:
        algorithms = [COSEAlgorithmIdentifier(number) for number in (-7, -8, -257)]
        verified = verify_registration_response(**expected, supported_pub_key_algs=algorithms)
        return {
            "credentialId": base64url(verified.credential_id),
            "aaguid": verified.aaguid,
            "signCount": verified.sign_count,
            "userVerified": verified.user_verified,
            "backedUp": verified.credential_backed_up,
        }
    key = websafe_decode(each["publicKey"])
    verified = verify_authentication_response(**expected, credential_public_key=key, credential_current_sign_count=0)
    return {
        "signCount": verified.new_sign_count,
        "userVerified": verified.user_verified,
        "backedUp": verified.credential_backed_up,
    }


SERVER = Fido2Server(PublicKeyCredentialRpEntity(name="", id=RP_ID), verify_origin=lambda origin: origin == ORIGIN)


@each_by
def fido2(each):
    state = {"challenge": each["challenge"], "user_verification": None}
    if "publicKey" not in each:
        data = SERVER.register_complete(state, each["credential"])
        return {
            "credentialId": base64url(data.credential_data.credential_id),
            "aaguid": str(data.credential_data.aaguid),
            "signCount": data.counter,
            "userVerified": data.is_user_verified(),
            "backedUp": data.is_backed_up(),
        }
    key = CoseKey.parse(fido2_cbor.decode(websafe_decode(each["publicKey"])))
    known = AttestedCredentialData.create(bytes(16), websafe_decode(each["credentialId"]), key)
    SERVER.authenticate_complete(state, [known], each["credential"])
    # It returns the credential, and leaves the reading of the rest to the caller.
    return {}


FOREIGN = {"@simplewebauthn/server": simplewebauthn, "webauthn": py_webauthn, "fido2": fido2}
