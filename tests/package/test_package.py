"""What is in the Debian package, and whether it follows Debian's rules."""

import os
import re
import subprocess

from harness import REPOSITORY


def test_lintian_finds_no_error_and_no_warning(package):
    command = ["lintian", "--allow-root", "--fail-on", "warning,error", "--tag-display-limit", "0", package]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stdout + done.stderr


def test_the_package_has_everything_that_its_users_expect(package):
    listed = subprocess.run(["dpkg-deb", "--contents", package], capture_output=True, text=True, check=True).stdout
    files = {line.split()[5][1:] for line in listed.splitlines() if not line.endswith("/")}
    documents = {"copyright", "changelog.gz", "changelog.Debian.gz", "third-party-notices.gz", "sbom.cdx.json.gz"}
    assert files >= {
        "/usr/bin/doorward",
        "/etc/doorward/doorward.toml",
        "/lib/systemd/system/doorward.service",
        "/lib/systemd/system/doorward.socket",
        "/usr/lib/sysusers.d/doorward.conf",
        "/usr/lib/tmpfiles.d/doorward.conf",
        "/usr/share/man/man1/doorward.1.gz",
        "/usr/share/bash-completion/completions/doorward",
        "/usr/share/zsh/vendor-completions/_doorward",
        "/usr/share/fish/vendor_completions.d/doorward.fish",
        *(f"/usr/share/doc/doorward/{name}" for name in documents),
        *(f"/usr/share/doc/doorward/docs/{page.name}" for page in (REPOSITORY / "docs").glob("*.md")),
        *(f"/usr/share/doorward/prometheus/{name}" for name in ["doorward.rules.yml", "dashboard.json", "prometheus.yml"]),
        "/usr/libexec/doorward/doorward-backup",
        "/lib/systemd/system/doorward-backup.service",
        "/lib/systemd/system/doorward-backup.timer",
    }


def test_the_unit_of_the_backup_runs_the_script_of_the_package(package, tmp_path):
    subprocess.run(["dpkg-deb", "--extract", package, tmp_path], check=True)
    unit = (tmp_path / "lib/systemd/system/doorward-backup.service").read_text()
    [script] = re.findall(r"(?m)^ExecStart=(.+)$", unit)
    assert os.access(tmp_path / script.lstrip("/"), os.X_OK)
    # Alerts name pages that the package has.
    rules = (tmp_path / "usr/share/doorward/prometheus/doorward.rules.yml").read_text()
    for page in set(re.findall(r"runbook_url: file://([^#\s]+)", rules)):
        assert (tmp_path / page.lstrip("/")).is_file(), page


def test_the_settings_file_is_the_only_one_that_operators_edit(package):
    command = ["dpkg-deb", "--info", package, "conffiles"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "/etc/doorward/doorward.toml\n"
