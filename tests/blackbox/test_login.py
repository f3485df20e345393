"""POST /api/auth/login: success, one indistinguishable refusal, and malformed bodies."""

from functools import partial

import pytest

from support import LOGIN, NOT_FOUND, assert_answer, assert_take_equally_long, claims_of, fresh_email, invalid


@pytest.fixture(scope="module")
def refusal(api):
    """The answer for an unregistered address."""
    return api.login(fresh_email("nobody"), "long enough")


# --- success ---------------------------------------------------------------------------------------------------------


def test_the_right_password_gets_exactly_a_token(api, member):
    answer = api.login(member.email, member.password)
    assert answer.status == 200
    assert list(answer.json) == ["token"]
    assert claims_of(answer.json["token"])["sub"] == member.id
    assert api.guard(answer.json["token"]).status == 200


def test_the_answer_with_the_token_may_not_be_cached(api, member):
    assert "no-store" in api.login(member.email, member.password).header("Cache-Control")


@pytest.mark.parametrize("spelling", [str.lower, str.upper, str.swapcase], ids=lambda change: change.__name__)
def test_the_letter_case_of_the_address_does_not_matter(api, member, spelling):
    assert api.login(spelling(member.email), member.password).status == 200


def test_unknown_fields_are_ignored(api, member):
    body = {"email": member.email, "password": member.password, "remember": True, "sub": "x"}
    assert api.post(LOGIN, body).status == 200


def test_every_login_opens_a_new_session_and_ends_no_other(api, member):
    tokens = [member.token] + [api.login(member.email, member.password).json["token"] for _ in range(2)]
    claims = [claims_of(token) for token in tokens]
    assert len({claim["sid"] for claim in claims}) == len({claim["jti"] for claim in claims}) == 3
    assert [api.guard(token).status for token in tokens] == [200] * 3


# --- refusal ---------------------------------------------------------------------------------------------------------


def test_an_unknown_address_is_answered_with_the_fixed_404(refusal):
    assert_answer(refusal, 404, NOT_FOUND)


@pytest.mark.parametrize(
    "email",
    [
        "",
        " ",
        "nobody",
        "a@b",
        "@",
        "*",
        "%",
        "_%@%.com",
        "' OR '1'='1",
        "ü@x.com",
        pytest.param("a\0@x.com", id="NUL"),
        pytest.param("a@x.com\r\nX-Injected: 1", id="line break"),
        pytest.param("a" * 300 + "@x.com", id="306 bytes"),
        pytest.param("a" * 60000, id="60000 bytes"),
    ],
)
def test_no_syntax_rule_applies_to_the_address_that_is_tried(api, refusal, email):
    assert api.login(email, "long enough").fingerprint == refusal.fingerprint


@pytest.mark.parametrize(
    "password",
    [
        "",
        " ",
        "x",
        "wrong password",
        "null",
        pytest.param("\0", id="NUL"),
        pytest.param("x" * 129, id="129 letters"),
        pytest.param("\U0001f600" * 500, id="500 emoji"),
        pytest.param("x" * 60000, id="60000 letters"),
    ],
)
def test_no_length_rule_applies_to_the_password_that_is_tried(api, member, refusal, password):
    assert api.login(member.email, password).fingerprint == refusal.fingerprint


def test_a_wrong_password_for_the_address_in_capitals_is_the_same_refusal(api, member, refusal):
    assert api.login(member.email.upper(), "wrong password").fingerprint == refusal.fingerprint


@pytest.mark.parametrize("password", ["", "long enough", "null", "undefined", "!", pytest.param("\0", id="NUL")])
def test_a_user_without_a_password_gets_the_same_refusal(api, ada, refusal, password):
    assert api.login(ada.email, password).fingerprint == refusal.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda email: f" {email}", id="leading space"),
        pytest.param(lambda email: f"{email} ", id="trailing space"),
        pytest.param(lambda email: f"{email}\n", id="trailing newline"),
        pytest.param(lambda email: f"{email}\0", id="trailing NUL"),
        pytest.param(lambda email: f"{email}.", id="trailing dot"),
        pytest.param(lambda email: email.replace("p", "\uff50"), id="full-width letter"),
        pytest.param(lambda email: email.replace("c", "\u0441"), id="Cyrillic letter"),
        pytest.param(lambda email: email.replace("@", "+tag@"), id="tag"),
    ],
)
def test_only_the_letter_case_of_the_address_is_ignored(api, member, refusal, change):
    assert change(member.email) != member.email
    assert api.login(change(member.email), member.password).fingerprint == refusal.fingerprint


def test_a_letter_that_only_unicode_lower_casing_folds_is_different(api, refusal):
    user = api.sign_up(email=fresh_email("kate"), password="long enough")
    assert api.login("\u212a" + user.email[1:], user.password).fingerprint == refusal.fingerprint
    assert api.login("K" + user.email[1:], user.password).status == 200


@pytest.mark.parametrize(
    "password, tried",
    [
        pytest.param("correct horse", "Correct horse", id="another letter case"),
        pytest.param("correct horse", "correct horse ", id="a trailing space"),
        pytest.param("  correct horse", "correct horse", id="without the leading spaces"),
        pytest.param("correct\0horse", "correct\0ponies", id="a difference after a NUL"),
        pytest.param("correct\0horse", "correct", id="only what precedes a NUL"),
        pytest.param("x" * 127 + "y", "x" * 127 + "z", id="a difference in the 128th letter"),
        pytest.param("x" * 128, "x" * 127, id="one letter of 128 missing"),
        pytest.param("x" * 128, "x" * 129, id="one letter more than 128"),
        pytest.param("\U0001f600" * 127 + "y", "\U0001f600" * 127 + "z", id="a difference behind 508 bytes"),
        pytest.param("Zo\u00eb is here", "Zoe\u0308 is here", id="the decomposed form"),
        pytest.param("\ufb01ne words", "fine words", id="the compatibility form"),
    ],
)
def test_a_password_is_compared_exactly(api, refusal, password, tried):
    user = api.sign_up(password=password)
    assert api.login(user.email, tried).fingerprint == refusal.fingerprint
    assert api.login(user.email, password).status == 200


def test_refusals_look_alike_on_connections_that_close(api, member):
    def closing(email):
        body = b'{"email":"%s","password":"wrong password"}' % email.encode()
        headers = [("Content-Type", "application/json"), ("Content-Length", len(body)), ("Connection", "close")]
        return api.raw(api.head("POST", LOGIN, headers) + body, "POST")

    assert closing(member.email).fingerprint == closing(fresh_email("nobody")).fingerprint


def test_refusals_take_equally_long(api, member, ada):
    def refused(email):
        assert api.login(email, "wrong password").status == 404

    emails = [member.email, ada.email, fresh_email("nobody"), fresh_email("no address")]
    assert_take_equally_long(*(partial(refused, email) for email in emails))


# --- malformed -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body, errors",
    [
        pytest.param({"email": "a@b.co"}, {"password": "Required"}, id="no password"),
        pytest.param({"password": "x"}, {"email": "Required"}, id="no e-mail"),
        pytest.param(
            {"password": 1},
            {"email": "Required", "password": "Expected string, received number"},
            id="one missing, one mistyped",
        ),
        pytest.param(
            {"Email": "a@b.co", "Password": "x"},
            {
                "email": "Required",
                "password": "Required",
                "Email": "Unrecognized key, did you mean email?",
                "Password": "Unrecognized key, did you mean password?",
            },
            id="capital letters in the keys",
        ),
    ],
)
def test_missing_fields_are_named(api, body, errors):
    assert_answer(api.post(LOGIN, body), 400, invalid(**errors))


@pytest.mark.parametrize(
    "value, kind", [(None, "null"), (7, "number"), (False, "boolean"), ([], "array"), ({}, "object")]
)
@pytest.mark.parametrize("field", ["email", "password"])
def test_a_field_of_the_wrong_type_is_named_with_the_type_received(api, member, field, value, kind):
    body = {"email": member.email, "password": member.password} | {field: value}
    assert_answer(api.post(LOGIN, body), 400, invalid(**{field: f"Expected string, received {kind}"}))


def test_several_faults_are_named_in_the_order_email_password(api):
    raw = api.post_bytes(LOGIN, b'{"password":null,"email":7}')
    assert_answer(
        raw, 400, invalid(email="Expected string, received number", password="Expected string, received null")
    )


def test_a_malformed_login_does_not_reveal_whether_the_address_is_registered(api, member):
    known, unknown = (api.post(LOGIN, {"email": email}) for email in (member.email, fresh_email("nobody")))
    assert known.fingerprint == unknown.fingerprint
