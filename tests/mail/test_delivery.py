"""Mail of the real binary on its way to real mail servers: encrypted with a login, slow, refusing, greylisting, dropping the
connection after the mail, and dead. Every wait ends with an event, and nothing depends on how long it took."""

import contextlib
import json
import shutil
import subprocess
import time
from email import message_from_string, policy
from pathlib import Path

import pytest
from harness import BINARY
from harness.certificates import Authority
from harness.connection import post
from harness.mail_server import LATER, PASSWORD, REFUSED, TAKEN, USER, MailServer
from harness.ports import reserved_port
from harness.postgres import PostgreSQL
from harness.service import Service

WAIT_SECONDS = 60


def settings(port, query="", **others):
    return {
        "DOORWARD_MAIL_URL": f"smtp://127.0.0.1:{port}{query}",
        "DOORWARD_MAIL_FROM": "Shop <shop@example.com>",
    } | others


def register(service, number=1):
    email = f"person-{number}@example.com"
    with service.connect() as connection:
        assert connection.exchange(post("/api/user", {"name": "Ada Lovelace", "email": email})).status == 201
    return email


def command(service, *arguments, **environment):
    return subprocess.run(
        [BINARY, *arguments],
        cwd=service.folder,
        env=service.variables() | environment,
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
    )


def queue(service):
    listed = command(service, "mail", "queue", "--json")
    assert listed.returncode == 0, listed.stderr
    return json.loads(listed.stdout)


def wait_for_queue(service, condition):
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition(mails := queue(service)):
        assert time.monotonic() < deadline, mails
        time.sleep(0.05)
    return mails


def log(service):
    return service.output()


def wait_for_log(service, text):
    """Waits for a line of the log, which is written a little later than what it tells of happens."""
    deadline = time.monotonic() + WAIT_SECONDS
    while text not in log(service):
        assert time.monotonic() < deadline, log(service)
        time.sleep(0.01)


@pytest.fixture
def encrypted(tmp_path):
    """A server with STARTTLS and a login, and the settings for it."""
    authority = Authority(tmp_path)
    password = tmp_path / "password"
    password.write_text(PASSWORD + "\n")
    with MailServer(tls=authority.server_context()) as server:
        yield server, settings(
            server.port,
            "?tls=required",
            DOORWARD_MAIL_USER=USER,
            DOORWARD_MAIL_PASSWORD_FILE=str(password),
            DOORWARD_MAIL_CA_FILE=str(authority.file),
        )


def test_mail_is_sent_over_starttls_with_a_login(encrypted):
    server, environment = encrypted
    with Service(**environment) as service:
        email = register(service)
        server.wait_for(lambda: server.mails)
        (mail,) = server.mails
        assert mail["To"] == email
        assert mail["From"] == "Shop <shop@example.com>"
        assert mail["Message-ID"] and mail["Date"] and mail["Auto-Submitted"]
        wait_for_queue(service, lambda mails: mails == [])
        assert PASSWORD not in log(service) and email not in log(service)


def test_the_test_mail_shows_each_step(encrypted):
    server, environment = encrypted
    with Service(**environment) as service:
        tested = command(service, "mail", "test", "ada@example.com")
        assert (tested.returncode, tested.stderr) == (0, "")
        for step in ("connected", "STARTTLS", "TLSv1.3", "AUTH", "MAIL FROM", "RCPT TO", "DATA", "the mail was taken"):
            assert step in tested.stdout, tested.stdout
        assert server.mails[0]["To"] == "ada@example.com"


def test_the_test_mail_says_what_failed(encrypted, tmp_path):
    server, environment = encrypted
    wrong = tmp_path / "wrong"
    wrong.write_text("wrong-wrong")
    port = server.port
    with Service(**environment) as service:
        for changes, failed, advice in [
            ({"DOORWARD_MAIL_PASSWORD_FILE": str(wrong)}, "AUTH: 535", "mail.password_file"),
            ({"DOORWARD_MAIL_CA_FILE": "none"}, "TLS: invalid peer certificate", "mail.ca_file"),
            ({"DOORWARD_MAIL_URL": f"smtps://127.0.0.1:{port}"}, "TLS: ", "mail.ca_file"),
            ({"DOORWARD_MAIL_URL": f"smtp://127.0.0.1:{port}"}, "AUTH: the server offers no login", "mail.user"),
            ({"DOORWARD_MAIL_URL": "smtp://mail.invalid"}, "DNS: ", "mail.url"),
        ]:
            tested = command(service, "mail", "test", "ada@example.com", **changes)
            assert tested.returncode == 1, tested.stdout
            assert failed in tested.stderr and advice in tested.stderr, tested.stderr
            assert "wrong-wrong" not in tested.stdout + tested.stderr
            assert PASSWORD not in tested.stdout + tested.stderr
    assert server.mails == []


def test_without_mail_each_command_says_what_to_set():
    with Service() as service:
        for arguments in (["test", "ada@example.com"], ["queue"], ["retry"]):
            answer = command(service, "mail", *arguments)
            assert answer.returncode == 1
            assert "set mail.url" in answer.stderr, answer.stderr


def test_a_refused_mail_is_given_up_until_the_operator_retries_it():
    with MailServer(reply=lambda address: REFUSED) as server, Service(**settings(server.port)) as service:
        email = register(service)
        (mail,) = wait_for_queue(service, lambda mails: mails and mails[0]["givenUpAt"])
        assert (mail["address"], mail["message"], mail["attempts"]) == (email, "verify_email", 1)
        assert mail["failure"] == f"RCPT TO: {REFUSED}"
        wait_for_log(service, "mail given up")
        assert email not in log(service)
        listed = command(service, "mail", "queue")
        assert email in listed.stdout and REFUSED in listed.stdout
        server.reply = lambda address: TAKEN
        assert command(service, "mail", "retry").stdout == "1 mail is due now\n"
        server.wait_for(lambda: server.mails)
        wait_for_queue(service, lambda mails: mails == [])


def test_a_greylisted_mail_waits_and_others_do_not():
    def greylisted(address):
        return LATER if address == "person-1@example.com" else TAKEN

    with MailServer(reply=greylisted) as server, Service(**settings(server.port)) as service:
        register(service, 1)
        (mail,) = wait_for_queue(service, lambda mails: mails and mails[0]["attempts"])
        assert mail["failure"] == f"RCPT TO: {LATER}" and mail["nextAttemptAt"] and not mail["givenUpAt"]
        second = register(service, 2)
        server.wait_for(lambda: server.mails)
        assert server.mails[0]["To"] == second
        server.reply = lambda address: TAKEN
        command(service, "mail", "retry")
        server.wait_for(lambda: len(server.mails) == 2)
        wait_for_queue(service, lambda mails: mails == [])


def test_a_mail_without_an_answer_is_sent_again_with_the_same_id():
    with MailServer() as server, Service(**settings(server.port)) as service:
        server.drops = True
        register(service)
        (mail,) = wait_for_queue(service, lambda mails: mails and mails[0]["attempts"])
        assert mail["failure"].startswith("end of the mail: "), mail
        server.drops = False
        command(service, "mail", "retry")
        wait_for_queue(service, lambda mails: mails == [])
        first, second = server.mails
        assert first["Message-ID"] == second["Message-ID"]
        assert first.get_body(("plain",)).get_content() == second.get_body(("plain",)).get_content()


def test_a_slow_server_holds_up_nothing_else():
    with MailServer() as server:
        server.answers.clear()
        with Service(**settings(server.port)) as service:
            register(service, 1)
            server.wait_for(lambda: server.received == 1)
            # The server does not answer to the first mail before these were registered.
            others = [register(service, number) for number in range(2, 12)]
            assert len(queue(service)) == 11
            server.answers.set()
            server.wait_for(lambda: len(server.mails) == 11)
            wait_for_queue(service, lambda mails: mails == [])
            assert {mail["To"] for mail in server.mails} >= set(others)


def test_a_stop_while_a_mail_is_sent_does_not_lose_it():
    with MailServer() as server:
        server.answers.clear()
        with Service(**settings(server.port)) as service:
            first = register(service, 1)
            server.wait_for(lambda: server.received == 1)
            # The service stops serving, and waits some seconds for the answer. Without it, the next start sends the mail
            # again.
            service.process.terminate()
            wait_for_log(service, "stopping")
            server.answers.set()
            assert service.process.wait(WAIT_SECONDS) == 0
            service.launch()
            service.wait()
            second = register(service, 2)
            wait_for_queue(service, lambda mails: mails == [])
            assert {mail["To"] for mail in server.mails} == {first, second}
            assert len({mail["Message-ID"] for mail in server.mails}) == 2


def test_mail_waits_for_a_dead_server():
    port = reserved_port()
    with Service(**settings(port)) as service:
        emails = {register(service, number) for number in range(5)}
        wait_for_log(service, "the mail server takes no mail")
        mails = wait_for_queue(service, lambda mails: len(mails) == 5)
        assert all(mail["attempts"] == 0 and mail["failure"] is None for mail in mails)
        with MailServer(port=port) as server:
            command(service, "mail", "retry")
            server.wait_for(lambda: len(server.mails) == 5)
            assert {mail["To"] for mail in server.mails} == emails
            wait_for_queue(service, lambda mails: mails == [])
            wait_for_log(service, "takes mail again")
            assert log(service).count("takes no mail") == log(service).count("takes mail again") == 1


@pytest.fixture(scope="module")
def node_server(tmp_path_factory):
    """A folder with the mail server of another project."""
    assert shutil.which("npm"), "npm is missing; it comes from the Debian package npm"
    folder = tmp_path_factory.mktemp("packages")
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", folder]
    subprocess.run([*command, "smtp-server@3.21.1"], check=True, timeout=600)
    return shutil.copy(Path(__file__).with_name("server.mjs"), folder)


@pytest.mark.parametrize("mode", ["implicit", "starttls"])
def test_another_server_takes_mail(node_server, mode, tmp_path):
    authority = Authority(tmp_path)
    authority.server_context()
    password = tmp_path / "password"
    password.write_text(PASSWORD)
    command = ["node", node_server, mode, tmp_path / "server.pem", USER, PASSWORD]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stdout.readline())
            scheme, query = ("smtps", "") if mode == "implicit" else ("smtp", "?tls=required")
            environment = {
                "DOORWARD_MAIL_URL": f"{scheme}://127.0.0.1:{port}{query}",
                "DOORWARD_MAIL_FROM": "Shop <shop@example.com>",
                "DOORWARD_MAIL_USER": USER,
                "DOORWARD_MAIL_PASSWORD_FILE": str(password),
                "DOORWARD_MAIL_CA_FILE": str(authority.file),
            }
            with Service(**environment) as service:
                email = register(service)
                taken = json.loads(server.stdout.readline())
                assert taken["to"] == [email]
                assert message_from_string(taken["content"], policy=policy.default)["To"] == email
                wait_for_queue(service, lambda mails: mails == [])
        finally:
            server.kill()


def test_two_instances_send_each_mail_once():
    count = 60
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(PostgreSQL())
        url = database.url(database.fresh_database())
        server = stack.enter_context(MailServer())
        first, second = (
            stack.enter_context(Service(database=url, **settings(server.port))) for _ in range(2)
        )
        emails = [register(first if number % 2 else second, number) for number in range(count)]
        server.wait_for(lambda: len(server.mails) >= count, 120)
        wait_for_queue(first, lambda mails: mails == [])
        assert sorted(mail["To"] for mail in server.mails) == sorted(emails)
