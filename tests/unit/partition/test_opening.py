"""A hosted partition is opened by `open()` and by nothing else."""

import inspect
from pathlib import Path

import pytest

from barnabas.broker.partition.host import Alone
from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.cluster.image import PartitionImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from tests.unit.partition.stage import NEVER, config

ALONE = PartitionImage(1, 0, (1,), (1,), 0, ())
FOLLOWS = PartitionImage(2, 1, (1, 2), (1, 2), 0, ())


class Folder:
    """Opens a log in a folder, and counts how often."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.opened = 0

    def open(self, partition: HostedPartition) -> tuple[Log, int]:
        self.opened += 1
        return Log.open(self._path / "t-0", LogConfig(), clean=True), 0

    def hosted(self, image: PartitionImage = ALONE, *, untouched: bool = False) -> HostedPartition:
        partition, settings = TopicPartition("t", 0), config(LogConfig(), NEVER)
        return HostedPartition(
            partition, bytes(16), image, settings, self.open, lambda _: None, Alone(), untouched=untouched
        )


@pytest.mark.parametrize("untouched", [False, True])
def test_no_attribute_of_a_hosted_partition_opens_it(tmp_path: Path, untouched: bool) -> None:
    folder = Folder(tmp_path)
    partition = folder.hosted(untouched=untouched)
    for part in (partition, partition.leadership):
        for name, _ in inspect.getmembers_static(type(part)):
            if not name.startswith("__"):
                getattr(part, name)
    assert partition.leadership.end_offset == 0 and partition.may_lead
    assert not folder.opened and not partition.is_open


def test_a_change_of_its_metadata_does_not_open_it(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    partition = folder.hosted()
    partition.configure(config(LogConfig(), 1))
    partition.apply_image(FOLLOWS)
    assert not partition.is_leader and partition.leader_epoch == 1
    partition.delete()
    assert not folder.opened
    with pytest.raises(KafkaError) as refused:
        partition.open()
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_it_is_opened_once(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    partition = folder.hosted(untouched=True)
    opened = partition.open()
    assert partition.open() is opened is partition.opened
    assert folder.opened == 1 and not partition.untouched
    assert opened.high_watermark == opened.last_stable_offset == opened.log.log_end_offset == 0


def test_an_opening_that_took_long_in_vain_is_not_tried_at_every_request(tmp_path: Path) -> None:
    class Slow(Alone):
        now_ms = 0

        def __init__(self) -> None:
            super().__init__()
            self.steady_ms = lambda: self.now_ms

    host, attempts = Slow(), 0

    def open_log(_: HostedPartition) -> tuple[Log, int]:
        nonlocal attempts
        attempts += 1
        host.now_ms += 200  # it reads all of a damaged log
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "damaged")

    image = PartitionImage(1, 0, (1,), (1,), 0, ())
    hosted = HostedPartition(TopicPartition("t", 0), bytes(16), image, config(), open_log, lambda _: None, host)
    for _ in range(3):
        with pytest.raises(KafkaError, match="damaged"):
            hosted.open()
    assert attempts == 1
    host.now_ms += 20_000
    with pytest.raises(KafkaError):
        hosted.open()
    assert attempts == 2
    hosted.apply_image(PartitionImage(1, 1, (1,), (1,), 1, ()))  # another image: perhaps another role
    with pytest.raises(KafkaError):
        hosted.open()
    assert attempts == 3
