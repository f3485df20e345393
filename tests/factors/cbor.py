"""Writes CBOR, with the keys of maps in the given order."""


def encode(value):
    match value:
        case bool():
            return b"\xf5" if value else b"\xf4"
        case int() if value >= 0:
            return head(0, value)
        case int():
            return head(1, -1 - value)
        case bytes():
            return head(2, len(value)) + value
        case str():
            return head(3, len(value.encode())) + value.encode()
        case list():
            return head(4, len(value)) + b"".join(map(encode, value))
        case dict():
            return entries(value.items())
    raise TypeError(value)


def entries(pairs):
    """A map, in which a key may be twice."""
    pairs = list(pairs)
    return head(5, len(pairs)) + b"".join(encode(key) + encode(value) for key, value in pairs)


def head(major, number):
    for info, limit in enumerate([1 << 8, 1 << 16, 1 << 32, 1 << 64], 24):
        if number < 24:
            return bytes([major << 5 | number])
        if number < limit:
            return bytes([major << 5 | info]) + number.to_bytes(1 << info - 24)
    raise ValueError(number)
