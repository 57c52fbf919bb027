"""Keys land where Java puts them; the other partitioners spread as they promise."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import Any

import pytest
from confluent_kafka import murmur2 as librdkafka_murmur2
from hypothesis import given
from hypothesis import strategies as st

from barnabas.client.errors import BadSetting
from barnabas.client.producer.partitioners import ByFunction, PartitionCounts, RoundRobin, Sticky, make_chooser
from barnabas.model.partitioning import murmur2
from barnabas.model.partitioning import partition_for_key as place

# Printed by org.apache.kafka.common.utils.Utils.murmur2 of Apache Kafka 4.3.1: key in hex, hash, partition of 7.
JAVA = """
- 275646681 2
61 -1563381124 5
6162 316155434 0
616263 479470107 4
61626364 -1323649548 5
6162636465 461995741 4
3231 -973932308 3
666f6f626172 -790332482 0
612d6c6974746c652d6269742d6c6f6e672d737472696e67 -985981536 1
612d6c6974746c652d6269742d6c6f6e6765722d737472696e67 -1486304829 0
6c6b6a683233346c68396669756839307932336f697568736166756a6861646f66323239706872396831396838396838 -58897971 3
757365722d31 1404122828 3
757365722d32 -324981792 0
c3a9c3bce282ac 412708365 6
00 375494588 0
183477a35a94c9bf390b770209d32a595d4a987d41f4b3e592471abe05194bb55dcab391 1607538654 1
e98ee81edf7fae40bfe793d9fced52b202e34d15e5c4caaf166fc2edcea4fb1b 1165620998 3
e944 1081884379 2
b71cf8 -1082937505 3
693058b22edd1479f1953297e1c82141a6a46d99364cf461b317c99fee614cc5a74b029f8f81 -94013244 6
94aa2150847891d75da8dddd -855362061 1
eb50781ae04364f9b3a3f3707eab79470ba3c885b66c499800da641a22a420ee9989 1809447463 5
c9c38fbf7ae22a00a4174c64 -1832867708 2
9831c2d5e9f8c7dcb1c3 -926120083 2
347dd8728b -1941435924 1
"""


@pytest.mark.parametrize("line", JAVA.split("\n")[1:-1])
def test_murmur2_is_javas(line: str) -> None:
    text, expected, partition = line.split()
    key = bytes.fromhex(text.strip("-"))
    assert murmur2(key) == int(expected)
    assert place(key, 7) == int(partition)


@given(st.binary(min_size=1, max_size=200), st.integers(1, 10_000))
def test_murmur2_is_librdkafkas_too(key: bytes, count: int) -> None:
    assert place(key, count) == librdkafka_murmur2(key, count)


def test_round_robin_takes_every_partition_in_turn() -> None:
    chooser = RoundRobin()
    chosen = [chooser.choose("t", None, b"", 5) for _ in range(10)]
    assert sorted(chosen[:5]) == [0, 1, 2, 3, 4]
    assert chosen[5:] == chosen[:5]


def test_round_robin_keeps_its_turn_for_each_topic() -> None:
    chooser = RoundRobin()
    a = [chooser.choose("a", None, b"", 3)]
    chooser.choose("b", None, b"", 3)
    a += [chooser.choose("a", None, b"", 3) for _ in range(2)]
    assert sorted(a) == [0, 1, 2]


def test_sticky_stays_for_a_batch_and_then_moves() -> None:
    chooser = Sticky(batch_bytes=1_000, linger_ms=60_000)
    chosen = [chooser.choose("t", b"key", b"x" * 100, 4) for _ in range(400)]
    runs = [chosen[start : start + 10] for start in range(0, 400, 10)]
    assert all(len(set(run)) == 1 for run in runs)
    assert all(one[0] != other[0] for one, other in itertools.pairwise(runs))
    assert len(Counter(chosen)) == 4


def test_sticky_leaves_a_partition_that_is_gone() -> None:
    chooser = Sticky(batch_bytes=1_000_000, linger_ms=60_000)
    for _ in range(20):
        chooser.choose("t", None, b"x", 50)
    assert chooser.choose("t", None, b"x", 1) == 0


def test_a_function_sees_key_value_and_count() -> None:
    seen: list[Any] = []

    def choose(key: bytes | None, value: Any, count: int) -> int:
        seen.append((key, value, count))
        return 2

    assert ByFunction(choose).choose("t", b"k", {"a": 1}, 3) == 2
    assert seen == [(b"k", {"a": 1}, 3)]


@pytest.mark.parametrize("answer", [-1, 3, None, "0", 1.5])
def test_a_function_that_chooses_nonsense_is_told(answer: Any) -> None:
    with pytest.raises(BadSetting, match="partitions 0 to 2"):
        ByFunction(lambda key, value, count: answer).choose("t", None, None, 3)


def test_names() -> None:
    assert make_chooser("murmur2", 1, 1) is None
    assert isinstance(make_chooser("round_robin", 1, 1), RoundRobin)
    with pytest.raises(BadSetting, match="no partitioner 'crc'"):
        make_chooser("crc", 1, 1)  # type: ignore[arg-type]


class Metadata:
    def __init__(self, *counts: int) -> None:
        self.counts = list(counts)
        self.asked = 0

    def list_topics(self, topic: str | None = None, timeout: float = -1) -> Any:
        self.asked += 1
        count = self.counts.pop(0) if len(self.counts) > 1 else self.counts[0]
        found = type("Topic", (), {"partitions": dict.fromkeys(range(count)), "error": None})
        return type("Answer", (), {"topics": {topic: found}})


def test_counts_are_asked_once_and_remembered() -> None:
    metadata = Metadata(3)
    counts = PartitionCounts(metadata, "host:1")
    assert counts.fresh("t") is None
    assert counts.ask("t") == 3
    assert counts.fresh("t") == 3
    assert metadata.asked == 1


def test_counts_wait_for_a_topic_that_is_being_created() -> None:
    metadata = Metadata(0, 0, 4)
    assert PartitionCounts(metadata, "host:1").ask("t") == 4
    assert metadata.asked == 3
