"""Connections to the server, ordinary ones and one for replication, and what the server says when it refuses.

The replication protocol is spoken through libpq itself (psycopg.pq): psycopg has no interface of its own for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg
from psycopg import conninfo

from barnabas.connect.errors import BadOption, Unavailable

_LINE_MAX = 400
# Values come as text in these forms whatever the database's settings are (types.py reads them).
_FORMS = "-c datestyle=ISO -c intervalstyle=iso_8601 -c timezone=UTC -c extra_float_digits=1 -c bytea_output=hex"
_SETTINGS = {
    "client_encoding": "UTF8",
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}

# What PostgreSQL says, and the way out of it.
_WAYS_OUT = (
    ("password authentication failed", "Check user and password"),
    ("no password supplied", "Give the option password"),
    ("no pg_hba.conf entry", "Allow this user and address for the database in pg_hba.conf"),
    ("must be superuser or replication role", "ALTER ROLE ... REPLICATION lets the user read changes"),
    ("permission denied to start WAL sender", "ALTER ROLE ... REPLICATION lets the user read changes"),
    ("permission denied to use replication slots", "ALTER ROLE ... REPLICATION lets the user read changes"),
    ("permission denied for table", "GRANT SELECT on it: the snapshot reads it"),
    ("permission denied for schema", "GRANT USAGE on it: the snapshot reads it"),
    ("permission denied for database", "GRANT CREATE ON DATABASE, or make the publication yourself"),
    ("must be owner of", "Make or change the publication as its owner, and name it in the option publication"),
    ("all replication slots are in use", "Drop slots that nobody uses, or raise max_replication_slots"),
    ("number of requested standby connections exceeds", "Raise max_wal_senders"),
    ("too many connections", "Raise max_connections, or close some"),
    (
        'publication ".*" does not exist',
        "The log has changes from before it was made: `barnabas connect reset` starts with a snapshot",
    ),
    ("can no longer get changes from replication slot", "`barnabas connect reset` starts with a snapshot"),
)


@contextmanager
def in_words(doing: str) -> Iterator[None]:
    """Every error of psycopg is one line, and is tried again later."""
    try:
        yield
    except psycopg.Error as problem:
        raise unavailable(doing, _said(problem)) from None


def _said(problem: psycopg.Error) -> str:
    if problem.diag.message_primary:
        detail = problem.diag.message_detail
        return problem.diag.message_primary + (f" ({detail})" if detail else "")
    return str(problem)


def unavailable(doing: str, said: str) -> Unavailable:
    line = re.sub(r"\s+", " ", said).strip()[:_LINE_MAX]
    # libpq names the address each time it tries one; what the server answered is at the end.
    line = re.sub(r"^connection failed: ", "", line)
    way_out = next((each for words, each in _WAYS_OUT if re.search(words, line)), "")
    return Unavailable(f"{doing}: {line}", way_out)


class Server:
    """How to reach it. The password is in no text of it."""

    def __init__(self, url: str, password: str, application: str) -> None:
        try:
            given = {name: str(value) for name, value in conninfo.conninfo_to_dict(url).items()}
        except psycopg.ProgrammingError:
            raise BadOption(
                "option 'url' of postgres is no address of a PostgreSQL database",
                "It looks like postgresql://user@host:5432/database",
            ) from None
        if not re.fullmatch(r"[\d,]*", given.get("port", "")):
            raise BadOption(f"option 'url' of postgres has the port {given['port']!r}", "A port is a number")
        if "replication" in given:
            raise BadOption("option 'url' of postgres: leave out replication, the source sets it")
        self.application = application
        self.database = given.get("dbname", given.get("user", ""))
        self.where = f"{given.get('host', 'localhost')}:{given.get('port', '5432')}/{self.database}"
        self._parameters: Mapping[str, str] = {
            **_SETTINGS,
            **given,
            **({"password": password} if password else {}),
            "options": f"{given.get('options', '')} {_FORMS}".strip(),
            "application_name": application,
        }

    def connect(self) -> psycopg.Connection:
        """Each statement is a transaction of its own."""
        with in_words(f"cannot connect to PostgreSQL at {self.where}"):
            return psycopg.connect(conninfo.make_conninfo("", **self._parameters), autocommit=True)

    def connect_for_replication(self) -> psycopg.Connection:
        """By psycopg as well: libpq's own call would hold Python, and every other connector, until it has timed out."""
        with in_words(f"cannot connect to PostgreSQL at {self.where} for replication"):
            parameters = conninfo.make_conninfo("", **self._parameters, replication="database")
            return psycopg.connect(parameters, autocommit=True)
