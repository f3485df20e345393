"""docs/keys.md: the condition of a key on the address of a client counts behind a proxy, if the guard names the proxy."""

import re
import urllib.error
import urllib.request

import pytest
from documents import blocks, commands
from harness import HOST, PATIENCE_SECONDS
from harness.service import Service

OF_PAGE = [block for block in blocks("toml", "console") if block.document == "docs/keys.md"]
FORWARDED = {
    "X-Forwarded-Method": "GET",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "wiki.example.com",
    "X-Forwarded-Uri": "/api/pages",
    "X-Forwarded-For": "203.0.113.7",
}


@pytest.mark.parametrize("names_proxy, status", [(True, 200), (False, 401)])
def test_a_condition_on_the_address_needs_the_proxy_of_the_guard(names_proxy, status):
    [settings] = [block.text for block in OF_PAGE if block.language == "toml"]
    if not names_proxy:
        settings, count = re.subn(r"^proxy = .*\n", "", settings, flags=re.MULTILINE)
        assert count == 1
    [create] = [
        command.text for block in OF_PAGE if block.language == "console" for command in commands(block) if "--allow" in command.text
    ]
    allow = re.search(r"--allow '([^']+)'", create)[1]
    with Service(settings=settings) as service:
        printed = service.run("api-key", "create", "deploy", "--scope", "guard:wiki", "--allow", allow)
        key = re.search(r"^key +(\S+)", printed, re.MULTILINE)[1]
        headers = FORWARDED | {"Authorization": f"Bearer {key}"}
        request = urllib.request.Request(f"http://{HOST}:{service.port}/api/auth/wiki", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                assert answer.status == status
        except urllib.error.HTTPError as refusal:
            assert refusal.code == status
