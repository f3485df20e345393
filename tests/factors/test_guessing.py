"""Codes count once, however many use them at the same time, and no more than 100 guesses are compared."""

import copy
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from harness.wait import eventually
from people import STEP_SECONDS, FactorService, Person, code_of

THREADS = 20
# Ten of each thread. --all makes 1000.
USES = 200


def in_parallel(ada, challenges, code, uses):
    """The statuses of as many answers with one code."""

    def answer(number):
        return clients[number % THREADS].answer(challenges[number % len(challenges)], code=code).status_code

    clients = [copy.copy(ada) for _ in range(THREADS)]
    for client in clients:
        client.client = requests.Session()
    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(answer, range(uses)))


@pytest.mark.parametrize("kind", ["app", "recovery code"])
def test_of_many_parallel_uses_of_a_code_one_succeeds(request, ada, kind):
    ada.add_totp()
    challenges = [ada.log_in().json() for _ in range(20)]
    code = ada.next_code() if kind == "app" else ada.recovery_codes[0]
    statuses = in_parallel(ada, challenges, code, 1000 if request.config.getoption("--all") else USES)
    assert statuses.count(200) == 1, {status: statuses.count(status) for status in statuses}
    assert set(statuses) <= {200, 401, 429}


def wrong_codes(ada):
    """Codes that are wrong now and in the next minutes."""
    now = int(time.time()) // STEP_SECONDS
    right = {code_of(ada.secret, step) for step in range(now - 2, now + 30)}
    return (code for number in range(1_000_000) if (code := f"{number:06}") not in right)


def test_100_guesses_are_compared_over_restarts_and_instances(database, tmp_path):
    is_shared = database.url.startswith("postgres")
    mails = database.folder / "mails" if is_shared else None
    with FactorService(database.url if is_shared else None, folder=tmp_path, mails=mails) as service:
        ada = Person(service).sign_up().verify().add_totp()
        guesses = wrong_codes(ada)
        compared = refused = 0

        def guess(port, count):
            nonlocal compared, refused
            for _ in range(count):
                status = ada.answer(challenge, port=port, code=next(guesses)).status_code
                compared += status == 401
                refused += status == 429

        challenge = ada.log_in().json()
        guess(service.port, 40)
        service.kill()
        service.launch()
        service.wait()
        challenge = ada.log_in().json()
        guess(service.port, 20)
        if is_shared:
            with FactorService(database.url, mails=mails) as second:
                for _ in range(30):
                    guess(service.port, 1)
                    guess(second.port, 1)
        else:
            guess(service.port, 60)
        assert (compared, refused) == (100, 20)
        # The right code is refused as well. Another kind of factor has a budget of its own.
        right = ada.next_code()
        assert ada.answer(challenge, code=right).status_code == 429
        assert ada.answer(challenge, code=ada.recovery_codes[0]).status_code == 200
        assert service.run("user", "unlock", ada.email)

        def is_unlocked():
            return ada.answer(ada.log_in().json(), code=right).status_code == 200

        # On PostgreSQL the command changes the database itself, and the service hears of it a moment later.
        assert eventually("the code counts again", is_unlocked) if is_shared else is_unlocked()


def test_a_wrong_factor_after_a_right_password_is_told_once(service, ada):
    ada.add_totp()
    guesses = wrong_codes(ada)
    challenge = ada.log_in().json()
    for _ in range(3):
        assert ada.answer(challenge, code=next(guesses)).status_code == 401

    def told():
        return [text for text in service.texts(ada.email) if "not the right second factor" in " ".join(text.split())]

    eventually("the owner is told", told)
    assert len(told()) == 1, service.texts(ada.email)
