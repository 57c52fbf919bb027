"""Index files of new segments are made beside the loop, and leave nothing behind where the segment is gone."""

from pathlib import Path

from barnabas.storage.disk import DISK
from barnabas.storage.files import FILES
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
