"""What stands in a mail: its text, its link and its code, as a person sees them."""

import re
from functools import cached_property
from html import unescape
from urllib.parse import parse_qsl, urlsplit

from harness import PATIENCE_SECONDS

LINK = re.compile(r"https?://[^\s\"'<>]+")
CODE = re.compile(r"(?<![\w-])\d{4} \d{4}(?![\w-])")
TAGS = re.compile(r"<style.*?</style>|<[^>]*>", re.DOTALL)


class Letter:
    """A mail with a part of text and one of HTML, which say the same."""

    def __init__(self, message):
        self.message = message

    def __getitem__(self, name):
        """The value of a header that occurs once."""
        [value] = self.message.get_all(name)
        return str(value)

    @cached_property
    def text(self):
        return self.message.get_body(("plain",)).get_content()

    @cached_property
    def html(self):
        return self.message.get_body(("html",)).get_content()

    @property
    def words(self):
        """The text without its line breaks."""
        return " ".join(self.text.split())

    @property
    def subject(self):
        return self["Subject"]

    @property
    def link(self):
        links = set(LINK.findall(self.text))
        assert len(links) == 1, self.text
        hrefs = {unescape(href) for href in re.findall(r'href="([^"]*)"', self.html)}
        assert hrefs == links, (hrefs, links)
        return links.pop()

    @property
    def path(self):
        return urlsplit(self.link).path

    @property
    def secret(self):
        """The one-time secret in the link."""
        [(_, secret), *others] = parse_qsl(urlsplit(self.link).query)
        # Where the link leads back to is no secret.
        assert [name for name, _ in others] in ([], ["for"]), self.link
        assert re.fullmatch(r"[\w-]{43}", secret, re.ASCII), self.link
        return secret

    @property
    def code(self):
        """The code that can be typed."""
        codes = CODE.findall(self.text)
        assert len(codes) == 1, self.text
        assert CODE.findall(TAGS.sub(" ", self.html)) == codes, self.html
        return codes[0]

    def secrets(self):
        """Every text in it that nobody else may know."""
        secrets = [parse_qsl(urlsplit(link).query)[0][1] for link in LINK.findall(self.text) if "=" in link]
        for code in CODE.findall(self.text):
            secrets += [code, code.replace(" ", "")]
        return secrets


def letters_to(server, address):
    return [Letter(mail) for mail in list(server.mails) if mail["To"] == address]


def wait_for_letter(server, address, count=1):
    """Waits until an address has got so many mails, and returns the last of them. A test reads each mail before it causes
    the next one."""
    server.wait_for(lambda: len(letters_to(server, address)) >= count, PATIENCE_SECONDS)
    letters = letters_to(server, address)
    assert len(letters) == count, [letter.subject for letter in letters]
    return letters[-1]
