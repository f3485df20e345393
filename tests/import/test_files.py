"""Reports, duplicates, repeated and interrupted imports."""

import json
import signal
import subprocess
import time

from harness import BINARY
from people import people

BCRYPT = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"
SECRET = "$2b$10$thisisnotacompletehash"


def csv(*rows):
    return "\n".join(["id,name,email,verified,roles,createdAt,hash", *rows]) + "\n"


GOOD = csv(
    f'1,"Lovelace, Ada",ada@example.com,true,staff editor,2024-05-06T07:08:09.123Z,{BCRYPT}',
    "2,Grace Hopper,grace@example.com,false,,,",
)
BAD = GOOD + "\n".join(
    [
        "3,Nobody,not an address,true,,,",
        "4,Same Address,ADA@example.com,true,,,",
        "2,Same Id,other@example.com,true,,,",
        f"6,Bad Hash,hash@example.com,true,,,{SECRET}",
        f"7,Two Faults,two@example.com,perhaps,,yesterday,{BCRYPT}",
        "8,Too Few,columns@example.com",
        "9,Weak,weak@example.com,true,,,md5$salt$5f4dcc3b5aa765d61d8327deb882cf99",
        f"10,Costly,costly@example.com,true,,,{BCRYPT.replace('$06$', '$16$')}",
    ]
)


def test_a_dry_run_reports_every_bad_line_and_changes_nothing(service, tmp_path):
    file = tmp_path / "users.csv"
    file.write_text(BAD)
    done = service.command("import", file, "--dry-run")
    assert done.returncode == 1
    assert "2 users would be added" in done.stdout and "8 cannot be imported" in done.stdout, done.stdout
    reported = [line.removeprefix(f"{file}:") for line in done.stderr.splitlines()]
    expected = [
        "4: email: is not an e-mail address",
        "5: email: is the same as that of line 2",
        "6: id: is the same as that of line 3",
        "7: hash: it is not a valid bcrypt hash",
        "8: verified: is neither true nor false",
        "8: createdAt: is not a time",
        "9: line: has 3 columns, the header has 7",
        "10: hash: MD5 is not supported",
        "11: hash: verifying it costs too much: cost: 16, at most 14",
    ]
    assert len(reported) == len(expected) + 1, reported
    for line, start in zip(reported, expected):
        assert line.startswith(start), line
    assert SECRET not in done.stderr + done.stdout
    assert service.users() == []


def test_bad_lines_stop_an_import_unless_they_are_skipped(service, tmp_path):
    file = tmp_path / "users.csv"
    file.write_text(BAD)
    done = service.command("import", file)
    assert done.returncode == 1 and "nothing was changed" in done.stderr
    assert service.users() == []
    summary = service.imports(file, "--skip-bad")
    assert (summary["added"], len(summary["bad"])) == (2, 9)
    ada, grace = service.users()
    assert ada == {
        "id": ada["id"],
        "name": "Lovelace, Ada",
        "email": "ada@example.com",
        "verified": True,
        "roles": ["editor", "staff"],
        "disabled": False,
        "createdAt": "2024-05-06T07:08:09.123Z",
        "updatedAt": "2024-05-06T07:08:09.123Z",
        "lastLoginAt": None,
        "identities": [],
        "hash": BCRYPT,
    }
    assert grace["hash"] is None and not grace["verified"]


def test_a_second_import_changes_nothing_and_says_what_differs(service, tmp_path):
    file = tmp_path / "users.csv"
    file.write_text(GOOD)
    assert service.imports(file)["added"] == 2
    before = service.export()
    summary = service.imports(file)
    assert (summary["added"], summary["differing"]) == (0, [])
    # The time of registration is not in the file, so it is when the user was added.
    assert summary["existing"] == 2
    file.write_text(GOOD.replace("Grace Hopper", "Grace B. Hopper"))
    summary = service.imports(file)
    assert [(user["email"], user["fields"]) for user in summary["differing"]] == [("grace@example.com", ["name"])]
    file.write_text(GOOD.replace("2,Grace", "200,Grace"))
    assert [user["email"] for user in service.imports(file)["taken"]] == ["grace@example.com"]
    assert service.export() == before


def numbered(number, domain):
    """A file whose system counts its users from 1."""
    return csv(*(f"{n},User {n},user-{n}@{domain},true,,," for n in range(1, number + 1)))


def test_an_id_of_somebody_else_is_a_bad_line_that_names_them_and_a_source_keeps_systems_apart(service, tmp_path):
    number = 50
    shop, forum = tmp_path / "shop.csv", tmp_path / "forum.csv"
    shop.write_text(numbered(number, "shop.example"))
    forum.write_text(numbered(number, "forum.example") + "51,New,new@forum.example,true,,,\n")
    assert service.imports(shop)["added"] == number
    before = service.export()

    for flags in [[], ["--dry-run"]]:
        done = service.command("import", forum, *flags)
        assert done.returncode == 1, done.stderr
        assert f"{number} of {number + 1} users cannot be imported" in done.stderr
        named = [line for line in done.stderr.splitlines() if line.startswith(f"{forum}:") and "shop.example has it" in line]
        assert f"{forum}:2: id: is that of another user: user-1@shop.example has it: " in named[0], named[0]
        assert "--source" in named[0]
        # 20 of a kind, then a count.
        assert len(named) == 20
        assert f"{forum}: id: is that of another user: {number - 20} more; --json lists all" in done.stderr
        assert "0 exist and differ" in done.stdout
        assert service.export() == before, "not even the new one"
    done = service.command("import", forum, "--json")
    assert done.returncode == 1 and len(json.loads(done.stdout)["bad"]) == number

    summary = service.imports(forum, "--skip-bad")
    assert (summary["added"], len(summary["bad"])) == (1, number)
    done = service.command("import", forum, "--source", "forum")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, f"{number} users added"), done.stdout
    assert len({user["id"] for user in service.users()}) == 2 * number + 1
    assert service.imports(shop)["existing"] == number, "repeated"
    assert service.imports(forum, "--source", "forum")["existing"] == number
    done = service.command("import", forum, "--source", "a:b")
    assert done.returncode == 2 and "letters, digits" in done.stderr


def test_numbers_are_seconds_or_milliseconds_whichever_is_plausible(service, tmp_path):
    file = tmp_path / "users.jsonl"
    user = {"email": "ada@example.com", "createdAt": 1714979289, "updatedAt": 1714979289123, "lastLoginAt": "1714979289"}
    file.write_text(json.dumps(user))
    done = service.command("import", file)
    assert done.returncode == 0, done.stderr
    for field in ["createdAt", "lastLoginAt"]:
        assert f"{file}: {field}: the numbers were read as seconds since 1970" in done.stderr
    assert "updatedAt" not in done.stderr
    [ada] = service.users()
    assert (ada["createdAt"], ada["updatedAt"], ada["lastLoginAt"]) == (
        "2024-05-06T07:08:09.000Z",
        "2024-05-06T07:08:09.123Z",
        "2024-05-06T07:08:09.000Z",
    )
    file.write_text(json.dumps(user | {"createdAt": 1714979289123456}))
    done = service.command("import", file, "--dry-run")
    assert done.returncode == 1 and "createdAt: is not a time" in done.stderr


def test_an_export_of_auth0_is_imported(service, tmp_path):
    file = tmp_path / "auth0.json"
    user = {
        "_id": {"$oid": "60425dc43519d90068f82973"},
        "email_verified": True,
        "email": "ada@example.com",
        "passwordHash": BCRYPT,
        "password_set_date": {"$date": "2021-03-05T16:35:16.775Z"},
        "tenant": "dev",
    }
    file.write_text(json.dumps(user) + "\n")
    summary = service.imports(file, "--format", "jsonl", "--source", "auth0")
    assert (summary["added"], summary["ignoredFields"]) == (1, ["password_set_date", "tenant"])
    [ada] = service.users()
    assert (ada["verified"], ada["hash"]) == (True, BCRYPT)


def test_a_file_is_read_from_standard_input_and_without_a_server(tmp_path, service):
    service.stop()
    summary = service.imports("-", "--format", "csv", given=GOOD)
    assert summary["added"] == 2
    assert len(service.users()) == 2


def test_an_import_that_was_killed_is_completed_by_the_next_one(service, tmp_path):
    file = tmp_path / "users.jsonl"
    number = 3000
    file.write_text("".join(json.dumps({"id": n, "email": email}) + "\n" for n, (email, _) in enumerate(people(number))))
    command = [BINARY, "import", str(file)]
    process = subprocess.Popen(command, cwd=service.folder, env=service.variables(), stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not service.command("user", "list", "--limit", "1").stdout and process.poll() is None:
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGKILL)
    process.wait()
    # The server may still be adding the part of the file that it was sent last.
    before = len(service.users())
    summary = service.imports(file)
    assert summary["added"] + summary["existing"] == number
    assert before <= summary["existing"]
    assert len({user["id"] for user in service.users()}) == number


def test_wrong_use_is_explained(service, tmp_path):
    def written(name, content):
        (tmp_path / name).write_bytes(content)
        return tmp_path / name

    file = written("users.txt", GOOD.encode())
    for arguments, status, message in [
        ([file], 2, "--format csv, jsonl or json"),
        ([written("users.xlsx", b"PK\x03\x04")], 2, "save a spreadsheet as CSV UTF-8"),
        ([tmp_path / "missing.csv"], 1, "missing.csv"),
        ([file, "--format", "json"], 1, "not JSON"),
        ([file, "--from", "firebase"], 2, "--firebase-config"),
        ([file, "--scrypt", "1000,8,1"], 2, "power of two"),
        ([tmp_path], 1, "is a folder: name a file"),
        ([written("empty.jsonl", b"")], 1, "empty.jsonl: the file is empty"),
        ([written("utf-16.csv", GOOD.encode("utf-16"))], 1, "the file is UTF-16: save it as UTF-8"),
        ([written("latin.csv", GOOD.replace("Grace", "Grâce").encode("latin-1"))], 1, "line 3 is not UTF-8"),
        ([written("pipes.csv", GOOD.replace(",", "|").encode())], 1, "no column is called email"),
        ([written("ids.csv", b"id,encrypted_password\n" * 100), "--from", "supabase"], 1, "no column is called email"),
    ]:
        done = service.command("import", *arguments)
        assert done.returncode == status and message in done.stderr, done.stderr
    assert service.users() == []


def test_a_file_of_a_spreadsheet_program_is_read(service, tmp_path):
    file = tmp_path / "users.csv"
    rows = ["ID;Name;E-Mail;Email Verified", '7;"Lovelace; Ada";ada@example.com;TRUE', ""]
    file.write_bytes("\r\n".join(rows).encode("utf-8-sig"))
    assert service.imports(file)["added"] == 1
    [ada] = service.users()
    assert (ada["name"], ada["email"], ada["verified"]) == ("Lovelace; Ada", "ada@example.com", True)


def test_text_of_a_file_cannot_control_the_terminal(service, tmp_path):
    attack = "\x1b]0;owned\x07\x9b2J\u202e\u2066"
    escaped = r"\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{2066}"
    files = {
        "columns.csv": f"id,{attack}\n1,2\n",
        "ignored.csv": f"email,{attack}\nada@example.com,1\n",
        "names.jsonl": json.dumps({"email": "grace@example.com", "name": f"Grace{attack}", attack: 1}),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        done = service.command("import", tmp_path / name, "--dry-run")
        assert escaped in done.stderr, done.stderr
        assert all(ord(character) >= 32 or character == "\n" for character in done.stderr + done.stdout)
        assert not set("\x7f\x9b\u202e\u2066") & set(done.stderr + done.stdout)
    assert "1: name: Invalid name" in done.stderr
    ignored = service.imports(tmp_path / "ignored.csv", "--dry-run")["ignoredFields"]
    assert ignored == [attack], "JSON means the same"


def test_a_file_of_very_many_columns_is_refused(service, tmp_path):
    file = tmp_path / "wide.csv"
    columns = ["email", *(f"c{number}" for number in range(20_000))]
    file.write_text("\n".join([",".join(columns), *(f"user-{n}@example.com" + "," * 20_000 for n in range(5))]))
    done = service.command("import", file)
    assert done.returncode == 1 and "has 20001 columns, at most 1000 are read" in done.stderr
    objects = [{"email": f"user-{n}@example.com"} | dict.fromkeys(columns[1:], 1) for n in range(5)]
    file = tmp_path / "wide.jsonl"
    file.write_text("\n".join(map(json.dumps, objects)))
    done = service.command("import", file)
    assert done.returncode == 0 and "and 19980 more" in done.stderr, done.stderr
