"""Accounts at other providers move in and out with their users."""

import json

from people import Doorward

SETTINGS = """
[logins.google]
client_id = "doorward"
[logins.hub]
preset = "github"
client_id = "doorward"
[logins.work]
preset = "oidc"
issuer = "https://sso.example.com/realms/main"
client_id = "doorward"
[logins.microsoft]
client_id = "doorward"
tenant = "common"
"""
GOOGLE = "https://accounts.google.com"
GITHUB = "https://github.com/login/oauth"
WORK = "https://sso.example.com/realms/main"
FIREBASE = 'hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: AAAA,\n  base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 5,\n}\n'

KEYCLOAK = {
    "users": [
        {
            "username": "ada",
            "email": "ada@example.com",
            "federatedIdentities": [
                {"identityProvider": "google", "userId": "1", "userName": "ada@gmail.com"},
                {"identityProvider": "github", "userId": "7", "userName": "ada"},
                {"identityProvider": "oidc", "userId": "a-1", "userName": "ada"},
                {"identityProvider": "microsoft", "userId": "f3", "userName": "ada"},
            ],
        },
        {"username": "grace", "email": "grace@example.com"},
    ]
}


class WithLogins(Doorward):
    """A service that declares logins."""

    def __init__(self, folder, database=None):
        super().__init__(folder, database)
        settings = folder / "doorward.toml"
        settings.write_text(settings.read_text() + SETTINGS)


def identities(service, email="ada@example.com"):
    [user] = [user for user in service.users() if user["email"] == email]
    return [(each["login"], each["issuer"], each["subject"], each["display"]) for each in user["identities"]]


def write(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def test_identities_of_keycloak_come_along_and_what_is_left_out_is_said(new_database, tmp_path):
    with WithLogins(tmp_path / "service", new_database("first")) as service:
        file = write(tmp_path, "realm.json", KEYCLOAK)
        done = service.command("import", file, "--from", "keycloak", "--dry-run")
        assert done.returncode == 0, done.stderr
        assert f"{file}: 1 identity at oidc left out: nothing says which provider that is" in done.stderr
        assert f"{file}: 1 identity at microsoft left out: Microsoft tells every app another subject" in done.stderr
        assert "2 identities at other providers would be linked, 2 left out" in done.stdout
        assert service.users() == []
        summary = service.imports(file, "--from", "keycloak", "--login", "oidc=work")
        assert (summary["added"], summary["identities"]) == (2, 3)
        [left] = summary["identitiesLeftOut"]
        assert (left["provider"], left["count"]) == ("microsoft", 1)
        expected = [
            ("google", GOOGLE, "1", "ada@gmail.com"),
            ("hub", GITHUB, "7", "ada"),
            ("work", WORK, "a-1", "ada"),
        ]
        assert sorted(identities(service)) == expected
        assert identities(service, "grace@example.com") == []

        # A second import adds nothing, and says who lacks one of the file.
        before = service.export()
        summary = service.imports(file, "--from", "keycloak", "--login", "oidc=work")
        assert (summary["existing"], summary["identities"]) == (2, 0)
        file = write(tmp_path, "more.json", json.dumps(KEYCLOAK).replace('"7"', '"8"'))
        summary = service.imports(file, "--from", "keycloak")
        assert [(user["email"], user["fields"]) for user in summary["differing"]] == [("ada@example.com", ["identities"])]
        assert service.export() == before


def test_an_identity_of_somebody_else_is_a_bad_line(service, tmp_path):
    def user(email, *subjects):
        return {"email": email, "identities": [{"login": "work", "issuer": WORK, "subject": subject} for subject in subjects]}

    def lines(*users):
        return write(tmp_path, "users.jsonl", "".join(json.dumps(user) + "\n" for user in users))

    assert service.imports(lines(user("ada@example.com", "1", "2")))["identities"] == 2
    file = lines(user("eve@example.com", "3"), user("bob@example.com", "4", "2"), user("cyd@example.com", "3"))
    before = service.export()
    for flags in [[], ["--dry-run"]]:
        done = service.command("import", file, *flags)
        assert done.returncode == 1
        assert f"{file}:2: identities: one is that of another user: ada@example.com has it: " in done.stderr
        assert f"{file}:3: identities: has one that is the same as that of line 1: " in done.stderr
        assert service.export() == before
    summary = service.imports(file, "--skip-bad")
    assert (summary["added"], summary["identities"], len(summary["bad"])) == (1, 1, 2)
    assert identities(service, "eve@example.com") == [("work", WORK, "3", "3")]


def test_exports_of_other_systems_name_providers(tmp_path):
    apple = ("apple", "https://appleid.apple.com", "2", "2")
    google = ("google", GOOGLE, "1", "1")
    named = ("google", GOOGLE, "1", "ada@gmail.com")
    of_supabase = [
        {"provider": "email", "provider_id": "x", "identity_data": {"sub": "x"}},
        {"provider": "google", "provider_id": "1", "identity_data": {"sub": "1", "email": "ada@gmail.com"}},
        {"provider": "apple", "identity_data": json.dumps({"sub": "2"})},
        {"provider": "azure", "provider_id": "3", "identity_data": {"sub": "3"}},
    ]
    of_pocketbase = [{"provider": name, "providerId": n} for name, n in [("google", "1"), ("apple", "2"), ("microsoft", "3")]]
    of_firebase = [
        {"providerId": "password", "rawId": "ada@example.com"},
        {"providerId": "google.com", "rawId": "1", "email": "ada@gmail.com"},
        {"providerId": "apple.com", "rawId": "2"},
        {"providerId": "microsoft.com", "rawId": "3"},
    ]
    config = write(tmp_path, "hash-config.txt", FIREBASE)
    for system, user, expected, flags in [
        ("supabase", {"identities": json.dumps(of_supabase)}, named, []),
        ("pocketbase", {"externalAuths": json.dumps(of_pocketbase)}, google, []),
        ("firebase", {"localId": "1", "providerUserInfo": of_firebase}, named, ["--firebase-config", config]),
    ]:
        with Doorward(tmp_path / system) as service:
            file = write(tmp_path, f"{system}.json", {"users": [user | {"email": "ada@example.com"}]})
            summary = service.imports(file, "--from", system, *flags)
            assert (summary["added"], summary["identities"]) == (1, 2), summary
            assert [left["count"] for left in summary["identitiesLeftOut"]] == [1]
            assert sorted(identities(service)) == sorted([expected, apple])


def test_an_export_with_identities_is_imported_as_it_is(new_database, tmp_path):
    user = {
        "email": "ada@example.com",
        "roles": ["own", "staff"],
        "createdAt": "2024-05-06T07:08:09.123Z",
        "identities": [
            {
                "login": login,
                "issuer": WORK,
                "subject": subject,
                "display": f"{subject}@example.com",
                "roles": roles,
                "createdAt": "2024-05-06T07:08:09.123Z",
                "lastUsedAt": used,
            }
            for login, subject, roles, used in [
                ("work", "1", ["staff"], "2025-01-01T00:00:00.000Z"),
                ("gone", "ü 2", [], None),
            ]
        ],
    }
    with Doorward(tmp_path / "old", new_database("old")) as service:
        assert service.imports(write(tmp_path, "users.jsonl", user))["identities"] == 2
        exported = service.export()
        [ada] = service.users()
        assert ada["identities"] == user["identities"]
        about_ada = json.loads(service.command("export", "--user", "ada@example.com").stdout)["identities"]
        assert sorted(each["subject"] for each in about_ada) == ["1", "ü 2"]
        events = service.command("audit", "list", "--kind", "identity_linked", "--json").stdout
        assert events.count('"identity_linked"') == 2, events
    with Doorward(tmp_path / "new", new_database("new")) as service:
        assert service.imports(write(tmp_path, "moved.jsonl", exported))["identities"] == 2
        assert service.export() == exported
        summary = service.imports(tmp_path / "moved.jsonl")
        assert (summary["existing"], summary["identities"]) == (1, 0)


def test_wrong_use_of_logins_is_explained(tmp_path):
    with WithLogins(tmp_path / "service") as service:
        file = write(tmp_path, "realm.json", KEYCLOAK)
        for arguments, message in [
            (["--from", "keycloak", "--login", "oidc"], "write PROVIDER=LOGIN"),
            (["--from", "keycloak", "--login", "oidc=nobody"], "the settings have no [logins.nobody]"),
            (["--from", "keycloak", "--login", "microsoft=microsoft"], "Microsoft tells every app another subject"),
            (["--login", "oidc=work"], "name the system with --from"),
        ]:
            done = service.command("import", file, *arguments)
            assert done.returncode == 2 and message in done.stderr, done.stderr
        assert service.users() == []
