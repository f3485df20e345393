"""Whom guards admit while PostgreSQL does not answer, and what /readyz/guards says."""

import json
import threading

from harness.connection import GUARD, LOGIN, get, post
from harness.service import Service
from harness.wait import eventually

PASSWORD = "correct horse battery"


def status(service, request):
    with service.connect() as connection:
        return connection.exchange(request).status


def test_guards_are_not_ready_after_the_grace(server):
    with Service(database=server.url(server.fresh_database()), DOORWARD_DATABASE_OUTAGE_GRACE="1s") as service:
        _, token = service.sign_up()
        assert status(service, get(GUARD, token)) == 200
        assert status(service, get("/readyz/guards")) == 200
        server.stop()
        eventually("the grace has passed", lambda: status(service, get("/readyz/guards")) == 503)
        assert status(service, get(GUARD, token)) == 503
        server.start()
        eventually("guards are ready", lambda: status(service, get("/readyz/guards")) == 200)
        assert status(service, get(GUARD, token)) == 200


def test_a_user_who_signs_in_while_the_database_hangs_keeps_the_grace(server):
    """The login waits for a lock when the server stops answering, so its outcome is unknown."""
    database = server.fresh_database()
    with Service(database=server.url(database), DOORWARD_DATABASE_OUTAGE_GRACE="1h") as service:
        email, token = service.sign_up(PASSWORD)
        assert status(service, get(GUARD, token)) == 200
        answers = []
        with server.connect(database) as session:
            session.query("BEGIN")
            session.query("SELECT id FROM users FOR UPDATE")
            login = post(LOGIN, {"email": email, "password": PASSWORD})
            signing_in = threading.Thread(target=lambda: answers.append(status(service, login)))
            signing_in.start()
            waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'"
            eventually("the login waits", lambda: server.query(waits))
            server.freeze()
            try:
                signing_in.join()
                assert answers == [503]
                for _ in range(20):
                    assert status(service, get(GUARD, token)) == 200
                assert status(service, get("/readyz/guards")) == 200
            finally:
                server.thaw()
        eventually("the database is back", lambda: status(service, get("/readyz")) == 200)
        assert status(service, get(GUARD, token)) == 200


def test_a_user_who_signs_out_while_the_database_hangs_is_not_admitted(server):
    """It is unknown whether the session has ended, so it counts as ended."""
    database = server.fresh_database()
    with Service(database=server.url(database), DOORWARD_DATABASE_OUTAGE_GRACE="1h") as service:
        _, token = service.sign_up()
        assert status(service, get(GUARD, token)) == 200
        answers = []
        with server.connect(database) as session:
            session.query("BEGIN")
            session.query("SELECT id FROM users FOR UPDATE")
            logout = post("/api/auth/logout", {}, token)
            signing_out = threading.Thread(target=lambda: answers.append(status(service, logout)))
            signing_out.start()
            waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%FOR UPDATE%'"
            eventually("the logout waits", lambda: server.query(waits))
            server.freeze()
            try:
                signing_out.join()
                assert answers == [503]
                assert status(service, get(GUARD, token)) == 503
            finally:
                server.thaw()


def test_who_has_just_signed_in_is_known_to_the_instance_that_wrote_it(server, instances):
    """Nobody of them was guarded before the outage."""
    one, two = instances
    email, token = one.sign_up(PASSWORD)
    tokens = {"registered": one.sign_up()[1]}
    with one.connect() as connection:
        answer = connection.exchange(post(LOGIN, {"email": email, "password": PASSWORD}))
        tokens["signed in"] = json.loads(answer.body)["token"]
        answer = connection.exchange(post("/api/auth/refresh", {}, one.sign_up()[1]))
        tokens["refreshed"] = json.loads(answer.body)["token"]
        # Who has signed out or been disabled since is not.
        ended = one.sign_up()[1]
        assert connection.exchange(post("/api/auth/logout", {}, ended)).status == 204
    disabled, refused = one.sign_up()
    one.run("user", "disable", disabled)
    eventually("it is disabled", lambda: status(one, get(GUARD, refused)) == 401)
    server.stop()
    for service in instances:
        eventually("an instance is not ready", lambda: status(service, get("/readyz")) == 503)
    for how, known in tokens.items():
        assert status(one, get(GUARD, known)) == 200, how
        assert status(two, get(GUARD, known)) == 503, how
    for unknown in (ended, refused):
        assert status(one, get(GUARD, unknown)) in (401, 503)
    server.start()
