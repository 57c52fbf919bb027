"""Folders that have lost their topic id: never adopted by a topic that they cannot be of, and never removed."""

from pathlib import Path

import pytest

from barnabas.broker.quorum import metadata_log

from .cluster import Cluster, ask, run, until
from .test_replication import batch, create, isr, produced, replicas, same, values

DELETE_TOPICS = 20


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = [record for record in caplog.records if "-stray and not served" in record.getMessage()]
    assert all(record.levelname == "WARNING" for record in said)
    return [record.getMessage() for record in said]


@pytest.mark.parametrize("cleanly", [True, False], ids=["stopped", "killed"])
@pytest.mark.parametrize("by_snapshot", [False, True], ids=["by log", "by snapshot"])
def test_a_topic_made_again_meanwhile_does_not_adopt_an_unnamed_folder(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    cleanly: bool,
    by_snapshot: bool,
) -> None:
    """The node hears of the new topic by records that follow its own, or by a snapshot instead of its own log."""
    if by_snapshot:
        monkeypatch.setattr(metadata_log, "SNAPSHOT_AFTER_RECORDS", 30)

    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            await produced(cluster, batch([b"old"]))
            await until(lambda: same(cluster))
            away = cluster.others(await cluster.controller())[0]
            number, folder = away.node_id, away.data_dir / "t-0"
            if cleanly:
                await cluster.nodes.pop(number).stop()
            else:
                cluster.kill(number)
            (folder / "partition.metadata").unlink()
            controller = await cluster.controller()
            answer = await ask(controller, DELETE_TOPICS, 1, {"topic_names": ["t"], "timeout_ms": 5000})
            assert answer.responses[0].error_code == 0
            await create(cluster, min_insync_replicas="1")
            await produced(cluster, batch([b"new"]))
            if by_snapshot:
                end = away.metadata_log.log.log_end_offset
                while controller.metadata_log.log.log_start_offset <= end:
                    await create(cluster, f"more-{controller.quorum.next_offset}", partitions=20)
            await cluster.start(number)
            await until(lambda: isr(cluster) == {1, 2, 3} and same(cluster))
            assert [values(replica) for replica in replicas(cluster)] == [[b"new"]] * 3
            stray = list(away.data_dir.glob("t-0.*-stray"))
            assert [b"old" in (found / f"{0:020d}.log").read_bytes() for found in stray] == [True]
            assert len(warnings(caplog)) == 1 and "made while this node was down" in warnings(caplog)[0]
        finally:
            cluster.drop()

    run(test)


@pytest.mark.parametrize("cleanly", [True, False], ids=["stopped", "killed"])
def test_a_topic_that_was_known_gets_its_folder_back(tmp_path: Path, cleanly: bool) -> None:
    """What was asked of the others meanwhile does not matter: the id is in this node's own metadata."""

    async def test() -> None:
        cluster = Cluster(tmp_path)
        await cluster.start()
        try:
            await create(cluster)
            await produced(cluster, batch([b"old"]))
            await until(lambda: same(cluster))
            away = cluster.others(await cluster.controller())[0]
            if cleanly:
                await cluster.nodes.pop(away.node_id).stop()
            else:
                cluster.kill(away.node_id)
            (away.data_dir / "t-0" / "partition.metadata").unlink()
            await create(cluster, "another", min_insync_replicas="1")
            await cluster.start(away.node_id)
            await until(lambda: isr(cluster) == {1, 2, 3} and same(cluster))
            assert (away.data_dir / "t-0" / "partition.metadata").exists()
            assert not list(away.data_dir.glob("*-stray"))
        finally:
            cluster.drop()

    run(test)
