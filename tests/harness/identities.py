"""Accounts at other providers, as a sign-in there links them, for tests that have no provider."""

import sqlite3
import uuid


def link(database, user, subject="ada", login="work", display="ada@work.example", issuer="https://sso.example.com"):
    """Links one to the user with this id, in a database of SQLite. Returns its id."""
    id = uuid.uuid4()
    row = (id.bytes, uuid.UUID(user).bytes, issuer, subject, login, display, 1_772_439_330_123)
    with sqlite3.connect(database, timeout=60) as connection:
        connection.execute("INSERT INTO identities VALUES (?, ?, ?, ?, ?, ?, ?, NULL)", row)
    connection.close()
    return str(id)
