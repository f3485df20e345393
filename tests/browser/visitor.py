"""A browser's requests without a browser: cookies per host, Fetch Metadata, and a proxy that asks the guard."""

import re
from urllib.parse import quote, urlencode, urlsplit

from people import Person
from support import Answer, send

NAVIGATION = (("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document"), ("Accept", "text/html"))
OWN_FORM = (*NAVIGATION, ("Sec-Fetch-Site", "same-origin"))


class Visitor:
    """A person at a Doorward. Cookies are kept by host, as browsers do."""

    def __init__(self, service, public_url, source="127.0.0.1", user_agent="visitor"):
        self.service, self.public_url, self.source = service, public_url, source
        self.user_agent = user_agent
        self.host = urlsplit(public_url).netloc
        self.cookies = {}

    def send(self, host, method, target, headers=(), form=None) -> Answer:
        """Sends a request to Doorward as it arrives behind a proxy for this host."""
        body = None if form is None else urlencode(form).encode()
        sent = [("User-Agent", self.user_agent), *headers]
        if host == self.host and self.public_url.startswith("http:"):
            # On plain HTTP, pages lead browsers from another name of this machine to their own.
            sent.append(("Host", host))
        if cookie := "; ".join(f"{name}={value}" for name, value in self.cookies.get(host, {}).items()):
            sent.append(("Cookie", cookie))
        if form is not None:
            sent.append(("Content-Type", "application/x-www-form-urlencoded"))
        answer = send(self.service.port, method, target, sent, body, self.source)
        for line in answer.all("Set-Cookie"):
            name, value = line.split(";")[0].split("=", 1)
            if not value or "Max-Age=0" in line:
                self.cookies.get(host, {}).pop(name, None)
            else:
                self.cookies.setdefault(host, {})[name] = value
        return answer

    def page(self, target, headers=NAVIGATION):
        """Opens a page of Doorward."""
        return self.send(self.host, "GET", target, headers)

    def post(self, target, headers=OWN_FORM, **form):
        """Sends a form of Doorward's pages."""
        return self.send(self.host, "POST", target, headers, form)

    def visit(self, guard, origin, target="/", headers=NAVIGATION, method="GET"):
        """Opens a URL of an app behind Caddy: the answer of the guard."""
        scheme, host = origin.split("://")
        forwarded = [
            ("X-Forwarded-Proto", scheme),
            ("X-Forwarded-Host", host),
            ("X-Forwarded-Method", method),
            ("X-Forwarded-Uri", target),
        ]
        return self.send(host, method, f"/api/auth/{guard}", [*forwarded, *headers])

    def sign_up(self, person=None):
        """Creates an account, which signs the person in."""
        person = person or Person()
        answer = self.post("/sign-up", name=person.name, email=person.email, password=person.password)
        assert answer.status == 303, answer
        return person

    def sign_in(self, person, **fields):
        return self.post("/sign-in", email=person.email, password=person.password, **fields)

    def is_signed_in(self):
        answer = self.page("/account")
        assert answer.status in (200, 303), answer
        return answer.status == 200

    def enter(self, guard, origin, target="/"):
        """Opens a URL of an app that asks to sign in. The person is signed in to Doorward."""
        asked = self.visit(guard, origin, target)
        assert asked.status == 303, asked
        entered = self.visit(guard, *split(self.exchange(return_target(asked))))
        assert entered.status == 303, entered
        return entered

    def exchange(self, target):
        """The URL with a sign-in code that Doorward's sign-in page redirects to."""
        answer = self.page(f"/sign-in?for={quote(target, safe='')}")
        assert answer.status == 303, answer
        return answer.header("Location")


def return_target(answer):
    """The return target in the redirect to the sign-in page."""
    return re.search(r"/sign-in\?for=([\w.~-]+)$", answer.header("Location"))[1]


def split(url):
    """The origin of a URL, and the rest."""
    return re.fullmatch(r"(https?://[^/]*)(.*)", url).groups()
