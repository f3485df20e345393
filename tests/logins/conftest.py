"""Starts the providers once, and a service on each database."""

import contextlib
import re

import pytest

for module in ("browser", "people", "upstreams", "fakes"):
    pytest.register_assert_rewrite(module)

from counterparts import Forger, RealProvider, client  # noqa: E402
from fakes import SECRET, Apple, GitHub, Google, Microsoft, Oidc  # noqa: E402
from harness.databases import DATABASES  # noqa: E402
from people import PUBLIC, LoginService, Visitor, login, logins_of  # noqa: E402
from tokens import RsaKey  # noqa: E402
from upstreams import NAMES, Fakes, Upstream, upstreams  # noqa: E402

# More than any module needs.
STRANGERS = 32

DECISION = re.compile(r"/test_decisions\.py::test_(\w+)\[(.*)\]$")


def pytest_terminal_summary(terminalreporter):
    """A table of the decisions about accounts by provider: on how many databases and ways each was as it should be."""
    table = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, []):
            found = DECISION.search(report.nodeid)
            if found and (provider := next((name for name in NAMES if name in found[2].split("-")), None)):
                good, all_of_them = table.setdefault(found[1], {}).get(provider, (0, 0))
                table[found[1]][provider] = good + (outcome == "passed"), all_of_them + 1
    if table:
        terminalreporter.section("decisions")
    for decision, outcomes in table.items():
        counts = " ".join(f"{provider} {good}/{tries}" for provider, (good, tries) in outcomes.items())
        terminalreporter.write_line(f"{decision.replace('_', ' '):75} {counts}")


@pytest.fixture(scope="session")
def fakes():
    with Google() as google, GitHub() as github, Microsoft() as microsoft, Apple() as apple:
        with Oidc() as gitlab, Oidc() as oidc, Oidc() as evil:
            yield Fakes(google, github, microsoft, apple, gitlab, oidc, evil)


@pytest.fixture(scope="session")
def op(tmp_path_factory):
    """oidc-provider, which knows Doorward as the login `op`."""
    with RealProvider(tmp_path_factory.mktemp("op"), client(PUBLIC, "op", SECRET)) as op:
        yield op


@pytest.fixture(scope="session")
def forger(tmp_path_factory):
    """oauth2-mock-server, which the login `forger` believes."""
    with Forger(tmp_path_factory.mktemp("forger")) as forger:
        yield forger


@pytest.fixture(autouse=True)
def honest(fakes):
    """Each test begins with providers that do not lie."""
    for fake in fakes.all():
        fake.reset()


@pytest.fixture(scope="session", params=["sqlite", "pgbouncer"])
def database(request, tmp_path_factory):
    with DATABASES[request.param](tmp_path_factory.mktemp("database")) as database:
        yield database


@pytest.fixture(scope="session")
def service(database, fakes, op, forger):
    mails = database.folder / "mails"
    with LoginService(logins_of(fakes, op, forger), database.url, mails=mails, apple=fakes.apple) as service:
        yield service


@pytest.fixture
def everybody(fakes, op, forger):
    """Each provider by its login."""
    return upstreams(fakes, op, forger)


@pytest.fixture(params=NAMES)
def upstream(request, everybody):
    return everybody[request.param]


@pytest.fixture
def sso(everybody):
    """The provider that only speaks OpenID Connect."""
    return everybody["sso"]


@pytest.fixture
def ada(service):
    return Visitor(service)


@pytest.fixture
def eve(service):
    """Somebody who attacks."""
    return Visitor(service)


@pytest.fixture(scope="module")
def strangers():
    """A service, and providers that it has not asked yet: what it learns of one is kept for a day."""
    key = RsaKey()
    with contextlib.ExitStack() as stack:
        unasked = [Upstream(stack.enter_context(Oidc(key)), f"stranger-{number}") for number in range(STRANGERS)]
        logins = [login(each.login, each.provider.issuer, preset="oidc", label="Stranger") for each in unasked]
        yield stack.enter_context(LoginService("".join(logins))), iter(unasked)


@pytest.fixture
def fresh(strangers):
    """A provider that was not asked yet, or the given one, and somebody new."""
    service, unasked = strangers
    return lambda upstream=None: (upstream or next(unasked), Visitor(service))
