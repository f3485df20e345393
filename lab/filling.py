"""Adds users and events to a database by SQL: a million of them takes seconds. Each user has a session and the password of a
user who is already there. `lab/growth`, `lab/admin-cost` and `bench/run` use it."""

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


EVENT = "id, number, kind, subject_id, actor_id, salt, personal, record"
# Of ten events, one is a refusal.
KINDS = ["signed_in"] * 6 + ["signed_out", "password_changed", "sign_in_failed", "role_granted"]
PERSONAL = b"0123456789abcdef" + b'{"address":"192.0.2.7","userAgent":"lab"}'
RECORD = '{"actor":{"type":"user"}}'


def fill_sqlite_events(file, events, users, days=30):
    """Adds events, evenly distributed over the last days and over the users, as if they had been numbered."""
    now = now_ms()
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA synchronous = OFF")
        ((first,),) = database.execute("SELECT coalesce(max(number) + 1, 0) FROM audit_events").fetchall()
        database.execute("BEGIN")
        indexes = database.execute(
            "SELECT name, sql FROM sqlite_master WHERE tbl_name = 'audit_events' AND type = 'index' AND sql IS NOT NULL"
        ).fetchall()
        for name, _ in indexes:
            database.execute(f"DROP INDEX {name}")
        database.executemany(
            f"INSERT INTO audit_events ({EVENT}) VALUES (?, ?, ?, ?, NULL, zeroblob(16), ?, ?)",
            (event(number, first, events, users, now, days) for number in range(events)),
        )
        for _, sql in indexes:
            database.execute(sql)
        database.execute("COMMIT")
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def event(number, first, events, users, now, days):
    at = now - days * 86_400_000 + number * days * 86_400_000 // events
    id_ = at.to_bytes(6) + b"\x70\x00\x80\x00" + number.to_bytes(6)
    kind, user = KINDS[number % len(KINDS)], identity(number * 7919 % users)
    return id_, first + number, kind, user.bytes, PERSONAL, RECORD


def fill_postgres_events(session, events, users, days=30):
    """The same, through a connection of the superuser."""
    step = days * 86_400_000 / events
    start = now_ms() - days * 86_400_000
    kinds = ", ".join(f"'{kind}'" for kind in KINDS)
    session.query(
        f"INSERT INTO audit_events ({EVENT}) SELECT id, first.number + n, kind, subject, NULL, '\\x00', '\\x{PERSONAL.hex()}', '{RECORD}' "
        "FROM (SELECT n, at, (lpad(to_hex(at), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid AS id, "
        f"(ARRAY[{kinds}])[n % {len(KINDS)} + 1] AS kind, md5('user ' || n * 7919 % {users})::uuid AS subject "
        f"FROM (SELECT n, ({start} + n * {step})::bigint AS at FROM generate_series(0::bigint, {events - 1}) AS n) AS numbered) AS made, "
        "(SELECT coalesce(max(number) + 1, 0) AS number FROM audit_events) AS first"
    )
    session.query("VACUUM ANALYZE")
    session.query("CHECKPOINT")


def now_ms():
    return int(time.time() * 1000)
