"""GET /api/user/<id>: id and name for any caller, and one answer for every unknown or malformed id."""

import uuid

import pytest

from support import NOT_FOUND, USER, assert_answer, bearer


def test_a_user_is_shown_as_id_and_name_and_nothing_else(api, member):
    assert_answer(api.get(f"{USER}/{member.id}"), 200, {"id": member.id, "name": member.name})


def test_a_user_without_a_password_looks_the_same(api, ada):
    assert_answer(api.get(f"{USER}/{ada.id}"), 200, {"id": ada.id, "name": ada.name})


@pytest.mark.parametrize("token", ["nonsense", ""])
def test_the_look_up_is_public_and_ignores_a_bad_token(api, ada, token):
    assert api.get(f"{USER}/{ada.id}", bearer(token)).status == 200


def test_a_query_changes_nothing(api, ada):
    plain = api.get(f"{USER}/{ada.id}")
    assert api.get(f"{USER}/{ada.id}?fields=email,password&include=*").fingerprint == plain.fingerprint


@pytest.mark.parametrize(
    "user_id",
    [
        pytest.param("00000000-0000-0000-0000-000000000000", id="the nil UUID"),
        pytest.param("ffffffff-ffff-ffff-ffff-ffffffffffff", id="the max UUID"),
        pytest.param("f47ac10b-58cc-11cf-a447-001122334455", id="a UUID of version 1"),
        "1",
        "-1",
        "null",
        "me",
        "login",
        "*",
        "%25",
        "%00",
        "%0d%0aX-Injected:%201",
        "%ff%fe",
        "%zz",
        "%2e%2e%2fauth%2fguard",
        "'%20OR%20'1'='1",
        "1%20UNION%20SELECT%20*%20FROM%20users",
        "{}",
        "g47ac10b-58cc-4372-a567-0e02b2c3d479",
        "f47ac10b-58cc-4372-a567-0e02b2c3d47",
        "f47ac10b-58cc-4372-a567-0e02b2c3d4799",
        pytest.param("9" * 3000, id="3000 digits"),
    ],
)
def test_a_malformed_id_gets_the_same_answer_as_an_unknown_one(api, user_id):
    unknown = api.get(f"{USER}/{uuid.uuid4()}")
    assert_answer(unknown, 404, NOT_FOUND)
    assert api.get(f"{USER}/{user_id}").fingerprint == unknown.fingerprint


@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda user_id: user_id + "%20", id="a space at the end"),
        pytest.param(lambda user_id: "%20" + user_id, id="a space at the start"),
        pytest.param(lambda user_id: user_id + "%00", id="a NUL at the end"),
        pytest.param(lambda user_id: user_id[:-1], id="the last digit missing"),
        pytest.param(lambda user_id: user_id + "0", id="a digit too many"),
        pytest.param(lambda user_id: user_id[:-1] + "%25", id="a percent sign for the last digit"),
        pytest.param(lambda user_id: user_id[:-1] + "_", id="an underscore for the last digit"),
        pytest.param(lambda user_id: user_id + "/name", id="a path below"),
    ],
)
def test_a_damaged_id_does_not_find_the_user(api, ada, damage):
    assert_answer(api.get(f"{USER}/{damage(ada.id)}"), 404, NOT_FOUND)
