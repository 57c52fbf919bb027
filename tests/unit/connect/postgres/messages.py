"""Messages of pgoutput as the server would send them."""

from __future__ import annotations

import struct
from collections.abc import Sequence

Cell = bytes | None | str  # a text, NULL, or "unchanged"


def stream(body: bytes, lsn: int = 0x100) -> bytes:
    return struct.pack(">cQQq", b"w", lsn, lsn, 0) + body


def begin(commit_lsn: int, xid: int = 700, time_us: int = 0) -> bytes:
    return stream(struct.pack(">cQqI", b"B", commit_lsn, time_us, xid))


def commit(commit_lsn: int, end_lsn: int) -> bytes:
    return stream(struct.pack(">cBQQq", b"C", 0, commit_lsn, end_lsn, 0))


def relation(oid: int, table: str, columns: Sequence[tuple[str, int, bool]], identity: str = "d") -> bytes:
    body = b"R" + struct.pack(">I", oid) + b"public\0" + table.encode() + b"\0" + identity.encode()
    body += struct.pack(">H", len(columns))
    for name, type_oid, is_key in columns:
        body += struct.pack(">B", is_key) + name.encode() + b"\0" + struct.pack(">Ii", type_oid, -1)
    return stream(body)


def row(cells: Sequence[Cell]) -> bytes:
    found = struct.pack(">H", len(cells))
    for each in cells:
        if each is None:
            found += b"n"
        elif isinstance(each, str):
            found += b"u"
        else:
            found += b"t" + struct.pack(">I", len(each)) + each
    return found


def insert(oid: int, cells: Sequence[Cell]) -> bytes:
    return stream(b"I" + struct.pack(">I", oid) + b"N" + row(cells))


def update(oid: int, cells: Sequence[Cell], old: Sequence[Cell] | None = None, kind: bytes = b"K") -> bytes:
    before = b"" if old is None else kind + row(old)
    return stream(b"U" + struct.pack(">I", oid) + before + b"N" + row(cells))


def delete(oid: int, old: Sequence[Cell], kind: bytes = b"K") -> bytes:
    return stream(b"D" + struct.pack(">I", oid) + kind + row(old))


def truncate(*oids: int) -> bytes:
    return stream(b"T" + struct.pack(f">IB{len(oids)}I", len(oids), 0, *oids))
