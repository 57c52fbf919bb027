"""Messages of PostgreSQL's output plugin pgoutput, protocol version 1, values as text.

https://www.postgresql.org/docs/current/protocol-logicalrep-message-formats.html. Every function takes the message and
the place where it is to read on. What is cut off or malformed raises BadMessage (or what `guarded` turns into it), and
nothing is read twice, so that the time is bounded by the length.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from barnabas.connect.connectors.postgres.capture.types import Convert, lenient_text, text
from barnabas.connect.contract import Value
from barnabas.connect.errors import Unavailable

Row = dict[str, Value]
Steps = Sequence[tuple[str, Convert]]  # of each column, in the order of the message

BEGIN, COMMIT, RELATION, INSERT, UPDATE, DELETE, TRUNCATE = b"BCRIUDT"
IGNORED = frozenset(b"YOM")  # types (the catalog is asked), origins, messages of applications
NEW, OLD, KEY = b"NOK"
_TEXT, _NULL, _UNCHANGED = b"tnu"

_length = struct.Struct(">I").unpack_from
_count = struct.Struct(">H").unpack_from
_begin = struct.Struct(">QqI").unpack_from
_commit = struct.Struct(">BQQq").unpack_from
_truncate = struct.Struct(">IB").unpack_from
_column = struct.Struct(">Ii").unpack_from


class BadMessage(Unavailable):
    """The server sent what is no message of pgoutput."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"PostgreSQL sent a message that cannot be read: {problem}")


class Unchanged:
    """Stands for a large value that an UPDATE left as it was: the server does not send it (TOAST)."""

    def __repr__(self) -> str:
        return "unchanged"


UNCHANGED: Final = Unchanged()


@contextmanager
def guarded() -> Iterator[None]:
    """Around all that reads messages: every way in which reading fails is one error."""
    try:
        yield
    except (struct.error, LookupError, ValueError, ArithmeticError) as problem:
        raise BadMessage(f"{type(problem).__name__}: {str(problem)[:200]}") from problem


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    is_key: bool  # of the replica identity
    type_oid: int


@dataclass(frozen=True, slots=True)
class RelationMessage:
    oid: int
    schema: str
    table: str
    identity: str  # d: the primary key, i: an index, f: the whole row, n: nothing
    columns: tuple[Column, ...]


def read_begin(data: bytes, at: int) -> tuple[int, int, int]:
    """Where the commit record stands, when it was written (microseconds since 2000), and the transaction's id."""
    commit_lsn, time_us, xid = _begin(data, at)
    return commit_lsn, time_us, xid


def read_commit(data: bytes, at: int) -> int:
    """The LSN after the commit record."""
    end_lsn: int = _commit(data, at)[2]
    return end_lsn


def read_relation(data: bytes, at: int) -> RelationMessage:
    oid: int = _length(data, at)[0]
    schema, at = _string(data, at + 4)
    table, at = _string(data, at)
    identity = chr(data[at])
    count = _count(data, at + 1)[0]
    at += 3
    columns = []
    for _ in range(count):
        is_key = bool(data[at] & 1)
        name, at = _string(data, at + 1)
        columns.append(Column(name, is_key, _column(data, at)[0]))
        at += 8
    check_end(data, at)
    # Nothing but the empty name stands for pg_catalog.
    return RelationMessage(oid, schema or "pg_catalog", table, identity, tuple(columns))


def read_truncate(data: bytes, at: int) -> list[int]:
    """OIDs of the tables."""
    count = _truncate(data, at)[0]
    if count * 4 != len(data) - at - 5:
        raise BadMessage(f"TRUNCATE of {count} tables in {len(data)} bytes")
    return list(struct.unpack_from(f">{count}I", data, at + 5))


def read_row(steps: Steps, data: bytes, at: int) -> tuple[Row, int]:
    """A row from its number of columns on, and the place behind it. Of every change: no call that can be avoided."""
    if _count(data, at)[0] != len(steps):
        raise BadMessage(f"a row of {_count(data, at)[0]} columns of a table of {len(steps)}")
    start, at = at, at + 2
    row: Row = {}
    try:
        for name, convert in steps:
            kind = data[at]
            if kind == _TEXT:
                begin = at + 5
                at = begin + _length(data, at + 1)[0]
                row[name] = convert(data[begin:at])
            elif kind == _NULL:
                row[name] = None
                at += 1
            elif kind == _UNCHANGED:
                row[name] = UNCHANGED
                at += 1
            else:
                raise BadMessage(f"a column of kind {kind}")
    except UnicodeDecodeError:
        if not any(convert is text for _, convert in steps):
            raise
        return read_row(lenient(steps), data, start)
    return row, at


def lenient(steps: Steps) -> Steps:
    """For a row with text that is not UTF-8, as a database in SQL_ASCII may have."""
    return [(name, lenient_text if convert is text else convert) for name, convert in steps]


def raw_row(data: bytes, at: int) -> list[bytes | None]:
    """The texts of a row, for the few that are compared in the database."""
    count = _count(data, at)[0]
    at += 2
    found: list[bytes | None] = []
    for _ in range(count):
        if data[at] == _TEXT:
            end = at + 5 + _length(data, at + 1)[0]
            found.append(data[at + 5 : end])
            at = end
        else:
            found.append(None)
            at += 1
    return found


def _string(data: bytes, at: int) -> tuple[str, int]:
    end = data.index(0, at)
    return data[at:end].decode("utf-8", "backslashreplace"), end + 1


def check_end(data: bytes, at: int) -> None:
    """Slices are silent about what is missing; a row that goes beyond the message shows here."""
    if at != len(data):
        raise BadMessage(f"it has {len(data)} bytes, and its parts end at {at}")
