"""Every page of the administration in every state, and the steps that lead there."""

import json

from harness.identities import link
from page_states import LONG_NAME, state
from people import Person, fill, press, submit
from support import send

CURL = "curl/8.14"


def administered(tour, *factors):
    """Signs an administrator in, on a service that has users, refusals and sessions."""
    person = tour.signed_up(*factors, name="Grace Hopper")
    tour.site.doorward.run("user", "grant", person.email, "admin")
    return person


def refused_user(tour, name="Ada Lovelace"):
    """Somebody whom a guard has refused, and whose sign-in has failed. Returns the person and the path of their page."""
    visitor = tour.visitor(CURL)
    person = visitor.sign_up(Person(name=name))
    staff = tour.site.app_urls["staff"]
    entered = visitor.visit("staff", staff)
    assert entered.status in (303, 403), entered
    if entered.status == 303:
        visitor.enter("staff", staff)
        assert visitor.visit("staff", staff).status == 403
    body = f'{{"email": "{person.email}", "password": "wrong password"}}'.encode()
    send(tour.site.doorward.port, "POST", "/api/auth/login", [("Content-Type", "application/json")], body)
    return person


def open_user(tour, person):
    tour.open("/admin/users")
    fill(tour.page, "/admin/users", text=person.email)
    submit(tour.page, "/admin/users")
    press(tour.page, "table a")


def order(tour, form, **values):
    """Opens the confirmation of an order, fills its fields in, and gives it."""
    tour.open_details(f"/{form}")
    fill(tour.page, f"/{form}", **values)
    submit(tour.page, f"/{form}")


@state(with_mail=True)
def admin_overview(tour):
    administered(tour)
    refused_user(tour)
    tour.open("/admin")


@state(with_mail=True)
def admin_emergency(tour):
    administered(tour)
    tour.open("/admin")
    tour.open_details("/emergency")


@state(status=400, with_mail=True)
def admin_emergency_refused(tour):
    administered(tour)
    tour.open("/admin")
    tour.open_details("/emergency")
    tour.page.locator("input[value=role]").check()
    submit(tour.page, "/emergency")


@state(with_mail=True)
def admin_emergency_done(tour):
    administered(tour)
    tour.open("/admin")
    tour.open_details("/emergency")
    tour.page.locator("input[value=none]").check()
    submit(tour.page, "/emergency")


@state()
def admin_users(tour):
    administered(tour)
    refused_user(tour, LONG_NAME)
    tour.open("/admin/users")


@state()
def admin_users_none(tour):
    administered(tour)
    tour.open("/admin/users?text=nobody-is-called-so")


@state()
def admin_user(tour):
    administered(tour)
    open_user(tour, refused_user(tour))


@state(with_passkeys=True)
def admin_user_with_factors(tour):
    person = administered(tour, "totp")
    open_user(tour, person)


@state()
def admin_user_with_logins(tour):
    administered(tour)
    person = refused_user(tour)
    user = json.loads(tour.site.doorward.run("user", "show", person.email, "--json"))[0]["id"]
    database = next(tour.site.doorward.folder.rglob("doorward.db"))
    for login, display in (("google", "ada@gmail.com"), ("work", f"{LONG_NAME} (https://sso.example.com/realms/main)")):
        link(database, user, subject=f"{user}-{login}", login=login, display=display)
    open_user(tour, person)


@state(status=400)
def admin_user_refused(tour):
    administered(tour)
    open_user(tour, refused_user(tour))
    order(tour, "grant", role="two words")


@state()
def admin_user_granted(tour):
    administered(tour)
    open_user(tour, refused_user(tour))
    order(tour, "grant", role="staff")


@state()
def admin_user_reset_code(tour):
    administered(tour)
    open_user(tour, refused_user(tour))
    order(tour, "reset-code")


@state()
def admin_user_secured(tour):
    administered(tour)
    open_user(tour, refused_user(tour))
    order(tour, "secure")


@state()
def admin_new_user(tour):
    administered(tour)
    tour.open("/admin/users/new")


@state(status=400)
def admin_new_user_refused(tour):
    administered(tour)
    tour.open("/admin/users/new")
    tour.page.locator("form[action$='/new']").evaluate("form => form.noValidate = true")
    fill(tour.page, "/admin/users/new", name="A", email="ada", password="short")
    submit(tour.page, "/admin/users/new")


@state()
def admin_invitations(tour):
    administered(tour)
    tour.open("/admin/invitations")
    fill(tour.page, "/admin/invitations", email=Person().email, roles="staff")
    submit(tour.page, "/admin/invitations")


@state()
def admin_guards(tour):
    administered(tour)
    tour.open("/admin/guards")


@state()
def admin_guard(tour):
    administered(tour)
    person = refused_user(tour)
    tour.open("/admin/guards/staff")
    fill(tour.page, "/admin/guards/staff", user=person.email, path="/plans")
    submit(tour.page, "/admin/guards/staff")


@state()
def admin_refusals(tour):
    administered(tour)
    refused_user(tour)
    tour.open("/admin/refusals")


@state()
def admin_refusals_live(tour):
    administered(tour)
    refused_user(tour)
    tour.open("/admin/refusals/live")


@state()
def admin_refusal(tour):
    administered(tour)
    open_user(tour, refused_user(tour))
    press(tour.page, "a[href*='/admin/refusals/'] >> nth=0")


@state()
def admin_audit(tour):
    administered(tour)
    refused_user(tour)
    tour.open("/admin/audit")


@state()
def admin_audit_with_fault(tour):
    administered(tour)
    tour.open("/admin/audit?user=nobody")


@state()
def admin_keys(tour):
    administered(tour)
    tour.open("/admin/keys")
    tour.open_details("/create")
    fill(tour.page, "/create", name="CI")
    tour.page.locator("input[name='scope-users:read']").check()
    submit(tour.page, "/create")


@state(status=400)
def admin_keys_refused(tour):
    administered(tour)
    tour.open("/admin/keys")
    tour.open_details("/create")
    fill(tour.page, "/create", name="CI", allow="nonsense")
    submit(tour.page, "/create")


@state()
def admin_signing_keys(tour):
    administered(tour)
    tour.open("/admin/signing-keys")
    tour.open_details("/rotate")


@state(with_mail=True)
def admin_mail(tour):
    administered(tour)
    tour.open("/admin/mail")


@state(status=403)
def admin_not_permitted(tour):
    person = tour.signed_up()
    tour.site.doorward.run("user", "grant", person.email, "helpdesk")
    tour.open("/admin/mail")


@state(status=404)
def admin_for_nobody(tour):
    tour.signed_up()
    tour.open("/admin")
