"""A Doorward in memory whose audit trail has a year of events, with names, addresses and browsers that are long."""

import json
import subprocess
import urllib.error
import urllib.request

from harness import BINARY
from harness.process import environment
from people import PASSWORD

ADMIN = "grace@example.com"
LONG_WORD = "Wolfeschlegelsteinhausenbergerdorff"
PEOPLE = (
    ("Grace Hopper", ADMIN, ["admin"]),
    (f"Hubert {LONG_WORD}", f"hubert.{LONG_WORD.lower()}@verwaltungsgemeinschaft.example.com", ["staff"]),
    ("Ada Lovelace", "ada@example.com", []),
    ("Maximiliane Donaudampfschifffahrtsgesellschaft", "maximiliane+newsletter@subdomain.department.example.org", ["staff"]),
    ("林 小林", "xiaolin@example.com", []),
)
BROWSERS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36 Edg/156.0.0.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.5 Mobile/15E148 Safari/604.1",
    "Backup-Agent/" + "1.2.3-" * 30,
    "curl/8.14",
)
ADDRESSES = ("2001:db8:85a3:1111:2222:8a2e:370:7334", "203.0.113.217", "2001:db8:ffff:eeee:dddd:cccc:bbbb:aaaa", "192.0.2.1")
SETTINGS = """
trusted_proxies = ["127.0.0.1"]

[guards.staff]
proxy = "caddy"
allow = '"staff" in user.roles'

[guards.quarterly-reports]
proxy = "caddy"
allow = '"staff" in user.roles'
mode = "report"
"""
START = "2026-01-15T08:00:00Z"
MONTHS = 12


class FilledYear:
    """Serves until it is stopped. `cookie` signs the administrator in."""

    def __init__(self, folder):
        folder.mkdir()
        (folder / "doorward.toml").write_text(SETTINGS)
        users = [
            {"name": name, "email": email, "roles": roles, "password": PASSWORD, "verified": True}
            for name, email, roles in PEOPLE
        ]
        (folder / "users.jsonl").write_text("".join(json.dumps(user) + "\n" for user in users))
        command = [BINARY, "dev", "--listen", "127.0.0.1:0", "--json", "--users", "users.jsonl", "--time", START]
        self.process = subprocess.Popen(command, cwd=folder, env=environment(), stdout=subprocess.PIPE, text=True)
        try:
            self.url = json.loads(self.process.stdout.readline())["url"]
            for month in range(MONTHS):
                self.live(month)
            self.cookie = self.sign_in_as_administrator()[1]
        except BaseException:
            self.stop()
            raise

    def call(self, method, path, body=None, *, token=None, month=0, headers=()):
        """The status, the headers and the body of an answer."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data, method=method)
        request.add_header("User-Agent", BROWSERS[month % len(BROWSERS)])
        request.add_header("X-Forwarded-For", ADDRESSES[month % len(ADDRESSES)])
        if data is not None:
            request.add_header("Content-Type", "application/json")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        for name, value in headers:
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def sign_in_as_administrator(self):
        """A token, and the session cookie of the pages."""
        status, headers, body = self.call("POST", "/dev/sign-in", {"user": ADMIN})
        assert status == 200, body
        return json.loads(body)["token"], headers["Set-Cookie"].split(";")[0]

    def live(self, month):
        """A month: sign-ins, refusals, orders, and mistakes."""
        assert self.call("POST", "/dev/clock", {"advance": "28d"})[0] == 200
        for index, (_, email, _) in enumerate(PEOPLE[1:]):
            number = month + index
            self.call("POST", "/api/auth/login", {"email": email, "password": "wrong"}, month=number)
            for _ in range(2):
                status, _, body = self.call(
                    "POST", "/api/auth/login", {"email": email, "password": PASSWORD}, month=number
                )
                assert status == 200, body
            token = json.loads(body)["token"]
            for guard in ("staff", "quarterly-reports"):
                self.call("GET", f"/api/auth/{guard}", token=token, month=number)
        admin, _ = self.sign_in_as_administrator()
        order = lambda *arguments: self.call(*arguments, token=admin, month=month)  # noqa: E731
        target = f"/api/admin/users/{PEOPLE[1 + month % 4][1]}"
        role = f"{target}/roles/project:a-very-long-name-of-a-role-of-{month}"
        for method, path, body in (
            ("PUT", role, None),
            ("DELETE", role, None),
            ("PUT", f"{target}/roles/reviewer", None),
            ("DELETE", f"{target}/roles/reviewer", None),
            ("PATCH", target, {"verified": False}),
            ("PATCH", target, {"verified": True}),
            ("POST", "/api/admin/keys", {"name": f"Backup {LONG_WORD} {month}", "scopes": ["guard:staff"]}),
            ("POST", "/api/admin/invitations", {"email": f"guest.{month}@partner.example.com", "roles": ["staff"]}),
            ("GET", "/api/admin/audit/export?kind=registered", None),
        ):
            status, _, answer = order(method, path, body)
            assert status < 300, (method, path, status, answer)

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.process.stdout.close()
