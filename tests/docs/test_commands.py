"""Runs the commands of each document against a server, twice in a row, as somebody would who follows the page.

What a page elides with `…` in the body of a request comes from the last answer that has a member of that name. Statuses that
a page shows behind `#` are compared, and so are the members of the answers that it shows whole."""

import json
import re
import shlex
import subprocess
from contextlib import nullcontext

import pytest
from documents import blocks, code_spans, commands, documents
from exceptions import FILLED, RUN, reason_of, uses
from harness import BINARY, PATIENCE_SECONDS
from harness.process import environment
from stage import Stage, whole

BLOCKS = blocks("sh", "console")
PAGES = sorted({block.document for block in BLOCKS})


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_work_twice_in_a_row(page, tmp_path):
    faults = []
    of_page = [block for block in BLOCKS if block.document == page]
    with Stage(tmp_path, page) if any(map(is_run, of_page)) else nullcontext() as stage:
        for again in False, True:
            for block in of_page:
                faults += [f"{'again' if again else 'once'}: {fault}" for fault in follow(stage, block, again)]
    assert not faults, "\n\n".join(faults)


def is_run(block):
    return any(not reason_of(block, command.text, programs_of(command.text)) for command in commands(block))


def follow(stage, block, again):
    """Runs the commands of a block. Yields what is not as the page says."""
    if stage and re.search(r"\$(AUTH|TOKEN|URL)|ada@example.com", block.text):
        stage.fresh_ada()
    for command in commands(block):
        programs = programs_of(command.text)
        if reason_of(block, command.text, programs):
            yield from (f"{command.place}: {fault}" for fault in misread(command.text))
            continue
        if unknown := set(programs) - RUN:
            yield f"{command.place}\nruns {unknown}, which are in no table of exceptions.py"
            continue
        if before := uses("BEFORE", block.document, command.text):
            before(stage)
        code, printed, statuses = stage.run(filled(stage, command))
        if again and (refusal := uses("REFUSED_AGAIN", block.document, command.text)):
            if code != 1 or refusal not in printed:
                yield f"{command.place}\ndoes not say {refusal!r}, exits with {code} and prints:\n{printed}"
            continue
        if code != command.code:
            yield f"{command.place}\nexits with {code} and prints:\n{printed}"
        wanted, shown = expected_of_request(command)
        if wanted and statuses[-1:] != [wanted]:
            yield f"{command.place}\nis answered with {statuses}, not {wanted}:\n{printed}"
        differs = uses("DIFFERS", block.document, command.text)
        if shown is not None and not differs and members(shown) != members(stage.last):
            yield f"{command.place}\nis answered with other members than those that are shown:\n{printed}"
        if block.language == "console" and command.shown and not differs:
            if not is_shown(command.shown, printed):
                yield f"{command.place}\nprints other lines than those that are shown:\n{printed}"


def filled(stage, command):
    """The command with what this run has in place of examples."""
    text = command.text
    for (document, example), value in FILLED.items():
        if document == command.block.document and example in text:
            uses("FILLED", document, example)
            text = text.replace(example, value(stage))

    def answered(match):
        return f'"{match[1]}":"{stage.answers[match[1]]}"' if match[1] in stage.answers else match[0]

    return re.sub(r'"(\w+)":"[^"]*…"', answered, text)


def expected_of_request(command):
    """The status and the JSON that a page shows for a request, in a comment after it."""
    found = re.match(r"# (\d{3})\b:? ?(.*)", command.shown[0]) if command.shown else None
    if not found or command.block.language == "console":
        return None, None
    try:
        return int(found[1]), json.loads(re.sub(r",?…(?=[\]}])", "", found[2]))
    except ValueError:
        return int(found[1]), None


def members(answer):
    """The names of the members. Those of nested objects and of the first of a list only if the page shows some."""
    if isinstance(answer, list):
        return [members(answer[0])] if answer else []
    return sorted(answer) if isinstance(answer, dict) else None


def is_shown(shown, printed):
    """Whether a run has printed these lines, whatever its ids, times and figures are. `…` is any text."""
    pattern = "".join(r"(?:.*\n)+" if line == "…" else re.escape(whole(line)).replace("…", ".+") + r"\n" for line in shown)
    return re.fullmatch(pattern, "".join(whole(line) + "\n" for line in printed.splitlines())) is not None


# --- what is not run -------------------------------------------------------------------------------------------------


def misread(text):
    """What the binary does not understand in its commands of this text."""
    for words in invocations(text):
        arguments = words[1:]
        end = arguments.index("--") if "--" in arguments else len(arguments)
        done = subprocess.run(
            [BINARY, *arguments[:end], "--help"],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        # A name in capitals stands for a value, and a page may name an option without one.
        if done.returncode and not re.search(r"invalid value '[A-Z]+'|a value is required", done.stderr):
            yield f"{shlex.join(words)}: {done.stderr.splitlines()[0]}"


def invocations(text):
    """The command lines of `doorward` in a command of a shell."""
    return [words for words in command_lines(text) if words[0] == "doorward"]


def programs_of(text):
    """The programs that a command of a shell runs. An assignment alone runs none."""
    programs = []
    for words in command_lines(text):
        words = [word for word in words if not re.match(r"[A-Z_]+=", word)]
        programs.append(words[0] if words else "")
    return programs


def command_lines(text):
    lexer = shlex.shlex(text, posix=True, punctuation_chars="|&;()<>")
    lexer.whitespace_split = True
    words, found = [], []
    for word in [*lexer, ";"]:
        if re.fullmatch(r"[|&;()]+", word):
            if words:
                found.append(words[: next((n for n, each in enumerate(words) if re.fullmatch("[<>]+", each)), None)])
            words = []
        else:
            words.append(word)
    return found


def spans():
    found = {}
    for document, text in documents().items():
        for span in code_spans(text):
            if span.startswith("doorward ") and not uses("EXCEPTED", document, span):
                found.setdefault(span, document)
    return found


def test_the_binary_knows_every_command_in_the_text():
    faults = []
    for span, document in spans().items():
        # A page may name several values, and elide what follows.
        text = re.sub(r"\[[^\]]*\]|…|\.\.\.|\\", "", span).split("|")[0]
        faults += [f"{document}: {fault}" for fault in misread(text)]
    assert not faults, "\n".join(faults)


def test_what_the_binary_does_not_know_is_found():
    assert list(misread("doorward user lst | jq .")) and list(misread("printf x | doorward user list --nme"))
    assert list(misread("doorward user list --role staff > file")) == []
