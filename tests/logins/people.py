"""A service with many logins, and people who visit it with a browser."""

import itertools
import json
import re
import subprocess
import time

from browser import Browser
from fakes import CLIENT, SECRET, Microsoft
from harness import BINARY, HOST
from harness.authenticator import STEP_SECONDS, code_of
from harness.mail_folder import MailFolder
from harness.service import Service
from harness.wait import eventually

DOMAIN = "auth.example.com"
PUBLIC = f"https://{DOMAIN}"
PASSWORD = "correct horse battery"
NUMBERS = itertools.count(1)
CODE = re.compile(r"(?<![\w-])\d{4} \d{4}(?![\w-])")
REFUSED = range(400, 600)
# Where the forms are sent.
LINK, REMOVE = "/account/security/link", "/account/security/logins/remove"
ADDRESS = "/sign-in/address"

SETTINGS = f"""
public_url = "{PUBLIC}"
trusted_proxies = ["{HOST}/32"]
log = "debug"
{{first}}
[throttle]
network_failures = 100000
network_sign_ups = 100000
"""

MAIL = """
[mail]
from = "Example <accounts@example.com>"

[sign_in]
mail_code = "everybody"
"""


def login(name, issuer, **more):
    """A `[logins.NAME]`. A client without a secret is public."""
    fields = {"client_id": CLIENT, "client_secret_file": "upstream.secret", "issuer": issuer} | more
    lines = [f"{field} = {json.dumps(value)}" for field, value in fields.items() if value is not None]
    return "\n".join([f"\n[logins.{name}]", *lines, ""])


def logins_of(fakes, op, forger):
    """Everything that tests sign in with. Logins with the same issuer differ in their rules."""
    oidc, apple = fakes.oidc.issuer, fakes.apple
    key = {"client_secret_file": None, "team_id": apple.TEAM, "key_id": apple.client_key.kid, "key_file": "apple.p8"}
    return "".join(
        [
            login("google", fakes.google.issuer),
            login("github", fakes.github.url, roles="claims.teams"),
            login("microsoft", fakes.microsoft.url, tenant="common"),
            login("contoso", fakes.microsoft.url, preset="microsoft", tenant=Microsoft.CONTOSO, label="Contoso"),
            login("apple", apple.issuer, **key),
            login("gitlab", fakes.gitlab.issuer),
            login("sso", oidc, preset="oidc", label="Example SSO"),
            login("members", oidc, preset="oidc", label="Members", join='claims.hd == "example.com"'),
            login(
                "staff",
                oidc,
                preset="oidc",
                label="Staff",
                roles="claims.groups",
                trust='"mfa" in claims.amr',
                session="1h",
                only_for=["staff.example"],
            ),
            login("bosses", oidc, preset="oidc", label="Bosses", roles="claims.groups", grants=["admin"]),
            login("claiming", oidc, preset="oidc", label="Claiming", claim=True),
            login("evil", fakes.evil.issuer, preset="oidc", label="Evil"),
            login("op", op.url, preset="oidc", label="OP", roles="claims.groups", trust='claims.acr == "2"'),
            login("forger", forger.url, preset="oidc", label="Forger", client_secret_file=None),
        ]
    )


class LoginService(Service):
    """A service behind a proxy with TLS, which these tests are."""

    def __init__(self, logins, database=None, mails=None, with_mail=True, apple=None, first="", **variables):
        super().__init__(database=database, **variables)
        text = SETTINGS.format(first=first) + (MAIL if with_mail else "") + logins
        (self.folder / "doorward.toml").write_text(text)
        (self.folder / "upstream.secret").write_text(SECRET + "\n")
        if apple:
            (self.folder / "apple.p8").write_bytes(apple.client_key.p8())
        if with_mail:
            # Services that share a database send each other's mail, so they share a folder for it.
            self.mails = mails or self.folder / "mails"
            self.settings["DOORWARD_MAIL_URL"] = f"file:{self.mails}"
            self._folder = MailFolder(self.mails)

    def mail(self, address, pattern, after=0):
        """What the newest mail to an address has of this pattern, besides the first ones. Waits for it."""

        def found():
            texts = [mail.text for mail in self._folder.to(address)[after:]]
            return next((match[0] for text in reversed(texts) if (match := re.search(pattern, text))), None)

        return eventually(f"a mail to {address} with {pattern}", found)

    def subjects(self, address):
        return [mail.subject for mail in self._folder.to(address)]

    def user(self, email):
        """What the operator is shown of a user. None if there is none."""
        command = self.command("user", "show", email, "--json")
        return json.loads(command.stdout)[0] if command.returncode == 0 else None

    def command(self, *arguments, text=None):
        """A command of the operator, which may fail."""
        return subprocess.run(
            [BINARY, *arguments], cwd=self.folder, env=self.variables(), input=text, capture_output=True, text=True, timeout=60
        )


class App:
    """An authenticator app."""

    def __init__(self, secret):
        self._secret, self._step = secret, 0

    def code(self):
        """A code that has not been used: the current one, or else the next."""
        self._step = max(int(time.time()) // STEP_SECONDS, self._step + 1)
        return code_of(self._secret, self._step)


class Visitor(Browser):
    """Somebody with an address of their own, in a network of their own."""

    def __init__(self, service, **options):
        self.service, self.number = service, next(NUMBERS)
        network = f"198.{18 + self.number // 65536}.{self.number // 256 % 256}.{self.number % 256}"
        super().__init__({PUBLIC: service.port}, network, **options)
        self.email = f"ada.{self.number}@example.com"

    def again(self):
        """The same person with another browser, in which nothing is remembered."""
        other = Visitor(self.service)
        other.email = self.email
        return other

    def go(self, path):
        return self.open(PUBLIC + path)

    def look(self, path):
        """What is at a path, without leaving the page."""
        page = self.step(PUBLIC + path)
        self.history.pop()
        return page

    def sign_up(self, password=PASSWORD):
        """Creates an account with a password, whose address is not verified."""
        self.go("/sign-up")
        self.submit("/sign-up", name="Ada", email=self.email, password=password)
        assert self.page.path == "/account", self.page
        return self

    def verify(self):
        self.open(self.service.mail(self.email, rf"{re.escape(PUBLIC)}/verify\?\S+"))
        self.submit("/verify")
        assert "Not confirmed" not in self.look("/account").words
        return self

    def sign_in(self, password=PASSWORD):
        """Fills in the page that asks for a password."""
        return self.submit("/sign-in", email=self.email, password=password)

    def sign_out(self):
        self.go("/account")
        return self.submit("/sign-out")

    def account(self):
        """The address of the account that this browser is signed in to. None if it is not."""
        page = self.look("/account")
        assert page.status in (200, 303), page
        return re.search(r"E-mail address (\S+@\S+)", page.words)[1] if page.status == 200 else None

    def identities(self):
        """How many logins are linked to the account."""
        page = self.look("/account/security")
        assert page.status == 200, page
        listed = re.search(rf'action="{REMOVE}">(.*?)</form>', page.text, re.DOTALL)
        return listed[1].count('class="item"') if listed else 0

    def confirm_link(self):
        """Presses the button of the page that asks whether to link."""
        return self.submit(LINK, link="1")

    def replace_account(self):
        """Says that the account with the own address, which nobody has verified, is somebody else's."""
        return self.submit(ADDRESS, replace="1")

    def remove_link(self):
        """Presses the first button that removes a login. Without one, who has signed in lately enough would have it."""
        page = self.go("/account/security")
        buttons = [button for form in page.forms(REMOVE) for button in form.buttons]
        assert buttons, page
        return self.submit(REMOVE, **dict(buttons[:1]))

    def add_app(self):
        """Sets up an authenticator app."""
        page = self.go("/account/security/totp")
        app = App(re.search(r"<code>([A-Z2-7 ]+)</code>", page.text)[1].replace(" ", ""))
        self.submit("/account/security/totp", code=app.code())
        assert len(re.findall(r"<code>[0-9A-Z-]{29}</code>", self.page.text)) == 8, self.page
        return app

    def prove_address(self, email, change=lambda code: code):
        """Types an address, and the code that is mailed to it."""
        earlier = len(self.service.subjects(email))
        self.submit(ADDRESS, email=email)
        return self.submit(ADDRESS, code=change(self.service.mail(email, CODE, earlier)))

    def sign_in_by_mail(self):
        """Has a code mailed from the page that offers it, and types it."""
        earlier = len(self.service.subjects(self.email))
        self.follow("/sign-in/code")
        self.submit("/sign-in/code", email=self.email)
        return self.submit("/sign-in/code/use", code=self.service.mail(self.email, CODE, earlier))
