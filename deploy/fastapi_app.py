"""Middleware that lets requests through only when Doorward says yes, and a tiny FastAPI app behind it.

Start: pip install fastapi uvicorn httpx && uvicorn --app-dir deploy --no-proxy-headers --port 8080 fastapi_app:app

The app is asked as if a proxy stood before it: the headers of IDENTITY come from Doorward or not at all. Routes learn
who asks from the dependency `CallerDep`. A dependency alone would leave unknown paths, other methods and /docs open.
uvicorn would otherwise believe the X-Forwarded-For of any client on this machine.
"""

import re
from typing import Annotated, NamedTuple
from urllib.parse import unquote

import httpx
from fastapi import Depends, FastAPI, Request
from starlette.responses import JSONResponse, Response

GUARD = "http://127.0.0.1:3000/api/auth/guard"
IDENTITY = (
    "X-Auth-User-Id",
    "X-Auth-Policy",
    "X-Auth-User-Name",
    "X-Auth-User-Email",
    "X-Auth-User-Email-Verified",
)
ASKED_WITH = (b"authorization", b"origin", b"access-control-request-method")
REFUSED_WITH = ("Content-Type", "WWW-Authenticate", "Cache-Control", "Vary", "X-Decision-Id")


class Caller(NamedTuple):
    id: str
    policy: str
    name: str
    email: str
    email_verified: bool


class Doorward:
    def __init__(self, app):
        self.app = app
        # A proxy named in the environment has no business with the tokens.
        self.client = httpx.AsyncClient(timeout=2, trust_env=False)

    async def __call__(self, scope, receive, send):
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)

        headers = [header for header in scope["headers"] if not re.match(b"(x[-_]auth|remote)[-_]", header[0])]
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
        """Doorward's answer; None when it is away or silent for 2 s."""
        query = scope["query_string"]
        sent = dict(headers)
        question = [
            ("X-Forwarded-For", scope["client"][0]),
            ("X-Forwarded-Proto", scope["scheme"]),
            ("X-Forwarded-Host", sent.get(b"host", b"")),
            ("X-Forwarded-Method", scope.get("method", "GET")),
            ("X-Forwarded-Uri", scope["raw_path"] + (query and b"?" + query)),
        ]
        question += [(name, value) for name, value in headers if name in ASKED_WITH]
        try:
            return await self.client.get(GUARD, headers=question)
        except httpx.HTTPError:
            return None


def refusal(answer):
    if answer is None or answer.status_code != 401:
        return JSONResponse({"message": "The request could not be authorised."}, 503)
    headers = {name: answer.headers[name] for name in REFUSED_WITH if name in answer.headers}
    return Response(answer.content, 401, headers)


def caller(request: Request) -> Caller:
    return request.scope["caller"]


CallerDep = Annotated[Caller, Depends(caller)]

app = FastAPI()
app.add_middleware(Doorward)


@app.get("/")
def hello(caller: CallerDep) -> str:
    return f"Hello, user {caller.id}."
