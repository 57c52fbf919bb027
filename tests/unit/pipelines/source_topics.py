"""A node with topics for the tests of the source, read without Spark: what Spark's driver and tasks would call."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from barnabas import Admin, Producer
from barnabas.pipelines.source.columns import record_columns
from barnabas.pipelines.source.options import SourceOptions, parse_options
from barnabas.testing import RunningNode

COLUMNS = record_columns(False, None)
_numbers = itertools.count(1)


class Topics:
    """Topics of a node, each with a name of its own."""

    def __init__(self, node: RunningNode) -> None:
        self.node = node

    def make(self, values: Iterable[Iterable[str]], **configs: object) -> str:
        """A topic with a partition for each list of values."""
        lists = [list(each) for each in values]
        name = f"read-{next(_numbers)}"
        with Admin(self.node.bootstrap) as admin:
            admin.create_topic(name, partitions=len(lists), configs=configs)
        self.write(name, lists)
        return name

    def write(self, name: str, lists: Iterable[Iterable[str]]) -> None:
        with Producer(self.node.bootstrap) as producer:
            for partition, values in enumerate(lists):
                for value in values:
                    producer.send(name, value, key=f"k-{value}", partition=partition)

    def options(self, topic: str, *, streaming: bool = False, **given: object) -> SourceOptions:
        """Options of a read of `topic` by Spark's names; kafka_x_y is kafka.x.y."""
        named = {
            name.replace("_", ".") if name.startswith("kafka_") else name: str(value) for name, value in given.items()
        }
        what = {} if {"assign", "subscribePattern"} & set(named) else {"subscribe": topic}
        return parse_options({"kafka.bootstrap.servers": self.node.bootstrap, **what, **named}, streaming=streaming)


def rows(batches: Iterable[Any]) -> list[tuple[int, int, str]]:
    """(partition, offset, value) of every row."""
    return [(row["partition"], row["offset"], row["value"].decode()) for batch in batches for row in batch.to_pylist()]
