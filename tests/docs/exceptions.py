"""What is not run, with the reason. The tests fail for an entry that fits nothing."""

# By document and how the block or the command begins.
EXCEPTED = {}
used = set()


def is_excepted(document, text):
    found = [key for key in EXCEPTED if key[0] == document and text.startswith(key[1])]
    used.update(found)
    return bool(found)
