"""Brings an installation into every state that a release must take over, through its API and its commands."""

import json
import re

from harness.mail_server import LATER, REFUSED, TAKEN
from harness.wait import eventually
from mailbox import newest_mail
from upgraded_service import FixtureService, now_millis

PASSWORD = "correct horse battery"
IMPORTED = "$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe"
IMPORTED_PASSWORD = "a"


def replies(address):
    """The server never takes mail to gil and, for now, none to hal."""
    return {"gil@example.com": REFUSED, "hal@example.com": LATER}.get(address, TAKEN)


def fill(folder, mail_server, database=None):
    """Fills an empty installation. Returns what its people know, and what its operator sees."""
    # A key is retired, and the next one does not sign yet.
    with FixtureService(folder, mail_server, database, publish="0s") as service:
        first = keys(service)
        service.command("keys", "rotate")
        eventually("the new key signs", lambda: keys(service)[0] != first[0] and len(keys(service)) == 2)
    with FixtureService(folder, mail_server, database) as service:
        service.command("keys", "rotate")
        assert len(keys(service)) == 3
        people = People(service, mail_server)
        known = {
            "verified": people.verified(),
            "unverified": people.unverified(),
            "without_password": people.without_password(),
            "disabled": people.disabled(),
            "changing_address": people.changing_address(),
            "changed_address": people.changed_address(),
            "forgot_password": people.forgot_password(),
            "operator_reset": people.operator_reset(),
            "imported": people.imported(),
            "failed_logins": people.failed_logins(),
            "invited_by_user": people.invited_by_user(),
            "invited_by_operator": people.invited_by_operator(),
            "unsent_mail": people.unsent_mail(),
        }
        people.end_one_session(known["verified"])
    return {"madeAt": now_millis(), "keys": keys(service), "people": known}


def keys(service):
    """The ids of the signing keys with their states, without times."""
    listed = json.loads(service.command("keys", "list", "--json"))
    return [[key["kid"], key["stage"]] for key in listed]


class People:
    def __init__(self, service, mail_server):
        self.service, self.mail_server = service, mail_server

    def register(self, name, password=PASSWORD, **more):
        """Registers somebody, who gets a mail unless they are invited."""
        email = f"{name}@example.com"
        fields = {"name": name.title(), "email": email} | ({"password": password} if password else {}) | more
        status, body = self.service.call("POST", "/api/user", fields)
        assert status == 201, (status, body)
        return {"email": email, "password": password, "token": body["token"]}

    def mail(self, email, count=1):
        return newest_mail(self.mail_server, email, count)

    def accepted(self, outcome, expected=202):
        assert outcome[0] == expected, outcome

    def register_verified(self, name, password=PASSWORD):
        person = self.register(name, password)
        self.accepted(self.service.post("/api/auth/verify", code=self.mail(person["email"])["secret"]), 204)
        return person

    def verified(self):
        """With a role, three sessions, one of them of a browser, and a token that was refreshed."""
        ada = self.register_verified("ada")
        self.service.command("user", "grant", ada["email"], "staff")
        status, body = self.service.call("POST", "/api/auth/refresh", token=ada["token"])
        assert status == 200, body
        ada["replaced"], ada["token"] = ada["token"], body["token"]
        ada["second_token"] = self.service.log_in(ada["email"], PASSWORD)
        signed_in = self.service.page("/sign-in", {"email": ada["email"], "password": PASSWORD, "stay": "1"})
        assert signed_in.status == 303, signed_in
        ada["cookie"] = re.search(rb"(?i)set-cookie: ([^;]+)", signed_in.head)[1].decode()
        return ada

    def end_one_session(self, ada):
        """A session that was signed out."""
        ended = self.service.log_in(ada["email"], PASSWORD)
        self.accepted(self.service.call("POST", "/api/auth/logout", token=ended), 204)
        ada["ended"] = ended

    def unverified(self):
        bob = self.register("bob")
        return bob | self.mail(bob["email"])

    def without_password(self):
        carol = self.register_verified("carol", password=None)
        self.accepted(self.service.post("/api/auth/code", email=carol["email"]))
        return carol | self.mail(carol["email"], 2)

    def disabled(self):
        dan = self.register("dan")
        self.service.command("user", "disable", dan["email"])
        return dan

    def changing_address(self):
        erin = self.register_verified("erin")
        new = "erin.new@example.com"
        self.accepted(self.service.call("PATCH", "/api/me", {"email": new, "password": PASSWORD}, erin["token"]), 200)
        return erin | {"new": new} | self.mail(new)

    def changed_address(self):
        ivan = self.register_verified("ivan")
        new = "ivan.new@example.com"
        self.accepted(self.service.call("PATCH", "/api/me", {"email": new, "password": PASSWORD}, ivan["token"]), 200)
        self.accepted(self.service.post("/api/auth/verify", code=self.mail(new)["secret"]), 204)
        return ivan | {"new": new} | self.mail(ivan["email"], 2)

    def forgot_password(self):
        frank = self.register_verified("frank")
        self.accepted(self.service.post("/api/auth/forgot", email=frank["email"]))
        return frank | self.mail(frank["email"], 2)

    def operator_reset(self):
        grace = self.register("grace")
        code = self.service.command("user", "reset-code", grace["email"]).strip()
        return grace | {"secret": code}

    def imported(self):
        file = self.service.folder / "users.csv"
        file.write_text(f"name,email,hash\nHeidi,heidi@example.com,{IMPORTED}\nOld Heidi,old.heidi@example.com,{IMPORTED}\n")
        self.service.command("import", file)
        file.unlink()
        return {"email": "heidi@example.com", "password": IMPORTED_PASSWORD}

    def failed_logins(self):
        laura = self.register("laura")
        for _ in range(3):
            assert self.service.log_in(laura["email"], "wrong password") is None
        return laura

    def invited_by_user(self):
        """Ada has the role that may invite."""
        token = self.service.log_in("ada@example.com", PASSWORD)
        self.accepted(self.service.call("POST", "/api/invitations", {"email": "judy@example.com"}, token), 201)
        self.accepted(self.service.call("POST", "/api/auth/logout", token=token), 204)
        return {"email": "judy@example.com"} | self.mail("judy@example.com")

    def invited_by_operator(self):
        printed = self.service.command("user", "invite", "ken@example.com", "--role", "staff", "--expires", "90d", "--print")
        return {"email": "ken@example.com", "secret": re.search(r"invitation=([\w-]{43})", printed)[1]}

    def unsent_mail(self):
        waiting, given_up = self.register("hal"), self.register("gil")

        def queue():
            return {mail["address"]: mail for mail in json.loads(self.service.command("mail", "queue", "--json"))}

        eventually("mail was given up", lambda: queue().get(given_up["email"], {}).get("givenUpAt"))
        eventually("mail was put off", lambda: queue().get(waiting["email"], {}).get("attempts"))
        return {"waiting": waiting, "given_up": given_up}
