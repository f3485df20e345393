"""What the second listener shows, and what the files in deploy/prometheus and docs/metrics.md say about it."""

import json
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

import pytest
from harness import BINARY, HOST, REPOSITORY
from harness.connection import GUARD, LOGIN, get, post
from watched import RULES, WatchedService, alerts, certificate_settings, names, wait_until

PASSWORD = "correct horse battery"
GUARDS = """
[guards.door]
allow = "true"

[guards.watched]
allow = "user.disabled"
mode = "report"
"""
TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
DASHBOARD = REPOSITORY / "deploy" / "prometheus" / "dashboard.json"
PAGE = REPOSITORY / "docs" / "metrics.md"


@pytest.fixture(scope="module")
def service():
    """A service with every metric but those of TLS: mail is written to a folder, and there is a backup."""
    mail = {"DOORWARD_MAIL_URL": "file:mails", "DOORWARD_MAIL_FROM": "Shop <shop@example.com>"}
    with WatchedService(settings=GUARDS, **mail) as service:
        service.back_up()
        yield service


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory):
    with WatchedService(**certificate_settings(tmp_path_factory.mktemp("tls"), days=30)) as service:
        yield service


@pytest.fixture
def every_metric(service, encrypted):
    return service.metrics() + encrypted.metrics()


def ask(service, path, token=None, **headers):
    request = get(path, token)
    for name, value in headers.items():
        request = request.replace(b"\r\n\r\n", f"\r\n{name}: {value}\r\n\r\n".encode())
    with service.connect() as connection:
        return connection.exchange(request)


def decisions(service, guard, decision):
    return service.value(f'doorward_guard_decisions_total{{guard="{guard}",decision="{decision}"}}')


def promtool(*arguments, **options):
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, **options)


def families(text):
    """The metrics that expressions mention, without the suffixes of histograms."""
    mentioned = re.findall(r"\b(?:doorward|http_server|db_client|process)_\w+", text)
    return {re.sub(r"_(bucket|count|sum)$", "", name) for name in mentioned}


def test_every_metric_is_on_the_page_and_every_metric_of_the_page_exists(every_metric):
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| `") and "`/" not in line.split("|")[1]]
    described = {name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])}
    assert names(every_metric) == described


def test_the_types_on_the_page_are_those_of_the_metrics(every_metric):
    for row in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in row.split("|")]
        if len(cells) > 3 and cells[2] in ("counter", "gauge", "histogram"):
            for name in re.findall(r"`(\w+)`", cells[1]):
                assert f"# TYPE {name} {cells[2]}\n" in every_metric


def test_the_dashboard_uses_only_metrics_that_exist(service):
    dashboard = json.loads(DASHBOARD.read_text())
    targets = [target for panel in dashboard["panels"] for target in panel.get("targets", [])]
    assert len(targets) > 20
    used = families("\n".join(target["expr"] for target in targets))
    assert used <= names(service.metrics())


def test_the_rules_use_only_metrics_that_exist(every_metric):
    expressions = re.sub(r"(?m)^ *(summary|description|runbook_url|- alert):.*$", "", RULES.read_text())
    assert families(expressions) <= names(every_metric)


def test_every_alert_is_on_the_page():
    assert re.findall(r"(?m)^### (Doorward\w+)$", PAGE.read_text()) == alerts()


def test_the_runbook_of_each_alert_is_its_section_on_the_installed_page():
    installed = "file:///usr/share/doc/doorward/docs/metrics.md"
    urls = re.findall(r"(?m)^ *runbook_url: (\S+)$", RULES.read_text())
    anchors = {heading.lower().replace(" ", "-") for heading in re.findall(r"(?m)^#+ (.+)$", PAGE.read_text())}
    assert urls == [f"{installed}#{alert.lower()}" for alert in alerts()]
    assert {url.partition("#")[2] for url in urls} <= anchors


def test_promtool_accepts_rules_configuration_and_metrics(service):
    for arguments in (
        ["check", "rules", RULES],
        ["check", "config", RULES.with_name("prometheus.yml")],
        ["test", "rules", Path(__file__).with_name("rules_test.yml")],
    ):
        done = promtool(*arguments)
        assert done.returncode == 0, done.stdout + done.stderr
    done = promtool("check", "metrics", input=service.metrics())
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_format_is_the_one_that_is_asked_for(service):
    _, headers, text = service.fetch("/metrics")
    assert headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE doorward_logins_total counter\n" in text and "# EOF" not in text
    _, headers, text = service.fetch("/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert headers["Content-Type"] == "application/openmetrics-text; version=1.0.0; charset=utf-8"
    assert "# TYPE doorward_logins counter\n" in text and text.endswith("# EOF\n")


def test_the_public_listener_has_no_metrics(service):
    assert ask(service, "/metrics").status == 404
    verbose = ask(service, "/readyz?verbose")
    assert (verbose.status, verbose.body) == (200, b'"ready"')


def test_the_second_listener_has_nothing_else(service):
    for path in (GUARD, LOGIN, "/sign-in", "/"):
        assert service.fetch(path)[0] == 404
    assert service.fetch("/livez")[0] == 200


def test_another_host_than_this_machine_is_refused(service):
    """A web page whose name resolves to a loopback address must not read metrics through a browser."""
    for path in ("/metrics", "/readyz?verbose", "/livez", "/"):
        status, _, text = service.fetch(path, Host=f"evil.example:{service.metrics_port}")
        assert status == 421 and "ask for localhost or an IP address" in text, text
    for host in ("localhost", f"localhost:{service.metrics_port}", "[::1]:9464", HOST):
        assert service.fetch("/metrics", Host=host)[0] == 200


def test_any_host_is_served_on_an_address_that_others_can_reach():
    service = WatchedService()
    service.settings["DOORWARD_METRICS_LISTEN"] = "0.0.0.0:0"
    with service:
        assert service.fetch("/metrics", Host="doorward.internal:9464")[0] == 200


def test_the_expiry_of_the_certificate_is_that_of_the_one_in_force(encrypted):
    expiry = "doorward_tls_certificate_expiry_timestamp_seconds"
    day = 24 * 60 * 60
    assert 29 * day < encrypted.value(expiry) - time.time() <= 30 * day
    certificate_settings(Path(encrypted.settings["DOORWARD_TLS_CERTIFICATE"]).parent, days=90)
    encrypted.run("reload")
    assert 89 * day < encrypted.value(expiry) - time.time() <= 90 * day


def test_readyz_describes_every_part(service):
    status, headers, text = service.fetch("/readyz?verbose")
    assert (status, headers["Content-Type"]) == (200, "text/plain; charset=utf-8")
    assert text == "database: ok\nschema: ok\nkeys: ok\naudit: ok\ndisk: ok\nmail: ok\nready\n"
    assert service.fetch("/readyz")[2] == '"ready"'


def test_what_people_do_is_counted(service):
    before = service.value('doorward_registrations_total{result="registered"}')
    email, token = service.sign_up(PASSWORD)
    assert service.value('doorward_registrations_total{result="registered"}') == before + 1
    wait_until("the mail is written", lambda: service.value('doorward_mails_total{outcome="sent"}') > 0)
    results = ("success", "wrong_password", "unknown_address")
    counts = lambda: [service.value(f'doorward_logins_total{{result="{result}"}}') for result in results]
    earlier = counts()
    with service.connect() as connection:
        for address, password in ((email, PASSWORD), (email, "wrong"), ("nobody@example.com", "wrong")):
            connection.exchange(post(LOGIN, {"email": address, "password": password}))
    assert counts() == [count + 1 for count in earlier]
    admitted = decisions(service, "guard", "admitted")
    assert ask(service, GUARD, token).status == 200
    assert decisions(service, "guard", "admitted") == admitted + 1
    refused = decisions(service, "miles", "refused")
    assert ask(service, "/api/auth/miles", token).status == 401
    assert decisions(service, "miles", "refused") == refused + 1


def test_the_time_of_the_last_backup_is_shown_when_there_is_one():
    metric = "doorward_backup_last_success_timestamp_seconds"
    with WatchedService() as service:
        assert metric not in names(service.metrics())
        assert service.value("doorward_backup_missing") == 1
        before = time.time()
        service.back_up()
        assert service.value("doorward_backup_missing") == 0
        assert before - 1 <= service.value(metric) <= time.time() + 1
        service.set_last_backup("damaged")
        assert metric not in names(service.metrics())


def test_the_disk_the_log_and_the_key_are_shown_as_they_are(service):
    value = service.value
    key, log = service.folder / "signing-key.pem", service.folder / "doorward.db-wal"
    assert value("doorward_signing_key_created_timestamp_seconds") == pytest.approx(key.stat().st_mtime, abs=1)
    assert value("doorward_database_log_bytes") == log.stat().st_size
    free = shutil.disk_usage(service.folder)
    assert 0 < value("doorward_data_folder_free_bytes") < free.total


def test_a_guard_counts_what_it_decides_and_continues_after_a_reload(service):
    _, token = service.sign_up(PASSWORD)
    for path, presented in (("door", token), ("door", None), ("watched", token), ("watched", None)):
        ask(service, f"/api/auth/{path}", presented)
    service.run("reload")
    ask(service, "/api/auth/door", token)
    # The second request of nginx for the same decision.
    ask(service, "/api/auth/door?answer=full")
    assert decisions(service, "door", "admitted") == 2
    assert decisions(service, "door", "unauthenticated") == 1
    assert decisions(service, "watched", "report_only") == 2
    assert decisions(service, "watched", "admitted") == 0


def test_nothing_that_a_client_sends_becomes_a_label(service):
    for path in ("/evil-path", "/api/auth/evil-guard", "/api/user/evil-id", f"{GUARD}/evil-tail", "/sign-in?evil=query"):
        ask(service, path, "evil-token", traceparent="evil-trace", host="evil.example")
    with service.connect() as connection:
        connection.exchange(get("/evil").replace(b"GET", b"EVIL"))
        connection.exchange(post(LOGIN, {"email": "evil@example.com", "password": "evil"}))
    assert "evil" not in service.metrics().lower()


def test_a_trace_is_in_the_log_line_of_its_request(service):
    ask(service, "/api/me", traceparent=f"00-{TRACE}-{SPAN}-01", tracestate="vendor=secret")
    ask(service, GUARD, traceparent=f"00-{TRACE}-{SPAN}-00")
    ask(service, "/api/me", traceparent=f"00-{TRACE}-{'0' * 16}-01")
    ask(service, "/api/me", traceparent="00-not-a-trace")
    traced = lambda: [line for line in service.lines() if line.get("trace_id") == TRACE]
    wait_until("both lines are written", lambda: len(traced()) >= 2)
    assert [(line["route"], line["parent_id"]) for line in traced()] == [("/api/me", SPAN), (GUARD, SPAN)]
    for sent in ("vendor", "not-a-trace", "0" * 16):
        assert sent not in service.output()


def test_the_start_fails_if_the_chosen_address_is_taken(tmp_path):
    with socket.create_server((HOST, 0)) as taken:
        address = f"{HOST}:{taken.getsockname()[1]}"
        command = [BINARY, "--listen", f"{HOST}:0", "--metrics-listen", address]
        done = subprocess.run(command, cwd=tmp_path, env={}, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    assert address in done.stderr and "--metrics-listen" in done.stderr


def test_a_taken_default_port_is_a_warning(tmp_path):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((HOST, 9464))
            taken.listen()
        except OSError:
            # Another program has it, which is as good.
            pass
        service = WatchedService(folder=tmp_path)
        service.settings["DOORWARD_METRICS_LISTEN"] = "auto"
        with service:
            warned = wait_until(
                "the warning", lambda: [line for line in service.lines() if "metrics are not served" in line["message"]]
            )
            assert "--metrics-listen" in warned[0]["message"] and warned[0]["level"] == "WARN"


def test_metrics_can_be_off(tmp_path):
    service = WatchedService(folder=tmp_path)
    service.settings["DOORWARD_METRICS_LISTEN"] = "off"
    with service:
        wait_until("it listens", lambda: any(line["message"] == "listening" for line in service.lines()))
        assert not any("metrics" in line["message"] for line in service.lines())
