"""The report of the benchmark: a table on the terminal, and a page with plots."""

import html
import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parent
PLOTS = BENCH / "plots"
BAR, GAP, LABEL, WIDTH = 22, 8, 230, 760


@dataclass
class Row:
    """A measurement, and its goal if there is one."""

    what: str
    value: str
    goal: str = ""
    met: bool | None = None

    @property
    def verdict(self):
        return {True: "met", False: "NOT MET", None: ""}[self.met]


class Report:
    """Rows under headings, and plots."""

    def __init__(self, command):
        self._command, self._sections = command, []
        self._load_before = os.getloadavg()[0]

    def section(self, title, *words):
        self._sections.append((title, words, [], []))

    def add(self, what, value, goal="", met=None):
        self._sections[-1][2].append(Row(what, value, goal, met))

    def at_least(self, what, ratio, goal, more=""):
        self.add(what, f"{ratio:.2f}x{more}", f">= {goal}x", round(ratio, 2) >= goal)

    def at_most(self, what, value, goal, unit, more="", digits=1):
        self.add(what, f"{value:.{digits}f}{unit}{more}", f"<= {goal}{unit}", round(value, digits) <= goal)

    def plot(self, name, title, unit, bars):
        """Horizontal bars: pairs of a label and a value."""
        self._sections[-1][3].append((name, title, bar_chart(title, unit, bars)))

    def print(self):
        rows = [row for _, _, rows, _ in self._sections for row in rows]
        widths = [max(len(cell) for cell in cells) for cells in zip(*((r.what, r.value, r.goal) for r in rows), strict=True)]
        for title, _, section, _ in self._sections:
            print(f"\n{title}")
            for row in section:
                cells = (row.what, row.value, row.goal)
                line = "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
                print(f"  {line}  {row.verdict}".rstrip())
        checked = [row for row in rows if row.met is not None]
        print(f"\n{sum(row.met for row in checked)} of {len(checked)} goals met")

    def write(self):
        PLOTS.mkdir(exist_ok=True)
        lines = ["# Results", "", f"Made by `{self._command}` on {time.strftime('%Y-%m-%d')}: {machine()}.", ""]
        lines += ["[README.md](README.md) explains how to read them. Each ratio is the median of the ratios of all rounds.", ""]
        lines += [f"The load average was {self._load_before:.1f} before and {os.getloadavg()[0]:.1f} after. The benchmark itself accounts for 2 to 3.", ""]
        for title, words, rows, plots in self._sections:
            lines += [f"## {title}", "", *words, *([""] if words else [])]
            lines += ["| what | measured | goal | |", "|---|---|---|---|"]
            lines += [f"| {row.what} | {row.value} | {row.goal} | {row.verdict} |" for row in rows]
            lines += ["", *(f"![{title}](plots/{name}.svg)\n" for name, title, _ in plots)]
            for name, _, chart in plots:
                (PLOTS / f"{name}.svg").write_text(chart)
        (BENCH / "RESULTS.md").write_text("\n".join(lines).rstrip() + "\n")


def machine():
    cpu = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    gib = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    rustc = subprocess.run(["rustc", "--version"], check=True, text=True, stdout=subprocess.PIPE).stdout.split()[1]
    cores = len(os.sched_getaffinity(0))
    name = cpu[1] if cpu else platform.machine()
    return f"{cores} cores ({name}), {gib:.0f} GiB, Linux {platform.release().split('-')[0]}, rustc {rustc}"


def bar_chart(title, unit, bars):
    """One series in one colour. Each bar is labelled with its value, so no axis is needed."""
    most = max(value for _, value in bars) or 1
    height = 40 + len(bars) * (BAR + GAP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="13">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="22" font-weight="bold" fill="#222222">{html.escape(title)}</text>',
    ]
    for place, (label, value) in enumerate(bars):
        top = 36 + place * (BAR + GAP)
        length = max(1, value / most * (WIDTH - LABEL - 130))
        middle = top + BAR / 2 + 4
        parts += [
            f'<text x="{LABEL - 8}" y="{middle}" text-anchor="end" fill="#222222">{html.escape(label)}</text>',
            f'<rect x="{LABEL}" y="{top}" width="{length:.1f}" height="{BAR}" rx="2" fill="#3b6ea5"/>',
            f'<text x="{LABEL + length + 6:.1f}" y="{middle}" fill="#222222">{figure(value)} {html.escape(unit)}</text>',
        ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def figure(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
