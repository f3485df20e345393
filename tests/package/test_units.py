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
    names = ["doorward.service", "doorward.socket", "doorward-backup.service", "doorward-backup.timer"]
    for name in names:
        text = (DEPLOY / name).read_text().replace("/usr/local/bin/doorward", str(binary))
        (tmp_path / name).write_text(text.replace("/usr/local/sbin/doorward-backup", str(DEPLOY / "doorward-backup")))
    # A manual page that is not installed is none of the unit's faults.
    done = analyze("verify", "--man=no", *(tmp_path / name for name in names))
    assert (done.returncode, done.stderr) == (0, "")


def test_no_limit_ends_a_start_that_copies_a_large_database():
    service = (DEPLOY / "doorward.service").read_text().partition("[Service]")[2]
    assert {"Type=notify", "TimeoutStartSec=infinity"} <= set(service.splitlines())


def test_everything_but_a_mistake_in_the_settings_is_tried_again(binary):
    text = (DEPLOY / "doorward.service").read_text()
    unit, _, service = text.partition("[Service]")
    assert "\nStartLimitIntervalSec=0\n" in unit
    assert {"Restart=on-failure", "RestartSec=2", "RestartPreventExitStatus=2"} <= set(service.splitlines())
    for arguments in [["--token-lifetime", "1y"], ["--no-such-setting", "1"], ["--tls-key", "key.pem"]]:
        done = subprocess.run([binary, "serve", *arguments], capture_output=True, check=False)
        assert done.returncode == 2, done
