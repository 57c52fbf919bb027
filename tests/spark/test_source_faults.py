"""A split is read to its end whatever the node does meanwhile; here without Spark, straight through the reader."""

from __future__ import annotations

import threading
import time

import pytest

from barnabas import Admin, Producer
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source import leader as leaders
from barnabas.pipelines.source.cluster import Cluster
from barnabas.pipelines.source.options import SourceOptions, parse_options
from barnabas.pipelines.source.planning import Range
from barnabas.pipelines.source.reading import read_records
from barnabas.testing import RunningNode

COUNT = 3000


@pytest.fixture
def options(barnabas_node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> SourceOptions:
    """A topic that takes some fetches to read: one batch of a hundred records each."""
    monkeypatch.setattr(leaders, "FETCH_BYTES", 1)
    with Admin(barnabas_node.bootstrap) as admin:
        admin.create_topic("t", partitions=1)
    with Producer(barnabas_node.bootstrap, linger_ms=0) as producer:
        for number in range(COUNT):
            producer.send("t", value=str(number))
            if number % 100 == 99:
                producer.flush()
    return parse_options({"kafka.bootstrap.servers": barnabas_node.bootstrap, "subscribe": "t"}, streaming=False)


def numbers(options: SourceOptions, start: int = 0, end: int = COUNT) -> list[int]:
    pieces = read_records(Range("t", 0, start, end), options)
    return [int(value.as_py()) for records in pieces for value in records.values()]


def test_answers_that_go_wrong_are_asked_for_again(barnabas_node: RunningNode, options: SourceOptions) -> None:
    barnabas_node.fail_next("Fetch", "NOT_LEADER_OR_FOLLOWER", times=2)
    barnabas_node.fail_next("Metadata", "LEADER_NOT_AVAILABLE")
    assert numbers(options) == list(range(COUNT))
    barnabas_node.disconnect_next("Fetch", times=3)
    assert numbers(options, 150, 2950) == list(range(150, 2950))


def test_a_node_that_restarts_is_waited_for(barnabas_node: RunningNode, options: SourceOptions) -> None:
    found: list[int] = []
    for records in read_records(Range("t", 0, 0, COUNT), options):
        found += [int(value.as_py()) for value in records.values()]
        if len(found) in (500, 1500):
            barnabas_node.stop()
            threading.Timer(0.3, barnabas_node.start).start()
            time.sleep(0.05)
    assert found == list(range(COUNT))


def test_a_topic_that_is_gone_is_told(barnabas_node: RunningNode, options: SourceOptions) -> None:
    with Admin(barnabas_node.bootstrap) as admin:
        admin.delete_topic("t")
    with pytest.raises(PipelineError, match="cannot read t-0: unknown topic or partition"):
        numbers(options)
    cluster = Cluster(options)
    try:
        with pytest.raises(PipelineError, match="there is no topic t at"):
            cluster.partitions()
        assert cluster.partitions(lenient=True) == []
    finally:
        cluster.close()


def test_an_end_that_is_not_there_is_data_loss(
    barnabas_node: RunningNode, options: SourceOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("barnabas.pipelines.source.reading.PATIENCE_S", 0.5)
    with pytest.raises(PipelineError, match="data was lost: t-0 ends at 3000, and was planned to be read to 3010"):
        numbers(options, 2990, 3010)
    given = {"kafka.bootstrap.servers": options.bootstrap, "subscribe": "t", "failOnDataLoss": "false"}
    assert numbers(parse_options(given, streaming=False), 2990, 3010) == list(range(2990, 3000))


def test_nobody_at_the_address_is_told_in_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.pipelines.source.cluster.CONNECT_TIMEOUT_S", 0.5)
    with pytest.raises(PipelineError, match=r"^cannot reach 127.0.0.1:1: connection refused. Is a node up\?"):
        Cluster(parse_options({"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}, streaming=False))
