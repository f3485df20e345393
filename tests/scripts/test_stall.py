"""How the lab and the verifier tests extend time limits by the stall of the machine."""

import os
import subprocess
import sys
import time

import pytest

from harness import REPOSITORY, stall

sys.path.append(str(REPOSITORY / "lab"))
import support  # noqa: E402


class Recorded:
    """A machine with a known stall."""

    def __init__(self, seconds):
        self.seconds = seconds

    def between(self, start, end):
        return self.seconds


def test_a_bound_is_extended_by_the_stall_and_by_no_more():
    span = stall.Span(100, 103)
    assert not span.exceeds(3, Recorded(0))
    assert not span.exceeds(1, Recorded(2.5))
    assert span.exceeds(1, Recorded(1.5))


def test_a_report_with_one_time_beyond_its_bound_fails(capsys):
    for spans, stalled, status in [
        ([stall.Span(0, 1), stall.Span(0, 3)], 0, 1),
        ([stall.Span(0, 1), stall.Span(0, 3)], 2, 0),
        ([stall.Span(0, 1), None], 9, 1),
    ]:
        report = support.Report()
        report.add_times("an answer", spans, 2, Recorded(stalled))
        try:
            report.finish()
        except SystemExit as end:
            assert end.code == status
    assert capsys.readouterr().out.splitlines() == [
        "an answer  3.00 s at most, of 2  <= 2 s  NOT MET",
        "an answer  3.00 s at most, of 2, 2.00 s of them stalled  <= 2 s  ok",
        "an answer  never  <= 2 s  NOT MET",
    ]


def test_the_longest_stall_is_recorded_for_the_time_in_which_it_happened(monkeypatch):
    # The second thread ends, and its wait still counts.
    waited = iter([{"1": 5}, {"1": 5}, {"1": 5}, {"1": 8, "2": 3}, {"1": 8}])
    monkeypatch.setattr(stall.StallRecorder, "start", lambda self: None)
    monkeypatch.setattr(stall, "is_reported", lambda: True)
    monkeypatch.setattr(stall, "waits", lambda: next(waited))
    machine = iter([(10, 2, 0), (10, 2, 0), (11, 6.5, 0), (11, 6.5, 0)])
    monkeypatch.setattr(stall, "machine_stalls", lambda: next(machine))
    clock = iter([100, 101, 102, 103])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    recorder = stall.StallRecorder()
    for _ in range(3):
        recorder._record()
    assert recorder.between(100, 100.5) == 0
    # The longest of 6 seconds of waiting for a CPU, 1 for a disk and 4.5 for memory, not their sum.
    assert recorder.between(100.5, 101.5) == 6
    assert recorder.between(101, 102) == recorder.between(100, 103) == 6


def test_a_process_that_waits_for_a_cpu_is_recorded():
    if not stall.is_reported():
        pytest.skip("the kernel does not report waits")
    recorder, started = stall.StallRecorder(), time.monotonic()
    # More than there are CPUs.
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * os.cpu_count())]
    try:
        while not (stalled := recorder.since(started)):
            assert time.monotonic() < started + 30
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert stalled > 0
