"""What a node tells its operator at the default level, and that nobody can make it tell too much."""

import logging
from pathlib import Path

import pytest

from barnabas.broker.metrics.event_log import LimitedLog
from barnabas.broker.metrics.repair_log import RepairLog
from barnabas.model.ids import TopicPartition
from barnabas.storage.damage import Damage
from barnabas.storage.recovery import RecoveryReport

from .cluster import Cluster, run, until
from .test_replication import batch, create, leader_of, produced


def test_a_failover_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "barnabas.events")

    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster, partitions=3)
            await produced(cluster, batch([b"a"]))
            await until(lambda: "1 topic created: t (3 partitions, 3 replicas)" in caplog.text)
            assert "leads the quorum in epoch" in caplog.text
            leader = await leader_of(cluster)
            caplog.clear()
            cluster.kill(leader.node_id)
            await until(lambda: f"broker {leader.node_id} is fenced" in caplog.text)
            assert f"t-0 from {leader.node_id} to " in caplog.text
            assert "fewer replicas in sync" in caplog.text
            assert sum(record.name == "barnabas.events" for record in caplog.records) < 12
        finally:
            cluster.drop()

    run(test)


def test_a_line_that_clients_can_cause_is_limited(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    limited = LimitedLog(logging.getLogger("barnabas.test"), lambda: now)
    for number in range(1_000):
        limited.warning("too many", f"connection {number} refused")
    limited.warning("another", "something else")
    assert [record.getMessage() for record in caplog.records] == ["connection 0 refused", "something else"]
    now = 2.0
    limited.warning("too many", "connection 1000 refused")
    assert caplog.records[-1].getMessage() == "connection 1000 refused (999 more like it since the last line)"


def test_repairs_are_told_in_words_and_summed_up(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    repairs = RepairLog()
    for index in range(100):
        cut = Damage("00000000000000000000.log", 340, "the batch is cut off")
        repairs.opened(TopicPartition("t", index), RecoveryReport(cut=cut, cut_bytes=12))
    repairs.opened(TopicPartition("clean", 0), RecoveryReport())
    repairs.recovered(101, 0.5)
    told = [record.getMessage() for record in caplog.records]
    first = "12 bytes cut (00000000000000000000.log at position 340: the batch is cut off)"
    assert told[0] == f"t-0 was repaired: {first}"
    assert len(told) == 12
    assert told[-1].endswith(
        "101 partitions were checked in 0.5 s, 100 repaired, 1,200 bytes cut that were not written whole"
    )
