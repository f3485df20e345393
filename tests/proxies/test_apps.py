"""docs/apps.md: its guards are valid, and its apps know the user, with real proxies."""

import base64
import json
import re
import sys

import pytest
from harness import REPOSITORY
from harness.ports import reserved_port
from support import Doorward, Integration, Journal, Server, bearer, send

TEXT = (REPOSITORY / "docs" / "apps.md").read_text()
PROXIES = ("nginx", "caddy")


def block(language, start):
    """The block of code that begins with this line."""
    [found] = re.findall(rf"^```{language}\n({re.escape(start)}.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return found


def guards(style):
    found = re.findall(r"^```toml\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(found) == 4
    return "".join(found).replace('proxy = "caddy"', f'proxy = "{style}"')


@pytest.fixture(scope="module", params=PROXIES)
def proxy_name(request):
    return request.param


@pytest.fixture(scope="module")
def own_doorward(folder, proxy_name):
    service = Doorward(folder / f"doorward of docs for {proxy_name}", guards(proxy_name))
    yield service
    service.stop()


@pytest.fixture(scope="module")
def start(folder, own_doorward, proxy_name):
    running = []

    def start(guard, port):
        place = folder / f"{guard} of docs behind {proxy_name}"
        place.mkdir()
        journal = Journal(folder / f"unused journal of {guard} behind {proxy_name}")
        # These guards have an https origin and no public_url, so the file is the one without TLS.
        proxy = Integration(proxy_name, place, journal, guard, own_doorward, own_doorward.port, port)
        running.append(proxy)
        return proxy

    yield start
    for proxy in running:
        proxy.stop()


@pytest.fixture(scope="module")
def people(own_doorward):
    ada, eve = (own_doorward.sign_up(name) for name in ("Ada Lövelace", "Eve"))
    for user in (ada, eve):
        own_doorward.run("user", "verify", user.email)
    return ada, eve


def test_everybody_has_their_own_calendar_in_radicale(folder, start, own_doorward, people, proxy_name):
    ada, eve = people
    place, port = folder / f"radicale behind {proxy_name}", reserved_port()
    place.mkdir()
    config = block("ini", "# /etc/radicale/config").replace("5232", str(port))
    (place / "config").write_text(f"{config}\n[storage]\nfilesystem_folder = {place}/collections\n")
    radicale = Server([sys.executable, "-m", "radicale", "--config", place / "config"], place, port, {}, lambda status: True)
    try:
        proxy = start("radicale", port)

        def call(user, method, target, *more, body=None):
            headers = [*more, *bearer(user.token), ("X-Remote-User", ada.email)]
            return send(proxy.port, method, target, headers, body)

        own = call(ada, "PROPFIND", "/", ("Depth", "0"), ("Content-Type", "application/xml"), body=b"""
            <propfind xmlns="DAV:"><prop><current-user-principal/></prop></propfind>""")
        assert own.status == 207 and f"/{ada.email}/".encode() in own.body.replace(b"%40", b"@"), own
        calendar = f"/{ada.email}/work/"
        assert call(ada, "MKCALENDAR", calendar).status == 201
        assert call(ada, "PROPFIND", calendar, ("Depth", "0")).status == 207
        assert call(eve, "PROPFIND", calendar, ("Depth", "0")).status == 403, "she sends the header of somebody else"
        assert call(eve, "DELETE", calendar).status == 403
        assert send(proxy.port, "PROPFIND", calendar, [("X-Remote-User", ada.email)]).status == 401

        # A calendar program, with a key as the password. The user name does not count.
        json_of = [("Content-Type", "application/json"), *bearer(ada.token)]
        made = send(own_doorward.port, "POST", "/api/me/keys", json_of, b'{"name": "phone"}')
        assert made.status == 201, made
        for name in (ada.email, eve.email):
            password = base64.b64encode(f"{name}:{json.loads(made.body)['key']}".encode()).decode()
            by_key = [("Authorization", f"Basic {password}"), ("Depth", "0")]
            assert send(proxy.port, "PROPFIND", calendar, by_key).status == 207
            assert send(proxy.port, "PROPFIND", f"/{eve.email}/", by_key).status == 403
        wrong = base64.b64encode(f"{ada.email}:hunter2".encode()).decode()
        assert send(proxy.port, "PROPFIND", calendar, [("Authorization", f"Basic {wrong}"), ("Depth", "0")]).status == 401

        # Its pages ask with cookies whether somebody is signed in.
        assert b"PREFER_BROWSER_LOGIN = true" in call(ada, "GET", "/.web/js/config.js").body
    finally:
        radicale.stop()


def test_an_app_with_remote_user_greets_its_user(folder, start, people, proxy_name):
    ada, _ = people
    place, port = folder / f"wiki behind {proxy_name}", reserved_port()
    place.mkdir()
    (place / "wiki.py").write_text(block("python", "# wiki.py"))
    wiki = Server([sys.executable, "wiki.py", str(port)], place, port, {}, lambda status: True)
    try:
        proxy = start("wiki", port)
        for forged in ([], [("Remote-User", "eve"), ("Remote_Name", "Eve"), ("Remote-Name", "Eve")]):
            answer = send(proxy.port, "GET", "/", forged + bearer(ada.token))
            assert (answer.status, answer.body.decode()) == (200, f"Ada Lövelace <{ada.email}>\n")
    finally:
        wiki.stop()


def test_the_headers_of_grafana_have_its_roles(own_doorward, people):
    ada, _ = people

    def headers():
        answer = send(own_doorward.port, "GET", "/api/auth/grafana", bearer(ada.token))
        return answer.status, [answer.header(f"X-WEBAUTH-{name}") for name in ("USER", "NAME", "ROLE")]

    assert headers() == (401, [None] * 3)
    for role, shown in (("grafana-user", "Viewer"), ("grafana-editor", "Editor"), ("grafana-admin", "Admin")):
        own_doorward.run("user", "grant", ada.email, role)
        status, (user, name, given) = headers()
        assert (status, user, given) == (200, ada.email, shown)
        assert name.encode("latin-1").decode() == "Ada Lövelace"
