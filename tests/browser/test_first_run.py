"""A first run without settings: the pages are at localhost, where browsers offer passkeys, and two Doorwards on one machine do not sign
each other out."""

import re
from urllib.parse import urlsplit

import pytest
from authenticators import Device
from harness.service import Service
from people import Person, assert_account, fill, press, sign_up


@pytest.fixture
def first_run():
    with Service() as service:
        yield service


def own_url(service):
    return f"http://localhost:{service.port}"


def test_a_person_signs_up_with_a_passkey(first_run, new_context):
    page = new_context(java_script_enabled=True).new_page()
    device, person = Device(page), Person()
    # What the log and a terminal may have shown before: it leads to the name at which passkeys work.
    page.goto(f"http://127.0.0.1:{first_run.port}/sign-up")
    assert page.url == f"{own_url(first_run)}/sign-up"
    fill(page, "/sign-up", name=person.name, email=person.email)
    press(page, "button[data-passkey]")
    assert urlsplit(page.url).path == "/sign-up/passkey"
    press(page, "button[data-passkey]")
    [passkey] = device.credentials()
    assert (passkey["userName"], passkey["rpId"]) == (person.email, "localhost")
    press(page, "main a.button:not([download])")
    assert_account(page)
    assert f'"url":"{own_url(first_run)}"' in first_run.output()


def test_a_person_stays_signed_in_to_two_doorwards_on_one_machine(first_run, new_context):
    context = new_context()
    page = context.new_page()
    with Service() as other:
        both = [first_run, other]
        for service in both:
            page.goto(f"{own_url(service)}/sign-up")
            sign_up(page, Person())
            assert_account(page)
        for service in both * 2:
            page.goto(f"{own_url(service)}/account")
            assert page.url == f"{own_url(service)}/account"
        names = {cookie["name"] for cookie in context.cookies()}
        assert len(names) == 2 and all(re.fullmatch(r"doorward-session-[0-9a-f]{8}", name) for name in names), names

        # A restart keeps the name, so nobody signs in again.
        port = first_run.port
        first_run.stop()
        with Service(folder=first_run.folder, port=port) as again:
            page.goto(f"{own_url(again)}/account")
            assert page.url == f"{own_url(again)}/account"
