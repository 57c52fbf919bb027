"""Finds out whether records wait because a node's disk is full.

A node refuses producers then with KAFKA_STORAGE_ERROR, which librdkafka retries in silence until the record times out.
So a producer that has waited a moment without an answer asks every node how much its disk takes (DescribeLogDirs,
KIP-827), in a thread of its own: a node that refuses producers says 0. librdkafka has no such request; it is written
here by hand, without partitions, over plain TCP. What cannot be asked is not told.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from struct import Struct, error

from confluent_kafka import KafkaException

from barnabas.client.common.rdkafka import Handle

PATIENCE_S = 1.0  # without an answer to any record
AGAIN_S = 1.0  # the first attempt may not have reached the node when it was asked first
TOLD_AGAIN_S = 30.0
_TIMEOUT_S = 1.0
_ANSWER_MAX_BYTES = 64 * 1024
_LENGTH, _ROOM = Struct(">i"), Struct(">qq")
# DescribeLogDirs (35) version 4, correlation id 1, no client id, no topics.
_REQUEST = bytes.fromhex("0023000400000001ffff000100")
_DIRECTORIES_AT = 4 + 1 + 4 + 2  # correlation id, tags, throttle time, error code


class FullDisks:
    """`tell` gets one line, from another thread, when a disk is found to be full."""

    def __init__(self, handle: Handle, tell: Callable[[str], None]) -> None:
        self._handle = handle
        self._tell = tell
        self._waiting = 0
        self._since = time.monotonic()
        self._next = 0.0

    def look(self, waiting: int) -> None:
        """So many records have no answer yet: called again and again while somebody waits for them."""
        now = time.monotonic()
        if waiting < self._waiting or not self._waiting:
            self._since = now
        self._waiting = waiting
        if waiting and now - self._since >= PATIENCE_S and now >= self._next:
            self._next = now + TOLD_AGAIN_S  # unless this look is done earlier
            threading.Thread(target=self._ask, name="barnabas-full-disks", daemon=True).start()

    def _ask(self) -> None:
        try:
            brokers = self._handle.list_topics(timeout=_TIMEOUT_S).brokers.values()
        except KafkaException:
            self._next = time.monotonic() + AGAIN_S
            return
        self._next = time.monotonic() + AGAIN_S
        full = sorted(each.id for each in brokers if is_full(each.host, each.port))
        if full and self._waiting:
            self._next = time.monotonic() + TOLD_AGAIN_S
            self._tell(explain(full))


def explain(full: list[int]) -> str:
    nodes = f"node {full[0]} is" if len(full) == 1 else f"nodes {', '.join(map(str, full))} are"
    disks = "disk" if len(full) == 1 else "disks"
    return (
        f"the {disks} of {nodes} full, so records are refused and sent again until there is room. "
        "Delete what is not needed, shorten retention.ms or use a larger disk"
    )


def is_full(host: str, port: int) -> bool:
    try:
        with socket.create_connection((host, port), timeout=_TIMEOUT_S) as link:
            link.sendall(_LENGTH.pack(len(_REQUEST)) + _REQUEST)
            (length,) = _LENGTH.unpack(_read(link, 4))
            return length <= _ANSWER_MAX_BYTES and _says_full(_read(link, length))
    except (OSError, IndexError, error):  # not there, behind TLS, or it answers something else
        return False


def _says_full(answer: bytes) -> bool:
    """Has any of the log directories no byte left? The directories are asked for without their partitions."""
    count, at = _varint(answer, _DIRECTORIES_AT)
    for _ in range(count - 1):
        length, at = _varint(answer, at + 2)  # behind the error code
        topics, at = _varint(answer, at + length - 1)
        total, usable = _ROOM.unpack_from(answer, at)
        if total > 0 and usable == 0:
            return True
        tags, at = _varint(answer, at + _ROOM.size)
        if topics > 1 or tags:
            return False
    return False


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _read(link: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = link.recv(count - len(data))
        if not more:
            raise OSError("the connection was closed")
        data += more
    return data
