"""A hosted partition is opened by `open()` and by nothing else."""

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.broker.partition import slow_openings
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.partition.slow_openings import BeingOpened, Reading
from barnabas.core.cluster.image import PartitionImage
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from tests.unit.partition.alone import Alone
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
    with pytest.raises(BeingOpened):  # this time a thread reads it
        hosted.open()
    assert attempts == 2
    with pytest.raises(KafkaError, match="damaged"):
        hosted.open()
    assert attempts == 2
    hosted.apply_image(PartitionImage(1, 1, (1,), (1,), 1, ()))  # another image: perhaps another role
    with pytest.raises(KafkaError):
        hosted.open()
    assert attempts == 3


class Waiting(Alone):
    """A host whose thread has not come yet."""

    def __init__(self) -> None:
        super().__init__()
        self.started: list[Callable[[], None]] = []

    def read_in_thread(self, read: Callable[[], Reading], done: Callable[[Callable[[], Reading]], None]) -> None:
        self.started.append(lambda: done(read))


class TestSlowOpening:
    @pytest.fixture(autouse=True)
    def slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(slow_openings, "OPENED_AT_ONCE_BYTES", -1)

    def hosted(self, folder: Folder, host: Waiting) -> HostedPartition:
        settings = config(LogConfig(), NEVER)
        return HostedPartition(TopicPartition("t", 0), bytes(16), ALONE, settings, folder.open, lambda _: None, host)

    def test_clients_try_again_until_a_thread_has_read_it(self, tmp_path: Path) -> None:
        folder, host, told = Folder(tmp_path), Waiting(), list[bool]()
        partition = self.hosted(folder, host)
        for _ in range(3):
            with pytest.raises(BeingOpened) as refused:
                partition.open()
        assert refused.value.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert len(host.started) == folder.opened == 1
        partition.when_opened(lambda: told.append(partition.is_open))
        host.started[0]()
        assert told == [True] and not partition.is_being_opened
        assert partition.open().log.epochs.latest == partition.leader_epoch  # it leads

    def test_its_role_is_the_one_that_it_has_at_the_end(self, tmp_path: Path) -> None:
        host = Waiting()
        partition = self.hosted(Folder(tmp_path), host)
        with pytest.raises(BeingOpened):
            partition.open()
        partition.apply_image(FOLLOWS)
        host.started[0]()
        assert partition.open().log.epochs.latest == -1

    def test_one_that_is_deleted_meanwhile_is_closed(self, tmp_path: Path) -> None:
        host = Waiting()
        partition = self.hosted(Folder(tmp_path), host)
        with pytest.raises(BeingOpened):
            partition.open()
        partition.delete()
        host.started[0]()
        assert not partition.is_open

    def test_whoever_cannot_wait_reads_it_at_once(self, tmp_path: Path) -> None:
        host = Waiting()
        assert self.hosted(Folder(tmp_path), host).open(wait=True) and not host.started
