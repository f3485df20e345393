"""API keys through the proxies: a CI job with curl, and git, which knows nothing but HTTP Basic."""

import base64
import functools
import json
import os
import re
import subprocess
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
from harness import BINARY
from harness.process import PATH
from support import KINDS, PROXY_VERSIONS, Doorward, bearer, send
from versions import one_each

GUARDS = """
[guards.git-{style}]
proxy = "{style}"
allow = '"staff" in user.roles'
keys = true

[guards.app-{style}]
proxy = "{style}"
allow = "true"
origins = ["http://localhost:8000"]
keys = true

[guards.closed-{style}]
proxy = "{style}"
allow = "true"
"""
TEXT = "guarded text\n"


class Service(Doorward):
    def command(self, *arguments):
        """What a command of the operator prints as JSON."""
        command = [BINARY, *arguments, "--json"]
        done = subprocess.run(command, cwd=self.folder, env=self.variables, capture_output=True, check=True, timeout=60)
        return json.loads(done.stdout)

    def key(self, *scopes, allow=None):
        """A new key of a machine."""
        scopes = [part for scope in scopes for part in ("--scope", scope)]
        return self.command("api-key", "create", "ci", *scopes, *(["--allow", allow] if allow else []))

    def personal_key(self, user):
        headers = [("Content-Type", "application/json"), *bearer(user.token)]
        answer = send(self.port, "POST", "/api/me/keys", headers, b'{"name": "laptop"}')
        assert answer.status == 201, answer
        return json.loads(answer.body)


@pytest.fixture(scope="module")
def service(folder):
    styles = sorted({KINDS[name].style for name in PROXY_VERSIONS})
    service = Service(folder / "doorward with keys", "".join(GUARDS.format(style=style) for style in styles))
    yield service
    service.stop()


def git(*arguments, folder=None, status=0):
    quiet = {"PATH": PATH, "HOME": "/nonexistent", "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1", "NO_PROXY": "*"}
    done = subprocess.run(["git", *arguments], cwd=folder, env=os.environ | quiet, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, (arguments, done.stdout, done.stderr)
    return done.stdout


class QuietFiles(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def git_server(folder):
    """Serves a repository as files."""
    source, bare = folder / "source", folder / "served" / "team" / "app.git"
    source.mkdir()
    git("init", "-q", "-b", "main", str(source))
    (source / "text").write_text(TEXT)
    git("add", "text", folder=source)
    git("-c", "user.name=Ada", "-c", "user.email=ada@example.com", "commit", "-q", "-m", "text", folder=source)
    bare.parent.mkdir(parents=True)
    git("clone", "-q", "--bare", str(source), str(bare))
    git("update-server-info", folder=bare)
    handler = functools.partial(QuietFiles, directory=folder / "served")
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture(params=one_each(PROXY_VERSIONS))
def kind(request):
    return request.param


def curl(port, path, *arguments):
    """The status and the body that curl gets."""
    url = f"http://127.0.0.1:{port}{path}"
    command = ["curl", "-sS", "--max-time", "60", "-w", "\n%{http_code}", *arguments, url]
    done = subprocess.run(command, env=os.environ | {"NO_PROXY": "*"}, capture_output=True, text=True, check=True, timeout=120)
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def test_a_ci_job_passes_with_curl_until_its_key_is_revoked(kind, service, start_integration, git_server):
    guard = f"git-{KINDS[kind].style}"
    proxy = start_integration(kind, guard, doorward=service, app_port=git_server.server_address[1])
    made, other = service.key(f"guard:{guard}"), service.key(f"guard:closed-{KINDS[kind].style}")
    path = "/team/app.git/HEAD"
    asked = functools.partial(curl, proxy.port, path)
    for arguments in (["-H", f"Authorization: Bearer {made['key']}"], ["-u", f"ci:{made['key']}"]):
        assert asked(*arguments) == (200, "ref: refs/heads/main\n")
    mistyped = made["key"][:-1] + ("0" if made["key"][-1] != "0" else "1")
    for wrong in (mistyped, other["key"], "hunter2"):
        assert asked("-u", f"ci:{wrong}")[0] == 401
        assert asked("-H", f"Authorization: Bearer {wrong}")[0] == 401
    assert asked()[0] == 401
    service.run("api-key", "revoke", made["id"])
    assert asked("-u", f"ci:{made['key']}")[0] == 401
    assert asked("-H", f"Authorization: Bearer {made['key']}")[0] == 401


def test_git_clones_with_the_key_of_a_person_as_the_password(kind, service, start_integration, git_server, tmp_path):
    proxy = start_integration(kind, f"git-{KINDS[kind].style}", doorward=service, app_port=git_server.server_address[1])
    ada = service.sign_up("Ada")
    made = service.personal_key(ada)
    url = f"http://ada:{made['key']}@127.0.0.1:{proxy.port}/team/app.git"
    git("ls-remote", url, status=128)
    service.run("user", "grant", ada.email, "staff")
    git("clone", "-q", url, str(tmp_path / "clone"))
    assert (tmp_path / "clone" / "text").read_text() == TEXT
    git("ls-remote", url.replace(made["key"], "hunter2"), status=128)
    service.run("user", "disable", ada.email)
    git("ls-remote", url, status=128)


def test_the_condition_of_a_key_reads_the_request_of_the_client(kind, service, start_integration, git_server):
    guard = f"git-{KINDS[kind].style}"
    proxy = start_integration(kind, guard, doorward=service, app_port=git_server.server_address[1])
    allow = f'guard.name == "{guard}" && request.path.endsWith("/HEAD") && request.address == "127.0.0.1" && request.method == "GET"'
    here = bearer(service.key("guard:*", allow=allow)["key"])
    elsewhere = bearer(service.key("guard:*", allow='request.address.inNetwork("192.0.2.0/24")')["key"])
    path = "/team/app.git/HEAD"
    assert send(proxy.port, "GET", path, here).status == 200
    for method, target, headers in (("GET", "/team/app.git/config", here), ("HEAD", path, here), ("GET", path, elsewhere)):
        assert send(proxy.port, method, target, headers).status == 401, (method, target)
    forged = [*elsewhere, ("X-Forwarded-For", "192.0.2.7")]
    assert send(proxy.port, "GET", path, forged).status == 401
    assert send(proxy.port, "GET", path, here, source="127.0.0.2").status == 401


@pytest.mark.parametrize("name", ["git", "app"])
def test_only_programs_are_asked_for_a_password(kind, name, service, start_integration, git_server):
    guard = f"{name}-{KINDS[kind].style}"
    proxy = start_integration(kind, guard, doorward=service, app_port=git_server.server_address[1])
    host = [("Host", "localhost:8000")]

    def schemes(*headers):
        answer = send(proxy.port, "GET", "/", [*host, *headers])
        assert answer.status == 401, answer
        return re.findall(r"(\w+) realm=", answer.header("WWW-Authenticate"))

    assert schemes(("User-Agent", "git/2.47"), ("Accept", "*/*")) == ["Basic", "Bearer"]
    for browser in (("Sec-Fetch-Mode", "cors"), ("Origin", "http://localhost:8000"), ("X-Requested-With", "XMLHttpRequest")):
        assert schemes(browser) == ["Bearer"], browser
    for old_browser in (("Referer", "http://localhost:8000/"), ("Accept", "image/webp,image/*;q=0.8,*/*;q=0.5")):
        assert schemes(old_browser) == ["Bearer"], old_browser


@pytest.mark.parametrize("name", ["git", "app"])
def test_a_cached_password_does_not_count_for_another_site(kind, name, service, start_integration, git_server):
    guard = f"{name}-{KINDS[kind].style}"
    proxy = start_integration(kind, guard, doorward=service, app_port=git_server.server_address[1])
    made = service.key("guard:*")
    password = base64.b64encode(f"ci:{made['key']}".encode()).decode()

    def status(*headers):
        sent = [("Host", "localhost:8000"), ("Authorization", f"Basic {password}"), *headers]
        return send(proxy.port, "GET", "/team/app.git/HEAD", sent).status

    own = ("Referer", "http://localhost:8000/team")
    foreign = ("Referer", "http://evil.example/"), ("Origin", "http://evil.example"), ("Referer", "https://localhost:8000/")
    assert status() == 200 and status(own) == 200
    assert [status(header) for header in foreign] == [401] * len(foreign)
    assert status(("Sec-Fetch-Site", "cross-site"), own) == 401


def test_without_keys_a_guard_takes_none(kind, service, start_integration, git_server):
    guard = f"closed-{KINDS[kind].style}"
    proxy = start_integration(kind, guard, doorward=service, app_port=git_server.server_address[1])
    made = service.key("guard:*")
    assert curl(proxy.port, "/team/app.git/HEAD", "-u", f"ci:{made['key']}")[0] == 401
    assert curl(proxy.port, "/team/app.git/HEAD", "-H", f"Authorization: Bearer {made['key']}")[0] == 401
