"""The Containerfile, step by step: no engine builds it here."""

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from machine import wait_until

REPOSITORY = Path(__file__).resolve().parents[2]


def instructions():
    text = (REPOSITORY / "deploy/Containerfile").read_text()
    lines = re.sub(r"\\\n", " ", re.sub(r"(?m)^#.*\n", "", text)).splitlines()
    return [line.split(maxsplit=1) for line in lines if line.strip()]


def stage(number):
    """The instructions of the first or second stage."""
    stages = []
    for name, value in instructions():
        if name == "FROM":
            stages.append([])
        stages[-1].append((name, value))
    return stages[number]


def values(number, name):
    return [value for found, value in stage(number) if found == name]


def test_the_build_stage_copies_every_file_that_the_binary_is_made_of(binary):
    copied = [source for value in values(0, "COPY") for source in shlex.split(value)[:-1]]
    for source in copied:
        assert (REPOSITORY / source).exists(), source
    # Cargo writes down what the compiler has read.
    recorded = binary.with_suffix(".d").read_text().split(": ", 1)[1]
    read = {Path(path).relative_to(REPOSITORY) for path in recorded.split()}
    assert len(read) > 100
    needed = read | {Path("Cargo.toml"), Path("Cargo.lock"), Path(".cargo/config.toml")}
    folders = [Path(source) for source in copied]
    assert {file for file in needed if not any(file.is_relative_to(folder) for folder in folders)} == set()


def test_the_workspace_is_complete_in_the_build_stage():
    members = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["workspace"]["members"]
    copied = {source for value in values(0, "COPY") for source in shlex.split(value)[:-1]}
    assert set(members) <= copied


def test_the_image_says_what_it_is():
    labels = dict(shlex.split(value)[0].split("=", 1) for value in values(1, "LABEL"))
    package = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())
    assert labels["org.opencontainers.image.version"] == package["package"]["version"]
    assert labels["org.opencontainers.image.licenses"] == package["workspace"]["package"]["license"]
    assert labels["org.opencontainers.image.description"] == package["package"]["description"]


@pytest.mark.long
def test_the_image_runs_without_root_on_a_root_that_is_read_only_and_is_healthy(booted, binary, shared):
    """systemd does what a container engine would: the same user, variables, command and file system."""
    (shared / "doorward").write_bytes(binary.read_bytes())
    [user], [entry], [data] = values(1, "USER"), values(1, "ENTRYPOINT"), values(1, "VOLUME")
    variables = [word for value in values(1, "ENV") for word in shlex.split(value)]
    uid, gid = user.split(":")
    assert "0" not in (uid, gid)
    assert json.loads(entry) == ["doorward"]
    # systemd runs nothing as a user without a name.
    booted.must("groupadd", "--gid", gid, "container")
    booted.must("useradd", "--uid", uid, "--gid", gid, "--no-create-home", "container")
    booted.must("install", "-d", "-m", "700", "-o", uid, "-g", gid, data)
    booted.must("install", "-m", "755", "/mnt/doorward", "/usr/local/bin/doorward")
    properties = [f"User={uid}", f"Group={gid}", f"WorkingDirectory={data}", "ReadOnlyPaths=/", f"ReadWritePaths={data}"]
    properties += [f"Environment={variable}" for variable in variables]
    confined = [word for value in properties for word in ("--property", value)]
    booted.must("systemd-run", "--unit=container", *confined, "/usr/local/bin/doorward")
    try:
        [check] = values(1, "HEALTHCHECK")
        program, *arguments = json.loads(check.partition("CMD ")[2])
        # Where the image has it, which is in the image's PATH.
        command = [f"/usr/local/bin/{program}", *arguments]
        run = ["systemd-run", "--pipe", "--wait", "--quiet", *confined, *command]
        logged = lambda: booted.run("journalctl", "--unit=container", "--no-pager").stdout
        wait_until(lambda: booted.run(*run).returncode == 0, logged)
        assert booted.http("GET", "/readyz")[0] == 200
    finally:
        booted.must("systemctl", "stop", "container")
    assert booted.run(*run).returncode == 1
    booted.must("rm", "-r", data, "/usr/local/bin/doorward")
