"""Second factors of a person: an authenticator app and authenticators in software, set up on the pages without a browser."""

import html
import json
import re
import time

from harness.authenticator import STEP_SECONDS, Authenticator, code_of

KINDS = {"passkey": True, "key": False}


def hidden(page, name):
    """The value of a hidden field."""
    return re.search(rf'name="{name}" value="([^"]*)"', page)[1]


def options(page):
    """What the script of a page gives to the browser."""
    return json.loads(html.unescape(re.search(r'data-passkey="([^"]*)"', page)[1]))


class App:
    """An authenticator app."""

    def __init__(self, secret):
        self.secret, self.used_step = secret, 0

    def code(self):
        """A code that has not been used: the current one, or else the next. A third one has to wait for the clock."""
        step = max(int(time.time()) // STEP_SECONDS, self.used_step + 1)
        while step > int(time.time()) // STEP_SECONDS + 1:
            time.sleep(0.2)
        self.used_step = step
        return code_of(self.secret, step)


class Held:
    """What the person at a visitor holds."""

    def __init__(self, visitor):
        self.visitor, self.app, self.recovery_codes = visitor, None, []

    def add(self, kind):
        path = f"/account/security/{kind}"
        page = self.visitor.page(path).body.decode()
        fields = {"setup": hidden(page, "setup")}
        if kind == "totp":
            self.app = App(re.search(r"<code>([A-Z2-7 ]+)</code>", page)[1].replace(" ", ""))
            fields["code"] = self.app.code()
        else:
            made = Authenticator(self.visitor.public_url, KINDS[kind]).create(options(page))
            fields["credential"] = json.dumps(made)
        answer = self.visitor.post(path, **fields)
        assert answer.status in (200, 303), answer
        self.recovery_codes = re.findall(r"<code>([0-9A-Z-]{29})</code>", answer.body.decode()) or self.recovery_codes

    def answer(self, visitor, page, **fields):
        """Gives the code of the app to a page that asks for a second factor."""
        return visitor.post("/sign-in/factor", challenge=hidden(page.body.decode(), "challenge"), code=self.app.code(), **fields)
