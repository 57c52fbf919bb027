"""A log of any size: what a pipeline's own generator made, written again and again, each time as of somewhere else.

The records of one place (a town, a shop, a store) are made once. A copy has the number of its place in every id, key
and name, so what is true of a record, how many jobs fit it for example, is the same at every size. The copies are
written in turns, so that the log is in the order of time but for a moment.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any, TypeAlias

from .clients import producer

PLACE = "~"  # in a text that is made: here goes the number of the place
WRITERS = 2
FLUSH_S = 300.0
_STEP = 1_000  # records of one place before the next one's turn comes

Made: TypeAlias = tuple[str, str, str, int]  # topic, key, value, when it was sent
Write: TypeAlias = Callable[[Any, range], None]  # a producer, the numbers of the places to write


def write_copies(bootstrap: str, names: dict[str, str], made: list[Made], places: int) -> None:
    def write(client: Any, numbers: range) -> None:
        for begin in range(0, len(made), _STEP):
            for number in numbers:
                told = f"{number:03d}"
                for topic, key, value, sent_ms in made[begin : begin + _STEP]:
                    send(client, names[topic], value.replace(PLACE, told), key.replace(PLACE, told), sent_ms)
            client.poll(0)

    in_processes(bootstrap, write, places)


def in_processes(bootstrap: str, write: Write, places: int) -> None:
    """Each of them writes its share of the places; all that was made before is there without a copy."""
    fork = multiprocessing.get_context("fork")
    writers = [
        fork.Process(target=_write, args=(bootstrap, write, range(first, places, WRITERS)))
        for first in range(min(WRITERS, places))
    ]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
        if each.exitcode:
            raise RuntimeError(f"a writer ended with {each.exitcode}")


def send(
    client: Any, topic: str, value: str | bytes | None, key: str | bytes, sent_ms: int, headers: Any = None
) -> None:
    while True:
        try:
            client.produce(topic, value, key, timestamp=sent_ms, headers=headers)
            return
        except BufferError:  # the queue is full
            client.poll(0.05)


def _write(bootstrap: str, write: Write, numbers: range) -> None:
    client = producer(bootstrap, linger_ms=50, batch_size=500_000, queue_buffering_max_messages=500_000)
    write(client, numbers)
    if left := client.flush(FLUSH_S):
        raise TimeoutError(f"{left} records are not acknowledged after {FLUSH_S:.0f} s")
