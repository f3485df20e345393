"""Commands that are killed, and full disks: what has a name is complete, and the database is the old one or the new one."""

import os
import subprocess
import time

import pytest
from harness.wait import eventually
from installation import Registrations, registered, refused

# Where in the duration of a whole command it is killed.
MOMENTS = [0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]


def timed(command):
    started = time.monotonic()
    command()
    return time.monotonic() - started


def kill_after(process, seconds):
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()
    process.communicate()


def test_a_killed_backup_leaves_no_half_file(new_installation, tmp_path):
    source = new_installation("sqlite")
    folder = tmp_path / "backups"
    folder.mkdir()
    with source.service() as service, Registrations(service) as load:
        deadline = time.monotonic() + 120
        while len(load.acknowledged()) < 300:
            assert time.monotonic() < deadline, "the service registers nobody"
            time.sleep(0.01)
    with source.service():
        whole = timed(lambda: source.run("backup", folder / "first"))
        for number, moment in enumerate(MOMENTS):
            file = folder / f"killed-{number}"
            kill_after(source.start("backup", file), whole * moment)
            if file.exists():
                assert source.verify(file)["users"] >= 300
        # The next backup with that name removes what the killed command has left.
        kept = {"first"}
        for left in {path.name.partition(".unfinished-")[0] for path in folder.glob("*.unfinished-*")}:
            eventually("the backup of the killed command has ended", lambda left=left: backs_up(source, folder / left))
            kept.add(left)
        names = {path.name for path in folder.iterdir()}
        assert not [name for name in names if "unfinished" in name] and kept <= names


def backs_up(source, file):
    """Replaces a backup. Returns false while the server still reads for a command that was killed."""
    process = source.start("backup", file, "--force")
    _, error = process.communicate(timeout=120)
    if b"another backup or export is running" in error:
        return False
    assert process.returncode == 0, error.decode()
    return True


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_restore_leaves_the_old_state_or_the_new_one(kind, new_installation, tmp_path):
    source, target = new_installation("sqlite"), new_installation(kind)
    with source.service() as service:
        new = registered(service, "new", 400)
        source.run("backup", tmp_path / "file")
    with target.service() as service:
        old = registered(service, "old", 5)
        target.run("backup", tmp_path / "old")
    states = [{person.email for person in people} for people in (old, new)]
    whole = timed(lambda: target.run("restore", tmp_path / "file", "--replace"))
    target.run("restore", tmp_path / "old", "--replace")
    for moment in MOMENTS[::1 if kind == "sqlite" else 3]:
        kill_after(target.start("restore", tmp_path / "file", "--replace"), whole * moment)
        emails = target.emails()
        assert emails in states, f"{len(emails)} users"
        if moment in (0.7, 1.0):
            people = old if emails == states[0] else new
            with target.service() as service:
                assert refused(service, people) == []
        if emails == states[1]:
            target.run("restore", tmp_path / "old", "--replace")
    target.run("restore", tmp_path / "file", "--replace")
    assert target.emails() == states[1]
    assert not list(target.folder.glob("restore-*"))


@pytest.fixture
def small_disk(tmp_path):
    """Mounts file systems of so many KiB."""
    if os.geteuid():
        pytest.skip("only root can mount a small file system")
    mounted = []

    def mount(kibibytes):
        path = tmp_path / f"disk-{len(mounted)}"
        path.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "doorward-test", path], check=True)
        mounted.append(path)
        return path

    yield mount
    for path in mounted:
        subprocess.run(["umount", "-l", path], check=True)


def test_a_full_disk_leaves_no_half_file(new_installation, small_disk):
    source = new_installation("sqlite")
    disk = small_disk(64)
    with source.service() as service:
        people = registered(service, "ada", 300)
        assert "No space left on device" in source.refuses("backup", disk / "file")
        assert list(disk.iterdir()) == []
        assert refused(service, people) == []
    assert "No space left on device" in source.refuses("backup", disk / "file")
    assert list(disk.iterdir()) == []
    assert not (source.folder / "last-backup").exists()


def test_a_server_with_little_space_makes_no_backup_and_goes_on(new_installation, small_disk, tmp_path):
    source = new_installation("sqlite")
    source.folder = small_disk(48 << 10)
    with source.service() as service:
        registered(service, "ada", 2)
        assert "MiB of free space, and a backup needs" in source.refuses("backup", tmp_path / "file")
        assert refused(service, registered(service, "grace", 2)) == []
    # Without a server there is nothing to write beside the database.
    source.run("backup", tmp_path / "file")
    assert source.verify(tmp_path / "file")["users"] == 4


def test_a_full_disk_during_a_restore_leaves_the_old_state(new_installation, small_disk, tmp_path):
    source, target = new_installation("sqlite"), new_installation("sqlite")
    with source.service() as service:
        registered(service, "new", 600)
        source.run("backup", tmp_path / "file")
    target.folder = small_disk(9 << 10)
    with target.service() as service:
        old = registered(service, "old", 2)
    disk = os.statvfs(target.folder)
    (target.folder / "ballast").write_bytes(b"x" * (disk.f_bavail * disk.f_frsize - (200 << 10)))
    target.refuses("restore", tmp_path / "file", "--replace")
    (target.folder / "ballast").unlink()
    assert target.emails() == {person.email for person in old}
    with target.service() as service:
        assert refused(service, old) == []
