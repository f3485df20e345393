"""A single-page app on another origin: examples/client-ts in Chromium, against `doorward dev`, whose clock the tests set."""

import functools
import json
import os
import signal
import subprocess
import threading
from http.client import HTTPConnection
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest
from harness import BINARY, PATIENCE_SECONDS, REPOSITORY
from harness.process import environment
from people import Person

NODE = REPOSITORY / "target" / "test-node"
EXAMPLE = REPOSITORY / "examples" / "client-ts"
PAGE = """<!doctype html>
<meta charset="utf-8">
<title>A single-page app</title>
<script type="module">
  import {{ createClient, storageStore }} from "./client.js";
  const tokens = storageStore(localStorage);
  const doorward = createClient({{ baseUrl: "{api}", tokens }});
  const tell = (promise) => promise.then(
    (ok) => ({{ ok }}),
    ({{ name, status, message, challenge, requestId, fields }}) => ({{ name, status, message, challenge, requestId, fields }}),
  );
  Object.assign(window, {{ doorward, tokens, tell, isReady: true }});
</script>
"""
PARALLEL = """async () => {
  const calls = ["/api/me", "/api/sessions", "/api/auth/guard", "/api/me/factors"];
  return Promise.all(calls.flatMap((path) => [path, path]).map((path) => tell(doorward.call("get", path))));
}"""


class App:
    """The files of the app, on a port of their own. Under `localhost` they are also of another site than 127.0.0.1."""

    def __init__(self, folder):
        class Handler(SimpleHTTPRequestHandler):
            extensions_map = SimpleHTTPRequestHandler.extensions_map | {".js": "text/javascript"}

            def log_message(self, *_):
                pass

        handler = functools.partial(Handler, directory=folder)
        self.folder, self.server = folder, ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.origin = f"http://localhost:{self.server.server_port}"
        self.other_origin = f"http://other.localhost:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class Api:
    """A running `doorward dev`."""

    def __init__(self, folder, origin):
        (folder / "doorward.toml").write_text(f'cors.origins = ["{origin}"]\n')
        clean = {name: value for name, value in environment().items() if not name.lower().endswith("_proxy")}
        self.process = subprocess.Popen(
            [BINARY, "dev", "--listen", "127.0.0.1:0", "--json"],
            cwd=folder, env=clean, stdout=subprocess.PIPE, text=True,
        )
        # The API answers under every name of this machine, and this one makes it another site than the app.
        self.url = json.loads(self.process.stdout.readline())["url"].replace("localhost", "127.0.0.1")

    def advance(self, duration):
        address = urlsplit(self.url)
        connection = HTTPConnection(address.hostname, address.port, timeout=PATIENCE_SECONDS)
        connection.request("POST", "/dev/clock", json.dumps({"advance": duration}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        assert answer.status == 200, answer.read()
        connection.close()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(PATIENCE_SECONDS)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    folder = tmp_path_factory.mktemp("single-page-app")
    compiler = NODE / "node_modules" / ".bin" / "tsc"
    assert compiler.exists(), f"{compiler} is missing; script/install installs it"
    clean = os.environ | {"NO_PROXY": "*", "no_proxy": "*"}
    compiled = subprocess.run([compiler, "--outDir", folder], cwd=EXAMPLE, env=clean, capture_output=True, text=True)
    assert compiled.returncode == 0, compiled.stdout
    app = App(folder)
    yield app
    app.server.shutdown()


@pytest.fixture(scope="module")
def api(app, tmp_path_factory):
    api = Api(tmp_path_factory.mktemp("api"), app.origin)
    (app.folder / "index.html").write_text(PAGE.format(api=api.url))
    yield api
    api.stop()


@pytest.fixture
def browser(new_context):
    context = new_context(java_script_enabled=True)
    context.requested = []
    context.on("request", lambda request: context.requested.append(f"{request.method} {urlsplit(request.url).path}"))
    context.refreshed = []
    context.on("response", lambda response: response.url.endswith("/refresh") and context.refreshed.append(response.status))
    return context


def open_page(context, origin):
    page = context.new_page()
    page.goto(f"{origin}/index.html")
    page.wait_for_function("() => window.isReady")
    return page


@pytest.fixture
def page(app, api, browser):
    """The app, for a person who has just registered in it."""
    page, person = open_page(browser, app.origin), Person()
    fields = {"name": person.name, "email": person.email, "password": person.password}
    registered = page.evaluate("fields => tell(doorward.register(fields))", fields)
    assert "ok" in registered, registered
    browser.requested.clear()
    return page


def refreshes(context):
    return context.requested.count("POST /api/auth/refresh")


def test_parallel_calls_with_an_expired_token_cause_exactly_one_refresh(page, api, browser):
    before = page.evaluate("tokens.get()")
    for unused in ("25h", "28d"):
        api.advance(unused)
        browser.requested.clear()
        answers = page.evaluate(PARALLEL)
        assert all("ok" in answer for answer in answers), answers
        assert refreshes(browser) == 1, browser.requested
        after = page.evaluate("tokens.get()")
        assert after != before
        before = after


def test_of_two_tabs_one_gets_a_new_token_and_both_use_it(page, app, api, browser):
    other = open_page(browser, app.origin)
    api.advance("2d")
    browser.refreshed.clear()
    for tab in (page, other):
        tab.evaluate(f"() => {{ window.answers = ({PARALLEL})() }}")
    answers = [answer for tab in (page, other) for answer in tab.evaluate("window.answers")]
    assert len(answers) == 16 and all("ok" in answer for answer in answers), answers
    # The other tab may not have seen the new token in the storage in time to save the request.
    assert browser.refreshed in ([200], [200, 401]), browser.refreshed


def test_a_session_that_has_ended_is_not_refreshed(page, api):
    api.advance("31d")
    error = page.evaluate("tell(doorward.me())")
    assert (error["name"], error["status"], error["challenge"]) == ("DoorwardError", 401, "invalid_token")


def test_errors_are_readable_and_not_lost_connections(page):
    error = page.evaluate("tell(doorward.register({ name: 'x', email: 'nobody' }))")
    assert (error["status"], sorted(error["fields"])) == (400, ["email", "name"])
    assert error["requestId"]
    error = page.evaluate("tell(doorward.call('get', '/api/auth/miles'))")
    assert (error["status"], error["challenge"]) == (401, "insufficient_scope")
    error = page.evaluate("tell(doorward.call('get', '/api/nowhere'))")
    assert error["status"] == 404
    page.evaluate("tell(doorward.logout())")
    assert page.evaluate("tokens.get() ?? null") is None


@pytest.mark.parametrize("path", ["/api/auth/login", "/api/me", "/sign-in"])
def test_an_origin_that_is_not_declared_reads_nothing(app, api, browser, path):
    page = open_page(browser, app.other_origin)
    fetch = """([url, method]) => fetch(url, {method, headers: {Authorization: "Bearer x"}}).then(r => r.status, e => e.name)"""
    for method in ("GET", "POST"):
        assert page.evaluate(fetch, [api.url + path, method]) == "TypeError", method


def test_no_cookie_is_sent_with_credentials_and_pages_stay_closed(page, api):
    fetch = "([url, credentials]) => fetch(url, {credentials}).then(r => r.status, e => e.name)"
    assert page.evaluate(fetch, [f"{api.url}/.well-known/jwks.json", "omit"]) == 200
    assert page.evaluate(fetch, [f"{api.url}/.well-known/jwks.json", "include"]) == "TypeError"
    assert page.evaluate(fetch, [f"{api.url}/sign-in", "omit"]) == "TypeError"
