"""Every page in every state, and the steps that lead there. Nothing here needs JavaScript."""

import json
from dataclasses import dataclass

from factors import Held

from loopback_site import LoopbackSite
from people import NUMBERS, Person, assert_account, fill, press, sign_in, sign_up, submit
from support import send
from visitor import Visitor

STATES = {}
WRONG = "wrong password"
CHROME = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36"
LONG_NAME = "Wolfeschlegelsteinhausenbergerdorff " * 3


def state(*, status=200, with_mail=False, with_passkeys=False, with_providers=False):
    """Registers the steps to a page, on a service that sends mail, offers passkeys, has other providers, or neither. The page answers
    with this status."""
    site = "mailing" if with_mail else "passkeys" if with_passkeys else "providers" if with_providers else "loopback"

    def register(steps):
        STATES[steps.__name__.replace("_", "-")] = steps, status, site
        return steps

    return register


@dataclass
class Tour:
    """A browser profile at a Doorward."""

    site: LoopbackSite
    context: object
    page: object

    def open(self, path):
        self.page.goto(self.site.url + path)

    def open_app(self, name, path="/"):
        self.page.goto(self.site.app_urls[name] + path)

    def visitor(self, user_agent):
        return Visitor(self.site.doorward, self.site.url, user_agent=user_agent)

    def signed_up(self, *factors, **record):
        """Signs a new person up, who sets these factors up, and opens their account."""
        visitor = self.visitor(CHROME)
        person = visitor.sign_up(Person(**record))
        self.held = Held(visitor)
        for factor in factors:
            self.held.add(factor)
        [(name, value)] = visitor.cookies[visitor.host].items()
        cookie = {"name": name, "value": value, "url": self.site.url, "httpOnly": True, "sameSite": "Lax"}
        self.context.add_cookies([cookie])
        self.open("/account")
        assert_account(self.page)
        return person

    def sign_in_elsewhere(self, person, user_agent):
        """Signs a person in with another device."""
        assert self.visitor(user_agent).sign_in(person).status == 303

    def open_details(self, form):
        """Opens the part of the account page that holds this form."""
        details = self.page.locator(f"details:has(form[action$='{form}'])")
        if details.count() and details.get_attribute("open") is None:
            details.locator("summary").click()


# --- sign in ---------------------------------------------------------------------------------------------------------


@state()
def sign_in_plain(tour):
    tour.open("/sign-in")


@state()
def sign_in_for_an_app(tour):
    tour.open_app("reports", "/numbers?year=2026")


@state()
def sign_in_as_somebody_else(tour):
    tour.signed_up()
    tour.open_app("staff")
    press(tour.page, "main a[href*='other=1']")


@state()
def sign_in_signed_out(tour):
    tour.signed_up()
    submit(tour.page, "/sign-out")


@state(status=400)
def sign_in_wrong_password(tour):
    tour.open("/sign-in")
    sign_in(tour.page, Person(password=WRONG))


@state(status=400)
def sign_in_empty(tour):
    tour.open("/sign-in")
    tour.page.locator("form[action$='/sign-in']").evaluate("form => form.noValidate = true")
    submit(tour.page, "/sign-in")


@state(status=429)
def sign_in_throttled(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    body = json.dumps({"email": person.email, "password": WRONG}).encode()
    for _ in range(5):
        send(tour.site.doorward.port, "POST", "/api/auth/login", [("Content-Type", "application/json")], body)
    tour.open("/sign-in")
    sign_in(tour.page, person)


# --- sign up ---------------------------------------------------------------------------------------------------------


@state()
def sign_up_plain(tour):
    tour.open("/sign-up")


@state()
def sign_up_for_an_app(tour):
    tour.open_app("reports", "/numbers?year=2026")
    press(tour.page, "main a[href*='/sign-up']")


@state(status=400)
def sign_up_with_faults(tour):
    tour.open("/sign-up")
    tour.page.locator("form[action$='/sign-up']").evaluate("form => form.noValidate = true")
    sign_up(tour.page, Person(name="A", email="ada", password="short"))


@state(status=400)
def sign_up_empty(tour):
    tour.open("/sign-up")
    tour.page.locator("form[action$='/sign-up']").evaluate("form => form.noValidate = true")
    submit(tour.page, "/sign-up")


@state(status=409)
def sign_up_taken(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    tour.open("/sign-up")
    sign_up(tour.page, Person(email=person.email, password="another password"))


# --- sign out, reset -------------------------------------------------------------------------------------------------


@state()
def sign_out_question(tour):
    tour.signed_up()
    tour.open("/sign-out")


@state()
def reset_plain(tour):
    tour.open("/reset")


@state(status=400)
def reset_wrong_code(tour):
    tour.open("/reset")
    fill(tour.page, "/reset", code="0" * 64, password="a new password")
    submit(tour.page, "/reset")


@state(status=400)
def reset_with_faults(tour):
    tour.open("/reset")
    tour.page.locator("form[action$='/reset']").evaluate("form => form.noValidate = true")
    fill(tour.page, "/reset", password="short")
    submit(tour.page, "/reset")


@state()
def reset_done(tour):
    person = tour.signed_up()
    code = tour.site.doorward.run("user", "reset-code", person.email).split()[-1]
    tour.open("/reset")
    fill(tour.page, "/reset", code=code, password="a new password")
    submit(tour.page, "/reset")


# --- mail ------------------------------------------------------------------------------------------------------------


@state(with_mail=True)
def sign_in_with_mail(tour):
    tour.open("/sign-in")


@state(with_mail=True)
def forgot(tour):
    tour.open("/forgot")


@state(status=400, with_mail=True)
def forgot_with_fault(tour):
    tour.open("/forgot")
    fill(tour.page, "/forgot", email="ada@example")
    submit(tour.page, "/forgot")


@state(with_mail=True)
def reset_mailed(tour):
    tour.open("/forgot")
    fill(tour.page, "/forgot", email=Person().email)
    submit(tour.page, "/forgot")


@state(with_mail=True)
def reset_link(tour):
    person = tour.signed_up()
    tour.open("/forgot")
    fill(tour.page, "/forgot", email=person.email)
    submit(tour.page, "/forgot")
    tour.open(tour.site.mailed_link(person.email, "/reset"))


@state(status=410, with_mail=True)
def reset_link_dead(tour):
    tour.open("/reset?code=unknown")


@state(with_mail=True)
def verify_plain(tour):
    tour.open("/verify")


@state(with_mail=True)
def verify_link(tour):
    person = tour.signed_up()
    tour.open(tour.site.mailed_link(person.email, "/verify"))


@state(status=410, with_mail=True)
def verify_link_dead(tour):
    tour.open("/verify?code=unknown")


@state(with_mail=True)
def verified(tour):
    verify_link(tour)
    submit(tour.page, "/verify")


@state(status=400, with_mail=True)
def verify_wrong_code(tour):
    tour.open("/verify")
    fill(tour.page, "/verify", email=Person().email, code="0000 0000")
    submit(tour.page, "/verify")


@state(with_mail=True)
def verify_for_an_app(tour):
    person = tour.signed_up()
    tour.site.doorward.run("user", "grant", person.email, "staff")
    tour.open_app("staff", "/plans?year=2027")
    return person


@state(with_mail=True)
def verify_for_an_app_sent_again(tour):
    verify_for_an_app(tour)
    submit(tour.page, "/verify/send")


@state(status=400, with_mail=True)
def verify_for_an_app_wrong_code(tour):
    verify_for_an_app(tour)
    fill(tour.page, "/verify", code="0000 0000")
    submit(tour.page, "/verify")


@state(with_mail=True)
def verified_on_another_device(tour):
    tour.open_app("reports", "/numbers?year=2026")
    press(tour.page, "main a[href*='/sign-up']")
    person = Person()
    sign_up(tour.page, person)
    tour.context.clear_cookies()
    tour.open(tour.site.mailed_link(person.email, "/verify"))
    submit(tour.page, "/verify")


@state(with_mail=True)
def restore_email_link(tour):
    person = tour.signed_up()
    tour.open(tour.site.mailed_link(person.email, "/verify"))
    submit(tour.page, "/verify")
    new = f"new-{person.email}"
    changed(tour, "/account/email", email=new, password=person.password)
    tour.open(tour.site.mailed_link(new, "/verify"))
    submit(tour.page, "/verify")
    tour.open(tour.site.mailed_link(person.email, "/restore-email"))


@state(status=410, with_mail=True)
def restore_email_dead(tour):
    tour.open("/restore-email?code=unknown")


@state(with_mail=True)
def code_request(tour):
    tour.open("/sign-in/code")


@state(with_mail=True)
def code_mailed(tour):
    tour.open("/sign-in/code")
    fill(tour.page, "/sign-in/code", email=Person().email)
    submit(tour.page, "/sign-in/code")


@state(with_mail=True)
def code_link(tour):
    person = Person()
    for path, body in (
        ("/api/user", {"name": person.name, "email": person.email}),
        ("/api/auth/code", {"email": person.email}),
    ):
        body = json.dumps(body).encode()
        send(tour.site.doorward.port, "POST", path, [("Content-Type", "application/json")], body)
    tour.open(tour.site.mailed_link(person.email, "/sign-in/code/use"))


@state(with_mail=True)
def code_link_of_another_account(tour):
    tour.signed_up()
    code_link(tour)


@state(status=410, with_mail=True)
def code_link_dead(tour):
    tour.open("/sign-in/code/use?code=unknown")


@state(with_mail=True)
def account_unverified(tour):
    tour.signed_up()


@state(with_mail=True)
def account_added_without_mail(tour):
    """The operator has added the user, who was sent nothing."""
    person = Person()
    tour.site.doorward.run("user", "add", person.email, "--name", person.name, "--password-stdin", text=person.password)
    tour.open("/sign-in")
    sign_in(tour.page, person)
    assert tour.page.locator("input[name=code]").count() == 0
    assert tour.page.locator("form[action$='/account/verify']").count() == 1


@state(with_mail=True)
def account_email_pending(tour):
    person = tour.signed_up()
    changed(tour, "/account/email", email=f"new-{person.email}", password=person.password)


@state(with_mail=True)
def account_email_cancelled(tour):
    account_email_pending(tour)
    press(tour.page, "button[formaction$='/account/email/cancel']")


@state(with_mail=True)
def sign_up_conditional(tour):
    tour.open("/sign-up")


@state(with_mail=True)
def sign_up_with_code(tour):
    tour.open("/sign-up?invitation=")


@state(with_mail=True)
def sign_up_mailed(tour):
    tour.open("/sign-up?done=mailed")


@state(with_mail=True)
def invitation_link(tour):
    person = Person()
    tour.site.doorward.run("user", "invite", person.email)
    tour.open(tour.site.mailed_link(person.email, "/sign-up"))


@state(status=410, with_mail=True)
def invitation_dead(tour):
    tour.open("/sign-up?invitation=unknown")


@state(with_mail=True)
def invitations(tour):
    verified(tour)
    tour.open("/account/invitations")
    fill(tour.page, "/account/invitations", email=Person().email)
    submit(tour.page, "/account/invitations")


# --- account ---------------------------------------------------------------------------------------------------------


@state()
def account(tour):
    tour.signed_up()


@state()
def account_with_sessions(tour):
    person = tour.signed_up()
    for user_agent in (
        "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
        "Version/18.5 Mobile/15E148 Safari/604.1",
        "curl/8.14",
    ):
        tour.sign_in_elsewhere(person, user_agent)
    tour.open("/account")


@state()
def account_with_long_values(tour):
    tour.signed_up(name=LONG_NAME.strip(), email=f"{'a' * 60}@{'b' * 60}.{'c' * 60}.{next(NUMBERS)}.example.com")


@state()
def account_open_forms(tour):
    tour.signed_up()
    for form in ("/account/name", "/account/email", "/account/delete"):
        tour.open_details(form)


def changed(tour, form, **values):
    tour.open_details(form)
    fill(tour.page, form, **values)
    submit(tour.page, form)


@state()
def account_name_changed(tour):
    tour.signed_up()
    changed(tour, "/account/name", name="Ada King")


@state(status=400)
def account_name_refused(tour):
    tour.signed_up()
    changed(tour, "/account/name", name="A")


@state()
def account_email_changed(tour):
    person = tour.signed_up()
    changed(tour, "/account/email", email=f"new-{person.email}", password=person.password)


@state(status=409)
def account_email_taken(tour):
    taken = tour.signed_up()
    submit(tour.page, "/sign-out")
    person = tour.signed_up()
    changed(tour, "/account/email", email=taken.email, password=person.password)


@state()
def account_password_changed(tour):
    person = tour.signed_up()
    changed(tour, "/account/password", current=person.password, new="a new password")


@state(status=400)
def account_password_refused(tour):
    tour.signed_up()
    changed(tour, "/account/password", current=WRONG, new="a new password")


@state()
def account_session_ended(tour):
    person = tour.signed_up()
    tour.sign_in_elsewhere(person, "curl/8.14")
    tour.open("/account")
    submit(tour.page, "/account/sessions/end")


@state()
def signed_out_everywhere(tour):
    tour.signed_up()
    submit(tour.page, "/account/sign-out-everywhere")


@state(status=400)
def account_delete_refused(tour):
    tour.signed_up()
    changed(tour, "/account/delete", password=WRONG)


@state()
def account_deleted(tour):
    person = tour.signed_up()
    changed(tour, "/account/delete", password=person.password)


# --- second factors --------------------------------------------------------------------------------------------------


def asked(tour, *factors):
    """Opens the page that asks a person who holds these factors for one of them."""
    person = tour.signed_up(*factors)
    submit(tour.page, "/sign-out")
    tour.open("/sign-in")
    sign_in(tour.page, person)
    return person


def waited(tour, *factors):
    """As if the sign-in were long ago: somebody who has factors, and a session that has not proved them."""
    person = tour.signed_up()
    other = tour.visitor(CHROME)
    assert other.sign_in(person).status == 303
    tour.held = Held(other)
    for factor in factors or ("totp",):
        tour.held.add(factor)
    return person


@state(with_passkeys=True)
def sign_in_with_passkeys(tour):
    tour.open_app("reports", "/numbers?year=2026")


@state(with_passkeys=True)
def factor(tour):
    asked(tour, "totp", "passkey")


@state()
def factor_without_passkeys(tour):
    asked(tour, "totp")


@state(with_passkeys=True)
def factor_security_key(tour):
    asked(tour, "key")


@state(status=400, with_passkeys=True)
def factor_wrong_code(tour):
    asked(tour, "totp", "passkey")
    tour.page.locator("#code").fill("000 000")
    press(tour.page, "form[action$='/sign-in/factor'] button:not([type=button]) >> nth=0")


@state(status=400)
def factor_wrong_recovery_code(tour):
    asked(tour, "totp")
    tour.page.locator("summary").click()
    tour.page.locator("#recovery").fill("00000-00000-00000-00000-00000")
    press(tour.page, "details button")


@state()
def recovery_code_used(tour):
    asked(tour, "totp")
    tour.page.locator("summary").click()
    tour.page.locator("#recovery").fill(tour.held.recovery_codes[0])
    press(tour.page, "details button")


@state()
def security_recovered(tour):
    recovery_code_used(tour)
    press(tour.page, "main a.button:not(.quiet)")


@state()
def factor_too_late(tour):
    tour.open("/sign-in?done=expired")


@state()
def step_up(tour):
    person = waited(tour)
    tour.open("/step-up?next=%2Faccount%2Fsecurity")
    return person


def target(tour):
    """The return target of somebody whom an app sends to sign in."""
    tour.open_app("reports", "/numbers")
    return tour.page.url.split("for=")[1].split("&")[0]


@state(with_passkeys=True)
def step_up_for_an_app(tour):
    app = target(tour)
    waited(tour, "totp", "key")
    tour.open(f"/step-up?ask=phr&for={app}")


@state()
def step_up_before_a_change(tour):
    waited(tour)
    tour.open("/step-up?next=%2Faccount%3Fopen%3Demail")


@state(with_passkeys=True)
def security_for_a_passkey(tour):
    app = target(tour)
    tour.signed_up("totp")
    tour.open(f"/step-up?ask=phr&for={app}")


@state()
def account_to_confirm(tour):
    waited(tour)
    tour.open("/account")


@state(status=400)
def step_up_wrong_code(tour):
    person = step_up(tour)
    fill(tour.page, "/step-up", password=person.password)
    submit(tour.page, "/step-up")
    tour.page.locator("#code").fill("000000")
    press(tour.page, "form[action$='/step-up'] button:not([type=button]) >> nth=0")


@state()
def security_without_factors(tour):
    tour.signed_up()
    tour.open("/account/security")


@state(with_passkeys=True)
def security_with_passkeys_offered(tour):
    tour.signed_up()
    tour.open("/account/security")


@state(with_passkeys=True)
def security(tour):
    person = tour.signed_up("passkey", "totp", "key")
    visitor = tour.visitor(CHROME)
    page = visitor.sign_in(person)
    assert tour.held.answer(visitor, page, trust="1").status == 303
    tour.open("/account/security?done=passkey")


@state()
def security_to_confirm(tour):
    waited(tour)
    tour.open("/account/security")


def made_key(tour, name):
    tour.open("/account/keys")
    fill(tour.page, "/account/keys", name=name)
    submit(tour.page, "/account/keys")


@state()
def keys_none(tour):
    tour.signed_up()
    tour.open("/account/keys")


@state()
def keys_made(tour):
    tour.signed_up()
    made_key(tour, "Backup of the calendar")
    made_key(tour, LONG_NAME)


@state()
def keys_revoked(tour):
    tour.signed_up()
    made_key(tour, "Backup of the calendar")
    made_key(tour, "Phone")
    tour.open("/account/keys")
    press(tour.page, "form[action$='/account/keys/revoke'] button >> nth=0")


@state(status=400)
def keys_refused(tour):
    tour.signed_up()
    made_key(tour, "x")


@state()
def keys_to_confirm(tour):
    waited(tour)
    tour.open("/account/keys")


@state(with_passkeys=True)
def add_passkey(tour):
    tour.signed_up()
    tour.open("/account/security/passkey")


@state(with_passkeys=True)
def add_security_key(tour):
    tour.signed_up()
    tour.open("/account/security/key")


@state(with_passkeys=True)
def passkey(tour):
    tour.signed_up("passkey")
    tour.open("/account/security")
    press(tour.page, "a[href*='/security/passkeys/']")


@state(with_passkeys=True)
def passkey_to_remove(tour):
    passkey(tour)
    submit(tour.page, "/passkeys/remove")


@state(with_passkeys=True)
def passkey_removed(tour):
    passkey_to_remove(tour)
    submit(tour.page, "/passkeys/remove")


@state()
def app_to_remove(tour):
    tour.signed_up("totp")
    tour.open("/account/security")
    submit(tour.page, "/security/totp/remove")


@state()
def app_set_up(tour):
    tour.signed_up()
    tour.open("/account/security/totp")


@state(status=400)
def app_set_up_wrong_code(tour):
    app_set_up(tour)
    fill(tour.page, "/account/security/totp", code="000000")
    submit(tour.page, "/account/security/totp")


@state()
def recovery_codes(tour):
    tour.signed_up("totp")
    tour.open("/account/security")
    submit(tour.page, "/account/security/codes")


# --- refusals and errors ---------------------------------------------------------------------------------------------


@state(status=403)
def refused(tour):
    tour.signed_up()
    tour.open_app("staff", "/plans?for=2027")


@state()
def refused_decision(tour):
    tour.signed_up()
    tour.open_app("staff")
    tour.open(f"/refused/{tour.page.locator('dd code').first.inner_text()}")


@state()
def refused_for_operators(tour):
    person = tour.signed_up()
    tour.site.doorward.run("user", "grant", person.email, "admin")
    tour.open_app("staff")
    tour.open(f"/refused/{tour.page.locator('dd code').first.inner_text()}")


@state(status=404)
def refused_unknown(tour):
    tour.signed_up()
    tour.open("/refused/00000000-0000-4000-8000-000000000000")


@state(status=403)
def no_cookie(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    tour.open_app("reports")
    # As if the browser refused cookies of the app's host.
    tour.context.clear_cookies()
    sign_in(tour.page, person)


@state(status=403)
def code_unknown(tour):
    tour.open_app("reports")
    tour.open_app("reports", "/.doorward/in?code=unknown")


@state(status=403)
def other_site(tour):
    form = f"<form method=post action={tour.site.url}/sign-out><button>Press</button></form>"
    tour.page.goto(f"data:text/html,{form}")
    press(tour.page, "button")


@state(status=421)
def https_needed(tour):
    tour.page.goto(f"http://auth.one.test:{tour.site.doorward.port}/sign-in")


@state(status=404)
def not_found(tour):
    tour.open("/nothing/here")


@state(status=405)
def method_not_allowed(tour):
    tour.open("/account/name")


# --- documentation ---------------------------------------------------------------------------------------------------


@state()
def api_documentation(tour):
    tour.open("/docs")


@state()
def api_documentation_unfolded(tour):
    """Everything that a person can unfold."""
    tour.open("/docs")
    for operation in ("register", "declaredGuard", "introspect"):
        tour.page.locator(f"#{operation} summary").click()
