"""A machine on which the commands of a page run: a server with the settings of the page, Ada, and a mail server."""

import json
import os
import re
import subprocess
import time
import tomllib
import urllib.error
import urllib.request
from base64 import b32decode
from hashlib import sha1
from hmac import digest
from pathlib import Path

from documents import blocks
from exceptions import is_excepted
from harness import BINARY, HOST, PATIENCE_SECONDS
from harness.certificates import self_signed
from harness.mail_server import MailServer
from harness.ports import reserved_port
from harness.process import PATH, Process, environment

ADA = "ada@example.com"
PASSWORD = "correct horse"
# What the pages presuppose: guards that they name, and mail. Hashes are cheap, because no test here is about them.
SETTINGS = """
password.memory_kib = 7168
password.passes = 1
guards.staff = { allow = '"staff" in user.roles', proxy = "caddy", origins = ["https://app.example.com"] }
clients = ["shop:2aba031eb3b5fc4017c369874c59ef9e9f60a0d57d4ce70b9a1ae8332a4e9362"]
"""
# The secret that docs/tokens.md shows, of whose digest a client is declared above.
SECRET = "12b78b2645553527d25fa4ea95063c59592cfdbd2353c6ce56179778a30167f7"
# `curl` writes the status behind the answer.
FUNCTIONS = r"""
curl() { command curl -sS -w '%{stderr}status %{http_code}\n' "$@"; }
"""
STEP_SECONDS = 30


class Stage:
    """Runs commands in a folder with a server, until the end of the `with` block."""

    def __init__(self, folder, document):
        self.last = None
        self.folder, self.document = Path(folder), document
        self.home = self.folder / "home"
        self.answers, self.variables = {}, {}
        self._used = None
        self._used_codes = set()
        self._port, self._metrics_port = reserved_port(), reserved_port()
        self.places = places(self.folder) | {
            "localhost:3000": f"{HOST}:{self._port}",
            "127.0.0.1:3000": f"{HOST}:{self._port}",
            "localhost:9464": f"{HOST}:{self._metrics_port}",
            "127.0.0.1:9464": f"{HOST}:{self._metrics_port}",
        }

    def __enter__(self):
        programs = self.folder / "programs"
        for made in (programs, self.home, self.folder / "work"):
            made.mkdir()
        (programs / "doorward").symlink_to(BINARY)
        self.mails = MailServer().__enter__()
        settings = settings_of(self.document)
        if mail := settings.get("mail"):
            mail["url"] = f"smtp://{HOST}:{self.mails.port}"
            # The server of the test takes mail of everybody.
            for name in ("user", "password_file"):
                mail.pop(name, None)
        # The server of the page answers plain HTTP here.
        settings.pop("tls", None)
        text = as_toml(settings)
        for place, here in self.places.items():
            text = text.replace(place, here)
        (self.folder / "work" / "doorward.toml").write_text(text)
        self.variables = environment() | {
            "PATH": f"{programs}:{PATH}",
            "HOME": str(self.home),
            "DOORWARD_LISTEN": f"{HOST}:{self._port}",
            "DOORWARD_METRICS_LISTEN": f"{HOST}:{self._metrics_port}",
            "DOORWARD_DATABASE_URL": f"sqlite://{self.folder}/var/lib/doorward/doorward.db",
            "URL": f"http://{HOST}:{self._port}",
            "JSON": "Content-Type: application/json",
            "SECRET": SECRET,
        }
        self.server = Process(
            [BINARY], self.folder / "log", folder=self.folder / "work", variables=self.variables
        )
        self.server.wait_until(lambda: '"message":"listening"' in self.server.text())
        return self

    def __exit__(self, *_):
        self.server.stop()
        self.mails.__exit__()

    def run(self, command):
        """Runs a command. Returns its exit code, what it has printed, and the statuses of its requests.

        Variables that it sets are there for the next one, and so is a token that it was answered."""
        for place, here in self.places.items():
            command = command.replace(place, here)
        script = f"set -a -o pipefail\n{FUNCTIONS}\n{command}\ncode=$?\nexport -p > {self.folder}/variables\nexit $code\n"
        with open(self.folder / "output", "w+b") as output:
            code = subprocess.run(
                ["bash", "-c", script],
                cwd=self.folder / "work",
                env=self.variables,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                timeout=PATIENCE_SECONDS,
            ).returncode
            output.seek(0)
            printed = output.read().decode()
        statuses = [int(status) for status in re.findall(r"status (\d+)$", printed, re.MULTILINE)]
        printed = re.sub(r"status \d+\n", "", printed)
        # A command that changes something names its database on standard error. The examples leave that line out.
        printed = re.sub(r"^database: /.*\n", "", printed, flags=re.MULTILINE)
        self._keep_variables()
        self._keep_answer(printed)
        for place, here in self.places.items():
            printed = printed.replace(here, place)
        self.printed = printed
        return code, printed, statuses

    def must(self, command):
        """Runs a command that the page presupposes. Returns what it prints."""
        code, printed, _ = self.run(command)
        assert code == 0, f"{command} exits with {code}:\n{printed}"
        return printed.strip()

    def _keep_variables(self):
        declared = (self.folder / "variables").read_text() if (self.folder / "variables").exists() else ""
        for name, value in re.findall(r'^declare -x ([A-Z]+)="([^"]*)"$', declared, re.MULTILINE):
            if name not in ("PATH", "HOME", "PWD", "OLDPWD", "SHLVL"):
                self.variables[name] = value

    def _keep_answer(self, printed):
        try:
            answer = json.loads(printed)
        except ValueError:
            return
        self.last = answer
        if isinstance(answer, dict):
            self.answers |= {name: value for name, value in answer.items() if value is not None}
            if isinstance(answer.get("token"), str):
                self.use_token(answer["token"])

    def use_token(self, token):
        self.variables["TOKEN"] = token
        self.variables["AUTH"] = f"Authorization: Bearer {token}"

    def call(self, method, path, body=None, token=None):
        """The status and the JSON of an answer."""
        headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://{HOST}:{self._port}{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as refusal:
            return refusal.code, json.loads(refusal.read() or b"null")

    def fresh_ada(self):
        """Ada has just registered with the password of the pages, and has nothing else."""
        for address in (ADA, "augusta@example.com"):
            self.run(f"doorward user delete {address}")
        body = {"name": "Ada Lovelace", "email": ADA, "password": PASSWORD}
        assert self.call("POST", "/api/user", body)[0] == 201
        self.log_in()

    def log_in(self, password=PASSWORD):
        status, answer = self.call("POST", "/api/auth/login", {"email": ADA, "password": password})
        assert status == 200, answer
        self.use_token(answer["token"])
        return answer["token"]

    def add_app(self):
        """An authenticator app for Ada."""
        _, made = self.call("POST", "/api/me/factors/totp", token=self.variables["TOKEN"])
        self.answers |= made
        body = {"setup": made["setup"], "code": self.code_of_app()}
        status, answer = self.call("POST", "/api/me/factors/totp/confirm", body, self.variables["TOKEN"])
        assert status == 201, answer
        self.use_token(answer["token"])

    def other_session(self):
        """The id of a session of Ada that is not the current one."""
        current = self.variables["TOKEN"]
        self.log_in()
        _, sessions = self.call("GET", "/api/sessions", token=current)
        self.use_token(current)
        return next(session["id"] for session in sessions if not session["current"])

    def proof(self):
        """Writes the proof of an event, and returns the public key of the trail."""
        self.must("doorward audit checkpoint")
        event = json.loads(self.must("doorward audit list --json"))[0]
        (self.folder / "work" / "event.tlog-proof").unlink(missing_ok=True)
        self.must(f"doorward audit prove {event['id']} event.tlog-proof")
        return self.must("doorward audit key")

    def code_of_app(self):
        """A code of Ada's authenticator app. Each counts once."""
        secret = self.answers["secret"]
        # The code of the step before, and then the current one.
        step = int(time.time()) // STEP_SECONDS - (secret != self._used)
        self._used = secret
        key = b32decode(secret + "=" * (-len(secret) % 8))
        made = digest(key, step.to_bytes(8, "big"), sha1)
        offset = made[19] & 15
        return f"{(int.from_bytes(made[offset : offset + 4], 'big') & 0x7FFFFFFF) % 1_000_000:06}"

    def reset_code(self):
        """The code in the mail for a new password. Each counts once, and other mails have codes, too."""

        def unused():
            texts = map(text_of, self.mails.mails)
            codes = [re.search(r"\b\d{4} \d{4}\b", text)[0] for text in texts if "/reset?code=" in text]
            return next((code for code in codes if code not in self._used_codes), None)

        self.mails.wait_for(unused)
        self._used_codes.add(code := unused())
        return code


def text_of(mail):
    return mail.get_body(("plain",)).get_content()


def places(folder):
    """Folders of the test that stand for those of the system, and what the pages presuppose in them."""
    found = {}
    for name in ("/var/backups/doorward", "/var/lib/doorward", "/etc/doorward", "/etc/caddy", "/etc/ssl", "/run/secrets"):
        (folder / name[1:]).mkdir(parents=True, mode=0o700)
        found[name] = str(folder / name[1:])
    live = folder / "etc" / "letsencrypt" / "live" / "auth.example.com"
    live.mkdir(parents=True)
    found["/etc/letsencrypt"] = str(folder / "etc" / "letsencrypt")
    certificate, key = self_signed("auth.example.com", "app.example.com")
    for file, pem in {
        live / "fullchain.pem": certificate,
        live / "privkey.pem": key,
        folder / "etc/ssl/all.pem": certificate,
        folder / "etc/ssl/all.key": key,
        folder / "etc/doorward/mail-password": b"secret\n",
    }.items():
        file.write_bytes(pem)
        file.chmod(0o600)
    return found


def settings_of(document):
    """The settings of all blocks of a page over those that it presupposes."""
    merged = tomllib.loads(SETTINGS)
    for block in blocks("toml"):
        if block.document == document and not is_excepted(document, block.first):
            merge(merged, tomllib.loads(block.text))
    return merged


def merge(into, more):
    for name, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(name), dict):
            merge(into[name], value)
        else:
            into[name] = value


def as_toml(settings):
    return "".join(f"{json.dumps(name)} = {inline(value)}\n" for name, value in settings.items())


def inline(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(name)} = {inline(part)}" for name, part in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def whole(line):
    """A line without what differs from one installation to the next: ids, digests, times, sizes and numbers of things."""
    line = re.sub(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "ID", line)
    line = re.sub(r"\b[0-9a-f]{32,64}\b", "DIGEST", line)
    line = re.sub(r"(?<![\w-])[\w-]{43}(?![\w-])", "KEY", line)
    line = re.sub(r"\bdw_(key|pat)_\w{36}\b", "SECRET", line)
    # Under which name the server is reached, and by which program.
    line = re.sub(r"https?://[^/ ]+", "URL", line)
    line = re.sub(r"\bwith \S+/\S+$", "with PROGRAM", line)
    line = re.sub(r"\b\d{4} \d{4}$", "CODE", line)
    line = re.sub(r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?)?", "TIME", line)
    line = re.sub(r"\b\d+(?:\.\d+)+\S*", "VERSION", line)
    # Columns are as wide as what is in them.
    line = re.sub(r" {2,}", "  ", line)
    # One or several of a thing.
    line = re.sub(r"(?<=[a-z])s\b", "", line)
    return re.sub(r"\d+", "N", line)
