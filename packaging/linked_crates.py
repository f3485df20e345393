"""The crates that are linked into the binary, as Cargo resolves them: without build scripts, macros and tests."""

import json
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
LINE = re.compile(r"(?P<name>\S+) v(?P<version>\S+)(?: .*)?")


@dataclass(frozen=True)
class Crate:
    name: str
    version: str
    # As Cargo.toml states it: an SPDX expression.
    licence: str
    folder: Path
    # The SHA-256 of the archive in the registry. The crate of this repository has none.
    checksum: str | None


def output_of(*command):
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr}")
    return done.stdout


def target():
    version = output_of("rustc", "--version", "--verbose")
    return re.search(r"^host: (\S+)$", version, re.MULTILINE)[1]


def linked_crates(target_triple):
    """All crates in the binary for a target, sorted by name and version."""
    tree = output_of(
        *("cargo", "tree", "--locked", "--package", "doorward", "--target", target_triple),
        *("--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "--format", "{p}"),
    )
    linked = {LINE.fullmatch(line).group("name", "version") for line in tree.splitlines() if line}
    metadata = json.loads(output_of("cargo", "metadata", "--locked", "--format-version", "1"))
    checksums = registry_checksums()
    crates = {}
    for package in metadata["packages"]:
        key = (package["name"], package["version"])
        if key in linked:
            folder = Path(package["manifest_path"]).parent
            crates[key] = Crate(*key, package["license"] or "", folder, checksums.get(key))
    missing = linked - crates.keys()
    if missing:
        raise SystemExit(f"cargo metadata does not describe {sorted(missing)}")
    return [crate for _, crate in sorted(crates.items())]


def registry_checksums():
    import tomllib

    lock = tomllib.loads((REPOSITORY / "Cargo.lock").read_text())
    return {(entry["name"], entry["version"]): entry.get("checksum") for entry in lock["package"]}
