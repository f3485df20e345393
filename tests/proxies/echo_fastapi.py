"""Adds an echo route to the app of deploy/fastapi_app.py, which writes every request to the journal."""

import hashlib
import os
from pathlib import Path

from fastapi import Request
from fastapi_app import app
from support import METHODS, Journal

journal = Journal(Path(os.environ["ECHO_JOURNAL"]))


@app.api_route("/{path:path}", methods=METHODS)
async def echo(request: Request):
    body = await request.body()
    query = request.url.query
    journal.write(
        method=request.method,
        target=request.url.path + (query and f"?{query}"),
        headers=request.headers.items(),
        length=len(body),
        sha256=hashlib.sha256(body).hexdigest(),
    )
    return "ok"
