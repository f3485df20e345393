"""Every change leaves one event, what changes nothing leaves none, and a crash loses none."""

import json
import random
import threading
from collections import Counter
from dataclasses import dataclass, field

from harness.wait import eventually
from trail import PASSWORD, Client

OPERATIONS = 500


@dataclass
class Person:
    id: str
    email: str
    password: str | None
    name: str = "Ada Lovelace"
    sessions: dict = field(default_factory=dict)
    failures: int = 0


class Model:
    """Does random operations, and knows which events they leave."""

    def __init__(self, client):
        self.client, self.people, self.gone, self.expected = client, [], set(), Counter()
        self.number = 0

    def step(self):
        operations = [
            (self.register, 3),
            (self.register_again, 1),
            (self.sign_in, 4),
            (self.sign_in_wrongly, 2),
            (self.sign_out, 2),
            (self.end_session, 2),
            (self.end_unknown_session, 1),
            (self.end_all, 1),
            (self.rename, 2),
            (self.rename_to_the_same, 1),
            (self.set_password, 1),
            (self.leave, 1),
            (self.look, 2),
        ]
        choice = random.choices([operation for operation, _ in operations], [weight for _, weight in operations])[0]
        if choice not in (self.register,) and not self.people:
            choice = self.register
        choice()

    def expect(self, kind, person=None, detail=None):
        self.expected[(kind, person and person.id, detail)] += 1

    def person(self):
        return random.choice(self.people)

    def signed_in(self):
        """Somebody with one of their sessions and its token."""
        candidates = [person for person in self.people if person.sessions]
        if not candidates:
            return None
        person = random.choice(candidates)
        return person, *random.choice(list(person.sessions.items()))

    def session_of(self, token):
        status, listed = self.client.call("GET", "/api/sessions", token)
        assert status == 200
        return next(session["id"] for session in listed if session["current"])

    def register(self):
        self.number += 1
        password = PASSWORD if random.random() < 0.3 else None
        email = f"member-{self.number}@example.com"
        status, body = self.client.register(email, password)
        assert status == 201, body
        person = Person(body["id"], email, password)
        session = self.session_of(body["token"])
        person.sessions[session] = body["token"]
        self.people.append(person)
        self.expect("registered", person, session)

    def register_again(self):
        status, _ = self.client.register(self.person().email)
        assert status == 409
        self.expect("registration_refused", None, "address_taken")

    def sign_in(self):
        person = self.person()
        fields = {"email": person.email, "password": person.password or PASSWORD}
        status, body = self.client.call("POST", "/api/auth/login", fields=fields)
        if person.password is None:
            assert status == 404
            person.failures += 1
            self.expect("sign_in_failed", person, "no_password")
            return
        assert status == 200, body
        session = self.session_of(body["token"])
        person.sessions[session] = body["token"]
        self.expect("signed_in", person, session)

    def sign_in_wrongly(self):
        person = self.person()
        if person.password is None or person.failures >= 3:
            return
        person.failures += 1
        fields = {"email": person.email, "password": "not the password"}
        assert self.client.call("POST", "/api/auth/login", fields=fields)[0] == 404
        self.expect("sign_in_failed", person, "wrong_password")

    def sign_out(self):
        if found := self.signed_in():
            person, session, token = found
            assert self.client.call("POST", "/api/auth/logout", token)[0] in (200, 204)
            del person.sessions[session]
            self.expect("signed_out", person, session)
            # The token has ended, so this changes nothing.
            assert self.client.call("POST", "/api/auth/logout", token)[0] == 401

    def end_session(self):
        if found := self.signed_in():
            person, _, token = found
            session = random.choice(list(person.sessions))
            assert self.client.call("DELETE", f"/api/sessions/{session}", token)[0] == 204
            del person.sessions[session]
            self.expect("session_ended", person, session)

    def end_unknown_session(self):
        if found := self.signed_in():
            _, session, token = found
            other = session[:-4] + ("0000" if session[-4:] != "0000" else "1111")
            assert self.client.call("DELETE", f"/api/sessions/{other}", token)[0] == 404

    def end_all(self):
        if found := self.signed_in():
            person, _, token = found
            assert self.client.call("POST", "/api/auth/logout-everywhere", token)[0] in (200, 204)
            self.expect("sessions_ended", person, len(person.sessions))
            person.sessions.clear()

    def rename(self):
        if found := self.signed_in():
            person, _, token = found
            person.name = f"Name {random.random()}"
            assert self.client.call("PATCH", "/api/me", token, {"name": person.name})[0] == 200
            self.expect("user_changed", person)

    def rename_to_the_same(self):
        if found := self.signed_in():
            person, _, token = found
            assert self.client.call("PATCH", "/api/me", token, {"name": person.name})[0] == 200

    def set_password(self):
        if found := self.signed_in():
            person, session, token = found
            password = f"another password {random.random()}"
            fields = {"new": password} | ({"current": person.password} if person.password else {})
            status, body = self.client.call("POST", "/api/me/password", token, fields)
            assert status in (200, 204), body
            person.password, person.failures = password, 0
            person.sessions = {session: (body or {}).get("token", token)}
            self.expect("password_changed", person)

    def leave(self):
        if found := self.signed_in():
            person, _, token = found
            fields = {"password": person.password} if person.password else {}
            assert self.client.call("DELETE", "/api/me", token, fields)[0] in (200, 204)
            self.people.remove(person)
            self.gone.add(person.id)
            self.expect("user_deleted", person)

    def look(self):
        if found := self.signed_in():
            assert self.client.call("GET", "/api/me", found[2])[0] == 200


def found(events):
    """The events as the model expects them."""
    detail = {"sign_in_failed": "reason", "registration_refused": "reason", "sessions_ended": "count"}
    own = Counter()
    for event in events:
        if event["actor"]["type"] == "service":
            continue
        name = detail.get(event["kind"], "session")
        own[(event["kind"], event.get("subject"), event.get("details", {}).get(name))] += 1
    return own


def test_random_operations_leave_exactly_the_expected_events(installation):
    with installation.service() as service, Client(service) as client:
        model = Model(client)
        for _ in range(OPERATIONS):
            model.step()
        assert len(model.expected) > 100 and model.expected.total() > OPERATIONS / 2
        # What was refused is written in batches.
        refusals = sum(count for (kind, *_), count in model.expected.items() if kind.endswith(("failed", "refused")))
        written = lambda: sum(e["outcome"] == "failure" for e in installation.events()) >= refusals  # noqa: E731
        eventually("refusals are written", written)
        events = installation.events()
    difference = found(events)
    difference.subtract(model.expected)
    assert {key: count for key, count in difference.items() if count} == {}
    assert model.gone
    for event in events:
        assert event["at"].endswith("Z")
        if event["actor"]["type"] != "service":
            # The address is that of whoever did it, or of the subject if that is unknown. It goes with their account.
            person = event["actor"].get("id", event.get("subject"))
            shown = None if person in model.gone else "127.0.0.1"
            assert event.get("address") == shown and event["requestId"], event
    report = installation.verify("--checkpoint", installation.checkpoints)
    assert report["findings"] == [] and report["waiting"] == 0
    assert report["size"] == len(installation.events()) == report["stored"]
    kinds = [event["kind"] for event in installation.events()]
    assert kinds.count("service_started") == kinds.count("service_stopped") == 1


def test_a_crash_at_any_moment_loses_no_event_of_an_acknowledged_change(installation):
    acknowledged, lock = [], threading.Lock()
    service = installation.service()
    with service:
        for round_number in range(4):
            stopped = threading.Event()

            def register(name):
                try:
                    with Client(service) as client:
                        for number in range(10_000):
                            if stopped.is_set():
                                return
                            status, body = client.register(f"{name}-{number}@example.com")
                            if status == 201:
                                with lock:
                                    acknowledged.append(body["id"])
                except (OSError, ValueError):
                    # The server was killed in the middle of an answer.
                    return

            names = [f"r{round_number}-{thread}" for thread in range(3)]
            threads = [threading.Thread(target=register, args=(name,)) for name in names]
            before = len(acknowledged)
            for thread in threads:
                thread.start()
            eventually("changes are acknowledged", lambda: len(acknowledged) > before + random.randint(5, 40))
            # At any moment, also while events are numbered.
            if random.random() < 0.5:
                installation.command("audit", "checkpoint")
            service.kill()
            stopped.set()
            for thread in threads:
                thread.join()
            service.launch()
            service.wait()
    recorded = {event["subject"] for event in installation.events("--kind", "registered")}
    assert set(acknowledged) <= recorded
    assert len(acknowledged) > 20
    report = installation.verify("--checkpoint", installation.checkpoints)
    assert report["findings"] == [], report


def test_a_flood_of_failures_is_recorded_in_part_and_the_rest_is_counted(sqlite):
    with sqlite.service() as service, Client(service) as client:
        for number in range(700):
            fields = {"email": f"nobody-{number}@example.com", "code": "1-1-1", "password": PASSWORD}
            status, body = client.call("POST", "/api/auth/reset", fields=fields)
            assert status in (401, 404), body
    events = sqlite.events()
    recorded = [event for event in events if event["outcome"] == "failure"]
    left_out = [event["details"]["counts"] for event in events if event["kind"] == "events_left_out"]
    assert len(recorded) >= 500 and left_out, (len(recorded), left_out)
    for kind in {event["kind"] for event in recorded}:
        written = sum(event["kind"] == kind for event in recorded)
        assert written + sum(counts.get(kind, 0) for counts in left_out) == 700, kind
    assert sqlite.verify("--checkpoint", sqlite.checkpoints)["findings"] == []


def test_a_refusal_by_a_guard_says_who_was_refused_and_where_from(sqlite):
    (sqlite.folder / "doorward.toml").write_text("""guards.staff.allow = '"staff" in user.roles'\n""")
    with sqlite.service() as service, Client(service) as client:
        _, body = client.register("ada@example.com")
        assert client.call("GET", "/api/auth/staff", body["token"])[0] == 401
        # Who is not signed in is sent to sign in, which is no event.
        assert client.call("GET", "/api/auth/staff")[0] == 401
    (event,) = sqlite.events("--kind", "guard_refused")
    assert event["subject"] == event["actor"]["id"] == body["id"] and event["outcome"] == "failure"
    assert event["address"] == "127.0.0.1" and event["requestId"]
    assert event["details"]["guard"] == "staff" and event["details"]["decision"]


def test_an_export_is_an_event_which_it_contains(installation):
    with installation.service() as service, Client(service) as client:
        _, body = client.register("ada@example.com")
        for _ in range(3):
            assert client.call("GET", "/api/me/export", body["token"])[0] == 200
        exported = [json.loads(line) for line in installation.run("audit", "export").splitlines()]
        assert exported[-1]["kind"] == "audit_exported" and exported[-1]["actor"]["type"] == "operator"
        installation.run("audit", "export", "--format", "ocsf", "--kind", "audit_exported")
        installation.run("export", "--user", "ada@example.com")
    # Without a server, too.
    installation.run("export", installation.folder / "users.jsonl")
    events = installation.events()
    found = Counter((event["kind"], event["actor"]["type"], event.get("subject")) for event in events)
    assert found[("audit_exported", "operator", None)] == 2
    assert found[("account_exported", "user", body["id"])] == 3
    assert found[("account_exported", "operator", body["id"])] == 1
    assert found[("users_exported", "operator", None)] == 1
    formats = [event["details"]["format"] for event in events if event["kind"] == "audit_exported"]
    assert formats == ["jsonl", "ocsf"]
    assert installation.verify("--checkpoint", installation.checkpoints)["findings"] == []


def test_orders_of_the_operator_name_them_and_their_settings(sqlite):
    with sqlite.service() as service, Client(service) as client:
        _, body = client.register("ada@example.com")
        sqlite.run("user", "grant", "ada@example.com", "staff")
        sqlite.run("keys", "rotate")
        (sqlite.folder / "doorward.toml").write_text("guards.door.allow = 'true'")
    # Without a server, too.
    sqlite.run("user", "disable", "ada@example.com")
    events = {event["kind"]: event for event in sqlite.events()}
    for kind in ("role_granted", "signing_key_rotated", "user_disabled"):
        assert events[kind]["actor"]["type"] == "operator" and events[kind]["actor"]["name"], events[kind]
    assert events["role_granted"]["details"] == {"role": "staff"}
    assert events["role_granted"]["subject"] == events["user_disabled"]["subject"] == body["id"]
    started = events["service_started"]["details"]
    assert started["settings"]["audit.checkpoint_file"] == str(sqlite.checkpoints)
    report = sqlite.verify("--checkpoint", sqlite.checkpoints)
    assert (report["findings"], report["waiting"]) == ([], 1)
    about = sqlite.events("--user", "ada@example.com")
    assert [event["kind"] for event in about] == ["registered", "role_granted", "user_disabled"]
