"""Request bodies on both routes that take one: syntax, shape, Content-Type, size."""

import pytest

from support import (
    BODY_LIMIT,
    JSON_TYPE,
    LOGIN,
    USER,
    as_json,
    assert_answer,
    assert_message_only,
    assert_takes_less_than,
    fresh_email,
    in_chunks,
    invalid,
    padded_to,
    person,
)

NOTHING_SENT = {
    USER: invalid(name="Required", email="Required"),
    LOGIN: invalid(email="Required", password="Required"),
}

both_routes = pytest.mark.parametrize("path", [USER, LOGIN])


def unknown_user():
    """A valid body for both routes, with an unregistered address."""
    return person(password="long enough")


def assert_understood(path, answer):
    assert answer.status == {USER: 201, LOGIN: 404}[path], answer


def assert_unregistered(api, payload):
    assert api.post(USER, payload).status == 201


# --- no body ---------------------------------------------------------------------------------------------------------


@both_routes
@pytest.mark.parametrize(
    "headers, body",
    [
        pytest.param([], None, id="nothing at all"),
        pytest.param([], b"", id="an announced length of zero"),
        pytest.param([JSON_TYPE], None, id="only a Content-Type"),
        pytest.param([JSON_TYPE], b"", id="a Content-Type and a length of zero"),
        pytest.param([("Content-Type", "text/plain")], b"", id="another Content-Type and a length of zero"),
        pytest.param([JSON_TYPE], b"{}", id="an empty object"),
    ],
)
def test_a_missing_body_reports_every_required_field(api, path, headers, body):
    assert_answer(api.send("POST", path, headers, body), 400, NOTHING_SENT[path])


@both_routes
def test_an_empty_chunked_body_is_a_missing_body(api, path):
    assert_answer(api.post_chunked(path, b""), 400, NOTHING_SENT[path])


# --- syntax ----------------------------------------------------------------------------------------------------------


@both_routes
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"nonsense", id="a bare word"),
        pytest.param(b"{", id="an open brace"),
        pytest.param(b'{"name":', id="a cut object"),
        pytest.param(b'{"name":"Ada', id="a cut string"),
        pytest.param(b'{"name":"Ada",}', id="a trailing comma"),
        pytest.param(b"{'name':'Ada'}", id="single quotes"),
        pytest.param(b"{name:1}", id="a bare key"),
        pytest.param(b'{"name":NaN}', id="NaN"),
        pytest.param(b'{"name":01}', id="a leading zero"),
        pytest.param(b'{"name":1} // end', id="a comment"),
        pytest.param(b"{} {}", id="two objects"),
        pytest.param(b"{}\0", id="a NUL after the object"),
        pytest.param(b"\0", id="only a NUL"),
        pytest.param(b'{"name":"a\nb"}', id="a raw newline in a string"),
        pytest.param(b'{"name":"\\x41"}', id="an unknown escape"),
        pytest.param(b'{"name":"\xff\xfe"}', id="bytes that are no UTF-8"),
        pytest.param(b'{"name":"\xed\xa0\x80"}', id="a surrogate as UTF-8"),
        pytest.param(b'{"name":"\xc0\x80"}', id="an overlong NUL"),
        pytest.param(b"\xef\xbb\xbf{}", id="a byte order mark"),
        pytest.param('{"name":"Ada"}'.encode("utf-16"), id="UTF-16"),
        pytest.param(b"name=Ada&email=a%40b.co", id="a form"),
        pytest.param(b"<name>Ada</name>", id="XML"),
    ],
)
def test_a_body_that_is_not_json_is_refused(api, path, body):
    assert_answer(api.post_bytes(path, body), 400, invalid(body="Invalid JSON"))


@both_routes
@pytest.mark.parametrize(
    "body, kind",
    [
        (b"[]", "array"),
        (b'[{"name":"Ada"}]', "array"),
        (b'"Ada"', "string"),
        (b"7", "number"),
        (b"true", "boolean"),
        (b"null", "null"),
    ],
)
def test_a_body_that_is_not_an_object_is_refused(api, path, body, kind):
    assert_answer(api.post_bytes(path, body), 400, invalid(body=f"Expected object, received {kind}"))


def assert_refused_as_malformed(answer):
    assert answer.status == 400
    assert list(answer.json) == ["message", "error"]
    assert answer.json["message"] == invalid()["message"]
    assert len(answer.json["error"]) == 1


@both_routes
@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 30000 + b"]" * 30000, id="closed arrays"),
        pytest.param(b"[" * 60000, id="open arrays"),
        pytest.param(b'{"a":' * 9000 + b"1" + b"}" * 9000, id="objects"),
        pytest.param(b'{"email":' + b"[" * 30000 + b"]" * 30000 + b"}", id="a field"),
        pytest.param(b'{"name":"\\ud800","email":"\\ud800"}', id="lone surrogates"),
        pytest.param(b'{"name":1e400,"email":1e400}', id="numbers beyond any range"),
        pytest.param(b'{"name":' + b"9" * 60000 + b"}", id="a number of 60000 digits"),
    ],
)
def test_a_hostile_body_is_refused_quickly(api, path, body):
    assert_takes_less_than(1, lambda: assert_refused_as_malformed(api.post_bytes(path, body)))


@both_routes
def test_nesting_in_an_unknown_field_is_accepted(api, path):
    assert_understood(path, api.post(path, unknown_user() | {"extra": [[[[{"a": {"b": [1, 2.5e3, None, True]}}]]]]}))


@pytest.mark.parametrize("first, second", [("bad", "good"), ("good", "bad"), ("good", "good")])
def test_a_repeated_key_is_either_refused_or_read_one_way_only(api, first, second):
    emails = {"bad": "nobody", "good": fresh_email()}
    body = b'{"name":"Ada","email":%s,"email":%s}' % (as_json(emails[first]), as_json(emails[second]))
    answers = [api.post_bytes(USER, body), api.post_bytes(USER, body)]
    assert [answer.status for answer in answers] in ([400, 400], [201, 409])


@both_routes
def test_white_space_around_the_object_is_accepted(api, path):
    assert_understood(path, api.post_bytes(path, b" \r\n\t" + as_json(unknown_user()) + b"\n "))


@both_routes
def test_escaped_and_plain_spellings_of_a_key_are_the_same_key(api, path):
    assert_understood(path, api.post_bytes(path, as_json(unknown_user()).replace(b'"email"', b'"\\u0065mail"')))


# --- Content-Type ----------------------------------------------------------------------------------------------------


@both_routes
@pytest.mark.parametrize(
    "content_type",
    ["application/json", "application/json; charset=utf-8", "application/json;charset=UTF-8", "Application/JSON"],
)
def test_json_is_read_under_every_spelling_of_its_type(api, path, content_type):
    assert_understood(path, api.post_bytes(path, as_json(unknown_user()), content_type))


@both_routes
def test_a_json_body_without_a_content_type_is_read_as_json(api, path):
    assert_understood(path, api.send("POST", path, body=as_json(unknown_user())))


@both_routes
@pytest.mark.parametrize(
    "content_type",
    [
        "text/plain",
        "text/json",
        "text/html; charset=utf-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/xml",
        "application/jsonp",
        "application/problem+json",
        "application/vnd.api+json",
        "application/octet-stream",
        "text/plain; application/json",
    ],
)
def test_a_body_of_another_type_is_refused_and_not_acted_upon(api, path, content_type):
    payload = unknown_user()
    assert_message_only(api.post_bytes(path, as_json(payload), content_type), 415)
    assert_unregistered(api, payload)


# --- size ------------------------------------------------------------------------------------------------------------


@both_routes
def test_a_body_of_exactly_the_limit_is_read(api, path):
    assert_understood(path, api.post_bytes(path, padded_to(BODY_LIMIT, unknown_user())))


@both_routes
def test_a_chunked_body_of_exactly_the_limit_is_read(api, path):
    assert_understood(path, api.post_chunked(path, padded_to(BODY_LIMIT, unknown_user())))


@both_routes
@pytest.mark.parametrize("size", [BODY_LIMIT + 1, 4 * BODY_LIMIT])
def test_a_larger_body_is_refused_and_not_acted_upon(api, path, size):
    payload = unknown_user()
    assert_message_only(api.post_bytes(path, padded_to(size, payload)), 413)
    assert_unregistered(api, payload)


@both_routes
@pytest.mark.parametrize("size", [BODY_LIMIT + 1, 4 * BODY_LIMIT])
def test_a_larger_chunked_body_is_refused_and_not_acted_upon(api, path, size):
    payload = unknown_user()
    assert_message_only(api.post_chunked(path, padded_to(size, payload)), 413)
    assert_unregistered(api, payload)


@both_routes
def test_a_large_chunked_body_is_refused_before_it_ends(api, path):
    head = api.head("POST", path, [JSON_TYPE, ("Transfer-Encoding", "chunked")])
    endless = in_chunks(b" " * (4 * BODY_LIMIT)).removesuffix(b"0\r\n\r\n")
    assert_message_only(api.raw(head + endless, "POST"), 413)


@both_routes
@pytest.mark.parametrize("announced", [BODY_LIMIT + 1, 10**9, 2**63])
def test_a_large_announced_length_is_refused_without_waiting_for_the_body(api, path, announced):
    def announce():
        answer = api.raw(api.head("POST", path, [JSON_TYPE, ("Content-Length", announced)]), "POST")
        assert_message_only(answer, 413)

    assert_takes_less_than(2, announce)


@both_routes
def test_expect_100_continue_is_answered(api, path):
    body = as_json(unknown_user())
    head = api.head("POST", path, [JSON_TYPE, ("Content-Length", len(body)), ("Expect", "100-continue")])
    assert_understood(path, api.raw(head + body, "POST"))
