"""What is exported can be imported elsewhere, and nothing differs."""

import json
import resource
import signal
import stat
import subprocess

from formats import FORMATS
from people import Doorward, people


def test_an_export_that_is_imported_into_an_empty_service_is_the_same(new_database, tmp_path):
    old, new = new_database("old"), new_database("new")
    everybody = []
    with Doorward(tmp_path / "old", old) as service:
        for format in FORMATS:
            users = people(6, format.__name__.lower())
            assert service.imports(*format().write(tmp_path, users))["added"] == 6
            everybody += users
        # Some have our hash, a role, a disabled account or no password.
        assert set(service.log_in_all(everybody[::7])) == {200}
        own, _ = service.sign_up("correct horse battery")
        everybody.append((own, "correct horse battery"))
        without, _ = service.sign_up()
        service.command("user", "grant", own, "staff")
        service.command("user", "verify", own)
        service.command("user", "disable", without)
        file = tmp_path / "users.jsonl"
        done = service.command("export", file)
        assert done.returncode == 0, done.stderr
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert service.command("export", file).returncode == 1, "an existing file is not overwritten"
        assert service.export() == file.read_text()
        assert not list(tmp_path.rglob("export-*")), "no copy is left"
    with Doorward(tmp_path / "new", new) as service:
        assert service.imports(file)["added"] == len(everybody) + 1
        assert service.export() == file.read_text()
        assert service.imports(file)["existing"] == len(everybody) + 1
        assert set(service.log_in_all((email, "x" + password) for email, password in everybody)) == {404}
        assert set(service.log_in_all(everybody)) == {200}


def test_an_export_does_not_need_a_server(service, tmp_path):
    service.sign_up("correct horse battery")
    running = service.export()
    service.stop()
    assert service.export() == running


def import_many(service, folder, number):
    file = folder / "many.jsonl"
    users = ({"id": n, "name": "x" * 200, "email": f"user-{n:04}@example.com"} for n in range(number))
    file.write_text("".join(json.dumps(user) + "\n" for user in users))
    assert service.imports(file)["added"] == number


def test_a_slow_reader_gets_one_moment_and_other_commands_do_not_wait_for_it(service, tmp_path):
    # Their export, of a megabyte, does not fit into the buffers between the server and a reader.
    number = 2500
    import_many(service, tmp_path, number)
    slow = service.spawn("export", stdout=subprocess.PIPE)
    first = slow.stdout.readline()
    assert service.command("user", "add", "user-9999@example.com", "--name", "Late").returncode == 0
    exported = [json.loads(line)["email"] for line in [first, *slow.stdout]]
    assert (slow.wait(), slow.stderr.read()) == (0, "")
    assert exported == [f"user-{n:04}@example.com" for n in range(number)]
    assert not list(service.folder.glob("unfinished-*"))

    closed = service.spawn("export", stdout=subprocess.PIPE)
    closed.stdout.readline()
    closed.stdout.close()
    assert closed.wait() == 1 and "Broken pipe" in (message := closed.stderr.read()) and "not complete" in message, message

    stopped = service.spawn("export", stdout=subprocess.PIPE)
    stopped.stdout.readline()
    service.kill()
    assert len(stopped.stdout.readlines()) < number
    assert stopped.wait() == 1 and "the server stopped before everything was sent: try again" in stopped.stderr.read()


def test_an_export_that_cannot_be_written_leaves_no_file(service, tmp_path):
    import_many(service, tmp_path, 500)
    folder = tmp_path / "target"
    folder.mkdir()
    (folder / "existing").write_text("mine")

    def limit_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    full = service.spawn("export", folder / "users.jsonl", preexec_fn=limit_files)
    assert full.wait() == 1 and "File too large (os error 27): no file was created" in (message := full.stderr.read()), message
    with open("/dev/full", "w") as device:
        full = service.spawn("export", stdout=device)
        assert full.wait() == 1 and "No space left" in (message := full.stderr.read()), message
    for name, message in [
        (folder, "is a folder: name a file"),
        (folder / "existing", "exists: name another file, or remove it"),
        (folder / "missing" / "users.jsonl", "No such file or directory (os error 2): no file was created"),
    ]:
        done = service.command("export", name)
        assert done.returncode == 1 and message in done.stderr, done.stderr
    assert [file.name for file in folder.iterdir()] == ["existing"]
    assert (folder / "existing").read_text() == "mine"
