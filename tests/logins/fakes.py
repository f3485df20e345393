"""Providers as they are asked and answer, made from what is known of them: Google, GitHub, Microsoft, Apple, and one that only
speaks OpenID Connect. Each is on loopback, signs whoever `person` is in without a question, and lies when a test asks for it."""

import base64
import hashlib
import html
import json
import secrets
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, unquote_plus, urlencode, urlsplit

from harness import HOST
from tokens import EcKey, RsaKey, challenge_of, encode

CLIENT, SECRET = "doorward", "a secret/with+signs:that&need=%care"
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"


class Refused(Exception):
    """An OAuth error that is answered."""


class Request(BaseHTTPRequestHandler):
    """A request with its fields, and the ways to answer it."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        parts = urlsplit(self.path)
        self.route = parts.path
        length = int(self.headers.get("Content-Length") or 0)
        self.fields = dict(parse_qsl(parts.query) + parse_qsl(self.rfile.read(length).decode()))
        self.server.requests.append(self)
        instead = self.server.instead.get(self.route)
        try:
            if instead:
                instead(self)
            elif not self.server.answer(self):
                self.json({"error": "not_found"}, 404)
        except Refused as refused:
            self.json({"error": str(refused)}, 400)
        except ConnectionError:
            self.close_connection = True

    do_POST = do_GET

    def reply(self, body, kind, status=200, **headers):
        body = body.encode() if isinstance(body, str) else body
        self.send_response(status)
        for name, value in ({"Content-Type": kind, "Content-Length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def json(self, fields, status=200):
        self.reply(json.dumps(fields), "application/json;charset=UTF-8", status)

    def redirect(self, url, status=302):
        self.reply("", "text/plain", status, Location=url)

    def date_time_string(self, timestamp=None):
        return super().date_time_string(time.time() + self.server.skew if timestamp is None else timestamp)

    def bearer(self):
        return self.headers.get("Authorization", "").removeprefix("Bearer ")

    def log_message(self, *_):
        pass


class Provider(ThreadingHTTPServer):
    """What all of them do: codes, the PKCE of those who know it, and ID tokens."""

    daemon_threads = True
    request_queue_size = 64
    authorize, token, keys, userinfo = "/authorize", "/token", "/keys", "/userinfo"
    # Whether the way back has `iss`, and discovery says so.
    names_itself = True
    knows_pkce = True

    def __init__(self, key=None, tls=None):
        super().__init__((HOST, 0), Request)
        self.port = self.server_address[1]
        self.url = self.issuer = f"{'https' if tls else 'http'}://{HOST}:{self.port}"
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.key = key or RsaKey()
        self.reset()
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def handle_error(self, request, client_address):
        """A client that goes away is no fault of the provider."""

    def reset(self):
        """Forgets what a test has chosen."""
        # The claims of whoever sits at the browser.
        self.person = {}
        self.requests = []
        self.codes, self.granted = {}, {}
        # By path: what answers in the place of the provider.
        self.instead = {}
        # Changes the claims of an ID token, the token itself, the way back, and the discovery document.
        self.adjust = self.back = self.discovered = lambda fields: fields
        self.sign = self.key.sign
        # How far its clock is ahead, in seconds.
        self.skew = 0

    def now(self):
        return int(time.time()) + self.skew

    def answer(self, request):
        """Answers a request. False if there is nothing at its path."""
        routes = {
            "/.well-known/openid-configuration": lambda: request.json(self.discovered(self.discovery())),
            self.authorize: lambda: self.begin(request),
            self.token: lambda: self.redeem(request),
            self.keys: lambda: request.json({"keys": [self.key.public()]}),
            self.userinfo: lambda: self.inform(request),
        }
        if request.route not in routes:
            return False
        routes[request.route]()
        return True

    def discovery(self):
        more = {"authorization_response_iss_parameter_supported": True} if self.names_itself else {}
        pkce = {"code_challenge_methods_supported": ["plain", "S256"]} if self.knows_pkce else {}
        return more | pkce | {
            "issuer": self.issuer,
            "authorization_endpoint": self.url + self.authorize,
            "token_endpoint": self.url + self.token,
            "userinfo_endpoint": self.url + self.userinfo,
            "jwks_uri": self.url + self.keys,
            "response_types_supported": ["code", "token", "id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "scopes_supported": ["openid", "email", "profile"],
            "token_endpoint_auth_methods_supported": ["client_secret_post", "client_secret_basic"],
        }

    # --- the browser -------------------------------------------------------------------------------------------------

    def begin(self, request):
        """Signs the person in, and sends them back."""
        asked = request.fields
        assert asked["client_id"] == CLIENT and asked["response_type"] == "code", asked
        back = {"state": asked["state"]}
        if self.person is None:
            # Somebody who presses "Cancel".
            back |= {"error": "access_denied", "error_description": "<b>left</b>"}
        else:
            back["code"] = secrets.token_urlsafe(16)
            self.codes[back["code"]] = asked | {"person": dict(self.person), "at": self.now()}
        if self.names_itself:
            back["iss"] = self.issuer
        self.lead_back(request, asked["redirect_uri"], self.back(back))

    def lead_back(self, request, to, fields):
        request.redirect(f"{to}?{urlencode(fields)}")

    # --- the back channel --------------------------------------------------------------------------------------------

    def authenticate(self, request):
        """Checks who redeems a code."""
        kind, _, credentials = request.headers.get("Authorization", "").partition(" ")
        if kind == "Basic":
            given = tuple(map(unquote_plus, base64.b64decode(credentials).decode().split(":", 1)))
        else:
            given = (request.fields.get("client_id"), request.fields.get("client_secret"))
        if given != (CLIENT, SECRET):
            raise Refused("invalid_client")

    def code(self, request):
        """What was asked when the code was given. It counts once, for the client, browser and URI that it was given to."""
        self.authenticate(request)
        given, asked = request.fields, self.codes.pop(request.fields.get("code"), None)
        if given.get("grant_type") != "authorization_code" or not asked or given["redirect_uri"] != asked["redirect_uri"]:
            raise Refused("invalid_grant")
        if self.knows_pkce and "code_challenge" in asked:
            assert asked["code_challenge_method"] == "S256", asked
            if challenge_of(given.get("code_verifier", "")) != asked["code_challenge"]:
                raise Refused("invalid_grant")
        return asked

    def redeem(self, request):
        asked = self.code(request)
        access = secrets.token_urlsafe(16)
        self.granted[access] = asked
        claims = self.adjust(self.claims(asked) | {"at_hash": encode(hashlib.sha256(access.encode()).digest()[:16])})
        answer = {"access_token": access, "token_type": "Bearer", "expires_in": 3599, "scope": asked["scope"]}
        request.json(answer | {"id_token": self.sign(claims)})

    def claims(self, asked):
        """The claims of an ID token. A claim of the person that is None is left out."""
        own = {
            "iss": self.issuer,
            "aud": CLIENT,
            "iat": self.now(),
            "exp": self.now() + 3600,
            **({"nonce": asked["nonce"]} if "nonce" in asked else {}),
            **self.more_claims(asked),
        }
        return {name: value for name, value in (own | asked["person"]).items() if value is not None}

    def more_claims(self, asked):
        return {"auth_time": asked["at"]}

    def inform(self, request):
        if request.bearer() not in self.granted:
            raise Refused("invalid_token")
        request.json(self.granted[request.bearer()]["person"])

    # --- what tests read ---------------------------------------------------------------------------------------------

    def asked(self, route):
        """The requests for a path, the oldest first."""
        return [request for request in self.requests if request.route == route]

    def logout_token(self, **claims):
        """A token of a back-channel logout."""
        own = {"iss": self.issuer, "aud": CLIENT, "iat": self.now(), "exp": self.now() + 120}
        own |= {"jti": str(uuid.uuid4()), "events": {LOGOUT_EVENT: {}}}
        claims = {name: value for name, value in (own | claims).items() if value is not None}
        return self.key.sign(claims, typ="logout+jwt")


class Oidc(Provider):
    """A provider without peculiarities; GitLab is one."""


class Google(Provider):
    """Says when a person has signed in to nobody."""

    authorize, token, keys, userinfo = "/o/oauth2/v2/auth", "/token", "/oauth2/v3/certs", "/v1/userinfo"

    def more_claims(self, asked):
        return {"azp": CLIENT}


class GitHub(Provider):
    """OAuth without OpenID Connect: a person is `user`, with `emails`, `organizations` and `teams`."""

    authorize, token = "/login/oauth/authorize", "/login/oauth/access_token"

    def __init__(self):
        super().__init__()
        self.issuer = f"{self.url}/login/oauth"

    def answer(self, request):
        apis = {"": "user", "/emails": "emails", "/orgs": "organizations", "/teams": "teams"}
        wanted = {"emails": "user:email", "organizations": "read:org", "teams": "read:org"}
        if request.route == self.authorize:
            self.begin(request)
        elif request.route == self.token:
            self.redeem(request)
        elif (name := apis.get(request.route.removeprefix("/api/v3/user"))) and request.route.startswith("/api/v3/"):
            asked = self.granted.get(request.bearer())
            if not asked or not request.headers.get("User-Agent"):
                request.json({"message": "Bad credentials"}, 401 if not asked else 403)
            elif name in wanted and wanted[name] not in asked.get("scope", "").replace(",", " ").split():
                request.json({"message": "Not Found"}, 404)
            else:
                request.json(asked["person"].get(name, []))
        else:
            return False
        return True

    def redeem(self, request):
        """Answers with a form unless JSON is asked for, and with 200 to errors."""
        try:
            access = secrets.token_urlsafe(16)
            self.granted[access] = asked = self.code(request)
            fields = {"access_token": access, "token_type": "bearer", "scope": asked.get("scope", "").replace(" ", ",")}
        except Refused:
            fields = {"error": "bad_verification_code", "error_description": "The code passed is incorrect or expired."}
        if "application/json" in request.headers.get("Accept", ""):
            request.json(fields)
        else:
            request.reply(urlencode(fields), "application/x-www-form-urlencoded")


class Microsoft(Provider):
    """Tenants, each with an issuer and a key of its own. The person's `tid` says which is theirs."""

    CONTOSO, FABRIKAM = "72f988bf-86f1-41af-91ab-2d7cd011db47", "b0a1c2d3-0000-4000-8000-000000000001"
    # Of private accounts.
    CONSUMERS = "9188040d-6c67-4c5b-b112-36a304b66dad"
    DOMAINS = {"contoso.example": CONTOSO, "consumers": CONSUMERS}
    names_itself = False

    def __init__(self):
        super().__init__()
        self.tenant_keys = {tenant: RsaKey() for tenant in (self.CONTOSO, self.FABRIKAM, self.CONSUMERS)}

    def answer(self, request):
        _, tenant, path = [*request.route.split("/", 2), "", ""][:3]
        tenant = self.DOMAINS.get(tenant, tenant)
        tenants = list(self.tenant_keys) if tenant in ("common", "organizations") else [tenant]
        is_known = tenants[0] in self.tenant_keys
        if path == "v2.0/.well-known/openid-configuration" and is_known:
            request.json(self.discovered(self.discovery_of(tenant)))
        elif path == "discovery/v2.0/keys" and is_known:
            request.json({"keys": [self.public(owner) for owner in tenants]})
        elif path == "oauth2/v2.0/authorize":
            self.begin(request)
        elif path == "oauth2/v2.0/token":
            self.redeem(request)
        else:
            # Userinfo as well: its answers are not to be believed.
            return False
        return True

    def public(self, tenant):
        """A key says for which tenant it signs."""
        return self.tenant_keys[tenant].public() | {"issuer": f"{self.url}/{tenant}/v2.0"}

    def discovery_of(self, tenant):
        own = "{tenantid}" if tenant in ("common", "organizations") else tenant
        return super().discovery() | {
            "issuer": f"{self.url}/{own}/v2.0",
            "authorization_endpoint": f"{self.url}/{tenant}/oauth2/v2.0/authorize",
            "token_endpoint": f"{self.url}/{tenant}/oauth2/v2.0/token",
            "jwks_uri": f"{self.url}/{tenant}/discovery/v2.0/keys",
            "userinfo_endpoint": f"{self.url}/oidc/userinfo",
        }

    def claims(self, asked):
        tenant = asked["person"].get("tid", self.CONTOSO)
        self.sign = self.tenant_keys[tenant].sign
        own = {"iss": f"{self.url}/{tenant}/v2.0", "tid": tenant, "oid": str(uuid.uuid4()), "ver": "2.0"}
        return super().claims(asked | {"person": own | asked["person"]})

    def more_claims(self, asked):
        return {}


class Apple(Provider):
    """Answers with a form, wants a token as the secret, and tells a name once."""

    authorize, token, keys, userinfo = "/auth/authorize", "/auth/token", "/auth/keys", "/none"
    names_itself = knows_pkce = False
    TEAM = "TEAM123456"

    def __init__(self):
        self.client_key = EcKey()
        self.seen = set()
        super().__init__()

    def discovery(self):
        own = super().discovery() | {
            "response_modes_supported": ["query", "fragment", "form_post"],
            "token_endpoint_auth_methods_supported": ["client_secret_post"],
        }
        del own["userinfo_endpoint"]
        return own

    def begin(self, request):
        if request.fields.get("scope", "") not in ("", "openid") and request.fields.get("response_mode") != "form_post":
            raise Refused("invalid_request")
        super().begin(request)

    def lead_back(self, request, to, fields):
        subject = (self.person or {}).get("sub")
        if self.person and subject not in self.seen:
            self.seen.add(subject)
            name = {"firstName": self.person.get("first_name", "Ada"), "lastName": "Lovelace"}
            fields |= {"user": json.dumps({"name": name, "email": self.person.get("email")})}
        inputs = "".join(f'<input type="hidden" name="{name}" value="{html.escape(value)}">' for name, value in fields.items())
        page = f"""<!doctype html><html lang="en"><title>Apple</title><body onload="document.forms[0].submit()">
            <form method="post" action="{to}">{inputs}<button>Continue</button></form></html>"""
        request.reply(page, "text/html;charset=UTF-8")

    def authenticate(self, request):
        """The secret is a token for half a year at most, signed with the key of the client."""
        header, claims = self.client_key.verified(request.fields.get("client_secret", "")) or ({}, {})
        expected = {"iss": self.TEAM, "sub": CLIENT, "aud": self.url}
        is_right = header.get("kid") == self.client_key.kid and {name: claims.get(name) for name in expected} == expected
        if not is_right or not 0 < claims["exp"] - time.time() < 15_777_000 or request.fields.get("client_id") != CLIENT:
            raise Refused("invalid_client")

    def more_claims(self, asked):
        return {"auth_time": asked["at"], "nonce_supported": True}

    def notification(self, kind, subject, **claims):
        """What Apple posts to the server of an app: a token whose `events` is a text."""
        event = {"type": kind, "sub": subject, "event_time": self.now() * 1000}
        own = {"iss": self.issuer, "aud": CLIENT, "iat": self.now(), "exp": self.now() + 86400, "jti": str(uuid.uuid4())}
        return self.key.sign(own | {"events": json.dumps(event)} | claims)
