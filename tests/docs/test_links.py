"""Every relative link of every document leads to a file, and to a heading in it."""

import re

from documents import anchors, documents, links, resolved
from harness import REPOSITORY


def test_every_link_leads_somewhere():
    broken = []
    for document, text in documents().items():
        for target in links(text):
            if re.match(r"[a-z]+:", target):
                continue
            file, anchor = resolved(document, target)
            if not file.is_relative_to(REPOSITORY) or not file.exists():
                broken.append(f"{document}: {target}: there is no such file")
            elif anchor and (file.suffix != ".md" or anchor not in anchors(file.read_text())):
                broken.append(f"{document}: {target}: there is no such heading")
    assert broken == []


def test_a_link_to_a_heading_that_is_gone_is_found():
    text = "# One\n\n## Two `of` them\n\n## Two of them\n\n[a](other.md#x) ![b](b.png) [c](#two-of-them-1)\n"
    assert anchors(text) == {"one", "two-of-them", "two-of-them-1"}
    assert links(text) == ["other.md#x", "b.png", "#two-of-them-1"]
