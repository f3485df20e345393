"""`doorward dev`: in memory, on loopback, with a clock, mail and users that tests control."""

import base64
import contextlib
import json
import os
import signal
import socket
import subprocess
import time
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import pytest
from conftest import ADA, BOB, Dev, clean_environment
from harness import BINARY, PATIENCE_SECONDS
from harness.service import Service
from harness.stall import Span, StallRecorder

HEADER = "X-Doorward-Development"
WARNING = "Development server: data is in memory and passwords are not protected"
STALLS = StallRecorder()


def run(*arguments, cwd, **environment):
    """Runs a command that ends by itself."""
    return subprocess.run(
        [BINARY, *arguments], cwd=cwd, env=clean_environment(**environment), capture_output=True, text=True,
        timeout=PATIENCE_SECONDS,
    )


def files_open_by(process):
    """The files that a process has open, besides devices and what its parent gave it."""
    links = []
    for number in os.listdir(f"/proc/{process}/fd"):
        # It may be closed meanwhile.
        with contextlib.suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/{process}/fd/{number}"))
    return [link for link in links if link.startswith("/") and not link.startswith("/dev/")]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_it_leaves_no_file_behind_however_it_ends(start, folder, tmp_path, sent):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with start(variables=clean_environment(TMPDIR=str(temporary), SQLITE_TMPDIR=str(temporary))) as dev:
        token = dev.login().json["token"]
        assert dev.post("/api/user", name="Eve", email="eve@example.com", password="universal exports").status == 201
        assert dev.post("/dev/reset").status == 204
        assert dev.guard(token) == 401
        assert files_open_by(dev.process.pid) == [str(tmp_path / "log")]
        code = dev.stop(sent)
    assert code == (-signal.SIGKILL if sent == signal.SIGKILL else 0), dev.stderr()
    assert list(folder.iterdir()) == [] and list(temporary.iterdir()) == []


def test_it_says_what_it_is(start, folder):
    with start() as dev:
        assert dev.ready == {"url": dev.url, "pid": dev.process.pid, "users": 2}
        for path in ["/", "/api/auth/guard", "/sign-in", "/dev/clock", "/nowhere", "/livez"]:
            assert dev.get(path).headers[HEADER] == WARNING, path
        assert WARNING in dev.get("/sign-in").text
        deadline = time.monotonic() + PATIENCE_SECONDS
        # The line may be a moment late, and the last one not yet written to its end.
        while WARNING not in (log := dev.stderr().rpartition("\n")[0]):
            assert time.monotonic() < deadline, log
            time.sleep(0.02)
        lines = [json.loads(line) for line in log.splitlines()]
        assert [line["level"] for line in lines if line["message"] == WARNING] == ["WARN"], lines
    command = [BINARY, "dev", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, text=True) as process:
        greeting = []
        while not greeting or "users" not in greeting[-1]:
            greeting.append(process.stdout.readline())
            assert greeting[-1], greeting
        process.terminate()
    assert WARNING in "".join(greeting)


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"])
def test_it_listens_on_loopback_only(folder, address):
    refused = run("dev", "--listen", address, cwd=folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert f"--listen {address}: doorward dev listens on loopback only" in refused.stderr
    assert "choose 127.0.0.1:0, or start `doorward serve`" in refused.stderr


def test_the_settings_of_production_do_not_apply_but_its_guards_do(start, folder):
    settings = """
        listen = "0.0.0.0:1"
        public_url = "https://auth.example.com"
        database_url = "postgres://nobody@192.0.2.1/none"
        data_folder = "kept-out"
        [token]
        key_file = "/nowhere/key.pem"
        lifetime = "5m"
        [mail]
        url = "smtps://192.0.2.1"
        from = "Shop <shop@example.com>"
        [guards.staff]
        allow = '"staff" in user.roles'
    """
    with start(settings=settings) as dev:
        assert urlsplit(dev.url).hostname == "localhost"
        assert dev.guard(dev.sign_in(), "staff") == 200
        token = dev.sign_in("bob@example.com")
        assert dev.guard(token, "staff") == 401 and dev.guard(token) == 200
        dev.advance("5m")
        assert dev.guard(token) == 401
        assert dev.post("/api/auth/forgot", email="ada@example.com").status == 202
        assert [mail["to"] for mail in dev.mails()] == ["ada@example.com"]
    assert [file.name for file in folder.iterdir()] == ["doorward.toml"]


@pytest.mark.parametrize("flag, value", [
    ("--database-url", "sqlite://data.db"),
    ("--mail-ca-file", "authority.pem"),
    ("--metrics-listen", "127.0.0.1:0"),
    ("--password-passes", "3"),
    ("--token-key-file", "key.pem"),
])
def test_a_flag_that_would_have_no_effect_is_refused(folder, flag, value):
    refused = run("dev", flag, value, "--", "true", cwd=folder)
    assert refused.returncode == 2
    assert f"{flag}: doorward dev decides this by itself" in refused.stderr


def test_a_users_file_with_mistakes_is_refused_with_lines_and_fields(folder, tmp_path):
    users = tmp_path / "users.jsonl"
    users.write_text('{"name": "Ada Lovelace", "email": "ada"}\nnonsense\n{"nmae": "Bob", "email": "bob@example.com"}\n')
    refused = run("dev", "--users", str(users), cwd=folder)
    assert refused.returncode == 2
    assert refused.stderr.removeprefix("doorward: ").splitlines()[:1] == [f"{users}:1: email: Invalid email"]
    assert f"{users}:2: not a JSON object: write one user per line, such as {{" in refused.stderr
    assert f"{users}:3: name: Required" in refused.stderr
    assert f"{users}:3: nmae: Unrecognized key, did you mean name?" in refused.stderr
    refused = run("dev", "--users", "nowhere.jsonl", cwd=folder)
    assert refused.returncode == 2 and "--users: nowhere.jsonl: No such file or directory" in refused.stderr


def test_two_servers_side_by_side_share_nothing(tmp_path):
    folders = [tmp_path / name / "work" for name in ("one", "two")]
    for folder in folders:
        folder.mkdir(parents=True)
    with Dev(folders[0]) as one, Dev(folders[1], users=[ADA]) as two:
        token = one.sign_in()
        assert (one.guard(token), two.guard(token)) == (200, 401)
        assert (one.login("bob@example.com", "x").status, two.login("bob@example.com", "x").status) == (200, 404)
        one.advance("24h")
        assert two.guard(two.sign_in()) == 200
        taken = run("dev", "--listen", urlsplit(one.url).netloc, cwd=folders[0])
        assert taken.returncode != 0
        assert "(--listen 127.0.0.1:0 chooses a free port)" in taken.stderr


def test_a_start_takes_less_than_50_milliseconds(tmp_path):
    """With the release binary, as lab/footprint bounds it. A debug binary is only asked to start."""
    bound = 0.05 if "release" in BINARY.parts else 1
    folder = tmp_path / "work"
    folder.mkdir()
    starts = []
    for _ in range(9):
        started = time.monotonic()
        with Dev(folder) as dev, socket.create_connection((urlsplit(dev.url).hostname, urlsplit(dev.url).port)) as client:
            client.sendall(b"GET /livez HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert client.recv(12) == b"HTTP/1.1 200"
            starts.append(Span(started, time.monotonic()))
    median = sorted(starts, key=lambda span: span.seconds)[len(starts) // 2]
    assert not median.exceeds(bound, STALLS), median.seconds


def test_users_have_what_the_file_says(dev):
    ada = dev.get("/api/me", token=dev.login().json["token"]).json
    assert (ada["name"], ada["emailVerified"], ada["roles"]) == ("Ada Lovelace", True, ["staff"])
    bob = dev.get("/api/me", token=dev.login("BOB@example.com", "x").json["token"]).json
    assert (bob["id"], bob["emailVerified"], bob["roles"]) == (BOB["id"], False, [])
    assert dev.login(password="wrong").status == 404


def test_a_reset_restores_the_users_and_ends_everything_else(dev):
    registered = dev.post("/api/user", name="Eve", email="eve@example.com", password="universal exports").json
    token, cookie = dev.sign_in(), dev.post("/dev/sign-in", user=BOB["id"]).headers["Set-Cookie"].split(";")[0]
    jwks = dev.get("/.well-known/jwks.json").json
    ada = dev.get("/api/me", token=token).json
    assert dev.call("DELETE", "/api/me", {"password": "correct horse"}, token).status == 204
    assert dev.login().status == 404
    assert dev.get("/account", Cookie=cookie).status == 200
    dev.advance("2d")
    assert dev.mails() != []
    assert dev.post("/dev/reset").status == 204
    now = datetime.fromisoformat(dev.get("/dev/clock").json["time"])
    assert abs(now.timestamp() - time.time()) < PATIENCE_SECONDS
    assert dev.mails() == []
    assert dev.guard(token) == dev.guard(registered["token"]) == 401
    assert dev.get("/account", Cookie=cookie).status == 303
    assert dev.post("/dev/sign-in", user="eve@example.com").status == 404
    again = dev.get("/api/me", token=dev.login().json["token"]).json
    assert {**again, "authenticatedAt": ada["authenticatedAt"]} == ada
    assert dev.get("/.well-known/jwks.json").json == jwks, "apps cache the key set"


def claims(jwt):
    return decoded(jwt.split(".")[1])


def decoded(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def test_tokens_of_before_a_reset_are_in_the_feed(dev):
    first = dev.sign_in()
    cursor = claims(dev.get("/.well-known/revocations").text)["cursor"]
    assert dev.post("/dev/reset").status == 204
    second = dev.sign_in()
    assert dev.post("/dev/reset").status == 204
    ended = claims(dev.get("/.well-known/revocations").text)["revoked"]
    assert {claims(first)["jti"], claims(second)["jti"]} <= set(ended)
    later = claims(dev.get(f"/.well-known/revocations?cursor={cursor}").text)["revoked"]
    assert {claims(first)["jti"], claims(second)["jti"]} <= set(later)


def test_the_clock_is_set_advanced_and_frozen(dev):
    def clock(**body):
        answer = dev.post("/dev/clock", **body)
        assert answer.status == 200, answer
        return datetime.fromisoformat(answer.json["time"]), answer.json["frozen"]

    new_year = datetime.fromisoformat("2031-01-01T00:00:00Z")
    time_set, frozen = clock(time="2031-01-01T01:00:00+01:00")
    assert timedelta(0) <= time_set - new_year < timedelta(seconds=PATIENCE_SECONDS) and not frozen
    assert clock(time="2031-01-01T00:00:00Z", frozen=True) == (new_year, True)
    assert clock(advance="90m") == (new_year + timedelta(minutes=90), True)
    assert dev.get("/dev/clock").json == {"time": "2031-01-01T01:30:00.000Z", "frozen": True}
    issued = claims(dev.sign_in())["iat"]
    assert issued == (new_year + timedelta(minutes=90)).timestamp()
    assert clock(frozen=False)[1] is False
    for body, field in [
        ({"time": "tomorrow"}, "time"),
        ({"time": "9999-01-01T00:00:00Z"}, "time"),
        ({"advance": "one day"}, "advance"),
        ({"advance": "99999999d"}, "advance"),
        ({"advance": "1d", "time": "2031-01-01T00:00:00Z"}, "advance"),
        ({"frozen": "yes"}, "frozen"),
        ({"advanec": "1d"}, "advanec"),
    ]:
        refused = dev.post("/dev/clock", **body)
        assert refused.status == 400 and field in refused.json["error"][0], refused


def test_the_clock_can_be_set_at_the_start(start):
    with start("--time", "2031-01-01T00:00:00Z") as dev:
        dev.advance("2d")
        assert dev.get("/dev/clock").json["time"].startswith("2031-01-03T")
        assert dev.post("/dev/reset").status == 204
        assert dev.get("/dev/clock").json["time"].startswith("2031-01-01T")


def test_tokens_and_sessions_end_with_the_clock(dev):
    token = dev.sign_in()
    dev.advance("23h")
    assert dev.guard(token) == 200
    refreshed = dev.call("POST", "/api/auth/refresh", token=token).json["token"]
    dev.advance("2h")
    assert (dev.guard(token), dev.guard(refreshed)) == (401, 200)
    assert len(dev.get("/api/sessions", token=refreshed).json) == 1
    cookie = dev.post("/dev/sign-in", user="ada@example.com").headers["Set-Cookie"].split(";")[0]
    assert dev.get("/account", Cookie=cookie).status == 200
    dev.advance("31d")
    assert dev.get("/account", Cookie=cookie).status == 303
    assert len(dev.get("/api/sessions", token=dev.sign_in()).json) == 1


def test_codes_in_mails_expire_with_the_clock(dev):
    def code(path, kind):
        assert dev.post(path, email="ada@example.com").status == 202
        mail = dev.mails("ADA@example.com")[0]
        assert mail["kind"] == kind, mail
        assert mail["code"] in mail["text"] and mail["link"] in mail["html"]
        return mail["code"]

    first = code("/api/auth/forgot", "reset_password")
    dev.advance("61m")
    reset = {"email": "ada@example.com", "password": "a new password"}
    assert dev.post("/api/auth/reset", code=first, **reset).status == 401
    second = code("/api/auth/forgot", "reset_password")
    assert dev.post("/api/auth/reset", code=second, **reset).status in (200, 204)
    assert dev.login(password="a new password").status == 200
    assert dev.call("DELETE", "/dev/mail").status == 204
    assert dev.mails() == []


def test_mail_is_there_as_soon_as_its_cause_is_answered(dev):
    for number in range(30):
        address = f"user-{number}@example.com"
        assert dev.post("/api/user", name="User", email=address, password="universal exports").status == 201
        [mail] = dev.mails(address)
        assert (mail["to"], mail["kind"]) == (address, "verify_email")
        assert dev.post("/api/auth/verify", code=mail["code"], email=address).status in (200, 204)
    assert len(dev.mails()) == 30 and dev.mails()[0]["to"] == "user-29@example.com"


def test_nothing_is_throttled_unless_it_is_asked_for(dev, tmp_path):
    assert {dev.login(password="wrong").status for _ in range(120)} == {404}
    for _ in range(8):
        dev.post("/api/auth/forgot", email="ada@example.com")
    assert len(dev.mails("ada@example.com")) == 8
    folder = tmp_path / "throttled"
    folder.mkdir()
    with Dev(folder, "--throttle", settings="[throttle]\naccount_failures = 5\naccount_recovery = '1h'\n") as throttled:
        statuses = [throttled.login(password="wrong").status for _ in range(6)]
        assert statuses == [404] * 5 + [429]
        throttled.advance("59m")
        assert throttled.login().status == 429
        throttled.advance("2m")
        assert throttled.login().status == 200
        assert [throttled.login(password="wrong").status for _ in range(6)] == [404] * 5 + [429]
        assert throttled.post("/dev/reset").status == 204
        assert throttled.login().status == 200


def test_keys_rotate_with_the_clock(dev):
    def keys():
        return [key["kid"] for key in dev.get("/.well-known/jwks.json").json["keys"]]

    old, [first] = dev.sign_in(), keys()
    assert dev.call("POST", "/dev/rotate-keys").status == 204
    assert keys()[0] == first and len(keys()) == 2
    dev.advance("2m")
    new = dev.sign_in()
    header = decoded(new.split(".")[0])
    assert header["kid"] != first and header["kid"] in keys()
    assert dev.guard(old) == dev.guard(new) == 200


def test_users_are_added_with_everything(dev):
    grace = {"id": "2fa15563-55ee-4d4a-be85-4241c1429dd1", "name": "Grace Hopper", "email": "grace@example.com",
             "roles": ["staff"], "verified": True, "password": "x", "createdAt": "2020-02-02T02:02:02Z"}
    added = dev.post("/dev/users", **grace)
    assert added.status == 201, added
    assert {name: added.json[name] for name in ("id", "roles", "emailVerified", "createdAt")} == {
        "id": grace["id"], "roles": ["staff"], "emailVerified": True, "createdAt": "2020-02-02T02:02:02.000Z"}
    assert dev.login("grace@example.com", "x").status == 200
    assert dev.guard(dev.sign_in(grace["id"]), "staff") == 200
    assert dev.post("/dev/users", **grace | {"id": BOB["id"][::-1]}).status == 400
    del grace["id"]
    assert dev.post("/dev/users", **grace).status == 409
    refused = dev.post("/dev/users", name="X", email="nobody", roles="staff")
    assert refused.status == 400 and list(refused.json["error"][0]) == ["name", "email", "roles"]
    disabled = grace | {"email": "disabled@example.com", "disabled": True}
    assert dev.post("/dev/users", **disabled).status == 201
    assert dev.login("disabled@example.com", "x").status == 404
    assert dev.post("/dev/sign-in", user="disabled@example.com").status == 404
    assert dev.post("/dev/sign-in", user="nobody@example.com").status == 404
    assert dev.post("/dev/sign-in").status == 400


def test_an_unknown_user_is_answered_with_those_that_there_are(dev):
    for refused in [
        dev.post("/dev/sign-in", user="adda@example.com"),
        dev.call("PATCH", "/dev/users/adda@example.com", {"roles": []}),
        dev.call("DELETE", "/dev/users/adda@example.com"),
    ]:
        assert refused.status == 404
        assert refused.json["error"] == [{"user": "No such user: there are ada@example.com, bob@example.com"}]
    assert dev.call("PATCH", "/dev/users/ada@example.com", {"disabled": True}).status == 200
    assert dev.post("/dev/sign-in", user="ada@example.com").json["error"] == [{"user": "The user is disabled"}]
    for user in ("ada@example.com", BOB["id"]):
        assert dev.call("DELETE", f"/dev/users/{user}").status == 204
    [fault] = dev.post("/dev/sign-in", user="ada@example.com").json["error"]
    assert fault["user"].startswith("There are no users"), fault
    for number in range(25):
        assert dev.post("/dev/users", name="User", email=f"user-{number:02}@example.com").status == 201
    [fault] = dev.post("/dev/sign-in", user="ada@example.com").json["error"]
    assert fault["user"].endswith("user-19@example.com and 5 more"), fault


def test_users_and_their_roles_change_during_a_test(dev):
    token = dev.sign_in("bob@example.com")
    assert dev.guard(token, "staff") == 401

    def change(status=200, **fields):
        answer = dev.call("PATCH", "/dev/users/BOB@example.com", fields)
        assert answer.status == status, answer
        return answer.json

    assert change(roles=["staff", "night-shift"])["roles"] == ["night-shift", "staff"]
    assert dev.guard(token, "staff") == 200, "the next request of the same token"
    assert change(roles=["night-shift"])["roles"] == ["night-shift"]
    assert dev.guard(token, "staff") == 401 and dev.guard(token) == 200
    changed = change(name="Robert Noyce", verified=True)
    assert (changed["name"], changed["emailVerified"], changed["roles"]) == ("Robert Noyce", True, ["night-shift"])
    assert change(password="short")["id"] == BOB["id"]
    assert dev.guard(token) == 401, "a new password ends the sessions"
    assert dev.login("bob@example.com", "short").status == 200
    assert change(409, email="ada@example.com")
    assert "rolse" in change(400, rolse=["staff"])["error"][0] and "id" in change(400, id=BOB["id"])["error"][0]
    change(disabled=True)
    assert dev.login("bob@example.com", "short").status == 404
    change(disabled=False, email="robert@example.com")
    assert dev.login("robert@example.com", "short").status == 200
    assert [user["email"] for user in dev.get("/dev/users").json] == ["ada@example.com", "robert@example.com"]
    assert dev.post("/dev/reset").status == 204
    bob = dev.get("/api/me", token=dev.login("bob@example.com", "x").json["token"]).json
    assert (bob["name"], bob["emailVerified"], bob["roles"]) == ("Bob Noyce", False, [])


def test_pages_of_other_sites_cannot_control_it(dev):
    own = dev.url
    port = urlsplit(own).port
    for headers in [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:5173"},
        {"Sec_Fetch_Site": "cross-site"},
        {"Sec_Fetch_Site": "same-site"},
        {"Host": f"evil.example:{port}"},
        {"Host": f"localhost.evil.example:{port}"},
    ]:
        for method, path in [("POST", "/dev/reset"), ("POST", "/dev/clock"), ("GET", "/dev/mail"), ("GET", "/dev/nowhere")]:
            refused = dev.call(method, path, **headers)
            assert refused.status == 403, (method, path, headers, refused)
    for headers in [
        {}, {"Origin": own, "Sec_Fetch_Site": "same-origin"}, {"Sec_Fetch_Site": "none"}, {"Host": f"localhost:{port}"}
    ]:
        assert dev.get("/dev/clock", **headers).status == 200, headers


def test_control_routes_answer_as_the_others_do(dev):
    assert dev.get("/dev/nowhere").status == 404
    refused = dev.get("/dev/reset")
    assert refused.status == 405 and refused.headers["Allow"] == "POST"
    assert dev.get("/dev/clock").headers["X-Request-Id"]
    assert dev.get("/dev/clock").headers["Cache-Control"] == "no-store"


def test_no_other_server_has_the_control_routes(monkeypatch):
    monkeypatch.delenv("DOORWARD_URL", raising=False)
    with Service() as service:
        connection = Dev.__new__(Dev)
        connection.url = f"http://127.0.0.1:{service.port}"
        for method, path in [
            ("GET", "/dev/clock"), ("POST", "/dev/clock"), ("GET", "/dev/mail"), ("DELETE", "/dev/mail"), ("POST", "/dev/users"),
            ("GET", "/dev/users"), ("PATCH", "/dev/users/ada@example.com"), ("DELETE", "/dev/users/ada@example.com"),
            ("POST", "/dev/sign-in"), ("POST", "/dev/rotate-keys"), ("POST", "/dev/reset"), ("POST", "/dev/logins/google"),
            ("GET", "/dev/logins/google/authorize"), ("GET", "/dev/logins/google/keys"),
        ]:
            answer = connection.call(method, path)
            assert answer.status == 404 and answer.headers[HEADER] is None, (method, path, answer)
        assert WARNING not in connection.get("/sign-in").text


def test_a_command_runs_with_the_url_and_its_exit_code_counts(folder):
    script = 'curl -sf --noproxy "*" "$DOORWARD_URL/dev/clock" && "$0" config >/dev/null && exit 7'
    ran = run("dev", "--", "sh", "-c", script, str(BINARY), cwd=folder)
    assert ran.returncode == 7 and json.loads(ran.stdout)["frozen"] is False, ran
    assert WARNING in ran.stderr
    assert run("dev", "--", "true", cwd=folder).returncode == 0
    assert run("dev", "--", "sh", "-c", "kill -TERM $$", cwd=folder).returncode == 128 + signal.SIGTERM
    missing = run("dev", "--", "no-such-program", cwd=folder)
    assert missing.returncode != 0 and "cannot run no-such-program: No such file" in missing.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("typed, hint", [
    (["pytest"], "unexpected argument pytest: did you mean `doorward dev -- pytest`?"),
    (["pytest", "-q", "tests"], "did you mean `doorward dev -- pytest -q tests`?"),
    (["--time", "2027-01-15T08:00:00Z", "npm", "test"], "did you mean `doorward dev -- npm test`?"),
    (["--jsno"], "unexpected argument --jsno: did you mean --json?"),
    (["--token-lifetme", "1h"], "unexpected argument --token-lifetme: did you mean --token-lifetime?"),
    (["-x"], "unexpected argument -x: `doorward dev --help` shows all options"),
])
def test_a_forgotten_separator_is_named(folder, typed, hint):
    refused = run("dev", *typed, cwd=folder)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert hint in refused.stderr


def test_a_variable_that_is_no_setting_is_refused_with_what_to_do(folder):
    refused = run("dev", "--", "true", cwd=folder, DOORWARD_BIN="/usr/bin/doorward")
    assert refused.returncode == 2
    assert "DOORWARD_BIN: unknown setting: every variable that begins with DOORWARD_ is a setting" in refused.stderr
    assert "unset or rename this one" in refused.stderr
    assert run("dev", "--", "true", cwd=folder, DOORWARD_URL="http://127.0.0.1:1").returncode == 0


def test_ending_it_ends_its_command(folder):
    command = [BINARY, "dev", "--", "sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done"]
    with subprocess.Popen(command, cwd=folder, env=clean_environment(), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(PATIENCE_SECONDS) == 3


def test_its_help_fits_one_screen(folder):
    shown = run("dev", "--help", cwd=folder).stdout
    assert "doorward dev --users users.jsonl -- pytest" in shown
    assert len(shown.splitlines()) <= 50, shown
