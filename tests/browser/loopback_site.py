"""Doorward on plain HTTP, as on a developer's machine, and an app behind Caddy."""

from guarded_site import PageApp, Service
from support import Integration, Journal, free_port

TITLE = "Reports"
STAFF_TITLE = "Staff only"

# Everybody is admitted to the first app, and nobody without the role to the second.
SETTINGS = """
[throttle]
account_failures = 5

[guards.reports]
proxy = "caddy"
origins = ["{reports}"]
title = "{title}"
grant = "user"
allow = '!user.disabled'

[guards.staff]
proxy = "caddy"
origins = ["{staff}"]
title = "{staff_title}"
allow = '"staff" in user.roles && user.emailVerified'
"""


class LoopbackSite:
    def __init__(self, folder, extra_settings=""):
        folder.mkdir()
        ports = {name: free_port() for name in ("reports", "staff")}
        self.app_urls = {name: f"http://{name}.localhost:{port}" for name, port in ports.items()}
        settings = SETTINGS.format(**self.app_urls, title=TITLE, staff_title=STAFF_TITLE)
        self.doorward = Service(folder / "doorward", extra_settings + settings)
        self.url = f"http://127.0.0.1:{self.doorward.port}"
        self.app = PageApp(Journal(folder / "journal"))
        self.proxies = []
        for name, port in ports.items():
            (folder / name).mkdir()
            auth_port, app_port = self.doorward.port, self.app.port
            self.proxies.append(
                Integration("caddy", folder / name, self.app.journal, name, self.doorward, auth_port, app_port, port)
            )

    def stop(self):
        for proxy in self.proxies:
            proxy.stop()
        self.doorward.stop()
        self.app.stop()
