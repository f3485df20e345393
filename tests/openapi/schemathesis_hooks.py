"""Loaded by schemathesis: a fresh user for every request, because some operations end the session or delete the user."""

import json
import os
import uuid
from base64 import b64encode
from urllib.request import ProxyHandler, Request, build_opener

import schemathesis

URL = os.environ["DOORWARD_URL"]
CLIENT = os.environ["DOORWARD_CLIENT"]
KEY = os.environ["DOORWARD_KEY"]
opener = build_opener(ProxyHandler({}))


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    values = value if isinstance(value, list) else [value]
    return "\n".join(value if isinstance(value, str) else json.dumps(value) for value in values).encode()


def registered(name):
    body = {"name": name, "email": f"{uuid.uuid4().hex}@example.com", "password": "correct horse battery staple"}
    request = Request(URL + "/api/user", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with opener.open(request, timeout=60) as answer:
        return json.load(answer)["token"]


@schemathesis.auth(refresh_interval=None)
class Credentials:
    def get(self, case, context):
        if case.operation.path.startswith("/oauth/"):
            return "Basic " + b64encode(CLIENT.encode()).decode()
        if case.operation.path.startswith("/api/admin/"):
            return f"Bearer {KEY}"
        name = "Miles Davis" if case.operation.path == "/api/auth/miles" else "Ada Lovelace"
        return "Bearer " + registered(name)

    def set(self, case, data, context):
        case.headers["Authorization"] = data
