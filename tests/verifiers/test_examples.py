"""The programs of examples/verify verify tokens offline and follow the revocation feed of a running Doorward."""

import importlib.util
import shutil
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
import pytest
from conftest import AUDIENCE, NO_PROXY
from harness import EXAMPLES, PATIENCE_SECONDS, REPOSITORY
from harness.process import STOP_SECONDS
from harness.stall import StallRecorder
from test_verifiers import changed

PROGRAMS = REPOSITORY / "examples" / "verify"
WITHIN_SECONDS = 1
GIVE_UP_SECONDS = 30
STALLS = StallRecorder()


def node(request):
    folder = request.getfixturevalue("packages")
    shutil.copy(PROGRAMS / "verify.mjs", folder)
    return ["node", folder / "verify.mjs"]


def python(request):
    return [sys.executable, PROGRAMS / "verify.py"]


def rust(request):
    return [EXAMPLES / "verify"]


class Verifier:
    def __init__(self, command, url):
        pipe = subprocess.PIPE
        command = [*command, url, AUDIENCE]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=NO_PROXY, text=True)

    def accepts(self, token):
        self.process.stdin.write(f"{token}\n")
        self.process.stdin.flush()
        printed = self.process.stdout.readline().split()
        assert printed == ["refused"] or printed == ["good", claims(token)["sub"]], printed
        return printed[0] == "good"

    def must_soon_accept(self, token):
        self._must_change_to(True, token)

    def must_soon_refuse(self, token):
        self._must_change_to(False, token)

    def _must_change_to(self, accept, token):
        """Waits for this answer, for at most a second plus the time that the machine stalled."""
        started = time.monotonic()
        while self.accepts(token) != accept:
            assert time.monotonic() < started + GIVE_UP_SECONDS, "never"
            time.sleep(0.01)
        took, stalled = time.monotonic() - started, STALLS.since(started)
        assert took < WITHIN_SECONDS + stalled, f"{took:.2f} s, of them {stalled:.2f} s stalled"

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(STOP_SECONDS)
        finally:
            self.process.kill()


def claims(token):
    return jwt.decode(token, options={"verify_signature": False})


@pytest.fixture(params=[node, python, rust], ids=lambda language: language.__name__)
def command(request):
    return request.param(request)


@pytest.fixture
def verifier(command, doorward):
    verifier = Verifier(command, doorward.url)
    yield verifier
    verifier.stop()


def test_a_logout_is_known_within_a_second_and_ends_no_other_session(doorward, verifier, token):
    other = doorward.sign_up()
    assert verifier.accepts(token) and verifier.accepts(other)
    for _ in range(3):
        status, refreshed = doorward.send("/api/auth/refresh", b"", {"Authorization": f"Bearer {token}"})
        assert status == 200
        verifier.must_soon_refuse(token)
        token = refreshed["token"]
        assert verifier.accepts(token)
    doorward.end("/api/auth/logout", token)
    verifier.must_soon_refuse(token)
    assert verifier.accepts(other)


def test_the_python_example_is_a_module(doorward, token):
    spec = importlib.util.spec_from_file_location("verify", PROGRAMS / "verify.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    verifier = module.Verifier(doorward.url, AUDIENCE)
    assert verifier.verify(token)["sub"] == claims(token)["sub"]
    with pytest.raises(jwt.PyJWTError):
        verifier.verify(next(changed(token)))
    verifier.stop()


def test_the_javascript_example_is_a_module(doorward, packages, token):
    shutil.copy(PROGRAMS / "verify.mjs", packages)
    program = """
        import { Verifier } from "./verify.mjs";
        const [url, audience, ...tokens] = process.argv.slice(2);
        const verifier = await Verifier.start(url, audience);
        for (const token of tokens) {
          console.log(await verifier.verify(token).then(({ sub }) => sub, () => "refused"));
        }
        verifier.stop();
    """
    (packages / "importing.mjs").write_text(program)
    # The program exits because nothing runs after stop().
    command = ["node", packages / "importing.mjs", doorward.url, AUDIENCE, token, next(changed(token))]
    printed = subprocess.check_output(command, env=NO_PROXY, text=True, timeout=GIVE_UP_SECONDS + PATIENCE_SECONDS)
    assert printed.splitlines() == [claims(token)["sub"], "refused"]


def test_a_session_that_ended_before_the_start_is_known(doorward, command, token):
    doorward.end("/api/auth/logout", token)
    verifier = Verifier(command, doorward.url)
    assert not verifier.accepts(token)
    assert verifier.accepts(doorward.sign_up())
    verifier.stop()


def test_new_and_revoked_keys_take_effect_within_a_second(doorward, verifier, token):
    assert verifier.accepts(token)
    doorward.command("keys", "rotate")
    younger = doorward.sign_up()
    verifier.must_soon_accept(younger)
    assert verifier.accepts(token)
    doorward.command("keys", "revoke", jwt.get_unverified_header(token)["kid"])
    verifier.must_soon_refuse(token)
    assert verifier.accepts(younger)


def test_only_a_token_is_accepted_as_a_token(doorward, verifier, token):
    feed = doorward.read("/.well-known/revocations")
    assert jwt.get_unverified_header(feed)["typ"] == "revocations+jwt"
    for text in [*changed(token), "x", ""]:
        verifier.process.stdin.write(f"{text}\n{feed}\n")
        verifier.process.stdin.flush()
        assert [verifier.process.stdout.readline() for _ in range(2)] == ["refused\n", "refused\n"]
    assert verifier.accepts(token)


def test_a_token_is_not_accepted_as_the_feed(doorward, command, token):
    with serving_feed(doorward, token) as url:
        verifier = Verifier(command, url)
        printed, _ = verifier.process.communicate(f"{token}\n", timeout=STOP_SECONDS)
    assert "good" not in printed and verifier.process.returncode != 0


@contextmanager
def serving_feed(doorward, feed):
    """Serves what Doorward serves, except that its feed is replaced."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            is_feed = self.path.startswith("/.well-known/revocations")
            body = feed if is_feed else doorward.read(self.path).replace("/.well-known/revocations", "/feed")
            body = body.replace(f"{doorward.url}/feed", f"http://{self.headers['Host']}/.well-known/revocations")
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
