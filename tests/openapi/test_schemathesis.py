"""schemathesis sends what the document allows and forbids, and compares every answer with the document."""

import os
import re
import subprocess
import sys
from pathlib import Path

from conftest import CLIENT

HERE = Path(__file__).resolve().parent

# OpenAPI 3.1 names these methods. A guard also accepts all others, for example WebDAV's.
CONFIGURATION = """
[phases.coverage]
unexpected-methods = ["get", "put", "post", "delete", "options", "patch", "trace"]

# What they need is made by the service or is in a language of its own, so that little or nothing generated is accepted.
[[operations]]
include-operation-id = ["confirmTotp", "addPasskey"]
checks.positive_data_acceptance.expected-statuses = [400, 404]

[[operations]]
include-operation-id = ["createMyKey", "createApiKey", "importUsers", "checkGuard", "verifyAudit", "listAudit", "exportAudit"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 404, 422]
checks.negative_data_rejection.expected-statuses = ["2xx", "4xx"]

# An administrator is refused to a key. A time is refused if it is too long.
[[operations]]
include-operation-id = ["secureUser"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404]
checks.negative_data_rejection.expected-statuses = ["2xx", "4xx"]

# Of an older version of the user, or repeated with another body.
[[operations]]
include-operation-id = ["changeUser", "deleteUser", "createUser", "createInvitation"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 409, 412, 422, 429]

# An empty parameter of a query is as good as none.
[[operations]]
include-operation-id = ["listImportedHashes", "listApiKeys", "listMail", "listActivity"]
checks.negative_data_rejection.expected-statuses = ["2xx", "4xx"]
"""
# A test of the API compares the answers of a guard to all methods. Here, one is enough.
OTHER_METHODS_OF_GUARDS = "(guard|designated|declaredGuard)(Put|Post|Delete|Options|Patch|Trace)"
# It ends every session and revokes every key.
LEFT_OUT = f"^({OTHER_METHODS_OF_GUARDS}|emergency)$"
EXAMPLES_PER_OPERATION = 12
READABLE = ("users", "invitations", "signing-keys", "mail", "keys")
SCOPES = ["users:delete", "audit:read", "guards:read", "status:read"]
SCOPES += [f"{what}:{how}" for what in READABLE for how in ("read", "write")]


def machine_key(service):
    """A key that may call every operation of administrators."""
    flags = [flag for scope in SCOPES for flag in ("--scope", scope)]
    return re.search(r"dw_key_\w+", service.run("api-key", "create", "schemathesis", *flags))[0]


def test_the_document_is_as_precise_as_the_service(service, tmp_path):
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    command = [
        *(Path(sys.executable).with_name("schemathesis"), "--config-file", "schemathesis.toml", "run"),
        *(service.url + "/openapi.json", "--checks", "all", "--phases", "examples,coverage,fuzzing,stateful"),
        *("--generation-deterministic", "--max-examples", str(EXAMPLES_PER_OPERATION), "--continue-on-failure"),
        *("--exclude-operation-id-regex", LEFT_OUT, "--suppress-health-check", "all"),
        # Another user repeats each request, who does not have what the first one has made.
        *("--exclude-checks", "ensure_resource_availability", "--request-timeout", "60", "--no-color"),
    ]
    environment = os.environ | {
        "DOORWARD_URL": service.url,
        "DOORWARD_CLIENT": ":".join(CLIENT),
        "DOORWARD_KEY": machine_key(service),
        "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
        "PYTHONPATH": str(HERE),
        "NO_PROXY": "*",
    }
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    report = run.stdout + run.stderr
    assert run.returncode == 0, report
    selected, total = map(int, re.search(r"Selected: (\d+)/(\d+)", report).groups())
    assert (selected, total - selected) == (int(re.search(r"Tested: (\d+)", report)[1]), 19), report
    assert int(re.search(r"(\d+) generated", report)[1]) > 500, report
