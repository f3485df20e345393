"""Verifies tokens of a Doorward by itself, and knows of an ended session within a second.

pip install 'PyJWT[crypto]' && python verify.py http://127.0.0.1:3000 doorward < tokens
"""

import itertools
import json
import sys
import threading
import time
from urllib.request import urlopen

import jwt


def ask(url):
    with urlopen(url, timeout=30) as answer:
        return answer.read().decode()


url, audience = sys.argv[1:]
about = json.loads(ask(f"{url}/.well-known/openid-configuration"))
keys = jwt.PyJWKClient(about["jwks_uri"])
heard = {"cursor": "", "revoked": set()}


def read(text, typ, audience=None):
    key = keys.get_signing_key_from_jwt(text)
    algorithms = ["ES256", "EdDSA", "RS256"]
    whole = jwt.decode_complete(text, key, algorithms=algorithms, issuer=about["issuer"], audience=audience)
    if whole["header"]["typ"] != typ:
        raise jwt.InvalidTokenError("of another type")
    return whole["header"]["kid"], whole["payload"]


def follow():
    global heard
    feed = ask(f"{about['revocations_uri']}?since={heard['cursor']}")  # waits for news
    keys.get_jwk_set(refresh=True)
    _, news = read(feed, "revocations+jwt")
    before = set() if news["complete"] else heard["revoked"]
    heard = news | {"revoked": before | set(news["revoked"])}
    if news["more"]:
        follow()


def verify(token):
    kid, claims = read(token, "JWT", audience)
    if kid not in heard["kids"] or claims["jti"] in heard["revoked"]:
        raise jwt.InvalidTokenError("ended")
    if time.time() > heard["exp"]:
        raise jwt.InvalidTokenError("nothing was heard for too long")
    return claims


def follow_for_ever():
    for count in itertools.count(1):
        if count % 5000 == 0:
            heard["cursor"] = ""  # anew, without what has expired
        try:
            follow()
            time.sleep(0.1)
        except (OSError, jwt.PyJWTError):
            time.sleep(1)


follow()
threading.Thread(target=follow_for_ever, daemon=True).start()
for line in sys.stdin:
    try:
        print("good", verify(line.strip())["sub"], flush=True)
    except jwt.PyJWTError:
        print("refused", flush=True)
