"""POST /api/user: what is accepted, what is refused, and with which messages."""

import itertools
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

from support import (
    MISSING,
    NOT_FOUND,
    USER,
    altered,
    assert_answer,
    assert_take_equally_long,
    claims_of,
    fresh_email,
    invalid,
    person,
)

UUID_V4 = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"

NAME_TOO_SHORT = "String must contain at least 2 character(s)"
NAME_TOO_LONG = "String must contain at most 200 character(s)"
PASSWORD_TOO_SHORT = "String must contain at least 8 character(s)"
PASSWORD_TOO_LONG = "String must contain at most 128 character(s)"

WRONG_TYPES = {"null": None, "number": 7, "boolean": True, "array": ["x"], "object": {"x": "y"}}

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"  # one emoji, seven scalar values


def stored_name(api, user_id):
    return api.get(f"{USER}/{user_id}").json["name"]


# --- success ---------------------------------------------------------------------------------------------------------


def test_a_new_user_gets_exactly_an_id_and_a_token(api):
    answer = api.post(USER, person(password="long enough"))
    assert answer.status == 201
    assert list(answer.json) == ["id", "token"]
    assert re.fullmatch(UUID_V4, answer.json["id"])
    assert isinstance(answer.json["token"], str)


def test_the_new_token_passes_the_guard_at_once_and_names_the_new_user(api):
    user = api.sign_up()
    assert claims_of(user.token)["sub"] == user.id
    assert api.guard(user.token).status == 200


def test_a_password_is_optional(api):
    assert api.post(USER, person()).status == 201


def test_every_user_gets_a_unique_id_and_token(api):
    users = [api.sign_up() for _ in range(20)]
    assert len({user.id for user in users}) == len({user.token for user in users}) == 20


def test_the_answer_with_the_token_may_not_be_cached(api):
    assert "no-store" in api.post(USER, person()).header("Cache-Control")


def test_unknown_fields_are_ignored_and_cannot_set_what_the_service_generates(api):
    wanted = "11111111-1111-4111-8111-111111111111"
    extras = {
        "id": wanted,
        "token": "mine",
        "createdAt": "1970-01-01T00:00:00Z",
        "updatedAt": 5,
        "role": "admin",
        "roles": ["admin"],
        "password_hash": "x",
        "passwordHash": "x",
        "disabled": True,
        "__proto__": {"name": "Miles Davis"},
    }
    answer = api.post(USER, person() | extras)
    assert answer.status == 201
    assert list(answer.json) == ["id", "token"]
    assert answer.json["id"] != wanted
    assert answer.json["token"] != "mine"
    assert_answer(api.get(f"{USER}/{answer.json['id']}"), 200, {"id": answer.json["id"], "name": "Ada Lovelace"})
    assert_answer(api.get(f"{USER}/{wanted}"), 404, NOT_FOUND)


def test_many_unknown_fields_are_ignored_too_and_more_than_any_client_sends_are_refused(api):
    assert api.post(USER, person() | {f"f{number}": number for number in range(90)}).status == 201
    refused = api.post(USER, person() | {f"f{number}": number for number in range(4000)})
    assert_answer(refused, 400, invalid(body="Must contain at most 100 fields"))


# --- validation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, errors",
    [
        pytest.param({"name": MISSING}, {"name": "Required"}, id="no name"),
        pytest.param({"email": MISSING}, {"email": "Required"}, id="no e-mail"),
        pytest.param({"name": ""}, {"name": NAME_TOO_SHORT}, id="empty name"),
        pytest.param({"email": ""}, {"email": "Invalid email"}, id="empty e-mail"),
        pytest.param({"email": "nobody"}, {"email": "Invalid email"}, id="e-mail without an at sign"),
        pytest.param({"password": ""}, {"password": PASSWORD_TOO_SHORT}, id="empty password"),
    ],
)
def test_one_fault_is_answered_with_that_field_alone(api, changes, errors):
    assert_answer(api.post(USER, altered(person(), **changes)), 400, invalid(**errors))


FAULTS = {
    "name": {
        "missing": (MISSING, "Required"),
        "short": ("A", NAME_TOO_SHORT),
        "mistyped": (1, "Expected string, received number"),
    },
    "email": {
        "missing": (MISSING, "Required"),
        "bad": ("a@b", "Invalid email"),
        "mistyped": ([], "Expected string, received array"),
    },
    "password": {"short": ("short", PASSWORD_TOO_SHORT), "mistyped": (None, "Expected string, received null")},
}


def combinations_of_faults():
    for choice in itertools.product(*([None, *kinds] for kinds in FAULTS.values())):
        faults = {field: FAULTS[field][kind] for field, kind in zip(FAULTS, choice) if kind}
        if faults:
            label = " and ".join(f"{kind} {field}" for field, kind in zip(FAULTS, choice) if kind)
            yield pytest.param(faults, id=label)


@pytest.mark.parametrize("faults", list(combinations_of_faults()))
def test_one_answer_names_every_failing_field(api, faults):
    body = altered(person(), **{field: value for field, (value, _) in faults.items()})
    expected = invalid(**{field: message for field, (_, message) in faults.items()})
    assert_answer(api.post(USER, body), 400, expected)


def test_the_raw_answer_keeps_the_order_name_email_password_whatever_the_order_of_the_request(api):
    raw = api.post_bytes(USER, b'{"password":"x","email":"x","name":"x"}').body
    assert raw.index(b'"message"') < raw.index(b'"error"')
    assert raw.index(b'"name"') < raw.index(b'"email"') < raw.index(b'"password"')


@pytest.mark.parametrize("kind", WRONG_TYPES)
@pytest.mark.parametrize("field", ["name", "email", "password"])
def test_a_field_of_the_wrong_type_is_named_with_the_type_received(api, field, kind):
    answer = api.post(USER, person() | {field: WRONG_TYPES[kind]})
    assert_answer(answer, 400, invalid(**{field: f"Expected string, received {kind}"}))


def test_field_names_are_matched_in_their_exact_spelling(api):
    answer = api.post(USER, {"Name": "Ada Lovelace", "EMAIL": fresh_email(), " name": "Ada Lovelace"})
    meant = {" name": "name", "EMAIL": "email", "Name": "name"}
    misspelled = {key: f"Unrecognized key, did you mean {field}?" for key, field in meant.items()}
    assert_answer(answer, 400, invalid(name="Required", email="Required", **misspelled))


def test_a_refused_sign_up_creates_no_user(api):
    body = person()
    assert api.post(USER, body | {"password": "short"}).status == 400
    assert api.post(USER, body).status == 201


# --- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("Al", id="two letters"),
        pytest.param("x" * 200, id="200 letters"),
        pytest.param("\U0001f600" * 2, id="two emoji"),
        pytest.param("\U0001f600" * 200, id="200 emoji"),
        pytest.param("Ada  King  Lovelace", id="inner spaces"),
        pytest.param("Zoe\u0308 Mu\u0308ller", id="combining marks"),
        pytest.param("\u05d3\u05d5\u05d3 \u674e", id="other scripts"),
        pytest.param("Robert'); DROP TABLE users;--", id="SQL"),
        pytest.param('<script>alert("1")</script>\\', id="markup, quotes and a backslash"),
        pytest.param("%00%n{{7*7}}${x}", id="templates"),
    ],
)
def test_a_name_within_the_rules_is_stored_as_sent(api, name):
    assert stored_name(api, api.sign_up(name=name).id) == name


@pytest.mark.parametrize(
    "name, kept",
    [
        pytest.param("  Ada ", "Ada", id="spaces"),
        pytest.param(" " * 300 + "Ada" + " " * 300, "Ada", id="more spaces than a name may be long"),
        pytest.param("\u00a0Ada\u00a0", "Ada", id="no-break spaces"),
        pytest.param("\u3000Ada\u2003", "Ada", id="ideographic and em spaces"),
        pytest.param(" " + "x" * 200 + " ", "x" * 200, id="200 letters in spaces"),
    ],
)
def test_white_space_around_a_name_is_trimmed(api, name, kept):
    assert stored_name(api, api.sign_up(name=name).id) == kept


@pytest.mark.parametrize(
    "name, message",
    [
        pytest.param("A", NAME_TOO_SHORT, id="one letter"),
        pytest.param("\U0001f600", NAME_TOO_SHORT, id="one emoji"),
        pytest.param("  ", NAME_TOO_SHORT, id="only spaces"),
        pytest.param(" A ", NAME_TOO_SHORT, id="one letter in spaces"),
        pytest.param("\u3000A\u00a0", NAME_TOO_SHORT, id="one letter in other white space"),
        pytest.param("x" * 201, NAME_TOO_LONG, id="201 letters"),
        pytest.param("\U0001f600" * 201, NAME_TOO_LONG, id="201 emoji"),
        pytest.param("x" * 60000, NAME_TOO_LONG, id="60000 letters"),
    ],
)
def test_a_name_outside_the_length_rule_is_refused(api, name, message):
    assert_answer(api.post(USER, person(name=name)), 400, invalid(name=message))


@pytest.mark.parametrize(
    "code", [0x00, 0x01, 0x07, 0x09, 0x0A, 0x0D, 0x1B, 0x1F, 0x7F, 0x80, 0x85, 0x9F], ids="U+{:04X}".format
)
def test_a_control_character_inside_a_name_is_refused(api, code):
    assert_answer(api.post(USER, person(name=f"Ada{chr(code)}Lovelace")), 400, invalid(name="Invalid name"))


# --- passwords -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "password",
    [
        pytest.param("x" * 7, id="7 letters"),
        pytest.param("\U0001f600" * 7, id="7 emoji"),
        pytest.param(FAMILY, id="one emoji of 7 scalar values"),
        pytest.param("e\u0301" * 3 + "e", id="4 accented letters of 7 scalar values"),
    ],
)
def test_a_password_of_fewer_than_8_characters_is_refused(api, password):
    assert_answer(api.post(USER, person(password=password)), 400, invalid(password=PASSWORD_TOO_SHORT))


@pytest.mark.parametrize(
    "password",
    [
        pytest.param("x" * 129, id="129 letters"),
        pytest.param("\U0001f600" * 129, id="129 emoji"),
        pytest.param(" " * 129, id="129 spaces"),
        pytest.param("x" * 60000, id="60000 letters"),
    ],
)
def test_a_password_of_more_than_128_characters_is_refused(api, password):
    assert_answer(api.post(USER, person(password=password)), 400, invalid(password=PASSWORD_TOO_LONG))


@pytest.mark.parametrize(
    "password",
    [
        pytest.param("x" * 8, id="8 letters"),
        pytest.param("x" * 128, id="128 letters"),
        pytest.param("\U0001f600" * 8, id="8 emoji"),
        pytest.param("\U0001f600" * 128, id="128 emoji"),
        pytest.param(FAMILY + "!", id="two emoji of 8 scalar values"),
        pytest.param("e\u0301" * 4, id="4 accented letters of 8 scalar values"),
        pytest.param(" " * 8, id="8 spaces"),
        pytest.param("  padded  ", id="spaces at both ends"),
        pytest.param("pass\0word", id="a NUL inside"),
        pytest.param("tab\tline\nbell\x07", id="control characters"),
    ],
)
def test_a_password_of_8_to_128_characters_of_any_kind_is_accepted_and_logs_in(api, password):
    user = api.sign_up(password=password)
    assert api.login(user.email, password).status == 200


# --- an e-mail address that is taken ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spelling", [str, str.lower, str.upper, str.swapcase, str.title], ids=lambda change: change.__name__
)
def test_a_taken_address_is_refused_in_any_letter_case(api, spelling):
    user = api.sign_up(email=fresh_email("Mixed.Case"))
    answer = api.post(USER, person(name="Somebody Else", email=spelling(user.email)))
    assert answer.status == 409
    assert list(answer.json) == ["message", "error"]
    assert answer.json["error"] == [{"email": "Already registered"}]
    assert isinstance(answer.json["message"], str) and answer.json["message"]


def test_a_taken_address_is_refused_with_the_same_bytes_whatever_else_was_sent(api, ada, member):
    answers = [
        api.post(USER, person(email=ada.email)),
        api.post(USER, person(email=ada.email.upper(), password="another one")),
        api.post(USER, person(email=member.email)),
        api.post(USER, person(email=member.email, name=member.name, password=member.password)),
    ]
    assert {answer.status for answer in answers} == {409}
    assert len({answer.body for answer in answers}) == 1


def test_validation_comes_before_the_check_whether_an_address_is_taken(api, ada):
    assert_answer(api.post(USER, person(email=ada.email, name="")), 400, invalid(name=NAME_TOO_SHORT))


def test_a_refused_second_sign_up_changes_nothing_for_the_first_user(api):
    first = api.sign_up(name="First Owner", password="the first password")
    second = api.post(USER, person(name="Second Owner", email=first.email.upper(), password="the second password"))
    assert second.status == 409
    assert stored_name(api, first.id) == "First Owner"
    assert api.guard(first.token).status == 200
    assert api.login(first.email, "the first password").status == 200
    assert api.login(first.email, "the second password").status == 404


def test_of_many_simultaneous_sign_ups_with_one_address_exactly_one_succeeds(api):
    email = fresh_email("race")
    spellings = [email, email.upper(), email.title(), email.swapcase()] * 4
    clients = [api.another() for _ in spellings]
    with ThreadPoolExecutor(len(clients)) as pool:
        answers = list(pool.map(lambda client, spelling: client.post(USER, person(email=spelling)), clients, spellings))
    for client in clients:
        client.close()
    assert sorted(answer.status for answer in answers) == [201] + [409] * (len(clients) - 1)


def test_a_taken_address_takes_as_long_as_a_new_one(api, ada):
    def register(email, status):
        assert api.post(USER, person(email=email, password="long enough")).status == status

    new, taken = lambda: register(fresh_email(), 201), lambda: register(ada.email, 409)
    assert_take_equally_long(new, taken)
