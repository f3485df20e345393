"""HTTPS with certificate files: what clients see, and how the files are replaced and refused."""

import random
import re
import shutil
import socket
import subprocess
import threading

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from harness import BINARY, HOST, PATIENCE_SECONDS
from harness.certificates import PEM, PKCS8
from harness.wait import eventually
from tls_service import TlsService, rsa_key

REQUEST = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
# Logged after everything about the files that a start reads.
LISTENING = '"message":"listening"'


def curl(service, *arguments):
    command = ["curl", "--silent", "--show-error", "--cacert", service.authority.file, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("option", ["--http1.1", "--http2"])
def test_curl(service, option):
    answer = curl(service, option, "--write-out", "\n%{http_version} %{http_code}", f"{service.url}/readyz")
    assert answer.stdout == '"ready"\n1.1 200', answer.stderr
    user = ["--json", '{"name": "Ada", "email": "ada.%s@example.com"}' % option.strip("-")]
    answer = curl(service, option, *user, "--write-out", "\n%{http_code}", f"{service.url}/api/user")
    assert answer.stdout.endswith("\n201"), answer


@pytest.mark.parametrize("version", ["tls1_2", "tls1_3"])
def test_openssl_and_session_resumption(service, version, tmp_path):
    session = tmp_path / "session"
    connect = ["openssl", "s_client", f"-{version}", "-connect", f"{HOST}:{service.port}", "-alpn", "h2,http/1.1"]
    connect += ["-CAfile", service.authority.file, "-verify_return_error"]

    def run(*arguments, until):
        output = tmp_path / "output"
        with output.open("wb") as file:
            process = subprocess.Popen([*connect, *arguments], stdin=subprocess.PIPE, stdout=file, stderr=file)
            eventually("the session", lambda: until(output.read_text(errors="replace")))
            process.communicate(timeout=PATIENCE_SECONDS)
        return output.read_text(errors="replace")

    # TLS 1.3 sends the ticket after the handshake.
    has_session = lambda _: session.exists() and session.stat().st_size  # noqa: E731
    first = run("-sess_out", session, until=has_session)
    assert "ALPN protocol: http/1.1" in first, first
    assert "Verify return code: 0" in first or "Verification: OK" in first, first
    run("-sess_in", session, until=lambda output: "Reused, " in output)


def test_older_versions_are_refused(service):
    connect = ["openssl", "s_client", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0", "-connect", f"{HOST}:{service.port}"]
    outcome = subprocess.run(connect, input=b"", capture_output=True, timeout=PATIENCE_SECONDS)
    assert outcome.returncode != 0


def test_a_plain_request_hears_that_this_port_speaks_https(service):
    answer = curl(service, "-i", f"http://{HOST}:{service.port}/readyz")
    assert answer.stdout.startswith("HTTP/1.1 400 Bad Request"), answer
    assert answer.stdout.endswith("This port speaks HTTPS: use https:// instead of http:// here\n")


def test_metadata_pages_and_cookies_follow_the_scheme(service):
    page = curl(service, "-i", "--http1.1", f"{service.url}/sign-in").stdout
    assert re.search(r"(?im)^strict-transport-security: ", page), page
    document = curl(service, f"{service.url}/.well-known/openid-configuration").stdout
    assert service.url in document or document.startswith("{"), document
    assert "passwords and tokens are sent unencrypted" not in service.output()


def test_the_health_command_speaks_https(service):
    assert service.run("health").strip() == "ready"


def test_a_certificate_is_reloaded_under_load_without_a_failed_request(new_service):
    rounds, failures, answers, ended = 8, [], [0], threading.Event()

    def is_answered(connection):
        connection.sendall(REQUEST)
        return connection.recv(65536).startswith(b"HTTP/1.1 200")

    with new_service() as service:

        def ask():
            context = service.context()
            while not ended.is_set():
                try:
                    with service.open(context=context) as connection:
                        for _ in range(3):
                            if not is_answered(connection):
                                failures.append("another answer")
                            answers[0] += 1
                except OSError as error:
                    failures.append(repr(error))

        with service.open() as kept:
            assert is_answered(kept)
            threads = [threading.Thread(target=ask) for _ in range(3)]
            for thread in threads:
                thread.start()
            try:
                for number in range(rounds):
                    before, asked = service.subject(), answers[0]
                    # An RSA key now and then, and each file at its own moment.
                    certificate, key = service.authority.issue(key=rsa_key() if number % 4 == 1 else None)
                    service.put(certificate=certificate)
                    service.put(key=key)
                    service.reload()
                    eventually("the new certificate is shown", lambda: service.subject() != before)  # noqa: B023
                    eventually("requests are answered", lambda: answers[0] > asked)  # noqa: B023
                    # A connection from before all reloads.
                    assert is_answered(kept)
            finally:
                ended.set()
                for thread in threads:
                    thread.join()
    print(f"{rounds} reloads, {answers[0]} answers, {len(failures)} failures")
    assert not failures, failures[:5]


def test_changed_files_are_noticed_without_a_command(authority, tmp_path):
    """Kubernetes and certbot swap a symbolic link to a folder or a file."""
    for number in (1, 2):
        folder = tmp_path / f"..{number}"
        folder.mkdir()
        for name, content in zip(("certificate.pem", "key.pem"), authority.issue(), strict=True):
            (folder / name).write_bytes(content)
            (folder / name).chmod(0o640)
    (tmp_path / "..data").symlink_to("..1")
    files = [f'{name} = "{tmp_path}/..data/{name}.pem"' for name in ("certificate", "key")]
    with TlsService(authority, tmp_path / "..1", pair=(None, None)) as service:
        (tmp_path / "..1" / "doorward.toml").write_text("\n".join(["[tls]", *files]))
        service.stop()
        service.launch()
        service.wait()
        before = service.subject()
        (tmp_path / "..new").symlink_to("..2")
        (tmp_path / "..new").rename(tmp_path / "..data")
        eventually("the certificate of the other folder is shown", lambda: service.subject() != before)
        assert service.log_with("certificate reloaded").count("certificate reloaded") == 1


def test_a_pair_that_cannot_be_used_keeps_the_old_one_in_force_and_is_logged_once(new_service):
    with new_service() as service:
        before = service.subject()
        certificate, key = service.authority.issue()
        warning = "certificate not reloaded: the previous certificate stays in force"

        def refused(count):
            """How often a pair was refused, as soon as it is at least this often."""
            return service.log_with(warning, count).count(warning)

        # Each step replaces one file, because the service may look at the files at any moment.
        service.put(key=key)
        for _ in range(2):
            assert "key.pem: the key does not belong to the first certificate in" in service.refused_reload()
        assert (refused(1), service.subject()) == (1, before)

        service.put(certificate=certificate[: len(certificate) // 2])
        assert "certificate.pem: " in service.refused_reload()
        assert (refused(2), service.subject()) == (2, before)

        service.certificate_file.unlink()
        assert "certificate.pem: No such file" in service.refused_reload()
        assert (refused(3), service.subject()) == (3, before)

        service.put(certificate=certificate)
        service.reload()
        log = service.log_with("certificate reloaded")
        assert log.count(warning) == 3
        assert service.subject() != before
        for secret in key.decode().splitlines()[1:-1]:
            assert secret not in log


def test_a_valid_certificate_is_not_replaced_by_an_expired_one(new_service):
    with new_service() as service:
        before = service.subject()
        service.put(*service.authority.issue(days=-1))
        said = service.refused_reload()
        assert re.search(r"certificate.pem: it has expired on \S+ \S+ UTC, and the one in force is valid until .*: renew it", said), said
        assert service.subject() == before
        service.put(*service.authority.issue())
        service.reload()
        assert service.subject() != before


def test_an_expired_certificate_is_replaced_by_any_other(new_service, authority):
    with new_service(pair=authority.issue(days=-2)) as service:
        service.put(*authority.issue(days=-1))
        service.reload()
        service.log_with("certificate reloaded")


@pytest.mark.parametrize(
    ("days", "message"),
    [
        (-1, "the certificate has expired: clients refuse it; renew it"),
        (13, "the certificate expires in less than 14 days: renew it"),
        (15, None),
    ],
)
def test_the_expiry_is_logged(new_service, authority, days, message):
    with new_service(pair=authority.issue(days=days)) as service:
        expiries = re.findall(r"the certificate (?:has expired|expires)[^\"]*", service.log_with(LISTENING))
        assert expiries == ([message] if message else [])


def test_a_key_that_others_can_read_causes_a_warning(new_service):
    warning = "every user of this machine can read the private key"
    with new_service() as service:
        assert warning not in service.log_with(LISTENING)
        service.put(*service.authority.issue(), key_mode=0o644)
        service.reload()
        service.log_with(warning)


def protected(key):
    encryption = serialization.BestAvailableEncryption(b"secret")
    return serialization.load_pem_private_key(key, None).private_bytes(PEM, PKCS8, encryption)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c, k: (c, protected(k)), "key.pem: the key is protected by a password: write one without, with `openssl"),
        (lambda c, _: (c, c), "key.pem: contains no private key (PEM)"),
        (lambda c, k: (k, c), "certificate.pem: contains no certificate (PEM), but a key: are tls.certificate and tls.key swapped?"),
        (lambda _, k: (b"", k), "certificate.pem: contains no certificate (PEM)\n"),
        (lambda c, _: (c, b""), "key.pem: contains no private key (PEM)"),
        (
            lambda c, _: (c, ec.generate_private_key(ec.SECP256R1()).private_bytes(PEM, PKCS8, serialization.NoEncryption())),
            "key.pem: the key does not belong to the first certificate in",
        ),
    ],
)
def test_a_start_with_a_pair_that_cannot_be_used_says_what_is_wrong(authority, tmp_path, change, message):
    certificate, key = change(*authority.issue())
    (tmp_path / "certificate.pem").write_bytes(certificate)
    (tmp_path / "key.pem").write_bytes(key)
    outcome = refused_start(tmp_path, "certificate.pem", "key.pem")
    assert message in outcome, outcome


def test_a_chain_that_begins_with_the_authority_is_refused_with_what_to_do(authority, tmp_path):
    certificate, key = authority.issue()
    (tmp_path / "chain.pem").write_bytes(authority.file.read_bytes() + certificate)
    (tmp_path / "key.pem").write_bytes(key)
    outcome = refused_start(tmp_path, "chain.pem", "key.pem")
    assert "the first certificate in chain.pem: " in outcome, outcome
    assert "put the certificate before its intermediates" in outcome, outcome


def test_a_start_without_the_file_names_it(tmp_path):
    assert "nowhere.pem: No such file" in refused_start(tmp_path, "nowhere.pem", "key.pem")


def refused_start(folder, certificate, key):
    environment = {"DOORWARD_TLS_CERTIFICATE": certificate, "DOORWARD_TLS_KEY": key, "DOORWARD_LISTEN": f"{HOST}:0"}
    outcome = subprocess.run(
        [BINARY], cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS
    )
    assert outcome.returncode != 0
    return outcome.stderr


def test_garbage_and_slow_handshakes_hold_no_slot(new_service):
    """Ten connections that say nothing useful are gone soon, while others are served."""
    with new_service() as service:
        garbage = []
        for start in (b"", b"\x16\x03\x01", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", random.randbytes(300), b"\x00" * 50) * 2:
            connection = socket.create_connection((HOST, service.port), PATIENCE_SECONDS)
            connection.sendall(start)
            garbage.append(connection)
        with service.open() as connection:
            connection.sendall(REQUEST)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        for connection in garbage:
            connection.settimeout(PATIENCE_SECONDS)
            # Ends with nothing, an alert or a reset.
            try:
                while connection.recv(4096):
                    pass
            except ConnectionResetError:
                pass
            connection.close()


def test_an_idle_connection_ends_with_a_farewell(new_service):
    """The stop closes it as TLS demands, so that a client can tell the end from an attack."""
    with new_service() as service, service.open() as connection:
        connection.sendall(REQUEST)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")
        service.stop()
        # `recv` would fail if the end were not announced.
        connection.suppress_ragged_eofs = False
        assert connection.recv(4096) == b""


def test_the_chain_is_sent(authority, tmp_path):
    assert shutil.which("openssl")
    certificate, key = authority.issue()
    pair = (certificate + authority.file.read_bytes(), key)
    with TlsService(authority, tmp_path, pair=pair) as service:
        connect = ["openssl", "s_client", "-showcerts", "-connect", f"{HOST}:{service.port}"]
        shown = subprocess.run(connect, input=b"", capture_output=True, timeout=PATIENCE_SECONDS).stdout
        assert shown.count(b"-----BEGIN CERTIFICATE-----") >= 2
