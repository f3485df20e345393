"""HTTP/2: pages, cookies, guards, limits, and the end of a connection."""

import contextlib
import json
import re
import threading

import h2.errors
import h2.exceptions
import h2.settings
import httpx
import pytest
from http2_client import FrameClient, Http2Client
from hyperframe.frame import DataFrame
from support import HOST
from tls_service import PATIENCE_SECONDS, wait_until

JSON = [("content-type", "application/json")]
PASSWORD = "correct horse"


@contextlib.contextmanager
def connected(service, settings=None):
    with service.open(protocols=["h2"]) as connection:
        yield Http2Client(connection, settings)


@pytest.fixture
def browser(service):
    # httpx needs the versions of both, and the default host.
    options = {"http2": True, "http1": False, "verify": service.context(["h2"]), "timeout": PATIENCE_SECONDS}
    with httpx.Client(base_url=service.url, **options) as client:
        yield client


def register(client, email):
    answer = client.post("/api/user", json={"name": "Ada Lovelace", "email": email, "password": PASSWORD})
    assert (answer.status_code, answer.http_version) == (201, "HTTP/2"), answer.text
    return answer.json()


def test_the_api_and_a_guard(browser):
    user = register(browser, "ada@example.com")
    admitted = browser.get("/api/auth/guard", headers={"Authorization": f"Bearer {user['token']}"})
    assert (admitted.status_code, admitted.http_version) == (200, "HTTP/2")
    refused = browser.get("/api/auth/guard", headers={"Authorization": "Bearer x"})
    assert (refused.status_code, refused.http_version) == (401, "HTTP/2")
    assert "x-request-id" in refused.headers


def test_a_person_signs_in_on_the_page(browser, service):
    register(browser, "grace@example.com")
    page = browser.get("/sign-in")
    assert page.status_code == 200
    assert "strict-transport-security" in page.headers
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text))
    form = fields | {"email": "grace@example.com", "password": PASSWORD}
    origin = {"Origin": service.url, "Sec-Fetch-Site": "same-origin"}
    signed_in = browser.post("/sign-in", data=form, headers=origin)
    assert signed_in.status_code == 303, signed_in.text
    cookie = signed_in.headers["set-cookie"]
    assert cookie.startswith("__Host-doorward=")
    assert "Secure" in cookie
    assert "grace@example.com" in browser.get("/account").text
    # A form of another site is refused.
    foreign = browser.post("/sign-in", data=form, headers={"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"})
    assert foreign.status_code in (400, 403)


def test_cookies_may_come_one_by_one(browser, service):
    register(browser, "cookie@example.com")
    page = browser.get("/sign-in")
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text))
    form = fields | {"email": "cookie@example.com", "password": PASSWORD}
    signed_in = browser.post("/sign-in", data=form, headers={"Origin": service.url, "Sec-Fetch-Site": "same-origin"})
    session = signed_in.headers["set-cookie"].split(";")[0]
    with connected(service) as client:
        cookies = [("cookie", f"other-{number}=1") for number in range(70)]
        stream = client.request("/account", headers=[*cookies, ("cookie", session)], authority=f"{HOST}:{service.port}")
        status, body = client.answer(stream)
        assert status == 200, body
        assert b"cookie@example.com" in body


def test_what_a_proxy_asks_is_answered(new_service):
    """A proxy that speaks HTTP/2 to Doorward asks a guard about another request."""
    settings = "[guards.staff]\nproxy = 'caddy'\nallow = 'request.path == \"/open\" && request.host == \"app.example\"'\n"
    with new_service(settings=settings) as service, connected(service) as client:
        fields = {"name": "Ada", "email": "ada@example.com"}
        status, body = client.get("/api/user", method="POST", body=json.dumps(fields).encode(), headers=JSON)
        assert status == 201, body
        token = ("authorization", f"Bearer {json.loads(body)['token']}")
        for path, is_admitted in (("/open", True), ("/closed", False)):
            asked = [
                ("x-forwarded-method", "GET"),
                ("x-forwarded-proto", "https"),
                ("x-forwarded-host", "app.example"),
                ("x-forwarded-uri", path),
            ]
            status, body = client.get("/api/auth/staff", headers=[token, *asked])
            assert status == 200 if is_admitted else status in (401, 403), body


def test_another_host_header_than_the_authority_is_refused(service):
    with connected(service) as client:
        # The client library would refuse to send it.
        client.http.config.validate_outbound_headers = False
        assert client.get("/readyz", headers=[("host", "other.example")])[0] == 400
        assert client.get("/readyz", headers=[("host", "localhost")])[0] == 200


def test_heads_and_bodies_are_limited(service):
    with connected(service) as client:
        assert client.get("/readyz", headers=[(f"x-{number}", "1") for number in range(70)])[0] == 431
        body = b"x" * 66_000
        stream = client.request("/api/user", method="POST", headers=JSON, ends=False)
        client.http.send_data(stream, body[:16_000])
        client.flush()
        for start in range(16_000, len(body), 16_000):
            client.read(lambda: client.http.local_flow_control_window(stream) >= 16_000 or stream in client.ended)  # noqa: B023
            if stream in client.ended or client.is_closed:
                break
            with contextlib.suppress(h2.exceptions.StreamClosedError):
                client.http.send_data(stream, body[start : start + 16_000])
                client.flush()
        assert client.answer(stream)[0] == 413
        assert client.get("/readyz")[0] == 200, "the connection is still of use"


def test_more_streams_than_allowed_wait_for_their_turn(service):
    with connected(service) as client:
        assert client.get("/readyz")[0] == 200
        allowed = client.http.remote_settings.max_concurrent_streams
        assert 16 <= allowed <= 100
        streams = [client.request("/readyz") for _ in range(allowed)]
        assert [client.answer(stream)[0] for stream in streams] == [200] * allowed


def test_a_client_that_cancels_all_its_requests_is_disconnected(service):
    """Rapid reset: the requests cost the client nothing, and the server would work for all of them."""
    with connected(service) as client:
        assert client.get("/readyz")[0] == 200
        for _ in range(400):
            try:
                # Sent at once, so that the server has looked at none of them when all are cancelled.
                for _ in range(50):
                    client.http.reset_stream(client.prepare("/readyz"), h2.errors.ErrorCodes.CANCEL)
                client.flush()
            except (OSError, h2.exceptions.ProtocolError):
                break
        client.read(lambda: False)
        assert client.is_closed
    with connected(service) as client:
        assert client.get("/readyz")[0] == 200


def test_a_client_that_does_not_read_its_answer_is_disconnected(service):
    with connected(service, {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 10}) as client:
        client.reads_bodies = False
        stream = client.request("/openapi.json")
        # It closes after ten seconds, although the client is alive.
        client.read(lambda: False)
        assert client.is_closed
        assert stream not in client.ended
        assert len(client.bodies.get(stream, b"")) <= 10


def test_a_body_that_does_not_arrive_is_not_waited_for(service):
    with connected(service) as client:
        stream = client.request("/api/auth/login", method="POST", headers=JSON, body=b"{", ends=False)
        assert client.answer(stream)[0] == 408


def test_streams_in_progress_are_answered_when_the_service_stops(new_service):
    body = json.dumps({"name": "Ada", "email": "ada@example.com", "password": PASSWORD}).encode()
    with new_service() as service, contextlib.ExitStack() as opened:
        client, idle = (FrameClient(opened.enter_context(service.open(protocols=["h2"]))) for _ in range(2))
        client.request(1, "POST", "/api/user", body[:20])
        for other in (client, idle):
            # The service has seen the first stream when a later one is answered.
            other.request(3, "GET", "/readyz")
            other.read(lambda: 3 in other.ended)  # noqa: B023
            assert other.statuses[3] == "200"
        stopping = threading.Thread(target=service.stop)
        stopping.start()
        client.read(lambda: client.goaways)
        assert client.goaways, "told to open no more streams"
        client.send(DataFrame(1, body[20:], flags=["END_STREAM"]))
        client.read(lambda: 1 in client.ended)
        assert client.statuses[1] == "201"
        for other in (client, idle):
            other.read(lambda: False)
            assert other.goaways
        stopping.join(PATIENCE_SECONDS)
        assert not stopping.is_alive()
        assert "stopping with unanswered requests" not in service.log()


def test_a_silent_client_does_not_delay_the_stop(new_service):
    """A client that never acknowledges anything."""
    with new_service() as service, service.open(protocols=["h2"]) as connection:
        Http2Client(connection)
        wait_until(lambda: connection.recv(1), "the settings of the server")
        service.stop()
        assert "stopping with unanswered requests" not in service.log()


def test_http2_is_chosen_during_the_handshake(new_service):
    """A client that has not chosen HTTP/2 during the handshake cannot begin with it."""
    with new_service() as service, service.open() as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert connection.recv(65536) == b""
