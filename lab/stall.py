"""Measures for how long the machine kept threads from running, so that a bound on a time can allow for it.

A stall is time in which threads waited for a CPU, a disk or memory (the kernel's pressure stall information), in which the
hypervisor ran something else (steal), or by which a sleeping thread woke late (a paused machine, a CPU quota).
"""

import bisect
import os
import re
import threading
import time
from pathlib import Path

PERIOD_SECONDS = 0.02
# A timer is this late on an idle machine.
USUALLY_LATE_SECONDS = 0.001
PRESSURE = Path("/proc/pressure")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def waited():
    """Seconds since boot in which threads waited."""
    if not PRESSURE.exists():
        return 0
    cpu, disk, memory = (
        int(re.match(r"some .* total=(\d+)", (PRESSURE / resource).read_text())[1]) / 1e6
        for resource in ("cpu", "io", "memory")
    )
    # The kernel averages over the CPUs: a thread that waits for one of two counts half.
    return cpu * os.cpu_count() + disk + memory + stolen()


def stolen():
    return int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / TICKS_PER_SECOND


class StallRecorder(threading.Thread):
    """Records from its start on, so that a stall can be told for any time in the past."""

    def __init__(self):
        super().__init__(daemon=True)
        self._lock = threading.Lock()
        self._late = 0
        self._moments, self._totals = [], []
        self._record()
        self.start()

    def run(self):
        while True:
            due = time.monotonic() + PERIOD_SECONDS
            time.sleep(PERIOD_SECONDS)
            self._late += max(0, time.monotonic() - due - USUALLY_LATE_SECONDS)
            self._record()

    def between(self, start, end):
        """Seconds of stall between two moments of time.monotonic(); infinity if the kernel does not report pressure."""
        if not PRESSURE.exists():
            return float("inf")
        if end > self._moments[-1]:
            self._record()
        with self._lock:
            before = bisect.bisect_right(self._moments, start) - 1
            after = bisect.bisect_left(self._moments, end)
            return max(0, self._totals[min(after, len(self._totals) - 1)] - self._totals[max(before, 0)])

    def since(self, start):
        return self.between(start, time.monotonic())

    def _record(self):
        with self._lock:
            self._totals.append(waited() + self._late)
            self._moments.append(time.monotonic())
