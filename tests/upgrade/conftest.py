"""Installations of released versions: as their fixtures have them, or restored from their backups."""

import json
import subprocess
import tarfile
from pathlib import Path

import pytest

for module in ("mailbox", "upgraded_service"):
    pytest.register_assert_rewrite(module)

from harness import clock  # noqa: E402
from harness.mail_server import MailServer  # noqa: E402
from harness.postgres import PostgreSQL, debian  # noqa: E402
from harness.process import environment  # noqa: E402
from harness import BINARY  # noqa: E402
from upgraded_service import FixtureService, now_millis  # noqa: E402

HERE = Path(__file__).parent
RELEASES = sorted(path.name for path in HERE.iterdir() if (path / "backup").exists())
# Longer than a replaced token is tolerated, shorter than any link or code is valid.
PASSED_MILLIS = 60_000


@pytest.fixture(scope="session")
def clock_library(tmp_path_factory):
    return clock.library(tmp_path_factory.mktemp("clock"))


@pytest.fixture(scope="session")
def postgres_server():
    with PostgreSQL() as server:
        yield server


@pytest.fixture
def mail_server():
    with MailServer() as server:
        yield server


@pytest.fixture(params=RELEASES)
def release(request):
    """The folder with the fixture of a release."""
    return HERE / request.param


class Upgrade:
    """An installation of a release that this version is started on, a minute after the fixture was made."""

    def __init__(self, folder, known, clock_library, mail_server, database=None):
        self.folder, self.database = folder, database
        self.people, self.keys = known["people"], known["keys"]
        offset = known["madeAt"] + PASSED_MILLIS - now_millis()
        self._clock = clock.ahead(clock_library, offset)
        self._mail_server = mail_server

    def service(self):
        variables = self._clock | ({"DOORWARD_DATA_FOLDER": str(self.folder)} if self.database else {})
        return FixtureService(self.folder, self._mail_server, self.database, **variables)


@pytest.fixture(params=["sqlite", "postgres", "backup-to-sqlite", "backup-to-postgres"])
def upgrade(request, release, tmp_path, clock_library, mail_server):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    database = None
    if request.param.endswith("postgres"):
        server = request.getfixturevalue("postgres_server")
        database = server.url(server.fresh_database())
    known = "postgres.json" if request.param == "postgres" else "sqlite.json"
    installed = Upgrade(folder, json.loads((release / known).read_text()), clock_library, mail_server, database)
    if request.param == "sqlite":
        with tarfile.open(release / "sqlite.tar.gz") as archive:
            archive.extractall(folder, filter="data")
    elif request.param == "postgres":
        psql = [debian() / "psql", "--quiet", "--no-psqlrc", "--set=ON_ERROR_STOP=1", f"--file={release}/postgres.sql", database]
        subprocess.run(psql, check=True, stdout=subprocess.DEVNULL)
    else:
        url = database or f"sqlite://{folder}/doorward.db"
        restore = [BINARY, "restore", release / "backup", "--database-url", url]
        subprocess.run(restore, cwd=folder, env=environment(), check=True)
    installed.has_failed_logins = not request.param.startswith("backup")
    return installed
