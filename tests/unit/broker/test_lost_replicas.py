"""Telling the controller of lost replicas: backed off, said once, and one that fails harms itself only."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.broker.metrics.health import Health
from barnabas.broker.replication import lost_replicas
from barnabas.broker.replication.environment import ReplicationHooks
from barnabas.broker.replication.lost_replicas import TASK, LostReplicas
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition

from .cluster import until


class Replica:
    """As much of a hosted partition as is used."""

    deleted = lost = False
    image = SimpleNamespace(replicas=(1, 2, 3))
    topic_id = b"t" * 16

    def __init__(self, index: int) -> None:
        self.id = TopicPartition("t", index)


class Broker:
    """A broker whose controller fails as often as the test says, and what becomes of its partitions."""

    image: Any = None

    node_id, broker_epoch = 1, 7

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.asked: list[float] = []
        self.moved: list[Any] = []
        self.spoilt: set[Any] = set()
        self.failed: list[Exception] = []
        self.health = Health()

    async def ask(self, *_: Any) -> Any:
        self.asked.append(asyncio.get_running_loop().time())
        if self.failures:
            raise self.failures.pop(0)
        return SimpleNamespace(error_code=0, directories=[])

    def recheck_leadership(self, partition: Any) -> None:
        pass

    def follow_anew(self, partition: Any) -> None:
        if partition in self.spoilt:
            raise ValueError("a defect")
        self.moved.append(partition)


def made(*failures: Exception) -> tuple[Any, LostReplicas]:
    broker: Any = Broker(*failures)
    hooks = ReplicationHooks(lambda: broker, broker.ask, lambda: True, broker.failed.append, lambda partition: None)
    return broker, LostReplicas(broker, hooks, broker.health, broker.follow_anew)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lost_replicas, "_AGAIN_SECONDS", 0.02)


def test_a_controller_that_cannot_be_told_is_asked_more_rarely(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        gone = KafkaError(ErrorCode.NOT_CONTROLLER, "there is no active controller at the moment")
        node, lost = made(gone, gone, gone, ValueError("a defect"))
        replica: Any = Replica(0)
        lost.report(replica, "its folder is gone")
        await until(lambda: len(node.asked) == 3)
        (problem,) = node.health.problems()
        assert (problem.what, problem.subject) == (TASK, "the node") and "controller" in problem.way_out
        await until(lambda: node.moved == [replica])
        waits = [later - before for before, later in zip(node.asked, node.asked[1:], strict=False)]
        assert all(wait >= 0.018 * 2**number for number, wait in enumerate(waits)), waits
        assert not node.failed and not node.health.problems()
        said = [record.getMessage() for record in caplog.records if TASK in record.getMessage()]
        assert len(said) == 2 and "no active controller" in said[0] and "works again" in said[1]

    asyncio.run(test())


def test_one_replica_that_fails_harms_itself_only() -> None:
    async def test() -> None:
        node, lost = made()
        first, second = replicas = [Replica(0), Replica(1)]
        node.spoilt = {first}
        for replica in replicas:
            lost.report(replica, "its folder is gone")  # type: ignore[arg-type]
        await until(lambda: node.moved == [second] and bool(node.health.problems()))
        (problem,) = node.health.problems()
        assert problem.subject == "t-0" and "a defect" in problem.reason
        node.spoilt.clear()
        await until(lambda: node.moved == [second, first] and not node.health.problems())
        assert not node.failed

    asyncio.run(test())
