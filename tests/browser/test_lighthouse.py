"""Lighthouse gives the main pages at least 95 of 100 points for accessibility and best practices."""

import json
import os
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest
from conftest import program
from firefox import NODE
from page_states import Tour

CATEGORIES = ("accessibility", "best-practices")
LEAST = 95
TRIES = 3


def scores(url, folder, arguments, headers=None):
    lighthouse = NODE / "node_modules" / "lighthouse" / "cli" / "index.js"
    assert lighthouse.is_file(), f"{lighthouse} is missing; script/install installs it"
    report = folder / "report.json"
    command = ["node", lighthouse, url, "--quiet", "--output=json", f"--output-path={report}"]
    command += [f"--only-categories={','.join(CATEGORIES)}", f"--chrome-flags={' '.join(['--headless=new', *arguments])}"]
    # Lighthouse otherwise gives up on a page after 45 s.
    command += ["--disable-full-page-screenshot", "--max-wait-for-load=120000"]
    if headers:
        command.append(f"--extra-headers={json.dumps(headers)}")
    environment = os.environ | {"CHROME_PATH": program("chromium"), "HOME": str(folder)}
    for _ in range(TRIES):
        done = subprocess.run(command, env=environment, cwd=folder, timeout=300, capture_output=True, text=True)
        result = json.loads(report.read_text()) if report.exists() else {}
        # On a busy machine, Lighthouse may lose a message of the browser and has no result. A bad result is final.
        if result and "runtimeError" not in result:
            break
        report.unlink(missing_ok=True)
    else:
        raise AssertionError(f"Lighthouse has no result: {done.stderr}")
    failed = [audit["id"] for audit in result["audits"].values() if audit["score"] is not None and audit["score"] < 1]
    return {name: result["categories"][name]["score"] * 100 for name in CATEGORIES}, failed


@pytest.mark.long
def test_the_main_pages_have_high_scores(loopback, context, page, tmp_path):
    Tour(loopback, context, page).signed_up()
    [cookie] = context.cookies()
    pages = {"sign-in": None, "sign-up": None, "account": {"Cookie": f"{cookie['name']}={cookie['value']}"}}
    arguments = ["--no-proxy-server", *(["--no-sandbox"] if os.geteuid() == 0 else [])]

    def measured(name):
        folder = tmp_path / name
        folder.mkdir()
        return scores(f"{loopback.url}/{name}", folder, arguments, pages[name])

    # At the same time, because Lighthouse mostly waits.
    with ThreadPoolExecutor(len(pages)) as pool:
        results = dict(zip(pages, pool.map(measured, pages)))
    for name, (points, failed) in results.items():
        print(name, points)
        assert all(score >= LEAST for score in points.values()), (name, points, failed)
