"""Two apps and Doorward at HTTPS hosts behind one proxy, with the files that `doorward snippet` prints."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from harness.certificates import self_signed
from harness.ports import reserved_port
from support import KINDS, Doorward, Server, Tls, caddyfile, has_routes, send

# Two registrable domains. Doorward shares one of them with an app.
APP, OTHER_APP, AUTH = "app.one.test", "app.two.test", "auth.one.test"
HOSTS = (APP, OTHER_APP, AUTH)

# One version of each proxy.
PROXIES = [name for name, kind in KINDS.items() if name == kind.snippet and not kind.is_app]


@dataclass(frozen=True)
class Certificate:
    """A certificate for all hosts, which signs itself."""

    folder: Path

    @classmethod
    def create(cls, folder):
        folder.mkdir()
        certificate, key = self_signed(*HOSTS, days=7)
        (folder / "privkey.pem").write_bytes(key)
        (folder / "fullchain.pem").write_bytes(certificate)
        (folder / "fullchain-and-key.pem").write_bytes(certificate + key)
        return cls(folder)

    @property
    def path(self):
        return self.folder / "fullchain.pem"


# The files listen on all addresses.
LOOPBACK = {
    "nginx": lambda text, _: re.sub(r"listen (\d)", r"listen 127.0.0.1:\1", text),
    "caddy": lambda text, http: caddyfile(text, "default_bind 127.0.0.1", f"http_port {http}"),
    "traefik": lambda text, _: text.replace("address: :", "address: 127.0.0.1:"),
    "haproxy": lambda text, _: text.replace("bind :", "bind 127.0.0.1:"),
    "envoy": lambda text, _: text.replace("address: 0.0.0.0", "address: 127.0.0.1"),
}


# As the comment of nginx.conf says.
HTTP2 = {
    "nginx": ("listen {port} ssl;", "listen {port} ssl http2;"),
    "nginx-newest": ("listen {port} ssl;", "listen {port} ssl; http2 on;"),
}


class TlsProxy(Server):
    """A proxy that terminates TLS. The port is that of `public_url` and of the guard's origins."""

    def __init__(self, name, folder, guards, doorward, app_ports, port, certificate):
        kind = KINDS[name]
        assert kind.available, f"{kind.program} is missing; it comes from {kind.comes_from}"
        self.name, self.http_port, self.certificate = name, reserved_port(), certificate
        apps = [f"--app={guard}=http://127.0.0.1:{app_port}" for guard, app_port in zip(guards, app_ports)]
        files = ["--certificate", certificate.path, "--key", certificate.folder / "privkey.pem"]
        if kind.snippet == "haproxy":
            files = ["--certificate", certificate.folder / "fullchain-and-key.pem"]
        doorward.snippet(kind.snippet, guards[0], folder, *guards[1:], *apps, *files)
        for file in kind.files:
            text = re.sub(r"(?<=[ :])80(?=[;\s])", str(self.http_port), (folder / file).read_text())
            if name in HTTP2:
                old, new = (line.format(port=port) for line in HTTP2[name])
                assert old in text
                text = text.replace(old, new)
            if not file.endswith(".lua"):
                text = LOOPBACK[kind.snippet](text, self.http_port)
            for old, new in kind.adapt:
                assert old in text
                text = text.replace(old, new)
            (folder / file).write_text(text)
        command = ["sh", "-c", f"exec {kind.command}"]
        super().__init__(command, folder, port, {}, has_routes, Tls(APP, certificate.path))


# --- a browser without a screen --------------------------------------------------------------------------------------

PASSWORD = "correct horse battery"
PAGE = [("Accept", "text/html,application/xhtml+xml,*/*;q=0.8"), ("Accept-Language", "en")]
NAVIGATION = [*PAGE, ("Sec-Fetch-Mode", "navigate"), ("Sec-Fetch-Dest", "document")]


def origin_of(url):
    return "/".join(url.split("/")[:3])


class Browser:
    """Sends requests, keeps the cookies of each host, and follows redirects one at a time."""

    def __init__(self, sites):
        self.sites = sites
        self.jars = {}

    def cookies(self, host):
        return "; ".join(f"{name}={value}" for name, value in self.jars.get(host, {}).items())

    def request(self, url, method="GET", headers=(), body=None):
        host, target = self.sites.split(url)
        sent = [*headers, *([("Cookie", self.cookies(host))] if self.jars.get(host) else [])]
        answer = self.sites.send(host, method, target, sent, body)
        for line in answer.all("Set-Cookie"):
            pair, *attributes = [part.strip() for part in line.split(";")]
            name, value = pair.split("=", 1)
            self.jars.setdefault(host, {})[name] = value
            if "Max-Age=0" in attributes:
                del self.jars[host][name]
        return answer

    def open(self, url):
        """Types a URL. Returns the URL and the answer at the end of the redirects."""
        return self.follow(url, self.request(url, headers=[*NAVIGATION, ("Sec-Fetch-Site", "none")]))

    def follow(self, url, answer):
        for _ in range(10):
            if answer.status not in range(300, 400):
                return url, answer
            assert answer.status == 303, answer
            location = answer.header("Location")
            url = location if "://" in location else origin_of(url) + location
            answer = self.request(url, headers=[*NAVIGATION, ("Sec-Fetch-Site", "cross-site")])
        raise AssertionError(f"too many redirects; the last is {url}")

    def submit(self, url, **fields):
        """Sends a form of the page at this URL to the same path."""
        headers = [
            *NAVIGATION,
            ("Sec-Fetch-Site", "same-origin"),
            ("Origin", origin_of(url)),
            ("Referer", url),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ]
        answer = self.request(url.split("?")[0], "POST", headers, urlencode(fields).encode())
        return self.follow(url, answer)

    def sign_in(self, url, user):
        """Opens a guarded URL, signs in at Doorward, and returns to the app."""
        page, answer = self.open(url)
        assert answer.status == 200, answer
        target = parse_qs(urlsplit(page).query)["for"][0]
        return self.submit(page, email=user.email, password=PASSWORD, **{"for": target})


class Sites:
    """Doorward, its proxy and the app behind it, at HTTPS hosts."""

    def __init__(self, name, folder, app, certificate, more=""):
        self.port, self.certificate, self.app = reserved_port(), certificate, app
        self.origin, self.other_origin, self.auth = (f"https://{host}:{self.port}" for host in HOSTS)
        settings = f"""
            public_url = "{self.auth}"
            [guards.staff]
            allow = '"staff" in user.roles'
            proxy = "{KINDS[name].style}"
            origins = ["{self.origin}", "{self.other_origin}"]
            {more}
        """
        self.doorward = Doorward(folder / "doorward", settings)
        place = folder / "proxy"
        place.mkdir()
        try:
            self.proxy = TlsProxy(name, place, ["staff"], self.doorward, [app.port], self.port, certificate)
        except BaseException:
            self.doorward.stop()
            raise
        self.name = name

    def stop(self):
        self.proxy.stop()
        self.doorward.stop()

    def split(self, url):
        """The host and the target of a URL, which must be one of these sites."""
        parts = urlsplit(url)
        assert (parts.scheme, parts.port, parts.hostname in HOSTS) == ("https", self.port, True), url
        # Not taken from the parts, which would change an empty query.
        return parts.hostname, url.split(parts.netloc, 1)[1]

    def tls(self, host):
        return Tls(host, self.certificate.path)

    def send(self, host, method, target, headers=(), body=None):
        return send(self.port, method, target, headers, body, tls=self.tls(host))

    def user(self, name, *roles):
        user = self.doorward.sign_up(name, password=PASSWORD)
        for role in roles:
            self.doorward.run("user", "grant", user.email, role)
        return user
