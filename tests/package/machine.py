"""A machine with systemd: a copy of this one in namespaces of its own, whose changes are in memory."""

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# Generous: the machine may be busy.
PATIENCE = 120


def reason_against():
    """Why no machine can be made here, if so."""
    if os.geteuid() != 0:
        return "needs root: it makes namespaces and mounts"
    for program in ["unshare", "setpriv", "nsenter", "ip", "curl", "/lib/systemd/systemd"]:
        if not shutil.which(program):
            return f"needs {program}"
    tried = subprocess.run(["unshare", "--mount", "--net", "true"], capture_output=True, text=True, check=False)
    if tried.returncode:
        return f"namespaces cannot be made: {tried.stderr.strip()}"
    return None


def wait_until(is_so, what, patience=PATIENCE):
    deadline = time.monotonic() + patience
    while not (value := is_so()):
        assert time.monotonic() < deadline, f"not in {patience} s: {what() if callable(what) else what}"
        time.sleep(0.1)
    return value


class Machine:
    def __init__(self, shared):
        self.folder = Path(tempfile.mkdtemp(prefix="doorward-machine-"))
        self.cgroup = self._make_cgroup()
        spaces = ["--mount", "--pid", "--fork", "--kill-child", "--net", "--ipc", "--uts", "--cgroup"]
        self.console = open(self.folder.with_suffix(".console"), "w+")
        self.process = subprocess.Popen(
            # Ends with this process, even if that is killed.
            ["setpriv", "--pdeathsig", "KILL", "unshare", *spaces, HERE / "boot", self.folder, shared],
            stdout=self.console,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            preexec_fn=lambda: (self.cgroup / "cgroup.procs").write_text("0"),
        )
        try:
            self.init = wait_until(self._init_process, self.console_text)
            wait_until(lambda: self.run("systemctl", "is-system-running").stdout.strip() == "running", self.state)
        except BaseException:
            self.stop()
            raise

    def _make_cgroup(self):
        """systemd manages the group that it starts in."""
        mounts = Path("/proc/mounts").read_text().splitlines()
        hierarchy = next(line.split()[1] for line in mounts if line.split()[2] == "cgroup2")
        group = Path(hierarchy) / self.folder.name
        group.mkdir()
        return group

    def _init_process(self):
        assert self.process.poll() is None, self.console_text()
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        if not children:
            return None
        name = Path(f"/proc/{children[0]}/comm").read_text().strip()
        return int(children[0]) if name == "systemd" else None

    def console_text(self):
        self.console.flush()
        return Path(self.console.name).read_text()

    def state(self):
        shown = [["systemctl", "--failed"], ["systemctl", "list-jobs"], ["journalctl", "--no-pager", "--lines=50"]]
        return "\n".join(self.run(*command).stdout for command in shown) + self.console_text()

    def run(self, *command, stdin=None):
        """Runs a command as root on the machine."""
        entered = ["nsenter", f"--target={self.init}", "--all", "--wd=/", "env", "-i"]
        environment = ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"]
        return subprocess.run(
            [*entered, *environment, *command],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def must(self, *command, stdin=None):
        done = self.run(*command, stdin=stdin)
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}\n{self.journal()}"
        return done.stdout

    def journal(self):
        return self.run("journalctl", "--no-pager", "--unit=doorward", "--unit=doorward.socket", "--lines=40").stdout

    def write(self, path, text):
        self.must("sh", "-c", f"mkdir -p {Path(path).parent} && cat >{path}", stdin=text)

    def property(self, name, unit="doorward.service"):
        return self.must("systemctl", "show", "--value", f"--property={name}", unit).strip()

    def in_network(self, *command):
        """A command of this machine that uses the network of the other."""
        return ["nsenter", f"--target={self.init}", "--net", *command]

    def http(self, method, path, body=None, headers=(), port=3000):
        """Status and body of an answer; none if nobody answers."""
        command = ["curl", "--silent", "--noproxy", "*", "--max-time", "60", "--request", method]
        for header in headers:
            command += ["--header", header]
        if body is not None:
            kind = "application/x-www-form-urlencoded" if isinstance(body, str) else "application/json"
            text = body if isinstance(body, str) else json.dumps(body)
            command += ["--header", f"Content-Type: {kind}", "--data", text]
        command += ["--write-out", "\n%{http_code}", f"http://127.0.0.1:{port}{path}"]
        done = subprocess.run(self.in_network(*command), capture_output=True, text=True, check=False)
        if done.returncode:
            return None
        body, _, status = done.stdout.rpartition("\n")
        return int(status), body

    def stop(self):
        """Ends the machine. The kernel ends all of its processes with the first."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.console.close()
        Path(self.console.name).unlink()
        groups = sorted(self.cgroup.glob("**/"), key=lambda path: len(path.parts), reverse=True)
        wait_until(lambda: not any(re.search(r"\d", (path / "cgroup.procs").read_text()) for path in groups), "processes")
        for group in groups:
            group.rmdir()
        shutil.rmtree(self.folder)
