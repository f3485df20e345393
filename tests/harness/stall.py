"""Measures how long the machine kept processes from running, so that a time limit can be extended by exactly that.

There are five kinds of stall: threads of this process and its descendants were ready to run but did not run, any thread
waited for a disk, or for memory, the hypervisor ran something else, or a sleeping thread woke up late (a paused machine, a
CPU quota). They overlap: a thread that waits for a busy disk is also late. So the stall of a period is the longest of
them, not their sum.
"""

import bisect
import contextlib
import os
import re
import threading
import time
from dataclasses import dataclass
from pathlib import Path

PERIOD_SECONDS = 0.1
# A timer is this late on an idle machine.
USUALLY_LATE_SECONDS = 0.001
PRESSURE = Path("/proc/pressure")
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def is_reported():
    """Whether the kernel reports waits."""
    return PRESSURE.exists() and Path("/proc/self/schedstat").exists()


def machine_stalls():
    """Seconds since boot in which threads waited for a disk, and for memory, and CPUs for the hypervisor."""
    disk, memory = (
        int(re.match(r"some .* total=(\d+)", (PRESSURE / resource).read_text())[1]) / 1e6 for resource in ("io", "memory")
    )
    stolen = int(Path("/proc/stat").read_text().split(maxsplit=9)[8]) / TICKS_PER_SECOND
    return disk, memory, stolen


def waits():
    """Each thread of this process and its descendants, with the seconds that it has waited for a CPU."""
    left, found = [os.getpid()], {}
    while left:
        # Processes and threads end at any time.
        with contextlib.suppress(OSError):
            process = f"/proc/{left.pop()}/task"
            for thread in os.listdir(process):
                with contextlib.suppress(OSError):
                    found[thread] = int(read(f"{process}/{thread}/schedstat").split()[1]) / 1e9
                    left += read(f"{process}/{thread}/children").split()
    return found


def read(path):
    with open(path) as file:
        return file.read()


class StallRecorder(threading.Thread):
    """Records continuously, so that the stall of any past period is known."""

    def __init__(self):
        super().__init__(daemon=True)
        self._lock = threading.Lock()
        self._waits, self._waited, self._late = waits(), 0, 0
        self._moments, self._totals = [], []
        if is_reported():
            self._record()
            self.start()

    def run(self):
        while True:
            due = time.monotonic() + PERIOD_SECONDS
            time.sleep(PERIOD_SECONDS)
            self._late += max(0, time.monotonic() - due - USUALLY_LATE_SECONDS)
            self._record()

    def between(self, start, end):
        """Seconds of the longest stall between two moments of time.monotonic(); infinity if the kernel does not report
        waits."""
        if not self._moments:
            return float("inf")
        if end > self._moments[-1]:
            self._record()
        with self._lock:
            before = bisect.bisect_right(self._moments, start) - 1
            after = bisect.bisect_left(self._moments, end)
            then, now = self._totals[max(before, 0)], self._totals[min(after, len(self._totals) - 1)]
            return max(0, *(total - earlier for earlier, total in zip(then, now, strict=True)))

    def since(self, start):
        return self.between(start, time.monotonic())

    def _record(self):
        with self._lock:
            for thread, now in waits().items():
                self._waited += max(0, now - self._waits.get(thread, 0))
                self._waits[thread] = now
            self._totals.append((self._waited, self._late, *machine_stalls()))
            self._moments.append(time.monotonic())


@dataclass(frozen=True)
class Span:
    """A measured time, from start to end in time.monotonic()."""

    start: float
    end: float

    @property
    def seconds(self):
        return self.end - self.start

    def exceeds(self, bound, stalls):
        """Whether it is longer than the bound plus the stall in that time."""
        return self.seconds > bound and self.seconds > bound + stalls.between(self.start, self.end)
