"""The two guarded routes: who passes, how others are refused, and which header is read."""

import pytest

from support import GUARD, GUARDS, MILES, REFUSED, assert_answer, bearer

WELCOME = {GUARD: "You are authenticated.", MILES: "You are Miles Davis."}

METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "QUERY", "PROPFIND", "MADEUP"]

both_guards = pytest.mark.parametrize("path", GUARDS)


def assert_refused(answer, *errors):
    """The one fixed body, and a challenge with one of the given error codes."""
    assert_answer(answer, 401, REFUSED)
    assert answer.challenge_error in errors
    assert "no-store" in answer.header("Cache-Control")


# --- policies --------------------------------------------------------------------------------------------------------


def test_any_valid_token_passes_the_guard(api, ada, miles):
    for user in (ada, miles):
        assert_answer(api.guard(user.token), 200, WELCOME[GUARD])


def test_the_designated_user_passes_the_name_policy(api, miles):
    assert_answer(api.guard(miles.token, MILES), 200, WELCOME[MILES])


@pytest.mark.parametrize("name", ["miles davis", "MILES DAVIS", "mIlEs DaViS", "  Miles Davis  "])
def test_the_designated_name_is_compared_ignoring_case_and_outer_white_space(api, name):
    assert_answer(api.guard(api.sign_up(name=name).token, MILES), 200, WELCOME[MILES])


def test_a_login_of_the_designated_user_passes_the_name_policy(api):
    user = api.sign_up(name="Miles Davis", password="kind of blue")
    assert api.guard(api.login(user.email, user.password).json["token"], MILES).status == 200


@pytest.mark.parametrize(
    "name",
    [
        "Ada Lovelace",
        "miles",
        "Miles",
        "Miles Davi",
        "Miles Davis Jr",
        "MilesDavis",
        "Miles  Davis",
        "Davis Miles",
        "Miles Davis'--",
        "%%",
        "Miles_Davis",
        "Miles%",
        pytest.param("Miles\u00a0Davis", id="no-break space"),
        pytest.param("Mıles Davıs", id="dotless i"),
        pytest.param("MİLES DAVİS", id="dotted capital I"),
        pytest.param("Mile\u017f Davi\u017f", id="long s"),
        pytest.param("М\u0456les Davis", id="Cyrillic letters"),
        pytest.param("Ｍｉｌｅｓ Ｄａｖｉｓ", id="full-width letters"),
        pytest.param("Miles\u200b Davis", id="zero-width space"),
    ],
)
def test_a_user_with_another_name_is_refused_by_the_name_policy_alone(api, name):
    user = api.sign_up(name=name)
    assert api.guard(user.token).status == 200
    assert_refused(api.guard(user.token, MILES), "insufficient_scope")


def test_the_decisions_of_the_two_policies_are_independent(api, ada, miles):
    for _ in range(20):
        seen = [api.guard(user.token, path).status for user in (ada, miles) for path in GUARDS]
        assert seen == [200, 401, 200, 200]


@both_guards
def test_a_success_may_not_be_cached(api, miles, path):
    assert "no-store" in api.guard(miles.token, path).header("Cache-Control")


@both_guards
def test_a_success_carries_no_challenge(api, miles, path):
    assert api.guard(miles.token, path).header("WWW-Authenticate") is None


def test_all_refusals_have_the_same_bytes(api, ada):
    answers = [
        api.get(GUARD),
        api.get(MILES),
        api.guard("nonsense"),
        api.guard("nonsense", MILES),
        api.guard(ada.token[:-1]),
        api.guard(ada.token, MILES),
        api.get(GUARD, [("Authorization", "Basic eDp5")]),
        api.get(GUARD, bearer(ada.token) * 2),
    ]
    assert {answer.status for answer in answers} == {401}
    assert len({answer.body for answer in answers}) == 1


# --- the Authorization header ----------------------------------------------------------------------------------------


@both_guards
def test_without_the_header_the_challenge_has_no_error_code(api, path):
    assert_refused(api.get(path), None)


@both_guards
@pytest.mark.parametrize(
    "value", ["Basic eDp5", "Digest username=x", "Negotiate x", "DPoP {token}", "Token {token}", "JWT {token}"]
)
def test_another_scheme_counts_as_no_credentials(api, miles, path, value):
    assert_refused(api.get(path, [("Authorization", value.format(token=miles.token))]), None)


@both_guards
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR"])
def test_the_scheme_is_read_in_any_letter_case(api, miles, path, scheme):
    assert_answer(api.get(path, [("Authorization", f"{scheme} {miles.token}")]), 200, WELCOME[path])


@pytest.mark.parametrize("name", ["authorization", "AUTHORIZATION", "aUtHoRiZaTiOn"])
def test_the_name_of_the_header_is_read_in_any_letter_case(api, ada, name):
    assert api.get(GUARD, [(name, f"Bearer {ada.token}")]).status == 200


@both_guards
@pytest.mark.parametrize(
    "token", ["x", "a.b.c", "..", "...", "null", "undefined", "e30.e30.e30", "{}", "%00", "-", "=" * 8]
)
def test_a_string_that_is_not_a_token_is_an_invalid_token(api, path, token):
    assert_refused(api.guard(token, path), "invalid_token")


MALFORMED_HEADERS = [
    "",
    " ",
    "Bearer",
    "Bearer ",
    "{token}",
    "Bearer{token}",
    "Bearer:{token}",
    "Bearer: {token}",
    "Bearer={token}",
    "Bearer,{token}",
    "Bearer\t{token}",
    "Bearer\xa0{token}",
    "Bearer Bearer {token}",
    "Bearer {token} {token}",
    "Bearer {token} x",
    "Bearer x {token}",
    "Bearer {token},",
    "Bearer {token};",
    "Bearer {token}, Bearer {token}",
    "Bearer {token},Basic eDp5",
    "Basic eDp5, Bearer {token}",
    'Bearer "{token}"',
    "Bearer '{token}'",
    "Bearer <{token}>",
    "Bearer token={token}",
    'Bearer token="{token}"',
    "Bearer access_token={token}",
    "Bearer {token}=",
    "Bearer {token}==",
    "Bearer {token}\xff",
    "Bearer \xe9{token}",
    "Bearer %20{token}",
    "BearerX {token}",
    "XBearer {token}",
    "Bea rer {token}",
    "Basic {token}",
    "Authorization: Bearer {token}",
]


@both_guards
@pytest.mark.parametrize("form", MALFORMED_HEADERS, ids=repr)
def test_a_malformed_header_is_refused_even_around_a_valid_token(api, miles, path, form):
    answer = api.get(path, [("Authorization", form.format(token=miles.token))])
    assert_refused(answer, None, "invalid_token", "invalid_request")


@both_guards
@pytest.mark.parametrize(
    "first, second",
    [
        pytest.param("Bearer {token}", "Bearer {token}", id="the same valid token twice"),
        pytest.param("Bearer {token}", "Bearer nonsense", id="valid, then invalid"),
        pytest.param("Bearer nonsense", "Bearer {token}", id="invalid, then valid"),
        pytest.param("Bearer {token}", "Basic eDp5", id="valid, then Basic"),
        pytest.param("Basic eDp5", "Bearer {token}", id="Basic, then valid"),
        pytest.param("Bearer {token}", "", id="valid, then empty"),
        pytest.param("", "Bearer {token}", id="empty, then valid"),
        pytest.param("Bearer", "{token}", id="one value split over two"),
    ],
)
def test_two_authorization_headers_are_refused(api, miles, path, first, second):
    headers = [("Authorization", value.format(token=miles.token)) for value in (first, second)]
    assert_refused(api.get(path, headers), "invalid_token", "invalid_request")


@both_guards
def test_two_authorization_headers_are_refused_with_others_between_them(api, miles, path):
    [header] = bearer(miles.token)
    headers = [header, ("Accept", "*/*"), ("authorization", header[1])]
    assert_refused(api.get(path, headers), "invalid_token", "invalid_request")


def test_a_folded_header_does_not_pass(api, ada):
    answer = api.raw(api.head("GET", GUARD, [("Authorization", f"Bearer\r\n {ada.token}")]))
    assert answer.status in (400, 401)


def test_a_long_token_is_refused_like_any_other(api):
    assert_refused(api.guard("x" * 8000), "invalid_token")


def test_an_enormous_token_is_refused_as_a_token_or_as_a_head(api):
    assert api.guard("x" * 60000).status in (401, 431)


# --- other places for a token ----------------------------------------------------------------------------------------


@both_guards
@pytest.mark.parametrize(
    "query", ["access_token={token}", "token={token}", "Authorization=Bearer%20{token}", "bearer={token}"]
)
def test_a_token_in_the_query_is_ignored(api, miles, path, query):
    assert_refused(api.get(f"{path}?{query.format(token=miles.token)}"), None)


@both_guards
@pytest.mark.parametrize(
    "name, value",
    [
        ("Cookie", "token={token}"),
        ("Cookie", "access_token={token}; Authorization=Bearer {token}"),
        ("Proxy-Authorization", "Bearer {token}"),
        ("X-Authorization", "Bearer {token}"),
        ("X-Access-Token", "{token}"),
        ("X-Forwarded-Access-Token", "{token}"),
        ("Sec-WebSocket-Protocol", "bearer, {token}"),
        ("X-User-Id", "{id}"),
        ("X-Forwarded-User", "Miles Davis"),
        ("Remote-User", "Miles Davis"),
        ("X-Original-URL", "/api/user"),
        ("X-HTTP-Method-Override", "OPTIONS"),
        ("X-Forwarded-For", "127.0.0.1"),
    ],
)
def test_a_token_in_another_header_is_ignored(api, miles, path, name, value):
    assert_refused(api.get(path, [(name, value.format(token=miles.token, id=miles.id))]), None)


@both_guards
@pytest.mark.parametrize(
    "content_type, body",
    [
        ("application/x-www-form-urlencoded", "access_token={token}"),
        ("application/json", '{{"token":"{token}","access_token":"{token}"}}'),
        ("text/plain", "{token}"),
    ],
)
def test_a_token_in_the_body_is_ignored(api, miles, path, content_type, body):
    assert_refused(api.post_bytes(path, body.format(token=miles.token).encode(), content_type), None)


@both_guards
def test_a_valid_header_passes_with_invalid_tokens_elsewhere(api, miles, path):
    headers = bearer(miles.token) + [("Cookie", "token=nonsense"), ("Proxy-Authorization", "Basic eDp5")]
    assert_answer(api.get(f"{path}?access_token=nonsense", headers), 200, WELCOME[path])


# --- methods ---------------------------------------------------------------------------------------------------------


@both_guards
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_answered_as_get_is(api, miles, ada, path, method):
    for headers in (bearer(miles.token), bearer(ada.token), bearer("nonsense"), []):
        expected = api.get(path, headers)
        answer = api.send(method, path, headers)
        assert answer.status == expected.status
        assert answer.body == (b"" if method == "HEAD" else expected.body)
        for name in ("Content-Type", "Cache-Control", "WWW-Authenticate"):
            assert answer.header(name) == expected.header(name)


@both_guards
@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE"])
@pytest.mark.parametrize("content_type", ["application/json", "text/plain", "multipart/form-data"])
def test_a_guard_ignores_the_body(api, miles, path, method, content_type):
    headers = [("Content-Type", content_type)]
    assert_answer(api.send(method, path, headers + bearer(miles.token), b"{ not json"), 200, WELCOME[path])
    assert_refused(api.send(method, path, headers, b"{ not json"), None)
