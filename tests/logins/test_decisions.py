"""Which account somebody gets who comes back from a provider: each decision, with each provider, on each database."""

import json
import re

import pytest

from harness.wait import eventually
from people import LINK, NUMBERS, PASSWORD, PUBLIC, REFUSED, LoginService, Visitor, login, logins_of


def subject():
    return f"subject-{next(NUMBERS)}"


def joined(visitor, upstream, **claims):
    """Signs somebody up with a provider that has verified their address. Returns who they are there."""
    who = subject()
    upstream.become(who, visitor.email, **claims)
    upstream.sign_in(visitor)
    assert visitor.account() == visitor.email, visitor.page
    return who


def linked(visitor, upstream):
    """Links a provider to the account that the visitor has signed in to."""
    who = subject()
    upstream.become(who, f"other.{visitor.email}")
    upstream.sign_in(visitor, "?link=1")
    visitor.confirm_link()
    assert visitor.identities() == 1, visitor.page
    return who


def test_somebody_new_gets_an_account(service, ada, upstream):
    joined(ada, upstream)
    user = service.user(ada.email)
    assert (user["emailVerified"], user["hasPassword"]) == (True, False), user
    assert ada.identities() == 1


def test_a_known_person_signs_in_whatever_their_address_is_now(service, ada, upstream):
    bob = Visitor(service).sign_up().verify()
    who = joined(ada, upstream)
    for email, verified in ((ada.email, True), (bob.email, True), (f"new.{ada.email}", False), (None, False)):
        browser = ada.again()
        upstream.become(who, email, verified)
        upstream.sign_in(browser)
        assert browser.account() == ada.email, browser.page
    assert bob.identities() == 0
    assert service.user(f"new.{ada.email}") is None


def test_a_disabled_person_is_refused(service, ada, upstream):
    joined(ada, upstream)
    assert service.command("user", "disable", ada.email).returncode == 0
    browser = ada.again()
    upstream.sign_in(browser)
    assert browser.account() is None and browser.page.status in REFUSED, browser.page


def test_a_signed_in_person_links_and_removes_it(service, ada, upstream):
    ada.sign_up().verify()
    who = linked(ada, upstream)
    browser = ada.again()
    upstream.become(who)
    upstream.sign_in(browser)
    assert browser.account() == ada.email
    ada.remove_link()
    assert ada.identities() == 0, ada.page
    browser = ada.again()
    upstream.become(who)
    upstream.sign_in(browser)
    assert browser.account() is None
    for change in ("signs you in", "no longer signs you in"):
        mailed = re.compile(rf"\S {change} to Example$")
        eventually(f"it is mailed: {change}", lambda: any(map(mailed.search, service.subjects(ada.email))))


def test_the_login_of_somebody_else_is_not_linked(service, ada, upstream):
    bob = Visitor(service)
    who = joined(bob, upstream)
    ada.sign_up().verify()
    upstream.become(who, bob.email)
    upstream.sign_in(ada, "?link=1")
    if ada.page.forms(LINK):
        ada.confirm_link()
    assert ada.page.status in REFUSED, ada.page
    assert ada.identities() == 0 and bob.identities() == 1


@pytest.mark.parametrize("way", ["password", "mailed code"])
def test_a_verified_address_of_a_verified_account_is_linked_after_signing_in(service, ada, upstream, way):
    ada.sign_up().verify()
    browser = ada.again()
    who = subject()
    upstream.become(who, ada.email)
    upstream.sign_in(browser)
    assert browser.account() is None, "nothing links by address alone"
    assert ada.identities() == 0
    browser.follow("/sign-in")
    if way == "password":
        browser.sign_in()
    else:
        browser.sign_in_by_mail()
    assert ada.identities() == 0, "not before they have said so"
    browser.confirm_link()
    assert ada.identities() == 1, browser.page
    third = ada.again()
    upstream.sign_in(third)
    assert third.account() == ada.email


def test_an_unverified_account_of_somebody_else_goes(service, ada, upstream, eve):
    # Somebody else has taken the address before its owner came.
    eve.email = ada.email
    eve.sign_up(password="known to eve only")
    before = service.user(ada.email)["id"]
    upstream.become(subject(), ada.email)
    upstream.sign_in(ada)
    assert ada.account() is None and service.user(ada.email)["id"] == before, "nobody has said whose it is"
    ada.replace_account()
    assert ada.account() == ada.email, ada.page
    user = service.user(ada.email)
    assert user["id"] != before and not user["hasPassword"], user
    assert eve.account() is None, "the session of the old account has ended"
    other = eve.again()
    other.go("/sign-in")
    other.sign_in("known to eve only")
    assert other.account() is None


def test_whoever_has_made_an_unverified_account_keeps_it(service, ada, upstream):
    ada.sign_up()
    before = service.user(ada.email)["id"]
    browser = ada.again()
    who = subject()
    upstream.become(who, ada.email)
    upstream.sign_in(browser)
    browser.follow("/sign-in")
    browser.sign_in()
    assert ada.identities() == 0, "not before they have said so"
    browser.confirm_link()
    third = ada.again()
    upstream.sign_in(third)
    assert third.account() == ada.email and service.user(ada.email)["id"] == before


def test_a_login_linked_to_an_unverified_account_goes_with_it(service, ada, upstream, eve):
    eve.email = ada.email
    eve.sign_up()
    theirs = linked(eve, upstream)
    upstream.become(subject(), ada.email)
    upstream.sign_in(ada)
    ada.replace_account()
    assert ada.account() == ada.email and ada.identities() == 1
    other = eve.again()
    upstream.become(theirs)
    upstream.sign_in(other)
    assert other.account() is None, other.page


@pytest.mark.parametrize("given", ["unverified address", "no address"])
def test_an_address_that_is_not_verified_there_is_proved_here(service, ada, upstream, given):
    upstream.become(subject(), ada.email if given == "unverified address" else None, verified=False)
    upstream.sign_in(ada)
    assert ada.account() is None, ada.page
    ada.prove_address(ada.email)
    assert ada.account() == ada.email, ada.page
    assert service.user(ada.email)["emailVerified"]
    browser = ada.again()
    upstream.sign_in(browser)
    assert browser.account() == ada.email


def test_an_unverified_address_of_somebody_else_opens_nothing(service, ada, upstream, eve):
    ada.sign_up().verify()
    upstream.become(subject(), ada.email, verified=False)
    upstream.sign_in(eve)
    assert eve.account() is None, eve.page
    assert ada.identities() == 0 and ada.account() == ada.email
    # Nor does a wrong code.
    eve.prove_address(ada.email, lambda code: f"{(int(code.replace(' ', '')) + 1) % 10**8:08}")
    assert eve.account() is None and ada.identities() == 0, eve.page


def pre_made(service, email):
    assert service.command("user", "add", email, "--name", "Ada").returncode == 0
    assert service.command("user", "verify", email).returncode == 0


def test_an_account_made_for_somebody_is_not_theirs_by_address(service, ada, upstream):
    pre_made(service, ada.email)
    upstream.become(subject(), ada.email)
    upstream.sign_in(ada)
    assert ada.account() is None, ada.page


# --- other rules: one provider is enough for each ---------------------------------------------------------------------


def test_an_account_made_for_somebody_is_claimed_where_the_login_may(service, ada, sso):
    pre_made(service, ada.email)
    before = service.user(ada.email)["id"]
    sso.login = "claiming"
    joined(ada, sso)
    assert service.user(ada.email)["id"] == before


def test_who_claims_an_account_is_told_by_mail(service, ada, sso):
    pre_made(service, ada.email)
    sso.login = "claiming"
    joined(ada, sso)
    eventually("it is mailed", lambda: any("signs you in" in each for each in service.subjects(ada.email)))


def test_an_account_that_another_login_opens_is_not_claimed(service, ada, sso):
    """Its owner has never been here, and comes from elsewhere."""
    identity = {"login": "google", "issuer": "https://accounts.google.com", "subject": "ada"}
    user = {"email": ada.email, "name": "Ada", "emailVerified": True, "identities": [identity]}
    imported = service.command("import", "-", "--format", "jsonl", text=json.dumps(user) + "\n")
    assert imported.returncode == 0, imported
    assert len(service.user(ada.email)["identities"]) == 1
    sso.login = "claiming"
    sso.become(subject(), ada.email)
    sso.sign_in(ada)
    assert ada.account() is None and len(service.user(ada.email)["identities"]) == 1, ada.page


def test_an_account_that_was_used_is_not_claimed(service, ada, sso):
    ada.sign_up().verify()
    browser = ada.again()
    sso.login = "claiming"
    sso.become(subject(), ada.email)
    sso.sign_in(browser)
    assert browser.account() is None and ada.identities() == 0


def test_an_unverified_address_claims_nothing(service, ada, sso):
    pre_made(service, ada.email)
    sso.login = "claiming"
    sso.become(subject(), ada.email, verified=False)
    sso.sign_in(ada)
    assert ada.account() is None


def test_only_those_whom_the_login_admits_get_an_account(service, ada, eve, sso):
    sso.login = "members"
    sso.become(subject(), eve.email, hd="example.net")
    sso.sign_in(eve)
    assert eve.account() is None and eve.page.status in REFUSED, eve.page
    assert service.user(eve.email) is None
    joined(ada, sso, hd="example.com")


def test_roles_are_replaced_at_each_sign_in(service, ada, sso):
    sso.login = "staff"
    who = joined(ada, sso, groups=["staff", "editors", "not a role!"])
    assert service.command("user", "grant", ada.email, "own").returncode == 0

    def roles_with(groups):
        sso.become(who, ada.email, groups=groups)
        sso.sign_in(ada.again())
        return set(service.user(ada.email)["roles"])

    assert roles_with(["staff"]) == {"own", "staff"}
    assert roles_with([]) == {"own"}
    assert roles_with(["editors"]) == {"own", "editors"}


def test_a_link_gives_the_roles_at_once(service, ada, sso):
    ada.sign_up().verify()
    sso.login = "staff"
    sso.become(subject(), f"other.{ada.email}", groups=["editors"])
    sso.sign_in(ada, "?link=1")
    ada.confirm_link()
    assert service.user(ada.email)["roles"] == ["editors"]
    ada.remove_link()
    assert service.user(ada.email)["roles"] == []


def test_teams_at_github_are_roles(service, ada, everybody):
    github = everybody["github"]
    teams = [{"slug": "dev", "organization": {"login": "acme"}}]
    joined(ada, github, teams=teams)
    assert set(service.user(ada.email)["roles"]) == {"acme/dev"}


@pytest.mark.parametrize("name, has", [("staff", False), ("bosses", True)])
def test_a_role_that_administers_needs_a_grant(service, ada, sso, name, has):
    sso.login = name
    joined(ada, sso, groups=["admin"])
    assert ("admin" in service.user(ada.email)["roles"]) == has
    assert (ada.look("/admin").status == 200) == has


@pytest.mark.parametrize("first", ["google", "github"])
def test_who_has_not_proved_lately_who_they_are_does_so_before_a_change(everybody, ada, first):
    """Neither says when somebody has signed in, so nothing is proved by coming from there."""
    joined(ada, everybody[first])
    everybody["sso"].become(subject(), f"other.{ada.email}")
    everybody["sso"].sign_in(ada, "?link=1")
    if ada.page.forms(LINK):
        ada.confirm_link()
    assert ada.identities() == 1, ada.page
    assert ada.page.path == "/step-up" or ada.page.status in REFUSED, ada.page


def test_the_sign_in_page_leads_to_the_provider(ada, upstream):
    upstream.become(subject(), ada.email)
    ada.go("/sign-in")
    ada.follow(f"/sign-in/with/{upstream.login}")
    upstream.come_back(ada)
    assert ada.account() == ada.email, ada.page


def test_people_of_a_domain_go_straight_to_their_provider(service, ada, sso):
    ada.email = f"ada.{ada.number}@staff.example"
    sso.login = "staff"
    sso.become(subject(), ada.email)
    ada.go("/sign-in")
    ada.sign_in("")
    sso.come_back(ada)
    assert ada.account() == ada.email, ada.page
    assert any(url.startswith(sso.provider.url) for url in ada.history)


@pytest.fixture
def colleague(service, ada):
    """Somebody whose domain signs in elsewhere, and who has had a password here since before it did."""
    ada.email = f"ada.{ada.number}@staff.example"
    added = service.command("user", "add", ada.email, "--name", "Ada", "--password-stdin", text=PASSWORD)
    assert added.returncode == 0, added
    assert service.command("user", "verify", ada.email).returncode == 0
    return ada


def test_who_has_had_a_password_signs_in_with_it_once_to_link(service, colleague, sso):
    sso.login = "staff"
    sso.become(subject(), colleague.email)
    colleague.go("/sign-in")
    colleague.sign_in()
    sso.come_back(colleague)
    assert colleague.account() is None and "You have an account here already" in colleague.page.words
    colleague.follow("/sign-in")
    colleague.sign_in("wrong password")
    assert colleague.account() is None, colleague.page
    colleague.sign_in()
    colleague.confirm_link()
    assert colleague.identities() == 1, colleague.page
    sso.sign_in(browser := colleague.again())
    assert browser.account() == colleague.email


def test_who_comes_from_another_provider_does_not_sign_in_with_it(service, colleague, sso):
    """They may have been dismissed at their own."""
    sso.login = "members"
    sso.become(subject(), colleague.email)
    sso.sign_in(colleague)
    assert "You have an account here already" in colleague.page.words
    colleague.follow("/sign-in")
    colleague.sign_in()
    sso.come_back(colleague)
    assert any("/sign-in/with/staff" in url for url in colleague.history)
    assert colleague.account() is None and service.user(colleague.email)["identities"] == []


def test_the_password_of_such_a_person_signs_nobody_in(colleague, eve, sso):
    eve.email = colleague.email
    sso.login = "staff"
    sso.become(subject(), f"eve.{eve.number}@staff.example")
    eve.go("/sign-in")
    eve.sign_in()
    sso.come_back(eve)
    assert eve.account() == f"eve.{eve.number}@staff.example", "whoever eve is there"


def test_nobody_registers_with_an_address_of_such_a_domain(service, ada, sso):
    ada.email = f"ada.{ada.number}@staff.example"
    sso.login = "staff"
    sso.become(subject(), ada.email)
    ada.go("/sign-up")
    ada.submit("/sign-up", name="Ada", email=ada.email, password=PASSWORD)
    sso.come_back(ada)
    assert ada.account() == ada.email and not service.user(ada.email)["hasPassword"], ada.page
    form = {"name": "Ada", "email": f"other.{ada.email}", "password": PASSWORD}
    refused = ada.step(f"{PUBLIC}/api/user", "POST", json.dumps(form), kind="application/json")
    assert refused.status == 403, refused
    assert service.user(f"other.{ada.email}") is None


def test_a_page_in_german_is_in_german(service, sso):
    hans = Visitor(service, language="de")
    sso.become(subject(), None)
    sso.sign_in(hans)
    assert re.search(r"Adresse", hans.page.words), hans.page


# --- where registration is limited ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def invited(fakes, op, forger):
    """A service that only the invited may join."""
    logins = logins_of(fakes, op, forger)
    with LoginService(logins, apple=fakes.apple, first='registration = "invited"') as service:
        yield service


@pytest.fixture(scope="module")
def closed(fakes):
    """A service that nobody may join and that sends no mail."""
    sso = login("sso", fakes.oidc.issuer, preset="oidc", label="Example SSO")
    with LoginService(sso, with_mail=False, first='registration = "closed"') as service:
        yield service


@pytest.fixture(scope="module")
def mailless(fakes):
    """A service that sends no mail."""
    sso = login("sso", fakes.oidc.issuer, preset="oidc", label="Example SSO")
    with LoginService(sso, with_mail=False) as service:
        yield service


def test_an_invited_person_gets_an_account_with_the_roles(invited, upstream):
    ada = Visitor(invited)
    assert invited.command("user", "invite", ada.email, "--role", "editor").returncode == 0
    joined(ada, upstream)
    assert invited.user(ada.email)["roles"] == ["editor"]
    assert ada.email not in invited.command("user", "invitations").stdout


def test_who_is_not_invited_gets_no_account(invited, upstream):
    eve = Visitor(invited)
    upstream.become(subject(), eve.email)
    upstream.sign_in(eve)
    assert eve.account() is None and eve.page.status in REFUSED, eve.page
    assert invited.user(eve.email) is None


def test_an_unverified_address_uses_no_invitation(invited, sso):
    ada, eve = Visitor(invited), Visitor(invited)
    assert invited.command("user", "invite", ada.email).returncode == 0
    sso.become(subject(), ada.email, verified=False)
    sso.sign_in(eve)
    assert eve.account() is None
    assert ada.email in invited.command("user", "invitations").stdout


def test_nobody_gets_an_account_where_registration_is_closed(closed, sso):
    ada = Visitor(closed)
    sso.become(subject(), ada.email)
    sso.sign_in(ada)
    assert ada.account() is None and ada.page.status in REFUSED, ada.page


def test_the_last_way_in_stays(mailless, sso):
    """Elsewhere a mailed code is another one."""
    ada = Visitor(mailless)
    joined(ada, sso)
    assert ada.identities() == 1
    ada.remove_link()
    assert ada.page.status in REFUSED and ada.identities() == 1, ada.page
    browser = ada.again()
    sso.sign_in(browser)
    assert browser.account() == ada.email, browser.page


def test_an_address_cannot_be_proved_without_mail(mailless, sso):
    ada = Visitor(mailless)
    sso.become(subject(), ada.email, verified=False)
    sso.sign_in(ada)
    assert ada.account() is None and ada.page.status in REFUSED, ada.page
    # With a verified one nothing is mailed.
    joined(Visitor(mailless), sso)
