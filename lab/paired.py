"""Compares the times of kinds of requests that must not be told apart.

Each round sends one request of each kind over one keep-alive connection, in random order, so that a slow moment of the machine
affects all kinds alike. The interval is that of the median difference within a round (bootstrap, 99 %); p is that of a
two-sided sign test."""

import gc
import math
import random
import statistics
import time

from support import milliseconds

BOUND = 0.05
WARM_UP = 5


class Rounds:
    """The times of each kind of request, and the answers."""

    def __init__(self, kinds):
        self.kinds = list(kinds)
        self.times = {kind: [] for kind in self.kinds}
        self.answers = {}

    def run(self, connection, rounds, request):
        """`request(kind)` returns the next request of a kind."""
        for kind in self.kinds * WARM_UP:
            connection.exchange(request(kind))
        gc.disable()
        try:
            for _ in range(rounds):
                for kind in random.sample(self.kinds, len(self.kinds)):
                    sent = request(kind)
                    started = time.perf_counter()
                    answer = connection.exchange(sent)
                    self.times[kind].append(time.perf_counter() - started)
                    self.answers.setdefault((answer.status, *answer.visible), set()).add(kind)
        finally:
            gc.enable()

    def report(self, report, status):
        """Compares every kind with the first one, and all answers with each other."""
        first, *others = self.kinds
        statuses = "/".join(sorted({str(answered) for answered, *_ in self.answers}))
        identical = len(self.answers) == 1 and statuses == str(status)
        report.add("answers", f"{len(self.answers)} different, status {statuses}", f"1, all {status}", identical)
        median = statistics.median(self.times[first])
        report.add(first, f"{milliseconds(self.times[first])} (median of {len(self.times[first])})")
        for kind in others:
            ratio = statistics.median(self.times[kind]) / median
            differences = [own - other for own, other in zip(self.times[kind], self.times[first])]
            low, high = (bound * 1000 for bound in bootstrap(differences))
            value = f"{milliseconds(self.times[kind])}, ratio {ratio:.3f}"
            report.add(kind, value, f"within {BOUND:.0%}", abs(ratio - 1) <= BOUND)
            report.add("  difference", f"{low:+.2f} to {high:+.2f} ms, p = {sign_test(differences):.2f}")


def bootstrap(differences, resamples=2000):
    medians = sorted(
        statistics.median(random.choices(differences, k=len(differences))) for _ in range(resamples)
    )
    return medians[round(resamples * 0.005)], medians[round(resamples * 0.995) - 1]


def sign_test(differences):
    """The probability of signs at least as uneven as these if neither was likelier."""
    plus, minus = sum(d > 0 for d in differences), sum(d < 0 for d in differences)
    tail = sum(math.comb(plus + minus, k) for k in range(min(plus, minus) + 1))
    return min(1, 2 * tail / 2 ** (plus + minus))
