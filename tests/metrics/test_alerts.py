"""A Prometheus from packages scrapes services of which each has another trouble, and every alert fires. A service under load without a
trouble causes none."""

import contextlib
import os
import socket
import socketserver
import subprocess
import threading
import time

import pytest
from harness import HOST
from harness.connection import GUARD, LOGIN, Connection, get, post
from harness.ports import reserved_port
from harness.postgres import PostgreSQL
from watched import Prometheus, WatchedService, alerts, certificate_settings, repeat, wait_until

PASSWORD = "correct horse battery"
MAIL = {"DOORWARD_MAIL_FROM": "Shop <shop@example.com>"}

# The service that has the trouble of each alert.
TROUBLES = {
    "DoorwardDown": "killed",
    "DoorwardRestarting": "restarting",
    "DoorwardNotReady": "without-database",
    "DoorwardDatabaseErrors": "without-database",
    "DoorwardServerErrors": "without-database",
    "DoorwardLoginsFailing": "attacked",
    "DoorwardThrottling": "attacked",
    "DoorwardHashQueueFull": "overloaded",
    "DoorwardMailServerDown": "without-mail-server",
    # The outbox is shared, so this alert names no instance.
    "DoorwardOutboxNotDraining": None,
    "DoorwardMailGivenUp": "refused-mail",
    "DoorwardBackupOld": "old-backup",
    "DoorwardNeverBackedUp": "never-backed-up",
    "DoorwardDiskLow": "small-disk",
    "DoorwardDatabaseLogLarge": "large-log",
    "DoorwardSigningKeyOld": "old-key",
    "DoorwardLogLinesDropped": "unread-log",
    "DoorwardConnectionsNearLimit": "many-connections",
    "DoorwardCertificateExpiring": "old-certificate",
    "DoorwardWitnessRefuses": "unknown-to-its-witness",
    "DoorwardWitnessUnreachable": "without-witness",
    "DoorwardCheckpointsNotWritten": "unwritten-checkpoints",
    "DoorwardAuditSecretLost": "lost-secret",
}


class RefusingMailServer(socketserver.ThreadingTCPServer):
    """Refuses every recipient for good."""

    daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            with contextlib.suppress(OSError):
                self.wfile.write(b"220 ready\r\n")
                for line in self.rfile:
                    refused = line.upper().startswith(b"RCPT")
                    self.wfile.write(b"550 5.1.1 nobody has this address\r\n" if refused else b"250 ok\r\n")

    def __init__(self):
        super().__init__((HOST, 0), self.Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def log_in(service, email, password=PASSWORD):
    with service.connect() as connection:
        return connection.exchange(post(LOGIN, {"email": email, "password": password}))


def ask_guard(service, token):
    with service.connect() as connection:
        return connection.exchange(get(GUARD, token))


@pytest.fixture(scope="module")
def stop():
    stop = threading.Event()
    yield stop
    stop.set()


@pytest.fixture(scope="module")
def database():
    with PostgreSQL() as server:
        yield server


@pytest.fixture(scope="module")
def small_disk(tmp_path_factory):
    """A folder on a disk with little space; None if this user may not mount one."""
    folder = tmp_path_factory.mktemp("disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "doorward-test", folder], capture_output=True)
    yield None if mounted.returncode else folder
    if not mounted.returncode:
        subprocess.run(["umount", "--lazy", folder], check=True)


@pytest.fixture(scope="module")
def services(database, stop, small_disk, tmp_path_factory):
    """A service for each trouble, and one without any."""
    fifo = tmp_path_factory.mktemp("log") / "fifo"
    os.mkfifo(fifo)
    # Held open and never read.
    log = os.open(fifo, os.O_RDWR)
    closed_port = reserved_port()
    refusing = RefusingMailServer()
    url = database.url(database.fresh_database())
    services = {
        "loaded": WatchedService(),
        "unknown-to-its-witness": WatchedService(),
        "without-witness": WatchedService(),
        "unwritten-checkpoints": WatchedService(DOORWARD_AUDIT_CHECKPOINT_FILE="missing/checkpoints"),
        "lost-secret": WatchedService(),
        "killed": WatchedService(),
        "restarting": WatchedService(metrics_port=reserved_port()),
        "without-database": WatchedService(database=url),
        "attacked": WatchedService(DOORWARD_THROTTLE_ACCOUNT_FAILURES="5"),
        "overloaded": WatchedService(
            DOORWARD_PASSWORD_THREADS="1", DOORWARD_PASSWORD_MEMORY_KIB="65536", DOORWARD_PASSWORD_PASSES="16"
        ),
        "without-mail-server": WatchedService(DOORWARD_MAIL_URL=f"smtp://{HOST}:{closed_port}", **MAIL),
        "refused-mail": WatchedService(DOORWARD_MAIL_URL=f"smtp://{HOST}:{refusing.server_address[1]}", **MAIL),
        "unread-log": WatchedService(
            port=reserved_port(),
            metrics_port=reserved_port(),
            through=["sh", "-c", f'exec "$0" 2>{fifo}'],
            DOORWARD_LOG="debug",
            DOORWARD_LOG_FORMAT="json",
        ),
        "old-backup": WatchedService(),
        "never-backed-up": WatchedService(),
        "large-log": WatchedService(),
        "old-key": WatchedService(),
        **({"small-disk": WatchedService(folder=small_disk)} if small_disk else {}),
        "many-connections": WatchedService(DOORWARD_LIMITS_CONNECTIONS="16"),
        "old-certificate": WatchedService(**certificate_settings(tmp_path_factory.mktemp("tls"), days=1)),
    }
    with contextlib.ExitStack() as stack:
        stack.callback(os.close, log)
        stack.callback(refusing.server_close)
        stack.callback(refusing.shutdown)
        # It witnesses nobody.
        witness = stack.enter_context(WatchedService())
        key = witness.run("audit", "key", "--witness").strip()
        for name, port in (("unknown-to-its-witness", witness.port), ("without-witness", closed_port)):
            url = f"http://{HOST}:{port}/audit/witness"
            services[name].settings |= {"DOORWARD_AUDIT_WITNESS": url, "DOORWARD_AUDIT_WITNESS_KEY": key}
        for service in services.values():
            service.launch()
            stack.callback(service.__exit__)
        for service in services.values():
            service.wait()
        # Together, because some wait for their last answers.
        stack.callback(lambda: [service.terminate() for service in services.values()])
        stack.callback(stop.set)
        yield services


@pytest.fixture(scope="module")
def prometheus(services, database, stop):
    """Watches all services. The troubles begin when each service was scraped once."""
    load(services["loaded"], stop)
    known = services["without-database"].sign_up(PASSWORD)
    with Prometheus({name: service.metrics_port for name, service in services.items()}) as prometheus:
        services["killed"].kill()
        restarting = restart(services["restarting"], prometheus, stop)
        database.stop()
        fail_without_database(services["without-database"], known, stop)
        attack(services["attacked"], stop)
        overload(services["overloaded"], stop)
        for name in ("without-mail-server", "refused-mail"):
            repeat(stop, services[name].sign_up, pause=0.5)
        services["loaded"].back_up()
        nine_days_ago = time.time() - 9 * 24 * 60 * 60
        services["old-backup"].set_last_backup(int(nine_days_ago * 1000))
        services["never-backed-up"].sign_up()
        grow_log(services["large-log"], stop)
        age_key(services["old-key"])
        (services["lost-secret"].folder / "audit-secret").unlink()
        leave_log_unread(services["unread-log"], stop)
        keep_connections(services["many-connections"], 16, stop)
        yield prometheus
        stop.set()
        restarting.join()


def load(service, stop):
    """What people do every day."""
    email, token = service.sign_up(PASSWORD)
    repeat(stop, lambda: log_in(service, email))
    repeat(stop, lambda: ask_guard(service, token))
    repeat(stop, lambda: ask_guard(service, None), pause=0.1)
    repeat(stop, service.sign_up, pause=0.1)


def restart(service, prometheus, stop):
    """Kills the service and starts it again whenever Prometheus has seen the last start."""

    def start_again():
        started = service.value("process_start_time_seconds")
        if prometheus.query(f'process_start_time_seconds{{instance="restarting"}} == {started!r}'):
            service.kill()
            service.launch()

    return repeat(stop, start_again, pause=0.2)


def fail_without_database(service, known, stop):
    email, token = known
    repeat(stop, lambda: log_in(service, email), pause=0.05)
    repeat(stop, lambda: ask_guard(service, token), pause=0.1)


def attack(service, stop):
    email, _ = service.sign_up(PASSWORD)
    repeat(stop, lambda: log_in(service, email, "a wrong guess"))


def overload(service, stop):
    """Keeps more logins waiting than there are places in the queue."""
    numbers = iter(range(1_000_000))

    def fill():
        waiting = []
        for _ in range(280):
            connection = Connection(service.port)
            email = f"nobody-{next(numbers)}@example.com"
            connection.send(post(LOGIN, {"email": email, "password": PASSWORD}))
            waiting.append(connection)
        for connection in waiting:
            with connection, contextlib.suppress(OSError, IndexError):
                connection.receive()

    for _ in range(2):
        repeat(stop, fill)


def leave_log_unread(service, stop):
    """Causes log lines as fast as possible: many requests are sent before their answers are read."""
    _, token = service.sign_up(PASSWORD)
    requests, address = get(GUARD, token) * 100, (HOST, service.port)

    def ask_often():
        with socket.create_connection(address, 60) as connection:
            connection.sendall(requests)
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(1 << 16):
                pass

    repeat(stop, ask_often, pause=0)


def grow_log(service, stop):
    """Gives the write-ahead log the size of one that is not copied. SQLite does not read beyond its last change."""
    log = service.folder / "doorward.db-wal"

    def grow():
        if log.stat().st_size < 65 << 20:
            os.truncate(log, 65 << 20)

    repeat(stop, grow, pause=0.5)


def age_key(service):
    written = time.time() - 401 * 24 * 60 * 60
    os.utime(service.folder / "signing-key.pem", (written, written))


def keep_connections(service, number, stop):
    """Keeps this many connections open. They are used now and then, because the service closes those that are idle."""
    kept = [service.connect() for _ in range(number)]

    def use():
        for index, connection in enumerate(kept):
            try:
                connection.exchange(get(GUARD))
            except OSError:
                with connection:
                    kept[index] = service.connect()

    use()
    repeat(stop, use, pause=3)


@pytest.mark.long
@pytest.mark.parametrize("alert", alerts())
def test_an_alert_fires_when_its_trouble_occurs(prometheus, services, alert):
    instance = TROUBLES[alert]
    if instance and instance not in services:
        pytest.skip(f"{instance}: only root mounts a small disk")
    fired = lambda: any(found.get("instance") == instance for found in prometheus.fired(alert))
    wait_until(f"{alert} fires for {instance}", fired)


def test_every_alert_has_a_trouble():
    assert sorted(alerts()) == sorted(TROUBLES)


@pytest.mark.long
def test_a_loaded_service_without_a_trouble_causes_no_alert(prometheus, services):
    for alert in alerts():
        if TROUBLES[alert] in (None, *services):
            wait_until(f"{alert} fires", lambda alert=alert: prometheus.fired(alert))
    # A scrape that takes too long is the machine's fault, and two of them are an alert here.
    fired = {found["alertname"] for found in prometheus.fired() if found.get("instance") == "loaded"}
    assert fired <= {"DoorwardDown"}


@pytest.mark.long
def test_prometheus_reads_what_the_load_has_done(prometheus):
    for expression in (
        'doorward_logins_total{result="success"} > 0',
        'doorward_registrations_total{result="registered"} > 0',
        'doorward_guard_decisions_total{guard="guard", decision="admitted"} > 0',
        'doorward_guard_decisions_total{guard="guard", decision="unauthenticated"} > 0',
        'doorward_password_hash_seconds_count > 0',
        'doorward_sessions > 0',
        'http_server_request_duration_seconds_count{http_route="/api/auth/login", http_response_status_class="2xx"} > 0',
        'db_client_operation_duration_seconds_count{db_operation_name="write"} > 0',
    ):
        has_done = f'({expression}) and on (instance) up{{instance="loaded"}}'
        wait_until(expression, lambda query=has_done: prometheus.query(query))


@pytest.mark.long
def test_readyz_names_the_part_that_fails(prometheus, services):
    def described(name, line):
        return lambda: [answer for answer in [services[name].fetch("/readyz?verbose")] if line in answer[2].splitlines()]

    [(status, _, text)] = wait_until(
        "the database fails", described("without-database", "database: The database cannot be read.")
    )
    assert status == 503 and text.endswith("\nnot ready\n"), text
    [(status, _, text)] = wait_until(
        "the mail server fails",
        described("without-mail-server", "mail: The mail server takes no mail: it waits in the outbox."),
    )
    assert status == 200 and text.endswith("\nready\n"), text


@pytest.mark.long
def test_trouble_with_the_trail_is_told_and_leaves_the_instance_ready(prometheus, services):
    for name, trouble in (
        ("unknown-to-its-witness", "The witness refuses to cosign the trail (since 20"),
        ("without-witness", "The witness cannot be reached (since 20"),
        ("unwritten-checkpoints", "The file of checkpoints cannot be written (since 20"),
        ("lost-secret", "The secret of the trail is missing or was replaced (since 20"),
    ):
        told = lambda name=name, trouble=trouble: f"\naudit: {trouble}" in services[name].fetch("/readyz?verbose")[2]
        wait_until(f"{name} tells its trouble", told)
        status, _, text = services[name].fetch("/readyz?verbose")
        assert status == 200 and text.endswith(": see the log.\ndisk: ok\nready\n"), text
        assert services[name].fetch("/readyz")[0] == 200
    assert "\naudit: ok\n" in services["loaded"].fetch("/readyz?verbose")[2]


@pytest.mark.long
def test_prometheus_knows_the_types(prometheus):
    """The content type names the format that the text has."""

    def types():
        known = prometheus.call("metadata")
        # Of OpenMetrics, Prometheus knows a counter by its name without the suffix.
        entries = known.get("doorward_logins", []) + known.get("doorward_logins_total", [])
        return {entry["type"] for entry in entries}

    assert wait_until("Prometheus knows the type of a metric", types) == {"counter"}
