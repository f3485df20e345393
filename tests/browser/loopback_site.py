"""Doorward on plain HTTP, as on a developer's machine, and an app behind Caddy."""

import re

from guarded_site import PageApp, Service
from harness.mail_folder import MailFolder
from harness.ports import reserved_port
from harness.wait import eventually
from support import Integration, Journal

TITLE = "Reports"
STAFF_TITLE = "Staff only"

# Everybody is admitted to the first app, and nobody without the role to the second. Keys count at the first.
SETTINGS = """
[branding]
contact = "help@example.com"

[throttle]
account_failures = 5

[guards.reports]
proxy = "caddy"
origins = ["{reports}"]
title = "{title}"
grant = "user"
allow = '!user.disabled'
keys = true

[guards.staff]
proxy = "caddy"
origins = ["{staff}"]
title = "{staff_title}"
grant = "user"
allow = '"staff" in user.roles && user.emailVerified'

[admin.helpdesk]
scopes = ["users:read", "users:write"]
"""

MAIL_SETTINGS = """
registration = 'user.domain == "example.com"'

[mail]
url = "{url}"
from = "Doorward <doorward@example.com>"

[sign_in]
mail_code = true

[invitations]
allow = 'true'
"""
# Passkeys need a domain, which an IP address is not. Without settings, the pages are at localhost.
NO_PASSKEY_SETTINGS = """
public_url = "http://127.0.0.1:@PORT@"
"""


class LoopbackSite:
    def __init__(self, folder, with_mail=False, mail_url=None, with_passkeys=False, more=""):
        """Mail goes into a folder, unless there is the URL of a mail server. `more` are tables of settings."""
        folder.mkdir()
        self.mails = MailFolder(folder / "mails")
        url = mail_url or f"file:{folder / 'mails'}"
        extra_settings = MAIL_SETTINGS.format(url=url) if with_mail else ""
        if not with_passkeys:
            extra_settings = NO_PASSKEY_SETTINGS + extra_settings
        ports = {name: reserved_port() for name in ("reports", "staff")}
        self.app_urls = {name: f"http://{name}.localhost:{port}" for name, port in ports.items()}
        settings = SETTINGS.format(**self.app_urls, title=TITLE, staff_title=STAFF_TITLE)
        self.doorward = Service(folder / "doorward", extra_settings + settings + more)
        host = "localhost" if with_passkeys else "127.0.0.1"
        self.url = f"http://{host}:{self.doorward.port}"
        self.app = PageApp(Journal(folder / "journal"))
        self.proxies = []
        for name, port in ports.items():
            (folder / name).mkdir()
            auth_port, app_port = self.doorward.port, self.app.port
            self.proxies.append(
                Integration("caddy", folder / name, self.app.journal, name, self.doorward, auth_port, app_port, port)
            )

    def mailed_link(self, recipient, path):
        """The link to the page at this path in a mail to this address, without the host. Waits for the mail."""
        link = re.compile(rf"^{self.url}({path}\?\S+)", re.MULTILINE)

        def found():
            return next((match[1] for mail in self.mails.to(recipient) if (match := link.search(mail.text))), None)

        return eventually(f"a mail to {recipient} with a link to {path}", found)

    def stop(self):
        for proxy in self.proxies:
            proxy.stop()
        self.doorward.stop()
        self.app.stop()
