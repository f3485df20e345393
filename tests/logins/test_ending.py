"""What ends upstream ends here: logout tokens, the lifetime of a login, and sign-ins that two instances share."""

import json
import time
import uuid
from urllib.parse import urlencode

import pytest

from browser import Reader
from fakes import CLIENT
from harness.wait import eventually
from people import NUMBERS, PUBLIC, REFUSED, LoginService, Visitor, logins_of
from tokens import unsigned, with_secret


def subject():
    return f"ended-{next(NUMBERS)}"


def signed_in(visitor, upstream, who, sid=None):
    upstream.become(who, visitor.email, sid=sid)
    upstream.sign_in(visitor)
    assert visitor.account() == visitor.email, visitor.page
    return visitor


def send(visitor, token, name="sso"):
    """A back-channel logout, which comes from the provider and not from a browser."""
    body = urlencode({"logout_token": token})
    return Visitor(visitor.service).step(f"{PUBLIC}/sign-in/with/{name}/logout", "POST", body)


def test_who_signs_out_at_a_real_provider_is_signed_out(service, ada, op, everybody):
    """oidc-provider sends the token itself."""
    op.control(reach={PUBLIC: service.port})
    who = subject()
    upstream = everybody["op"]
    signed_in(ada, upstream, who)
    other = ada.again()
    upstream.sign_in(other)
    page = ada.open(f"{op.url}/session/end")
    ada.send(Reader(page.text).forms[0], logout="yes")
    eventually("the session has ended", lambda: ada.account() is None)
    assert "logout token taken by doorward" in op.text()
    assert other.account() == ada.email, "it has another session there"


def test_a_logout_token_ends_the_session_of_its_sid_at_once(ada, sso):
    who = subject()
    signed_in(ada, sso, who, sid="one")
    other = signed_in(ada.again(), sso, who, sid="two")
    answer = send(ada, sso.provider.logout_token(sub=who, sid="one"))
    assert answer.status == 200, answer
    assert answer.headers["Cache-Control"] == "no-store"
    assert ada.account() is None
    assert other.account() == ada.email


def test_a_logout_token_without_a_sid_ends_all_sessions_of_the_person(ada, sso):
    who = subject()
    signed_in(ada, sso, who, sid="one")
    other = signed_in(ada.again(), sso, who)
    bob = signed_in(Visitor(ada.service), sso, subject())
    assert send(ada, sso.provider.logout_token(sub=who)).status == 200
    assert ada.account() is None and other.account() is None
    assert bob.account() == bob.email


def test_a_logout_token_leaves_sessions_that_began_in_another_way(ada, sso):
    ada.sign_up().verify()
    who = subject()
    sso.become(who, f"other.{ada.email}")
    sso.sign_in(ada, "?link=1")
    ada.confirm_link()
    assert send(ada, sso.provider.logout_token(sub=who)).status == 200
    assert ada.account() == ada.email


def test_a_replayed_logout_token_does_nothing(ada, sso):
    who = subject()
    signed_in(ada, sso, who)
    token = sso.provider.logout_token(sub=who)
    assert send(ada, token).status == 200
    assert ada.account() is None
    again = signed_in(ada.again(), sso, who)
    assert send(ada, token).status in (200, 400)
    assert again.account() == ada.email
    assert send(ada, sso.provider.logout_token(sub=who)).status == 200
    assert again.account() is None


# What is not a logout token.
WRONG = {
    "with a nonce": {"nonce": "any"},
    "for another client": {"aud": "another"},
    "of another provider": {"iss": "https://accounts.google.com"},
    "without the event": {"events": None},
    "with another event": {"events": {"http://schemas.openid.net/event/other": {}}},
    "of an hour ago": {"iat": int(time.time()) - 3600, "exp": int(time.time()) + 3600},
    "expired": {"iat": int(time.time()) - 200, "exp": int(time.time()) - 100},
    "of tomorrow": {"iat": int(time.time()) + 86400, "exp": int(time.time()) + 90000},
    "without an id": {"jti": None},
    "about nobody": {"sub": None},
}


@pytest.mark.parametrize("fault", [*WRONG, "none", "hs256", "id token", "not a token", "empty"])
def test_what_is_no_logout_token_ends_nothing(ada, sso, fault):
    who = subject()
    signed_in(ada, sso, who)
    provider = sso.provider
    right = {"iss": provider.issuer, "aud": CLIENT, "iat": provider.now(), "exp": provider.now() + 120, "sub": who}
    event = {"jti": str(uuid.uuid4()), "events": {"http://schemas.openid.net/event/backchannel-logout": {}}}
    token = {
        "none": lambda: unsigned(right | event),
        "hs256": lambda: with_secret(right | event, provider.key.public_pem(), kid=provider.key.kid),
        "id token": lambda: provider.key.sign(right),
        "not a token": lambda: "a.b.c",
        "empty": lambda: "",
    }.get(fault, lambda: provider.logout_token(**{"sub": who} | WRONG[fault]))()
    answer = send(ada, token)
    assert answer.status == 400, answer
    assert ada.account() == ada.email


def test_the_logout_token_of_one_provider_ends_no_session_of_another(ada, fakes, sso):
    who = subject()
    signed_in(ada, sso, who)
    assert send(ada, fakes.evil.logout_token(sub=who), "evil").status == 200
    assert send(ada, fakes.evil.logout_token(sub=who, iss=fakes.oidc.issuer), "evil").status == 400
    assert send(ada, fakes.evil.logout_token(sub=who), "sso").status == 400
    assert ada.account() == ada.email


def notify(visitor, notification, name="apple"):
    body = json.dumps({"payload": notification})
    address = f"{PUBLIC}/sign-in/with/{name}/notifications"
    return Visitor(visitor.service).step(address, "POST", body, kind="application/json")


def test_who_stops_using_apple_here_is_signed_out_and_may_come_back(ada, everybody):
    apple = everybody["apple"]
    signed_in(ada, apple, who := subject())
    notification = apple.provider.notification("consent-revoked", who)
    assert notify(ada, notification).status == 200
    assert ada.account() is None
    signed_in(ada, apple, who)
    assert notify(ada, notification).status == 200
    assert ada.account() == ada.email, "once"
    assert notify(ada, apple.provider.notification("email-disabled", who)).status == 200
    assert notify(ada, apple.provider.notification("consent-revoked", subject())).status == 200
    assert notify(ada, apple.provider.notification("consent-revoked", who, aud="another")).status == 400
    assert notify(ada, apple.provider.logout_token(sub=who)).status == 400
    assert notify(ada, notification, "sso").status == 404
    assert send(ada, notification, "apple").status == 404
    assert notify(ada, notification, "nowhere").status == 404
    assert ada.account() == ada.email


def test_an_apple_account_that_is_closed_is_unlinked(ada, everybody):
    apple = everybody["apple"]
    ada.sign_up().verify()
    apple.become(who := subject(), f"other.{ada.email}")
    apple.sign_in(ada, "?link=1")
    ada.confirm_link()
    other = ada.again()
    apple.sign_in(other)
    assert (other.account(), ada.identities()) == (ada.email, 1)
    for _ in range(2):
        assert notify(ada, apple.provider.notification("account-delete", who)).status == 200
    assert (other.account(), ada.account(), ada.identities()) == (None, ada.email, 0)


def test_a_session_lasts_no_longer_than_its_login_says(ada, sso):
    sso.login = "staff"
    signed_in(ada, sso, subject())
    [session] = ada.service.user(ada.email)["sessions"]
    assert session["expiresAt"][:16] <= time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 3660)), session


def test_removing_a_login_ends_the_sessions_that_it_began(ada, sso):
    ada.sign_up().verify()
    sso.become(who := subject(), f"other.{ada.email}")
    sso.sign_in(ada, "?link=1")
    ada.confirm_link()
    other = ada.again()
    sso.become(who)
    sso.sign_in(other)
    assert other.account() == ada.email
    ada.remove_link()
    assert ada.account() == ada.email
    assert other.account() is None


def test_a_logout_token_ends_sessions_that_were_not_named(ada, sso):
    """The ID token had no `sid`, so it may be the session that has ended."""
    signed_in(ada, sso, who := subject())
    other = signed_in(ada.again(), sso, who, sid=f"{who}-two")
    assert send(ada, sso.provider.logout_token(sub=who, sid="one")).status == 200
    assert (ada.account(), other.account()) == (None, other.email)
    unnamed = signed_in(ada.again(), sso, who)
    assert send(ada, sso.provider.logout_token(sid=f"{who}-two")).status == 200
    assert (other.account(), unnamed.account()) == (None, unnamed.email), "it names nobody"


# --- strength ---------------------------------------------------------------------------------------------------------


def test_a_second_factor_that_is_held_here_is_asked_for(ada, sso):
    ada.sign_up().verify()
    sso.become(who := subject(), f"other.{ada.email}")
    sso.sign_in(ada, "?link=1")
    ada.confirm_link()
    secret = ada.add_app()
    browser = ada.again()
    sso.become(who)
    sso.sign_in(browser)
    assert browser.account() is None and browser.page.forms("/sign-in/factor"), browser.page
    browser.submit("/sign-in/factor", code=secret.code())
    assert browser.account() == ada.email, browser.page


def test_who_gives_a_second_factor_is_asked_whether_to_link_then(ada, sso):
    ada.sign_up().verify()
    app = ada.add_app()
    browser = ada.again()
    sso.become(subject(), ada.email)
    sso.sign_in(browser)
    browser.follow("/sign-in")
    browser.sign_in()
    browser.submit("/sign-in/factor", code=app.code())
    browser.confirm_link()
    assert browser.identities() == 1, browser.page


# What a provider says, and whether the factor that is held here is asked for all the same.
TRUSTED = [(["pwd", "mfa"], False), (["pwd"], True), (None, True), ("mfa", True), (["x"] * 65 + ["mfa"], True)]


@pytest.mark.parametrize("amr, asked", TRUSTED)
def test_a_provider_that_is_trusted_stands_for_both(ada, sso, amr, asked):
    sso.login = "staff"
    ada.sign_up().verify()
    sso.become(who := subject(), f"other.{ada.email}", amr=amr)
    sso.sign_in(ada, "?link=1")
    ada.confirm_link()
    ada.add_app()
    browser = ada.again()
    sso.become(who, amr=amr)
    sso.sign_in(browser)
    assert bool(browser.page.forms("/sign-in/factor")) == asked, browser.page
    assert (browser.account() is None) == asked


# --- two instances ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def second(database, service, fakes, op, forger):
    """Another instance on the same database."""
    mails = database.folder / "mails"
    with LoginService(logins_of(fakes, op, forger), database.url, mails=mails, apple=fakes.apple) as second:
        yield second


@pytest.mark.parametrize("database", ["pgbouncer"], indirect=True)
def test_one_instance_begins_and_another_ends(service, second, ada, upstream):
    ada.hosts[PUBLIC] = lambda url: second.port if "/back" in url else service.port
    upstream.become(subject(), ada.email)
    upstream.sign_in(ada)
    assert ada.account() == ada.email, ada.page
    # What one has used up, the other does not take.
    [ended] = [url for url in ada.history if "/back?" in url]
    ada.hosts[PUBLIC] = service.port
    ada.sign_out()
    ada.open(ended)
    assert ada.account() is None and ada.page.status in REFUSED, ada.page
