"""The files of deploy/load-balancer, with two real instances, while PostgreSQL is stopped."""

import shutil

import pytest
import yaml
from harness import HOST, REPOSITORY
from harness.connection import GUARD, LOGIN, Connection, get, post
from harness.ports import reserved_port
from harness.process import PATH, Process
from harness.wait import eventually

FILES = REPOSITORY / "deploy" / "load-balancer"
PASSWORD = "correct horse battery"
# As the files name them.
ADDRESSES = ("10.0.0.1:3000", "10.0.0.2:3000")
COMMANDS = {
    "haproxy.cfg": lambda file: ["haproxy", "-db", "-f", file],
    "nginx.conf": lambda file: ["nginx", "-p", file.parent, "-e", "error.log", "-g", "daemon off; pid nginx.pid;", "-c", file],
}


@pytest.fixture(params=COMMANDS)
def balancer(request, instances, tmp_path):
    """The port of a load balancer, started with the file that an operator copies."""
    port, text = reserved_port(), (FILES / request.param).read_text()
    for address, instance in zip(ADDRESSES, instances, strict=True):
        assert address in text
        text = text.replace(address, f"{HOST}:{instance.port}")
    file = tmp_path / request.param
    file.write_text(text.replace("127.0.0.1:8000", f"{HOST}:{port}"))
    command = COMMANDS[request.param](file)
    with Process([shutil.which(command[0], path=PATH), *command[1:]], tmp_path / "log") as process:
        process.wait_until(lambda: status(port, get("/readyz")) == 200)
        yield port


def exchange(port, request):
    with Connection(port) as connection:
        return connection.exchange(request)


def status(port, request):
    try:
        return exchange(port, request).status
    except OSError:
        return None


def test_guards_are_answered_through_a_load_balancer_while_the_database_is_stopped(server, instances, balancer):
    email, _ = instances[0].sign_up(PASSWORD)
    assert status(balancer, post(LOGIN, {"email": email, "password": PASSWORD})) == 200
    # Each instance knows one of these callers. A login of theirs would void what the other instance knows.
    _, token = instances[0].sign_up()
    assert status(instances[0].port, get(GUARD, token)) == 200
    _, stranger = instances[1].sign_up()
    assert status(instances[1].port, get(GUARD, stranger)) == 200

    server.stop()
    for instance in instances:
        eventually("an instance is not ready", lambda: status(instance.port, get("/readyz")) == 503)
        assert status(instance.port, get("/readyz/guards")) == 200
    refused = eventually("the balancer says so", lambda: [a for a in [exchange(balancer, get("/readyz"))] if a.status == 503])[0]
    assert b'{"message":' in refused.body and b"\r\nretry-after: 1" in refused.head.lower()
    for _ in range(40):
        for known in (token, stranger):
            answer = exchange(balancer, get(GUARD, known))
            assert answer.status == 200, answer
        assert exchange(balancer, get("/.well-known/jwks.json")).status == 200
    refused = exchange(balancer, post(LOGIN, {"email": email, "password": PASSWORD}))
    assert refused.status == 503 and b"\r\nretry-after: " in refused.head.lower() and b'{"message":' in refused.body

    server.start()
    for path in ("/readyz", "/readyz/guards"):
        eventually(f"{path} is back", lambda: status(balancer, get(path)) == 200)
    eventually("logins are back", lambda: status(balancer, post(LOGIN, {"email": email, "password": PASSWORD})) == 200)


def test_an_instance_that_is_gone_is_not_asked(instances, balancer):
    _, token = instances[0].sign_up()
    instances[1].kill()
    for _ in range(10):
        assert status(balancer, get(GUARD, token)) == 200


def test_the_paths_of_the_kubernetes_probes_answer(instances):
    documents = {each["kind"]: each for each in yaml.safe_load_all((FILES / "kubernetes.yaml").read_text())}
    assert set(documents) == {"Deployment", "Service"}
    template = documents["Deployment"]["spec"]["template"]
    [container] = template["spec"]["containers"]
    [port] = container["ports"]
    probes = {name: container[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")}
    assert {name: probe["path"] for name, probe in probes.items()} == {
        "startupProbe": "/readyz",
        "readinessProbe": "/readyz/guards",
        "livenessProbe": "/livez",
    }
    for probe in probes.values():
        assert probe["port"] == port["name"]
        assert status(instances[0].port, get(probe["path"])) == 200
    variables = {variable["name"]: variable["value"] for variable in container["env"]}
    assert variables["DOORWARD_LISTEN"].endswith(f":{port['containerPort']}")
    assert documents["Service"]["spec"]["selector"] == template["metadata"]["labels"]
    # Every variable is a setting.
    for name in variables:
        setting = name.removeprefix("DOORWARD_").removesuffix("_FILE").lower()
        assert instances[0].run("config", setting), name
