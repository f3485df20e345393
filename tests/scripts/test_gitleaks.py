"""The rule for gitleaks finds every key that docs/keys.md describes, and nothing that cannot be one."""

import math
import random
import re
import string
import tomllib
import zlib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
BASE_62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
[RULE] = tomllib.loads((ROOT / "deploy/gitleaks.toml").read_text())["rules"]


def checksum(text):
    number, characters = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, rest = divmod(number, 62)
        characters = BASE_62[rest] + characters
    return characters


def random_key(kind):
    text = f"dw_{kind}_" + "".join(random.choices(BASE_62, k=30))
    return text + checksum(text)


def entropy(text):
    return -sum(count / len(text) * math.log2(count / len(text)) for count in Counter(text).values())


def test_every_key_is_found():
    for kind in ("key", "pat"):
        for _ in range(1000):
            key = random_key(kind)
            for line in (key, f'DOORWARD_KEY="{key}"', f"https://ci:{key}@git.example.com/x.git", f"Authorization: Bearer {key}\n"):
                found = re.search(RULE["regex"], line)
                assert found and found[0] == key
            assert any(keyword in key for keyword in RULE["keywords"])
            assert entropy(key) > RULE["entropy"]


def test_what_cannot_be_a_key_is_not_found():
    key = random_key("key")
    for text in (key[:-1], key + "0", key.replace("dw_key_", "dw_abc_"), "x" + key, key.upper(), key[:20] + "-" + key[21:]):
        assert not re.search(RULE["regex"], text), text


def test_the_keys_in_the_documentation_have_a_valid_checksum():
    text = (ROOT / "docs/keys.md").read_text() + (ROOT / "docs/openapi.json").read_text()
    keys = set(re.findall(RULE["regex"], text))
    assert len(keys) >= 3
    for key in keys:
        assert key[-6:] == checksum(key[:-6]), key
