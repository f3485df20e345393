"""What a mail offers: its link and its code."""

import re

from harness import PATIENCE_SECONDS


def mails_to(server, address):
    return [mail for mail in list(server.mails) if mail["To"] == address]


def newest_mail(server, address, count=1):
    """What the last of so many mails offers, once they have arrived."""
    server.wait_for(lambda: len(mails_to(server, address)) >= count, PATIENCE_SECONDS)
    text = mails_to(server, address)[count - 1].get_body(("plain",)).get_content()
    link = re.search(r"https?://\S+?[?&](?:code|invitation)=([\w-]{43})", text)
    code = re.search(r"(?<![\w-])\d{4} \d{4}(?![\w-])", text)
    return {"secret": link and link[1], "code": code and code[0]}
