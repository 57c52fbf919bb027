"""What PostgreSQL's errors mean to a sink: a row is bad, or the whole database is not to be had now."""

from __future__ import annotations

import re

import psycopg

from barnabas.connect.errors import Unavailable

_LENGTH_MAX = 300
# Classes of SQLSTATE: data exception, integrity constraint violation, and two rows of one statement that are the same
# key to the database (by a collation that ignores case): alone, each goes in.
_DATA_CLASSES = frozenset(("22", "23", "21"))
_DATA_STATES = frozenset(
    (
        "44000",  # WITH CHECK OPTION of a view
        "54000",  # a row, or an entry of an index, is larger than a page
        "P0001",  # RAISE EXCEPTION of a trigger
    )
)
_WAYS_OUT = {
    "28P01": "Check the user in url, and password",
    "28000": "Check the user in url, and pg_hba.conf of the server",
    "3D000": "Create the database, or correct url",
    "42501": "Grant the user this right, or create what it needs by hand",
    "42P10": "The key needs a primary key or a unique constraint in the table: ALTER TABLE ... ADD PRIMARY KEY",
    "25006": "This server is a standby: name the primary in url, or all servers with target_session_attrs=read-write",
    "53100": "Free space on the server's disk",
    "53300": "Lower the option connections, or raise max_connections of the server",
    "55P03": "Another session holds a lock on the table: see pg_stat_activity and pg_locks",
}
# libpq gives no SQLSTATE while it connects.
_CONNECTING = {
    "password authentication failed": "28P01",
    "no password supplied": "28P01",
    "no pg_hba.conf entry": "28000",
    "too many connections": "53300",
    "too many clients": "53300",
    "remaining connection slots": "53300",
    "does not exist": "3D000",
}
_PREFIX = re.compile(r'^connection failed: connection to server at "[^"]*", port [0-9]+ failed: (FATAL: )?')


def refuses_data(problem: Exception) -> bool:
    """Whether the values are to blame, and would be again."""
    if isinstance(problem, psycopg.Error) and problem.sqlstate is not None:
        return problem.sqlstate[:2] in _DATA_CLASSES or problem.sqlstate in _DATA_STATES
    # Refused before they were sent: a NUL in text, half of a surrogate pair.
    return isinstance(problem, psycopg.DataError | UnicodeEncodeError)


def in_words(problem: Exception) -> str:
    """One line. Details are left out: they show the row."""
    if isinstance(problem, psycopg.Error) and problem.diag.message_primary:
        text = problem.diag.message_primary
        constraint = problem.diag.constraint_name
        return text if not constraint or constraint in text else f"{text} ({constraint})"
    return " ".join(str(problem).split())[:_LENGTH_MAX]


def unavailable(database: str, problem: psycopg.Error) -> Unavailable:
    text = in_words(problem)
    state = problem.sqlstate or next((state for words, state in _CONNECTING.items() if words in text), "")
    text = _PREFIX.sub("", text)  # the name says where
    return Unavailable(f"{database}: {text}", _WAYS_OUT.get(state, ""))
