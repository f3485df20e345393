"""Two apps and Doorward at HTTPS hosts behind one proxy, with the files that `doorward snippet` prints."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from support import KINDS, Process, Tls, free_port, has_routes, proxy_settings

# Two registrable domains. Doorward shares one of them with an app.
APP, OTHER_APP, AUTH = "app.one.test", "app.two.test", "auth.one.test"
HOSTS = (APP, OTHER_APP, AUTH)

PROXIES = [name for name, kind in KINDS.items() if not kind.is_app]


@dataclass(frozen=True)
class Certificate:
    """A certificate for all hosts, which signs itself."""

    folder: Path

    @classmethod
    def create(cls, folder):
        folder.mkdir()
        names = ",".join(f"DNS:{host}" for host in HOSTS)
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-days", "7", "-subj", f"/CN={AUTH}", "-addext", f"subjectAltName={names}"]
        command += ["-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        both = (folder / "fullchain.pem").read_text() + (folder / "privkey.pem").read_text()
        (folder / "fullchain-and-key.pem").write_text(both)
        return cls(folder)

    @property
    def path(self):
        return self.folder / "fullchain.pem"


# The files listen on all addresses.
LOOPBACK = {
    "nginx": lambda text, _: re.sub(r"listen (\d)", r"listen 127.0.0.1:\1", text),
    "caddy": lambda text, http: f"{{\n\tdefault_bind 127.0.0.1\n\thttp_port {http}\n}}\n{text}",
    "traefik": lambda text, _: text.replace("address: :", "address: 127.0.0.1:"),
    "haproxy": lambda text, _: text.replace("bind :", "bind 127.0.0.1:"),
    "envoy": lambda text, _: text.replace("address: 0.0.0.0", "address: 127.0.0.1"),
}


class TlsProxy(Process):
    """A proxy that terminates TLS. The port is that of `public_url` and of the guard's origins."""

    def __init__(self, name, folder, guard, doorward, app_port, port, certificate):
        kind = KINDS[name]
        assert kind.available, f"{kind.program} is missing; it comes from {kind.comes_from}"
        self.name, self.http_port, self.certificate = name, free_port(), certificate
        doorward.snippet(name, guard, folder)
        ports = {"8080": str(app_port), "80": str(self.http_port)}
        for file in kind.files:
            text = (folder / file).read_text().replace("/etc/ssl/doorward", str(certificate.folder))
            text = re.sub(r"\b(8080|80)\b", lambda match: ports[match[1]], text)
            if not file.endswith(".lua"):
                text = LOOPBACK[name](text, self.http_port)
            for old, new in kind.adapt:
                assert old in text
                text = text.replace(old, new)
            (folder / file).write_text(text)
        command = ["sh", "-c", f"exec {kind.command}"]
        super().__init__(command, folder, port, proxy_settings(), has_routes, Tls(APP, certificate.path))
