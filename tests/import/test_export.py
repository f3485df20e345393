"""What is exported can be imported elsewhere, and nothing differs."""

import stat

from formats import FORMATS
from people import Doorward, people


def test_an_export_that_is_imported_into_an_empty_service_is_the_same(two_databases, tmp_path):
    old, new = two_databases
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
