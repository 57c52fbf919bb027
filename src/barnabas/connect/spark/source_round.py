"""A source's round, in a task of Spark: the splits of one partition of NAME.positions, for some seconds.

It fences whoever had the partition before, then reads where the splits stand, as a worker does: a task that Spark has
given up, but that still runs, cannot write any more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator

import msgspec

from barnabas.connect.cluster.positions import Known
from barnabas.connect.cluster.status import State
from barnabas.connect.contract import Behind
from barnabas.connect.runtime.progress import Progress
from barnabas.connect.runtime.split_reading import SplitReading
from barnabas.connect.spark.asked import SourceAnswer, SourceAsked, failure_of

_KNOWN_MOST_BYTES = 1024 * 1024  # of positions that go from round to round; more are read from the topic instead


def run(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        answer = _round(msgspec.json.decode(text, type=SourceAsked))
        yield msgspec.json.encode(answer).decode()


def _round(asked: SourceAsked) -> SourceAnswer:
    counted = _Counted(asked.definition.name, "", asked.task)
    answer = SourceAnswer()
    ending = threading.Event()
    timer = threading.Timer(asked.seconds, ending.set)
    try:
        numbers = (asked.partition, asked.task)
        reading = SplitReading(asked.cluster(), asked.definition, counted, numbers, asked.splits, asked.known)
        answer.known = _if_small(reading.known)
        timer.start()
        reading.run(ending)
        answer.problem = reading.problem
    except Exception as problem:  # also defects, ours and of connectors: the driver tells them and tries again
        answer.failure = failure_of(problem)
    finally:
        timer.cancel()
    answer.records, answer.dead, answer.behind = counted.records, counted.dead, counted.behind
    return answer


def _if_small(known: Known) -> Known | None:
    return known if len(msgspec.json.encode(known)) <= _KNOWN_MOST_BYTES else None


class _Counted(Progress):
    """What the driver adds to its own."""

    def __init__(self, connector: str, worker: str, task: int) -> None:
        super().__init__(connector, worker, task)
        self.records = self.dead = 0
        self.behind: dict[str, Behind] = {}

    def wrote(self, records: int, dead: int = 0) -> None:
        self.records += records
        self.dead += dead

    def is_behind(self, part: str, behind: Behind | None) -> None:
        if behind is not None:
            self.behind[part] = behind

    def is_in(self, state: State, problem: str = "") -> None:
        return  # the driver says it
