"""A browser without JavaScript: cookies, redirects, links and forms."""

import html
import re
import ssl
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPConnection, HTTPSConnection
from http.cookiejar import CookieJar
from urllib.parse import urlencode, urljoin, urlsplit
from urllib.request import Request

from harness import HOST, PATIENCE_SECONDS

ANY_CERTIFICATE = ssl.create_default_context()
ANY_CERTIFICATE.check_hostname, ANY_CERTIFICATE.verify_mode = False, ssl.CERT_NONE
FORM = "application/x-www-form-urlencoded"
TAGS = re.compile(r"<(style|script|title).*?</\1>|<[^>]*>", re.DOTALL)


def origin_of(url):
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def site_of(url):
    """Which URLs browsers take for one site. A port makes no difference."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname


@dataclass
class Form:
    action: str
    method: str
    fields: dict = field(default_factory=dict)
    # The names and values of its buttons.
    buttons: list = field(default_factory=list)


class Reader(HTMLParser):
    """Finds the forms and the links of a page."""

    def __init__(self, text):
        super().__init__()
        self.forms, self.links, self._names = [], [], {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        if tag == "form":
            self.forms.append(Form(given.get("action") or "", (given.get("method") or "get").upper()))
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "input" and self.forms and "name" in given:
            is_chosen = given.get("type") not in ("checkbox", "radio") or "checked" in given
            if is_chosen:
                self.forms[-1].fields[given["name"]] = given.get("value") or ""
        elif tag == "button" and self.forms and "name" in given:
            self.forms[-1].buttons.append((given["name"], given.get("value") or ""))


class Page:
    """What the browser shows."""

    def __init__(self, url, status, headers, text):
        self.url, self.status, self.headers, self.text = url, status, headers, text
        self.path = urlsplit(url).path

    @property
    def words(self):
        """The text that a person reads."""
        return " ".join(html.unescape(TAGS.sub(" ", self.text)).split())

    def forms(self, action):
        """The forms that are sent to this path."""
        found = Reader(self.text).forms
        return [form for form in found if urlsplit(urljoin(self.url, form.action)).path == action]

    def link(self, path):
        """The URL of the first link to this path."""
        links = (urljoin(self.url, link) for link in Reader(self.text).links)
        found = next((link for link in links if urlsplit(link).path == path), None)
        assert found, f"no link to {path}: {self}"
        return found

    def __repr__(self):
        return f"{self.status} {self.url}\n{self.words}"


class Browser:
    """Reaches the origins of `hosts` through a proxy with TLS, which these tests are, and all others as they are. Each has the port
    of an instance, or chooses it by the URL."""

    def __init__(self, hosts, address="198.18.0.1", language="en"):
        self.hosts, self.address, self.language = hosts, address, language
        self.jar = CookieJar()
        self.page = None
        # The URLs that were opened, the oldest first.
        self.history = []

    def open(self, url):
        """Types a URL."""
        return self._load("GET", url, None, None)

    def follow(self, path):
        """Presses the first link to this path."""
        return self._load("GET", self.page.link(path), None, self.page.url)

    def submit(self, action, **fields):
        """Fills in the first form that is sent to this path, and sends it."""
        forms = self.page.forms(action)
        assert forms, f"no form for {action}: {self.page}"
        return self.send(forms[0], **fields)

    def send(self, form, **fields):
        url = urljoin(self.page.url, form.action or self.page.url)
        body = urlencode(form.fields | fields)
        if form.method == "GET":
            return self._load("GET", f"{url.split('?')[0]}?{body}", None, self.page.url)
        return self._load("POST", url, body, self.page.url)

    def post(self, url, origin="null", **fields):
        """Sends a form of another site to a URL."""
        return self._load("POST", url, urlencode(fields), origin)

    def step(self, url, method="GET", body=None, initiator=None, visited=(), kind=FORM):
        """One request without its redirect."""
        self.history.append(url)
        target = url.removeprefix(origin_of(url)) or "/"
        headers = {"Accept": "text/html", "Accept-Language": self.language, "User-Agent": "visitor"}
        headers |= self._fetch_metadata(url, initiator, visited)
        is_foreign = initiator is not None and site_of(initiator) != site_of(url)
        if body is not None:
            headers |= {"Content-Type": kind, "Origin": "null" if initiator == "null" else origin_of(initiator or url)}
        asked = Request(url)
        # As cookies with SameSite=Lax, which is the default.
        if method == "GET" or not is_foreign:
            self.jar.add_cookie_header(asked)
            if cookie := asked.get_header("Cookie"):
                headers["Cookie"] = cookie
        port = self.hosts.get(origin_of(url)) or urlsplit(url).port
        port = port(url) if callable(port) else port
        headers["Host"] = urlsplit(url).netloc
        if origin_of(url) in self.hosts:
            scheme = urlsplit(url).scheme
            headers |= {"X-Forwarded-For": self.address, "X-Forwarded-Proto": scheme, "X-Forwarded-Host": headers["Host"]}
        if url.startswith("https:") and origin_of(url) not in self.hosts:
            # A provider, whose certificate is the subject of other tests.
            connection = HTTPSConnection(HOST, port, timeout=PATIENCE_SECONDS, context=ANY_CERTIFICATE)
        else:
            connection = HTTPConnection(HOST, port, timeout=PATIENCE_SECONDS)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            self.jar.extract_cookies(answer, asked)
            return Page(url, answer.status, answer.headers, answer.read().decode(errors="replace"))
        finally:
            connection.close()

    def _load(self, method, url, body, initiator):
        """Loads a page, through its redirects."""
        visited = []
        for _ in range(15):
            self.page = self.step(url, method, body, initiator, visited)
            if refresh := self.page.headers.get("Refresh"):
                url, method, body, initiator, visited = urljoin(url, refresh.split("url=")[1]), "GET", None, url, []
                continue
            if self.page.status not in (301, 302, 303, 307, 308) or "Location" not in self.page.headers:
                return self.page
            visited.append(url)
            url = urljoin(url, self.page.headers["Location"])
            if self.page.status not in (307, 308):
                method, body = "GET", None
        raise AssertionError(f"too many redirects: {visited}")

    @staticmethod
    def _fetch_metadata(url, initiator, visited):
        """What browsers tell about where a request comes from: the furthest of all redirects."""
        if initiator is None:
            relation = "none"
        elif all(origin_of(one) == origin_of(url) for one in [initiator, *visited]):
            relation = "same-origin"
        else:
            relation = "same-site" if all(site_of(one) == site_of(url) for one in [initiator, *visited]) else "cross-site"
        return {"Sec-Fetch-Site": relation, "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
