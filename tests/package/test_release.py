"""script/release and what it makes, except for the build itself: see `script/release --check-reproducible`."""

import hashlib
import json
import re
import shlex
import subprocess
import tarfile
import tomllib
from pathlib import Path

import pytest
from conftest import release
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

REPOSITORY = Path(__file__).resolve().parents[2]


def test_a_release_has_an_archive_a_package_a_bill_of_materials_and_checksums(artifacts):
    sums = dict(reversed(line.split("  ")) for line in (artifacts / "SHA256SUMS").read_text().splitlines())
    assert {file.name for file in artifacts.iterdir()} == {"SHA256SUMS", *sums}
    assert sorted(Path(name).suffix for name in sums) == [".deb", ".gz", ".json"]
    for name, checksum in sums.items():
        assert hashlib.sha256((artifacts / name).read_bytes()).hexdigest() == checksum


def test_the_archive_has_what_docs_install_md_uses_and_no_trace_of_its_maker(artifacts, binary):
    [archive] = artifacts.glob("*.tar.gz")
    with tarfile.open(archive) as contents:
        members = {member.name.partition("/")[2]: member for member in contents.getmembers()}
        assert {(member.uid, member.gid, member.uname, member.gname) for member in members.values()} == {(0, 0, "", "")}
        assert len({member.mtime for member in members.values()}) == 1
        assert members["doorward"].mode == 0o755
        assert contents.extractfile(members["doorward"]).read() == binary.read_bytes()
    guide = (REPOSITORY / "docs/install.md").read_text()
    section = guide.partition("## From the archive")[2].partition("\n## ")[0]
    lines = [shlex.split(line) for line in section.splitlines() if line.startswith("install ")]
    # The options of install are -D and -m with a mode; its last argument is the target.
    used = {word for line in lines for word in line[1:-1] if not re.fullmatch(r"-\w+|\d+", word)}
    assert len(used) >= 5
    assert {name for name in used if name not in members} == set()
    assert {"LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY-NOTICES", "completions/_doorward"} < members.keys()
    watching = {"prometheus/doorward.rules.yml", "prometheus/dashboard.json", "docs/metrics.md", "docs/operate.md"}
    backup = {"doorward-backup", "systemd/doorward-backup.service", "systemd/doorward-backup.timer"}
    assert watching | backup < members.keys()
    assert members["doorward-backup"].mode == 0o755


def test_the_bill_of_materials_lists_exactly_what_is_in_the_binary(artifacts, binary):
    [file] = artifacts.glob("*.cdx.json")
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(file.read_text()) is None
    bill = json.loads(file.read_text())
    listed = {f"{entry['name']}-{entry['version']}" for entry in bill["components"]}
    # Messages of panics contain the file, and so the crate, that they come from.
    paths = set(re.findall(rb"/registry/src/[^/\0]+/([\w+.-]+)/src/", binary.read_bytes()))
    in_binary = {path.decode() for path in paths}
    assert len(in_binary) > 30
    assert in_binary - listed == set()
    names = {entry["name"] for entry in bill["components"]}
    # Macros, build scripts and tests are not in the binary.
    assert names & {"syn", "proc-macro2", "serde_derive", "cc", "cmake", "tempfile", "ureq", "doorward"} == set()
    nested = {part["name"] for entry in bill["components"] for part in entry.get("components", [])}
    assert nested == {"sqlite", "aws-lc"}
    references = {entry["bom-ref"] for entry in [bill["metadata"]["component"], *bill["components"]]}
    assert {edge["ref"] for edge in bill["dependencies"]} <= references


def test_every_library_is_named_with_its_licence(artifacts):
    [file] = artifacts.glob("*.cdx.json")
    bill = json.loads(file.read_text())
    assert [entry["name"] for entry in bill["components"] if not entry.get("licenses")] == []
    [archive] = artifacts.glob("*.tar.gz")
    with tarfile.open(archive) as contents:
        [member] = [member for member in contents.getmembers() if member.name.endswith("/THIRD-PARTY-NOTICES")]
        notices = contents.extractfile(member).read().decode()
    for entry in bill["components"]:
        assert f"\n{entry['name']} {entry['version']}: " in notices or entry["name"] == "rust-std"
    assert "Permission is hereby granted" in notices


@pytest.mark.long
def test_the_same_sources_give_the_same_bytes(artifacts, binary, tmp_path):
    assert release("--binary", binary, "--into", tmp_path).returncode == 0
    assert (tmp_path / "SHA256SUMS").read_text() == (artifacts / "SHA256SUMS").read_text()


# Debug information names the files that it is about.
@pytest.mark.long
def test_the_binary_does_not_tell_where_it_was_built(binary):
    assert str(REPOSITORY).encode() not in binary.read_bytes()


def test_the_command_line_is_checked_before_anything_is_built():
    assert release("--help").stdout.startswith("usage: script/release [--binary FILE]")
    for arguments, said in [(["--fast"], "unknown argument: --fast"), (["--into"], "--into needs a value")]:
        done = release(*arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"script/release: {said} (try script/release --help)\n"


def test_what_is_built_before_a_release_is_older_than_the_release():
    changelog = (REPOSITORY / "packaging/debian/changelog").read_text()
    version = re.match(r"doorward \((\S+)\)", changelog)[1]
    released = version.replace("~dev", "")
    if version != released:
        assert subprocess.run(["dpkg", "--compare-versions", version, "lt", released], check=False).returncode == 0
    assert subprocess.run(["dpkg", "--compare-versions", version, "gt", "0.1.0-1"], check=False).returncode == 0


def test_every_place_has_the_version_of_cargo_toml_and_contributing_lists_it():
    texts = {
        "Cargo.lock": r'name = "doorward"\nversion = "([^"]+)"',
        "deploy/Containerfile": r'org\.opencontainers\.image\.version="([^"]+)"',
        "docs/openapi.json": r'"version": "(\d+\.\d+\.\d+[^"]*)"',
        "examples/client-ts/package.json": r'"version": "([^"]+)"',
        "examples/client-ts/schema.d.ts": r'"version": "(\d+\.\d+\.\d+[^"]*)"',
        "packaging/debian/changelog": r"\Adoorward \((\S+)-\d+\)",
    }
    version = tomllib.loads((REPOSITORY / "Cargo.toml").read_text())["package"]["version"]
    found = {place: re.findall(pattern, (REPOSITORY / place).read_text()) for place, pattern in texts.items()}
    # Debian's form of what comes before a release.
    found["packaging/debian/changelog"] = [found["packaging/debian/changelog"][0].replace("~", "-")]
    assert found == {place: [version] * (2 if place == "docs/openapi.json" else 1) for place in texts}
    [step] = re.findall(r"^1\. Set the version in (.+?)\n2\. ", (REPOSITORY / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL)
    assert {"Cargo.toml", *texts} <= set(re.findall(r"`([^`]+)`", step))


def test_no_other_file_that_people_copy_names_a_version():
    """It would be an old one after the next release."""
    for file in ("docs/install.md", "deploy/load-balancer/kubernetes.yaml", "examples/compose/compose.yaml", "examples/testing/workflow.yml"):
        assert re.findall(r"doorward[-_:]v?\d+\.\d+.*", (REPOSITORY / file).read_text()) == [], file


def test_the_package_is_for_the_version_of_the_binary(tmp_path, binary):
    """A release whose changelog was forgotten is refused."""
    other = tmp_path / "doorward"
    other.write_text("#!/bin/sh\necho doorward 9.9.9\n")
    other.chmod(0o755)
    command = [REPOSITORY / "packaging/deb", other, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "packaging/debian/changelog is for" in done.stderr
