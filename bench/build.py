"""The time of a release build from scratch, and of its slowest crates."""

import json
import re
import shutil
import time

from measure import CORES, REPOSITORY, WORK, note, output, plain_environment

HEAVIEST = 10


def measure(report, effort):
    note("a release build from scratch")
    target = WORK / "cold"
    started = time.monotonic()
    command = ["cargo", "build", "--quiet", "--release", "--locked", "--timings", "--package", "doorward"]
    output("cargo", "fetch", "--quiet", "--locked", cwd=REPOSITORY)
    output(*command, cwd=REPOSITORY, env=plain_environment() | {"CARGO_TARGET_DIR": str(target)})
    took = time.monotonic() - started
    page = (target / "cargo-timings" / "cargo-timing.html").read_text()
    units = json.loads(re.search(r"const UNIT_DATA = (\[.*?\]);", page, re.DOTALL)[1])
    shutil.rmtree(target)

    crates = {}
    for unit in units:
        crates[unit["name"]] = crates.get(unit["name"], 0) + unit["duration"]
    heaviest = sorted(crates.items(), key=lambda crate: -crate[1])[:HEAVIEST]
    report.section(
        "A release build from scratch",
        f"{len(CORES)} cores, all sources fetched before. A crate's time includes its build script. Crates are built in parallel.",
    )
    report.add("whole build", f"{took / 60:.1f} minutes")
    for crate, seconds in heaviest:
        report.add(crate, f"{seconds:.0f} s")
    report.plot("build", "The heaviest crates of a release build", "s", heaviest)
