"""Two apps on different registrable domains and Doorward, behind a proxy that terminates TLS."""

import html
import subprocess

from harness import BINARY
from harness.ports import reserved_port
from sites import APP, AUTH, OTHER_APP, TlsProxy
from support import KINDS, METHODS, Doorward, EchoApp, EchoHandler, Journal

TITLE = "Reports"
BARRED = "barred"

# The role keeps a person out of the second app, and only until it is revoked.
ALLOW = 'request.host != "{wiki_host}" || !("{barred}" in user.roles)'
SETTINGS = """
public_url = "{auth}"

{more}
[guards.apps]
proxy = "{style}"
origins = ["{app}", "{wiki}"]
title = "{title}"
grant = "user"
allow = '{allow}'
"""


class Service(Doorward):
    """Doorward with its command line."""

    def run(self, *arguments, text=None):
        """Runs a command of Doorward for this service, and returns what it prints."""
        command = [BINARY, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.variables, input=text, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done
        return done.stdout

    def restart(self):
        with self.stopped():
            pass


# --- the apps --------------------------------------------------------------------------------------------------------

PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{host}</title><link rel="icon" href="data:,">
<h1>{host}</h1><pre>{target}</pre>
<a id="next" href="/next?page=2">Next</a>
<form method="post" action="/save"><input name="note" value="a note"><button>Save</button></form>
{links}</html>"""


class PageHandler(EchoHandler):
    """An app with a page. It records the requests that it gets."""

    def answer(self):
        if self.headers.get("Upgrade", "").lower() == "websocket":
            return self.echo_websocket()
        self.body()
        self.server.journal.write(
            method=self.command, target=self.path, headers=self.headers.items(), length=0, sha256=""
        )
        links = "".join(f'<a target="_blank" href="{html.escape(link)}">link</a>' for link in self.server.links)
        host = html.escape(self.headers.get("Host", ""))
        page = PAGE.format(host=host, target=html.escape(self.path), links=links).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)


for method in METHODS:
    setattr(PageHandler, f"do_{method}", PageHandler.answer)


class PageApp(EchoApp):
    """An app whose page can be given links that open new tabs."""

    def __init__(self, journal):
        self.links = []
        super().__init__(journal)
        self.RequestHandlerClass = PageHandler

    def stop(self):
        self.shutdown()
        self.server_close()


# --- all of it -------------------------------------------------------------------------------------------------------


class GuardedSite:
    """Everything behind one kind of proxy."""

    def __init__(self, name, folder, certificate, allow=ALLOW, more="", port=None):
        """`allow` is the condition of both apps, `more` are settings of Doorward, and `port` is that of all hosts."""
        folder.mkdir()
        port = port or reserved_port()
        self.name = name
        self.app_url, self.wiki_url, self.auth_url = (
            f"https://{host}:{port}" for host in (APP, OTHER_APP, AUTH)
        )
        settings = SETTINGS.format(
            auth=self.auth_url,
            app=self.app_url,
            wiki=self.wiki_url,
            style=KINDS[name].style,
            title=TITLE,
            allow=allow.format(wiki_host=OTHER_APP, barred=BARRED),
            more=more,
        )
        self.doorward = Service(folder / "doorward", settings)
        self.app = PageApp(Journal(folder / "journal"))
        self.proxy = TlsProxy(name, folder / name, ["apps"], self.doorward, [self.app.port], port, certificate)

    def arrivals(self, target):
        """The requests for a target that reached an app."""
        return [arrival for arrival in self.app.journal.arrivals() if arrival.target == target]

    def stop(self):
        self.proxy.stop()
        self.doorward.stop()
        self.app.stop()
