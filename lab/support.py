"""Shared code of the lab's commands: their options, worker processes, and the report."""

import argparse
import multiprocessing
import os
import signal
import statistics
import sys
import time
from dataclasses import dataclass

from harness import seed
from harness.connection import GUARD, Connection, get

FORK = multiprocessing.get_context("fork")
CORES = len(os.sched_getaffinity(0))
# The share of people who have just signed in, and whose change counter, one of 16,384, others may change before an outage: their
# instance does not know them any more.
SHARED_COUNTERS = 0.05


def arguments(doc, **options):
    """Parses the command line. Each option has a default (a number, or False for a switch) and a help text."""
    parser = argparse.ArgumentParser(
        description=doc,
        epilog="Runs target/release/doorward or what DOORWARD_BIN names; exits with 1 if a bound is not met.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    for name, (default, text) in options.items():
        if default is False:
            parser.add_argument(f"--{name}", action="store_true", help=text)
            continue
        text += f" (default {default})"
        parser.add_argument(f"--{name}", type=positive, default=default, metavar="N", help=text)
    options = parser.parse_args()
    # Whoever repeats a run wants the same chance.
    print(seed.line())
    return options


def positive(text):
    if (number := int(text)) < 1:
        raise ValueError
    return number


# --- worker processes ------------------------------------------------------------------------------------------------


class Worker:
    """Runs a function in its own process, because threads of one Python process slow each other down."""

    def __init__(self, function, *args, niceness=0):
        self._result, result = FORK.Pipe(duplex=False)
        self._process = FORK.Process(target=self._run, args=(result, niceness, function, args), daemon=True)
        self._process.start()
        result.close()

    @staticmethod
    def _run(result, niceness, function, args):
        # SIGTERM ends the worker immediately. An exception would not reach its other threads.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.nice(niceness)
        result.send(function(*args))

    def result(self):
        """Waits for the function's result."""
        try:
            return self._result.recv()
        except EOFError:
            sys.exit("a worker process of the lab failed")
        finally:
            self._process.join()


class Probe:
    """Calls the guard at a steady rate, on one connection or on a new one each time, until it is stopped."""

    def __init__(self, port, token, rate, *, fresh):
        self._stop = FORK.Event()
        self._worker = Worker(self._send_requests, port, get(GUARD, token), 1 / rate, fresh)

    def stop(self):
        self._stop.set()
        return self._worker.result()

    def _send_requests(self, port, request, interval, fresh):
        latencies, failures, connection = [], [], None
        due = time.perf_counter()
        while not self._stop.wait(max(0, due - time.perf_counter())):
            started = time.perf_counter()
            try:
                connection = connection or Connection(port)
                answer = connection.exchange(request)
                failure = None if answer.status == 200 else f"status {answer.status}"
            except OSError as error:
                failure = str(error) or type(error).__name__
            if failure:
                failures.append(failure)
            else:
                latencies.append(time.perf_counter() - started)
            if connection and (fresh or failure):
                connection.__exit__()
                connection = None
            due = max(due + interval, time.perf_counter())
        return ProbeResult(latencies, failures)


@dataclass(frozen=True)
class ProbeResult:
    """Latencies and failures of a probe's requests."""

    latencies: list
    failures: list

    def __str__(self):
        if not self.latencies:
            return "no answer"
        p50, p99 = (percentile(self.latencies, share) * 1000 for share in (50, 99))
        most = max(self.latencies) * 1000
        return f"p50 {p50:.2f}, p99 {p99:.2f}, max {most:.1f} ms (of {len(self.latencies)})"


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, len(values) * share // 100)]


def milliseconds(values):
    return f"{statistics.median(values) * 1000:.2f} ms"


# --- the report ------------------------------------------------------------------------------------------------------


class Report:
    """A table of measurements, with bounds where there are any."""

    def __init__(self):
        self._rows = []

    def add(self, what, value, bound="", met=True):
        self._rows.append((what, str(value), bound, ("ok" if met else "NOT MET") if bound else ""))

    def add_times(self, what, spans, seconds, stalls, value=None):
        """Adds times with a bound in seconds, which stalls extend. A span is None if it did not end."""
        value = value or slowest(spans)
        late = [span for span in spans if span and span.seconds > seconds]
        met = None not in spans and not any(span.exceeds(seconds, stalls) for span in late)
        if late and met:
            value += f", {max(stalls.between(span.start, span.end) for span in late):.2f} s of them stalled"
        self.add(what, value, f"<= {seconds} s", met)

    def finish(self):
        """Prints the table and exits with 1 if a bound is not met."""
        widths = [max(map(len, column)) for column in zip(*self._rows)]
        for row in self._rows:
            print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        verdicts = {verdict for *_, verdict in self._rows}
        sys.exit(1 if "NOT MET" in verdicts else 0)


def slowest(spans):
    if None in spans:
        return "never"
    longest = max(span.seconds for span in spans)
    return f"{longest:.2f} s" if len(spans) == 1 else f"{longest:.2f} s at most, of {len(spans)}"
