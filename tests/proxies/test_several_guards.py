"""One configuration for several guards, as `doorward snippet` prints it: each host has its own guard, app and headers."""

import base64
import subprocess
import uuid
from urllib.parse import parse_qs, urlsplit

import pytest
from harness import BINARY
from harness.ports import reserved_port
from harness.process import PATH, environment
from sites import APP, AUTH, NAVIGATION, OTHER_APP, PROXIES, Certificate, TlsProxy
from support import KINDS, Doorward, EchoApp, Integration, Journal, Tls, bearer, send

FORGED = "forged"
GUARDS = ("notes", "cal")
LOCAL = ("notes.localhost", "cal.localhost")


def guards(style, notes, cal):
    return f"""
        [guards.notes]
        allow = '"staff" in user.roles'
        proxy = "{style}"
        origins = ["{notes}"]
        headers = {{ X-Notes-User = "user.email" }}

        [guards.cal]
        allow = "true"
        proxy = "{style}"
        origins = ["{cal}"]
        headers = {{ X-Cal-User = "user.name" }}

        # Of another proxy. An app may trust its header all the same.
        [guards.far]
        allow = "true"
        headers = {{ X-Far-User = "user.name" }}
    """


class Site:
    """Two apps behind two guards and one proxy."""

    def __init__(self, name, folder, certificate=None):
        (folder / "proxy").mkdir(parents=True)
        self.certificate, self.hosts = certificate, (APP, OTHER_APP) if certificate else LOCAL
        self.apps = [EchoApp(Journal(folder / f"journal of {guard}")) for guard in GUARDS]
        ports = [app.port for app in self.apps]
        self.port = reserved_port()
        scheme = "https" if certificate else "http"
        notes, cal = (f"{scheme}://{host}:{self.port}" for host in self.hosts)
        public_url = f'public_url = "https://{AUTH}:{self.port}"\n' if certificate else ""
        self.doorward = Doorward(folder / "doorward", public_url + guards(KINDS[name].style, notes, cal))
        place = folder / "proxy"
        if certificate:
            self.proxy = TlsProxy(name, place, GUARDS, self.doorward, ports, self.port, certificate)
        else:
            more = ["cal", *(f"--app={guard}=http://127.0.0.1:{port}" for guard, port in zip(GUARDS, ports))]
            self.proxy = Integration(
                name, place, self.apps[0].journal, "notes", self.doorward, self.doorward.port, None, self.port,
                more=more, host=f"{LOCAL[0]}:{self.port}",
            )

    def stop(self):
        self.proxy.stop()
        self.doorward.stop()
        for app in self.apps:
            app.shutdown()
            app.server_close()

    def send(self, guard, headers=(), host=None):
        """Sends a request to the app of a guard. Returns the answer, and the requests that reached each app."""
        host, mark = host or self.hosts[GUARDS.index(guard)], f"/{uuid.uuid4().hex}"
        tls = Tls(self.hosts[0], self.certificate.path) if self.certificate else None
        answer = send(self.port, "GET", mark, [("Host", f"{host}:{self.port}"), *headers], tls=tls)
        found = [[own for own in app.journal.arrivals() if own.target == mark] for app in self.apps]
        return answer, dict(zip(GUARDS, found))


@pytest.fixture(scope="module")
def certificate(folder):
    return Certificate.create(folder / "certificate-of-several")


@pytest.fixture(scope="module", params=[f"{name}{form}" for name in PROXIES for form in ("", ", TLS")])
def site(request, folder, certificate):
    name, _, is_tls = request.param.partition(", ")
    site = Site(name, folder / f"several guards behind {request.param}", certificate if is_tls else None)
    yield site
    site.stop()


def test_each_host_has_its_own_guard_app_and_headers(site):
    guest, staff = (site.doorward.sign_up(name) for name in ("Guest", "Staff"))
    site.doorward.run("user", "grant", staff.email, "staff")
    names = ("X-Notes-User", "X-Cal-User", "X_Cal_User", "X-Notes_User", "x-far-user")
    forged = [(name, FORGED) for name in names]

    answer, arrivals = site.send("notes", forged + bearer(guest.token))
    assert (answer.status, arrivals) == (401, {"notes": [], "cal": []})
    answer, arrivals = site.send("notes", forged + bearer(staff.token))
    assert (answer.status, arrivals["cal"]) == (200, [])
    [arrival] = arrivals["notes"]
    assert (arrival.header("X-Auth-Policy"), arrival.header("X-Notes-User")) == ("notes", staff.email)
    assert FORGED not in [value for _, value in arrival.headers], "a header of the other guard"

    for user in (guest, staff):
        answer, arrivals = site.send("cal", forged + bearer(user.token))
        assert (answer.status, arrivals["notes"]) == (200, [])
        [arrival] = arrivals["cal"]
        assert (arrival.header("X-Auth-Policy"), arrival.header("X-Cal-User")) == ("cal", user.name)
        assert arrival.header("X-Auth-User-Id") == user.id
        assert FORGED not in [value for _, value in arrival.headers], "a header of the other guard"
    for guard in GUARDS:
        answer, arrivals = site.send(guard, forged)
        assert (answer.status, arrivals) == (401, {"notes": [], "cal": []})


def test_another_host_gets_the_first_guard_or_nothing(site):
    guest = site.doorward.sign_up("Guest")
    for host in ("elsewhere.example", "cal.localhost.elsewhere.example", "127.0.0.1"):
        answer, arrivals = site.send("cal", bearer(guest.token), host)
        # Caddy has an empty answer for hosts that it does not know.
        assert (answer.status >= 400 or answer.body == b"") and arrivals == {"notes": [], "cal": []}, host


def test_a_browser_is_sent_to_sign_in_for_the_app_that_it_asked_for(site):
    for guard, host in zip(GUARDS, site.hosts):
        answer, arrivals = site.send(guard, [*NAVIGATION, ("Sec-Fetch-Site", "none")])
        assert (answer.status, arrivals[guard]) == (303, [])
        target = parse_qs(urlsplit(answer.header("Location")).query)["for"][0]
        decoded = base64.urlsafe_b64decode(target + "=" * (-len(target) % 4))
        assert f"://{host}:{site.port}/".encode() in decoded


# As Debian's, which sets some of this for all sites.
DEBIAN = """
events {{}}
http {{
    sendfile on;
    types_hash_max_size 2048;
    default_type application/octet-stream;
    ssl_protocols TLSv1.2 TLSv1.3;
    ssl_prefer_server_ciphers on;
    access_log off;
    gzip on;
    include {site};
}}
"""


@pytest.mark.parametrize("version", ["nginx", "nginx-newest"])
@pytest.mark.parametrize("names", [["notes"], ["notes", "cal"]], ids=["one", "two"])
@pytest.mark.parametrize("form", [["--plain"], ["--certificate"]], ids=["plain", "TLS"])
@pytest.mark.parametrize("frame", [[], ["--servers-only"]], ids=["whole", "servers only"])
def test_nginx_has_nothing_to_say_about_its_files(tmp_path, certificate, version, names, form, frame):
    headers = "".join(f'X-A-Rather-Long-Name-Of-A-Header-{number} = "user.name"\n' for number in range(16))
    settings = f'public_url = "https://{AUTH}"\n' + guards("nginx", f"https://{APP}", f"https://{OTHER_APP}")
    settings = settings.replace('headers = { X-Notes-User = "user.email" }', f"[guards.notes.headers]\n{headers}")
    (tmp_path / "doorward.toml").write_text(settings)
    if form == ["--certificate"]:
        form = ["--certificate", certificate.path, "--key", certificate.folder / "privkey.pem"]
    command = [BINARY, "snippet", "nginx", *names, *form, *frame, "--into", tmp_path]
    subprocess.run(command, cwd=tmp_path, env=environment(), check=True, capture_output=True)
    file = tmp_path / "nginx.conf"
    if frame:
        site = file.rename(tmp_path / "site.conf")
        file.write_text(DEBIAN.format(site=site))
    tested = subprocess.run(
        [KINDS[version].program, "-t", "-c", file, "-p", tmp_path, "-e", "stderr", "-g", f"pid {tmp_path}/pid;"],
        env=environment(PATH=PATH), capture_output=True, text=True,
    )
    said = [line for line in tested.stderr.splitlines() if "syntax is ok" not in line and "test is successful" not in line]
    # Without the folder of the system, which only its administrator may write.
    said = [line for line in said if "/var/log/nginx/" not in line]
    assert (tested.returncode, said) == (0, []), tested.stderr
