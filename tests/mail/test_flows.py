"""Everything that people do by mail, through the JSON API. The mails arrive at a server that requires STARTTLS and a login, and
what stands in them is used. Each test runs on both databases."""

import email.utils
import json
import time

import pytest
from harness.wait import eventually
from letters import letters_to
from mailing_service import ACCEPTED, MailingService

NEW = "battery staple horse"
# The name of the sender, because `branding.name` is not set.
SERVICE = "Example & Söhne"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0"


@pytest.fixture(scope="module")
def service(server, mail_folder, database):
    with MailingService(server, mail_folder, database=database.url) as service:
        yield service


@pytest.fixture
def silent_service(server, mail_folder, service, database):
    """Sign-up tells nothing here. On PostgreSQL it is a second instance on the same database, which SQLite cannot have."""
    url = database.url if database.url.startswith("postgres") else None
    with MailingService(server, mail_folder, 'registration_conflict = "silent"', url) as silent:
        yield silent


@pytest.fixture
def ada(service, new_person):
    return new_person(service)


def assert_done(answer):
    assert (answer.status, answer.body) == (204, b""), answer


def assert_accepted(answer):
    assert (answer.status, json.loads(answer.body)) == (202, ACCEPTED), answer


def assert_refused(answer):
    assert answer.status == 401, answer


def assert_nothing_else(service, new_person):
    """Waits until all mail before this moment was sent. One task sends the oldest mail first."""
    new_person(service).signed_up().mail()


# --- the mail itself -------------------------------------------------------------------------------------------------


def test_a_mail_is_complete(service, ada):
    began = time.time()
    ada.signed_up()
    mail = ada.mail()
    assert mail["From"] == "Example & Söhne <accounts@example.com>"
    assert mail["To"] == ada.email
    assert mail["Reply-To"] == "help@example.com"
    assert mail["Subject"] == f"Confirm your e-mail address for {SERVICE}"
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail["Content-Language"] == "en"
    assert mail["MIME-Version"] == "1.0"
    sent = email.utils.parsedate_to_datetime(mail["Date"]).timestamp()
    assert began - 2 < sent < time.time() + 2
    assert mail["Message-ID"].endswith("@example.com>")
    assert mail.message.get_content_type() == "multipart/alternative"
    parts = [part.get_content_type() for part in mail.message.iter_parts()]
    assert parts == ["text/plain", "text/html"]
    assert mail.message.defects == []
    assert all(len(line) <= 998 for line in mail.message.raw.split(b"\r\n"))
    assert b"\n" not in mail.message.raw.replace(b"\r\n", b""), "a line ends without a carriage return"
    # A stranger may have chosen the name.
    assert ada.name not in mail.text + mail.html
    assert mail.link == f"http://localhost:{service.port}/verify?code={mail.secret}"
    assert mail.code


def test_mail_is_in_the_language_of_the_request(service, new_person):
    ada = new_person(service, language="de-AT,de;q=0.9,en;q=0.5").signed_up()
    mail = ada.mail()
    assert mail["Subject"] == f"Bestätigen Sie Ihre E-Mail-Adresse für {SERVICE}"
    assert mail["Content-Language"] == "de"
    assert "Adresse bestätigen" in mail.text and "Adresse bestätigen" in mail.html
    ada.verified()
    assert_accepted(ada.post("/api/auth/forgot", email=ada.email))
    assert ada.mail(2)["Subject"] == f"Neues Passwort für {SERVICE}"


# --- verify and change an address ------------------------------------------------------------------------------------


def test_a_link_verifies_an_address_once(ada):
    ada.signed_up()
    assert ada.passes(), "the token works at once"
    assert not ada.me()["emailVerified"]
    secret = ada.mail().secret
    assert_done(ada.post("/api/auth/verify", code=secret))
    assert ada.me()["emailVerified"]
    assert_refused(ada.post("/api/auth/verify", code=secret))


def test_a_code_verifies_an_address_and_a_second_mail_can_be_asked_for(ada):
    ada.signed_up()
    first = ada.mail()
    assert_accepted(ada.call("POST", "/api/me/verify", token=ada.token))
    second = ada.mail(2)
    assert (first.secret, first["Message-ID"]) != (second.secret, second["Message-ID"])
    assert_refused(ada.post("/api/auth/verify", code=second.code))
    assert_refused(ada.post("/api/auth/verify", code=second.code, email="somebody@example.com"))
    assert_done(ada.post("/api/auth/verify", code=second.code, email=ada.email.upper()))
    assert ada.me()["emailVerified"]


@pytest.mark.parametrize("by_code", [False, True], ids=["link", "code"])
def test_an_address_is_changed_and_the_change_is_taken_back(ada, by_code):
    ada.signed_up().verified()
    new = f"new.{ada.email}"
    answer = ada.call("PATCH", "/api/me", {"email": new, "password": ada.password}, ada.token)
    assert answer.status == 200, answer
    asked = ada.mail(address=new)
    assert asked.path == "/verify"
    assert (ada.me()["email"], ada.me()["pendingEmail"]) == (ada.email, new)
    proof = {"code": asked.code, "email": new} if by_code else {"code": asked.secret}
    assert_done(ada.post("/api/auth/verify", **proof))
    me = ada.me()
    assert (me["email"], me["emailVerified"], me.get("pendingEmail")) == (new, True, None)

    notice = ada.mail(2)
    assert notice.path == "/restore-email"
    assert notice.subject == f"Your e-mail address for {SERVICE} has changed"
    assert new not in notice.text + notice.html
    assert notice.secrets() == [notice.secret], "a way back has no code"
    way_back = {"code": notice.secret}
    ada.service.secrets.add(NEW)
    assert_refused(ada.post("/api/auth/verify", **way_back))
    assert_done(ada.post("/api/auth/restore-email", password=NEW, **way_back))
    assert not ada.passes(), "the way back ends all sessions"
    assert not ada.can_log_in()
    ada.password = NEW
    ada.log_in()
    assert ada.me()["email"] == ada.email
    assert_refused(ada.post("/api/auth/restore-email", password=NEW, **way_back))


# --- a forgotten password, a sign-in without one ---------------------------------------------------------------------


@pytest.mark.parametrize("by_code", [False, True], ids=["link", "code"])
def test_a_forgotten_password_is_replaced(ada, by_code):
    ada.signed_up().verified()
    other = ada.token
    ada.log_in()
    assert_accepted(ada.post("/api/auth/forgot", email=ada.email))
    mail = ada.mail(2)
    assert mail.path == "/reset"
    ada.service.secrets.add(NEW)
    proof = {"code": mail.code, "email": ada.email} if by_code else {"code": mail.secret}
    assert ada.passes(), "a request for a mail changes nothing"
    assert_done(ada.post("/api/auth/reset", password=NEW, **proof))
    assert not ada.passes(other) and not ada.passes(), "a reset ends all sessions"
    assert (ada.can_log_in(), ada.can_log_in(NEW)) == (False, True)
    assert_refused(ada.post("/api/auth/reset", password="a third horse", **proof))
    assert ada.mail(3).subject == f"Your password for {SERVICE} has changed"


def test_a_request_for_an_unknown_address_mails_nothing(service, new_person):
    ada, nobody = new_person(service).signed_up(), new_person(service)
    ada.mail()
    for path in ("/api/auth/forgot", "/api/auth/code"):
        known, unknown = ada.post(path, email=ada.email), ada.post(path, email=nobody.email)
        assert_accepted(known)
        assert (known.status, known.body) == (unknown.status, unknown.body)
    assert_nothing_else(service, new_person)
    assert letters_to(service.server, nobody.email) == []
    assert len(letters_to(service.server, ada.email)) == 3


@pytest.mark.parametrize("by_code", [False, True], ids=["link", "code"])
def test_a_user_without_a_password_signs_in_by_mail(service, new_person, by_code):
    ada = new_person(service, password=None)
    answer = ada.post("/api/user", name=ada.name, email=ada.email)
    assert answer.status == 201, answer
    ada.mail()
    assert_accepted(ada.post("/api/auth/code", email=ada.email))
    mail = ada.mail(2)
    assert mail.path == "/sign-in/code/use"
    proof = {"code": mail.code, "email": ada.email} if by_code else {"code": mail.secret}
    assert_refused(ada.post("/api/auth/verify", **proof))
    signed_in = ada.post("/api/auth/code/login", **proof)
    assert signed_in.status == 200, signed_in
    ada.keep(signed_in)
    assert ada.passes() and ada.me()["emailVerified"]
    assert ada.post("/api/auth/code/login", **proof).status == 404


def test_a_user_with_a_password_is_told_to_use_it(ada):
    ada.signed_up().verified()
    assert_accepted(ada.post("/api/auth/code", email=ada.email))
    mail = ada.mail(2)
    assert (mail.path, mail.secrets()) == ("/sign-in", [])


# --- invitations and silent sign-up ----------------------------------------------------------------------------------


@pytest.mark.parametrize("by_code", [False, True], ids=["link", "code"])
def test_the_operator_invites_by_mail(service, new_person, by_code):
    bob = new_person(service)
    printed = service.run("user", "invite", bob.email, "--role", "staff")
    mail = bob.mail()
    assert mail.secret not in printed and mail.code not in printed
    assert mail.path == "/sign-up"
    bob.signed_up(invitation=mail.code if by_code else mail.secret)
    me = bob.me()
    assert (me["email"], me["emailVerified"], me["roles"]) == (bob.email, True, ["staff"])


def test_users_invite_where_the_condition_allows_it(service, new_person):
    ada, bob = new_person(service).signed_up().verified(), new_person(service)

    def invite():
        return ada.call("POST", "/api/invitations", {"email": bob.email}, ada.token).status

    assert invite() == 403
    service.run("user", "grant", ada.email, "staff")
    # On PostgreSQL the command changes the database itself, and the service hears of it a moment later.
    eventually("an invitation is sent", lambda: invite() == 201, pause=0.1)
    mail = bob.mail()
    assert ada.email in mail.text and ada.name not in mail.text
    listed = json.loads(ada.call("GET", "/api/invitations", token=ada.token).body)
    assert mail.secret not in str(listed) and bob.email in str(listed)
    bob.signed_up(invitation=mail.secret)
    assert bob.me()["emailVerified"]


def test_a_silent_sign_up_mails_the_owner_of_the_address(silent_service, new_person):
    ada = new_person(silent_service)

    def sign_up(password):
        return ada.post("/api/user", name=ada.name, email=ada.email, password=password)

    free = sign_up(ada.password)
    assert_accepted(free)
    mail = ada.mail()
    assert mail.path == "/verify"
    assert not ada.can_log_in(), "the address is not verified"
    # Until the address is verified, the account may be a stranger's: the owner gets a link to set a new password.
    again = sign_up(NEW)
    assert (again.status, again.body) == (free.status, free.body)
    reset = ada.mail(2)
    assert reset.path == "/reset"
    assert ada.post("/api/auth/verify", code=mail.secret).status == 401, "the earlier link is void"
    assert_done(ada.post("/api/auth/reset", code=reset.secret, password=NEW))
    assert (ada.can_log_in(NEW), ada.can_log_in()) == (True, False)
    assert ada.mail(3).subject == f"Your password for {SERVICE} has changed"
    taken = sign_up(ada.password)
    assert (taken.status, taken.body) == (free.status, free.body)
    told = ada.mail(4)
    assert (told.path, told.secrets()) == ("/sign-in", [])


# --- notices ---------------------------------------------------------------------------------------------------------


def test_a_sign_in_from_a_new_network_or_device_is_told_of(ada):
    ada.signed_up().verified()
    ada.log_in()
    ada.network = f"203.0.113.{ada.number % 250 + 1}"
    ada.log_in()
    mail = ada.mail(2)
    assert mail.subject == f"New sign-in to your account at {SERVICE}"
    assert ada.network in mail.text and mail.path == "/account"
    ada.agent = FIREFOX
    ada.log_in()
    assert "Firefox on Linux" in ada.mail(3).words


def test_a_changed_password_is_told_of(ada):
    ada.signed_up().verified()
    ada.service.secrets.add(NEW)
    body = {"current": ada.password, "new": NEW}
    assert_done(ada.call("POST", "/api/me/password", body, ada.token))
    mail = ada.mail(2)
    assert (mail.subject, mail.path) == (f"Your password for {SERVICE} has changed", "/forgot")


def test_sessions_that_the_operator_ends_are_told_of(ada):
    ada.signed_up().verified()
    ada.service.run("user", "logout", ada.email)
    eventually("the guard refuses", lambda: not ada.passes(), pause=0.1)
    mail = ada.mail(2)
    assert mail.subject == f"You are signed out of {SERVICE}" and "people who run" in mail.words


def test_a_session_that_ends_because_of_a_reused_token_is_told_of(replaced):
    ada, old = replaced

    def is_ended():
        ada.call("POST", "/api/auth/refresh", token=old)
        return not ada.passes()

    eventually("the session has ended", is_ended, pause=0.1)
    mail = ada.mail(2)
    assert mail.subject == f"You are signed out of {SERVICE}" and "used in two places" in mail.words
