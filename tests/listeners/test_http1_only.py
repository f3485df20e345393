"""HTTP/1.1 is the only version: HTTP/2 can neither be chosen in a handshake nor begun on a connection, with TLS or without."""

import re
import socket
import ssl

import httpx
import pytest
from harness import HOST, PATIENCE_SECONDS
from harness.service import Service

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# An empty SETTINGS frame, with which every client begins.
SETTINGS = bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
PASSWORD = "correct horse"


@pytest.fixture(scope="module")
def plain_service(tmp_path_factory):
    with Service(tmp_path_factory.mktemp("plain")) as service:
        yield service


@pytest.fixture(params=["tls", "plain"])
def connection(request):
    if request.param == "tls":
        with request.getfixturevalue("service").open() as encrypted:
            encrypted.settimeout(PATIENCE_SECONDS)
            yield encrypted
    else:
        port = request.getfixturevalue("plain_service").port
        with socket.create_connection((HOST, port), PATIENCE_SECONDS) as plain:
            yield plain


def received(connection):
    """Everything until the server closes the connection."""
    answer = b""
    try:
        while more := connection.recv(65536):
            answer += more
    # Bytes that the server has not read reset the connection.
    except ConnectionResetError:
        pass
    return answer


def test_http2_is_not_negotiated(service):
    with service.open(protocols=["h2", "http/1.1"]) as connection:
        assert connection.selected_alpn_protocol() == "http/1.1"
    with service.open(protocols=[]) as connection:
        assert connection.selected_alpn_protocol() is None
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"), service.open(protocols=["h2"]):
        pass


def test_a_connection_that_begins_with_http2_is_closed(connection):
    connection.sendall(PREFACE + SETTINGS)
    answer = received(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 "), answer


def test_a_request_to_change_to_http2_is_answered_in_http1(connection):
    upgrade = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"]
    head = ["GET /readyz HTTP/1.1", "Host: localhost", *upgrade, "", ""]
    connection.sendall("\r\n".join(head).encode())
    answer = connection.recv(65536)
    assert answer.startswith(b"HTTP/1.1 200 "), answer
    connection.sendall(PREFACE + SETTINGS)
    answer = received(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 "), answer


def test_a_person_signs_in_on_the_page(service):
    with httpx.Client(base_url=service.url, verify=service.context(["http/1.1"]), timeout=PATIENCE_SECONDS) as browser:
        user = {"name": "Grace Hopper", "email": "grace@example.com", "password": PASSWORD}
        registered = browser.post("/api/user", json=user)
        assert (registered.status_code, registered.http_version) == (201, "HTTP/1.1"), registered.text
        page = browser.get("/sign-in")
        assert page.status_code == 200
        assert "strict-transport-security" in page.headers
        fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text))
        form = fields | {"email": "grace@example.com", "password": PASSWORD}
        own = {"Origin": service.url, "Sec-Fetch-Site": "same-origin"}
        signed_in = browser.post("/sign-in", data=form, headers=own)
        assert signed_in.status_code == 303, signed_in.text
        cookie = signed_in.headers["set-cookie"]
        assert cookie.startswith("__Host-doorward=")
        assert "Secure" in cookie
        assert "grace@example.com" in browser.get("/account").text
