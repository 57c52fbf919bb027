"""A few Kafka requests made by hand on a blocking socket: the server with hardly a client before it.

Old fixed-width versions (Produce 3, Fetch 4) because they are the cheapest to build and to take apart in Python; both
servers answer them. A batch is built once and sent again and again by a producer without an id, so no copy is taken
for a duplicate.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Sequence

from crc32c import crc32c

PRODUCE, FETCH, METADATA, API_VERSIONS, CREATE_TOPICS = 0, 1, 3, 18, 19
BATCH_HEADER_BYTES = 61


class RequestFailed(Exception):
    """The server answered with an error code."""


def _varint(number: int) -> bytes:
    """Zigzag, seven bits a byte."""
    number = (number << 1) ^ (number >> 63)
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def record_batch(values: Sequence[bytes]) -> bytes:
    """One uncompressed batch (magic 2) of records without keys or headers."""
    now_ms = int(time.time() * 1000)
    records = bytearray()
    for delta, value in enumerate(values):
        record = b"\0\0" + _varint(delta) + _varint(-1) + _varint(len(value)) + value + _varint(0)
        records += _varint(len(record)) + record
    no_producer = (-1, -1, -1)
    covered = struct.pack(">hiqqqhii", 0, len(values) - 1, now_ms, now_ms, *no_producer, len(values)) + records
    return struct.pack(">qiibI", 0, 9 + len(covered), -1, 2, crc32c(covered)) + covered


def frame(api_key: int, version: int, body: bytes, *, flexible: bool = False) -> bytes:
    header = struct.pack(">hhi", api_key, version, 1) + string("bench") + (b"\0" if flexible else b"")
    return struct.pack(">i", len(header) + len(body)) + header + body


def produce_frame(topic: str, batch: bytes) -> bytes:
    """acks=all, partition 0."""
    head = struct.pack(">hhii", -1, -1, 30_000, 1) + string(topic)
    return frame(PRODUCE, 3, head + struct.pack(">iii", 1, 0, len(batch)) + batch)


def fetch_frame(topic: str, offset: int, max_bytes: int) -> bytes:
    head = struct.pack(">iiiibi", -1, 500, 1, max_bytes, 0, 1) + string(topic)
    return frame(FETCH, 4, head + struct.pack(">iiqi", 1, 0, offset, max_bytes))


def metadata_frame(topic: str) -> bytes:
    """Version 12, what a client of today sends for one topic."""
    name = topic.encode()
    asked = bytes(16) + bytes([len(name) + 1]) + name + b"\0"
    return frame(METADATA, 12, b"\2" + asked + b"\0\0\0", flexible=True)


def api_versions_frame() -> bytes:
    return frame(API_VERSIONS, 0, b"")


def produce_result(topic: str, response: memoryview) -> tuple[int, int]:
    """(error code, base offset) of a one-partition produce."""
    code, offset = struct.unpack_from(">hq", response, 4 + 2 + len(topic) + 4 + 4)
    return code, offset


def fetch_result(topic: str, response: memoryview) -> tuple[int, int]:
    """(next offset, bytes of records) of a one-partition fetch; looks at batch headers only."""
    position = 4 + 4 + 2 + len(topic) + 4 + 4
    code, _high_watermark, _stable, aborted = struct.unpack_from(">hqqi", response, position)
    if code:
        raise RequestFailed(f"fetch: error {code}")
    position += 22 + 16 * max(0, aborted)
    size = struct.unpack_from(">i", response, position)[0]
    position += 4
    end, next_offset = position + size, -1
    while position + BATCH_HEADER_BYTES <= end:
        base_offset, length = struct.unpack_from(">qi", response, position)
        if position + 12 + length > end:
            break
        next_offset = base_offset + struct.unpack_from(">i", response, position + 23)[0] + 1
        position += 12 + length
    return next_offset, size


class Connection:
    def __init__(self, address: tuple[str, int], timeout_s: float = 30, buffer_bytes: int = 64 << 10) -> None:
        self.socket = socket.create_connection(address, timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(buffer_bytes))

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def receive(self) -> memoryview:
        """The next response after its correlation id; good until the next call."""
        self._fill(4)
        size = struct.unpack_from(">i", self._buffer)[0]
        if size > len(self._buffer):
            self._buffer = memoryview(bytearray(2 * size))
        self._fill(size)
        return self._buffer[4:size]

    def _fill(self, size: int) -> None:
        got = 0
        while got < size:
            received = self.socket.recv_into(self._buffer[got:size])
            if not received:
                raise ConnectionError("the server closed the connection")
            got += received

    def call(self, data: bytes) -> memoryview:
        self.send(data)
        return self.receive()

    def broker_count(self) -> int:
        return int(struct.unpack_from(">i", self.call(frame(METADATA, 1, struct.pack(">i", 0))))[0])

    def create_topic(self, name: str) -> int:
        """One partition; the error code."""
        body = struct.pack(">i", 1) + string(name) + struct.pack(">ihiiib", 1, 1, 0, 0, 30_000, 0)
        response = self.call(frame(CREATE_TOPICS, 2, body))
        return int(struct.unpack_from(">h", response, 4 + 4 + 2 + len(name))[0])

    def produce(self, topic: str, batch: bytes) -> int:
        """The error code of one produce, answered."""
        return produce_result(topic, self.call(produce_frame(topic, batch)))[0]


def pipeline(connection: Connection, topic: str, data: bytes, requests: int, in_flight: int = 5) -> int:
    """Send the same produce again and again, `in_flight` at a time, every answer checked; the last base offset."""
    sent = answered = offset = 0
    while answered < requests:
        while sent < requests and sent - answered < in_flight:
            connection.send(data)
            sent += 1
        code, offset = produce_result(topic, connection.receive())
        if code:
            raise RequestFailed(f"produce: error {code}")
        answered += 1
    return offset
