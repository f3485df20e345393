#!/usr/bin/env python3
"""Makes the fixture of a release: DOORWARD_BIN=the released binary target/test-venv/bin/python tests/upgrade/make_fixture.py

Writes tests/upgrade/VERSION: a data folder with SQLite, a PostgreSQL database as SQL, a backup, and what the people in them know.
The keys, passwords and tokens in it are made for tests and protect nothing.
"""

import json
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from filling import fill, replies  # noqa: E402
from harness import BINARY  # noqa: E402
from harness.mail_server import MailServer  # noqa: E402
from harness.postgres import PostgreSQL, debian  # noqa: E402
from harness.process import environment  # noqa: E402

DATA_FILES = ("doorward.db", "*-secret", "*.pem")


def main():
    version = subprocess.check_output([BINARY, "--version"], text=True).split()[1]
    if version.endswith("-dev"):
        sys.exit(f"{version} is not a release: set its version first")
    target = HERE / version
    if target.exists():
        sys.exit(f"{target} exists: a released fixture never changes")
    with tempfile.TemporaryDirectory() as work:
        made = Path(work) / version
        made.mkdir()
        for kind in (sqlite, postgres):
            folder = Path(work) / kind.__name__
            folder.mkdir()
            with MailServer(reply=replies) as mail_server:
                known = kind(folder, mail_server, made)
            (made / f"{kind.__name__}.json").write_text(json.dumps(known, indent=1) + "\n")
        shutil.copytree(made, target)
    print(target)


def sqlite(folder, mail_server, made):
    known = fill(folder, mail_server)
    backup = [BINARY, "backup", made / "backup", "--database-url", f"sqlite://{folder}/doorward.db"]
    subprocess.run(backup, cwd=folder, env=environment(), check=True, stdout=subprocess.DEVNULL)
    with tarfile.open(made / "sqlite.tar.gz", "w:gz") as archive:
        for path in sorted(path for pattern in DATA_FILES for path in folder.glob(pattern)):
            archive.add(path, path.name, filter=without_owner)
    return known


def without_owner(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def postgres(folder, mail_server, made):
    with PostgreSQL() as server:
        url = server.url(server.fresh_database())
        known = fill(folder, mail_server, url)
        command = [debian() / "pg_dump", "--no-owner", "--no-privileges", "--no-comments", url]
        dump = subprocess.check_output(command, text=True)
    # Settings and comments depend on the version of pg_dump.
    lines = [line for line in dump.splitlines() if not re.match(r"--|SET |SELECT pg_catalog\.set_config|\\(un)?restrict ", line)]
    text = re.sub(r"\n{2,}", "\n\n", "\n".join(lines)).strip()
    (made / "postgres.sql").write_text(f"-- A PostgreSQL database of doorward {made.name}, for psql.\n\n{text}\n")
    return known


if __name__ == "__main__":
    main()
