"""Plants one mistake at a time. Each must be found by its name, and no other one must be reported."""

import contextlib
import json
import os
import re
import shutil
import socket
import sqlite3
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from harness import BINARY, REPOSITORY
from harness.ports import reserved_port
from harness.postgres import PASSWORD, ROLE, PostgreSQL, debian
from harness.service import Service
from harness.wait import eventually
from setup import Doctor, OurProxy, serve, variables

# Flags for a command only, so the running server has another value.
CHANGED = "settings-changed"
# No finding: on an address of loopback people sign in without passkeys.
NOTE = "passkeys are not offered, because the host of public_url is an IP address"
QUIET = f"note: {NOTE}\nno problems found\n"


def test_a_good_set_up_is_quiet(site):
    done = site.doctor.run()
    assert (done.returncode, done.stdout) == (0, "no problems found\n")
    done = site.doctor.run("--verbose")
    checked = [line for line in done.stdout.splitlines() if line.startswith("checked: ")]
    assert len(checked) > 10 and done.returncode == 0, done.stdout
    for part in ("leads to this server", "password hash", "valid for more than 14 days", "mail server", "disk"):
        assert any(part in line for line in checked), (part, done.stdout)


def test_a_server_that_is_reached_without_a_proxy_is_quiet(site, tmp_path, write_settings):
    port = reserved_port()
    settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", f"sqlite://{tmp_path}/data/doorward.db")
    with serve(tmp_path, settings, port):
        doctor = Doctor(settings, site.authority)
        done = doctor.run()
        assert (done.returncode, done.stdout) == (0, QUIET)
        assert json.loads(doctor.run("--json").stdout)["notes"] == [NOTE]


def test_the_text_names_the_mistake_and_what_to_do(site):
    done = site.doctor.run(site.behind("elsewhere on the network"))
    assert done.returncode == 1
    assert "error: the proxy 127.0.0.9 is not in trusted_proxies" in done.stdout, done.stdout
    assert '\n    add "127.0.0.9" to trusted_proxies' in done.stdout, done.stdout
    assert done.stdout.endswith("\n1 error, 1 warning\n"), done.stdout


@pytest.mark.parametrize(
    "proxy, found",
    [
        ("appending", set()),
        ("hiding", {"proxy-hides-clients"}),
        ("passing", {"proxy-forgeable"}),
        ("passing only", {"proxy-hides-clients", "proxy-forgeable"}),
        ("plain scheme", {"proxy-scheme"}),
        ("elsewhere on the network", {"proxy-untrusted"}),
        ("another site", {"public-url-elsewhere"}),
        ("expired", {"certificate-expired"}),
        ("expiring", {"certificate-expires-soon"}),
        ("other name", {"certificate-name"}),
        ("self-signed", {"certificate-untrusted"}),
    ],
)
def test_mistakes_of_the_proxy(site, proxy, found):
    assert set(site.doctor.findings(site.behind(proxy))) == found | {CHANGED}


def test_a_proxy_that_leads_to_another_server(site, tmp_path, write_settings):
    port = reserved_port()
    settings = write_settings(tmp_path, port, f"http://127.0.0.1:{site.port}", f"sqlite://{tmp_path}/data/doorward.db")
    with serve(tmp_path, settings, port):
        found = Doctor(settings, site.authority).findings()
    assert set(found) == {"public-url-elsewhere"}
    assert "another server" in found["public-url-elsewhere"]["problem"]


def test_trusted_proxies_that_trust_a_client(site, tmp_path, write_settings):
    client, port = "198.51.100.7", reserved_port()
    with OurProxy(port, client) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{proxy.server_port}"
        settings = write_settings(tmp_path, port, url, f"sqlite://{tmp_path}/data/doorward.db")
        good = settings.read_text()
        doctor = Doctor(settings, site.authority)
        with serve(tmp_path, settings, port):
            assert doctor.findings() == {}
        settings.write_text(good.replace('["127.0.0.1"]', '["127.0.0.1", "198.51.100.0/24"]'))
        with serve(tmp_path, settings, port):
            found = doctor.findings()
        proxy.shutdown()
    assert set(found) == {"proxies-too-wide"}
    assert client in found["proxies-too-wide"]["problem"], found


def test_a_port_that_another_program_has(site, tmp_path, write_settings):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", f"sqlite://{tmp_path}/data/doorward.db")
        doctor = Doctor(settings, site.authority)
        found = doctor.findings()
        assert set(found) == {"server-not-running", "port-taken"}
        assert f"(process {os.getpid()}) listens on 127.0.0.1:{port}" in found["port-taken"]["problem"], found
        found = doctor.findings("--listen=127.0.0.1:1", f"--metrics-listen=127.0.0.1:{port}")
        assert "metrics.listen" in found["port-taken"]["problem"], found
    # Another program answers where metrics would be.
    with OurProxy(site.port, "127.0.0.1") as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        found = site.doctor.findings(f"--metrics-listen=127.0.0.1:{other.server_port}")
        other.shutdown()
    assert set(found) == {"port-taken", CHANGED}


def test_a_clock_that_differs_from_that_of_the_proxy(site):
    with OurProxy(site.port, seconds_late=3600) as proxy:
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        found = site.doctor.findings(f"--public-url=http://127.0.0.1:{proxy.server_port}")
        proxy.shutdown()
    assert set(found) == {"clock-public", CHANGED}
    seconds = int(re.search(r"is (\d+) s ahead of", found["clock-public"]["problem"])[1])
    assert 3500 < seconds < 3700, found


@pytest.mark.parametrize(
    "flags, found",
    [
        (["--token-lifetime=2h"], {CHANGED}),
        (["--public-url=https://localhost:1"], {"public-url-unreachable", CHANGED}),
        (["--public-url=http://0.0.0.0:1"], {"public-url-plain", "public-url-unreachable", CHANGED}),
        (["--listen=0.0.0.0:3000", "--trusted-proxies=127.0.0.1", "--public-url=http://localhost:1"],
         {"exposed-without-tls", "public-url-unreachable", CHANGED}),
        (["--listen=0.0.0.0:3000", "--trusted-proxies=10.0.0.1", "--public-url=auto", "--mail-url=none"],
         {"public-url-missing", CHANGED}),
        (["--password-memory-kib=7168", "--password-passes=1"], {"hash-weak", CHANGED}),
        (["--password-memory-kib=1048576", "--password-threads=256"], {"hash-memory", CHANGED}),
        (["--mail-url=smtp://127.0.0.1:1"], {"mail-unreachable", CHANGED}),
        (["--mail-url=none", "--invitations-allow=true"], {"mail-missing", CHANGED}),
        (["--listen=0.0.0.0:3000"], {"listen-everywhere", CHANGED}),
        (["--metrics-listen=[::]:9464"], {"metrics-everywhere", CHANGED}),
        (["--token-lifetime=30d", "--session-lifetime=1d"], {"token-lifetime", CHANGED}),
        (["--trusted-proxies=0.0.0.0/0"], {"proxies-too-wide", CHANGED}),
    ],
)  # fmt: skip
def test_mistakes_in_the_settings(site, flags, found):
    assert set(site.doctor.findings(*flags)) == found


def test_settings_that_cannot_be_used(site):
    found = site.doctor.findings(DOORWARD_TOKN_LIFETIME="1h")
    assert set(found) == {"settings-invalid"}
    assert "did you mean DOORWARD_TOKEN_LIFETIME?" in found["settings-invalid"]["problem"]


def test_a_variable_without_the_prefix(site):
    assert set(site.doctor.findings(doorward_listen="127.0.0.1:80")) == {"variable-ignored"}


@pytest.mark.parametrize(
    "variable, value",
    [
        ("TOKEN_LIFETIME", "1h"),
        ("LISTEN", "127.0.0.1:8080"),
        ("DATABASE_URL", "postgres://shop@db.example.com/shop"),
        ("MAIL_URL", "smtp://mail.example.com"),
        ("PUBLIC_URL", "https://shop.example.com"),
    ],
)
def test_a_variable_of_a_setting_without_any_prefix(site, tmp_path, variable, value):
    # The settings of the site have all of these but one.
    found = site.doctor.findings(**{variable: value})
    assert set(found) == ({"variable-ignored"} if variable == "TOKEN_LIFETIME" else set())
    bare = tmp_path / "doorward.toml"
    bare.write_text("")
    doctor = Doctor(bare, site.authority)
    found = doctor.findings(cwd=tmp_path, **{variable: value})
    assert variable in found["variable-ignored"]["problem"], found
    assert f"DOORWARD_{variable}" in found["variable-ignored"]["advice"], found
    # It can only be for another program.
    assert "variable-ignored" not in doctor.findings(cwd=tmp_path, **{variable: "elsewhere"})


def test_a_start_mentions_such_a_variable_and_does_not_fail():
    with Service(TOKEN_LIFETIME="1h", MAIL_URL="none of ours") as service:
        lines = [json.loads(line) for line in service.output().splitlines()]
    mentioned = [(line["level"], line["variable"]) for line in lines if "variable" in line]
    assert mentioned == [("INFO", "TOKEN_LIFETIME")], lines


def test_modes_of_files(site):
    data = site.folder / "data"
    key = data / "signing-key.pem"
    for path, mode, name in [
        (data, 0o777, "folder-writable"),
        (key, 0o644, "file-readable"),
        (site.settings, 0o666, "settings-writable"),
    ]:
        before = path.stat().st_mode
        path.chmod(mode)
        try:
            found = site.doctor.findings()
        finally:
            path.chmod(before)
        assert set(found) == {name}
        assert str(path) in found[name]["advice"], found
    if os.geteuid() == 0:
        os.chown(key, 65534, 65534)
        try:
            found = site.doctor.findings()
        finally:
            os.chown(key, 0, 0)
        assert set(found) == {"file-owner"}


def test_a_backup_that_is_old_or_missing(site):
    last = site.folder / "data" / "last-backup"
    before = last.read_text()
    ten_days_ago = int(time.time() - 10 * 24 * 60 * 60) * 1000
    try:
        last.write_text(f"{ten_days_ago} \n")
        found = site.doctor.findings()
        assert set(found) == {"backup-old"}
        assert found["backup-old"]["problem"] == "the last backup is 10 days old"
        report = json.loads((site.folder / "data" / "doctor-report").read_text())
        assert [finding.partition(" [")[0] for finding in report["findings"]] == ["warning: the last backup is 10 days old"]
        last.rename(site.folder / "last-backup")
        assert set(site.doctor.findings()) == {"backup-missing"}
        # What Litestream leaves beside a database that it copies.
        litestream = site.folder / "data" / ".doorward.db-litestream"
        litestream.mkdir()
        assert site.doctor.findings() == {}
        litestream.rmdir()
        # Written anew, it would have another mode.
        (site.folder / "last-backup").rename(last)
    finally:
        last.write_text(before)


def test_times_of_files(site):
    key = site.folder / "data" / "signing-key.pem"
    now = time.time()
    for moment, name in [(now + 3600, "clock-set-back"), (now - 500 * 86400, "key-old")]:
        os.utime(key, (moment, moment))
        try:
            found = site.doctor.findings()
        finally:
            os.utime(key, (now, now))
        assert set(found) == {name}


def test_a_key_that_was_deleted_under_the_running_server(site):
    key = site.folder / "data" / "signing-key.pem"
    moved = key.rename(key.with_suffix(".moved"))
    try:
        found = site.doctor.findings()
    finally:
        moved.rename(key)
    assert set(found) == {"key-missing"}
    assert "--new-signing-key" in found["key-missing"]["advice"]


def test_files_of_secrets(site, tmp_path):
    secret = tmp_path / "password"
    flags = ["--mail-url=none", "--mail-user=shop", f"--mail-password-file={secret}"]
    assert set(site.doctor.findings(*flags)) == {"secret-missing", CHANGED}
    secret.write_text("geheim")
    secret.chmod(0o644)
    assert set(site.doctor.findings(*flags)) == {"secret-readable", CHANGED}
    found = site.doctor.findings(f"--tls-certificate={secret}", f"--tls-key={secret}")
    assert found["secret-readable"]["problem"].startswith("tls.key: "), found
    secret.chmod(0o640)
    assert set(site.doctor.findings(*flags)) == {CHANGED}


def test_guards(site):
    before = site.settings.read_text()
    guard = "\n[guards.ours]\nallow = 'user.email.endsWith(\"@example.com\")'\n"
    browsers = "\n[guards.app]\nallow = 'true'\nproxy = 'nginx'\norigins = ['https://localhost:1']\nmode = 'report'\n"
    verified = "\n[guards.verified]\nallow = 'user.emailVerified'\n"
    try:
        site.settings.write_text(before + guard)
        assert set(site.doctor.findings()) == {"guards-changed", "guard-warning"}
        site.settings.write_text(before + verified)
        assert set(site.doctor.findings("--mail-url=none")) == {"guards-changed", "mail-missing", CHANGED}
        site.settings.write_text(before + browsers)
        subprocess.run([BINARY, "reload", "--config", site.settings], check=True, env=variables(), capture_output=True)
        assert set(site.doctor.findings()) == {"guard-browsers"}
    finally:
        site.settings.write_text(before)
        subprocess.run([BINARY, "reload", "--config", site.settings], check=True, env=variables(), capture_output=True)


class Provider(ThreadingHTTPServer):
    """A provider that describes itself, with a clock that is late."""

    def __init__(self):
        self.seconds_late, self.knows_pkce, self.issuer = 0, True, None
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                body = json.dumps(provider.answer(self.path)).encode()
                self.send_response_only(200)
                self.send_header("Date", self.date_time_string(time.time() - provider.seconds_late))
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"

    def __enter__(self):
        threading.Thread(target=self.serve_forever).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()

    def answer(self, path):
        if path == "/keys":
            # Of RFC 7517.
            x, y = "MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4", "4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM"
            return {"keys": [{"kty": "EC", "crv": "P-256", "x": x, "y": y, "alg": "ES256", "use": "sig", "kid": "1"}]}
        return {
            "issuer": self.issuer or self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        } | ({"code_challenge_methods_supported": ["S256"]} if self.knows_pkce else {})


def test_logins(site, tmp_path):
    before, secret = site.settings.read_text(), tmp_path / "work.secret"
    secret.write_text("a secret")
    secret.chmod(0o600)

    def check(*arguments):
        command = [BINARY, "login", *arguments, "--config", site.settings]
        return subprocess.run(command, capture_output=True, text=True, env=variables(), timeout=60)

    with Provider() as provider:
        try:
            declared = f"client_id = 'doorward'\nclient_secret_file = '{secret}'\n"
            work = f"{before}\n[logins.work]\npreset = 'oidc'\nissuer = '{provider.url}'\n{declared}"
            site.settings.write_text(work)
            assert site.doctor.findings() == {}
            (listed,) = json.loads(check("list", "--json").stdout)
            assert listed["redirectUri"].endswith("/sign-in/with/work/back") and listed["rules"] == {}, listed
            done = check("check", "work")
            fine = ["the secret can be read", f"{provider.url} answers", "it knows PKCE with S256", "its clock agrees with the one here"]
            expected = [f"work: register {listed['redirectUri']}", *(f"  ok: {text}" for text in fine)]
            assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, expected, "")

            provider.knows_pkce = False
            assert set(site.doctor.findings()) == {"login-warning"}
            assert check("check").returncode == 0
            provider.knows_pkce, provider.seconds_late = True, 300
            assert "clock" in site.doctor.findings()["login-unusable"]["problem"]
            assert check("check").returncode == 1
            provider.seconds_late, provider.issuer = 0, "https://evil.example"
            assert set(site.doctor.findings()) == {"login-unusable"}
            provider.issuer = None
            secret.unlink()
            (found,) = json.loads(check("check", "work", "--json").stdout)
            wrong = [finding["text"] for finding in found["findings"] if finding["level"] == "wrong"]
            assert len(wrong) == 1 and f"cannot be used: {secret}: " in wrong[0], found
            assert (check("check", "home").returncode, check("check", "home").stdout) == (4, "")
        finally:
            site.settings.write_text(before)


def test_no_server_and_a_damaged_database(site, tmp_path, write_settings):
    port, file = reserved_port(), tmp_path / "data" / "doorward.db"
    settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", f"sqlite://{file}")
    doctor = Doctor(settings, site.authority)
    assert set(doctor.findings()) == {"server-not-running"}
    # A file in place of the folder: as without permission, nobody knows whether a database is there.
    assert set(doctor.findings(f"--database-url=sqlite://{settings}/doorward.db")) == {"database-unavailable"}
    with serve(tmp_path, settings, port):
        pass
    found = doctor.findings()
    assert set(found) == {"server-not-running"}
    assert "no server is running" in found["server-not-running"]["problem"]
    with contextlib.closing(sqlite3.connect(file)) as database:
        # A table that no start reads.
        ((page,),) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'invitations'").fetchall()
    with file.open("r+b") as bytes_of_database:
        bytes_of_database.seek((page - 1) * 4096)
        bytes_of_database.write(b"\x5a" * 4096)
    assert set(doctor.findings()) == {"server-not-running", "database-damaged"}


def test_a_server_whose_command_socket_is_gone(site):
    path = site.folder / "data" / "doorward.sock"
    away = site.folder / "doorward.sock"
    path.rename(away)
    try:
        found = site.doctor.findings()
    finally:
        away.rename(path)
    assert set(found) == {"server-unreachable"}


def test_a_low_limit_of_open_files(site, tmp_path, write_settings):
    port = reserved_port()
    settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", f"sqlite://{tmp_path}/data/doorward.db")
    with serve(tmp_path, settings, port, nofile=512):
        assert set(Doctor(settings, site.authority).findings()) == {"open-files"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a small disk")
def test_a_small_disk(site, tmp_path, write_settings):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=32m", "doorward-test", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a small disk: {mounted.stderr}")
    try:
        port = reserved_port()
        settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", f"sqlite://{disk}/data/doorward.db")
        doctor = Doctor(settings, site.authority)
        # A backup needs more space than this disk has.
        with serve(tmp_path, settings, port, back_up=False):
            assert set(doctor.findings()) == {"disk-low", "backup-missing"}
            ballast = disk / "ballast"
            ballast.write_bytes(bytes(shutil.disk_usage(disk).free - (8 << 20)))
            assert set(doctor.findings()) == {"disk-full", "backup-missing"}
            ballast.unlink()
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root mounts a disk")
def test_a_read_only_disk(site, tmp_path, write_settings):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600m", "doorward-test", disk], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"cannot mount a disk: {mounted.stderr}")
    try:
        port = reserved_port()
        settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", f"sqlite://{disk}/data/doorward.db")
        with serve(tmp_path, settings, port):
            pass
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        command = [BINARY, "doctor", "--json", "--config", settings]
        done = subprocess.run(command, env=variables(), capture_output=True, text=True, timeout=60)
        found = {finding["name"]: finding for finding in json.loads(done.stdout)["findings"]}
        assert set(found) == {"disk-read-only"}, found
        assert "mount it writable" in found["disk-read-only"]["advice"], found
        start = subprocess.run([BINARY, "--config", settings], env=variables(), capture_output=True, text=True, timeout=60)
        assert start.returncode == 1 and "the disk is read-only, not full" in start.stderr, start
    finally:
        subprocess.run(["umount", disk], check=True)


def test_what_protects_the_audit_trail(site, tmp_path, write_settings):
    port, data = reserved_port(), tmp_path / "data"
    settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", f"sqlite://{data}/doorward.db")
    doctor, good = Doctor(settings, site.authority), settings.read_text()

    def key(*flags):
        command = [BINARY, "audit", "key", *flags, "--config", site.settings]
        return subprocess.check_output(command, env=variables(), text=True).strip()

    def found_with(audit):
        """The findings of a running server with these settings, as soon as there is one."""
        settings.write_text(f"{good}\n[audit]\n{audit}\n")
        with serve(tmp_path, settings, port):
            deadline = time.monotonic() + 60
            while not (found := doctor.findings()) and time.monotonic() < deadline:
                time.sleep(0.2)
            return found

    witness_key = f"witness_key = '{key('--witness')}'"
    found = found_with(f"witness = 'http://127.0.0.1:1/audit/witness'\n{witness_key}")
    assert set(found) == {"witness-unreachable"}
    assert re.match(r"since 20\S+Z, the witness cannot be reached: http://127.0.0.1:1", found["witness-unreachable"]["problem"])
    # The site witnesses nobody.
    found = found_with(f"witness = 'http://127.0.0.1:{site.port}/audit/witness'\n{witness_key}")
    assert set(found) == {"witness-refuses"} and "witness_for" in found["witness-refuses"]["advice"], found
    missing = f"checkpoint_file = '{tmp_path}/missing/checkpoints'"
    found = found_with(missing)
    assert set(found) == {"checkpoint-file"} and "missing/checkpoints" in found["checkpoint-file"]["problem"], found
    assert set(doctor.findings()) == {"checkpoint-file", "server-not-running"}
    settings.write_text(good)
    secret, kept = data / "audit-secret", tmp_path / "audit-secret"
    with serve(tmp_path, settings, port):
        assert doctor.findings() == {}
        secret.rename(kept)
        found = doctor.findings()
        assert set(found) == {"audit-secret"} and "restore" in found["audit-secret"]["advice"], found
        kept.rename(secret)
        assert doctor.findings() == {}
        shutil.copy(secret, kept)
    for replace in (lambda: secret.unlink(), lambda: secret.write_bytes(bytes(32))):
        replace()
        secret.exists() and secret.chmod(0o600)
        found = doctor.findings()
        assert set(found) == {"audit-secret"} and "--new-audit-secret" in found["audit-secret"]["problem"], found
    shutil.copy(kept, secret)


def test_postgresql(site, tmp_path, write_settings, postgres):
    port, url = reserved_port(), postgres.url(postgres.fresh_database())
    folder = f'data_folder = "{tmp_path}/data"\n'
    settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", url, folder)
    doctor = Doctor(settings, site.authority)
    with serve(tmp_path, settings, port):
        assert doctor.run().stdout == QUIET
        checked = doctor.run("--verbose").stdout
        assert "checked: database: PostgreSQL 1" in checked and "connections are used" in checked, checked
        assert set(doctor.findings("--database-connections=100")) == {"database-connections", CHANGED}
        postgres.query(f"ALTER ROLE {ROLE} SUPERUSER")
        try:
            found = doctor.findings()
            assert set(found) == {"database-superuser"}
            [statement] = re.findall(r"ALTER ROLE name \w+", found["database-superuser"]["advice"])
            # As it says.
            postgres.query(statement.replace("name", ROLE))
            assert doctor.findings() == {}
        finally:
            postgres.query(f"ALTER ROLE {ROLE} NOSUPERUSER")
        settings.chmod(0o644)
        found = doctor.findings()
        assert set(found) == {"secret-readable"} and PASSWORD not in str(found), found
        settings.chmod(0o600)
        # Commits wait from now on, but no test writes.
        postgres.query("ALTER SYSTEM SET synchronous_standby_names = 'absent'")
        postgres.query("SELECT pg_reload_conf()")
        try:
            deadline = time.monotonic() + 60
            while set(found := doctor.findings()) != {"standby-missing"}:
                assert time.monotonic() < deadline, found
        finally:
            postgres.query("ALTER SYSTEM RESET synchronous_standby_names")
            postgres.query("SELECT pg_reload_conf()")
    wrong = url.replace(PASSWORD, "wrong")
    found = doctor.findings(DOORWARD_DATABASE_URL=wrong)
    assert set(found) == {"database-unavailable"} and "wrong" not in str(found["database-unavailable"]), found


def test_the_role_of_the_compose_example_is_as_it_should_be(site, tmp_path, write_settings):
    with PostgreSQL() as server:
        # As on a new server of the container image.
        server.query(f"DROP ROLE {ROLE}")
        script = REPOSITORY / "examples/compose/role.sql"
        psql = [debian() / "psql", "--no-psqlrc", "--set=ON_ERROR_STOP=1", "--username=postgres", f"--file={script}"]
        psql += [f"--host={server.data.parent}", f"--port={server.port}", "postgres"]
        subprocess.run(psql, env=variables(POSTGRES_PASSWORD=PASSWORD), check=True, capture_output=True)
        assert server.query("SELECT rolpassword FROM pg_authid WHERE rolname = 'postgres'") == [[None]]
        port = reserved_port()
        folder = f'data_folder = "{tmp_path}/data"\n'
        settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", server.url("doorward"), folder)
        with serve(tmp_path, settings, port):
            assert Doctor(settings, site.authority).findings() == {}


def test_postgresql_without_a_command_socket(site, tmp_path, write_settings, postgres):
    port, url = reserved_port(), postgres.url(postgres.fresh_database())
    settings = write_settings(tmp_path, port, f"http://127.0.0.1:{port}", url)
    doctor = Doctor(settings, site.authority)
    with serve(tmp_path, settings, port):
        assert doctor.run().stdout == QUIET
        assert set(doctor.findings("--listen=127.0.0.1:1")) == {"server-not-answering"}


def test_every_documented_mistake_is_planted_or_listed_as_not_planted():
    text = Path(__file__).read_text().partition("NOT_PLANTED")[0]
    documentation = (Path(__file__).parents[2] / "docs/commands.md").read_text()
    documented = re.findall(r"^\| `([a-z-]+)` \| (?:error|warning) ", documentation, re.M)
    assert {name for name in documented if f'"{name}"' not in text} == NOT_PLANTED


NOT_PLANTED = {
    # tests/upgrade has databases of older versions.
    "schema-old",
    # Unit tests of src/cli/doctor find these.
    *("clock-database", "database-log", "mail-given-up", "mail-waiting", "network-file-system"),
    # These need a slower machine, a broken disk, an older server, or a moment that a test cannot hold.
    *("hash-slow", "inodes-low", "reserve-spent", "server-not-ready", "server-version"),
}
