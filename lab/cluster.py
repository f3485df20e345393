"""Three PostgreSQL servers under Patroni with etcd, each in its own network namespace like a separate machine, and the
ways in which one of them can fail.

Everything runs in network namespaces inside the one that `in_own_network` creates, so nothing is visible outside or
left over. Needs root, and Debian's packages postgresql, patroni, etcd-server, nftables and haproxy.
"""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from harness.postgres import PASSWORD, ROLE, Session, SupervisedProcess, debian, folder
from harness.wait import eventually

NEEDED = {"patroni": "patroni", "etcd": "etcd-server", "nft": "nftables", "ip": "iproute2", "haproxy": "haproxy"}
HUB = "10.0.0.254"
DATABASE = "doorward"
PROBE = "probe"
SECRET = "for-each-other"


def in_own_network():
    """Restarts this command in its own network and process namespaces."""
    if os.getppid() == 1 and "DOORWARD_LAB_NETWORK" in os.environ:
        run("ip", "link", "set", "lo", "up")
        return
    namespaces = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if os.geteuid() or subprocess.run([*namespaces, "true"]).returncode:
        print("skipped: creating network namespaces needs root")
        sys.exit()
    if missing := {package for program, package in NEEDED.items() if not shutil.which(program)}:
        sys.exit(f"please install: {' '.join(sorted(missing))}")
    os.environ["DOORWARD_LAB_NETWORK"] = "1"
    # The shell reaps orphaned processes.
    shell = ["sh", "-c", '"$@"; exit $?', "sh", sys.executable, *sys.argv]
    os.execvp("unshare", [*namespaces, *shell])


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Machine:
    """A network namespace with one address on the common bridge."""

    def __init__(self, number):
        self.number = number
        self.address = f"10.0.0.{number}"
        self._holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        own = os.readlink("/proc/self/ns/net")
        eventually("a network namespace", lambda: self._network(self._holder.pid) not in (own, None))
        self._name = self._network(self._holder.pid)
        self.inside = ["nsenter", f"--net=/proc/{self._holder.pid}/ns/net"]
        cable = f"db{number}"
        run("ip", "link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", str(self._holder.pid))
        run("ip", "link", "set", cable, "master", "hub", "up")
        run(*self.inside, "ip", "addr", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            run(*self.inside, "ip", "link", "set", device, "up")

    @staticmethod
    def _network(pid):
        try:
            return os.readlink(f"/proc/{pid}/ns/net")
        except OSError:
            return None

    def processes(self):
        """The processes on this machine."""
        pids = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
        return [pid for pid in pids if pid != self._holder.pid and self._network(pid) == self._name]

    def signal(self, number):
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def cut_off(self, *addresses):
        """Drops all packets from and to these machines, or from and to all machines."""
        others = f"{{ {', '.join(addresses)} }}" if addresses else "10.0.0.0/24"
        rules = "".join(
            f"chain {hook} {{ type filter hook {hook} priority 0; ip {end} != {self.address} ip {end} {others} drop; }}\n"
            for hook, end in (("input", "saddr"), ("output", "daddr"))
        )
        subprocess.run([*self.inside, "nft", "-f", "-"], input=f"table ip cut {{\n{rules}}}\n", text=True, check=True)

    def reconnect(self):
        run(*self.inside, "nft", "flush", "ruleset")


class Node:
    """A PostgreSQL with its Patroni."""

    def __init__(self, number, path, replication):
        self.machine = Machine(number)
        self.address = self.machine.address
        self.name = f"db{number}"
        self._folder = path
        self._replication = replication
        self._configuration = path / f"{self.name}.json"
        self._configuration.write_text(json.dumps(self._settings()))

    def start(self):
        self._patroni = SupervisedProcess(
            [shutil.which("patroni"), self._configuration],
            self._folder / f"{self.name}.log",
            end=signal.SIGKILL,
            before=self.machine.inside,
        )

    def stop(self):
        self.machine.signal(signal.SIGKILL)
        self._patroni.stop()

    def log(self):
        return self._patroni.log()

    def kill_postgres(self):
        """Kills the server; Patroni keeps running."""
        postmaster = (self._folder / self.name / "postmaster.pid").read_text().split()[0]
        os.kill(int(postmaster), signal.SIGKILL)

    def status(self, path="/patroni", method="GET", body=None, timeout=2):
        """The status that Patroni reports; None if it does not answer."""
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(f"http://{self.address}:8008{path}", data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                text = answer.read().decode()
        except urllib.error.HTTPError as error:
            text = error.read().decode()
        except OSError:
            return None
        with contextlib.suppress(ValueError):
            return json.loads(text)
        return text

    def session(self, user=PROBE, database=DATABASE, timeout=10):
        return Session((self.address, 5432), user, database, timeout)

    def superuser(self, database="postgres"):
        return Session(str(self._folder / f"{self.name}.sockets" / ".s.PGSQL.5432"), "postgres", database)

    def _settings(self):
        sockets = self._folder / f"{self.name}.sockets"
        sockets.mkdir()
        shutil.chown(sockets, self._folder.stat().st_uid, self._folder.stat().st_gid)
        rules = [
            "local all all trust",
            f"host all {PROBE} 10.0.0.0/24 trust",
            "host replication replicator 10.0.0.0/24 scram-sha-256",
            "host all all 10.0.0.0/24 scram-sha-256",
        ]
        common = {
            "ttl": 20,
            "primary_start_timeout": 0,
            "check_timeline": True,
            "postgresql": {
                "use_pg_rewind": True,
                "parameters": {"max_connections": 100, "wal_keep_size": "256MB", "shared_buffers": "32MB"},
                "pg_hba": rules,
            },
        }
        return {
            "scope": "doorward",
            "name": self.name,
            "restapi": {"listen": f"{self.address}:8008", "connect_address": f"{self.address}:8008"},
            "etcd3": {"host": f"{HUB}:2379"},
            "bootstrap": {"dcs": common | self._replication, "initdb": [{"encoding": "UTF8"}, {"locale": "C"}]},
            "postgresql": {
                "listen": f"{self.address}:5432",
                "connect_address": f"{self.address}:5432",
                "data_dir": str(self._folder / self.name),
                "bin_dir": str(debian()),
                "pgpass": str(self._folder / f"{self.name}.pgpass"),
                "parameters": {"unix_socket_directories": str(sockets)},
                "authentication": {
                    "superuser": {"username": "postgres", "password": SECRET},
                    "replication": {"username": "replicator", "password": SECRET},
                },
            },
            "watchdog": {"mode": "off"},
        }


# Only a standby with every acknowledged write may become the leader. Its lag in unacknowledged writes must not matter: a
# leader without standbys continues to write, and then no standby would qualify.
SYNCHRONOUS = {
    "loop_wait": 2,
    "retry_timeout": 3,
    "synchronous_mode": True,
    "synchronous_mode_strict": True,
    "synchronous_node_count": 1,
    "maximum_lag_on_failover": 1 << 30,
}
ASYNCHRONOUS = {"loop_wait": 2, "retry_timeout": 3, "synchronous_mode": False, "maximum_lag_on_failover": 1 << 30}


class Cluster:
    """Runs inside the `with` block, with a leader and two synchronised standbys."""

    def __init__(self, *, synchronous=True):
        self._synchronous = synchronous
        self._cleanup = contextlib.ExitStack()

    def __enter__(self):
        path = self._cleanup.enter_context(folder())
        run("ip", "link", "add", "hub", "type", "bridge")
        run("ip", "addr", "add", f"{HUB}/24", "dev", "hub")
        run("ip", "link", "set", "hub", "up")
        here = f"http://{HUB}:2379"
        etcd = ["etcd", "--data-dir", path / "etcd", "--listen-client-urls", here, "--advertise-client-urls", here]
        self._etcd = SupervisedProcess(etcd, path / "etcd.log", end=signal.SIGKILL)
        self._cleanup.callback(self._etcd.stop)
        replication = SYNCHRONOUS if self._synchronous else ASYNCHRONOUS
        self.nodes = [Node(number, path, replication) for number in (1, 2, 3)]
        try:
            for node in self.nodes:
                node.start()
                self._cleanup.callback(node.stop)
            self.wait_until_healthy()
            self._prepare()
        except BaseException:
            self._cleanup.close()
            raise
        return self

    def __exit__(self, *_):
        self._cleanup.close()

    def url(self):
        hosts = ",".join(f"{node.address}:5432" for node in self.nodes)
        return self.url_of(hosts) + "&target_session_attrs=read-write"

    @staticmethod
    def url_of(hosts):
        return f"postgres://{ROLE}:{PASSWORD}@{hosts}/{DATABASE}?sslmode=disable"

    def _prepare(self):
        leader = self.leader()
        with leader.superuser() as session:
            session.query(f"CREATE ROLE {ROLE} LOGIN PASSWORD '{PASSWORD}'")
            session.query(f"CREATE ROLE {PROBE} LOGIN")
            session.query(f"CREATE DATABASE {DATABASE} OWNER {ROLE} TEMPLATE template0")
        with leader.superuser(DATABASE) as session:
            session.query(f"CREATE TABLE {PROBE} (at bigint)")
            session.query(f"GRANT INSERT ON {PROBE} TO {PROBE}")

    # --- state ---

    def leader(self):
        """The node that reports to be the leader, on the latest timeline; None if there is none."""
        statuses = [(node.status(), node) for node in self.nodes]
        leading = [(status["timeline"], node) for status, node in statuses if self._leads(status)]
        return max(leading, key=lambda each: each[0], default=(0, None))[1]

    @staticmethod
    def _leads(status):
        is_there = isinstance(status, dict) and status.get("state") == "running" and "timeline" in status
        return is_there and status.get("role") in ("master", "primary")

    @staticmethod
    def members(leader):
        """Each node's role and state, as the leader's Patroni sees them."""
        known = leader.status("/cluster") if leader else None
        return {member["name"]: member for member in known["members"]} if isinstance(known, dict) else {}

    def is_healthy(self):
        """Whether there is a leader, and two standbys without lag, one of them synchronous."""
        leader = self.leader()
        status = leader and leader.status()
        if not isinstance(status, dict):
            return False
        standbys = status.get("replication") or []
        streaming = [standby for standby in standbys if standby["state"] == "streaming"]
        synchronous = [standby for standby in streaming if standby["sync_state"] == "sync"]
        members = self.members(leader)
        behind = [member for member in members.values() if member.get("lag") not in (None, 0)]
        # Only a standby that Patroni has recorded as synchronous may replace a failed leader.
        heirs = [member for member in members.values() if member["role"] == "sync_standby"]
        is_safe = bool(synchronous and heirs) or not self._synchronous
        return len(members) == 3 and len(streaming) == 2 and not behind and is_safe

    def wait_until_healthy(self, seconds=120):
        try:
            eventually("a healthy cluster", self.is_healthy, seconds, pause=0.2)
        except TimeoutError:
            for node in self.nodes:
                print(f"--- {node.name}\n{node.log()[-2000:]}", file=sys.stderr)
            raise

    # --- failures ---

    def switch_over(self, leader):
        """Requests a planned switchover from Patroni."""
        answer = leader.status("/switchover", "POST", {"leader": leader.name}, timeout=60)
        if "Success" not in str(answer):
            raise RuntimeError(f"no switchover: {answer}")

    def others(self, leader):
        return [node for node in self.nodes if node is not leader]
