"""The pages of those who sign in with another provider, and what people see when one fails."""

from page_states import LONG_NAME, state
from people import NUMBERS, fill, press, submit

LINKED = ("google", "github", "microsoft", "sso")


def upstream(tour, name="sso"):
    """A provider that does not lie, whatever the state before it has chosen."""
    found = tour.site.upstreams[name]
    found.provider.reset()
    return found


def go(tour, name="sso", query=""):
    tour.open(f"/sign-in/with/{name}{query}")


def come(tour, name="sso", **person):
    """Comes back from a provider as somebody new, or as this person."""
    email = f"ada.{next(NUMBERS)}@example.com"
    upstream(tour, name).become(**{"subject": email, "email": email} | person)
    go(tour, name)


@state(with_providers=True)
def sign_in_with_providers(tour):
    tour.open("/sign-in")


@state(with_providers=True)
def sign_up_with_providers(tour):
    tour.open("/sign-up")


@state(with_providers=True)
def account_of_a_provider(tour):
    come(tour)


@state(with_providers=True)
def link_first(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    tour.site.doorward.run("user", "verify", person.email)
    come(tour, email=person.email)


@state(with_providers=True)
def link_question(tour):
    tour.signed_up()
    upstream(tour).become("ada", f"{'a' * 60}@{'long.' * 12}example.com")
    go(tour, query="?link=1")


@state(with_providers=True)
def link_done(tour):
    tour.signed_up()
    upstream(tour).become(f"linked-{next(NUMBERS)}", "ada@example.org")
    go(tour, query="?link=1")
    submit(tour.page, "/account/security/link")


@state(status=409, with_providers=True)
def link_taken(tour):
    come(tour, subject="taken")
    submit(tour.page, "/sign-out")
    tour.signed_up()
    upstream(tour).become("taken")
    go(tour, query="?link=1")
    submit(tour.page, "/account/security/link")


@state(with_providers=True)
def unverified_account(tour):
    person = tour.signed_up()
    submit(tour.page, "/sign-out")
    come(tour, email=person.email)


@state(with_providers=True)
def prove_address(tour):
    come(tour, "github", email=None)


@state(with_providers=True)
def prove_address_mailed(tour):
    come(tour, email=f"{'a' * 40}.{next(NUMBERS)}@example.com", verified=False)
    submit(tour.page, "/sign-in/address")


@state(status=400, with_providers=True)
def prove_address_wrong_code(tour):
    prove_address_mailed(tour)
    fill(tour.page, "/sign-in/address", code="0000 0000")
    press(tour.page, "form:has(input[name='code']) button")


@state(with_providers=True)
def security_with_logins(tour):
    tour.signed_up(name=LONG_NAME.strip())
    for name in LINKED:
        upstream(tour, name).become(str(next(NUMBERS)), f"{name}@example.org")
        go(tour, name, "?link=1")
        submit(tour.page, "/account/security/link")
    tour.open("/account/security")


@state(with_providers=True)
def step_up_with_a_provider(tour):
    come(tour, auth_time=1)
    tour.open("/account/security/totp")


@state(status=403, with_providers=True)
def provider_has_not_asked_again(tour):
    step_up_with_a_provider(tour)
    press(tour.page, "a[href*='again=']")


# --- what people see when a provider fails ----------------------------------------------------------------------------


@state(with_providers=True)
def provider_cancelled(tour):
    upstream(tour).provider.person = None
    go(tour)


@state(status=502, with_providers=True)
def provider_down(tour):
    provider = upstream(tour, "github").provider
    provider.instead[provider.token] = lambda request: request.json({}, 503)
    go(tour, "github")


@state(status=502, with_providers=True)
def provider_with_another_issuer(tour):
    upstream(tour).become("ada", "ada@example.com")
    tour.site.upstreams["sso"].provider.adjust = lambda claims: claims | {"iss": "https://sso.example.net"}
    go(tour)


@state(status=502, with_providers=True)
def provider_with_a_clock_five_minutes_ahead(tour):
    upstream(tour, "google").become("ada", "ada@example.com")
    tour.site.upstreams["google"].provider.skew = 300
    go(tour, "google")


@state(status=403, with_providers=True)
def provider_of_somebody_who_may_not_register(tour):
    come(tour, email="ada@elsewhere.example")


@state(status=400, with_providers=True)
def provider_too_late(tour):
    tour.open("/sign-in/with/sso/back?state=old&code=x")


@state(with_providers=True)
def admin_overview_with_logins(tour):
    upstream(tour).provider.person = None
    go(tour)
    come(tour)
    submit(tour.page, "/sign-out")
    person = tour.signed_up()
    tour.site.doorward.run("user", "grant", person.email, "admin")
    tour.open("/admin")
