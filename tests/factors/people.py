"""A service with passkeys and mail, and people who hold second factors: an authenticator app and authenticators in software."""

import itertools
import json
import re
import time

import requests

from harness import HOST
from harness.authenticator import STEP_SECONDS, Authenticator, code_of
from harness.mail_folder import MailFolder
from harness.service import Service
from harness.wait import eventually

DOMAIN = "auth.example.com"
ORIGIN = f"https://{DOMAIN}"
PASSWORD = "correct horse battery"
NUMBERS = itertools.count(1)

SETTINGS = f"""
public_url = "{ORIGIN}"
trusted_proxies = ["{HOST}/32"]

[mail]
from = "Example <accounts@example.com>"

[sign_in]
mail_code = "everybody"
"""


class FactorService(Service):
    """A service behind a proxy with TLS, which these tests are."""

    def __init__(self, database=None, folder=None, settings="", mails=None):
        super().__init__(folder=folder, settings=SETTINGS + settings, database=database)
        # Services that share a database send each other's mail, so they share a folder for it.
        self.mails = mails or self.folder / "mails"
        self.settings["DOORWARD_MAIL_URL"] = f"file:{self.mails}"
        self._folder = MailFolder(self.mails)

    def texts(self, address):
        """The texts of the mails to an address, the oldest first."""
        return [mail.text for mail in self._folder.to(address)]

    def secret(self, address, path):
        """The secret in the newest mail with a link to this path."""
        link = re.compile(rf"{re.escape(ORIGIN + path)}\?code=([\w-]+)")

        def found():
            return next((match[1] for text in reversed(self.texts(address)) if (match := link.search(text))), None)

        return eventually(f"a mail to {address} leads to {path}", found)


class Person:
    """Somebody with an address and a browser. Their requests come from a network of their own, so that they share no budget."""

    def __init__(self, service):
        self.service, self.number = service, next(NUMBERS)
        self.email = f"ada.{self.number}@example.com"
        self.password = PASSWORD
        self.client = requests.Session()
        self.token = self.secret = None
        self.used_step = 0
        self.authenticators = []
        self.recovery_codes = []

    def call(self, method, path, body=None, token=None, port=None, **options):
        """Calls the API."""
        return self._send(method, path, port, json=body, token=token, **options)

    def _send(self, method, path, port=None, token=None, headers=None, **options):
        headers = {
            "Host": DOMAIN,
            "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": DOMAIN,
            "X-Forwarded-For": f"198.{18 + self.number // 65536}.{self.number // 256 % 256}.{self.number % 256}",
            **({"Authorization": f"Bearer {token}"} if token else {}),
            **(headers or {}),
        }
        url = f"http://{HOST}:{port or self.service.port}{path}"
        return self.client.request(method, url, headers=headers, allow_redirects=False, timeout=60, **options)

    def page(self, path, fields):
        """Posts the form of a page, as a browser without cookies."""
        browser = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "navigate", "Accept": "text/html"}
        self.client.cookies.clear()
        return self._send("POST", path, headers=browser, data=fields)

    def sign_up(self):
        fields = {"name": "Ada", "email": self.email, "password": self.password}
        self.token = self._done(self.call("POST", "/api/user", fields), 201)["token"]
        return self

    def verify(self):
        secret = self.service.secret(self.email, "/verify")
        assert self.call("POST", "/api/auth/verify", {"code": secret}).status_code in (200, 204)
        return self

    def add_totp(self):
        begun = self._done(self.call("POST", "/api/me/factors/totp", token=self.token), 200)
        self.secret = begun["secret"]
        fields = {"setup": begun["setup"], "code": self.next_code()}
        self._keep(self.call("POST", "/api/me/factors/totp/confirm", fields, token=self.token))
        return self

    def add_passkey(self, verifies_user=True):
        kind = {"kind": "passkey" if verifies_user else "key"}
        begun = self._done(self.call("POST", "/api/me/factors/passkeys/options", kind, token=self.token), 200)
        authenticator = Authenticator(ORIGIN, verifies_user)
        fields = {"setup": begun["setup"], "credential": authenticator.create(begun["publicKey"])}
        self._keep(self.call("POST", "/api/me/factors/passkeys", fields, token=self.token))
        self.authenticators.append(authenticator)
        return self

    def _keep(self, answer):
        added = self._done(answer, 201)
        self.token = added["token"]
        self.recovery_codes = added.get("recoveryCodes", self.recovery_codes)

    @staticmethod
    def _done(answer, status):
        assert answer.status_code == status, answer.text
        return answer.json()

    def next_code(self):
        """A code that has not been used: the current one, or else the next. A third one has to wait for the clock."""
        step = max(int(time.time()) // STEP_SECONDS, self.used_step + 1)
        while step > int(time.time()) // STEP_SECONDS + 1:
            time.sleep(0.2)
        self.used_step = step
        return code_of(self.secret, step)

    def log_in(self, port=None):
        return self.call("POST", "/api/auth/login", {"email": self.email, "password": self.password}, port=port)

    def answer(self, challenge, port=None, **given):
        """Answers a challenge with a code or a credential."""
        return self.call("POST", "/api/auth/login/factor", {"challenge": challenge["challenge"], **given}, port=port)

    def methods(self, token):
        return self._done(self.call("GET", "/api/me", token=token), 200)["methods"]
