"""Hostile frames: requests of every served API and version, made by the schema and then broken, thrown at a live
socket.

Runs as a process of its own (`python -m tests.support.hostile BOOTSTRAP COUNT SEED`), so that the good client beside it
is not slowed by it. Prints one line of JSON: how many were sent, answered, answered by closing, and left unanswered.
"""

from __future__ import annotations

import contextlib
import json
import random
import socket
import struct
import sys
import threading
from collections import Counter
from typing import Any

from tests.support import kio_codec
from tests.support.wire import batch

NAMES = (
    "",
    "hostile-a",
    "hostile-b",
    "bad name",
    ".",
    "x" * 300,
    "ü",
    "__consumer_offsets",
    "no-such",
    "hostile-group",
)
INTS = (-(2**31), -129, -2, -1, 0, 1, 2, 3, 7, 127, 255, 32767, 65535, 2**31 - 1)
CREATE_TOPICS, CREATE_PARTITIONS = 19, 37


class Maker:
    """Bodies that follow the schema, with odd values; then the bytes are broken in one of several ways."""

    def __init__(self, seed: int, served: dict[int, range]) -> None:
        self.rng = random.Random(seed)
        self.served = [(key, version) for key, versions in served.items() for version in versions]

    def value(self, kind: str, table: Any, depth: int) -> Any:
        rng = self.rng
        if kind == "struct":
            return self.struct(table, depth + 1)
        if kind == "string":
            return rng.choice(NAMES)
        if kind == "records":
            data = batch([b"x"] * rng.randrange(1, 3), attributes=rng.choice((0, 0, 1, 2, 3, 4, 8, 16, 32, 7)))
            return rng.choice((data, data[:70], b"", bytes(100)))
        if kind == "bytes":
            return rng.randbytes(rng.randrange(0, 20))
        if kind == "uuid":
            return rng.choice((bytes(16), rng.randbytes(16)))
        if kind == "bool":
            return rng.random() < 0.5
        if kind == "float64":
            return rng.choice((0.0, -1.0, float("nan"), float("inf")))
        size = {"int8": 8, "int16": 16, "error_code": 16, "int64": 64, "uint16": 16, "uint32": 32, "uint8": 8}.get(
            kind, 32
        )
        size = 64 if kind.endswith("i64") else size
        number = rng.choice(INTS)
        if kind.startswith("u"):
            return abs(number) & ((1 << size) - 1)
        low, high = -(1 << (size - 1)), (1 << (size - 1)) - 1
        return max(low, min(high, number))

    def struct(self, table: Any, depth: int = 0) -> dict[str, Any]:
        body: dict[str, Any] = {}
        for field in table.fields:
            if field.nullable and self.rng.random() < 0.2:
                body[field.name] = None if field.kind != "uuid" else bytes(16)
            elif field.array:
                count = self.rng.choice((0, 1, 1, 2)) if depth < 4 else 0
                body[field.name] = [self.value(field.kind, field.struct, depth) for _ in range(count)]
            else:
                body[field.name] = self.value(field.kind, field.struct, depth)
        # waiting is not what is tested here, and neither is filling the disk with partitions
        for name in ("max_wait_ms", "timeout_ms"):
            if name in body:
                body[name] = min(body[name], 10)
        for name in ("num_partitions", "count"):
            if name in body:
                body[name] = min(body[name], 3)
        return body

    def break_(self, data: bytes) -> bytes:
        rng = self.rng
        out = bytearray(data)
        for _ in range(rng.choice((0, 1, 1, 2, 4))):
            if not out:
                break
            at = rng.randrange(len(out))
            match rng.randrange(7):
                case 0:
                    out[at] ^= 1 << rng.randrange(8)
                case 1:
                    del out[at:]
                case 2:
                    out[at:at] = rng.randbytes(rng.randrange(1, 9))
                case 3:
                    out[at : at + 4] = struct.pack(">i", rng.choice(INTS))
                case 4:
                    out[at : at + 2] = b"\xff\xff"
                case 5:
                    out[at : at + 5] = b"\xff\xff\xff\xff\x0f"
                case 6:
                    out += bytes(rng.randrange(1, 40))
        return bytes(out)

    def frame(self) -> bytes:
        rng = self.rng
        api_key, version = rng.choice(self.served)
        flexible = kio_codec.flexible_request(api_key, version)
        body = kio_codec.encode_request(api_key, version, self.struct(kio_codec.request_table(api_key, version)))
        header = (
            struct.pack(">hhi", api_key, version, rng.randrange(1 << 31))
            + b"\0\7hostile"
            + (b"\0" if flexible else b"")
        )
        roll = rng.random()
        data = self.break_(header + body) if roll < 0.1 else header + self.break_(body)
        size = len(data) if roll < 0.97 else rng.choice((len(data) - 1, len(data) + 1, 0, -1, 7, 2**31 - 1, 104857601))
        return struct.pack(">i", size) + data


def attack(address: tuple[str, int], maker: Maker, count: int, tally: Counter[str]) -> None:
    connection: socket.socket | None = None
    for _ in range(count):
        if connection is None:
            connection = socket.create_connection(address, 10)
            connection.settimeout(0.05)
        outcome = "silent"
        try:
            connection.sendall(maker.frame())
            outcome = "answered" if connection.recv(1 << 16) else "closed"
        except TimeoutError:
            pass
        except OSError:
            outcome = "closed"
        tally[outcome] += 1
        if outcome != "answered" or maker.rng.random() < 0.05:
            with contextlib.suppress(OSError):
                connection.close()
            connection = None
    if connection is not None:
        connection.close()


def main(bootstrap: str, count: int, seed: int, threads: int = 8) -> None:
    from tests.differential.registry import SERVED

    host, _, port = bootstrap.rpartition(":")
    tallies = [Counter[str]() for _ in range(threads)]
    workers = [
        threading.Thread(
            target=attack, args=((host, int(port)), Maker(seed * 1000 + i, SERVED), count // threads, tallies[i])
        )
        for i in range(threads)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(json.dumps(dict(sum(tallies, Counter()))))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
