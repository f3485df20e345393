"""Files of other systems, with hashes made by the libraries of these systems.

Two are made here by their documentation, because no package makes them: version 3 of ASP.NET Identity, and Keycloak's credentials.
The unit tests compare the former with the vectors of ASP.NET Core."""

import base64
import csv
import hashlib
import io
import json
import os
import random
import struct
import subprocess
import uuid
from pathlib import Path

import argon2
import argon2.low_level
import bcrypt
import django
from django.conf import settings
from passlib.hash import pbkdf2_sha1, pbkdf2_sha256, pbkdf2_sha512, scrypt
from werkzeug.security import generate_password_hash

REPOSITORY = Path(__file__).resolve().parents[2]
NODE_PACKAGES = REPOSITORY / "target" / "test-node" / "node_modules"
SIGNER_KEY = "jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=="

settings.configure()
django.setup()
from django.contrib.auth import hashers  # noqa: E402


def node(kind, passwords, **parameters):
    given = json.dumps({"kind": kind, "passwords": passwords, "parameters": parameters})
    environment = os.environ | {"NODE_PATH": str(NODE_PACKAGES), "NODE_NO_WARNINGS": "1"}
    command = ["node", str(Path(__file__).with_name("hashes.cjs"))]
    done = subprocess.run(command, input=given, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def b64(data):
    return base64.b64encode(data).decode()


def spread(makers, passwords):
    """Each password hashed by one of the makers, in turn."""
    return [makers[number % len(makers)](password) for number, password in enumerate(passwords)]


def bcrypt_hash(prefix, cost):
    # The library refuses what bcrypt ignores.
    return lambda password: bcrypt.hashpw(password.encode()[:72], bcrypt.gensalt(cost, prefix)).decode()


def django_hash(name, **parameters):
    """One of Django's hashers with another cost."""
    hasher = type(name, (getattr(hashers, name),), parameters)()
    # The library refuses what bcrypt ignores.
    most = 72 if name == "BCryptPasswordHasher" else None
    return lambda password: hasher.encode(password[:most], hasher.salt())


def aspnet_v3(digest, iterations):
    number = {"sha1": 0, "sha256": 1, "sha512": 2}[digest]

    def make(password):
        salt = random.randbytes(16)
        key = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations, 32)
        return b64(b"\x01" + struct.pack(">III", number, iterations, len(salt)) + salt + key)

    return make


def keycloak_pbkdf2(algorithm, iterations):
    digest = {"pbkdf2": "sha1", "pbkdf2-sha256": "sha256", "pbkdf2-sha512": "sha512"}[algorithm]

    def make(password):
        salt = random.randbytes(16)
        value = hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations, 64)
        return keycloak_credential({"hashIterations": iterations, "algorithm": algorithm}, salt, value)

    return make


def keycloak_argon2(memory, passes):
    def make(password):
        salt = random.randbytes(16)
        value = argon2.low_level.hash_secret_raw(
            password.encode(), salt, passes, memory, 1, 32, argon2.low_level.Type.ID
        )
        parameters = {
            "hashLength": ["32"],
            "memory": [str(memory)],
            "type": ["id"],
            "version": ["1.3"],
            "parallelism": ["1"],
        }
        data = {"hashIterations": passes, "algorithm": "argon2", "additionalParameters": parameters}
        return keycloak_credential(data, salt, value)

    return make


def keycloak_credential(data, salt, value):
    secret = {"value": b64(value), "salt": b64(salt), "additionalParameters": {}}
    return {"type": "password", "credentialData": json.dumps(data), "secretData": json.dumps(secret)}


def as_csv(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def as_jsonl(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


class Format:
    """A system: its hashes with a low cost or with its own, and its export."""

    extension = "csv"
    arguments = ()

    def file(self, emails, hashes):
        return as_csv([{"id": n, "name": f"User {n}", "email": e, "hash": h} for n, (e, h) in enumerate(zip(emails, hashes))])

    def write(self, folder, people, *, cheap=True):
        """Writes the export of these people, which are addresses and passwords; returns the arguments of the command."""
        hashes = self.cheap([password for _, password in people]) if cheap else self.costly([p for _, p in people])
        path = folder / f"{type(self).__name__}.{self.extension}"
        path.write_text(self.file([email for email, _ in people], hashes))
        # Ids of one file are not those of another.
        return [str(path), *self.arguments, "--source", type(self).__name__]


class Argon2(Format):
    extension = "jsonl"

    def file(self, emails, hashes):
        return as_jsonl([{"id": str(uuid.uuid4()), "name": "Some One", "email": e, "hash": h} for e, h in zip(emails, hashes)])

    def cheap(self, passwords):
        kinds = [argon2.low_level.Type.ID, argon2.low_level.Type.I, argon2.low_level.Type.D]
        return spread([argon2.PasswordHasher(1, 64, 2, type=kind).hash for kind in kinds], passwords)

    def costly(self, passwords):
        return [argon2.PasswordHasher().hash(password) for password in passwords]


class Bcrypt(Format):
    def cheap(self, passwords):
        half = len(passwords) // 2
        made = spread([bcrypt_hash(b"2b", 4), bcrypt_hash(b"2a", 4)], passwords[:half])
        # PHP's prefix names the same algorithm.
        made[:10] = [hashed.replace("$2b$", "$2y$") for hashed in made[:10]]
        return made + node("bcryptjs", passwords[half:], cost=4)

    def costly(self, passwords):
        return [bcrypt_hash(b"2b", 12)(password) for password in passwords]


class Scrypt(Format):
    arguments = ("--scrypt", "1024,8,1")

    def cheap(self, passwords):
        half = len(passwords) // 2
        makers = [
            scrypt.using(rounds=6).hash,
            lambda password: generate_password_hash(password, "scrypt:1024:8:1"),
        ]
        return spread(makers, passwords[:half]) + node("node", passwords[half:], N=1024, r=8, p=1)

    def costly(self, passwords):
        return spread([scrypt.hash, lambda password: generate_password_hash(password, "scrypt")], passwords)


class Pbkdf2(Format):
    def cheap(self, passwords):
        makers = [kind.using(rounds=100).hash for kind in (pbkdf2_sha1, pbkdf2_sha256, pbkdf2_sha512)]
        makers.append(lambda password: generate_password_hash(password, "pbkdf2:sha256:100"))
        return spread(makers, passwords)

    def costly(self, passwords):
        return spread([pbkdf2_sha1.hash, pbkdf2_sha256.hash, pbkdf2_sha512.hash], passwords)


class Firebase(Format):
    extension = "json"
    mem_cost = 5

    def cheap(self, passwords, mem_cost=5):
        self.mem_cost = mem_cost
        return node("firebase", passwords, memCost=mem_cost, rounds=8, saltSeparator="Bw==", signerKey=SIGNER_KEY)

    def costly(self, passwords):
        return self.cheap(passwords, 14)

    def file(self, emails, hashes):
        users = [
            {
                "localId": f"user{number}",
                "email": email,
                "emailVerified": True,
                "passwordHash": made["hash"],
                "salt": made["salt"],
                "displayName": "Some One",
                "createdAt": "1714979289123",
                "providerUserInfo": [],
            }
            for number, (email, made) in enumerate(zip(emails, hashes))
        ]
        return json.dumps({"users": users})

    def write(self, folder, people, *, cheap=True):
        arguments = super().write(folder, people, cheap=cheap)
        config = folder / "firebase-hash-config"
        config.write_text(
            f"hash_config {{\n  algorithm: SCRYPT,\n  base64_signer_key: {SIGNER_KEY},\n"
            f"  base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: {self.mem_cost},\n}}\n"
        )
        return [*arguments, "--from", "firebase", "--firebase-config", str(config)]


class Django(Format):
    extension = "json"
    arguments = ("--from", "django")

    def cheap(self, passwords):
        makers = [
            django_hash("PBKDF2PasswordHasher", iterations=100),
            django_hash("PBKDF2SHA1PasswordHasher", iterations=100),
            django_hash("Argon2PasswordHasher", memory_cost=64, time_cost=1, parallelism=2),
            django_hash("BCryptPasswordHasher", rounds=4),
            django_hash("BCryptSHA256PasswordHasher", rounds=4),
            django_hash("ScryptPasswordHasher", work_factor=2**6),
        ]
        return spread(makers, passwords)

    def costly(self, passwords):
        names = ["PBKDF2", "Argon2", "BCryptSHA256", "Scrypt"]
        return spread([django_hash(f"{name}PasswordHasher") for name in names], passwords)

    def file(self, emails, hashes):
        users = [
            {
                "model": "auth.user",
                "pk": number,
                "fields": {
                    "password": made,
                    "last_login": None,
                    "is_superuser": False,
                    "username": f"user{number}",
                    "first_name": "Some",
                    "last_name": "One",
                    "email": email,
                    "is_active": True,
                    "date_joined": "2024-05-06T07:08:09.123Z",
                    "groups": [],
                },
            }
            for number, (email, made) in enumerate(zip(emails, hashes), 1)
        ]
        return json.dumps([{"model": "auth.group", "pk": 1, "fields": {"name": "staff"}}, *users])


class Aspnet(Format):
    arguments = ("--from", "aspnet")

    def cheap(self, passwords):
        half = len(passwords) // 2
        makers = [aspnet_v3("sha1", 10), aspnet_v3("sha256", 10), aspnet_v3("sha512", 10)]
        return node("aspnet", passwords[:half]) + spread(makers, passwords[half:])

    def costly(self, passwords):
        return spread([aspnet_v3("sha512", 100_000), aspnet_v3("sha256", 10_000)], passwords)

    def file(self, emails, hashes):
        rows = [
            {
                "Id": str(uuid.uuid4()),
                "UserName": email,
                "NormalizedUserName": email.upper(),
                "Email": email,
                "EmailConfirmed": "True",
                "PasswordHash": made,
                "LockoutEnd": "",
            }
            for email, made in zip(emails, hashes)
        ]
        return as_csv(rows)


class Pocketbase(Format):
    arguments = ("--from", "pocketbase")

    def cheap(self, passwords, cost=4):
        return [bcrypt_hash(b"2a", cost)(password) for password in passwords]

    def costly(self, passwords):
        return self.cheap(passwords, 10)

    def file(self, emails, hashes):
        rows = [
            {
                "id": f"{number:015}",
                "email": email,
                "name": "Some One",
                "verified": "true",
                "password": made,
                "created": "2024-05-06 07:08:09.123Z",
            }
            for number, (email, made) in enumerate(zip(emails, hashes))
        ]
        return as_csv(rows)


class Supabase(Pocketbase):
    arguments = ("--from", "supabase")

    def file(self, emails, hashes):
        rows = [
            {
                "id": str(uuid.uuid4()),
                "email": email,
                "encrypted_password": made,
                "email_confirmed_at": "2024-05-06 07:08:09.123456+00",
                "created_at": "2024-05-06 07:08:09.123456+00",
                "raw_user_meta_data": '{"name": "Some One"}',
                "raw_app_meta_data": '{"provider": "email"}',
                "banned_until": "",
            }
            for email, made in zip(emails, hashes)
        ]
        return as_csv(rows)


class Keycloak(Format):
    extension = "json"
    arguments = ("--from", "keycloak")

    def cheap(self, passwords):
        makers = [keycloak_pbkdf2(name, 100) for name in ("pbkdf2", "pbkdf2-sha256", "pbkdf2-sha512")]
        return spread([*makers, keycloak_argon2(64, 1)], passwords)

    def costly(self, passwords):
        return spread([keycloak_argon2(7168, 5), keycloak_pbkdf2("pbkdf2-sha512", 210_000)], passwords)

    def file(self, emails, hashes):
        users = [
            {
                "id": str(uuid.uuid4()),
                "username": email,
                "firstName": "Some",
                "lastName": "One",
                "email": email,
                "emailVerified": True,
                "enabled": True,
                "createdTimestamp": 1714979289123,
                "credentials": [{"type": "otp", "secretData": "{}"}, made],
                "realmRoles": ["default-roles-test", "staff"],
            }
            for email, made in zip(emails, hashes)
        ]
        return json.dumps({"realm": "test", "users": users})


FORMATS = [Argon2, Bcrypt, Scrypt, Pbkdf2, Firebase, Django, Aspnet, Pocketbase, Supabase, Keycloak]
