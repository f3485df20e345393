"""While the mail server does not answer or is gone, people notice nothing, and what they are mailed later works."""

import time

import pytest
from harness.certificates import Authority
from harness.mail_server import PASSWORD, MailServer
from letters import letters_to
from mailing_service import MailingService


@pytest.fixture
def own_server(tmp_path):
    """A mail server for one test, and the folder for the settings of a service."""
    (tmp_path / "password").write_text(PASSWORD)
    with MailServer(tls=Authority(tmp_path).server_context()) as server:
        yield server, tmp_path


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def fastest(action):
    """A busy machine only adds time."""
    return min(seconds(action) for _ in range(25))


def test_a_slow_server_slows_nothing(own_server, new_person):
    smtp, folder = own_server
    with MailingService(smtp, folder) as service:
        ada = new_person(service).signed_up()
        ada.mail()
        people = []

        def guard():
            assert ada.passes()

        def sign_up():
            person = new_person(service)
            answer = person.post("/api/user", name=person.name, email=person.email)
            assert answer.status == 201, answer
            people.append(person)

        usual_guard, usual_sign_up = fastest(guard), fastest(sign_up)
        for person in people:
            person.mail()
        received = smtp.received
        smtp.answers.clear()
        slow = new_person(service).signed_up()
        smtp.wait_for(lambda: smtp.received > received, 60)
        assert fastest(guard) < 3 * usual_guard
        assert fastest(sign_up) < 3 * usual_sign_up
        assert letters_to(smtp, slow.email) == [], "the server has not answered all the time"
        smtp.answers.set()
        for person in (slow, *people):
            assert person.mail().path == "/verify"


def test_mail_survives_a_dead_server_and_a_kill(tmp_path, new_person):
    (tmp_path / "password").write_text(PASSWORD)
    server = MailServer(tls=Authority(tmp_path).server_context())
    with MailingService(server, tmp_path) as service:
        people = [new_person(service).signed_up() for _ in range(5)]
        assert all(person.passes() for person in people)
        service.kill()
        service.launch()
        service.wait()
        assert all(person.passes() for person in people)
        with server:
            service.run("mail", "retry")
            for person in people:
                person.verified()
                assert person.me()["emailVerified"]
            assert len(server.mails) == len(people)
