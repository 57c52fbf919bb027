"""The driver's side of sources on Spark, with rounds that run in this process: positions from round to round, and the
transactions of rounds that end without an answer."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import TopicPartition

from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.definition.loading import load
from barnabas.connect.spark.source_task import SparkSourceTask
from barnabas.pipelines.sink.transactions import Transactions
from barnabas.testing import RunningNode
from tests.support.connect import all_records
from tests.support.members import until
from tests.unit.connect.spark.local import COUNTING, LocalContext
from tests.unit.connect.spark.running import Member, Running, running

OPEN = """
    import time
    from pathlib import Path

    def read(position, options):
        for number in range(3):
            yield "x" * 600_000, {"number": number}  # more than a batch: it is sent
        time.sleep(0.3)
        yield "x", {"number": 3}  # what was read is written now, and the transaction is open
        while not (Path(options["folder"]) / "goes").exists():
            time.sleep(0.02)
"""


def test_positions_of_a_source_go_from_round_to_round(node: RunningNode, context: LocalContext, tmp_path: Path) -> None:
    (tmp_path / "counting.py").write_text(textwrap.dedent(COUNTING))
    text = "name: counted\nfrom: {python: {file: counting.py}}\nto: {topic: counted}\nengine: spark\n"
    (definition,) = load(text + "spark: {round_s: 1}\n", folder=tmp_path)

    def numbers() -> list[int]:
        if "counted" not in Cluster(node.bootstrap).admin().list_topics(timeout=10).topics:
            return []
        return sorted(json.loads(each.value() or b"")["number"] for each in all_records(node.bootstrap, "counted"))

    with running(node, definition) as source:
        until(lambda: len(context.described) >= 3, "several rounds", 30)
    first = numbers()
    assert source.raised is None and len(first) >= 20
    assert 0 < source.progress.told().records <= len(first)
    context.fail_with = RuntimeError("an executor was lost")
    with running(node, definition) as source:
        until(lambda: "an executor was lost" in source.progress.told().problem, "it says why", 30)
        context.fail_with = None
        until(lambda: len(numbers()) > len(first), "it goes on", 30)
    assert numbers() == list(range(1, len(numbers()) + 1))


class OpenTransaction:
    """A source whose first round stands in an open transaction; no other round begins."""

    def __init__(self, node: RunningNode, context: LocalContext, folder: Path, name: str) -> None:
        self._folder = folder
        (folder / "opening.py").write_text(textwrap.dedent(OPEN))
        options = f'{{file: opening.py, folder: "{folder}"}}'
        text = f"name: {name}\nfrom: {{python: {options}}}\nto: {{topic: {name}}}\ncommit_ms: 60000\n"
        (self.definition,) = load(text + "engine: spark\nspark: {round_s: 1}\n", folder=folder)
        self._links = Cluster(node.bootstrap).links()
        self._transactions = Transactions(self._links)
        self._context = context

    def is_open(self) -> bool:
        return self._transactions.open_ids(f"{self.definition.group}-") != []

    def begun(self) -> None:
        until(self.is_open, "a transaction is open", 30)
        self._context.goes.clear()

    def close(self) -> None:
        (self._folder / "goes").touch()
        self._context.goes.set()
        self._links.close()


@pytest.fixture
def opening(
    node: RunningNode, context: LocalContext, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[OpenTransaction]:
    made = OpenTransaction(node, context, tmp_path, request.node.name.replace("_", "-")[:60])
    yield made
    made.close()


def test_what_a_killed_round_of_a_source_left_open_is_aborted(
    node: RunningNode, context: LocalContext, opening: OpenTransaction
) -> None:
    """Before another round runs: readers of what is committed would wait for it until the transaction's timeout."""
    with running(node, opening.definition) as source:
        opening.begun()
        context.killed.set()
        until(lambda: "an executor was lost" in source.progress.told().problem, "it says why")
        assert not opening.is_open()
        opening.close()


@pytest.mark.usefixtures("impatient")
def test_what_a_cancelled_round_of_a_source_left_open_is_aborted(
    node: RunningNode, context: LocalContext, opening: OpenTransaction
) -> None:
    """As of a connector that is stopped: no other round comes."""
    source = Running(node, opening.definition)
    opening.begun()
    source.stop()
    assert context.cancelled and not opening.is_open()


@pytest.mark.usefixtures("impatient")
def test_a_partition_that_was_lost_is_not_taken_from_its_new_owner(
    node: RunningNode, context: LocalContext, opening: OpenTransaction, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(node, opening.definition) as source:
        opening.begun()
        task = source.task
        assert isinstance(task, SparkSourceTask)
        places = [TopicPartition(opening.definition.positions_topic, each) for each in task._owned]
        source.in_its_thread(lambda: task._lost(Member(), places), monkeypatch)  # type: ignore[arg-type]  # librdkafka calls it so
        assert context.cancelled and task._owned == {} and opening.is_open()
