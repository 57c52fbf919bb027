"""Splits to topics: records and the position that they lead to, in one transaction.

A transaction is open for about `commit_ms`, or until it has many records. What goes wrong in it takes all of it back:
readers are opened again at their last committed positions. Where a topic refuses records, the splits that had some in
the transaction get one each, until one of theirs was committed: the split whose records they are waits, and the others
go on.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from barnabas.connect.cluster import positions
from barnabas.connect.cluster.batches import RecordsRefused, told
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.contract import Alike, Chunk, Copied, Position, Reader, Record, WholeBatch
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import ConnectError, Unavailable
from barnabas.connect.runtime.encoding import Encoding, Outgoing
from barnabas.connect.runtime.pauses import Pauses
from barnabas.connect.runtime.producing import RECORD_MAX_BYTES, SourceProducer
from barnabas.connect.runtime.progress import Progress

log = logging.getLogger("barnabas.connect")

_WAIT_S = 0.2  # for a split that has nothing new
_IDLE_S = 0.02  # between rounds, when no split of several has anything
_READ_MOST = 2000  # records at a time: with more, Python's collector walks them several times, and they take memory
_RECORDS_MAX = 500_000  # in a transaction
_BYTES_MAX = 64 * 1024 * 1024
_BEHIND_S = 2.0
_POSITION_ONLY_S = 5.0  # how often a position is written that no record has led to


@dataclass
class _Split:
    name: str
    position: Position | None  # committed
    reader: Reader | None = None
    reached: Position | None = None  # by what the open transaction has, or without records
    has_records: bool = False  # in the open transaction
    is_alone: bool = False  # its records may be those that are refused: they share a transaction with no others
    saved_at: float = 0.0
    behind_at: float = 0.0
    pauses: Pauses = field(default_factory=Pauses)
    problem: str = ""


class SplitReading:
    """All splits of one partition, in one thread."""

    def __init__(
        self,
        cluster: Cluster,
        definition: Definition,
        progress: Progress,
        numbers: tuple[int, int],  # of the partition, of the task
        wanted: list[str],
        known: positions.Known | None = None,
    ) -> None:
        """`known`: positions that were read before, so that only what came since has to be."""
        self._cluster = cluster
        self._definition = definition
        self._progress = progress
        self._partition = numbers[0]
        self.wanted = wanted
        self._source = definition.source()
        self._encoding = Encoding(cluster, definition, numbers[1])
        self._producer = SourceProducer(cluster, positions.transactional_id(definition, self._partition))
        self._splits: dict[str, _Split] = {}
        self._began: float | None = None  # the open transaction
        self._records = self._bytes = self._dead = 0
        self.known = positions.read_since(cluster, definition, self._partition, known)
        self._positions = dict(self.known.positions)

    @property
    def problem(self) -> str:
        return next((each.problem for each in list(self._splits.values()) if each.problem), "")

    def run(self, ending: threading.Event) -> None:
        """Until it is set. Raises Fenced, or Unavailable when the cluster takes nothing."""
        try:
            while not ending.is_set():
                try:
                    self._follow_wanted()
                    found = [self._read(each) for each in self._splits.values()]
                    if self._is_full:
                        self._commit()
                except RecordsRefused as problem:
                    self._begin_anew(problem)
                    continue
                if not any(found):
                    ending.wait(_IDLE_S)
            self._commit()
        except BaseException:
            self._abort()
            raise
        finally:
            for each in self._splits.values():
                self._close(each)
            self._producer.close()
            self._source.close()

    def _follow_wanted(self) -> None:
        for name in self.wanted:
            if name not in self._splits:
                self._splits[name] = _Split(name, self._positions.get(name))
        for name in [each for each in self._splits if each not in self.wanted]:
            self._commit()
            split = self._splits.pop(name)
            if split.position is not None:
                self._positions[name] = split.position
            self._close(split)

    # --- reading ----------------------------------------------------------------------------------------------------

    def _read(self, split: _Split) -> bool:
        """Whether there was something."""
        if not split.pauses.is_over:
            return False
        try:
            if split.reader is None:
                split.reader = self._source.open(split.name, split.position)
            chunk = split.reader.read(min(self._definition.batch, _READ_MOST), self._wait_s())
            self._tell_behind(split)
        except Unavailable as problem:
            self._commit()  # what it gave before is good
            self._close(split)
            split.problem = str(problem)
            split.pauses.failed()
            return False
        if not split.is_alone:
            self._is_well(split)
        if chunk is None:
            return False
        if split.is_alone and chunk.records:
            self._commit()  # what the others have
            self._write(split, chunk)
            self._commit()
            split.is_alone = False
            self._is_well(split)
        else:
            self._write(split, chunk)
        return bool(chunk.records)

    def _is_well(self, split: _Split) -> None:
        split.problem = ""
        split.pauses.succeeded()

    def _wait_s(self) -> float:
        if len(self._splits) > 1:
            return 0.0
        if self._began is None:
            return _WAIT_S
        return max(0.0, min(_WAIT_S, self._began + self._definition.commit_ms / 1000 - time.monotonic()))

    def _tell_behind(self, split: _Split) -> None:
        now = time.monotonic()
        if now >= split.behind_at and split.reader is not None:
            split.behind_at = now + _BEHIND_S
            self._progress.is_behind(split.name, split.reader.behind())

    # --- writing ----------------------------------------------------------------------------------------------------

    def _write(self, split: _Split, chunk: Chunk) -> None:
        split.reached = chunk.position
        if chunk.records:
            self._begin()
            split.has_records = True
            with told():
                if isinstance(chunk.records, Copied) and self._encoding.keeps_records:
                    self._write_copied(chunk.records)
                elif not (isinstance(chunk.records, Alike) and self._write_alike(chunk.records)):
                    self._write_each(chunk.records)
                self._producer.send()
        elif time.monotonic() - split.saved_at > _POSITION_ONLY_S:
            self._begin()
            split.has_records = True

    def _begin(self) -> None:
        if self._began is None:
            self._began = time.monotonic()

    def _write_each(self, records: Iterable[Record]) -> None:
        self._producer.write(map(self._counted, filter(None, map(self._encoding.outgoing, records))))

    def _write_copied(self, records: Copied) -> None:
        for part in records.parts:
            if isinstance(part, WholeBatch):
                self._producer.write_whole((records.topic, records.partition), part.batch)
                self._records += part.count
                self._bytes += len(part.batch)
            else:
                self._write_each(part)

    def _write_alike(self, records: Alike) -> bool:
        """Whether they could be written together."""
        common = self._encoding.common(records)
        size = sum(map(len, records.values))
        if common is None or size > RECORD_MAX_BYTES:
            return False
        topic, key = common
        self._producer.write_alike(topic, records.values, key, records.headers, size)
        self._records += len(records)
        self._bytes += size
        return True

    def _counted(self, outgoing: Outgoing) -> Outgoing:
        size = len(outgoing.value or b"") + len(outgoing.key or b"")
        if size > RECORD_MAX_BYTES and not outgoing.is_dead:
            outgoing = self._encoding.too_large(outgoing)
        self._records += 1
        self._bytes += size
        self._dead += outgoing.is_dead
        return outgoing

    @property
    def _is_full(self) -> bool:
        if self._began is None:
            return False
        if self._records >= _RECORDS_MAX or self._bytes >= _BYTES_MAX:
            return True
        return time.monotonic() - self._began >= self._definition.commit_ms / 1000

    def _commit(self) -> None:
        if self._began is None:
            return
        topic = self._definition.positions_topic
        ended = [each for each in self._splits.values() if each.has_records and each.reached is not None]
        with told():
            self._ask_places(ended)
            self._producer.write(
                Outgoing(topic, each.name.encode(), positions.encoded(each.reached), self._partition)
                for each in ended
                if each.reached is not None
            )
            self._producer.commit()
        self._began = None
        self._progress.wrote(self._records - self._dead, self._dead)
        self._records = self._bytes = self._dead = 0
        now = time.monotonic()
        for each in ended:
            assert each.reached is not None
            each.position, each.has_records, each.saved_at = each.reached, False, now
            if each.reader is not None:
                try:
                    each.reader.committed(each.position)
                except Unavailable as problem:  # it is opened again at the position, and says it then
                    self._close(each)
                    each.problem = str(problem)

    def _ask_places(self, ended: list[_Split]) -> None:
        """Positions that say where records stand: known once they are written, and committed together with them."""
        readers = [(each, each.reader) for each in ended if each.reader is not None and each.reader.wants_places]
        if not readers:
            return
        places = self._producer.flush()
        for split, reader in readers:
            assert split.reached is not None
            split.reached = reader.placed(split.reached, places)

    def _begin_anew(self, problem: RecordsRefused) -> None:
        """As a new owner of the partition does: another may have had it meanwhile."""
        writers = [each for each in self._splits.values() if each.has_records]
        for each in writers:
            each.is_alone = True
        if len(writers) == 1:
            writers[0].problem = f"{writers[0].name}: {problem}"
            writers[0].pauses.failed()
        self._abort()
        self._records = self._bytes = self._dead = 0
        self._producer.close()
        self._producer = SourceProducer(self._cluster, positions.transactional_id(self._definition, self._partition))
        self.known = positions.read_since(self._cluster, self._definition, self._partition, self.known)
        self._positions = dict(self.known.positions)
        for each in self._splits.values():
            position = self._positions.get(each.name)
            if each.has_records or position != each.position:
                self._close(each)
                each.position = position

    def _abort(self) -> None:
        if self._began is not None:
            self._began = None
            self._producer.abort()

    def _close(self, split: _Split) -> None:
        reader, split.reader = split.reader, None
        split.reached, split.has_records = None, False
        if reader is not None:
            try:
                reader.close()
            except (ConnectError, OSError) as problem:
                log.debug("closing a reader: %s", problem)
