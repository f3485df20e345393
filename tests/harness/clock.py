"""A clock that is ahead or behind, for a program that is started with it."""

import struct
import subprocess
from pathlib import Path


def library(folder):
    """Builds the library that changes the time of day of a program, in the given folder."""
    path = Path(folder) / "clock.so"
    source = Path(__file__).with_name("clock.c")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path, source, "-ldl"], check=True)
    return path


def ahead(library, millis):
    """The environment of a program whose clock is ahead, or behind if the number is negative."""
    return {"LD_PRELOAD": str(library), "CLOCK_OFFSET_MILLIS": str(millis)}


class MovingClock:
    """A clock that a test moves forward while a program runs with it."""

    def __init__(self, folder):
        self.seconds = 0
        self._file = Path(folder) / "offset"
        self._file.write_bytes(struct.pack("=q", 0))
        self.variables = {"LD_PRELOAD": str(library(folder)), "CLOCK_OFFSET_FILE": str(self._file)}

    def forward(self, seconds):
        self.seconds += seconds
        with open(self._file, "r+b") as file:
            file.write(struct.pack("=q", self.seconds * 1000))
