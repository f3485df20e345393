"""The Debian package on a machine with systemd: installed, used, upgraded, removed and purged."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from machine import wait_until

PROBE = Path(__file__).with_name("probe.py")
PASSWORD = "correct horse battery"
DATA = "/var/lib/doorward"
SETTINGS = "/etc/doorward/doorward.toml"

# Booting the machine and upgrading the package on it take minutes.
pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def machine(booted, package, shared):
    """A machine with the package, on which every system call that the unit forbids ends the service."""
    drop_in(booted, "strict", "SystemCallErrorNumber=kill")
    shutil.copy(package, shared / "doorward.deb")
    booted.must("dpkg", "--install", "/mnt/doorward.deb")
    wait_until_ready(booted)
    return booted


def drop_in(machine, name, *lines):
    machine.write(f"/etc/systemd/system/doorward.service.d/{name}.conf", "\n".join(["[Service]", *lines, ""]))
    machine.must("systemctl", "daemon-reload")


def wait_until_ready(machine):
    wait_until(lambda: (machine.http("GET", "/readyz") or [0])[0] == 200, machine.journal)


def register(machine, email, password=PASSWORD):
    status, body = machine.http("POST", "/api/user", {"name": "Ada Lovelace", "email": email, "password": password})
    assert status == 201, body
    return json.loads(body)["token"]


def login(machine, email):
    return machine.http("POST", "/api/auth/login", {"email": email, "password": PASSWORD})[0]


def guard(machine, token, name="guard"):
    return machine.http("GET", f"/api/auth/{name}", headers=[f"Authorization: Bearer {token}"])[0]


def owners(machine, folder):
    """Who owns the files in a folder, and who may do what with them."""
    found = machine.must("find", folder, "-printf", "%u:%g %m %P\n")
    return {name: rights for rights, _, name in (line.rpartition(" ") for line in found.splitlines())}


def test_the_service_runs_after_the_installation_as_its_own_user(machine):
    for unit in ["doorward.service", "doorward.socket"]:
        assert machine.must("systemctl", "is-active", unit) == "active\n"
        assert machine.must("systemctl", "is-enabled", unit) == "enabled\n"
    process = machine.property("MainPID")
    assert machine.must("readlink", f"/proc/{process}/exe") == "/usr/bin/doorward\n"
    assert machine.must("stat", "--format=%U", f"/proc/{process}") == "doorward\n"
    assert owners(machine, SETTINGS) == {"": "root:doorward 640"}
    files = owners(machine, DATA)
    assert files[""] == "doorward:doorward 700"
    assert {"doorward.db", "signing-key.pem", "cookie-secret", "factor-secret", "audit-secret"} < files.keys()
    assert {rights for name, rights in files.items() if name} == {"doorward:doorward 600"}


def test_common_passwords_are_refused(machine):
    body = {"name": "Ada", "email": "common@example.com", "password": "password1"}
    status, answer = machine.http("POST", "/api/user", body)
    assert (status, "Too common" in answer) == (400, True), answer


def test_commands_of_root_use_the_service_and_its_database(machine):
    token = register(machine, "ada@example.com")
    assert guard(machine, token) == 200
    assert "ada@example.com" in machine.must("doorward", "user", "list")
    machine.must("doorward", "user", "logout", "ada@example.com")
    assert guard(machine, token) == 401


def test_files_that_root_creates_belong_to_the_service(machine):
    machine.must("systemctl", "stop", "doorward.socket", "doorward.service")
    assert machine.http("GET", "/readyz") is None
    before = owners(machine, DATA)
    machine.must("doorward", "user", "add", "grace@example.com", "--name", "Grace", "--password-stdin", stdin=PASSWORD)
    machine.must("doorward", "keys", "rotate")
    after = owners(machine, DATA)
    assert len(after) > len(before), after
    assert set(after.values()) == {"doorward:doorward 700", "doorward:doorward 600"}
    machine.must("systemctl", "start", "doorward.service")
    wait_until_ready(machine)
    assert login(machine, "grace@example.com") == 200


def test_a_reload_applies_changed_guards_without_a_restart(machine):
    token, process = register(machine, "alan@example.com"), machine.property("MainPID")
    assert guard(machine, token, "staff") == 404
    settings = machine.must("cat", SETTINGS)
    machine.write(SETTINGS, settings + "\n[guards.staff]\nallow = \"'staff' in user.roles\"\n")
    machine.must("systemctl", "reload", "doorward")
    wait_until(lambda: guard(machine, token, "staff") == 401, machine.journal)
    machine.must("doorward", "user", "grant", "alan@example.com", "staff")
    assert guard(machine, token, "staff") == 200
    assert machine.property("MainPID") == process


def test_a_frozen_service_is_restarted(machine):
    assert machine.property("WatchdogUSec") == "30s"
    drop_in(machine, "watchdog", "WatchdogSec=5")
    machine.must("systemctl", "restart", "doorward")
    wait_until_ready(machine)
    process = machine.property("MainPID")
    # With 0, the whole process group of the command would stop.
    assert process != "0", machine.journal()
    machine.must("kill", "-STOP", process)
    wait_until(lambda: machine.property("MainPID") not in ("0", process), machine.journal)
    assert "watchdog" in machine.journal().lower()
    machine.must("rm", "/etc/systemd/system/doorward.service.d/watchdog.conf")
    machine.must("systemctl", "daemon-reload")
    machine.must("systemctl", "restart", "doorward")
    wait_until_ready(machine)


def test_a_crash_is_followed_by_a_start_and_a_mistake_in_the_settings_is_not(machine):
    process = machine.property("MainPID")
    # More often than systemd allows by default.
    for _ in range(6):
        machine.must("kill", "-KILL", process)
        process = wait_until(lambda: (pid := machine.property("MainPID")) not in ("0", process) and pid, machine.journal)
    wait_until_ready(machine)
    settings = machine.must("cat", SETTINGS)
    machine.write(SETTINGS, settings.replace("[password]", "[passwort]"))
    assert machine.run("systemctl", "restart", "doorward").returncode != 0
    assert (machine.property("ExecMainStatus"), machine.property("ActiveState")) == ("2", "failed"), machine.journal()
    machine.write(SETTINGS, settings)
    machine.must("systemctl", "restart", "doorward")
    wait_until_ready(machine)


def test_the_timer_makes_backups_once_it_is_enabled(machine):
    assert machine.run("systemctl", "is-enabled", "doorward-backup.timer").stdout == "disabled\n"
    machine.must("systemctl", "enable", "--now", "doorward-backup.timer")
    assert machine.must("systemctl", "is-active", "doorward-backup.timer") == "active\n"
    register(machine, "saved@example.com")
    for is_running in [True, False]:
        # The service makes the backup, or the command opens the database itself.
        if not is_running:
            machine.must("systemctl", "stop", "doorward.socket", "doorward.service")
        machine.must("rm", "-rf", "/var/backups/doorward", f"{DATA}/last-backup")
        started = machine.run("systemctl", "start", "doorward-backup.service")
        assert started.returncode == 0, machine.run("journalctl", "--no-pager", "--unit=doorward-backup").stdout
        backups = owners(machine, "/var/backups/doorward")
        [file] = filter(None, backups)
        assert (backups[""], backups[file]) == ("root:root 700", "root:root 600")
        assert " users, " in machine.must("doorward", "backup", "verify", f"/var/backups/doorward/{file}")
        assert owners(machine, DATA)["last-backup"] == "doorward:doorward 600"
    machine.must("systemctl", "disable", "--now", "doorward-backup.timer")
    machine.must("systemctl", "start", "doorward.socket", "doorward.service")
    wait_until_ready(machine)


def test_a_secret_is_read_from_a_credential_of_systemd(machine):
    secret = "s" * 43
    machine.write("/etc/doorward/clients", f"shop:{hashlib.sha256(secret.encode()).hexdigest()}\n")
    machine.must("chmod", "600", "/etc/doorward/clients")
    assert introspect(machine, secret) == 401
    lines = ["LoadCredential=clients:/etc/doorward/clients", "Environment=DOORWARD_CLIENTS_FILE=%d/clients"]
    drop_in(machine, "clients", *lines)
    machine.must("systemctl", "restart", "doorward")
    wait_until_ready(machine)
    assert introspect(machine, secret) == 200
    machine.must("rm", "/etc/doorward/clients", "/etc/systemd/system/doorward.service.d/clients.conf")
    machine.must("systemctl", "daemon-reload")
    machine.must("systemctl", "restart", "doorward")
    wait_until_ready(machine)


def introspect(machine, secret):
    basic = base64.b64encode(f"shop:{secret}".encode()).decode()
    return machine.http("POST", "/oauth/introspect", "token=x", [f"Authorization: Basic {basic}"])[0]


def test_an_upgrade_keeps_data_and_settings_and_refuses_no_connection(machine, newer_package):
    token, process = register(machine, "kept@example.com"), machine.property("MainPID")
    settings = machine.must("cat", SETTINGS)
    command = machine.in_network(sys.executable, PROBE, token)
    probe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert probe.stdout.readline() == "started\n"
        machine.must("dpkg", "--install", f"/mnt/{newer_package.name}")
        wait_until_ready(machine)
    finally:
        counted, _ = probe.communicate("stop\n")
    answers = json.loads(counted)
    assert answers.keys() == {"200"}, answers
    assert answers["200"] > 10
    assert machine.must("dpkg-query", "--show", "--showformat=${Version}", "doorward").endswith("+newer")
    assert machine.property("MainPID") not in ("0", process)
    assert machine.must("cat", SETTINGS) == settings
    assert owners(machine, SETTINGS) == {"": "root:doorward 640"}
    assert guard(machine, token) == 200
    assert login(machine, "kept@example.com") == 200


def test_a_removal_keeps_data_and_settings_and_a_purge_deletes_them(machine, newer_package):
    # No system call was forbidden, or the service would have crashed.
    assert machine.property("NRestarts") == "0", machine.journal()
    register(machine, "last@example.com")
    settings = machine.must("cat", SETTINGS)
    machine.must("dpkg", "--remove", "doorward")
    assert machine.http("GET", "/readyz") is None
    assert machine.run("systemctl", "is-active", "doorward.service", "doorward.socket").stdout == "inactive\ninactive\n"
    assert machine.must("cat", SETTINGS) == settings

    machine.must("dpkg", "--install", f"/mnt/{newer_package.name}")
    wait_until_ready(machine)
    assert login(machine, "last@example.com") == 200

    machine.must("dpkg", "--purge", "doorward")
    assert machine.http("GET", "/readyz") is None
    for left in [DATA, "/etc/doorward", "/usr/bin/doorward", "/lib/systemd/system/doorward.service"]:
        assert machine.run("test", "-e", left).returncode == 1, left
    leftovers = machine.must("find", "/etc/systemd/system", "/var/lib/systemd", "-name", "doorward*", "-not", "-name", "*.d")
    assert leftovers.strip() == ""
    # Files that an operator has given to this user must not become those of the next new user.
    assert machine.must("id", "--user", "--name", "doorward") == "doorward\n"
