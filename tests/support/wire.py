"""A raw client: one blocking socket, one request, one answer, any API and version. Batches are made by hand so
that they may be wrong."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Mapping, Sequence
from typing import Any

from crc32c import crc32c

from tests.support import kio_codec

PRODUCE, FETCH, LIST_OFFSETS, METADATA, OFFSET_COMMIT, OFFSET_FETCH, FIND_COORDINATOR = 0, 1, 2, 3, 8, 9, 10
JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP, DESCRIBE_GROUPS, LIST_GROUPS, API_VERSIONS = 11, 12, 13, 14, 15, 16, 18
CREATE_TOPICS, DELETE_TOPICS, DELETE_RECORDS, INIT_PRODUCER_ID, OFFSET_FOR_LEADER_EPOCH = 19, 20, 21, 22, 23
DESCRIBE_CONFIGS, ALTER_CONFIGS, ALTER_REPLICA_LOG_DIRS, DESCRIBE_LOG_DIRS, CREATE_PARTITIONS = 32, 33, 34, 35, 37
DELETE_GROUPS, ELECT_LEADERS, INCREMENTAL_ALTER_CONFIGS, OFFSET_DELETE, DESCRIBE_QUORUM, UPDATE_FEATURES = (
    42,
    43,
    44,
    47,
    55,
    57,
)
DESCRIBE_CLUSTER, UNREGISTER_BROKER, CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE = 60, 64, 68, 69
LIST_CONFIG_RESOURCES, DESCRIBE_TOPIC_PARTITIONS = 74, 75
GET_TELEMETRY_SUBSCRIPTIONS, PUSH_TELEMETRY = 71, 72
ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, WRITE_TXN_MARKERS, TXN_OFFSET_COMMIT = 24, 25, 26, 27, 28
DESCRIBE_PRODUCERS, DESCRIBE_TRANSACTIONS, LIST_TRANSACTIONS = 61, 65, 66
ALTER_CLIENT_QUOTAS = 49
CREATE_DELEGATION_TOKEN, RENEW_DELEGATION_TOKEN, EXPIRE_DELEGATION_TOKEN, DESCRIBE_DELEGATION_TOKEN = 38, 39, 40, 41
DESCRIBE_ACLS, CREATE_ACLS, DELETE_ACLS, DESCRIBE_CLIENT_QUOTAS, DESCRIBE_USER_SCRAM_CREDENTIALS = 29, 30, 31, 48, 50


class Closed(ConnectionError):
    """The server closed the connection instead of answering."""


class WireClient:
    """Speaks to one server. `call` is request and answer; `send` and `receive` are the halves, for pipelining and
    for hostile frames."""

    def __init__(
        self,
        bootstrap: str,
        timeout_seconds: float = 30,
        client_id: str | None = "barnabas-tests",
        source: str | None = None,
    ) -> None:
        """`source`: the address to connect from; all of 127.0.0.0/8 are ours."""
        host, _, port = bootstrap.rpartition(":")
        self.address = (host, int(port))
        self.client_id = client_id
        self.correlation_id = 0
        own = None if source is None else (source, 0)
        self.socket = socket.create_connection(self.address, timeout_seconds, own)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.last_answer = b""

    def __enter__(self) -> WireClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def header(self, api_key: int, version: int, flexible: bool) -> bytes:
        self.correlation_id += 1
        client = (
            b"\xff\xff" if self.client_id is None else struct.pack(">h", len(self.client_id)) + self.client_id.encode()
        )
        return struct.pack(">hhi", api_key, version, self.correlation_id) + client + (b"\0" if flexible else b"")

    def frame(self, api_key: int, version: int, body: Mapping[str, Any] | bytes) -> bytes:
        flexible = kio_codec.flexible_request(api_key, version)
        payload = body if isinstance(body, bytes) else kio_codec.encode_request(api_key, version, body)
        data = self.header(api_key, version, flexible) + payload
        return struct.pack(">i", len(data)) + data

    def send(self, api_key: int, version: int, body: Mapping[str, Any] | bytes) -> int:
        self.socket.sendall(self.frame(api_key, version, body))
        return self.correlation_id

    def read_exactly(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            try:
                got = self.socket.recv(min(size - len(parts), 1 << 20))
            except ConnectionResetError as reset:
                raise Closed(str(reset)) from None
            if not got:
                raise Closed(f"closed after {len(parts)} of {size} bytes")
            parts += got
        return bytes(parts)

    def receive_frame(self) -> bytes:
        return self.read_exactly(struct.unpack(">i", self.read_exactly(4))[0])

    def receive(self, api_key: int, version: int, correlation_id: int | None = None) -> dict[str, Any]:
        """The next answer; its correlation id must be the one asked for. ApiVersions always has response header 0
        (KIP-511)."""
        data = self.receive_frame()
        got = struct.unpack_from(">i", data)[0]
        if correlation_id is not None and got != correlation_id:
            raise AssertionError(f"answer to {got}, expected {correlation_id}")
        position = 4
        if api_key != API_VERSIONS and kio_codec.flexible_request(api_key, version):
            if data[4] != 0:
                raise AssertionError("response header has tagged fields")
            position = 5
        self.last_answer = data[position:]
        return kio_codec.decode_response(api_key, version, data[position:])

    def call(self, api_key: int, version: int, body: Mapping[str, Any] | bytes | None = None) -> dict[str, Any]:
        return self.receive(api_key, version, self.send(api_key, version, body or {}))


# --- record batches by hand -------------------------------------------------------------------------------------------


def varint(n: int) -> bytes:
    n, out = (n << 1) ^ (n >> 63), bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)


def record(
    offset_delta: int,
    value: bytes | None,
    key: bytes | None = None,
    timestamp_delta: int = 0,
    headers: Sequence[tuple[str, bytes]] = (),
) -> bytes:
    body = bytearray(b"\0" + varint(timestamp_delta) + varint(offset_delta))
    for data in (key, value):
        body += varint(-1) if data is None else varint(len(data)) + data
    body += varint(len(headers))
    for name, data in headers:
        body += varint(len(name)) + name.encode() + varint(len(data)) + data
    return varint(len(body)) + bytes(body)


def batch(
    values: Sequence[bytes | None] = (b"value",),
    *,
    keys: Sequence[bytes | None] | None = None,
    timestamp: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
    magic: int = 2,
    base_offset: int = 0,
    leader_epoch: int = -1,
    payload: bytes | None = None,
    count: int | None = None,
    last_offset_delta: int | None = None,
    max_timestamp: int | None = None,
    bad_crc: bool = False,
    length_error: int = 0,
) -> bytes:
    """A v2 batch; every field can be set wrong. `payload` replaces the records (for compressed ones)."""
    now = int(time.time() * 1000) if timestamp is None else timestamp
    if payload is None:
        payload = b"".join(record(i, v, None if keys is None else keys[i]) for i, v in enumerate(values))
    n = len(values) if count is None else count
    delta = len(values) - 1 if last_offset_delta is None else last_offset_delta
    top = now if max_timestamp is None else max_timestamp
    tail = (
        struct.pack(">hiqqqhii", attributes, delta, now, top, producer_id, producer_epoch, base_sequence, n) + payload
    )
    crc = crc32c(tail) ^ (1 if bad_crc else 0)
    return struct.pack(">qiibI", base_offset, 9 + len(tail) + length_error, leader_epoch, magic, crc) + tail


def legacy_message(value: bytes, magic: int) -> bytes:
    """A message of format 0 or 1, as clients before 2017 sent."""
    import zlib

    body = struct.pack(">bb", magic, 0) + (struct.pack(">q", int(time.time() * 1000)) if magic == 1 else b"")
    body += struct.pack(">i", -1) + struct.pack(">i", len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


def read_batches(data: bytes | None) -> list[dict[str, Any]]:
    """Headers of the whole batches in a fetched slice."""
    out, at, data = [], 0, data or b""
    while at + 61 <= len(data):
        base, length, epoch, magic, crc, attributes, delta, first, top, pid, pepoch, seq, count = struct.unpack_from(
            ">qiibIhiqqqhii", data, at
        )
        if at + 12 + length > len(data):
            break
        out.append(
            {
                "base_offset": base,
                "length": length,
                "leader_epoch": epoch,
                "magic": magic,
                "crc": crc,
                "attributes": attributes,
                "last_offset_delta": delta,
                "base_timestamp": first,
                "max_timestamp": top,
                "producer_id": pid,
                "producer_epoch": pepoch,
                "base_sequence": seq,
                "count": count,
                "payload": data[at + 61 : at + 12 + length],
            }
        )
        at += 12 + length
    return out


# --- bodies used everywhere
# ---------------------------------------------------------------------------------------------


def produce_body(
    topic: str,
    data: bytes | None,
    *,
    topic_id: bytes = bytes(16),
    partition: int = 0,
    acks: int = -1,
    timeout_ms: int = 30000,
) -> dict[str, Any]:
    return {
        "acks": acks,
        "timeout_ms": timeout_ms,
        "topic_data": [
            {"name": topic, "topic_id": topic_id, "partition_data": [{"index": partition, "records": data}]}
        ],
    }


def fetch_body(
    topic: str,
    offset: int,
    *,
    topic_id: bytes = bytes(16),
    partition: int = 0,
    max_wait_ms: int = 0,
    min_bytes: int = 0,
    **more: Any,
) -> dict[str, Any]:
    top: dict[str, Any] = {
        name: more.pop(name)
        for name in ("max_bytes", "isolation_level", "session_id", "session_epoch", "rack_id")
        if name in more
    }
    item = {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20, **more}
    return {
        "replica_id": -1,
        "max_wait_ms": max_wait_ms,
        "min_bytes": min_bytes,
        "max_bytes": 50 << 20,
        "session_epoch": -1,
        **top,
        "topics": [{"topic": topic, "topic_id": topic_id, "partitions": [item]}],
    }


def create_topic(client: WireClient, name: str, partitions: int = 1, **configs: str) -> bytes:
    """Create a topic, wait until it is led, and return its id."""
    entries = [{"name": k.replace("_", "."), "value": v} for k, v in configs.items()]
    body = {
        "topics": [{"name": name, "num_partitions": partitions, "replication_factor": 1, "configs": entries}],
        "timeout_ms": 30000,
    }
    answer = client.call(CREATE_TOPICS, 7, body)["topics"][0]
    assert answer["error_code"] == 0, answer
    return await_topic(client, name)


def await_topic(client: WireClient, name: str) -> bytes:
    deadline = time.monotonic() + 10
    while True:
        topic = client.call(
            METADATA, 12, {"topics": [{"name": name, "topic_id": bytes(16)}], "allow_auto_topic_creation": False}
        )["topics"][0]
        if topic["error_code"] == 0 and all(p["error_code"] == 0 for p in topic["partitions"]):
            return bytes(topic["topic_id"])
        assert time.monotonic() < deadline, topic
        time.sleep(0.02)


def await_group_coordinator(client: WireClient, group: str = "warm-up") -> None:
    """Until the coordinator answers: the first use creates __consumer_offsets, which Kafka loads for a moment."""
    deadline = time.monotonic() + 30
    while client.call(FIND_COORDINATOR, 2, {"key": group, "key_type": 0})["error_code"] != 0 or client.call(
        OFFSET_FETCH, 5, {"group_id": group, "topics": []}
    )["error_code"] in (14, 15, 16):
        assert time.monotonic() < deadline, "no group coordinator in 30 s"
        time.sleep(0.1)
