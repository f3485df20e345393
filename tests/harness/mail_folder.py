"""The mails that a service has written into a folder."""

from dataclasses import dataclass
from email import message_from_bytes, policy


@dataclass(frozen=True)
class Mail:
    to: str
    subject: str
    text: str


class MailFolder:
    """Reads each file once: parsing all of them again at each look takes longer than the rest of a suite."""

    def __init__(self, folder):
        self._folder, self._mails = folder, {}

    def to(self, address):
        """The mails to an address, the oldest first: the name of a file begins with the time at which the mail was made."""
        for path in self._folder.glob("*.eml"):
            if path.name not in self._mails:
                self._mails[path.name] = parsed(path)
        return [mail for _, mail in sorted(self._mails.items()) if mail.to == address]


def parsed(path):
    message = message_from_bytes(path.read_bytes(), policy=policy.default)
    return Mail(str(message["To"]), str(message["Subject"]), message.get_body(("plain",)).get_content())
