"""A worker that writes a partition into two tables until it is done or killed: run as a program by test_crashes.py.

It does what the runtime does: opens a writer, begins where that says, a little earlier now and then as after a crash,
and writes small batches and large ones. A line of output follows each batch.
"""

from __future__ import annotations

import json
import random
import sys

from barnabas.connect.contract import Delivered, Sink
from tests.connect.relational.targets import SINKS, record

KEYS = 500


def upserted(offset: int) -> Delivered:
    """A change of one of a few keys, now and then a deletion; some values are refused by the table's check."""
    value = None if offset % 7 == 3 else {"n": offset if offset % 2003 else -1, "text": "x" * (offset % 60)}
    return record(offset, value, {"id": offset % KEYS})


def appended(offset: int) -> Delivered:
    value = {"n": offset, "text": f"record {offset}"}
    if offset > 3000:
        value["later"] = offset / 2  # a column that comes while workers are killed
    return record(offset, value)


def expected_rows(total: int) -> dict[int, int]:
    rows: dict[int, int] = {}
    for offset in range(total):
        change = upserted(offset)
        if change.value is None:
            rows.pop(offset % KEYS, None)
        elif change.value["n"] >= 0:
            rows[offset % KEYS] = offset
    return rows


def main() -> None:
    kind, options, total, seed = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    choose = random.Random(seed)
    make = SINKS[kind]
    sinks: list[tuple[Sink, str]] = [
        (make("upserts", {**options, "table": "upserts"}), "upserts"),
        (make("appends", {**options, "table": "appends", "mode": "append"}), "appends"),
    ]
    writers = [(sink.open(topic, 0), upserted if topic == "upserts" else appended) for sink, topic in sinks]
    at = [max(0, (writer.next_offset() or 0) - choose.randrange(0, 900)) for writer, _ in writers]
    while min(at) < total:
        for place, (writer, made) in enumerate(writers):
            end = min(total, at[place] + choose.choice((50, 1000)))
            writer.write([made(offset) for offset in range(at[place], end)], end)
            at[place] = end
            print(min(at), flush=True)
    for sink, _ in sinks:
        sink.close()


if __name__ == "__main__":
    main()
