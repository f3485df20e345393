"""The tests in examples/testing pass, the steps of its workflow too, and the compose file is valid and names what exists."""

import shutil
import subprocess
import sys

import pytest
from conftest import clean_environment
from harness import BINARY, PATIENCE_SECONDS, REPOSITORY
from ruamel.yaml import YAML

TESTING = REPOSITORY / "examples" / "testing"
COMPOSE = REPOSITORY / "examples" / "compose"


@pytest.fixture
def testing(tmp_path):
    """A copy of examples/testing, so that nothing is written into the repository."""
    return shutil.copytree(TESTING, tmp_path / "testing")


@pytest.fixture
def environment(path_with_doorward):
    # Plugins of other suites take seconds to load.
    return clean_environment(PATH=path_with_doorward, PYTHONDONTWRITEBYTECODE="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")


def run(command, folder, environment):
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def valid(schema, file):
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", str(file)]
    run(command, REPOSITORY, clean_environment())


def steps():
    workflow = YAML(typ="safe").load(TESTING / "workflow.yml")
    [job] = workflow["jobs"].values()
    return {step["name"]: step["run"] for step in job["steps"] if "run" in step}


def test_the_workflow_is_valid():
    valid("github-workflows", TESTING / "workflow.yml")
    assert list(steps()) == ["Install Doorward", "Install pytest", "Test in Python", "Test in JavaScript", "Test with curl"]


@pytest.mark.parametrize("name, printed", [
    ("Test in Python", "7 passed"),
    ("Test in JavaScript", "# pass 3"),
    ("Test with curl", '"You may pass."'),
])
def test_the_steps_of_the_workflow_pass(testing, environment, name, printed):
    # As the service runs a step.
    command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", steps()[name]]
    assert printed in run(command, testing, environment)


def test_the_step_fails_if_a_test_does(testing, environment):
    users = testing / "users.jsonl"
    users.write_text(users.read_text().replace('"analyst"', '"intern"'))
    for name in ("Test in Python", "Test in JavaScript"):
        command = ["bash", "-e", "-c", steps()[name]]
        ran = subprocess.run(command, cwd=testing, env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS)
        assert ran.returncode == 1, (name, ran.stdout)


def test_the_compose_file_is_valid_and_names_what_exists():
    file = COMPOSE / "compose.yaml"
    valid("compose-spec", file)
    services = YAML(typ="safe").load(file)["services"]
    build = services["doorward"]["build"]
    context = (COMPOSE / build["context"]).resolve()
    assert context == REPOSITORY and (context / build["dockerfile"]).is_file()
    for service in services.values():
        for volume in service.get("volumes", []):
            if volume.startswith("."):
                assert (COMPOSE / volume.split(":")[0]).is_file(), volume
        for needed in service.get("depends_on", {}):
            assert "healthcheck" in services[needed], needed
    test = services["doorward"]["healthcheck"]["test"]
    assert test[:2] == ["CMD", "doorward"]
    run([BINARY, *test[2:], "--help"], REPOSITORY, clean_environment())


def test_the_settings_of_the_compose_file_are_known(tmp_path):
    settings = YAML(typ="safe").load(COMPOSE / "compose.yaml")["services"]["doorward"]["environment"]
    settings = {name: value.replace("${POSTGRES_PASSWORD}", "hunter22") for name, value in settings.items()}
    shown = run([BINARY, "config"], tmp_path, clean_environment(**settings))
    assert "172.30.80.0/24" in shown and "hunter22" not in shown, shown


def test_the_proxy_of_the_compose_file_is_the_tested_one():
    tested = (REPOSITORY / "deploy" / "Caddyfile").read_text().split("\n\n", 1)[1]
    expected = tested.replace("\tbind 127.0.0.1\n\n", "").replace("127.0.0.1:3000", "doorward:3000")
    expected = expected.replace("127.0.0.1:8080", "app:8080")
    assert (COMPOSE / "Caddyfile").read_text().split("\n\n", 1)[1] == expected
    assert expected != tested and "127.0.0.1" not in expected
