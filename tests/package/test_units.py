"""The systemd units, checked by systemd."""

import re
import subprocess
from pathlib import Path

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"


def analyze(*arguments):
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False)


def test_the_exposure_of_the_service_is_at_most_two():
    done = analyze("security", "--offline=true", "--threshold=20", DEPLOY / "doorward.service")
    level = re.search(r"Overall exposure level for doorward.service: (\S+)", done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert float(level[1]) <= 2.0


def test_systemd_understands_every_line_of_the_units(tmp_path, binary):
    for name in ["doorward.service", "doorward.socket"]:
        text = (DEPLOY / name).read_text()
        (tmp_path / name).write_text(text.replace("/usr/local/bin/doorward", str(binary)))
    # A manual page that is not installed is none of the unit's faults.
    done = analyze("verify", "--man=no", tmp_path / "doorward.service", tmp_path / "doorward.socket")
    assert (done.returncode, done.stderr) == (0, "")
