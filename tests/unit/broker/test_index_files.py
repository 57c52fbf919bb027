"""Index files of new segments are made beside the loop, and leave nothing behind where the segment is gone."""

from pathlib import Path

from barnabas.broker.partition.state import PartitionState
from barnabas.storage.config import LogConfig
from barnabas.storage.disk import DISK
from barnabas.storage.files import FILES
from barnabas.storage.indexes.aborted import ENTRY, AbortedTransaction, AbortedTransactions
from barnabas.storage.log import Log
from barnabas.storage.segment import Segment

from .cluster import Cluster, run, until
from .test_replication import batch, create, leader_of, produced


def _files(folder: Path) -> list[str]:
    return sorted(path.name.partition(".")[2] for path in folder.iterdir() if path.name.startswith("0"))


def test_a_new_segment_gets_its_files(tmp_path: Path) -> None:
    async def test() -> None:
        cluster = Cluster(tmp_path, 1)
        await cluster.start()
        try:
            await create(cluster)
            folder = tmp_path / "1" / "t-0"
            await produced(cluster, batch([b"a"]))
            await until(lambda: _files(folder) == ["index", "log", "timeindex"])
            assert (folder / f"{0:020d}.index").stat().st_size == 0
            (await leader_of(cluster)).partitions.get("t", 0).open().log.roll()  # type: ignore[union-attr]
            await until(lambda: _files(folder).count("index") == 2 and _files(folder).count("timeindex") == 2)
        finally:
            cluster.drop()

    run(test)


def test_nothing_is_left_of_a_segment_that_is_gone(tmp_path: Path) -> None:
    segment = Segment(DISK, FILES, str(tmp_path), 0)
    segment.make_writable()
    segment.opened()
    segment.rename(".deleted")
    segment.make_index_files()
    assert [path.name for path in tmp_path.iterdir()] == [f"{0:020d}.log.deleted"]
    Segment(DISK, FILES, str(tmp_path / "gone"), 0).make_index_files()


def test_a_log_that_a_power_loss_emptied_has_no_aborted_transactions(tmp_path: Path) -> None:
    """Their files may be left, with anything in them; what is aborted next must not be written behind that."""
    stale = tmp_path / f"{24:020d}.txnindex"
    stale.write_bytes(ENTRY.pack(0, 4, 28, 29, 30) + bytes(ENTRY.size) + ENTRY.pack(0, 4, 41, 0, 0))
    log = Log.open(tmp_path, LogConfig(), clean=False)
    state = PartitionState.load(log)
    assert len(state.aborted) == 0 and not stale.exists()
    for last in (29, 32):
        state.aborted.add(AbortedTransaction(4, last - 1, last, last + 1), 24)
    again = AbortedTransactions(str(tmp_path))
    again.load({stale.name: stale.stat().st_size}, 100)
    assert again.between(0, 100) == [(4, 28), (4, 31)]
