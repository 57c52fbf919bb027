"""What the console and the process that searches for it say to each other: msgpack, each message behind its length."""

from struct import Struct

import msgspec

from barnabas.browse.record import Record, Unreadable
from barnabas.browse.search.query import Query

LENGTH = Struct(">I")


class Task(msgspec.Struct, tag=True):
    """The first message: what is searched for, and how much of what is found is wanted."""

    query: Query
    topic: str
    keep: int
    keep_bytes: int
    whole: bool  # records uncut, and all of them


class Chunk(msgspec.Struct, tag=True):
    """Batches of a partition to look through; `size` bytes of them follow."""

    partition: int
    start: int
    end: int
    aborted: list[tuple[int, int]]
    size: int


class Found(msgspec.Struct, tag=True):
    records: list[Record]


class Scanned(msgspec.Struct, tag=True):
    """A chunk is done: records searched, matches in it (kept or not), batches that could not be read."""

    partition: int
    records: int
    matches: int
    unreadable: list[Unreadable]


def framed(message: Task | Chunk | Found | Scanned) -> bytes:
    body = msgspec.msgpack.encode(message)
    return LENGTH.pack(len(body)) + body


to_worker = msgspec.msgpack.Decoder(Task | Chunk).decode
from_worker = msgspec.msgpack.Decoder(Found | Scanned).decode
