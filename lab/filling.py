"""Adds users to a database by SQL: a million of them takes seconds. Each has a session and the password of a user who is
already there. `lab/growth` and `bench/run` use it."""

import contextlib
import hashlib
import sqlite3
import time
import uuid

USER = "id, name, email, email_key, password_hash, password_version, roles, disabled, created_at, updated_at, email_verified"
SESSION = "id, user_id, token_id, created_at, last_seen_at, authenticated_at, expires_at, idle_ms, methods, address, user_agent"
HASH = "SELECT password_hash FROM users"
LIFETIME_MS = 30 * 86_400_000


def identity(number, kind="user"):
    """An id that Python and SQL compute alike, distributed like a random one."""
    return uuid.UUID(hashlib.md5(f"{kind} {number}".encode()).hexdigest())


def email_of(number):
    return f"grown-{number}@example.com"


def fill_sqlite(file, users):
    """Adds users to a database that a service has created and does not use now."""
    now = now_ms()
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        ((password_hash,),) = database.execute(HASH).fetchall()
        database.execute("BEGIN")
        # Inserts in index order are many times faster.
        numbers = sorted(range(users), key=identity)
        database.executemany(
            f"INSERT INTO users ({USER}) VALUES (?, ?, ?, ?, ?, 0, '', 0, ?, ?, 0)",
            (
                (identity(number).bytes, f"Name {number}", email_of(number), email_of(number), password_hash, now, now)
                for number in numbers
            ),
        )
        sessions = sorted((identity(number, "session"), number) for number in range(users))
        database.executemany(
            f"INSERT INTO sessions ({SESSION}) VALUES (?, ?, ?, ?, ?, ?, ?, 0, 'password', '192.0.2.7', 'lab')",
            (
                (session.bytes, identity(number).bytes, identity(number, "token").bytes, now, now, now, now + LIFETIME_MS)
                for session, number in sessions
            ),
        )
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def fill_postgres(session, users):
    """Adds users through a connection of the superuser."""
    now = now_ms()
    numbers = f"generate_series(0, {users - 1}) AS n"
    email = "'grown-' || n || '@example.com'"
    ((password_hash,),) = session.query(HASH)
    session.query(
        f"INSERT INTO users ({USER}) SELECT md5('user ' || n)::uuid, 'Name ' || n, {email}, {email},"
        f" '{password_hash}', 0, '', false, {now}, {now}, false FROM {numbers}"
    )
    session.query(
        f"INSERT INTO sessions ({SESSION}) SELECT md5('session ' || n)::uuid, md5('user ' || n)::uuid,"
        f" md5('token ' || n)::uuid, {now}, {now}, {now}, {now + LIFETIME_MS}, 0, 'password', '192.0.2.7', 'lab' FROM {numbers}"
    )
    # The server does this automatically after a while.
    session.query("VACUUM ANALYZE")
    session.query("CHECKPOINT")


def now_ms():
    return int(time.time() * 1000)
