"""Starts a Doorward that sends mail into a folder, has an OAuth client and a declared guard, and throttles late."""

import hashlib
import json
import re
import uuid
from http.client import HTTPConnection
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import ProxyHandler, Request, build_opener

import pytest
from factors.people import DOMAIN, ORIGIN
from harness import HOST
from harness.identities import link
from harness.mail_folder import MailFolder
from harness.service import Service
from harness.wait import eventually

PASSWORD = "correct horse battery staple"
CLIENT = ("shop", "a secret of the shop")

SETTINGS = f"""
clients = ["{CLIENT[0]}:{hashlib.sha256(CLIENT[1].encode()).hexdigest()}"]
[mail]
url = "file:mails"
from = "Doorward <door@example.com>"
[sign_in]
mail_code = true
[invitations]
allow = "true"
[throttle]
account_failures = 100
account_failures_per_network = 100
network_failures = 100000
network_sign_ups = 100000
network_mails = 100000
[guards.staff]
allow = "true"
grant = "user"
[cors]
origins = ["https://app.example.com"]
[logins.google]
client_id = "doorward"
"""

# The service is on this machine, so no proxy of the environment is used.
opener = build_opener(ProxyHandler({}))


class DocumentedService(Service):
    """A service with the settings above, and what its mails say."""

    def __init__(self, folder, settings=SETTINGS, **options):
        super().__init__(folder, settings, **options)
        self._mails = MailFolder(folder / "mails")
        (folder / "mails").mkdir()

    @property
    def url(self):
        return f"http://{HOST}:{self.port}"

    # What every request carries.
    headers = {}

    def read(self, path, token=None):
        headers = self.headers | ({"Authorization": f"Bearer {token}"} if token else {})
        with opener.open(Request(self.url + path, headers=headers), timeout=60) as answer:
            return answer.read()

    def post(self, path, body, token=None):
        """The answer to a request, also if it is refused."""
        headers = self.headers | {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        request = Request(self.url + path, json.dumps(body).encode(), headers)
        try:
            with opener.open(request, timeout=60) as answer:
                return json.load(answer)
        except HTTPError as refused:
            return json.load(refused)

    def reached(self, command):
        """A command of the page /docs, as it reaches this service."""
        return command

    def register(self, **fields):
        """Registers somebody; returns their id and token."""
        return self.post("/api/user", {"name": "Ada Lovelace", "email": f"{uuid.uuid4().hex}@example.com"} | fields)

    def link(self, user, subject, display):
        """Links an account at Google to a user, as a sign-in there does. Returns its id."""
        database = next(self.folder.rglob("doorward.db"))
        return link(database, user, subject, "google", display, "https://accounts.google.com")

    @property
    def origin(self):
        """The origin of the pages."""
        return self.url

    def submit(self, path, fields):
        """Sends the form of a page; returns the status."""
        return self._answer(path, fields).status

    def location_after(self, path, fields):
        """Where the form of a page leads to."""
        return self._answer(path, fields).getheader("Location")

    def _answer(self, path, fields):
        connection = HTTPConnection(HOST, self.port, timeout=60)
        browser = {"Origin": self.origin, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        connection.request("POST", path, urlencode(fields), self.headers | browser | form)
        answer = connection.getresponse()
        connection.close()
        return answer

    def document(self):
        return json.loads(self.read("/openapi.json"))

    def code_in_mail(self, address, subject, mails=1):
        """The code of 8 digits in the last of this many mails to an address whose subject starts with this text."""
        return self._in_mail(r"(?<![\w-])(\d{4}) (\d{4})(?![\w-])", address, subject, mails)

    def secret_in_mail(self, address, subject):
        """The secret in the link of the mail to an address whose subject starts with this text."""
        return self._in_mail(r"\?code=([\w-]{43})\s", address, subject, 1)

    def _in_mail(self, pattern, address, subject, mails):
        def found():
            texts = [mail.text for mail in self._mails.to(address) if mail.subject.startswith(subject)]
            matches = [match for text in texts if (match := re.search(pattern, text))]
            return len(matches) >= mails and "".join(matches[-1].groups())

        return eventually(f"a mail to {address} about {subject}", found)


class PublicService(DocumentedService):
    """A service with a domain, for which passkeys can be made. The tests stand for its proxy with TLS."""

    origin = ORIGIN
    headers = {"Host": DOMAIN, "X-Forwarded-Proto": "https", "X-Forwarded-Host": DOMAIN}

    def __init__(self, folder):
        super().__init__(folder, f'public_url = "{ORIGIN}"\ntrusted_proxies = ["{HOST}/32"]\n{SETTINGS}')

    def reached(self, command):
        options = " ".join(f"-H '{name}: {value}'" for name, value in self.headers.items())
        return command.replace(ORIGIN, self.url).replace("curl ", f"curl {options} ", 1)


@pytest.fixture(scope="session")
def public_service(tmp_path_factory):
    with PublicService(tmp_path_factory.mktemp("public")) as service:
        yield service


@pytest.fixture(scope="session")
def service(tmp_path_factory):
    with DocumentedService(tmp_path_factory.mktemp("doorward")) as service:
        yield service
