"""Starts services that send mail, and makes people who use them."""

import pytest

for module in ("letters", "mailing_service"):
    pytest.register_assert_rewrite(module)

from harness.certificates import Authority  # noqa: E402
from harness.databases import DATABASES  # noqa: E402
from harness.mail_server import PASSWORD, MailServer  # noqa: E402
from mailing_service import NUMBERS, MailingService, Person  # noqa: E402


@pytest.fixture(scope="session")
def mail_folder(tmp_path_factory):
    """A folder with what a service needs for a server with TLS and a login."""
    folder = tmp_path_factory.mktemp("mail")
    (folder / "password").write_text(PASSWORD + "\n")
    return folder


@pytest.fixture(scope="session")
def server(mail_folder):
    """A mail server with STARTTLS and a login."""
    with MailServer(tls=Authority(mail_folder).server_context()) as server:
        yield server


@pytest.fixture(scope="session", params=["sqlite", "postgres"])
def database(request, tmp_path_factory):
    with DATABASES[request.param](tmp_path_factory.mktemp("database")) as database:
        yield database


@pytest.fixture
def new_person():
    """Makes people whose requests come from a network of their own, so that they share no budget."""
    return lambda service, **fields: Person(service, next(NUMBERS), **fields)


@pytest.fixture(scope="session", autouse=True)
def replaced(server, mail_folder):
    """Somebody whose token was replaced, and the old token. A replaced token is tolerated for half a minute, which passes
    while other tests run."""
    with MailingService(server, mail_folder) as service:
        ada = Person(service, next(NUMBERS)).signed_up().verified()
        old = ada.token
        answer = ada.call("POST", "/api/auth/refresh", token=old)
        assert answer.status == 200, answer
        ada.keep(answer)
        yield ada, old
