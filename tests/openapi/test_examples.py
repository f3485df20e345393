"""Every example of the document: the commands on the page /docs are run by a shell, and the answers are compared with the
examples, byte by byte except for ids, tokens, times and the version of curl."""

import html
import json
import os
import re
import subprocess
import uuid
from dataclasses import dataclass

import pytest
from conftest import CLIENT, PASSWORD

METHODS = {"get", "put", "post", "delete", "options", "patch", "trace"}
# The mailed code in every example.
CODE = "31415926"
SECRET = "q2Vt0mB3nq7kq4Wc1y8h5aEo6uJx9LrSdGfPzTiNwKM"
VOLATILE = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
    (r"[\w-]+\.[\w-]+\.[\w-]{8,}(?![\w.])", "<token>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<time>"),
    (r'"(kid|x|y)":\s*"[\w-]{43}"', r'"\1":"<key>"'),
    (r'"(exp|iat|auth_time)":\s*\d{10}', r'"\1":"<seconds>"'),
    (r"curl/[\d.]+", "<curl>"),
]


def stable(text):
    for pattern, replacement in VOLATILE:
        text = re.sub(pattern, replacement, text)
    return text


@dataclass
class Operation:
    path: str
    method: str
    description: dict
    curl: str

    def success(self, document):
        """The status and the example of the answer to the example."""
        responses = {}
        for status, response in self.description["responses"].items():
            if reference := response.get("$ref"):
                response = document["components"]["responses"][reference.rpartition("/")[2]]
            if status.startswith("2"):
                responses[int(status)] = response.get("content")
        status = min(responses)
        return status, responses[status]


class Story:
    """Runs the examples. Each one is sent once, by somebody for whom it succeeds."""

    def __init__(self, service):
        self.service, self.document = service, service.document()
        self.operations, self.done = dict(self._operations()), set()
        self.token = None

    def _operations(self):
        page = self.service.read("/docs").decode()
        curls = dict(re.findall(r'<details class="card" id="(\w+)">.*?<code class="curl">(.*?)</code>', page, re.DOTALL))
        for path, item in self.document["paths"].items():
            for method in METHODS & item.keys():
                operation_id = item[method]["operationId"]
                # The other methods of a guard are not on the page: they are like GET.
                if method == "get" or "trace" not in item:
                    curl = html.unescape(curls.pop(operation_id))
                    yield operation_id, Operation(path, method, item[method], curl)
        assert not curls, curls

    def run(self, operation_id, replace=()):
        """Runs the command of an operation as it stands on the page, with other values for what only the service knows."""
        operation = self.operations[operation_id]
        command = operation.curl
        for example, actual in replace:
            assert example in command, command
            command = command.replace(example, actual)
        environment = os.environ | {"TOKEN": self.token or "", "CLIENT": ":".join(CLIENT), "NO_PROXY": "*"}
        shell = ["bash", "-c", command.replace("curl ", "curl -sS -w '\n%{http_code}' ", 1)]
        output = subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=120, check=True).stdout
        body, _, status = output.rpartition("\n")
        expected_status, content = operation.success(self.document)
        assert int(status) == expected_status, (operation_id, command, output)
        if content is None:
            assert body == "", operation_id
        elif operation_id == "openapi":
            assert json.loads(body) == self.document
        else:
            [(kind, media)] = content.items()
            example = media["example"]
            expected = example if kind == "application/jwt" else json.dumps(example, separators=(",", ":"))
            assert stable(body) == stable(expected), operation_id
        self.done.add(operation_id)
        return json.loads(body) if body.startswith(("{", "[", '"')) else body

    def fresh_ada(self):
        """Registers Ada by the example, after her last account is gone."""
        if "register" in self.done:
            self.service.run("user", "delete", "ada@example.com")
        registered = self.run("register")
        self.token = registered["token"]
        return registered["id"]


@pytest.fixture(scope="module")
def story(service):
    return Story(service)


def parameter_example(story, path):
    [parameter] = [
        parameter
        for operation in story.document["paths"][path].values()
        for parameter in operation.get("parameters", [])
    ]
    return parameter["example"]


def use_a_code_of_the_mailbox(story, service, email):
    """A mailbox gets few mails, and more when its owner has used one of them. All its addresses count as one."""
    name, host = email.split("@")
    other = f"{name}+{uuid.uuid4().hex}@{host}"
    service.register(email=other)
    code = service.code_in_mail(other, "Confirm your e-mail")
    story.run("verifyEmail", [(CODE, code), ("ada@example.com", other)])


def test_the_examples_of_accounts_and_mail(story, service):
    story.fresh_ada()
    for operation in ("showMe", "listSessions", "logout"):
        story.run(operation)
    story.token = story.run("login")["token"]
    for operation in ("exportMe", "sendVerification", "changeMe", "cancelPendingEmail"):
        story.run(operation)
    old, new = "ada@example.com", "ada@example.org"
    for operation in ("changeMe", "sendPendingEmail"):
        use_a_code_of_the_mailbox(story, service, new)
        story.run(operation)
    # Registration and `sendVerification` have each sent one.
    story.run("verifyEmail", [(CODE, service.code_in_mail(old, "Confirm your e-mail", mails=2))])
    story.run("verifyEmail", [(CODE, service.code_in_mail(new, "Confirm your new e-mail", mails=3)), (old, new)])
    story.run("restoreEmail", [(SECRET, service.secret_in_mail(old, "Your e-mail address"))])
    story.run("forgot")
    story.run("reset", [(CODE, service.code_in_mail(old, "Set a new password"))])


def test_the_examples_of_sessions_and_tokens(story, service):
    user = story.fresh_ada()
    story.run("lookUp", [(parameter_example(story, "/api/user/{id}"), user)])
    for operation in ("guard", "declaredGuard", "introspect"):
        story.run(operation)
    story.token = story.run("refresh")["token"]
    story.run("changePassword")
    story.run("revoke")
    story.fresh_ada()
    [session] = story.run("listSessions")
    story.run("endSession", [(parameter_example(story, "/api/sessions/{id}"), session["id"])])
    for operation in ("logoutEverywhere", "deleteMe"):
        story.token = service.register(password=PASSWORD)["token"]
        story.run(operation)
    story.token = service.register(name="Miles Davis")["token"]
    story.run("designated")


def test_the_examples_of_invitations_and_codes(story, service):
    story.fresh_ada()
    service.run("user", "verify", "ada@example.com")
    made = story.run("invite")
    story.run("listInvitations")
    story.run("revokeInvitation", [(parameter_example(story, "/api/invitations/{id}"), made["id"])])
    service.register(name="Grace Hopper", email="grace@example.com")
    story.run("sendCode")
    story.run("loginByCode", [(CODE, service.code_in_mail("grace@example.com", "Sign in to"))])


def test_the_examples_of_public_operations(story):
    for operation in ("keys", "discovery", "metadata", "revocations", "live", "ready", "guardsReady", "openapi"):
        story.run(operation)


def test_the_example_of_an_invalid_body(story, service):
    example = story.document["components"]["responses"]["Invalid"]["content"]["application/json"]["example"]
    command = ["curl", "-sS", "-d", "{}", "-H", "Content-Type: application/json", service.url + "/api/user"]
    body = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=os.environ | {"NO_PROXY": "*"}).stdout
    assert body == json.dumps(example, separators=(",", ":"))


def test_no_example_is_left_out(story):
    """Runs last."""
    assert story.done == story.operations.keys()
