"""Services with their second listener, what it shows, and a Prometheus that scrapes them."""

import contextlib
import http.client
import json
import re
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

from harness import HOST, REPOSITORY
from harness.certificates import self_signed
from harness.ports import reserved_port
from harness.process import Process
from harness.service import Service
from harness.wait import eventually

RULES = REPOSITORY / "deploy" / "prometheus" / "doorward.rules.yml"
# Far longer than anything here takes on a machine with nothing else to do.
DEADLINE_SECONDS = 120


class WatchedService(Service):
    """A service whose second listener has a port of its own choice, or a given one."""

    def __init__(self, metrics_port=0, **options):
        super().__init__(DOORWARD_METRICS_LISTEN=f"{HOST}:{metrics_port}", **options)
        self._metrics_port = metrics_port

    def terminate(self):
        """Asks the service to stop, and does not wait."""
        if self.process.poll() is None:
            self.process.terminate()

    def back_up(self):
        self.run("backup", "backup", "--force")

    def set_last_backup(self, text):
        """Replaces what the last backup has recorded: milliseconds since 1970."""
        (self.folder / "last-backup").write_text(f"{text}\n")

    def lines(self):
        """The log lines, without one that is not yet written to its end."""
        complete, _, _ = self.output().rpartition("\n")
        return [json.loads(line) for line in complete.splitlines() if line.startswith("{")]

    @property
    def metrics_port(self):
        if self._metrics_port:
            return self._metrics_port
        # The line may be a moment late.
        serving = lambda: [line for line in self.lines() if line["message"] == "serving metrics"]  # noqa: E731
        line, *_ = eventually("it serves metrics", serving, DEADLINE_SECONDS)
        return int(line["address"].rpartition(":")[2])

    def fetch(self, path, **headers):
        """Status, headers and text of a path of the second listener."""
        request = urllib.request.Request(f"http://{HOST}:{self.metrics_port}{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read().decode()

    def metrics(self):
        status, _, text = self.fetch("/metrics")
        assert status == 200, text
        return text

    def value(self, sample):
        """The value of a sample, given as it is written."""
        found = [line for line in self.metrics().splitlines() if line.startswith(sample + " ")]
        assert len(found) == 1, f"{sample} in {self.metrics()}"
        return float(found[0].rpartition(" ")[2])


def certificate_settings(folder, days):
    """Settings with a new certificate in this folder."""
    certificate, key = Path(folder) / "certificate.pem", Path(folder) / "key.pem"
    key.touch(mode=0o600)
    for file, text in zip((certificate, key), self_signed("localhost", days=days), strict=True):
        file.write_bytes(text)
    return {"DOORWARD_TLS_CERTIFICATE": str(certificate), "DOORWARD_TLS_KEY": str(key)}


def names(text):
    """The names of the metrics in a scrape."""
    return set(re.findall(r"(?m)^# TYPE (\S+) ", text))


def repeat(stop, work, pause=0.02):
    """Does something in a thread until `stop` is set. An answer that is missing or an error does not end it."""
    errors = (OSError, http.client.HTTPException, IndexError, ValueError, AssertionError, SystemExit)

    def run():
        while not stop.wait(pause):
            with contextlib.suppress(*errors):
                work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


class Prometheus:
    """A Prometheus with the rules of deploy/, whose minutes are seconds here."""

    def __init__(self, targets):
        self._targets = targets
        self._cleanup = contextlib.ExitStack()
        self.port = reserved_port()

    def __enter__(self):
        folder = Path(self._cleanup.enter_context(tempfile.TemporaryDirectory(prefix="doorward-prometheus-")))
        (folder / "doorward.rules.yml").write_text(with_seconds_for_minutes(RULES.read_text()))
        (folder / "prometheus.yml").write_text(self._configuration())
        options = [
            f"--config.file={folder}/prometheus.yml",
            f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={HOST}:{self.port}",
        ]
        self._process = Process(["prometheus", *options], folder / "log")
        self._process.wait_until(self._answers)
        for name in self._targets:
            eventually(f"{name} is scraped", lambda name=name: self.query(f'up{{instance="{name}"}} == 1'), DEADLINE_SECONDS)
        return self

    def __exit__(self, *_):
        self._process.stop()
        self._cleanup.close()

    def query(self, expression):
        """The labels of all series in the result of a query."""
        return [series["metric"] for series in self.call("query", query=expression)["result"]]

    def call(self, method, **parameters):
        """What a method of the API of Prometheus returns."""
        url = f"http://{HOST}:{self.port}/api/v1/{method}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            return json.load(answer)["data"]

    def fired(self, alert=None):
        """The alerts that have fired so far."""
        name = f'alertname="{alert}", ' if alert else ""
        return self.query(f'max_over_time(ALERTS{{{name}alertstate="firing"}}[1h])')

    def _answers(self):
        with contextlib.suppress(OSError):
            return urllib.request.urlopen(f"http://{HOST}:{self.port}/-/ready", timeout=5).status == 200

    def _configuration(self):
        targets = [
            f'      - {{targets: ["{HOST}:{port}"], labels: {{instance: "{name}"}}}}' for name, port in self._targets.items()
        ]
        return "\n".join(
            [
                "global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 500ms}",
                "rule_files: [doorward.rules.yml]",
                "scrape_configs:",
                "  - job_name: doorward",
                "    static_configs:",
                *targets,
                "",
            ]
        )


def with_seconds_for_minutes(rules):
    """The rules with every duration shortened: 5m becomes 5s, 1h becomes 60s. The expressions are otherwise the same."""
    shortened = re.sub(r"(\[|for: )(\d+)m\b", r"\1\2s", rules)
    shortened = re.sub(r"(\[|for: )(\d+)h\b", lambda found: f"{found[1]}{60 * int(found[2])}s", shortened)
    assert not re.search(r"(\[|for: )\d+[mh]\b", shortened)
    return shortened


def alerts():
    """The names of the alerts in the rules."""
    return re.findall(r"(?m)^ *- alert: (\S+)$", RULES.read_text())


def wait_until(what, condition):
    return eventually(what, condition, DEADLINE_SECONDS, pause=0.2)


