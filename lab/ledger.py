"""Clients that continuously register, log in, refresh and log out, and record the answers to compare them with the
database at the end.

A write is acknowledged when its answer was read in full. A registration without a clear answer is retried until there
is one, as a careful client does. Other requests are not retried, and for them either outcome is right.
"""

import json
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from harness.connection import LOGIN, Connection, get, post
from harness.stall import Span
from support import FORK, Worker

PASSWORD = "correct horse battery"
PAUSE_SECONDS = 0.02
# The pause after a 503.
LONGER_PAUSE_SECONDS = 0.1
# Far beyond the limit of an answer, so that this detects a request that hangs.
HANGS_SECONDS = 15
SLOW_SECONDS = 1
# How many logins an audit tries; each costs a hash.
LOGINS = 500


@dataclass
class Account:
    """A user; the token is None if the valid one is unknown."""

    email: str
    name: str
    password: str | None
    id: str | None = None
    token: str | None = None
    ended: list = field(default_factory=list)
    # The kinds of events that its acknowledged changes have left.
    events: list = field(default_factory=list)


@dataclass
class Ledger:
    """The answers that one client received."""

    accounts: list = field(default_factory=list)
    # Addresses that a repeated registration found taken: the first try had succeeded without an answer.
    found: list = field(default_factory=list)
    # When each write was acknowledged.
    acknowledged: list = field(default_factory=list)
    answers: Counter = field(default_factory=Counter)
    wrong: list = field(default_factory=list)
    # Every answer that took longer than a second.
    slow: list = field(default_factory=list)
    # When a write was answered with 503, and when no connection was accepted: such a request was not sent.
    unavailable: list = field(default_factory=list)
    refused: list = field(default_factory=list)

    def __iadd__(self, other):
        self.accounts += other.accounts
        self.found += other.found
        self.acknowledged = sorted(self.acknowledged + other.acknowledged)
        self.answers += other.answers
        self.wrong += other.wrong
        self.slow += other.slow
        self.unavailable += other.unavailable
        self.refused += other.refused
        return self


class Clients:
    """Several clients of one service, in their own process."""

    def __init__(self, name, port, others, connections=4, pause=PAUSE_SECONDS):
        self._stop = FORK.Event()
        self._worker = Worker(self._run, name, port, others, connections, pause)

    def stop(self):
        self._stop.set()
        return self._worker.result()

    def _run(self, name, port, others, connections, pause):
        clients = [Client(f"{name}{number}", port, others, self._stop, pause) for number in range(connections)]
        threads = [threading.Thread(target=client.run) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ledger = Ledger()
        for client in clients:
            ledger += client.ledger
        return ledger


class Client:
    """Registers and uses one account after the other, on one connection to each service."""

    def __init__(self, name, port, others, stop, pause):
        self._name, self._port, self._others, self._stop, self._pause = name, port, others, stop, pause
        self._connections = {}
        self.ledger = Ledger()

    def run(self):
        number = 0
        while not self._stop.wait(self._pause):
            number += 1
            password = PASSWORD if number % 4 == 0 else None
            email = f"{self._name}-{number}@example.com"
            account = Account(email, f"Name of {email}", password)
            if self._register(account):
                self._look_up(account, self._others[number % len(self._others)])
                (self._log_in, self._refresh, self._log_out, self._keep)[number % 4](account)

    def _register(self, account):
        """Whether the account was registered and has a token."""
        fields = {"name": account.name, "email": account.email}
        if account.password:
            fields["password"] = account.password
        tries = 0
        while not self._stop.is_set() or tries == 0:
            tries += 1
            status, body = self._exchange("register", post("/api/user", fields), (201, 409) if tries > 1 else (201,))
            if status == 201:
                account.id, account.token = body["id"], body["token"]
                account.events.append("registered")
                self.ledger.accounts.append(account)
                return True
            if status == 409:
                self.ledger.found.append(account.email)
                return False
            self._stop.wait(LONGER_PAUSE_SECONDS)
        return False

    def _look_up(self, account, port):
        self._exchange("look up", get(f"/api/user/{account.id}"), (200,), port, write=False)

    def _log_in(self, account):
        fields = {"email": account.email, "password": account.password}
        status, _ = self._exchange("log in", post(LOGIN, fields), (200,))
        if status == 200:
            account.events.append("signed_in")

    def _refresh(self, account):
        before, account.token = account.token, None
        status, body = self._exchange("refresh", post("/api/auth/refresh", {}, before), (200,))
        if status == 200:
            account.ended.append(before)
            account.token = body["token"]

    def _log_out(self, account):
        before, account.token = account.token, None
        status, _ = self._exchange("log out", post("/api/auth/logout", {}, before), (204,))
        if status == 204:
            account.ended.append(before)
            account.events.append("signed_out")

    def _keep(self, account):
        pass

    def _exchange(self, what, request, good, port=None, write=True):
        """Status and body of an answer; the status is None if there was no complete answer."""
        port = port or self._port
        started = time.monotonic()
        try:
            connection = self._connections.get(port) or Connection(port, HANGS_SECONDS)
        except OSError:
            self.ledger.refused.append(started)
            return None, None
        self._connections[port] = connection
        try:
            answer = connection.exchange(request)
        except OSError as error:
            self._connections.pop(port, None)
            return self._note(what, f"no answer: {error or type(error).__name__}", started), None
        if answer.closes:
            self._connections.pop(port).__exit__()
        status, took = answer.status, Span(started, time.monotonic())
        if took.seconds > SLOW_SECONDS:
            self.ledger.slow.append(took)
        if status in good:
            self.ledger.answers[f"{what} {status}"] += 1
            if write and status < 300:
                self.ledger.acknowledged.append(time.monotonic())
            return status, json.loads(answer.body) if answer.body else None
        if status == 503 and b"\r\nretry-after: " in answer.head.lower():
            self.ledger.answers[f"{what} 503"] += 1
            self.ledger.unavailable.append(started)
            return 503, None
        return self._note(what, f"{status} {answer.body.decode(errors='replace')}", started), None

    def _note(self, what, outcome, started):
        self.ledger.wrong.append((time.monotonic(), f"{what}: {outcome} after {time.monotonic() - started:.1f} s"))


# --- the comparison --------------------------------------------------------------------------------------------------


@dataclass
class Audit:
    """Acknowledged changes that are missing, by kind."""

    users: int
    lost_users: list
    found_missing: list
    duplicates: list
    lost_tokens: list
    revived_tokens: list
    refused_logins: list


def audit(ledger, session, port):
    """Compares a ledger with the database, and each token with the answer of a service."""
    rows = session.query("SELECT id, email, name FROM users")
    there = {identity: (email, name) for identity, email, name in rows}
    emails = Counter(email.lower() for email, _ in there.values())
    lost = [account for account in ledger.accounts if there.get(account.id) != (account.email, account.name)]
    kept = [account for account in ledger.accounts if there.get(account.id) == (account.email, account.name)]
    members = [account for account in kept if account.password]
    with Connection(port, HANGS_SECONDS) as connection:

        def passes(token):
            return connection.exchange(get("/api/auth/guard", token)).status == 200

        def logs_in(account):
            fields = {"email": account.email, "password": account.password}
            return connection.exchange(post(LOGIN, fields)).status == 200

        return Audit(
            users=len(rows),
            lost_users=lost,
            found_missing=[email for email in ledger.found if email not in emails],
            duplicates=[email for email, times in emails.items() if times > 1],
            lost_tokens=[account.email for account in kept if account.token and not passes(account.token)],
            revived_tokens=[account.email for account in kept for token in account.ended if passes(token)],
            refused_logins=[
                account.email
                for account in random.sample(members, min(LOGINS, len(members)))
                if not logs_in(account)
            ],
        )
