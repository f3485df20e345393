"""Continuous backup with other tools, as docs/backup.md describes it: pg_dump, and Litestream with the key files."""

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from installation import Registrations, refused
from harness.postgres import debian

LITESTREAM = Path(sys.executable).with_name("litestream")


def wait_for(load, count):
    deadline = time.monotonic() + 120
    while len(load.acknowledged()) < count:
        assert time.monotonic() < deadline, "the service registers nobody"
        time.sleep(0.01)


def test_pg_dump_under_load_is_restored_by_pg_restore(new_installation, server, tmp_path):
    source, target = new_installation("postgres"), new_installation("postgres")
    programs, dump = debian(), tmp_path / "doorward.dump"
    with source.service() as service, Registrations(service) as load:
        wait_for(load, 100)
        people = load.acknowledged()
        subprocess.run([programs / "pg_dump", "--format=custom", f"--file={dump}", source.database], check=True)
    restore = [programs / "pg_restore", "--no-owner", "--exit-on-error", "--single-transaction"]
    subprocess.run([*restore, f"--dbname={target.database}", dump], check=True)
    with target.service() as service:
        assert refused(service, people) == []


def test_litestream_replicates_under_load(new_installation, tmp_path):
    source, target = new_installation("sqlite"), new_installation("sqlite")
    replica = tmp_path / "replica"
    command = [LITESTREAM, "replicate", source.folder / "doorward.db", f"file://{replica}"]
    with source.service() as service:
        with Registrations(service) as load, open(tmp_path / "litestream.log", "wb") as log:
            wait_for(load, 20)
            litestream = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                # Both run checkpoints, so that more than one has to happen.
                wait_for(load, 600)
                source.run("backup", tmp_path / "beside")
            finally:
                litestream.send_signal(signal.SIGINT)
                assert litestream.wait(60) == 0, (tmp_path / "litestream.log").read_text()
            people = load.acknowledged()[:600]
            log_text = (tmp_path / "litestream.log").read_text()
            assert "level=ERROR" not in log_text, log_text
    database = target.folder / "doorward.db"
    subprocess.run([LITESTREAM, "restore", "-o", database, f"file://{replica}"], check=True, capture_output=True)
    # The replica has the database only.
    for pattern in ("*.pem", "*-secret"):
        for key in source.folder.glob(pattern):
            shutil.copy(key, target.folder)
    with target.service() as service:
        assert refused(service, people) == []
    assert source.verify(tmp_path / "beside")["users"] >= 600
