"""Every block names a language that is known here, so that no command and no settings escape the tests of this folder."""

import re

from documents import Block, all_blocks

# test_commands.py and test_settings.py run these, with the exceptions in exceptions.py.
RUN = {"console", "sh", "toml"}
# What is shown: output of programs, and what other programs read. `text` and a block without a language are for output only.
SHOWN = {"", "crontab", "dockerfile", "html", "http", "http-rooms", "ini", "js", "json", "python", "rooms", "rust", "sql", "text", "ts", "yaml"}
# The program in a line of a shell, also after a prompt, a variable or another program. A message begins with `doorward: `, and prose
# has backquotes.
COMMAND = re.compile(r"(^|[\s|;&(])(\S*/)?doorward +(-{1,2})?[a-z]", re.MULTILINE)


def faults(blocks):
    for block in blocks:
        if block.language not in RUN | SHOWN:
            yield f"{block.place}: {block.language}: no test knows this language: sh, console and toml are run"
        elif block.language in ("", "text") and COMMAND.search(block.text):
            yield f"{block.place}: has a command of doorward, and is not run: its language is sh or console"


def test_every_block_has_a_language_that_a_test_knows_and_none_hides_a_command():
    assert list(faults(all_blocks())) == []


def test_what_would_escape_is_found():
    def is_found(language, text):
        return bool(list(faults([Block("docs/x.md", 1, language, text)])))

    for hidden in ("doorward user list\n", "$ doorward serve\n", "cd x && /usr/bin/doorward --version\n", "echo x | doorward user add\n"):
        assert is_found("", hidden) and is_found("text", hidden), hidden
        assert not is_found("sh", hidden)
    for output in ("doorward: doorward.toml:1:1: no\n", "doorward/   the handle\n", "made by doorward 0.2.0\n", "doorward-backup\n"):
        assert not is_found("", output), output
    for unknown in ("bash", "shell", "sh x", "TOML"):
        assert is_found(unknown, "true\n"), unknown
