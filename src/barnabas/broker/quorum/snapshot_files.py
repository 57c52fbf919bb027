"""Snapshots of the cluster's metadata on disk (KIP-630): `<end offset>-<epoch>.checkpoint`, a file of record batches.

It begins with a control batch (the header, `kraft.version` and the voters at that moment) and ends with the footer, as
Kafka's do; between them stand the shortest records that rebuild the image. A file has its name only when it is whole
and flushed: one that is being downloaded ends in `.part`. Written and read in threads; nothing here is shared.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.core.cluster.image import EMPTY_IMAGE, MetadataImage
from barnabas.core.cluster.record_codec import decode_record, encode_record
from barnabas.core.raft import OffsetAndEpoch, VoterSet
from barnabas.core.raft.batches import encode_control, voters_in
from barnabas.core.raft.effects import KRaftVersion
from barnabas.storage.disk import Disk
from barnabas.wire.batch import crc_matches, iter_batches
from barnabas.wire.codec import encode_struct
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import Record, build_batch, iter_records

_SUFFIX, _PART = ".checkpoint", ".part"
_HEADER_KEY, _FOOTER_KEY = b"\x00\x00\x00\x03", b"\x00\x00\x00\x04"  # version, type
_RECORDS_PER_BATCH = 1_000


class Snapshot(NamedTuple):
    id: OffsetAndEpoch
    image: MetadataImage
    voters: VoterSet | None  # None: written before the quorum kept its voters in the log


class SnapshotFiles:
    def __init__(self, disk: Disk, folder: str) -> None:
        self._disk = disk
        self._folder = folder

    def path(self, snapshot_id: OffsetAndEpoch) -> str:
        return f"{self._folder}/{snapshot_id.offset:020d}-{snapshot_id.epoch:010d}{_SUFFIX}"

    def ids(self) -> list[OffsetAndEpoch]:
        """Oldest first."""
        if not self._disk.exists(self._folder):
            return []
        names = sorted(name.removesuffix(_SUFFIX) for name in self._disk.scan(self._folder) if name.endswith(_SUFFIX))
        return [OffsetAndEpoch(*(int(part) for part in name.split("-"))) for name in names]

    # --- our own ----------------------------------------------------------------------------------------------------

    def write(self, image: MetadataImage, snapshot_id: OffsetAndEpoch, voters: VoterSet, now_ms: int) -> None:
        """All of the state before the offset, whole or not at all."""
        header = encode_struct("snapshot_header_record", 0, {"version": 0, "last_contained_log_timestamp": now_ms})
        controls = [(_HEADER_KEY, header), encode_control(KRaftVersion(1)), encode_control(voters)]
        whole = bytearray(_control(0, controls, snapshot_id.epoch))
        records = image.to_records()
        offset = len(controls)
        for start in range(0, len(records), _RECORDS_PER_BATCH):
            chunk = records[start : start + _RECORDS_PER_BATCH]
            whole += build_batch(
                [Record(offset + i, now_ms, None, encode_record(record), ()) for i, record in enumerate(chunk)],
                leader_epoch=snapshot_id.epoch,
            )
            offset += len(chunk)
        footer = encode_struct("snapshot_footer_record", 0, {"version": 0})
        whole += _control(offset, [(_FOOTER_KEY, footer)], snapshot_id.epoch)
        self._disk.write_whole(self.path(snapshot_id), bytes(whole))

    def read(self, snapshot_id: OffsetAndEpoch) -> Snapshot:
        """ProtocolError when it is damaged."""
        return self._parse(snapshot_id, self._disk.read_whole(self.path(snapshot_id)) or b"")

    def _parse(self, snapshot_id: OffsetAndEpoch, data: bytes) -> Snapshot:
        voters: VoterSet | None = None
        end = 0
        values: list[bytes] = []
        view = memoryview(data)
        for position, header in iter_batches(data):
            if not crc_matches(data, position, header.size):
                raise ProtocolError(f"{self.path(snapshot_id)}: a damaged batch at position {position}")
            batch = view[position : position + header.size]
            end = position + header.size
            if header.is_control:
                voters = voters_in(batch) or voters
            else:
                values.extend(record.value for record in iter_records(batch) if record.value is not None)
        if end != len(data) or not data:
            raise ProtocolError(f"{self.path(snapshot_id)}: cut short")
        records = (decode_record(value) for value in values)
        image = EMPTY_IMAGE.apply(records, offset=snapshot_id.offset - 1, epoch=snapshot_id.epoch)
        return Snapshot(snapshot_id, image, voters)

    def keep_from(self, oldest: OffsetAndEpoch) -> None:
        """Remove what is older, and what was left half downloaded."""
        for found in self.ids():
            if found.offset < oldest.offset:
                self._disk.unlink(self.path(found))

    # --- for others -------------------------------------------------------------------------------------------------

    def piece(self, snapshot_id: OffsetAndEpoch, position: int, max_bytes: int) -> tuple[int, bytes] | None:
        """(size of the whole, the bytes at this position), None when there is no such snapshot."""
        path = self.path(snapshot_id)
        if not self._disk.exists(path):
            return None
        size = self._disk.size(path)
        file = self._disk.open(path)
        return size, self._disk.pread(file.fd, max(0, min(max_bytes, size - position)), position)

    # --- of others --------------------------------------------------------------------------------------------------

    def part(self, snapshot_id: OffsetAndEpoch, position: int, data: bytes | memoryview) -> None:
        """One more piece of a download."""
        file = self._disk.open(self.path(snapshot_id) + _PART, write=True, create=True)
        if position == 0:
            self._disk.truncate(file.fd, 0)
        self._disk.write_all(file.fd, data, position)

    def finish(self, snapshot_id: OffsetAndEpoch) -> Snapshot | None:
        """The download is whole: check it and give it its name, flushed. None, and no file, when it is of no use."""
        path = self.path(snapshot_id)
        try:
            found = self._parse(snapshot_id, self._disk.read_whole(path + _PART) or b"")
        except Exception:  # whatever is wrong with it, it is fetched again
            self._disk.unlink(path + _PART)
            return None
        file = self._disk.open(path + _PART, write=True)
        self._disk.sync(file.fd, path)
        self._disk.rename(path + _PART, path)
        self._disk.sync_directory(self._folder)
        return found


def _control(offset: int, controls: list[tuple[bytes, bytes]], epoch: int) -> bytearray:
    records = [Record(offset + i, 0, key, value, ()) for i, (key, value) in enumerate(controls)]
    return build_batch(records, leader_epoch=epoch, control=True)


def usable_snapshots(files: SnapshotFiles) -> Iterator[Snapshot]:
    """The newest first; a damaged one is passed over."""
    for snapshot_id in reversed(files.ids()):
        try:
            yield files.read(snapshot_id)
        except ProtocolError:
            continue
