"""How the lab and the verifier tests judge times."""

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab"))
import stall
import support


class Recorded:
    """A machine with a known stall."""

    def __init__(self, seconds):
        self.seconds = seconds

    def between(self, start, end):
        return self.seconds


def test_a_bound_is_extended_by_the_stall_and_by_no_more():
    span = support.Span(100, 103)
    assert not span.exceeds(3, Recorded(0))
    assert not span.exceeds(1, Recorded(2.5))
    assert span.exceeds(1, Recorded(1.5))


def test_a_report_with_one_time_beyond_its_bound_fails(capsys):
    for spans, stalled, status in [
        ([support.Span(0, 1), support.Span(0, 3)], 0, 1),
        ([support.Span(0, 1), support.Span(0, 3)], 2, 0),
        ([support.Span(0, 1), None], 9, 1),
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


def test_a_stall_is_recorded_for_the_time_in_which_it_happened(monkeypatch):
    waited = iter([10, 10, 17])
    monkeypatch.setattr(stall.StallRecorder, "start", lambda self: None)
    monkeypatch.setattr(stall, "waited", lambda: next(waited))
    monkeypatch.setattr(stall, "PRESSURE", Path("/"))
    clock = iter([100, 101, 102])
    monkeypatch.setattr(time, "monotonic", lambda: next(clock))
    recorder = stall.StallRecorder()
    recorder._record()
    recorder._record()
    assert recorder.between(100, 100.5) == 0
    assert recorder.between(100.5, 101.5) == 7
    assert recorder.between(101, 102) == 7
