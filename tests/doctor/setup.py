"""Doorward behind nginx with TLS, as an operator would set it up, and `doorward doctor` with one mistake at a time."""

import json
import os
import resource
import socket
import subprocess
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BINARY = REPOSITORY / os.environ.get("DOORWARD_BIN", "target/release/doorward")
PATIENCE_SECONDS = 60
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])

# Only the address that nginx connects from by default is trusted.
SETTINGS = """
listen = "127.0.0.1:{port}"
public_url = "{public_url}"
database_url = "{database_url}"
trusted_proxies = ["127.0.0.1"]
log = "warn"

[mail]
url = "smtp://127.0.0.1:{mail_port}"
from = "accounts@example.com"

[guards.staff]
allow = '"staff" in user.roles'
"""

# Each server of nginx: its certificate, and the directives that it differs in.
GOOD = ["X-Forwarded-For $remote_addr", "X-Forwarded-Proto https"]
PROXIES = {
    "good": ("good", GOOD, ""),
    "appending": ("good", ["X-Forwarded-For $proxy_add_x_forwarded_for", "X-Forwarded-Proto https"], ""),
    "hiding": ("good", ['X-Forwarded-For ""', "X-Forwarded-Proto https"], ""),
    "passing": ("good", ["X-Forwarded-For $passed_address", "X-Forwarded-Proto https"], ""),
    "plain scheme": ("good", ["X-Forwarded-For $remote_addr", "X-Forwarded-Proto http"], ""),
    "elsewhere on the network": ("good", GOOD, "proxy_bind 127.0.0.9;"),
    "expired": ("expired", GOOD, ""),
    "expiring": ("expiring", GOOD, ""),
    "other name": ("other name", GOOD, ""),
    "self-signed": ("self-signed", GOOD, ""),
    "another site": ("good", GOOD, "return 404;"),
}


class Process:
    """A program that runs until the end of the `with` block."""

    def __init__(self, command, log, environment=None, nofile=None):
        self.log = log
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))) if nofile else None
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                list(map(str, command)),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=limit,
            )

    def wait_until(self, holds):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not holds():
            assert self._process.poll() is None, self.log.read_text(errors="replace")
            assert time.monotonic() < deadline, f"timed out: {self.log.read_text(errors='replace')}"
            time.sleep(0.02)
        return self

    def stop(self):
        self._process.terminate()
        try:
            self._process.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


def answers(url):
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), 10).close()
        return True
    except OSError:
        return False


def environment(**more):
    """Nothing from the environment of the tests."""
    return {"PATH": PATH, "HOME": "/nonexistent"} | more


def serve(folder, settings, port, back_up=True, **options):
    """Starts a server with these settings, and backs it up as an operator would."""
    command = [BINARY, "serve", "--config", settings]
    process = Process(command, folder / f"server-{port}.log", environment(), **options)
    process.wait_until(lambda: answers(f"http://127.0.0.1:{port}/readyz"))
    if back_up:
        backup = [BINARY, "backup", folder / f"backup-{port}", "--force", "--config", settings]
        subprocess.run(backup, env=environment(), check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    return process


class Doctor:
    """Runs `doorward doctor` with the settings of the server."""

    def __init__(self, settings, authority):
        self.settings, self.authority = settings, authority

    def run(self, *flags, **variables):
        command = [BINARY, "doctor", "--config", self.settings, *flags]
        variables = {name: str(value) for name, value in variables.items()}
        done = subprocess.run(
            list(map(str, command)),
            env=environment(SSL_CERT_FILE=str(self.authority)) | variables,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.stderr == "", done.stderr
        return done

    def findings(self, *flags, **variables):
        """The findings by name. Each says what is wrong and what to do."""
        done = self.run("--json", *flags, **variables)
        findings = json.loads(done.stdout)["findings"]
        assert done.returncode == bool(findings), done
        for finding in findings:
            assert finding["problem"] and finding["advice"], finding
        return {finding["name"]: finding for finding in findings}


def certificates(folder):
    """An authority and certificates of it, made with openssl. Returns the file of the authority."""

    def openssl(*arguments):
        subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, timeout=PATIENCE_SECONDS)

    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    authority = folder / "authority.pem"
    authority_key = folder / "authority.key"
    openssl("req", "-x509", *key, "-keyout", authority_key, "-out", authority, "-days", 30, "-subj", "/CN=authority")
    for name, host, days in [("good", "localhost", 90), ("expiring", "localhost", 5), ("other name", "example.com", 90)]:
        request, extensions = folder / "request", folder / "extensions"
        extensions.write_text(f"subjectAltName=DNS:{host}\n")
        openssl("req", "-new", *key, "-keyout", folder / f"{name}.key", "-out", request, "-subj", f"/CN={host}")
        openssl(
            *["x509", "-req", "-in", request, "-CA", authority, "-CAkey", authority_key, "-CAcreateserial"],
            *["-days", days, "-extfile", extensions, "-out", folder / f"{name}.pem"],
        )
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    openssl("req", "-x509", *key, "-keyout", folder / "self-signed.key", "-out", folder / "self-signed.pem", *subject)
    expire(folder)
    return authority


def expire(folder):
    """A certificate of the authority that expired yesterday. openssl signs no period in the past without a database."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization

    authority = x509.load_pem_x509_certificate((folder / "authority.pem").read_bytes())
    authority_key = serialization.load_pem_private_key((folder / "authority.key").read_bytes(), None)
    key = serialization.load_pem_private_key((folder / "good.key").read_bytes(), None)
    yesterday = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")]))
        .issuer_name(authority.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(yesterday - datetime.timedelta(days=30))
        .not_valid_after(yesterday)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    (folder / "expired.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "expired.key").write_bytes((folder / "good.key").read_bytes())


def nginx(folder, backend, ports):
    """One nginx with a server for each of `PROXIES`."""
    servers = []
    for name, (certificate, headers, more) in PROXIES.items():
        set_headers = "".join(f"proxy_set_header {header}; " for header in headers)
        servers.append(
            f'server {{ listen 127.0.0.1:{ports[name]} ssl; ssl_certificate "{folder}/{certificate}.pem"; '
            f'ssl_certificate_key "{folder}/{certificate}.key"; location / {{ {set_headers} {more} '
            f"proxy_pass http://127.0.0.1:{backend}; }} }}"
        )
    temporary = "".join(
        f"{kind}_temp_path {folder}/nginx-{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root; " if os.geteuid() == 0 else ""
    configuration = folder / "nginx.conf"
    configuration.write_text(
        f"{user}daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx-error.log; events {{}}\n"
        f"http {{ access_log off; {temporary}\n"
        'map $http_x_forwarded_for $passed_address { "" $remote_addr; default $http_x_forwarded_for; }\n'
        + "\n".join(servers)
        + "\n}\n"
    )
    command = ["nginx", "-p", folder, "-e", f"{folder}/nginx-error.log", "-c", configuration]
    process = Process(command, folder / "nginx.log", environment())
    return process.wait_until(lambda: all(accepts(ports[name]) for name in PROXIES))


class LateProxy(ThreadingHTTPServer):
    """A proxy whose clock is an hour behind. nginx sends the real time, so this one is ours."""

    def __init__(self, backend):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                headers["X-Forwarded-For"] = self.client_address[0]
                request = urllib.request.Request(f"http://127.0.0.1:{backend}{self.path}", headers=headers)
                with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                    body = answer.read()
                self.send_response_only(200)
                self.send_header("Date", self.date_time_string(time.time() - 3600))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
