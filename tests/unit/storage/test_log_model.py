"""The log against a model so simple that it is right by inspection, through every operation and crash in any order.

The model is a list of batches, a start offset and the offset up to which all was flushed. A crash copies the folder
as it is, then spoils what a power loss may spoil: bytes of the log behind the flushed offset are cut, zeroed or
flipped, and index files are removed or filled with rubbish. What opens again must be a prefix of the model that holds
all that was flushed, with indexes and times that fit it.
"""

import shutil
import tempfile
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from barnabas.model.errors import KafkaError
from barnabas.storage.compaction import cleaner
from barnabas.storage.config import LogConfig
from barnabas.storage.log import Log
from barnabas.wire.batch import iter_batches, read_header
from barnabas.wire.compression import Codec
from barnabas.wire.records import Record, build_batch, iter_records
from tests.unit.storage.stories import log_files, read_batches, write

CONFIG = LogConfig(
    segment_bytes=500,
    segment_ms=10_000,
    index_interval_bytes=150,
    retention_ms=2_000,
    cleanup_policy=frozenset({"compact", "delete"}),
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=1_000,
    file_delete_delay_ms=100,
)


class Batch(NamedTuple):
    base_offset: int
    last_offset: int
    data: bytes


class LogMachine(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="log-model-"))
        self.generation = 0
        self.log = Log.open(self.root / "0", CONFIG, clean=False)
        self.log.snapshot_source = list
        self.batches: list[Batch] = []
        self.start_offset = 0
        self.end_offset = 0
        self.durable = 0
        self.clock = 1_000

    def teardown(self) -> None:
        if hasattr(self, "root"):
            self.log.delete()
            shutil.rmtree(self.root)

    # --- writing ------------------------------------------------------------------------------------------------------

    @rule(
        count=st.integers(1, 4),
        key=st.integers(0, 5),
        size=st.sampled_from([0, 30, 200]),
        codec=st.sampled_from([Codec.NONE, Codec.LZ4]),
        gap=st.sampled_from([0, 0, 0, 3]),
        tombstone=st.booleans(),
    )
    def append(self, count: int, key: int, size: int, codec: Codec, gap: int, tombstone: bool) -> None:
        base = self.end_offset + gap
        self.clock += 10
        value = None if tombstone else b"v" * size
        records = [Record(base + i, self.clock - i, b"k%d" % (key + i), value) for i in range(count)]
        batch = build_batch(records, codec=codec)
        write(self.log, batch)
        self.batches.append(Batch(base, base + count - 1, bytes(batch)))
        self.end_offset = base + count

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule()
    def flush(self) -> None:
        self.log.take_snapshot()
        self.log.recovery_point = self.log.flush()
        self.durable = self.end_offset

    # --- the ends -----------------------------------------------------------------------------------------------------

    @rule(part=st.floats(0, 1))
    def delete_records(self, part: float) -> None:
        offset = self.start_offset + int((self.end_offset - self.start_offset) * part)
        self.log.advance_log_start(offset)
        self.start_offset = max(self.start_offset, offset)

    @rule(part=st.floats(0, 1), late_ms=st.sampled_from([0, 2_100, 10_000]))
    def retention(self, part: float, late_ms: int) -> None:
        watermark = self.start_offset + int((self.end_offset - self.start_offset) * part)
        self.log.apply_retention(self.clock + late_ms, watermark)
        assert self.log.log_start_offset <= max(watermark, self.start_offset)
        self.start_offset = self.log.log_start_offset

    @rule()
    def purge(self) -> None:
        self.clock += 100
        self.log.purge(self.clock)

    @precondition(lambda self: self.batches)
    @rule(part=st.floats(0, 1))
    def truncate(self, part: float) -> None:
        offset = self.start_offset + int((self.end_offset - self.start_offset) * part)
        self.log.truncate_to(offset)
        kept = [batch for batch in self.batches if batch.last_offset < offset]
        if offset <= self.start_offset:
            kept, self.start_offset, self.end_offset = [], offset, offset
        self.batches = kept
        if offset < self.end_offset:
            self.end_offset = max(self.batches_end(), self.start_offset)
        self.durable = min(self.durable, self.end_offset)

    # --- compaction ---------------------------------------------------------------------------------------------------

    @rule(keys=st.sampled_from([None, 2]), late_ms=st.sampled_from([0, 1_500]))
    def compact(self, keys: int | None, late_ms: int) -> None:
        self.clock += late_ms
        plan = cleaner.plan(self.log, self.clock)
        if plan is None:
            return
        before = self.visible_records()
        result = replace(plan, map_entries_max=keys).run()
        assert self.log.swap(result) == len(result.segments)
        self.durable = max(self.durable, result.segments[-1].sources[-1].next_base_offset)  # the cleaner flushes
        after_batches = read_batches(self.log)
        after = [r for b in after_batches for r in iter_records(b) if r.offset >= self.start_offset]
        kept = {record.offset: record for record in after}
        newest = {record.key: record.offset for record in before}
        for record in before:
            if record.offset in kept:
                assert kept[record.offset] == record
            else:  # whatever went was replaced later, or is a tombstone that was kept long enough
                assert newest[record.key] > record.offset or record.value is None
        assert set(kept) <= {record.offset for record in before}
        headers = [(read_header(batch), batch) for batch in after_batches]
        self.batches = [Batch(header.base_offset, header.last_offset, bytes(batch)) for header, batch in headers]

    # --- closing and crashing -----------------------------------------------------------------------------------------

    @rule(lost_indexes=st.booleans())
    def restart(self, lost_indexes: bool) -> None:
        self.log.close()
        if lost_indexes:
            for path in self.log.directory.glob("*index"):
                path.unlink()
        end_before = self.end_offset
        self.reopen(self.log.directory, clean=True)
        assert self.log.log_end_offset <= end_before
        self.durable = self.end_offset = self.log.log_end_offset

    @rule(
        spoil=st.sampled_from(["nothing", "cut", "zero", "flip"]),
        part=st.floats(0, 1),
        index=st.sampled_from(["keep", "remove", "rubbish"]),
    )
    def crash(self, spoil: str, part: float, index: str) -> None:
        self.generation += 1
        folder = self.root / str(self.generation)
        shutil.copytree(self.log.directory, folder)
        self.log.delete()
        harmed_from = self.spoil_log(folder, spoil, part)
        for path in folder.glob("*index"):
            if index == "remove":
                path.unlink()
            elif index == "rubbish":
                path.write_bytes(b"\x07" * (path.stat().st_size or 24))
        self.reopen(folder, clean=False)
        assert self.log.log_end_offset >= self.durable
        if harmed_from is None:
            assert self.log.log_end_offset == self.end_offset
        self.batches = [batch for batch in self.batches if batch.last_offset < self.log.log_end_offset]
        self.end_offset = self.log.log_end_offset
        self.durable = min(self.durable, self.end_offset)

    def spoil_log(self, folder: Path, spoil: str, part: float) -> int | None:
        """Harm one byte range behind the flushed offset, somewhere in the unflushed part of the log."""
        if spoil == "nothing":
            return None
        places = []
        for path in log_files(folder):
            for position, header in iter_batches(path.read_bytes()):
                if header.base_offset >= self.durable:
                    places.append((path, position, header.size))
        if not places:
            return None
        path, position, size = places[int(part * (len(places) - 1))]
        data = bytearray(path.read_bytes())
        at = position + int(part * (size - 1))
        if spoil == "cut" and at > 0:  # an empty segment in the middle is what compaction may leave, too
            del data[at:]
        elif spoil == "zero":
            data[at:] = bytes(len(data) - at)
        else:
            data[max(at, position + 17)] ^= 0x40  # what lies before the CRC is not covered by it
        path.write_bytes(data)
        return position

    def reopen(self, folder: Path, *, clean: bool) -> None:
        dirty = self.log.first_dirty_offset
        self.log = Log.open(
            folder, CONFIG, clean=clean, recovery_point=self.log.recovery_point, log_start_offset=self.start_offset
        )
        self.log.snapshot_source = list
        self.log.first_dirty_offset = dirty

    # --- what must hold -----------------------------------------------------------------------------------------------

    def batches_end(self) -> int:
        return self.batches[-1].last_offset + 1 if self.batches else self.start_offset

    def visible(self) -> list[Batch]:
        return [batch for batch in self.batches if batch.last_offset >= self.start_offset]

    def visible_records(self) -> list[Record]:
        found = [record for batch in self.visible() for record in iter_records(batch.data)]
        return [record for record in found if record.offset >= self.start_offset]

    @invariant()
    def the_log_is_the_model(self) -> None:
        if not hasattr(self, "log"):
            return
        log = self.log
        assert log.log_start_offset == self.start_offset
        assert log.log_end_offset == self.end_offset
        assert read_batches(log, max_bytes=350) == [batch.data for batch in self.visible()]
        assert log.size_bytes == sum(path.stat().st_size for path in log_files(log.directory))
        for segment in log.segments:
            entries = segment.offset_index.all()
            for (relative, position), following in zip(entries, [*entries[1:], (2**40, 2**40)], strict=False):
                data = log.disk.pread(segment.opened().fd, 61, position)
                assert read_header(data).last_offset == segment.base_offset + relative
                assert relative < following[0]
                assert position < following[1]

    @invariant()
    def single_reads_and_times_are_right(self) -> None:
        if not hasattr(self, "log"):
            return
        records = self.visible_records()
        middle = (self.start_offset + self.end_offset) // 2
        following = next((batch for batch in self.visible() if batch.last_offset >= middle), None)
        piece = self.log.read(middle, 1, self.end_offset)
        assert piece.read() == (following.data if following and middle < self.end_offset else b"")
        with pytest.raises(KafkaError):
            self.log.read(self.start_offset - 1, 1, self.end_offset)
        for timestamp in {records[len(records) // 2].timestamp, self.clock} if records else set():
            expected = next(((r.timestamp, r.offset) for r in records if r.timestamp >= timestamp), None)
            found = self.log.offset_for_timestamp(timestamp)
            assert (found[:2] if found else None) == expected


TestLogModel = LogMachine.TestCase
TestLogModel.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)
