"""The client in examples/client-ts: its types are those of the document, and it works against a running Doorward."""

import json
import os
import shutil
import subprocess
import threading
import time
import uuid
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from conftest import PASSWORD, SETTINGS, DocumentedService
from factors.people import code_of
from harness import HOST, REPOSITORY
from harness.authenticator import Authenticator

EXAMPLE = REPOSITORY / "examples" / "client-ts"
NODE = REPOSITORY / "target" / "test-node"
ENVIRONMENT = os.environ | {"NO_PROXY": "*", "no_proxy": "*"}


def run(*command, folder):
    return subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=300)


def tool(name):
    program = NODE / "node_modules" / ".bin" / name
    assert program.exists(), f"{program} is missing; script/install installs it"
    return program


@pytest.fixture(scope="session")
def client(tmp_path_factory):
    """The folder with the compiled client."""
    folder = tmp_path_factory.mktemp("client")
    compiled = run(tool("tsc"), "--outDir", folder, folder=EXAMPLE)
    assert compiled.returncode == 0, compiled.stdout
    (folder / "package.json").write_text('{"type": "module"}')
    return folder


def test_the_types_are_those_of_the_document(tmp_path):
    generated = tmp_path / "schema.d.ts"
    made = run(tool("openapi-typescript"), "../../docs/openapi.json", "--output", generated, folder=EXAMPLE)
    assert made.returncode == 0, made.stdout + made.stderr
    hint = "run `npx openapi-typescript ../../docs/openapi.json --output schema.d.ts` in examples/client-ts"
    assert (EXAMPLE / "schema.d.ts").read_text() == generated.read_text(), hint


def test_a_story_from_registration_to_logout(client, service):
    told = run("node", client / "story.js", service.url, f"{uuid.uuid4().hex}@example.com", folder=client)
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert lines[0].startswith("registered ") and len(lines[0].split()[1]) == 36
    assert lines[1:] == [
        "logged in true",
        "me Ada Lovelace false 0",
        "refreshed true",
        "sessions 2 1",
        "others ended 1",
        'error 400 {"name":"String must contain at least 2 character(s)","email":"Invalid email"}',
        "error 401 no credentials",
    ]


class Faults:
    """Stands between a client and the service: gives planned answers first, and counts requests."""

    def __init__(self):
        self.planned, self.seen = {}, []


@contextmanager
def between(service):
    faults = Faults()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            faults.seen.append(f"{self.command} {self.path}")
            if planned := faults.planned.get(self.path):
                status, headers, answer = planned.pop(0)
            else:
                upstream = HTTPConnection(HOST, service.port, timeout=60)
                upstream.request(self.command, self.path, body, dict(self.headers))
                response = upstream.getresponse()
                status, headers, answer = response.status, response.getheaders(), response.read()
                upstream.close()
            self.send_response(status)
            for name, value in headers:
                if name.lower() not in ("content-length", "date", "connection"):
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = do_DELETE = answer

    with ThreadingHTTPServer((HOST, 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        faults.url = f"http://{HOST}:{server.server_port}"
        yield faults
        server.shutdown()


PROGRAM = """
import {{ createClient, memoryStore }} from "{client}/client.js";
const tokens = memoryStore({token});
// Behind a proxy, as a client on another machine: this machine has no budget of failed logins.
const throughProxy = (url, request) => {{
  request.headers.set("X-Forwarded-For", "203.0.113.7");
  return fetch(url, request);
}};
const doorward = createClient({{ baseUrl: "{url}", tokens, maxWaitSeconds: 5, fetch: throughProxy }});
const tell = async (promise) => {{
  try {{ return {{ ok: await promise }}; }}
  catch (error) {{
    const {{ status, message, challenge, retryAfter, fields }} = error;
    return {{ name: error.name, status, message, challenge, retryAfter, fields }};
  }}
}};
console.log(JSON.stringify({expression}));
"""


def evaluate(client, url, token, expression):
    """What an expression with `doorward`, `tokens` and `tell` is in JavaScript."""
    program = PROGRAM.format(client=client, token=json.dumps(token), url=url, expression=expression)
    (client / "program.mjs").write_text(program)
    told = run("node", client / "program.mjs", folder=client)
    assert told.returncode == 0, told.stderr
    return json.loads(told.stdout)


@pytest.fixture
def token(service):
    return service.register(password=PASSWORD)["token"]


@pytest.mark.parametrize("status", [429, 503])
def test_it_waits_as_long_as_the_server_says_and_tries_again(client, service, token, status):
    with between(service) as faults:
        faults.planned["/api/me"] = [(status, [("Retry-After", "1")], b'{"message":"later"}')]
        assert evaluate(client, faults.url, token, "await tell(doorward.me())")["ok"]["name"] == "Ada Lovelace"
        assert faults.seen == ["GET /api/me"] * 2


def test_it_does_not_wait_for_long(client, service, token):
    with between(service) as faults:
        faults.planned["/api/me"] = [(429, [("Retry-After", "3600")], b'{"message":"much later"}')]
        error = evaluate(client, faults.url, token, "await tell(doorward.me())")
        assert (error["name"], error["status"], error["retryAfter"]) == ("DoorwardError", 429, 3600)
        assert faults.seen == ["GET /api/me"]


UNTIL_THROTTLED = """await (async () => {{
  const answers = [];
  do answers.push(await tell(doorward.login({{ email: "ada@example.com", password: `wrong ${{answers.length}}` }})));
  while (answers.at(-1).status === 404 && answers.length < {most});
  return answers;
}})()"""


def test_the_throttle_of_a_real_service_is_a_typed_error(client, tmp_path):
    settings = SETTINGS.replace("per_network = 100", "per_network = 3")
    with DocumentedService(tmp_path, settings) as service:
        service.register(email="ada@example.com", password=PASSWORD)
        answers = evaluate(client, service.url, None, UNTIL_THROTTLED.format(most=100))
    *refused, throttled = answers
    assert {answer["message"] for answer in refused} == {"The requested resource could not be found."}
    assert (throttled["name"], throttled["status"]) == ("DoorwardError", 429)
    assert throttled["retryAfter"] > 5


INVALID = (401, [("WWW-Authenticate", 'Bearer realm="doorward", error="invalid_token"')], b'{"message":"no"}')


def test_it_refreshes_once_if_the_token_is_not_valid(client, service, token):
    with between(service) as faults:
        faults.planned["/api/me"] = [INVALID]
        answer = evaluate(client, faults.url, token, "[await tell(doorward.me()), tokens.get()]")
        assert answer[0]["ok"]["name"] == "Ada Lovelace"
        assert answer[1] != token
        assert faults.seen == ["GET /api/me", "POST /api/auth/refresh", "GET /api/me"]


def test_requests_at_the_same_time_share_a_refresh(client, service, token):
    with between(service) as faults:
        faults.planned["/api/me"] = [INVALID]
        faults.planned["/api/sessions"] = [INVALID]
        both = "await Promise.all([tell(doorward.me()), tell(doorward.sessions())])"
        assert all("ok" in answer for answer in evaluate(client, faults.url, token, both))
        assert faults.seen.count("POST /api/auth/refresh") == 1


def test_it_gives_up_if_the_new_token_does_not_help(client, service, token):
    with between(service) as faults:
        faults.planned["/api/me"] = [INVALID] * 2
        error = evaluate(client, faults.url, token, "await tell(doorward.me())")
        assert (error["status"], error["challenge"]) == (401, "invalid_token")
        assert faults.seen == ["GET /api/me", "POST /api/auth/refresh", "GET /api/me"]


def test_it_gives_up_if_the_token_cannot_be_refreshed(client, service):
    with between(service) as faults:
        error = evaluate(client, faults.url, "not.a.token", "await tell(doorward.me())")
        assert (error["status"], error["challenge"]) == (401, "invalid_token")
        assert faults.seen == ["GET /api/me", "POST /api/auth/refresh"]


def test_it_never_refreshes_if_the_policy_refuses(client, service, token):
    with between(service) as faults:
        error = evaluate(client, faults.url, token, 'await tell(doorward.call("get", "/api/auth/miles"))')
        assert (error["status"], error["challenge"]) == (401, "insufficient_scope")
        assert faults.seen == ["GET /api/auth/miles"]


class Told:
    """Calls operations with the client, as an app that keeps its tokens. Each that answers with a token must store it."""

    def __init__(self, client, service):
        self.client, self.service, self.token, self.stored = client, service, None, []

    def call(self, path, **body):
        call = f'await doorward.call("post", "{path}", {{ body: {json.dumps(body)} }})'
        answer, kept = evaluate(self.client, self.service.url, self.token, f"[{call}, tokens.get()]")
        if "token" in answer:
            assert answer["token"] == kept != self.token, path
            self.stored.append(path)
        else:
            assert kept == self.token, path
        self.token = kept
        return answer


def operations_with_a_token(document):
    """The operations that change something and answer with a token, and those that only read one."""
    schemas = document["components"]["schemas"]

    def properties(schema):
        schema = schemas[schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
        parts = [part for kind in ("allOf", "anyOf", "oneOf") for part in schema.get(kind, ())]
        return set(schema.get("properties", ())).union(*map(properties, parts))

    changing, reading = set(), set()
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            for status, answer in operation.get("responses", {}).items() if method != "parameters" else ():
                schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
                if status.startswith("2") and "token" in properties(schema):
                    (reading if method == "get" else changing).add(path)
    return changing, reading


def test_every_operation_that_answers_with_a_token_stores_it(client, service):
    address = f"{uuid.uuid4().hex}@example.com"
    ada = Told(client, service)
    ada.call("/api/user", name="Ada Lovelace", email=address, password=PASSWORD)
    ada.call("/api/auth/login", email=address, password=PASSWORD)
    ada.call("/api/me/step-up", password=PASSWORD)
    begun = ada.call("/api/me/factors/passkeys/options")
    device = Authenticator(f"http://localhost:{service.port}")
    ada.call("/api/me/factors/passkeys", setup=begun["setup"], credential=device.create(begun["publicKey"]))
    app, step = ada.call("/api/me/factors/totp"), int(time.time()) // 30
    codes = ada.call("/api/me/factors/totp/confirm", setup=app["setup"], code=code_of(app["secret"], step))
    assert codes["token"] == ada.token
    ada.call("/api/auth/refresh")
    begun = ada.call("/api/auth/login/passkey")
    ada.call("/api/auth/login/factor", challenge=begun["challenge"], credential=device.get(begun["publicKey"]))

    bob = Told(client, service)
    address = f"{uuid.uuid4().hex}@example.com"
    bob.call("/api/user", name="Bob", email=address)
    evaluate(client, service.url, None, f'[await doorward.call("post", "/api/auth/code", {{ body: {{ email: "{address}" }} }})]')
    code = service.code_in_mail(address, "Sign in to")
    bob.call("/api/auth/code/login", email=address, code=code)

    carol, address = Told(client, service), f"{uuid.uuid4().hex}@example.com"
    carol.call("/api/user", name="Carol", email=address, password=PASSWORD)
    back = {"returnTo": "https://app.example.com/signed-in"}
    begun = service.post("/api/auth/login/with/google", back)
    [target] = parse_qs(urlsplit(begun["url"]).query)["for"]
    # Whichever way she signs in on the pages, she comes back with a code.
    location = service.location_after("/sign-in", {"email": address, "password": PASSWORD, "for": target})
    [code] = parse_qs(urlsplit(location).query)["code"]
    carol.call("/api/auth/login/code", code=code, attempt=begun["attempt"], **back)

    changing, reading = operations_with_a_token(json.loads((REPOSITORY / "docs" / "openapi.json").read_text()))
    assert {*ada.stored, *bob.stored, *carol.stored} == changing
    # There it is what was sent, in words.
    assert reading == {"/api/admin/refusals/{decision}"}
    for person in (ada, bob):
        assert evaluate(client, service.url, person.token, "await tell(doorward.me())")["ok"]["name"]


APP = """import { createClient, DoorwardError, type Answer } from "doorward-client";
const doorward = createClient({ baseUrl: process.argv[2]! });
const me: Answer<"/api/me", "get"> | number = await doorward.me().catch((error) => (error as DoorwardError).status);
console.log(me);
"""


def test_a_copy_of_the_folder_is_a_package_of_an_app(service, tmp_path):
    package, app = tmp_path / "doorward-client", tmp_path / "app"
    left_out = shutil.ignore_patterns("node_modules", "dist", "package-lock.json")
    shutil.copytree(EXAMPLE, package, ignore=left_out)
    app.mkdir()

    def must(*command, folder):
        done = run(*command, folder=folder)
        assert done.returncode == 0, f"{command}: {done.stdout}\n{done.stderr}"
        return done.stdout

    options = ("--silent", "--no-audit", "--no-fund", "--prefer-offline")
    must("npm", "install", *options, folder=package)
    must("npm", "run", "check", folder=package)
    must("npm", "run", "generate", "--", service.url, folder=package)
    own_url = f"http://localhost:{service.port}"
    generated = (package / "schema.d.ts").read_text().replace(own_url, "http://localhost:3000")
    assert generated == (EXAMPLE / "schema.d.ts").read_text()
    must("npm", "run", "check", folder=package)
    packed = must("npm", "pack", "--silent", folder=package).split()[-1]

    (app / "package.json").write_text('{"type": "module"}')
    (app / "app.ts").write_text("declare const process: { argv: string[] };\n" + APP)
    must("npm", "install", *options, package / packed, folder=app)
    strict = {"strict": True, "module": "nodenext", "target": "es2022", "lib": ["es2023", "dom"], "types": []}
    (app / "tsconfig.json").write_text(json.dumps({"compilerOptions": strict, "files": ["app.ts"]}))
    must(package / "node_modules" / ".bin" / "tsc", folder=app)
    assert must("node", "app.js", service.url, folder=app) == "401\n"


def test_a_missing_factor_is_a_typed_error_that_can_be_answered(client, service):
    email = f"{uuid.uuid4().hex}@example.com"
    token = service.register(email=email, password=PASSWORD)["token"]
    app = service.post("/api/me/factors/totp", {}, token)
    step = int(time.time()) // 30
    added = service.post("/api/me/factors/totp/confirm", {"setup": app["setup"], "code": code_of(app["secret"], step)}, token)
    # Not the code of this time step, which is used.
    code = code_of(app["secret"], step + 1)
    expression = """await (async () => {{
      const missing = async (promise) => {{
        try {{ await promise; }} catch (error) {{ return [error.name, error.challenge, error.missing]; }}
      }};
      const [name, challenge, login] = await missing(doorward.login({{ email: "{email}", password: "{password}" }}));
      const wrong = await tell(doorward.answer(login, {{ code: "x" }}));
      const token = (await doorward.answer(login, {{ code: "{code}" }})).token;
      const [, , stepUp] = await missing(doorward.stepUp("{password}"));
      const recovered = await doorward.answer(stepUp, {{ code: "{recovery}" }});
      const {{ methods }} = await doorward.me();
      return {{ name, challenge, factors: login.factors, wrong, replaced: token !== tokens.get(), recovered, methods }};
    }})()""".format(email=email, password=PASSWORD, code=code, recovery=added["recoveryCodes"][0])
    told = evaluate(client, service.url, None, expression)
    assert (told["name"], told["challenge"]) == ("FactorMissing", "insufficient_user_authentication")
    assert told["factors"] == ["totp", "recovery"]
    assert (told["wrong"]["name"], told["wrong"]["message"]) == ("DoorwardError", "The second factor is wrong.")
    assert told["replaced"]
    assert told["recovered"]["recoveryCode"] not in added["recoveryCodes"]
    # Everything is proved anew.
    assert told["methods"] == ["pwd", "recovery"]
