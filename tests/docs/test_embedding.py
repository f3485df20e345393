"""docs/embed.md: the lines for Cargo.toml resolve, its code is that of examples/embed.rs, and the example does what the page
says about links, logging and frames."""

import json
import re
import shutil
import subprocess
import urllib.request

import pytest
from documents import blocks
from harness import EXAMPLES, PATIENCE_SECONDS, REPOSITORY
from harness.process import Process, environment

PAGE = "docs/embed.md"
OF_PAGE = [block for block in blocks("rust", "toml") if block.document == PAGE]


def test_the_dependencies_resolve(tmp_path):
    [dependencies] = [block.text for block in OF_PAGE if block.language == "toml"]
    app = tmp_path / "app"
    (app / "src").mkdir(parents=True)
    (app / "src/main.rs").write_text("fn main() {}\n")
    (app / "Cargo.toml").write_text(f'[package]\nname = "app"\nedition = "2024"\n{dependencies}\n[workspace]\n')
    (tmp_path / "doorward").symlink_to(REPOSITORY)
    # The versions that are on this machine.
    shutil.copy(REPOSITORY / "Cargo.lock", app)
    host = re.search(r"^host: (.+)$", subprocess.check_output(["rustc", "-vV"], text=True), re.MULTILINE)[1]
    command = ["cargo", "metadata", "--offline", "--format-version", "1", "--filter-platform", host]
    done = subprocess.run(command, cwd=app, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert done.returncode == 0, done.stderr
    nodes = json.loads(done.stdout)["resolve"]["nodes"]
    [features] = [node["features"] for node in nodes if re.search(r"#(doorward@|\d)", node["id"]) and "/doorward#" in node["id"]]
    assert features == ["argon2-rust"]


def test_the_code_is_that_of_the_example():
    """Except for lines that elide something, and the parts that only show an API."""
    example = re.sub(r"\s+", " ", (REPOSITORY / "examples/embed.rs").read_text())
    missing = []
    for block in OF_PAGE:
        if block.language != "rust" or block.first.startswith("let settings"):
            continue
        for line in block.text.splitlines():
            line = re.sub(r"\s+", " ", re.sub(r" +//.*", "", line)).strip()
            if "…" not in line and line not in example:
                missing.append(f"{block.place}: {line}")
    assert missing == []


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """The URL of the example without settings, its folder, and what it has logged."""
    folder = tmp_path_factory.mktemp("embedded")
    command = [EXAMPLES / "embed", "127.0.0.1:0"]
    with Process(command, folder / "log", folder=folder, variables=environment()) as process:
        url = process.wait_until(lambda: re.search(r"listening on (http://localhost:\d+)$", process.text(), re.MULTILINE))[1]
        yield url, folder, process


def ask(url, body=None, **headers):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"} | headers)
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
        return answer.headers, answer.read().decode()


def test_links_lead_to_the_app_and_its_pages_refuse_frames(app, doorward):
    url, folder, process = app
    port = url.rsplit(":", 1)[1]
    printed = doorward("user", "invite", "bob@example.com", "--print", folder=folder)
    assert re.search(rf"^link +http://localhost:{port}/sign-up\?", printed, re.MULTILINE), printed

    ada = {"name": "Ada Lovelace", "email": "ada@example.com", "password": "correct horse"}
    token = json.loads(ask(f"{url}/api/user", ada)[1])["token"]
    headers, page = ask(f"{url}/desk", Authorization=f"Bearer {token}")
    assert "The desk of Ada" in page
    assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
    headers, _ = ask(f"{url}/sign-in")
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"] and "default-src" in headers["Content-Security-Policy"]
    process.wait_until(lambda: "registered" in process.text())
