"""A batch read as Spark's driver and tasks do it, against a node that fails, moves on and loses records."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any

import pytest
from pyspark.sql.datasource import GreaterThanOrEqual, InputPartition, StringContains

from barnabas import Admin, Producer
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source import cluster, leader, reading
from barnabas.pipelines.source.batch import BarnabasBatchReader
from barnabas.pipelines.source.cluster import Cluster
from barnabas.pipelines.source.leader import PartitionLeader
from barnabas.pipelines.source.options import SourceOptions, parse_options
from barnabas.pipelines.source.planning import Range
from barnabas.pipelines.source.rdkafka import read_by_librdkafka
from barnabas.pipelines.source.reading import read_split
from barnabas.testing import RunningNode, running_node
from tests.unit.pipelines.source_topics import COLUMNS, Topics, rows


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.fixture
def topics(node: RunningNode) -> Iterator[Topics]:
    yield Topics(node)
    node.heal()


def read(options: SourceOptions) -> list[tuple[int, int, str]]:
    reader = BarnabasBatchReader(options, COLUMNS)
    return sorted(row for split in reader.partitions() for row in rows(reader.read(split)))


def at(topic: str, offset: int) -> str:
    return f'{{"{topic}": {{"0": {offset}}}}}'


def numbers(count: int) -> list[str]:
    return [str(number) for number in range(count)]


def test_a_batch_has_every_record_of_every_partition(topics: Topics) -> None:
    name = topics.make([["a", "b"], [], ["c"]])
    assert read(topics.options(name)) == [(0, 0, "a"), (0, 1, "b"), (2, 0, "c")]
    pattern = topics.options(name, subscribePattern=name[:-1] + "[" + name[-1] + "]")
    assert read(pattern) == [(0, 0, "a"), (0, 1, "b"), (2, 0, "c")]
    assert read(topics.options(name, assign=f'{{"{name}": [2]}}')) == [(2, 0, "c")]


def test_a_batch_begins_and_ends_where_it_is_told(topics: Topics) -> None:
    name = topics.make([numbers(5)])
    options = topics.options(name, startingOffsets=at(name, 1), endingOffsets=at(name, 3))
    assert read(options) == [(0, 1, "1"), (0, 2, "2")]
    assert len(read(topics.options(name, startingOffsets=at(name, -2), endingOffsets=at(name, -1)))) == 5
    assert list(BarnabasBatchReader(options, COLUMNS).read(InputPartition(None))) == []


def test_splits_that_meet_inside_a_batch_share_no_record(topics: Topics) -> None:
    name = topics.make([numbers(10)])
    options = topics.options(name, maxRecordsPerPartition=3)
    reader = BarnabasBatchReader(options, COLUMNS)
    found = [[offset for _, offset, _ in rows(reader.read(split))] for split in reader.partitions()]
    assert len(found) == 4 and list(chain.from_iterable(found)) == list(range(10))


@pytest.mark.parametrize(
    ("option", "problem"),
    [
        ({"startingOffsets": '{"NAME": {"1": 0}}'}, "NAME-0 is left out"),
        ({"startingOffsets": '{"NAME": {"0": 0, "7": 0}}'}, "NAME-7 is not read"),
        ({"assign": '{"NAME": [4]}'}, "topic NAME has 1 partitions, none is 4"),
        ({"startingOffsets": '{"NAME": {"0": 9}}'}, "which ends at 2 for a reader of committed records"),
        ({"startingTimestamp": str(2**42)}, "NAME-0 has no record at or after"),
    ],
)
def test_what_the_topic_does_not_have_is_refused(topics: Topics, option: dict[str, str], problem: str) -> None:
    name = topics.make([["a", "b"]])
    given: dict[str, Any] = {key: value.replace("NAME", name) for key, value in option.items()}
    with pytest.raises(PipelineError, match=problem.replace("NAME", name)):
        read(topics.options(name, **given))


def test_a_topic_that_is_misspelt_is_told_with_the_one_that_was_meant(topics: Topics) -> None:
    name = topics.make([["a"]])
    with pytest.raises(PipelineError, match=f"there is no topic {name}x .*{name}"):
        read(topics.options(f"{name}x"))


def test_times_are_looked_up(topics: Topics) -> None:
    name = topics.make([["a", "b"]])
    everything = topics.options(name, startingTimestamp=0, endingTimestamp=2**42)
    assert len(read(everything)) == 2
    after = topics.options(name, startingTimestamp=2**42, startingOffsetsByTimestampStrategy="latest")
    assert read(after) == []
    each = topics.options(name, startingOffsetsByTimestamp=f'{{"{name}": {{"0": 0}}}}')
    assert len(read(each)) == 2


def test_a_time_in_the_query_spares_reading_what_is_older(topics: Topics) -> None:
    name = topics.make([["a"]])
    reader = BarnabasBatchReader(topics.options(name), COLUMNS)
    left = list(reader.pushFilters([
        GreaterThanOrEqual(("timestamp",), datetime(2100, 1, 1, tzinfo=UTC)), StringContains(("topic",), "r")
    ]))  # fmt: skip
    assert [type(each) for each in left] == [StringContains]
    assert list(reader.partitions()) == []
    soon = BarnabasBatchReader(topics.options(name), COLUMNS)
    assert list(soon.pushFilters([GreaterThanOrEqual(("timestamp",), datetime(2000, 1, 1, tzinfo=UTC))])) == []
    assert [row for split in soon.partitions() for row in rows(soon.read(split))] == [(0, 0, "a")]


# --- faults of the node ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", ["NOT_LEADER_OR_FOLLOWER", "UNKNOWN_SERVER_ERROR", "UNKNOWN_TOPIC_OR_PARTITION"])
def test_what_passes_is_asked_again(node: RunningNode, topics: Topics, error: str) -> None:
    name = topics.make([["a"]])
    node.fail_next("Fetch", error, times=2)
    assert read(topics.options(name)) == [(0, 0, "a")]


@pytest.mark.parametrize("api", ["Fetch", "Metadata", "ListOffsets"])
def test_a_connection_that_breaks_is_opened_anew(node: RunningNode, topics: Topics, api: str) -> None:
    name = topics.make([numbers(3)])
    options = topics.options(name)
    split = [Range(name, 0, 0, 3)]
    node.disconnect_next(api, times=2)
    assert len([row for each in split for row in rows(read_split(each, options, COLUMNS))]) == 3
    assert len(read(options)) == 3


@pytest.mark.parametrize("error", ["TOPIC_AUTHORIZATION_FAILED", "CORRUPT_MESSAGE"])
def test_what_does_not_pass_is_told_at_once(node: RunningNode, topics: Topics, error: str) -> None:
    name = topics.make([["a"]])
    node.fail_next("Fetch", error, times=-1)
    with pytest.raises(PipelineError, match=f"cannot read {name}-0: {error.lower().replace('_', ' ')}"):
        list(read_split(Range(name, 0, 0, 1), topics.options(name), COLUMNS))


def test_patience_ends(node: RunningNode, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    name = topics.make([["a"]])
    monkeypatch.setattr(leader, "PATIENCE_S", 0.2)
    node.fail_next("Fetch", "NOT_LEADER_OR_FOLLOWER", times=-1)
    with pytest.raises(PipelineError, match=f"cannot read {name}-0: not leader or follower"):
        list(read_split(Range(name, 0, 0, 1), topics.options(name), COLUMNS))


def test_a_partition_that_never_was_is_not_waited_for(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader, "APPEARS_WITHIN_S", 0.2)
    name = topics.make([["a"]])
    for place in (Range(name, 3, 0, 1), Range("read-nothing", 0, 0, 1)):
        with pytest.raises(PipelineError, match=f"cannot read {place.topic}-{place.partition}"):
            list(read_split(place, topics.options(name), COLUMNS))


def test_another_address_of_the_bootstrap_answers_for_one_that_is_down(topics: Topics) -> None:
    name = topics.make([["a"]])
    found = PartitionLeader(f"127.0.0.1:1,{topics.node.bootstrap}", name, 0, True, {})
    assert found.fetch(0).high_watermark == 1
    assert found.earliest() == 0
    found.close()


def test_a_fetch_ahead_that_nobody_wants_is_passed_over(topics: Topics) -> None:
    name = topics.make([numbers(4)])
    found = PartitionLeader(topics.node.bootstrap, name, 0, True, {})
    found.ask_ahead(2)  # without a connection nothing is asked
    assert found.fetch(0).last_stable_offset == 4
    found.ask_ahead(4)
    assert found.earliest() == 0
    found.ask_ahead(2)
    with pytest.raises(leader.OffsetGone, match=f"{name}-0 does not hold offset 99"):
        found.fetch(99)
    found.close()


# --- records that are gone -------------------------------------------------------------------------------------------


def test_records_that_are_gone_stop_the_query_or_are_left_out(topics: Topics, caplog: pytest.LogCaptureFixture) -> None:
    name = topics.make([numbers(5)])
    with Admin(topics.node.bootstrap) as admin:
        admin.delete_records(name, 3)
    split = Range(name, 0, 0, 5)
    told = f"{name}-0 does not hold offset 0 any more, it begins at 3"
    with pytest.raises(PipelineError, match=told):
        list(read_split(split, topics.options(name), COLUMNS))
    with pytest.raises(PipelineError, match=told):
        list(read_by_librdkafka(split, topics.options(name)))
    with caplog.at_level(logging.WARNING):
        found = rows(read_split(split, topics.options(name, failOnDataLoss="false"), COLUMNS))
    assert found == [(0, 3, "3"), (0, 4, "4")]
    assert "data was lost" in caplog.text
    by_librdkafka = list(read_by_librdkafka(split, topics.options(name, failOnDataLoss="false")))
    assert [int(offset) for piece in by_librdkafka for offset in piece.offsets] == [3, 4]


def test_a_log_that_ends_too_soon_is_waited_for_and_then_told(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PATIENCE_S", 0.3)
    monkeypatch.setattr(leader, "FETCH_WAIT_MS", 50)
    name = topics.make([["a"]])
    with pytest.raises(PipelineError, match=f"{name}-0 ends at 1, and was planned to be read to 9"):
        list(read_split(Range(name, 0, 0, 9), topics.options(name), COLUMNS))
    lenient = topics.options(name, failOnDataLoss="false")
    assert rows(read_split(Range(name, 0, 0, 9), lenient, COLUMNS)) == [(0, 0, "a")]


def test_a_taken_back_transaction_is_seen_only_by_who_asks_for_it(topics: Topics) -> None:
    name = topics.make([["before"]])
    with Producer(topics.node.bootstrap, transactional_id=name) as producer:
        with pytest.raises(RuntimeError), producer.transaction():
            producer.send(name, "taken back", partition=0)
            producer.flush()
            raise RuntimeError
        with producer.transaction():
            producer.send(name, "kept", partition=0)
    committed = [value for _, _, value in read(topics.options(name))]
    everything = [value for _, _, value in read(topics.options(name, kafka_isolation_level="read_uncommitted"))]
    assert (committed, everything) == (["before", "kept"], ["before", "taken back", "kept"])


def test_librdkafka_reads_the_same(topics: Topics) -> None:
    name = topics.make([[*numbers(5), ""]])
    with Producer(topics.node.bootstrap) as producer:
        producer.send(name, None, partition=0)
    options = topics.options(name, includeHeaders="true")
    for split in (Range(name, 0, 0, 7), Range(name, 0, 2, 4)):
        ours = list(reading.read_records(split, options))
        theirs = list(read_by_librdkafka(split, options))
        for column in ("offsets", "timestamps", "key_sizes", "value_sizes"):
            got = [[int(each) for piece in pieces for each in getattr(piece, column)] for pieces in (ours, theirs)]
            assert got[0] == got[1], column


# --- the planner -----------------------------------------------------------------------------------------------------


def test_the_planner_gives_up_after_a_while(topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "ANSWER_WITHIN_S", 0.3)
    name = topics.make([["a"]])
    asked = Cluster(topics.options(name))
    topics.node.fail_next("ListOffsets", "TOPIC_AUTHORIZATION_FAILED", times=-1)
    with pytest.raises(PipelineError, match="look up the offsets"):
        asked.latest([(name, 0)])
    asked.close()


def test_a_planner_without_a_cluster_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "CONNECT_TIMEOUT_S", 0.5)
    options = parse_options({"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}, streaming=False)
    with pytest.raises(PipelineError, match=r"127\.0\.0\.1:1"):
        Cluster(options)
