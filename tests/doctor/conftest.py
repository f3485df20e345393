"""Starts one good set-up: Doorward on SQLite behind nginx with TLS, with a mail server."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.mail_server import MailServer
from harness.ports import reserved_port
from harness.postgres import PostgreSQL
from setup import PROXIES, SETTINGS, Doctor, certificates, nginx, serve


@dataclass(frozen=True)
class Site:
    """A running set-up without mistakes."""

    folder: Path
    settings: Path
    port: int
    # The port of each proxy.
    proxies: dict
    authority: Path
    doctor: Doctor

    def behind(self, proxy):
        """The flag that names this proxy as the public URL."""
        return f"--public-url=https://localhost:{self.proxies[proxy]}"


@pytest.fixture(scope="session")
def mail_server():
    with MailServer() as server:
        yield server


@pytest.fixture(scope="session")
def write_settings(mail_server):
    """Writes a settings file, and returns its path."""

    def write_settings(folder, port, public_url, database_url, more=""):
        path = folder / "doorward.toml"
        text = SETTINGS.format(
            port=port, public_url=public_url, database_url=database_url, mail_port=mail_server.port
        )
        path.write_text(more + text)
        path.chmod(0o600)
        return path

    return write_settings


@pytest.fixture(scope="session")
def site(tmp_path_factory, write_settings):
    folder = tmp_path_factory.mktemp("site")
    port, ports = reserved_port(), {}
    for name in PROXIES:
        ports[name] = reserved_port()
    authority = certificates(folder)
    settings = write_settings(folder, port, f"https://localhost:{ports['good']}", f"sqlite://{folder}/data/doorward.db")
    with serve(folder, settings, port), nginx(folder, port, ports):
        yield Site(folder, settings, port, ports, authority, Doctor(settings, authority))


@pytest.fixture(scope="session")
def postgres():
    with PostgreSQL(max_connections=60) as server:
        yield server
