"""Middleware that passes a request on only if Doorward admits it, and a minimal FastAPI app behind it.

Start in the folder of this file: pip install fastapi uvicorn httpx && uvicorn --no-proxy-headers --port {{ setup.apps[0].address.port }} fastapi_app:app

The app sees the same headers as behind a proxy: the IDENTITY headers come from Doorward, never from the client. Routes
get the caller from the dependency `CallerDep`. A dependency alone would leave unknown paths, other methods and /docs
unguarded. Without `--no-proxy-headers`, uvicorn trusts X-Forwarded-For from any client on this machine.
"""

import re
from typing import Annotated, NamedTuple
from urllib.parse import unquote

import httpx
from fastapi import Depends, FastAPI, Request
from starlette.responses import JSONResponse, Response

GUARD = "http://{{ setup.doorward }}/api/auth/{{ setup.apps[0].guard }}"
IDENTITY = (
{%- for name in setup.headers.copied() %}
    "{{ setup.headers.shown(name) }}",
{%- endfor %}
)
FORGEABLE = re.compile(b"[^a-z0-9-]|^(x-auth|(x-)?remote-|x-webauth-)")
NAMES = {name.lower().encode() for name in IDENTITY}
FORWARDED_HEADERS = (b"authorization", b"origin", b"access-control-request-method")
REFUSAL_HEADERS = ("Content-Type", "WWW-Authenticate", "Cache-Control", "Vary", "X-Decision-Id")


def is_forgeable(name):
    return FORGEABLE.search(name) or name in NAMES


class Caller(NamedTuple):
    id: str
    policy: str
    name: str
    email: str
    email_verified: bool


class Doorward:
    def __init__(self, app):
        self.app = app
        # Tokens must not pass through a proxy named in the environment.
        self.client = httpx.AsyncClient(timeout=2, trust_env=False)

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)

        # Some libraries read X_Auth_User_Id and X!Auth!User!Id as X-Auth-User-Id.
        headers = [header for header in scope["headers"] if not is_forgeable(header[0])]
        answer = await self.ask(scope, headers)
        if answer is not None and answer.status_code == 200:
            identity = [answer.headers.get(name, "") for name in IDENTITY]
            headers += [(name.lower().encode(), value.encode()) for name, value in zip(IDENTITY, identity)]
            *who, verified = map(unquote, identity[:5])
            scope = scope | {"headers": headers, "caller": Caller(*who, verified == "true")}
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await refusal(answer)(scope, receive, send)

    async def ask(self, scope, headers):
        """Returns Doorward's response, or None if it is unreachable or does not respond within 2 s."""
        query = scope["query_string"]
        sent = dict(headers)
        guard_headers = [
            ("X-Forwarded-For", scope["client"][0]),
            ("X-Forwarded-Proto", scope["scheme"]),
            ("X-Forwarded-Host", sent.get(b"host", b"")),
            ("X-Forwarded-Method", scope.get("method", "GET")),
            ("X-Forwarded-Uri", scope["raw_path"] + (query and b"?" + query)),
        ]
        guard_headers += [(name, value) for name, value in headers if name in FORWARDED_HEADERS]
        try:
            return await self.client.get(GUARD, headers=guard_headers)
        except httpx.HTTPError:
            return None


def refusal(answer):
    if answer is None or answer.status_code != 401:
        return JSONResponse({"message": "The request could not be authorised."}, 503)
    headers = {name: answer.headers[name] for name in REFUSAL_HEADERS if name in answer.headers}
    return Response(answer.content, 401, headers)


def caller(request: Request) -> Caller:
    return request.scope["caller"]


CallerDep = Annotated[Caller, Depends(caller)]

app = FastAPI()
app.add_middleware(Doorward)


@app.get("/")
def hello(caller: CallerDep) -> str:
    return f"Hello, user {caller.id}."
