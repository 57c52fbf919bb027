"""What a start does with folders of which the metadata gives the node no replica: nothing is lost by it."""

import shutil
from pathlib import Path

import pytest

from barnabas.broker.partition.checkpoints import PartitionCheckpoints
from barnabas.model.ids import TopicPartition
from barnabas.storage.directory import HIGH_WATERMARKS, DataDirectory, DirectoryError
from barnabas.testing.node import RunningNode
from tests.unit.broker.test_running_node import send


def strays(folder: Path) -> list[str]:
    return sorted(path.name.split(".")[0] for path in folder.glob("*-stray"))


def test_folders_that_are_no_partitions_are_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """`--data` may name a folder that holds other things, among them some that are named like partitions."""
    for name in ("photos-2024", "node-1"):
        (tmp_path / name / "inside").mkdir(parents=True)
        (tmp_path / name / "keep.txt").write_text("mine")
    RunningNode(tmp_path).start().stop()
    assert (tmp_path / "photos-2024" / "keep.txt").read_text() == "mine"
    assert (tmp_path / "node-1" / "inside").is_dir()
    assert "2 folders" in caplog.text and "left alone: node-1, photos-2024" in caplog.text


def test_a_lost_metadata_log_does_not_cost_the_records(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    node = RunningNode(tmp_path).start()
    send(node, b"kept")
    node.stop()
    before = {path.name: path.read_bytes() for path in (tmp_path / "t-0").iterdir()}
    shutil.rmtree(tmp_path / "__cluster_metadata-0")
    RunningNode(tmp_path).start().stop()
    assert strays(tmp_path) == ["t-0"] and not (tmp_path / "t-0").exists()
    (moved,) = tmp_path.glob("t-0.*-stray")
    assert {path.name: path.read_bytes() for path in moved.iterdir()} == before
    assert "renamed to *-stray" in caplog.text and "t-0" in caplog.text
    RunningNode(tmp_path).start().stop()
    assert strays(tmp_path) == ["t-0"]


def test_what_was_forgotten_is_not_written_down_again(tmp_path: Path) -> None:
    """A replica that was moved away and comes back would be taken for one that lost its records."""
    data = DataDirectory.open(tmp_path)
    moved, other = TopicPartition("t", 0), TopicPartition("u", 0)
    data.write_checkpoint(HIGH_WATERMARKS, {moved: 7, other: 9})
    known = PartitionCheckpoints(data)
    assert known.collect_watermarks([]) is None
    known.forget(moved)
    write = known.collect_watermarks([])
    assert write is not None
    write()
    assert data.read_checkpoint(HIGH_WATERMARKS) == {other: 9}
    known.keep_only(set())
    assert known.high_watermarks == {}
    data.close(clean=False)


def test_a_folder_without_its_identity_is_refused(tmp_path: Path) -> None:
    """With a new one its node would wait for a voter that is not there any more, and say nothing."""
    RunningNode(tmp_path).start().stop()
    (tmp_path / "meta.properties").unlink()
    with pytest.raises(DirectoryError, match=r"no meta\.properties"):
        DataDirectory.open(tmp_path)
