"""The Markdown files of the repository: their blocks, commands, links and anchors."""

import os
import re
import shlex
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from harness import REPOSITORY

# Folders that are made by builds.
MADE = {"target", "node_modules", ".git"}


@dataclass(frozen=True)
class Block:
    """A fenced block: what stands between the fences, without the indentation of a list."""

    document: str
    line: int
    language: str
    text: str

    @property
    def place(self):
        return f"{self.document}:{self.line}"

    @property
    def first(self):
        return self.text.splitlines()[0]


@dataclass(frozen=True)
class Command:
    """A command of a block: its text, its exit code, the status and the lines that the page shows for it."""

    block: Block
    text: str
    code: int = 0
    shown: list = field(default_factory=list, compare=False)

    @property
    def place(self):
        return f"{self.block.place}: {self.text}"


@cache
def documents():
    """The path of each document, and its text."""
    found = {}
    for folder, folders, files in os.walk(REPOSITORY):
        folders[:] = sorted(set(folders) - MADE)
        for name in sorted(files):
            if name.endswith(".md"):
                path = Path(folder) / name
                found[str(path.relative_to(REPOSITORY))] = path.read_text()
    return found


def blocks(*languages):
    """The blocks of all documents in these languages."""
    return [block for block in all_blocks() if block.language in languages]


@cache
def all_blocks():
    found = []
    for document, text in documents().items():
        opened, lines = None, []
        for number, line in enumerate(text.splitlines(), 1):
            fence = re.match(r"( *)(```+)(.*)$", line)
            if opened is None and fence:
                opened, lines = (number, len(fence[1]), fence[2], fence[3].strip()), []
            elif opened and fence and fence[2] == opened[2] and not fence[3]:
                start, indentation, _, language = opened
                text_of_block = "".join(line[min(indentation, len(line) - len(line.lstrip())) :] + "\n" for line in lines)
                found.append(Block(document, start, language, text_of_block))
                opened = None
            elif opened:
                lines.append(line)
        assert opened is None, f"{document}: the block of line {opened[0]} does not end"
    return tuple(found)


def commands(block):
    """The commands of a block, in their order."""
    if block.language == "console":
        return list(_of_console(block))
    return list(_of_shell(block))


def _of_console(block):
    """After `$ `, with the lines that they print. A command goes on after a backslash."""
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)
    assert not parts[0], f"{block.place}: begins with no command"
    for part in parts[1:]:
        lines = part.splitlines()
        text = lines.pop(0)
        while text.endswith("\\"):
            text = text.removesuffix("\\").rstrip() + " " + lines.pop(0).strip()
        text, _, code = text.partition(" # exits with ")
        while lines and not lines[-1]:
            lines.pop()
        # What Doorward refuses is the last that it prints.
        refused = bool(lines) and any(line.startswith("doorward: ") for line in lines)
        yield Command(block, text, int(code or refused), lines)


def _of_shell(block):
    """One per line, unless a quoted text or a backslash goes on. The lines of comments after one tell about it."""
    lines, command = block.text.splitlines(), None
    while lines:
        line = lines.pop(0)
        if not line.strip() or line.startswith("#"):
            if command:
                command.shown.append(line)
            continue
        while line.endswith("\\") or _is_open(line):
            line = line.removesuffix("\\").rstrip() + ("\n" if _is_open(line) else " ") + lines.pop(0)
        text, _, comment = line.partition("   #")
        if command:
            yield command
        command = Command(block, text.rstrip(), 0, [f"#{comment}"] if comment else [])
    if command:
        yield command


def _is_open(line):
    try:
        shlex.split(line, comments=True)
        return False
    except ValueError:
        return True


def without_blocks(text):
    """The text of a document without its fenced blocks."""
    return re.sub(r"^ *```.*?^ *```$", "", text, flags=re.MULTILINE | re.DOTALL)


def code_spans(text):
    return re.findall(r"(?<!`)`([^`\n]+)`(?!`)", without_blocks(text))


def anchors(text):
    """The anchors of the headings, as GitHub makes them."""
    found = []
    for heading in re.findall(r"^#+ +(.+?) *$", without_blocks(text), re.MULTILINE):
        heading = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        number = sum(re.fullmatch(re.escape(anchor) + r"(-\d+)?", other) is not None for other in found)
        found.append(f"{anchor}-{number}" if number else anchor)
    return set(found) | set(re.findall(r'<a (?:id|name)="([^"]+)"', text))


def links(text):
    """The targets of the links and pictures in a document."""
    text = re.sub(r"(?<!`)`[^`\n]+`(?!`)", "", without_blocks(text))
    inline = re.findall(r"\]\(<?([^()\s>]+(?:\([^()\s]*\))?)>?(?: \"[^\"]*\")?\)", text)
    return [unquote(target) for target in inline + re.findall(r"^\[[^\]]+\]: +(\S+)", text, re.MULTILINE)]


def resolved(document, target):
    """The file of a relative link, and the anchor in it."""
    path, _, anchor = target.partition("#")
    file = (REPOSITORY / document).parent / path if path else REPOSITORY / document
    return Path(file).resolve(), anchor
