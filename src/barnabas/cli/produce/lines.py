"""What `produce` reads: lines or JSON objects, from a pipe, a terminal or a file, in whatever pieces they arrive.

A pipe that trickles (`tail -f`) must not wait until a block is full, so reading takes what is there (os.read) and cuts
the lines itself. A line end is \\n or \\r\\n; a last line without one counts. Empty lines are records too.
Refused with the number of the line: JSON that is none, a field of a wrong type, a missing key separator.
"""

from __future__ import annotations

import os
from base64 import b64decode
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from barnabas.cli.common.failure import Failure
from barnabas.model.json_values import JsonObject
from barnabas.model.limits import CLI_LINE_MAX_BYTES

READ_BYTES = 1 << 20

Headers = list[tuple[str, bytes | None]]

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode


class Input(NamedTuple):
    """One record to send; None leaves the choice to the producer."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers | None = None
    partition: int | None = None
    timestamp: int | None = None


def read_lines(descriptor: int) -> Iterator[list[bytes]]:
    """The lines as they arrive, in lists."""
    rest = b""
    while True:
        block = os.read(descriptor, READ_BYTES)
        if not block:
            break
        lines = (rest + block).split(b"\n") if rest else block.split(b"\n")
        rest = lines.pop()
        if len(rest) > CLI_LINE_MAX_BYTES:
            raise Failure(f"a line is longer than {CLI_LINE_MAX_BYTES >> 20} MiB", "Is this a text file?")
        if lines:
            if block.find(b"\r\n") >= 0 or lines[0].endswith(b"\r"):
                lines = [line.removesuffix(b"\r") for line in lines]
            yield lines
    if rest:
        yield [rest.removesuffix(b"\r")]


def split_key(line: bytes, separator: bytes, number: int) -> Input:
    key, found, value = line.partition(separator)
    if not found:
        raise Failure(
            f"line {number:,} has no {separator.decode()!r} between key and value", "Nothing after it was sent."
        )
    return Input(value, key)


def parse_json(line: bytes, number: int, json_values: bool = False) -> Input:
    """{"value": ..., "key": ..., "headers": ..., "partition": ..., "timestamp": ...}; all but the value may be missing.

    Text is sent as it is, null as null, and any other JSON as its compact text. `consume --json` writes this form.
    `json_values`: key and value stay JSON, texts included, for whoever reads them as JSON.
    """
    to_bytes = _json_text if json_values else as_bytes
    try:
        record = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Failure(f"line {number:,} is not JSON: {error}", "Without --json every line is sent as it is.") from None
    if not isinstance(record, dict):
        raise Failure(f"line {number:,} is not a JSON object", 'Write {"key": "k", "value": "v"}.')
    if "value" not in record and "value_base64" not in record:
        raise Failure(f'line {number:,} has no "value"', 'Write {"key": "k", "value": "v"}; null is a tombstone.')
    return Input(
        _bytes(record, "value", number) if "value_base64" in record else to_bytes(record["value"]),
        _bytes(record, "key", number) if "key_base64" in record else to_bytes(record.get("key")),
        _headers(record["headers"], number) if record.get("headers") else None,
        _whole(record, "partition", number) if "partition" in record else None,
        _whole(record, "timestamp", number) if "timestamp" in record else None,
    )


def _bytes(record: JsonObject, name: str, number: int) -> bytes | None:
    try:
        return b64decode(record[f"{name}_base64"], validate=True)
    except (ValueError, TypeError):
        raise Failure(f"line {number:,}: {name}_base64 is not base64") from None


def _json_text(value: object) -> bytes | None:
    return None if value is None else _encode(value)


def as_bytes(value: object) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else _encode(value)


def _headers(found: object, number: int) -> Headers:
    pairs = list(found.items()) if isinstance(found, dict) else found
    headers: Headers = []
    for pair in pairs if isinstance(pairs, list) else [None]:
        if not (isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)):
            raise Failure(f"line {number:,}: headers are neither an object nor a list of [name, value]")
        name, value = pair
        if isinstance(value, dict) and set(value) == {"base64"}:
            headers.append((name, _bytes({"value_base64": value["base64"]}, "value", number)))
        else:
            headers.append((name, as_bytes(value)))
    return headers


def _whole(record: JsonObject, name: str, number: int) -> int | None:
    value = record.get(name)
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63):
        return value
    raise Failure(f"line {number:,}: {name} is not a whole number")
