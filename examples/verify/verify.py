"""Verifies tokens of a Doorward by itself, and knows of an ended session within a second.

As a module: pip install 'PyJWT[crypto]', then

    from verify import Verifier
    verifier = Verifier("http://127.0.0.1:3000", "doorward")
    claims = verifier.verify(token)  # raises jwt.PyJWTError if the token is not good

As a program: python verify.py http://127.0.0.1:3000 doorward < tokens
"""

import itertools
import json
import sys
import threading
from time import time
from urllib.request import urlopen

import jwt


def ask(url):
    with urlopen(url, timeout=30) as answer:
        return answer.read().decode()


class Verifier:
    """Knows everything that has ended when it is made, and follows the feed until `stop()`."""

    def __init__(self, url, audience):
        self.audience = audience
        self.about = json.loads(ask(f"{url}/.well-known/openid-configuration"))
        self.keys = jwt.PyJWKClient(self.about["jwks_uri"])
        self.heard = {"cursor": "", "revoked": set()}
        self.end = threading.Event()
        self._follow()
        threading.Thread(target=self._follow_for_ever, daemon=True).start()

    def verify(self, token):
        """The claims of a token that is good at this moment; raises for any other."""
        kid, claims = self._read(token, "JWT", self.audience)
        heard = self.heard
        if kid not in heard["kids"] or claims["jti"] in heard["revoked"]:
            raise jwt.InvalidTokenError("ended")
        if time() > heard["exp"]:
            raise jwt.InvalidTokenError("nothing was heard for too long")
        return claims

    def stop(self):
        self.end.set()

    def _read(self, text, typ, audience=None):
        key = self.keys.get_signing_key_from_jwt(text)
        algorithms = ["ES256", "EdDSA", "RS256"]
        whole = jwt.decode_complete(
            text, key, algorithms=algorithms, issuer=self.about["issuer"], audience=audience
        )
        if whole["header"]["typ"] != typ:
            raise jwt.InvalidTokenError("of another type")
        return whole["header"]["kid"], whole["payload"]

    def _follow(self):
        cursor, revoked, more = self.heard["cursor"], set(self.heard["revoked"]), True
        while more:  # a part of it must not be relied on
            feed = ask(f"{self.about['revocations_uri']}?since={cursor}")  # waits for news
            self.keys.get_jwk_set(refresh=True)
            _, news = self._read(feed, "revocations+jwt")
            if news["complete"]:
                revoked.clear()
            revoked.update(news["revoked"])
            cursor, more = news["cursor"], news["more"]
        self.heard = news | {"revoked": revoked}

    def _follow_for_ever(self):
        for count in itertools.count(1):
            if count % 5000 == 0:
                self.heard["cursor"] = ""  # anew, without what has expired
            try:
                self._follow()
                pause = 0.1
            except (OSError, jwt.PyJWTError):
                pause = 1
            if self.end.wait(pause):
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
