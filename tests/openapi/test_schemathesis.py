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

# What they need is made by the service, so that nothing generated is accepted.
[[operations]]
include-operation-id = ["confirmTotp", "addPasskey"]
checks.positive_data_acceptance.expected-statuses = [400, 404]
"""
# A test of the API compares the answers of a guard to all methods. Here, one is enough.
OTHER_METHODS_OF_GUARDS = "^(guard|designated|declaredGuard)(Put|Post|Delete|Options|Patch|Trace)$"
EXAMPLES_PER_OPERATION = 12


def test_the_document_is_as_precise_as_the_service(service, tmp_path):
    (tmp_path / "schemathesis.toml").write_text(CONFIGURATION)
    command = [
        *(Path(sys.executable).with_name("schemathesis"), "--config-file", "schemathesis.toml", "run"),
        *(service.url + "/openapi.json", "--checks", "all", "--phases", "examples,coverage,fuzzing,stateful"),
        *("--generation-deterministic", "--max-examples", str(EXAMPLES_PER_OPERATION), "--continue-on-failure"),
        *("--exclude-operation-id-regex", OTHER_METHODS_OF_GUARDS, "--suppress-health-check", "all"),
        *("--request-timeout", "60", "--no-color"),
    ]
    environment = os.environ | {
        "DOORWARD_URL": service.url,
        "DOORWARD_CLIENT": ":".join(CLIENT),
        "SCHEMATHESIS_HOOKS": "schemathesis_hooks",
        "PYTHONPATH": str(HERE),
        "NO_PROXY": "*",
    }
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600)
    report = run.stdout + run.stderr
    assert run.returncode == 0, report
    selected, total = map(int, re.search(r"Selected: (\d+)/(\d+)", report).groups())
    assert (selected, total - selected) == (int(re.search(r"Tested: (\d+)", report)[1]), 18), report
    assert int(re.search(r"(\d+) generated", report)[1]) > 500, report
