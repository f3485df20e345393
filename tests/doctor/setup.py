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

from harness import BINARY, PATIENCE_SECONDS
from harness.certificates import Authority, self_signed
from harness.process import PATH, Process

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
    # It names no client itself, and lets clients name one.
    "passing only": ("good", ["X-Forwarded-For $http_x_forwarded_for", "X-Forwarded-Proto https"], ""),
    "plain scheme": ("good", ["X-Forwarded-For $remote_addr", "X-Forwarded-Proto http"], ""),
    "elsewhere on the network": ("good", GOOD, "proxy_bind 127.0.0.9;"),
    "expired": ("expired", GOOD, ""),
    "expiring": ("expiring", GOOD, ""),
    "other name": ("other name", GOOD, ""),
    "self-signed": ("self-signed", GOOD, ""),
    "another site": ("good", GOOD, "return 404;"),
}


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


def variables(**more):
    """Nothing from the environment of the tests."""
    return {"PATH": PATH, "HOME": "/nonexistent"} | more


def serve(folder, settings, port, back_up=True, nofile=None):
    """Starts a server with these settings, and backs it up as an operator would."""
    command = [BINARY, "serve", "--config", settings]
    limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (nofile, nofile))) if nofile else None
    process = Process(command, folder / f"server-{port}.log", variables=variables(), preexec_fn=limit)
    process.wait_until(lambda: answers(f"http://127.0.0.1:{port}/readyz"))
    if back_up:
        backup = [BINARY, "backup", folder / f"backup-{port}", "--force", "--config", settings]
        subprocess.run(backup, env=variables(), check=True, capture_output=True, timeout=PATIENCE_SECONDS)
    return process


class Doctor:
    """Runs `doorward doctor` with the settings of the server."""

    def __init__(self, settings, authority):
        self.settings, self.authority = settings, authority

    def run(self, *flags, cwd=None, **more):
        command = [BINARY, "doctor", "--config", self.settings, *flags]
        more = {name: str(value) for name, value in more.items()}
        done = subprocess.run(
            list(map(str, command)),
            cwd=cwd,
            env=variables(SSL_CERT_FILE=str(self.authority), **more),
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.stderr == "", done.stderr
        return done

    def findings(self, *flags, **more):
        """The findings by name. Each says what is wrong and what to do."""
        done = self.run("--json", *flags, **more)
        findings = json.loads(done.stdout)["findings"]
        assert done.returncode == bool(findings), done
        for finding in findings:
            assert finding["problem"] and finding["advice"], finding
        return {finding["name"]: finding for finding in findings}


def certificates(folder):
    """An authority and certificates of it. Returns the file of the authority."""
    authority = Authority(folder)
    issued = {
        "good": authority.issue("localhost"),
        "expiring": authority.issue("localhost", days=5),
        "expired": authority.issue("localhost", days=-1),
        "other name": authority.issue("example.com"),
        "self-signed": self_signed("localhost"),
    }
    for name, (certificate, key) in issued.items():
        (folder / f"{name}.pem").write_bytes(certificate)
        (folder / f"{name}.key").write_bytes(key)
    return authority.file


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
    process = Process(command, folder / "nginx.log", variables=variables())
    process.wait_until(lambda: all(accepts(ports[name]) for name in PROXIES))
    return process


class OurProxy(ThreadingHTTPServer):
    """A proxy that can do what nginx does not: it appends another address than that of the client, or its clock is late."""

    def __init__(self, backend, client=None, seconds_late=0):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
                received = next((headers.pop(name) for name in list(headers) if name.lower() == "x-forwarded-for"), None)
                address = client or self.client_address[0]
                headers["X-Forwarded-For"] = f"{received}, {address}" if received and client else address
                request = urllib.request.Request(f"http://127.0.0.1:{backend}{self.path}", headers=headers)
                try:
                    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                        status, body = answer.status, answer.read()
                except urllib.error.HTTPError as error:
                    status, body = error.code, error.read()
                self.send_response_only(status)
                self.send_header("Date", self.date_time_string(time.time() - seconds_late))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
