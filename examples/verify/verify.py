"""Verifies Doorward's tokens locally and notices revocations within a second.

As a module: pip install 'PyJWT[crypto]', then

    from verify import Verifier
    verifier = Verifier("http://127.0.0.1:3000", "doorward")
    claims = verifier.verify(token)  # raises jwt.PyJWTError if the token is not valid

As a program: python verify.py http://127.0.0.1:3000 doorward < tokens
"""

import itertools
import json
import sys
import threading
from time import time
from urllib.request import urlopen

import jwt


def fetch(url):
    with urlopen(url, timeout=30) as response:
        return response.read().decode()


class Verifier:
    """Loads the whole feed when it is created, then follows it until `stop()`."""

    def __init__(self, url, audience):
        self.audience = audience
        self.metadata = json.loads(fetch(f"{url}/.well-known/openid-configuration"))
        self.keys = jwt.PyJWKClient(self.metadata["jwks_uri"])
        self.feed = {"cursor": "", "revoked": set()}
        self.stopped = threading.Event()
        self._follow()
        threading.Thread(target=self._follow_until_stopped, daemon=True).start()

    def verify(self, token):
        """Returns the claims of a valid token; raises for any other."""
        kid, claims = self._read(token, "JWT", self.audience)
        feed = self.feed
        if kid not in feed["kids"] or claims["jti"] in feed["revoked"]:
            raise jwt.InvalidTokenError("the token was revoked")
        if time() > feed["exp"]:
            raise jwt.InvalidTokenError("the revocation feed is out of date")
        return claims

    def stop(self):
        self.stopped.set()

    def _read(self, text, typ, audience=None):
        key = self.keys.get_signing_key_from_jwt(text)
        algorithms = ["ES256", "EdDSA", "RS256"]
        decoded = jwt.decode_complete(
            text, key, algorithms=algorithms, issuer=self.metadata["issuer"], audience=audience
        )
        if decoded["header"]["typ"] != typ:
            raise jwt.InvalidTokenError("wrong typ")
        return decoded["header"]["kid"], decoded["payload"]

    def _follow(self):
        cursor, revoked, more = self.feed["cursor"], set(self.feed["revoked"]), True
        while more:  # a partial feed must not be used
            text = fetch(f"{self.metadata['revocations_uri']}?since={cursor}")  # waits for changes
            self.keys.get_jwk_set(refresh=True)
            _, page = self._read(text, "revocations+jwt")
            if page["complete"]:
                revoked.clear()
            revoked.update(page["revoked"])
            cursor, more = page["cursor"], page["more"]
        self.feed = page | {"revoked": revoked}

    def _follow_until_stopped(self):
        for count in itertools.count(1):
            if count % 5000 == 0:
                self.feed["cursor"] = ""  # start over to drop expired entries
            try:
                self._follow()
                pause = 0.1
            except (OSError, jwt.PyJWTError):
                pause = 1
            if self.stopped.wait(pause):
                return


def main(url, audience):
    verifier = Verifier(url, audience)
    for line in sys.stdin:
        try:
            print("good", verifier.verify(line.strip())["sub"], flush=True)
        except jwt.PyJWTError:
            print("refused", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
