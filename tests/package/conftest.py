"""Builds the Debian package from the binary under test."""

import os
import subprocess

import pytest
from harness import BINARY, REPOSITORY

import machine


@pytest.fixture(scope="session")
def binary():
    return BINARY.resolve(strict=True)


def release(*arguments):
    """Runs script/release. The compression takes most of its time and is not what is tested."""
    command = [REPOSITORY / "script/release", *arguments]
    environment = os.environ | {"DPKG_DEB_COMPRESSOR_LEVEL": "0"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture(scope="session")
def artifacts(binary, tmp_path_factory):
    """A release of the binary."""
    folder = tmp_path_factory.mktemp("release")
    done = release("--binary", binary, "--into", folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="session")
def package(artifacts):
    [package] = artifacts.glob("*.deb")
    return package


@pytest.fixture(scope="session")
def newer_package(package, shared, tmp_path_factory):
    """The same package with a higher version."""
    contents = tmp_path_factory.mktemp("newer") / "contents"
    subprocess.run(["dpkg-deb", "--raw-extract", package, contents], check=True)
    control = contents / "DEBIAN/control"
    older = next(line for line in control.read_text().splitlines() if line.startswith("Version: "))
    control.write_text(control.read_text().replace(older, f"{older}+newer"))
    newer = shared / "newer.deb"
    subprocess.run(["dpkg-deb", "-Z", "gzip", "-z", "1", "--build", contents, newer], check=True, stdout=subprocess.DEVNULL)
    return newer


@pytest.fixture(scope="session")
def shared(tmp_path_factory):
    """The folder that the machine sees as /mnt."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="session")
def booted(shared):
    if reason := machine.reason_against():
        pytest.skip(reason)
    made = machine.Machine(shared)
    yield made
    made.stop()
