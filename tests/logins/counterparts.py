"""Providers that others wrote: programs of npm, which tests control by HTTP, and Debian's glewlwyd."""

import json
import sqlite3
import subprocess
from http.client import HTTPConnection
from pathlib import Path

from harness import HOST, PATIENCE_SECONDS, REPOSITORY
from harness.ports import reserved_port
from harness.process import Process

PACKAGES = REPOSITORY / "target/test-node"


class Counterpart(Process):
    """A program of this folder, which listens on a port of its own until the end of the `with` block."""

    def __init__(self, program, folder, *arguments):
        self.port = reserved_port()
        self.url = f"http://{HOST}:{self.port}"
        command = ["node", REPOSITORY / "tests/logins" / program, PACKAGES, self.port, *arguments]
        super().__init__(command, folder / f"{program}.log")
        self.wait_until(lambda: "listening" in self.text())

    def control(self, **chosen):
        """Replaces what it does."""
        connection = HTTPConnection(HOST, self.port, timeout=PATIENCE_SECONDS)
        try:
            connection.request("POST", "/control", json.dumps(chosen))
            answer = connection.getresponse()
            assert answer.status == 200, answer.read()
        finally:
            connection.close()


def client(public_url, login, secret):
    """How Doorward is registered at a provider."""
    back = f"{public_url}/sign-in/with/{login}"
    return {
        "client_id": "doorward",
        "client_secret": secret,
        "redirect_uris": [f"{back}/back"],
        "backchannel_logout_uri": f"{back}/logout",
        "post_logout_redirect_uris": [public_url],
    }


class RealProvider(Counterpart):
    """oidc-provider with these clients. People sign in there with a login name."""

    def __init__(self, folder, *clients):
        super().__init__("provider.mjs", folder, json.dumps(clients))
        self.people = {}

    def knows(self, login, acr=None, amr=None, **claims):
        """Adds a person, or changes their claims."""
        self.people[login] = {"claims": claims, "acr": acr, "amr": amr}
        self.control(people=self.people)


class Forger(Counterpart):
    """oauth2-mock-server, where everybody is signed in."""

    def __init__(self, folder):
        super().__init__("forger.mjs", folder)


# --- glewlwyd ---------------------------------------------------------------------------------------------------------

TABLES = Path("/usr/share/dbconfig-common/data/glewlwyd/install/sqlite3")
# All of its other settings have defaults.
SETTINGS = """
port = {port}
bind_address = "127.0.0.1"
external_url = "{url}"
login_url = "login.html"
api_prefix = "api"
static_files_path = "{folder}/none"
log_mode = "console"
log_level = "WARNING"
cookie_secure = 0
session_key = "GLEWLWYD2_SESSION_ID"
admin_session_authentication = "cookie"
profile_session_authentication = "cookie"
login_api_enabled = true
admin_scope = "g_admin"
profile_scope = "g_profile"
user_module_path = "/usr/lib/glewlwyd/user"
user_middleware_module_path = "{folder}/none"
client_module_path = "/usr/lib/glewlwyd/client"
user_auth_scheme_module_path = "/usr/lib/glewlwyd/scheme"
plugin_module_path = "/usr/lib/glewlwyd/plugin"
hash_algorithm = "SHA512"
database = {{ type = "sqlite3", path = "{folder}/database" }};
"""
SCOPES = ["openid", "email", "profile"]


def openssl(*arguments, text=None):
    return subprocess.run(["openssl", *arguments], input=text, capture_output=True, text=True, check=True).stdout


class Glewlwyd(Process):
    """It names the session and itself, says nothing of whether an address is verified, and `auth_time` is always 0. Its own page
    needs JavaScript, so people sign in by its API."""

    def __init__(self, folder, registered):
        self.port = reserved_port()
        self.url = f"http://{HOST}:{self.port}"
        self.issuer = f"{self.url}/api/oidc"
        database = sqlite3.connect(folder / "database")
        database.executescript(TABLES.read_text())
        database.close()
        (folder / "none").mkdir()
        (folder / "settings").write_text(SETTINGS.format(port=self.port, url=self.url, folder=folder))
        super().__init__(["glewlwyd", "-c", folder / "settings"], folder / "log")
        self.wait_until(self._answers)
        self._admin = self.session("admin", "password")
        for scope in SCOPES[1:]:
            self._add("scope", name=scope, display_name=scope, password_required=True, password_max_age=0, scheme={})
        self._add("client", **self._client(registered))
        self._add("mod/plugin", module="oidc", name="oidc", display_name="OIDC", parameters=self._parameters())

    def _client(self, registered):
        return {
            "client_id": registered["client_id"],
            "enabled": True,
            "confidential": True,
            "password": registered["client_secret"],
            "client_secret": registered["client_secret"],
            "redirect_uri": registered["redirect_uris"],
            "authorization_type": ["code"],
            "scope": SCOPES,
            "token_endpoint_auth_method": ["client_secret_basic", "client_secret_post"],
        }

    def _parameters(self):
        key = openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")
        kinds = ("code", "token", "implicit", "none", "password", "client", "device", "refresh")
        return {f"auth-type-{kind}-enabled": kind == "code" for kind in kinds} | {
            "iss": self.issuer,
            "jwt-type": "rsa",
            "jwt-key-size": "256",
            "key": key,
            "cert": openssl("pkey", "-pubout", text=key),
            "jwks-show": True,
            "oauth-as-iss-id": True,
            "pkce-allowed": True,
            "subject-type": "public",
            "name-claim": "mandatory",
            "email-claim": "mandatory",
            "session-management-allowed": True,
            "session-cookie-name": "session",
            "session-cookie-expiration": 3600,
            "access-token-duration": 3600,
            "refresh-token-duration": 3600,
            "code-duration": 600,
        }

    def add_person(self, name, email, password):
        self._add("user", username=name, name="Ada Lovelace", email=email, password=password, enabled=True, scope=SCOPES)

    def session(self, name, password, client=None):
        """The cookie of somebody who has signed in, and told it what a client may know."""
        cookie = self._call("POST", "/api/auth/", {"username": name, "password": password})
        if client:
            self._call("PUT", f"/api/auth/grant/{client}", {"scope": " ".join(SCOPES)}, cookie)
        return cookie

    def _add(self, kind, **fields):
        self._call("POST", f"/api/{kind}/", fields, self._admin)

    def _answers(self):
        try:
            self._call("GET", "/config")
            return True
        except OSError:
            return False

    def _call(self, method, path, fields=None, cookie=""):
        """The cookie that an answer sets."""
        connection = HTTPConnection(HOST, self.port, timeout=PATIENCE_SECONDS)
        try:
            headers = {"Cookie": cookie, "Content-Type": "application/json"}
            connection.request(method, path, json.dumps(fields) if fields else None, headers)
            answer = connection.getresponse()
            assert answer.status == 200, (method, path, answer.read(), self.text())
            return answer.getheader("Set-Cookie", "").split(";")[0]
        finally:
            connection.close()
