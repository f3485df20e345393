"""Corpora of attacks on the files of deploy/, through every proxy, in both forms: upgrades to other protocols, tunnels, and
header names that an app reads as Doorward's."""

import itertools
import re
import shutil
import ssl
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from socket import SHUT_WR

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import pytest
from counts import Count
from harness.ports import reserved_port
from harness.process import PATH
from raw_app import END, RawApp
from sites import APP, Certificate, Sites
from support import KINDS, PROXY_VERSIONS, Server, bearer, connect, send
from versions import one_each

FORGED = "forged"
# The answer of a proxy that keeps the connection open.
HANGS = ["hangs"]


class Target:
    """A proxy before the raw app, with a guard that also admits preflights."""

    def __init__(self, name, port, token, tls=None):
        self.name, self.port, self.token, self.tls = name, port, token, tls
        self.host = f"{tls.host if tls else '127.0.0.1'}:{port}"
        # Both forms of a file have the same rules, and a handshake takes longer than a request.
        self.every = 3 if tls else 1

    def attempt(self, app, method, lines, target=None, version="HTTP/1.1"):
        """Sends a request with these lines, and behind it one without a token. Returns the status and what reached the app."""
        for _ in range(10):
            status, arrivals = self.attempt_once(app, method, lines, target, version)
            # On a busy machine, a proxy may wait too long for Doorward.
            if arrivals or status is None or status < 500:
                break
        return status, arrivals

    def attempt_once(self, app, method, lines, target, version):
        mark = uuid.uuid4().hex
        target = target.format(mark) if target else f"/{mark}"
        head = [f"{method} {target} {version}", f"Host: {self.host}", f"X-Mark: {mark}", *lines]
        behind = [f"GET /{mark}/behind HTTP/1.1", f"Host: {self.host}", f"X-Auth-User-Id: {FORGED}", "Connection: close"]
        answer = b""
        with connect(self.port, tls=self.tls) as connection:
            try:
                connection.sendall("\r\n".join(head).encode("latin-1") + END)
                while END not in answer and (received := connection.recv(65536)):
                    answer += received
                connection.sendall("\r\n".join(behind).encode("latin-1") + END)
                if b"connection: close" in answer.lower():
                    # Envoy would wait a second for this.
                    connection.shutdown(SHUT_WR)
                while connection.recv(65536):
                    pass
            except TimeoutError:
                return None, HANGS
            except OSError:
                # The proxy has closed the connection.
                pass
        status = int(answer.split(b" ")[1]) if answer else None
        return status, app.arrivals(mark)


@pytest.fixture(scope="module")
def raw_app():
    app = RawApp()
    yield app
    app.stop()


@pytest.fixture(scope="module")
def certificate(folder):
    return Certificate.create(folder / "certificate-of-the-attacked")


@pytest.fixture(scope="module", params=one_each(PROXY_VERSIONS, ("", ", TLS")))
def target(request, folder, raw_app, certificate):
    name, _, is_tls = request.param.partition(", ")
    if not is_tls:
        start, doorward = (request.getfixturevalue(fixture) for fixture in ("start_integration", "doorward"))
        integration = start(name, f"attacked-{KINDS[name].style}", app_port=raw_app.port)
        yield Target(request.param, integration.port, doorward.sign_up("Ada").token)
        return
    place = folder / f"attacked sites behind {name}"
    place.mkdir()
    sites = Sites(name, place, raw_app, certificate, "preflight = true")
    yield Target(request.param, sites.port, sites.user("Ada", "staff").token, sites.tls(APP))
    sites.stop()


# --- upgrades --------------------------------------------------------------------------------------------------------

SETTINGS = "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"
SOCKET = ["Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
VALUES = (
    *("websocket", "WebSocket", "WEBSOCKET", "h2c", "H2C", "TLS/1.0", "HTTP/2.0", "connect-udp", "", ","),
    *("websocket, h2c", "h2c, websocket", "websocket,h2c", "h2c,websocket", "WebSocket , H2C", "websocket,,h2c"),
    *(",websocket", "websocket,", "websocket;h2c", "websocket h2c", "websocket\th2c", "websocket/13", "websocket/13, h2c"),
    *('"websocket"', '"websocket", h2c', "xwebsocket", "websocketx", "h2c;websocket", "\twebsocket", "websocket \t", "\th2c"),
)
CONNECTIONS = (
    ["Connection: Upgrade"],
    ["Connection: upgrade, HTTP2-Settings"],
    ["Connection: keep-alive, UPGRADE"],
    ["Connection: HTTP2-Settings", "connection: Upgrade"],
    ["Connection: Upgrade, X-Auth-User-Id, X-Auth-Policy, Upgrade"],
    ["Connection: keep-alive"],
    [],
)


def upgrades():
    """The lines of requests that name protocols, in every order, case, list and repetition."""
    for value, connection in itertools.product(VALUES, CONNECTIONS):
        yield [*connection, f"Upgrade: {value}", SETTINGS, *SOCKET]
    several = [*itertools.product(("websocket", "h2c", "WebSocket, h2c", "h2c,websocket", "TLS/1.0", ""), repeat=2)]
    several += itertools.product(("websocket", "h2c", ""), repeat=3)
    for values, connection in itertools.product(several, CONNECTIONS[:2]):
        yield [*connection, *(f"Upgrade: {value}" for value in values), SETTINGS]
    names = ("Upgrade", "upgrade", "UPGRADE", "uPGRADE")
    for first, second in itertools.product(names, repeat=2):
        for values in (("websocket", "h2c"), ("h2c", "websocket")):
            yield ["Connection: Upgrade", f"{first}: {values[0]}", SETTINGS, f"{second}: {values[1]}"]
    # White space that HTTP/1.1 forbids.
    for line in ("Upgrade : h2c", "Upgrade\t: h2c", " Upgrade: h2c", "Upgrade:h2c\r\n websocket", "Upgrade: websocket\r\n h2c"):
        yield ["Connection: Upgrade", line, SETTINGS]
        yield ["Connection: Upgrade", "Upgrade: websocket", line, SETTINGS]


def faults_of_upgrade(arrivals, protocols):
    """What no request may do: name another protocol to the app, or carry one that no guard has seen."""
    if arrivals == HANGS:
        return arrivals
    faults = []
    for head in arrivals:
        if head.is_tunnelled or head.target.endswith(b"/behind"):
            faults.append("unguarded")
        elif [value.lower() for value in head.all("Upgrade")] not in protocols:
            faults.append(f"Upgrade {head.all('Upgrade')}")
    return faults


def authorization(target):
    return [f"{name}: {value}" for name, value in bearer(target.token)]


def send_all(count, requests, send, faults_of):
    """Sends requests, four at a time. Returns how many reached the app."""
    with ThreadPoolExecutor(4) as pool:
        arrived = 0
        for request, (status, arrivals) in zip(requests, pool.map(send, requests)):
            count.add((request, status), faults_of(arrivals))
            arrived += bool(arrivals)
    count.check()
    return arrived


def test_no_request_upgrades_to_anything_but_a_websocket(raw_app, target):
    requests = [(lines, "HTTP/1.1") for lines in itertools.islice(upgrades(), 0, None, target.every)]
    requests += [(lines, "HTTP/1.0") for lines in itertools.islice(upgrades(), 0, None, 7 * target.every)]

    def send(request):
        lines, version = request
        return target.attempt(raw_app, "GET", [*authorization(target), *lines], version=version)

    count = Count("upgrades", target.name)
    arrived = send_all(count, requests, send, lambda arrivals: faults_of_upgrade(arrivals, ([], ["websocket"])))
    # Envoy refuses most of them, and the others forward most of them without the header.
    assert arrived > 10, f"only {arrived} of {count.tries} requests reached the app"


def test_a_websocket_still_reaches_the_app(raw_app, target):
    for value in ("websocket", "WebSocket"):
        lines = [*authorization(target), "Connection: keep-alive, Upgrade", f"Upgrade: {value}", SETTINGS, *SOCKET]
        status, [head] = target.attempt(raw_app, "GET", lines)
        protocols = [protocol.lower() for protocol in head.all("Upgrade")]
        assert (status, protocols, head.all("HTTP2-Settings")) == (426, ["websocket"], [])
        assert "upgrade" in ", ".join(head.all("Connection")).lower()


def test_a_preflight_upgrades_to_nothing(raw_app, target):
    """A guard with `preflight` admits these without a token."""
    preflight = ["Origin: https://elsewhere.example", "Access-Control-Request-Method: POST"]
    count = Count("upgrades of preflights", target.name)
    status, arrivals = target.attempt(raw_app, "OPTIONS", preflight)
    assert (status, len(arrivals)) == (200, 1)

    def send(lines):
        return target.attempt(raw_app, "OPTIONS", [*preflight, *lines])

    requests = list(itertools.islice(upgrades(), 0, None, target.every))
    send_all(count, requests, send, lambda arrivals: faults_of_upgrade(arrivals, ([],)))


# --- tunnels ---------------------------------------------------------------------------------------------------------


def faults_of_connect(arrivals):
    faults = faults_of_upgrade(arrivals, ([], ["websocket"]))
    return faults or [head.method.decode() for head in arrivals if head.method == b"CONNECT"]


def test_connect_opens_no_tunnel(raw_app, target):
    targets = ("{}.example:443", "127.0.0.1:80", target.host, "/{}", "*", "http://127.0.0.1/{}", "[::1]:443", "{}")
    more = ([], ["Content-Length: 0"], ["Connection: Upgrade", "Upgrade: websocket", *SOCKET], ["Connection: close"])
    known = ([], authorization(target))
    requests = list(itertools.product(("CONNECT", "connect", "Connect"), targets, more, known))[:: target.every]

    def send(request):
        method, address, lines, known = request
        return target.attempt(raw_app, method, [*known, *lines], address)

    send_all(Count("CONNECT", target.name), requests, send, faults_of_connect)
    if target.name.startswith("haproxy"):
        assert target.attempt(raw_app, "CONNECT", authorization(target), target.host)[0] == 405


# --- header names ----------------------------------------------------------------------------------------------------

# Headers in which an app may find an identity, a path or a method.
NAMES = (
    *("X-Auth-User-Id", "X-Auth-Policy", "X-Auth-User-Name", "X-Auth-User-Email", "X-Auth-User-Email-Verified"),
    *("Remote-User", "Remote-Name", "Remote-Email", "Remote-Groups"),
    *("X-Auth-Request-User", "X-Auth-Request-Preferred-Username", "X-Auth-Request-Email", "X-Auth-Request-Groups"),
    *("X-Remote-User", "X-Remote-Name", "X-Remote-Email", "X-Remote-Group", "X-Remote-Groups"),
    *("X-WebAuth-User", "X-WebAuth-Name", "X-WebAuth-Fullname", "X-WebAuth-Email", "X-WebAuth-Role", "X-WebAuth-Groups"),
    *("X-Forwarded-User", "X-Forwarded-Preferred-Username", "X-Forwarded-Email", "X-Forwarded-Groups"),
    *("X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Method", "X-Forwarded-Uri"),
    *("X-Original-Method", "X-Original-URI", "X-Original-URL", "X-Real-IP", "Forwarded"),
    *("X-Rewrite-URL", "X-HTTP-Method", "X-HTTP-Method-Override", "X-Method-Override"),
)
# The other characters that HTTP allows in names.
SEPARATORS = "!#$%&'*+.^_`|~"
FORBIDDEN = "\"(),/:;<=>?@[\\]{} \t\x7f\x80\xff"


def spellings():
    """Lists of names that some app may read as one of `NAMES`."""
    for case in (str, str.lower, str.upper):
        yield [case(name) for name in NAMES]
        yield [case(name) for name in NAMES] * 2
    for separator in SEPARATORS:
        yield [name.replace("-", separator) for name in NAMES]
        yield [name.replace("-", separator, 1).lower() for name in NAMES]
        yield [separator.join(name.rsplit("-", 1)).upper() for name in NAMES]
    for separator in FORBIDDEN:
        yield [NAMES[0].replace("-", separator)]
        yield [f"{NAMES[0]}{separator}"]


def as_variable(name):
    """What CGI and many app servers make of a name."""
    return re.sub("[^a-z0-9]", "_", name.lower())


VARIABLES = {as_variable(name) for name in NAMES}


def faults_of_names(arrivals):
    if arrivals == HANGS:
        return arrivals
    return [
        name
        for head in arrivals
        for name, value in head.headers
        if FORGED in value and as_variable(name) in VARIABLES or head.target.endswith(b"/behind")
    ]


def test_no_header_of_a_client_becomes_one_of_ours(raw_app, target):
    def send(names):
        return target.attempt(raw_app, "GET", [*authorization(target), *(f"{name}: {FORGED}" for name in names)])

    arrived = send_all(Count("header names", target.name), list(spellings()), send, faults_of_names)
    assert arrived >= 6 + 3 * len(SEPARATORS), "names that HTTP allows do not stop a request"


@pytest.mark.parametrize("name", one_each(["nginx", "nginx-newest"]))
def test_nginx_drops_odd_names_whatever_its_other_settings_say(start_integration, doorward, raw_app, name):
    """The server of the file, among settings of somebody who needs such names elsewhere."""
    among = "underscores_in_headers on; ignore_invalid_headers off;"
    proxy = start_integration(name, "attacked-nginx", app_port=raw_app.port, among=among)
    target = Target(f"{name}, settings on", proxy.port, doorward.sign_up("Ada").token)
    test_no_header_of_a_client_becomes_one_of_ours(raw_app, target)


# --- HTTP/2 ----------------------------------------------------------------------------------------------------------


def attempt_over_http2(target, app, pseudo, fields):
    """Sends a request, and through a tunnel one without a token. Returns the status and what reached the app."""
    mark, is_tunnel = uuid.uuid4().hex, (":method", "CONNECT") in pseudo
    configuration = h2.config.H2Configuration(validate_outbound_headers=False, normalize_outbound_headers=False)
    http, status, is_over = h2.connection.H2Connection(configuration), None, False
    with connect_for_http2(target) as connection:
        try:
            http.initiate_connection()
            stream = http.get_next_available_stream_id()
            headers = [(name, value.format(mark)) for name, value in pseudo] + [("x-mark", mark), *fields]
            http.send_headers(stream, headers, end_stream=not is_tunnel)
            if is_tunnel:
                behind = f"GET /{mark}/behind HTTP/1.1\r\nHost: {target.host}\r\nX-Auth-User-Id: {FORGED}\r\n\r\n"
                http.send_data(stream, behind.encode(), end_stream=True)
            connection.sendall(http.data_to_send())
            while not is_over and (received := connection.recv(65536)):
                for event in http.receive_data(received):
                    if isinstance(event, h2.events.ResponseReceived):
                        status = int(dict(event.headers)[b":status"])
                    ends = (h2.events.StreamEnded, h2.events.StreamReset, h2.events.ConnectionTerminated)
                    is_over = is_over or isinstance(event, ends)
                connection.sendall(http.data_to_send())
        except TimeoutError:
            return None, HANGS
        except (OSError, h2.exceptions.ProtocolError):
            # The proxy has closed the connection, or does not speak HTTP/2 without TLS.
            pass
    return status, app.arrivals(mark)


def connect_for_http2(target):
    connection = connect(target.port)
    if not target.tls:
        return connection
    context = ssl.create_default_context(cafile=target.tls.certificate)
    context.set_alpn_protocols(["h2"])
    encrypted = context.wrap_socket(connection, server_hostname=target.tls.host)
    assert encrypted.selected_alpn_protocol() == "h2"
    return encrypted


def test_nothing_gets_past_a_proxy_over_http2(raw_app, target):
    known = [(name.lower(), value) for name, value in bearer(target.token)]
    place = [(":scheme", "https" if target.tls else "http"), (":authority", target.host), (":path", "/{}")]
    get, connects = [(":method", "GET"), *place], (":method", "CONNECT")
    upgrade = [("connection", "upgrade, http2-settings"), ("http2-settings", SETTINGS.partition(" ")[2])]
    requests = [(get, [*known, ("upgrade", value), *upgrade]) for value in ("h2c", "websocket, h2c", "websocket")]
    for address in (target.host, "{}.example:443"):
        requests += [([connects, (":authority", address)], fields) for fields in ([], known)]
    for protocol in ("websocket", "WebSocket", "h2c", "websocket, h2c", "connect-udp", "connect-ip", ""):
        requests += [([connects, (":protocol", protocol), *place], fields) for fields in ([], known)]
    forged = [[(name.replace("-", separator).lower(), FORGED) for name in NAMES] for separator in f"-{SEPARATORS}"]
    requests += [(get, [*known, *names]) for names in forged]

    def send(request):
        for _ in range(10):
            status, arrivals = attempt_over_http2(target, raw_app, *request)
            # On a busy machine, a proxy may wait too long for Doorward.
            if arrivals or status is None or status < 500:
                break
        return status, arrivals

    def faults_of(arrivals):
        return faults_of_connect(arrivals) or faults_of_names(arrivals)

    arrived = send_all(Count("HTTP/2", target.name), requests, send, faults_of)
    if target.tls:
        assert arrived > 0, "what is forged is removed, and the request arrives"


# --- real apps -------------------------------------------------------------------------------------------------------

LIGHTTPD = """
server.modules = ("mod_cgi")
server.bind = "127.0.0.1"
server.port = {port}
server.document-root = "{folder}"
cgi.assign = (".sh" => "/bin/sh")
"""


@pytest.fixture(scope="module")
def lighttpd(folder):
    """An app that prints its environment, as a CGI program of lighttpd."""
    assert shutil.which("lighttpd", path=PATH), "lighttpd is missing; it comes from the Debian package lighttpd"
    place, port = folder / "lighttpd", reserved_port()
    place.mkdir()
    (place / "env.sh").write_text("printf 'Content-Type: text/plain\\n\\n'; env\n")
    (place / "lighttpd.conf").write_text(LIGHTTPD.format(port=port, folder=place))
    process = Server(["lighttpd", "-D", "-f", place / "lighttpd.conf"], place, port, {}, ready=lambda status: True)
    yield process
    process.stop()


@pytest.mark.parametrize("name", one_each(PROXY_VERSIONS))
def test_a_cgi_program_sees_no_forged_identity(start_integration, doorward, lighttpd, name):
    forged = [("X!Auth!User!Id", FORGED), ("X-Auth-User-Id", FORGED)]
    assert f"HTTP_X_AUTH_USER_ID={FORGED}" in send(lighttpd.port, "GET", "/env.sh", forged).body.decode(), "it reads both"
    proxy, user = start_integration(name, f"attacked-{KINDS[name].style}", app_port=lighttpd.port), doorward.sign_up("Ada")
    for separator in f"-{SEPARATORS}":
        headers = [(header.replace("-", separator), FORGED) for header in NAMES]
        answer = send(proxy.port, "GET", "/env.sh", [*headers, *bearer(user.token)])
        environment = answer.body.decode()
        assert answer.status == 200 and f"HTTP_X_AUTH_USER_ID={user.id}\n" in environment, separator
        assert FORGED not in environment, separator


RADICALE = """
[server]
hosts = 127.0.0.1:{port}
[auth]
type = http_x_remote_user
[storage]
filesystem_folder = {folder}/collections
"""


@pytest.fixture(scope="module")
def radicale(folder):
    """A calendar server that believes X-Remote-User."""
    place, port = folder / "radicale", reserved_port()
    place.mkdir()
    (place / "config").write_text(RADICALE.format(port=port, folder=place))
    command = [sys.executable, "-m", "radicale", "--config", place / "config"]
    process = Server(command, place, port, {}, ready=lambda status: True)
    yield process
    process.stop()


@pytest.mark.parametrize("name", one_each(PROXY_VERSIONS))
def test_nobody_signs_in_to_a_calendar_server_as_somebody_else(start_integration, doorward, radicale, name):
    forged = [("X-Remote-User", "victim"), ("Depth", "0")]
    # `victim` owns a calendar only after they were there.
    assert b"/victim/" in send(radicale.port, "PROPFIND", "/victim/", forged).body
    proxy = start_integration(name, f"attacked-{KINDS[name].style}", app_port=radicale.port)
    answer = send(proxy.port, "PROPFIND", "/victim/", [*forged, *bearer(doorward.sign_up("Ada").token)])
    assert answer.status in (401, 403) and b"/victim/" not in answer.body
