"""Firefox, driven through firefox.mjs: one line of JSON for each order and for its result."""

import json
import subprocess
from pathlib import Path

from sites import HOSTS

HERE = Path(__file__).resolve().parent
NODE = HERE.parents[1] / "target" / "test-node"


class Firefox:
    def __init__(self, program, folder):
        packages = NODE / "node_modules"
        assert packages.is_dir(), f"{packages} is missing; script/install installs it"
        home = folder / "firefox"
        home.mkdir()
        self.process = subprocess.Popen(
            ["node", HERE / "firefox.mjs", NODE, program, home, *HOSTS],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def follow(self, **order):
        """Signs up at a link and then opens another one, in a new profile. Returns the pages that were seen."""
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        assert line, "Firefox ended"
        result = json.loads(line)
        assert "error" not in result, result["error"]
        return result

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
