"""The metadata log: what was flushed is there after a crash, and a snapshot stands for what came before it."""

import asyncio
from pathlib import Path

import msgspec
import pytest

from barnabas.broker.quorum import metadata_log, snapshot_files
from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.core.cluster.image import EMPTY_IMAGE, MetadataImage
from barnabas.core.cluster.records import ConfigRecord, PartitionRecord, Record, RemoveTopic, TopicRecord
from barnabas.core.raft import Endpoint, OffsetAndEpoch, Voter, VoterSet
from barnabas.core.raft.batches import summaries
from barnabas.core.raft.effects import AppendBatch, AppendFetched, LeaderChange
from barnabas.model.settings import ResourceType
from barnabas.storage.directory import DirectoryError

VOTERS = VoterSet.of([Voter(number, bytes(15) + bytes([number]), (Endpoint("C", "h", number),)) for number in (1, 2)])


def topic(number: int) -> list[Record]:
    topic_id = number.to_bytes(16, "big")
    return [
        TopicRecord(name=f"t{number}", topic_id=topic_id),
        PartitionRecord(topic_id=topic_id, partition=0, replicas=(1,), isr=(1,), leader=1, directories=(bytes(16),)),
    ]


def write(log: MetadataLog, image: MetadataImage, records: list[Record], epoch: int = 1) -> MetadataImage:
    base = log.log.log_end_offset
    log.append(AppendBatch(base, epoch, tuple(records)), now_ms=1000)
    log.log.flush()
    return image.apply(records, offset=base + len(records) - 1, epoch=epoch)


def opened(folder: Path) -> tuple[MetadataLog, MetadataImage]:
    """The image as if everything were committed."""
    log = MetadataLog(folder)
    image, view = log.load(VOTERS)
    return log, log.replay(image, view.end_offset)


def snapshot(log: MetadataLog, image: MetadataImage) -> OffsetAndEpoch:
    made = OffsetAndEpoch(image.offset + 1, image.epoch)
    log.snapshots.write(image, made, VOTERS, 1000)
    return made


def test_the_image_comes_back_from_the_log(tmp_path: Path) -> None:
    log, image = opened(tmp_path)
    assert image == EMPTY_IMAGE
    for number in range(1, 30):
        image = write(log, image, topic(number))
    image = write(log, image, [RemoveTopic(topic_id=(7).to_bytes(16, "big"))])
    _, again = opened(tmp_path)
    assert again == image and again.offset == image.offset and "t7" not in again.topics


def test_a_log_and_a_snapshot_in_json_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As earlier builds wrote them; what is written from then on is Kafka's."""
    with monkeypatch.context() as earlier:
        for module in (metadata_log, snapshot_files):
            earlier.setattr(module, "encode_record", msgspec.json.encode)
        log, image = opened(tmp_path)
        image = write(log, image, topic(1))
        made = snapshot(log, image)
        image = write(log, image, topic(2))
        log.close()
    assert b'"type":"topic"' in Path(log.snapshots.path(made)).read_bytes()
    log, again = opened(tmp_path)
    assert again == image and set(again.topics) == {"t1", "t2"}
    image = write(log, again, topic(3))
    made = snapshot(log, image)
    assert b'"type"' not in Path(log.snapshots.path(made)).read_bytes()
    log.close()
    assert opened(tmp_path)[1] == image


@pytest.mark.parametrize("where", ["log", "snapshot"])
def test_a_record_of_another_release_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """The state of a migration from ZooKeeper, which Kafka had and this release does not."""
    log, image = opened(tmp_path)
    with monkeypatch.context() as later:
        for module in (metadata_log, snapshot_files):
            later.setattr(module, "encode_record", lambda record: b"\x01\x15\x00\x00")
        image = write(log, image, topic(1))
        if where == "snapshot":
            snapshot(log, image)
        log.close()
    with pytest.raises(DirectoryError, match=r"cannot be read: zk_migration_state_record") as refused:
        opened(tmp_path)
    assert "later release" in refused.value.way_out


def test_a_torn_tail_is_not_part_of_the_state(tmp_path: Path) -> None:
    log, image = opened(tmp_path)
    image = write(log, image, topic(1))
    write(log, image, topic(2))
    segment = next((tmp_path / "__cluster_metadata-0").glob("*.log"))
    segment.write_bytes(segment.read_bytes()[:-5])
    assert opened(tmp_path)[1] == image


def test_voters_come_from_the_log_and_before_that_from_the_settings(tmp_path: Path) -> None:
    log = MetadataLog(tmp_path)
    _, view = log.load(VOTERS)
    assert view.voters == [(-1, VOTERS)] and view.end_offset == 0
    log.append(AppendBatch(0, 3, (), (LeaderChange(1, (), ()), VOTERS)), now_ms=5)
    log.append(AppendBatch(2, 4, tuple(topic(1))), now_ms=5)
    _, view = MetadataLog(tmp_path).load(None)
    assert view.voters == [(1, VOTERS)] and view.epochs == [(3, 0), (4, 2)] and view.end_offset == 4


def test_what_is_fetched_is_written_as_it_came(tmp_path: Path) -> None:
    leader, image = opened(tmp_path / "a")
    for number in range(1, 5):
        image = write(leader, image, topic(number))
    data = leader.read(0, leader.log.log_end_offset, 1 << 20)
    follower, _ = opened(tmp_path / "b")
    found = summaries(data)
    follower.append_fetched(AppendFetched(found[:3], data))
    assert follower.log.log_end_offset == 6
    follower.append_fetched(AppendFetched(found[3:], follower_rest(data, 3)))
    assert follower.read(0, 8, 1 << 20) == data
    assert follower.replay(EMPTY_IMAGE, 8) == image
    follower.truncate(4)
    assert follower.log.log_end_offset == 4


def test_a_replay_in_turns_gives_the_same_image(tmp_path: Path) -> None:
    log, image = opened(tmp_path)
    log.append(AppendBatch(0, 3, (), (LeaderChange(1, (), ()),)), now_ms=5)
    start = image.apply((), offset=0, epoch=3)
    after = start
    for number in range(1, 400):
        after = write(log, after, topic(number), epoch=3 + number % 2 + number)

    async def replay(end_offset: int) -> tuple[MetadataImage, int]:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.ensure_future(count())
        try:
            return await log.replay_in_turns(start, end_offset), turns
        finally:
            counting.cancel()

    end = log.log.log_end_offset
    found, turns = asyncio.run(replay(end))
    assert found == after == log.replay(start, end) and (found.offset, found.epoch) == (after.offset, after.epoch)
    assert turns > 3  # others had their turn
    halfway, _ = asyncio.run(replay(401))
    assert halfway == log.replay(start, 401) and halfway.offset == 400


def follower_rest(data: bytes, batches: int) -> bytes:
    from barnabas.wire.batch import iter_batches

    return data[[position for position, _ in iter_batches(data)][batches] :]


def test_a_snapshot_stands_for_what_came_before_it(tmp_path: Path) -> None:
    log, image = opened(tmp_path)
    for number in range(1, 20):
        image = write(log, image, topic(number))
    setting = ConfigRecord(resource_type=ResourceType.TOPIC, resource_name="t3", name="retention.ms", value="5")
    image = write(log, image, [setting])
    made = snapshot(log, image)
    log.log.roll()
    log.trim(made)

    second = MetadataLog(tmp_path)
    found, view = second.load(None)
    assert found == image and found.offset == image.offset
    assert (view.start, view.snapshot, view.high_watermark) == (made, made, made.offset)
    assert view.voters == [(made.offset - 1, VOTERS)]
    image = write(second, image, topic(50))

    third, found = opened(tmp_path)
    assert found == image
    newer = snapshot(third, image)
    _, view = MetadataLog(tmp_path).load(None)
    assert view.snapshot == newer and view.start == made  # followers a little behind are still served from the log


def test_a_snapshot_from_the_leader_replaces_a_log_that_went_another_way(tmp_path: Path) -> None:
    """A crash after the snapshot is whole and before the log was dropped for it."""
    log, image = opened(tmp_path)
    for number in range(1, 10):
        image = write(log, image, topic(number))
    other = EMPTY_IMAGE.apply(topic(77), offset=9, epoch=5)
    log.snapshots.write(other, OffsetAndEpoch(10, 5), VOTERS, 1000)
    again = MetadataLog(tmp_path)
    found, view = again.load(None)
    assert found == other and (view.end_offset, view.start, view.epochs) == (10, OffsetAndEpoch(10, 5), [])


def test_half_a_snapshot_is_none_and_a_damaged_one_is_passed_over(tmp_path: Path) -> None:
    log, image = opened(tmp_path)
    image = write(log, image, topic(1))
    first = snapshot(log, image)
    image = write(log, image, topic(2))
    second = snapshot(log, image)
    folder = tmp_path / "__cluster_metadata-0"
    (folder / f"{99:020d}-{1:010d}.checkpoint.part").write_bytes(b"rubbish")
    path = Path(log.snapshots.path(second))
    path.write_bytes(path.read_bytes()[:-20])
    again = MetadataLog(tmp_path)
    found, view = again.load(None)
    assert view.snapshot == first and again.replay(found, view.end_offset) == image


def test_a_log_without_its_beginning_is_not_started_on(tmp_path: Path) -> None:
    log, image = opened(tmp_path)
    for number in range(1, 10):
        image = write(log, image, topic(number))
    made = snapshot(log, image)
    log.log.roll()
    image = write(log, image, topic(20))
    log.trim(made)
    Path(log.snapshots.path(made)).unlink()
    with pytest.raises(DirectoryError, match="missing"):
        MetadataLog(tmp_path).load(None)


def test_a_download_has_its_name_only_when_it_is_whole(tmp_path: Path) -> None:
    leader, image = opened(tmp_path / "a")
    image = write(leader, image, topic(1))
    made = snapshot(leader, image)
    whole = Path(leader.snapshots.path(made)).read_bytes()
    follower, _ = opened(tmp_path / "b")
    size, piece = leader.snapshots.piece(made, 0, 40) or (0, b"")
    assert (size, piece) == (len(whole), whole[:40]) and leader.snapshots.piece(OffsetAndEpoch(1, 1), 0, 9) is None
    follower.snapshots.part(made, 0, piece)
    assert follower.snapshots.finish(made) is None and follower.snapshots.ids() == []
    follower.snapshots.part(made, 0, piece)
    follower.snapshots.part(made, 40, whole[40:])
    found = follower.snapshots.finish(made)
    assert found is not None and found.image == image and found.voters == VOTERS and follower.snapshots.ids() == [made]


@pytest.mark.parametrize("spoilt", ["body", "length"])
def test_damage_before_whole_batches_is_refused_where_nobody_else_has_them(tmp_path: Path, spoilt: str) -> None:
    """Cut there, the node would come up without its topics; nothing is changed."""
    alone = VoterSet.of(VOTERS.voters[:1])
    log, image = MetadataLog(tmp_path), EMPTY_IMAGE
    log.load(alone)
    for number in range(1, 4):
        image = write(log, image, topic(number))
    log.close()
    (path,) = Path(log.folder).glob("*.log")
    whole = path.read_bytes()
    content = bytearray(whole)
    first = 12 + int.from_bytes(content[8:12], "big")
    content[first + (80 if spoilt == "body" else 9)] ^= 0x40
    path.write_bytes(content)
    with pytest.raises(DirectoryError, match=r"the metadata log is damaged: .* at position"):
        MetadataLog(tmp_path).load(alone)
    assert path.read_bytes() == content
    view = MetadataLog(tmp_path).load(VOTERS)[1]  # others have it: cut, and fetched again
    assert view.end_offset == 2
    path.write_bytes(whole[:-7])  # a torn write
    assert MetadataLog(tmp_path).load(alone)[1].end_offset == 4
