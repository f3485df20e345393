"""Doorward with a mail server that has TLS and a login, and people who call its JSON API."""

import itertools
import json
import re

from harness import HOST
from harness.connection import GUARD
from harness.mail_server import USER
from harness.service import Service
from letters import Letter, wait_for_letter

ACCEPTED = {"message": "If the address can receive this mail, it is on its way."}
NUMBERS = itertools.count(1)

# Everything is logged, so that a secret in any line is found.
SETTINGS = """
log = "debug"
{extra}
[mail]
url = "smtp://{host}:{port}?tls=required"
from = "Example & Söhne <accounts@example.com>"
reply_to = "help@example.com"
user = "{user}"
password_file = "{folder}/password"
ca_file = "{folder}/authority.pem"

[sign_in]
mail_code = true

[invitations]
allow = '"staff" in user.roles'
"""


class MailingService(Service):
    """A service whose log is searched for secrets at the end of the `with` block."""

    def __init__(self, server, mail_folder, extra="", database=None):
        self.server = server
        # What no log may contain besides the secrets in the mails.
        self.secrets = set()
        settings = SETTINGS.format(host=HOST, port=server.port, user=USER, folder=mail_folder, extra=extra)
        # The tests are the proxy.
        super().__init__(settings=settings, database=database, DOORWARD_TRUSTED_PROXIES=f"{HOST}/32")

    def __exit__(self, *failure):
        self.stop()
        try:
            if failure == (None, None, None):
                self.assert_no_secret_in_the_log()
        finally:
            super().__exit__(*failure)

    def assert_no_secret_in_the_log(self):
        log = self.output()
        for secret in self.secrets.union(*(Letter(mail).secrets() for mail in self.server.mails)):
            # Not as a part of a longer word: an id may have the digits of a code.
            found = re.search(rf"(?<![\w-]){re.escape(secret)}(?![\w-])", log)
            assert not found, f"the log has a secret: {log[max(0, found.start() - 300) : found.end()]}"


class Person:
    """Somebody with an address. Their requests come from a network of their own."""

    def __init__(self, service, number, *, name="Ada Lovelace", language="en", password="correct horse battery", agent="curl/8"):
        self.service, self.name, self.language, self.password, self.agent = service, name, language, password, agent
        self.number = number
        self.email = f"ada.{number}@example.com"
        self.network = f"198.51.{number // 250}.{number % 250 + 1}"
        self.token = None

    def call(self, method, path, body=None, token=None):
        """Sends a request as it arrives behind a proxy."""
        sent = "" if body is None else json.dumps(body)
        head = [
            f"{method} {path} HTTP/1.1",
            f"Host: {HOST}",
            f"X-Forwarded-For: {self.network}",
            f"Accept-Language: {self.language}",
            f"User-Agent: {self.agent}",
            f"Content-Length: {len(sent)}",
            *([] if body is None else ["Content-Type: application/json"]),
            *([f"Authorization: Bearer {token}"] if token else []),
        ]
        with self.service.connect() as connection:
            return connection.exchange("\r\n".join([*head, "", sent]).encode())

    def post(self, path, **body):
        return self.call("POST", path, {name: value for name, value in body.items() if value is not None})

    def signed_up(self, **more):
        """Registers, which signs in at once."""
        self.service.secrets.add(self.password)
        answer = self.post("/api/user", name=self.name, email=self.email, password=self.password, **more)
        assert answer.status == 201, answer
        self.keep(answer)
        return self

    def log_in(self):
        answer = self.post("/api/auth/login", email=self.email, password=self.password)
        assert answer.status == 200, answer
        self.keep(answer)
        return self.token

    def keep(self, answer):
        self.token = json.loads(answer.body)["token"]
        self.service.secrets.add(self.token)

    def can_log_in(self, password=None):
        answer = self.post("/api/auth/login", email=self.email, password=password or self.password)
        assert answer.status in (200, 404), answer
        return answer.status == 200

    def passes(self, token=None):
        """Whether the guard lets a token pass."""
        answer = self.call("GET", GUARD, token=token or self.token)
        assert answer.status in (200, 401), answer
        return answer.status == 200

    def me(self):
        answer = self.call("GET", "/api/me", token=self.token)
        assert answer.status == 200, answer
        return json.loads(answer.body)

    def mail(self, count=1, address=None):
        """Waits for a mail, the last of so many."""
        return wait_for_letter(self.service.server, address or self.email, count)

    def verified(self):
        """Uses the link of the first mail."""
        answer = self.post("/api/auth/verify", code=self.mail().secret)
        assert (answer.status, answer.body) == (204, b"")
        return self
