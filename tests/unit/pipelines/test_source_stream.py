"""A streaming read as Spark drives it: where a query begins, how far a batch may go, what is lost, and its group."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Iterator

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from barnabas import Admin
from barnabas.model.json_values import JsonObject
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source import group_commits, stream
from barnabas.pipelines.source.stream import BarnabasStreamReader
from barnabas.testing import RunningNode, running_node
from tests.unit.pipelines.source_topics import COLUMNS, Topics, rows

ALL = ReadAllAvailable()


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node({"offsets.topic.num.partitions": 1}) as running:
        yield running


class Query(Topics):
    """Readers of streams that are stopped when the test ends."""

    def __init__(self, node: RunningNode) -> None:
        super().__init__(node)
        self.readers: list[BarnabasStreamReader] = []

    def reader(self, topic: str, **given: object) -> BarnabasStreamReader:
        made = BarnabasStreamReader(self.options(topic, streaming=True, **given), COLUMNS)
        self.readers.append(made)
        return made


@pytest.fixture
def query(node: RunningNode) -> Iterator[Query]:
    made = Query(node)
    yield made
    for reader in made.readers:
        reader.stop()
    node.heal()


def read(reader: BarnabasStreamReader, start: JsonObject, end: JsonObject) -> list[tuple[int, int, str]]:
    return sorted(row for split in reader.partitions(start, end) for row in rows(reader.read(split)))


def test_batches_follow_each_other_without_a_gap(query: Query) -> None:
    name = query.make([["a", "b"], ["c"]])
    reader = query.reader(name, startingOffsets="earliest")
    start = reader.initialOffset()
    assert start == {name: {"0": 0, "1": 0}}
    end = reader.latestOffset(start, ALL)
    assert read(reader, start, end) == [(0, 0, "a"), (0, 1, "b"), (1, 0, "c")]
    query.write(name, [[], ["d"]])
    later = reader.latestOffset(end, ALL)
    assert read(reader, end, later) == [(1, 1, "d")]
    assert reader.reportLatestOffset() == later


def test_a_stream_begins_at_the_end_unless_told(query: Query) -> None:
    name = query.make([["a", "b"]])
    reader = query.reader(name)
    assert reader.reportLatestOffset() is None
    assert reader.initialOffset() == {name: {"0": 2}}


def test_a_batch_takes_no_more_than_it_may(query: Query) -> None:
    name = query.make([["a", "b", "c"], ["d", "e", "f"]])
    reader = query.reader(name, startingOffsets="earliest", maxOffsetsPerTrigger=4)
    limit = reader.getDefaultReadLimit()
    assert isinstance(limit, ReadMaxRows) and limit.max_rows == 4
    end = reader.latestOffset(reader.initialOffset(), limit)
    assert end == {name: {"0": 2, "1": 2}}


def test_a_batch_waits_until_it_is_worth_it(query: Query) -> None:
    name = query.make([["a"]])
    reader = query.reader(name, startingOffsets="earliest", minOffsetsPerTrigger=3)
    limit = reader.getDefaultReadLimit()
    assert isinstance(limit, ReadMinRows)
    start = reader.initialOffset()
    assert reader.latestOffset(start, limit) == start
    query.write(name, [["b", "c"]])
    assert reader.latestOffset(start, limit) == {name: {"0": 3}}
    assert isinstance(query.reader(name).getDefaultReadLimit(), ReadAllAvailable)


def test_what_is_there_now_is_the_end_of_a_query_that_asks_for_that(query: Query) -> None:
    name = query.make([["a"]])
    reader = query.reader(name, startingOffsets="earliest")
    start = reader.initialOffset()
    reader.prepareForTriggerAvailableNow()
    query.write(name, [["too late"]])
    end = reader.latestOffset(start, ALL)
    assert read(reader, start, end) == [(0, 0, "a")]
    assert reader.reportLatestOffset() == {name: {"0": 2}}
    # A checkpoint behind what was found: nothing is left to do, and nothing is done twice.
    assert reader.latestOffset({name: {"0": 5}}, ALL) == {name: {"0": 5}}


def test_a_new_partition_is_read_from_its_first_record_on(query: Query) -> None:
    name = query.make([["a"]])
    reader = query.reader(name, startingOffsets="earliest")
    start = reader.latestOffset(reader.initialOffset(), ALL)
    with Admin(query.node.bootstrap) as admin:
        admin.grow_topic(name, 2)
    query.write(name, [[], ["new"]])
    end = reader.latestOffset(start, ALL)
    assert read(reader, start, end) == [(1, 0, "new")]


def test_splits_are_cut_and_bundled_as_the_options_say(query: Query) -> None:
    name = query.make([[str(number) for number in range(9)], ["x"]])
    start, end = {name: {"0": 0, "1": 0}}, {name: {"0": 9, "1": 1}}
    cut = query.reader(name, maxRecordsPerPartition=2).partitions(start, end)
    assert all(len(each.value) == 1 and each.value[0].size <= 2 for each in cut)
    bundled = query.reader(name, maxRecordsPerPartition=2, maxPartitions=2)
    found = bundled.partitions(start, end)
    assert len(found) <= 2 < len(cut)
    assert len([row for each in found for row in rows(bundled.read(each))]) == 10


def test_a_task_gets_the_reader_without_the_connections(query: Query) -> None:
    name = query.make([["a"]])
    reader = query.reader(name, startingOffsets="earliest")
    start = reader.initialOffset()
    copy = pickle.loads(pickle.dumps(reader))  # noqa: S301  (our own bytes, as Spark sends them)
    split = reader.partitions(start, {name: {"0": 1}})[0]
    assert rows(copy.read(split)) == [(0, 0, "a")]
    assert copy._cluster is None


# --- what is lost ----------------------------------------------------------------------------------------------------


def test_records_that_retention_took_stop_the_query_or_are_told(query: Query, caplog: pytest.LogCaptureFixture) -> None:
    name = query.make([["a", "b", "c"]])
    with Admin(query.node.bootstrap) as admin:
        admin.delete_records(name, 2)
    start, end = {name: {"0": 0}}, {name: {"0": 3}}
    with pytest.raises(PipelineError, match=f"{name}-0 begins at 2, and records from 0 on are wanted"):
        query.reader(name).partitions(start, end)
    with caplog.at_level(logging.WARNING):
        assert read(query.reader(name, failOnDataLoss="false"), start, end) == [(0, 2, "c")]
    assert f"{name}-0 begins at 2" in caplog.text


def test_a_new_partition_that_lost_its_first_records_is_lost_data(query: Query) -> None:
    name = query.make([["a"], ["b", "c"]])
    with Admin(query.node.bootstrap) as admin:
        admin.delete_records(name, {1: 1})
    with pytest.raises(PipelineError, match=f"{name}-1 is new and begins at 1"):
        query.reader(name).latestOffset({name: {"0": 1}}, ALL)


def test_a_topic_that_was_made_anew_ends_before_what_was_read(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "SETTLE_S", 0.2)
    name = query.make([["a"]])
    start = {name: {"0": 7}}
    reader = query.reader(name)
    end = reader.latestOffset(start, ALL)
    with pytest.raises(PipelineError, match=f"{name}-0 ends at 1, and was read to 7 before"):
        reader.partitions(start, end)
    lenient = query.reader(name, failOnDataLoss="false")
    assert read(lenient, start, lenient.latestOffset(start, ALL)) == []


def test_a_partition_of_the_checkpoint_that_is_gone(
    query: Query, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(group_commits, "COMMIT_WITHIN_S", 0.2)  # the group takes no offset of it
    name = query.make([["a"]])
    start = {name: {"0": 0, "1": 4}}
    with pytest.raises(PipelineError, match=f"{name}-1 is gone"):
        query.reader(name).latestOffset(start, ALL)
    lenient = query.reader(name, failOnDataLoss="false")
    with caplog.at_level(logging.WARNING):
        assert lenient.latestOffset(start, ALL) == {name: {"0": 1}}
    assert f"{name}-1 is gone" in caplog.text
    gone = query.reader(f"{name}-deleted", failOnDataLoss="false")
    assert gone.latestOffset({}, ALL) == {}


# --- the group -------------------------------------------------------------------------------------------------------


def committed(query: Query, group: str) -> dict[tuple[str, int], int | None]:
    with Admin(query.node.bootstrap) as admin:
        found = admin.describe_group(group, with_seconds=False).partitions
    return {(each.topic, each.partition): each.committed for each in found}


def test_the_group_shows_how_far_the_query_is(query: Query) -> None:
    name = query.make([["a", "b"]])
    reader = query.reader(name, kafka_group_id=f"g-{name}")
    reader.commit({name: {"0": 1}})
    assert committed(query, f"g-{name}") == {(name, 0): 1}
    # Spark asks for more from an offset on only when everything before it is done.
    reader.latestOffset({name: {"0": 2}}, ALL)
    assert committed(query, f"g-{name}") == {(name, 0): 2}


def test_a_login_that_only_librdkafka_speaks_commits_by_it(query: Query, monkeypatch: pytest.MonkeyPatch) -> None:
    name = query.make([["a", "b"]])
    reader = query.reader(name, kafka_group_id=f"g-{name}")
    monkeypatch.setattr("barnabas.pipelines.source.cluster.is_spoken_here", lambda settings: False)
    reader.commit({name: {"0": 2}})
    assert committed(query, f"g-{name}") == {(name, 0): 2}


@pytest.mark.parametrize("spoken_here", [True, False])
def test_a_group_that_may_not_be_used_stops_nothing(
    query: Query, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, spoken_here: bool
) -> None:
    monkeypatch.setattr("barnabas.pipelines.source.cluster.is_spoken_here", lambda settings: spoken_here)
    name = query.make([["a"]])
    reader = query.reader(name, startingOffsets="earliest", kafka_group_id=f"g-{name}")
    query.node.fail_next("OffsetCommit", "GROUP_AUTHORIZATION_FAILED", times=-1)
    with caplog.at_level(logging.WARNING):
        reader.commit({name: {"0": 1}})
        warned = len(caplog.records)
        reader.commit({name: {"0": 0}})
    assert warned >= 1 and len(caplog.records) == warned  # it is not asked again for every batch
    assert reader.latestOffset({name: {"0": 0}}, ALL) == {name: {"0": 1}}
