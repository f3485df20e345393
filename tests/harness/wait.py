"""Waiting for something to happen."""

import time

from harness import PATIENCE_SECONDS


def eventually(what, condition, seconds=PATIENCE_SECONDS, pause=0.02):
    """Polls a condition until it is true, and returns its value."""
    deadline = time.monotonic() + seconds
    while True:
        if outcome := condition():
            return outcome
        if time.monotonic() > deadline:
            raise TimeoutError(f"timed out after {seconds} s: {what}")
        time.sleep(pause)
