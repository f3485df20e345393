"""Makes ceremonies of three keys, most of them changed: in the client data, the authenticator data, the key, the attestation
object, the signature, or anywhere by a few bytes. Unless the signature is the change, it is right for the changed data, so that a
verifier has to find the change itself."""

import json
from hashlib import sha256

import cbor
from vectors import AT, BE, BS, ORIGIN, RP_ID, UP, UV, Random, base64url, eddsa, es256, none, packed_self, rs256

ED = 0x80
P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551


class Ceremony:
    """The parts of a registration or an assertion, which a change replaces before they are put together."""

    def __init__(self, random, key, is_registration):
        self.random, self.key, self.is_registration = random, key, is_registration
        self.challenge = random.randbytes(32)
        self.id = self.raw_id = random.randbytes(random.choice([16, 32, 64]))
        kind = "webauthn.create" if is_registration else "webauthn.get"
        self.client_fields = [("type", kind), ("challenge", base64url(self.challenge)), ("origin", ORIGIN), ("crossOrigin", False)]
        self.client_data = None
        self.rp_hash = sha256(RP_ID.encode()).digest()
        self.flags = UP | random.choice([0, UV]) | random.choice([0, BE, BE | BS]) | (AT if is_registration else 0)
        self.count = random.choice([0, 1, 2**32 - 1]).to_bytes(4)
        self.aaguid = random.randbytes(16)
        self.id_length = None
        self.cose = list(key.cose().items())
        self.cose_bytes = None
        self.extensions = self.tail = b""
        self.authenticator_data = None
        self.format, self.statement = "none", none
        self.entries = self.object = None
        self.change_signature = lambda signature: signature

    def input(self):
        client_data = self.client_data
        if client_data is None:
            client_data = json_object(self.client_fields)
        data = self.authenticator_data
        if data is None:
            data = self.rp_hash + bytes([self.flags]) + self.count
            if self.flags & AT:
                length = len(self.id) if self.id_length is None else self.id_length
                cose = cbor.entries(self.cose) if self.cose_bytes is None else self.cose_bytes
                data += self.aaguid + length.to_bytes(2) + self.id + cose
            data += self.extensions + self.tail
        signed = data, sha256(client_data).digest()
        response = {"clientDataJSON": client_data}
        if self.is_registration:
            entries = [("fmt", self.format), ("attStmt", self.statement(None, self.key)(*signed)), ("authData", data)]
            if self.entries:
                entries = self.entries(entries)
            encoded = cbor.entries(entries)
            response["attestationObject"] = self.object(encoded) if self.object else encoded
        else:
            response |= {"authenticatorData": data, "signature": self.change_signature(self.key.sign(b"".join(signed)))}
        raw_id = base64url(self.raw_id)
        credential = {"id": raw_id, "rawId": raw_id, "type": "public-key", "clientExtensionResults": {}}
        credential["response"] = {name: base64url(value) for name, value in response.items()}
        made = {"challenge": base64url(self.challenge), "credential": credential}
        if not self.is_registration:
            made |= {"credentialId": base64url(self.id), "publicKey": base64url(cbor.encode(self.key.cose()))}
        return made


def json_object(fields):
    """The fields as browsers write them. A field may be twice."""
    parts = (f"{json.dumps(name)}:{json.dumps(value, separators=(',', ':'))}" for name, value in fields)
    return f"{{{','.join(parts)}}}".encode()


# --- changes --------------------------------------------------------------------------------------------------------

CHANGES = {"both": [], "registration": [], "assertion": []}


def change(ceremony):
    def add(function):
        CHANGES[ceremony].append(function)
        return function

    return add


def a_few_bytes(data, random):
    data = bytearray(data)
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        place = random.randrange(len(data))
        match random.randrange(5):
            case 0 | 1:
                data[place] ^= 1 << random.randrange(8)
            case 2:
                data[place] = random.randrange(256)
            case 3:
                data.insert(place, random.randrange(256))
            case 4 if len(data) > 1:
                del data[place]
    return bytes(data)


@change("both")
def unchanged(_made, _random):
    pass


@change("both")
def client_field_value(made, random):
    name, values = random.choice(
        [
            ("type", ["webauthn.create", "webauthn.get", "", "webauthn.Create", "payment.get", None, 1]),
            ("challenge", [base64url(bytes(32)), base64url(made.challenge) + "=", base64url(made.challenge)[:-1], "", None, 1, []]),
            (
                "origin",
                ["http://example.org", "https://example.org/", "https://example.org:443", "https://EXAMPLE.org", "https://a.example.org"]
                + ["https://example.org.evil.test", "https://example.com", "example.org", "null", "", None, 7, [ORIGIN]],
            ),
            ("crossOrigin", [True, False, None, "true", "", 0, 1]),
        ]
    )
    value = random.choice(values)
    made.client_fields = [(other, value if other == name else old) for other, old in made.client_fields]


@change("both")
def client_field_more(made, random):
    more = random.choice(
        [
            ("topOrigin", random.choice(["https://example.com", ORIGIN, "", None])),
            ("tokenBinding", random.choice([{"status": "supported"}, {"status": "other"}, {}, "unused", None])),
            ("extraData", random.choice(["ü€😀", {"deep": [1, {"er": None}]}, 1e9, True])),
            ("androidPackageName", "org.example"),
        ]
    )
    made.client_fields.insert(random.randrange(len(made.client_fields) + 1), more)


@change("both")
def client_field_twice(made, random):
    name, value = random.choice(made.client_fields)
    if random.random() < 0.5:
        value = random.choice(["https://example.com", "webauthn.get", "webauthn.create", True, value])
    made.client_fields.insert(random.randrange(len(made.client_fields) + 1), (name, value))


@change("both")
def client_field_missing(made, random):
    del made.client_fields[random.randrange(len(made.client_fields))]


@change("both")
def client_fields_in_another_order(made, random):
    random.shuffle(made.client_fields)


@change("both")
def client_data_around(made, random):
    data = json_object(made.client_fields)
    made.client_data = random.choice(
        [b" \n" + data + b"\r\t ", data + b"x", data + b"\0", b"\xef\xbb\xbf" + data, data[:-1], data + data, b"[" + data + b"]", b""]
        + [b"null", data.replace(b"https", rb"\u0068ttps"), data.replace(b":", b" : "), data.replace(b"type", rb"t\u0079pe")]
        + [data.decode().encode("utf-16"), data[:-1] + b',"x":"\xff"}', data[:-1] + rb',"x":"\ud800"}', data[:-1] + b",}"]
        + [data[:-1] + b',"x":NaN}', data[:-1] + b',"x":01}', data[:-1] + b',"x":' + b"[" * 200 + b"]" * 200 + b"}"]
    )


@change("both")
def client_data_bytes(made, random):
    made.client_data = a_few_bytes(json_object(made.client_fields), random)


@change("both")
def flags(made, random):
    made.flags ^= 1 << random.randrange(8)


@change("both")
def all_flags(made, random):
    made.flags = random.randrange(256)


@change("both")
def domain(made, random):
    made.rp_hash = random.choice([sha256(b"example.com").digest(), bytes(32), a_few_bytes(made.rp_hash, random)])


@change("both")
def extensions(made, random):
    made.flags |= ED
    made.extensions = random.choice(
        [
            cbor.encode({"credProtect": 2}),
            cbor.encode({}),
            cbor.encode({"hmac-secret": True, "minPinLength": 4}),
            cbor.encode({"prf": {"results": {"first": bytes(32)}}}),
            cbor.encode([1]),
            cbor.encode("text"),
            cbor.encode(bytes(4)),
            b"\xa1",
            b"\xa2\x61a\x01\x61a\x02",
            b"\xbf\x61a\x01\xff",
            b"\xa1\x61a\x18\x01",
            b"\xa1\x61a\xf9\x3c\x00",
            b"\xa1\x61a\xf6",
            b"\xa1\x61a\xc1\x01",
            b"",
            b"\xff",
        ]
    )


@change("both")
def bytes_behind_the_authenticator_data(made, random):
    made.tail = random.choice([b"\0", b"\xa0", random.randbytes(3), cbor.encode({"credProtect": 2})])


@change("both")
def raw_id(made, random):
    made.raw_id = random.choice([a_few_bytes(made.raw_id, random), made.raw_id + b"\0", made.raw_id[:-1], bytes(16)])


@change("registration")
def length_of_the_id(made, random):
    made.id_length = random.choice([0, 1, len(made.id) - 1, len(made.id) + 1, 1023, 65535])


@change("registration")
def size_of_the_id(made, random):
    made.id = made.raw_id = random.randbytes(random.choice([1, 15, 255, 256, 1023, 1024, 2000]))


@change("registration")
def key_value(made, random):
    place = random.randrange(len(made.cose))
    label, value = made.cose[place]
    if isinstance(value, bytes):
        value = random.choice(
            [a_few_bytes(value, random), value[:-1], value + b"\0", b"\0" + value, bytes(len(value)), b"", value.hex(), True, 1]
            + [b"\xff" * len(value), value[:128], b"\x03", b"\x02", b"\x01"]
        )
    else:
        value = random.choice([-7, -8, -257, -35, -36, -37, -39, -47, -65535, -53, 0, 1, 2, 3, 4, 6, 7, 2**64 - 1, "EC2", b"\x01"])
    made.cose[place] = label, value


@change("registration")
def key_missing(made, random):
    del made.cose[random.randrange(len(made.cose))]


@change("registration")
def key_more(made, random):
    more = random.choice([(2, b"kid"), (4, [2]), ("text", 1), (-70000, b"private"), random.choice(made.cose)])
    made.cose.insert(random.randrange(len(made.cose) + 1), more)


@change("registration")
def key_in_another_order(made, random):
    random.shuffle(made.cose)


@change("registration")
def key_of_another_form(made, random):
    encoded = cbor.entries(made.cose)
    made.cose_bytes = random.choice(
        [
            b"\xbf" + encoded[1:] + b"\xff",
            b"\xb8" + bytes([len(made.cose)]) + encoded[1:],
            b"\xd8\x3d" + encoded,
            encoded.replace(b"\x03\x26", b"\x03\x38\x06").replace(b"\x03\x27", b"\x03\x38\x07"),
            encoded.replace(b"\x58\x20", b"\x59\x00\x20"),
            cbor.encode(list(dict(made.cose).values())),
            cbor.encode(encoded),
            b"\xa0",
            b"",
        ]
    )


@change("registration")
def key_bytes(made, random):
    made.cose_bytes = a_few_bytes(cbor.entries(made.cose), random)


@change("registration")
def statement_of_the_key_itself(made, random):
    made.format = "packed"
    made.statement = packed_self
    if random.random() < 0.5:
        made.object = lambda encoded: encoded.replace(b"csigX", b"csigX" if random.random() < 0.5 else b"cSigX")


@change("registration")
def statement(made, random):
    statement = random.choice([{}, {"alg": -7, "sig": bytes(70)}, {"x5c": [bytes(9)]}, {"a": 1}, {"ver": "2.0"}, [], b"", "", True])
    made.format = random.choice(["none", "none", "packed", "fido-u2f", "apple", "tpm", "android-key", "compound", "", "None", 1, b"none"])
    made.statement = lambda _random, _key: lambda _data, _hash: statement


@change("registration")
def entries_of_the_object(made, random):
    def changed(entries):
        match random.randrange(6):
            case 0:
                random.shuffle(entries)
            case 1:
                del entries[random.randrange(3)]
            case 2:
                entries.append(random.choice(entries))
            case 3:
                entries.insert(random.randrange(4), random.choice([("epAtt", False), ("largeBlobKey", bytes(32)), (1, "none")]))
            case 4:
                place = random.randrange(3)
                entries[place] = random.choice(["FMT", 1, b"fmt"]), entries[place][1]
            case 5:
                place = random.randrange(3)
                entries[place] = entries[place][0], random.choice([1, "", b"", [], {}, True, bytes(37)])
        return entries

    made.entries = changed


@change("registration")
def form_of_the_object(made, random):
    made.object = random.choice(
        [
            lambda encoded: encoded + b"\0",
            lambda encoded: encoded + encoded,
            lambda encoded: encoded[: random.randrange(len(encoded))],
            lambda encoded: b"\xbf" + encoded[1:] + b"\xff",
            lambda encoded: b"\xb8\x03" + encoded[1:],
            lambda encoded: b"\xd9\xd9\xf7" + encoded,
            lambda encoded: encoded.replace(b"cfmt", b"\x78\x03fmt"),
            lambda encoded: encoded.replace(b"authDataX", b"authDataY\0"),
            lambda encoded: encoded.replace(b"authDataX", b"authDatax"),
            lambda encoded: encoded.replace(b"attStmt\xa0", b"attStmt\xbf\xff"),
            lambda encoded: cbor.encode(encoded),
            lambda encoded: b"\x81" + encoded,
            lambda encoded: b"",
        ]
    )


@change("registration")
def bytes_of_the_object(made, random):
    made.object = lambda encoded: a_few_bytes(encoded, random)


@change("assertion")
def signature(made, random):
    def changed(signature):
        der = isinstance(made.key.cose().get(-3), bytes)
        choices = [lambda: a_few_bytes(signature, random)] * 3
        choices += [
            lambda: signature + b"\0",
            lambda: signature[:-1],
            lambda: b"\0" + signature,
            lambda: bytes(len(signature)),
            lambda: b"",
            lambda: made.key.sign(b"another message"),
        ]
        if der:
            r, s = integers(signature)
            choices += [
                # The other signature that ECDSA allows for the message.
                lambda: der_signature(r, P256_ORDER - s),
                lambda: der_signature(s, r),
                lambda: der_signature(r + P256_ORDER, s),
                lambda: der_signature(0, s),
                lambda: der_signature(r, 0),
                lambda: r.to_bytes(32) + s.to_bytes(32),
                # Longer forms than DER allows.
                lambda: b"\x30\x81" + signature[1:],
                lambda: der_signature(r, s, padding=b"\0"),
            ]
        return random.choice(choices)()

    made.change_signature = changed


def integers(signature):
    length = signature[3]
    return int.from_bytes(signature[4 : 4 + length]), int.from_bytes(signature[6 + length :])


def der_signature(r, s, padding=b""):
    def integer(number):
        data = padding + number.to_bytes(number.bit_length() // 8 + 1)
        return bytes([2, len(data)]) + data

    data = integer(r) + integer(s)
    return bytes([0x30, len(data)]) + data


@change("assertion")
def signature_of_another_key(made, random):
    made.change_signature = lambda _signature: es256(Random("another key")).sign(random.randbytes(69))


@change("assertion")
def a_new_credential(made, random):
    made.flags |= AT
    if random.random() < 0.5:
        made.cose_bytes = random.choice([b"\xa0", b"\x01", b"", b"\xff"])


@change("assertion")
def bytes_of_the_authenticator_data(made, random):
    made.authenticator_data = a_few_bytes(made.rp_hash + bytes([made.flags]) + made.count, random)


def inputs(number, random):
    """Pairs of the name of a change and the input."""
    keys = [es256(Random("a key")), eddsa(Random("a key")), rs256(None)]
    for at in range(number):
        is_registration = at % 2 == 0
        # Signatures of RSA take longest.
        made = Ceremony(random, random.choices(keys, [12, 12, 1])[0], is_registration)
        possible = CHANGES["both"] + CHANGES["registration" if is_registration else "assertion"]
        function = possible[at // 2 % len(possible)]
        function(made, random)
        yield function.__name__, made.input()
