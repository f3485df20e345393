"""Starts this version on what each release has left behind, and lets everybody in it go on."""

import json
import re

import pytest
from harness.wait import eventually
from mailbox import newest_mail

NEW = "battery staple horse"


@pytest.fixture
def service(upgrade):
    with upgrade.service() as service:
        yield service


def test_everything_of_a_release_goes_on(upgrade, service, mail_server):
    """One test, because a start takes longer than all steps together."""
    assert [[key["kid"], key["stage"]] for key in json.loads(service.command("keys", "list", "--json"))] == upgrade.keys
    people = upgrade.people
    sessions(service, people["verified"])
    mailed_secrets(service, people)
    passwords(service, people)
    invitations(service, people)
    waiting_mail(service, people["unsent_mail"], mail_server)
    if upgrade.has_failed_logins:
        command = ("why", "--user", people["failed_logins"]["email"])
        eventually("failed logins count", lambda: re.search(r"(?m)^failed logins that count +3 of 100\b", service.command(*command)))
    # The second start has nothing left to adapt.
    service.stop()
    with upgrade.service() as again:
        assert again.log_in(people["verified"]["email"], people["verified"]["password"])


def sessions(service, ada):
    assert service.admits(ada["token"]) and service.admits(ada["second_token"])
    assert not service.admits(ada["ended"])
    # On plain HTTP the name has changed. The value, which is all that there is on HTTPS, counts.
    form = {"email": ada["email"], "password": ada["password"]}
    signed_in = service.page("/sign-in", form)
    name = re.search(rb"(?i)set-cookie: (doorward-session-\w{8})=", signed_in.head)[1].decode()
    assert service.page("/account", cookie=f"{name}={ada['cookie'].partition('=')[2]}").status == 200
    status, listed = service.call("GET", "/api/sessions", token=ada["token"])
    assert status == 200 and len(listed) == 4, listed
    status, me = service.call("GET", "/api/me", token=ada["token"])
    assert (status, me["email"], me["emailVerified"], me["roles"]) == (200, ada["email"], True, ["staff"]), me
    token = service.log_in(ada["email"], ada["password"])
    assert token and service.admits(token)
    # The new version makes the index of a search.
    search = ("user", "list", ada["email"].partition("@")[0], "--role", "staff")
    eventually("users are found", lambda: ada["email"] in service.command(*search))
    status, refreshed = service.call("POST", "/api/auth/refresh", token=ada["token"])
    assert status == 200 and service.admits(refreshed["token"])
    # Whoever presents a token that was replaced long ago has stolen it, and its session ends.
    assert not service.admits(ada["replaced"]), "a replaced token"


def mailed_secrets(service, people):
    bob = people["unverified"]
    assert service.post("/api/auth/verify", code=bob["code"], email=bob["email"]) == (204, None)
    assert service.call("GET", "/api/me", token=bob["token"])[1]["emailVerified"]

    carol = people["without_password"]
    status, body = service.post("/api/auth/code/login", code=carol["code"], email=carol["email"])
    assert status == 200 and service.admits(body["token"])

    erin = people["changing_address"]
    assert service.call("GET", "/api/me", token=erin["token"])[1]["pendingEmail"] == erin["new"]
    assert service.post("/api/auth/verify", code=erin["secret"]) == (204, None)
    assert service.log_in(erin["new"], erin["password"])

    ivan = people["changed_address"]
    assert service.log_in(ivan["new"], ivan["password"])
    assert service.post("/api/auth/restore-email", code=ivan["secret"], password=NEW) == (204, None)
    assert service.log_in(ivan["email"], NEW) and not service.admits(ivan["token"])

    for name in ("forgot_password", "operator_reset"):
        person = people[name]
        assert service.post("/api/auth/reset", code=person["secret"], password=NEW) == (204, None), name
        assert service.log_in(person["email"], NEW) and not service.log_in(person["email"], person["password"])


def passwords(service, people):
    dan, heidi = people["disabled"], people["imported"]
    assert not service.log_in(dan["email"], dan["password"]) and not service.admits(dan["token"])
    service.command("user", "enable", dan["email"])
    assert service.log_in(dan["email"], dan["password"])
    assert "2 users" in service.command("import", "status")
    assert service.log_in(heidi["email"], heidi["password"])
    assert "1 user" in service.command("import", "status")


def invitations(service, people):
    for name, secret, roles, is_verified in [
        ("invited_by_user", "code", [], True),
        ("invited_by_operator", "secret", ["staff"], False),
    ]:
        person = people[name]
        fields = {"name": "Guest", "email": person["email"], "password": NEW, "invitation": person[secret]}
        status, body = service.call("POST", "/api/user", fields)
        assert status == 201, body
        status, me = service.call("GET", "/api/me", token=body["token"])
        assert (me["roles"], me["emailVerified"]) == (roles, is_verified), me


def waiting_mail(service, unsent, mail_server):
    queue = {mail["address"]: mail for mail in json.loads(service.command("mail", "queue", "--json"))}
    assert queue[unsent["given_up"]["email"]]["givenUpAt"]
    service.command("mail", "retry")
    for person in unsent.values():
        code = newest_mail(mail_server, person["email"])["code"]
        assert service.post("/api/auth/verify", code=code, email=person["email"]) == (204, None)
        assert service.call("GET", "/api/me", token=person["token"])[1]["emailVerified"]
