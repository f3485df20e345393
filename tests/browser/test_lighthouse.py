"""Lighthouse gives the main pages at least 95 of 100 points for accessibility and best practices."""

import json
import os
import subprocess

import pytest
from conftest import program
from firefox import NODE
from page_states import Tour

CATEGORIES = ("accessibility", "best-practices")
LEAST = 95


def scores(url, folder, arguments, headers=None):
    lighthouse = NODE / "node_modules" / "lighthouse" / "cli" / "index.js"
    assert lighthouse.is_file(), f"{lighthouse} is missing; script/test installs it"
    report = folder / "report.json"
    command = ["node", lighthouse, url, "--quiet", "--output=json", f"--output-path={report}"]
    command += [f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={' '.join(['--headless=new', *arguments])}"]
    # Lighthouse otherwise gives up on a page after 45 s.
    command += ["--max-wait-for-load=120000"]
    if headers:
        command.append(f"--extra-headers={json.dumps(headers)}")
    environment = os.environ | {"CHROME_PATH": program("chromium"), "HOME": str(folder)}
    subprocess.run(command, check=True, env=environment, cwd=folder, timeout=300, capture_output=True)
    result = json.loads(report.read_text())
    assert "runtimeError" not in result, result["runtimeError"]
    failed = [audit["id"] for audit in result["audits"].values() if audit["score"] is not None and audit["score"] < 1]
    return {name: result["categories"][name]["score"] * 100 for name in CATEGORIES}, failed


@pytest.mark.parametrize("path", ["/sign-in", "/sign-up", "/account"])
def test_a_main_page_has_a_high_score(loopback, context, page, tmp_path, path):
    headers = None
    if path == "/account":
        Tour(loopback, context, page).signed_up()
        [cookie] = context.cookies()
        headers = {"Cookie": f"{cookie['name']}={cookie['value']}"}
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    points, failed = scores(loopback.url + path, tmp_path, arguments, headers)
    assert all(score >= LEAST for score in points.values()), (points, failed)
