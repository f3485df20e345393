"""Every example of the document: the commands on the page /docs are run by a shell, and the answers are compared with the
examples, byte by byte except for ids, tokens, times and the version of curl."""

import html
import json
import os
import re
import subprocess
import time
import uuid
from dataclasses import dataclass
from urllib.error import HTTPError
from urllib.parse import parse_qs, urlsplit

import pytest
from conftest import CLIENT, ORIGIN, PASSWORD
from harness.authenticator import Authenticator, code_of

METHODS = {"get", "put", "post", "delete", "options", "patch", "trace"}
# The mailed code in every example.
CODE = "31415926"
SECRET = "q2Vt0mB3nq7kq4Wc1y8h5aEo6uJx9LrSdGfPzTiNwKM"
# The code of an authenticator app in every example.
APP_CODE = "271828"
VOLATILE = [
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>"),
    (r"[\w-]+\.[\w-]+\.[\w-]{8,}(?![\w.])", "<token>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", "<time>"),
    (r'"(kid|x|y)":\s*"[\w-]{43}"', r'"\1":"<key>"'),
    (r'"(exp|iat|auth_time)":\s*\d{10}', r'"\1":"<seconds>"'),
    (r'"code":\s*"[0-9a-f]{32}"', '"code":"<code>"'),
    (r'"(challenge|setup|secret|uri|link|attempt)":\s*"[^"]+"', r'"\1":"<secret>"'),
    (r'"id":\s*"[\w-]{43}"', '"id":"<handle>"'),
    (r"([0-9A-HJKMNP-TV-Z]{5}-){4}[0-9A-HJKMNP-TV-Z]{5}", "<recovery code>"),
    (r"dw_(key|pat)_\w{36}", r"<\1>"),
    (r"curl/[\d.]+", "<curl>"),
    (r'"(id|decision)":\s*"[0-9a-f]{32}"', r'"\1":"<decision>"'),
    (r'"(decisions|settings)":\s*\{[^}]*\}', r'"\1":"<values>"'),
    (r'"keysRevoked":\s*\[[^]]*\]', '"keysRevoked":"<keys>"'),
    (r'"(openFiles|freeBytes|logBytes|users|sessions|\w+(Waiting|GivenUp|Ended|Revoked|Deleted|Due))":\s*\d+', r'"\1":"<number>"'),
    (r'"(listening|lastBackupAt)":\s*("[^"]*"|null)', r'"\1":"<value>"'),
    (r"SQLite [\d.]+", "<sqlite>"),
    (r"\?for=[\w-]+", "?for=<target>"),
    (r'http://127\.0\.0\.1:\d+', "<url>"),
    (r',"next":\s*"[^"]*"', ""),
    (r'"number":\s*\d+,', ""),
    (r',"requestId":\s*"[^"]*"', ""),
    (r'"type":\s*"operator",\s*"name":\s*"[^"]*"', '"type":"operator"'),
    (r'"(checkpoint|proof|key|witnessKey)":\s*"[^"]+"', r'"\1":"<signed>"'),
    (r'"(size|stored|waiting)":\s*\d+', r'"\1":"<number>"'),
    (r'"days":\s*\[[^]]*\]', '"days":"<days>"'),
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
        socket = next(self.service.folder.rglob("doorward.sock"))
        environment = os.environ | {"TOKEN": self.token or "", "CLIENT": ":".join(CLIENT), "SOCKET": str(socket), "NO_PROXY": "*"}
        command = self.service.reached(command)
        shell = ["bash", "-c", command.replace("curl ", "curl -sS -w '\n%{http_code}' ", 1)]
        output = subprocess.run(shell, env=environment, capture_output=True, text=True, timeout=120, check=True).stdout
        body, _, status = output.rpartition("\n")
        expected_status, content = operation.success(self.document)
        assert int(status) == expected_status, (operation_id, command, output)
        if content is None:
            assert body == "", operation_id
        elif operation_id == "backup":
            assert [line[:10] for line in body.splitlines()][:2] == ['{"doorward', '{"key":{"s'], body[:100]
        elif operation_id == "exportAudit":
            [media] = content.values()
            known = json.loads(media["example"]).keys() | {"address", "userAgent", "requestId"}
            assert all(json.loads(line).keys() <= known for line in body.splitlines()), body
        elif operation_id == "openapi":
            assert json.loads(body) == self.document
        else:
            [(kind, media)] = content.items()
            example = media["example"]
            is_text = kind in ("application/jwt", "application/x-ndjson")
            expected = example if is_text else json.dumps(example, separators=(",", ":"))
            assert stable(body) == stable(expected), operation_id
        self.done.add(operation_id)
        return json.loads(body) if content and "application/json" in content else body

    def fresh_ada(self):
        """Registers Ada by the example, after her last account is gone."""
        if "register" in self.done:
            self.service.run("user", "delete", "ada@example.com")
        registered = self.run("register")
        self.token = registered["token"]
        return registered["id"]


    def example(self, operation_id):
        """The example of the body of an operation."""
        return self.operations[operation_id].description["requestBody"]["content"]["application/json"]["example"]


@pytest.fixture(scope="module")
def story(service):
    return Story(service)


@pytest.fixture(scope="module")
def factor_story(public_service):
    return Story(public_service)


def parameter_example(story, path):
    [example] = {
        parameter["example"]
        for operation in story.document["paths"][path].values()
        for parameter in operation.get("parameters", [])
    }
    return example


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
    story.run("listActivity", [("/api/me/activity", "/api/me/activity?limit=1")])
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


def test_the_examples_of_api_keys(story, service):
    story.fresh_ada()
    service.run("user", "grant", "ada@example.com", "admin")
    made = story.run("createApiKey")
    story.run("listApiKeys")
    story.run("revokeApiKey", [(parameter_example(story, "/api/admin/keys/{id}"), made["id"])])
    made = story.run("createMyKey")
    story.run("listMyKeys")
    story.run("revokeMyKey", [(parameter_example(story, "/api/me/keys/{id}"), made["id"])])


def texts(example, actual):
    """Pairs of the texts of an example and those in their place."""
    if isinstance(example, dict):
        for name, value in example.items():
            yield from texts(value, actual[name])
    elif isinstance(example, str) and example != actual:
        yield example, actual


def test_the_examples_of_factors(factor_story, public_service):
    story, phone = factor_story, Authenticator(ORIGIN)
    story.run("passkeyOrigins")
    story.fresh_ada()
    story.token = story.run("stepUp")["token"]
    options = story.run("beginPasskey")
    sent = story.example("addPasskey") | {"setup": options["setup"]}
    sent["credential"] = phone.create(options["publicKey"])
    sent["credential"]["response"]["transports"] = ["internal"]
    story.token = story.run("addPasskey", texts(story.example("addPasskey"), sent))["token"]
    app = story.run("beginTotp")
    step = int(time.time()) // 30
    replace = [(story.example("confirmTotp")["setup"], app["setup"]), (APP_CODE, code_of(app["secret"], step))]
    story.token = story.run("confirmTotp", replace)["token"]
    [passkey] = story.run("listFactors")["passkeys"]
    story.run("replaceRecoveryCodes")

    # The password alone is not enough. The code of this time step is used.
    missing = public_service.post("/api/auth/login", story.example("login"))
    assert missing["factors"] == ["passkey", "totp", "recovery"]
    replace = [(story.example("answerChallenge")["challenge"], missing["challenge"]), (APP_CODE, code_of(app["secret"], step + 1))]
    story.token = story.run("answerChallenge", replace)["token"]
    begun = story.run("beginPasskeyLogin")
    answer = {"challenge": begun["challenge"], "credential": phone.get(begun["publicKey"])}
    assert public_service.post("/api/auth/login/factor", answer).keys() == {"token"}

    # A browser is trusted on a page.
    missing = public_service.post("/api/auth/login", story.example("login"))
    fields = {"challenge": missing["challenge"], "credential": json.dumps(phone.get(missing["publicKey"])), "trust": "1"}
    assert public_service.submit("/sign-in/factor", fields) == 303
    [device] = json.loads(public_service.read("/api/me/factors", story.token))["trustedDevices"]
    example = parameter_example(story, "/api/me/factors/devices/{id}")
    story.run("removeDevice", [(example, device["id"])])
    for operation in ("renamePasskey", "removePasskey"):
        story.run(operation, [(example, passkey["id"])])
    story.run("removeTotp")


def test_the_examples_of_a_login_at_another_provider(factor_story, public_service):
    story, email = factor_story, f"{uuid.uuid4().hex}@example.com"
    public_service.register(email=email, password=PASSWORD)
    begun = story.run("beginExternalLogin")
    [target] = parse_qs(urlsplit(begun["url"]).query)["for"]
    # Whichever way somebody signs in on the pages, they come back with a code.
    back = public_service.location_after("/sign-in", {"email": email, "password": PASSWORD, "for": target})
    sent = story.example("exchangeLoginCode")
    assert back.startswith(f"{sent['returnTo']}?code="), back
    [code] = parse_qs(urlsplit(back).query)["code"]
    other = sent | {"code": code, "attempt": "A" * 22}
    assert "token" not in public_service.post("/api/auth/login/code", other), "somebody else's code"
    back = public_service.location_after("/sign-in", {"email": email, "password": PASSWORD, "for": target})
    [code] = parse_qs(urlsplit(back).query)["code"]
    story.run("exchangeLoginCode", [(sent["code"], code), (sent["attempt"], begun["attempt"])])
    again = sent | {"code": code, "attempt": begun["attempt"]}
    assert "token" not in public_service.post("/api/auth/login/code", again), "it counts once"


def test_the_examples_of_accounts_at_other_providers(story, service):
    user = story.fresh_ada()
    example = parameter_example(story, "/api/me/identities/{id}")
    identity = service.link(user, "110169484474386276334", "ada@gmail.com")
    story.run("listIdentities")
    story.run("removeIdentity", [(example, identity)])


def test_the_examples_of_the_administration_of_users(story, service):
    story.fresh_ada()
    service.run("user", "grant", "ada@example.com", "admin")
    service.run("user", "delete", "grace@example.com")
    story.run("createUser")
    for operation in ("showUser", "exportUser", "listUserSessions", "grantRole", "revokeRole", "endUserSessions"):
        story.run(operation)
    story.run("changeUser")
    service.run("user", "delete", "grace@example.com")
    grace = story.run("createUser")["id"]
    example = story.operations["removeUserIdentity"].description["parameters"][1]["example"]
    identity = service.link(grace, "104857600000000000001", "grace@gmail.com")
    story.run("listUserIdentities")
    story.run("removeUserIdentity", [(example, identity)])
    story.run("listUsers", [("/api/admin/users", "/api/admin/users?text=grace")])
    service.register(name="Linus", email="linus@example.com")
    [listed] = json.loads(service.read("/api/admin/users/linus@example.com/sessions", story.token))["sessions"]
    example = story.operations["endUserSession"].description["parameters"][1]["example"]
    story.run("endUserSession", [(example, listed["id"]), ("grace@example.com", "linus@example.com")])
    service.run("user", "delete", "linus@example.com")
    for operation in ("requireNewPassword", "createResetCode", "createFactorReset", "setUserPassword", "secureUser", "unlockUser"):
        story.run(operation)
    for operation in ("createInvitation", "listAllInvitations", "revokeAnyInvitation"):
        story.run(operation)
    for operation in ("listImportedHashes", "dropImportedHashes", "deleteUser", "importUsers"):
        story.run(operation)
    service.run("user", "delete", "grace@example.com")
    # Others are exported, too.
    [media] = story.operations["exportUsers"].success(story.document)[1].values()
    for line in service.read("/api/admin/export", story.token).decode().splitlines():
        assert json.loads(line).keys() == json.loads(media["example"]).keys()
    story.done.add("exportUsers")


def test_the_examples_of_administration(story, service):
    story.fresh_ada()
    service.run("user", "grant", "ada@example.com", "admin")
    with pytest.raises(HTTPError):
        service.read("/api/auth/miles", story.token)
    newest = [("/api/admin/refusals", "/api/admin/refusals?limit=1")]
    [refusal] = story.run("listRefusals", newest)["refusals"]
    story.run("showRefusal", [(parameter_example(story, "/api/admin/refusals/{decision}"), refusal["id"])])
    for operation in ("listUserRefusals", "listGuards", "checkGuard", "checkBrowsers", "reloadGuards"):
        story.run(operation)
    for operation in ("listMail", "retryMail", "status", "checkDatabase", "expectProbe", "showProbe", "backup"):
        story.run(operation)
    granted = [("/api/admin/audit", "/api/admin/audit?kind=role_granted\\&limit=1")]
    [event] = story.run("listAudit", granted)["events"]
    for operation in ("listAuditDays", "exportAudit", "showCheckpoint", "verifyAudit"):
        story.run(operation)
    story.run("proveEvent", [(parameter_example(story, "/api/admin/audit/{id}/proof"), event["id"])])
    story.run("listSigningKeys")
    new = story.run("rotateSigningKeys")["signingKeys"][1]["kid"]
    story.run("revokeSigningKey", [(parameter_example(story, "/api/admin/signing-keys/{kid}"), new)])
    story.run("emergency")


def test_the_examples_of_public_operations(story):
    for operation in ("keys", "discovery", "metadata", "revocations", "live", "ready", "guardsReady", "openapi"):
        story.run(operation)


def test_the_example_of_an_invalid_body(story, service):
    example = story.document["components"]["responses"]["Invalid"]["content"]["application/json"]["example"]
    command = ["curl", "-sS", "-d", "{}", "-H", "Content-Type: application/json", service.url + "/api/user"]
    body = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True, env=os.environ | {"NO_PROXY": "*"}).stdout
    assert body == json.dumps(example, separators=(",", ":"))


def test_no_example_is_left_out(story, factor_story):
    """Runs last."""
    # tests/audit has a second installation, which is asked for a cosignature.
    assert story.done | factor_story.done | {"addCheckpoint"} == story.operations.keys()
