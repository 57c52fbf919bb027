"""One partition of the source, copied.

A position is the next offset, the topic's id, and the map of offsets (offset_map.py), whose newest entries come with
the answers to what was written and are committed together with it. Batches stay as they are, still compressed, unless
they have gaps (compaction), are very small, or records need a header.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence

from barnabas.connect.connectors.mirror.fetching import EARLIEST, LATEST, Fetched, Fetching, Lost
from barnabas.connect.connectors.mirror.names import ORIGIN_HEADER
from barnabas.connect.connectors.mirror.offset_map import OffsetMap, Run
from barnabas.connect.contract import Behind, Chunk, Copied, Placed, Position, Reader, Record, WholeBatch
from barnabas.connect.errors import Unavailable
from barnabas.wire.batch import DELETE_HORIZON_BIT, LOG_APPEND_TIME_BIT, BatchHeader
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import Record as WireRecord
from barnabas.wire.records import iter_records
from barnabas.wire.visible import next_offset, visible_batches

log = logging.getLogger("barnabas.connect")

_WHOLE_BYTES, _WHOLE_RECORDS = 4096, 100  # a batch with fewer of both is joined with others
_NO_END = 1 << 62
_SYNC_S = 1.0

Synced = Callable[[str, int, int, int], None]  # topic, partition, upstream and downstream offset


class CopyReader(Reader):
    wants_places = True

    def __init__(
        self,
        fetching: Fetching,
        place: tuple[str, int],
        to: str,
        origin: str | None,  # a header with this value for each record, and none that has such a header already
        start: str,
        position: Position | None,
        synced: Synced | None,
    ) -> None:
        self._fetching, self._place, self._to, self._origin = fetching, place, to, origin
        self._origin_headers = ((ORIGIN_HEADER, origin.encode()),) if origin is not None else ()
        self._synced, self._sync_at = synced, 0.0
        self._sync: tuple[int, int] | None = None
        self._end: int | None = None
        self._runs: list[Run] = []  # offsets of the source, since the last commit
        self._is_new = position is None
        self._topic_id = fetching.topic_id(place[0])
        known_id = str(position.get("id", "")) if position is not None else ""
        self._saved_id = self._topic_id or known_id
        if position is not None and _is_another(self._topic_id, known_id):
            log.warning("mirror: topic %s at the source was made anew; copying it from its beginning", place[0])
            begin = fetching.bound(place, EARLIEST)
            self._map = OffsetMap.beginning_at(begin, OffsetMap.decoded(position["map"]).last.target)
            self._offset, self._lost = begin, int(position.get("lost", 0))
        elif position is not None:
            self._map = OffsetMap.decoded(position["map"])
            self._offset, self._lost = int(position["offset"]), int(position.get("lost", 0))
        else:
            self._offset, self._lost = fetching.bound(place, EARLIEST if start == "earliest" else LATEST), 0
            self._map = OffsetMap.beginning_at(self._offset)
        fetching.open(place, self._offset, self._topic_id)

    def read(self, most: int, wait_s: float) -> Chunk | None:
        if self._is_new:  # groups of a partition without a record are to be translated, too
            self._is_new = False
            return Chunk((), self._position())
        try:
            fetched = self._fetching.take(self._place, self._offset, wait_s)
        except Lost:
            self._go_on_at_what_is_there()
            return Chunk((), self._position())
        if fetched is None:
            self._send_sync()
            return None
        self._end = fetched.end
        try:
            parts = self._parts(fetched)
            self._offset = next_offset(fetched.records, self._offset)
        except ProtocolError as problem:
            raise Unavailable(f"{self._place[0]}-{self._place[1]} at the source: {problem}") from None
        self._fetching.ask_ahead(self._place, self._offset)
        return Chunk(Copied(self._to, self._place[1], parts, self._opened) if parts else (), self._position())

    # --- records ----------------------------------------------------------------------------------------------------

    def _parts(self, fetched: Fetched) -> list[WholeBatch | Sequence[Record]]:
        parts: list[WholeBatch | Sequence[Record]] = []
        loose: list[Record] = []
        for position, header in visible_batches(fetched.records, fetched.aborted, self._offset, _NO_END):
            batch = fetched.records[position : position + header.size]
            if self._stays_whole(header):
                if loose:
                    parts.append(loose)
                    loose = []
                parts.append(WholeBatch(batch, header.record_count))
                self._ran(header.base_offset, header.record_count)
            else:
                loose += self._records(batch)
        if loose:
            parts.append(loose)
        return parts

    def _stays_whole(self, header: BatchHeader) -> bool:
        if self._origin is not None or header.base_offset < self._offset:
            return False
        if header.attributes & (LOG_APPEND_TIME_BIT | DELETE_HORIZON_BIT):
            return False  # neither is for a producer to send
        if header.record_count != header.last_offset_delta + 1:
            return False
        return header.size >= _WHOLE_BYTES or header.record_count >= _WHOLE_RECORDS

    def _records(self, batch: memoryview) -> list[Record]:
        found = []
        for each in iter_records(batch):
            if each.offset < self._offset or (self._origin is not None and _is_copy(each)):
                continue
            self._ran(each.offset, 1)
            found.append(self._record(each))
        return found

    def _record(self, each: WireRecord) -> Record:
        headers = (*each.headers, *self._origin_headers) if each.headers else self._origin_headers
        return Record(each.value, each.key, self._to, each.timestamp, headers, self._place[1])

    def _opened(self, whole: WholeBatch) -> list[Record]:
        return [self._record(each) for each in iter_records(whole.batch)]

    def _ran(self, offset: int, count: int) -> None:
        if self._runs and sum(self._runs[-1]) == offset:
            self._runs[-1] = (self._runs[-1][0], self._runs[-1][1] + count)
        else:
            self._runs.append((offset, count))

    # --- positions --------------------------------------------------------------------------------------------------

    def _position(self) -> Position:
        found: Position = {"offset": self._offset, "id": self._saved_id, "map": self._map.encoded()}
        return {**found, "lost": self._lost} if self._lost else found

    def placed(self, position: Position, places: Placed) -> Position:
        placed = places.get((self._to, self._place[1]), ())
        runs, self._runs = self._runs, []
        first = next((offset for offset, _ in placed if offset >= 0), None)
        if first is not None and first < self._map.last.target:
            log.warning("mirror: topic %s at the target was made anew; offsets of groups begin anew", self._to)
            self._map = OffsetMap.beginning_at(runs[0][0] if runs else self._offset, first)
        self._map.extend(runs, self._offset, placed)
        if runs and placed and placed[-1][0] >= 0:
            self._sync = (sum(runs[-1]) - 1, sum(placed[-1]) - 1)
        return self._position()

    def committed(self, position: Position) -> None:
        if time.monotonic() >= self._sync_at:
            self._send_sync()

    def _send_sync(self) -> None:
        """For MirrorMaker's own connectors, where the last record is at the target. Our own translation is the map."""
        if self._sync is not None and self._synced is not None:
            self._synced(*self._place, *self._sync)
            self._sync, self._sync_at = None, time.monotonic() + _SYNC_S

    def _go_on_at_what_is_there(self) -> None:
        """What comes next is not there: deleted before it was read, or the log is shorter than it was."""
        if self._runs:  # what was read before is committed first; then the split is opened again
            raise Unavailable(f"{self._place[0]}-{self._place[1]} at the source: offset {self._offset} is not there")
        topic, partition = self._place
        if _is_another(self._fetching.topic_id(topic), self._saved_id):
            raise Unavailable(f"topic {topic} at the source was made anew")  # which is seen when it is opened again
        low, high = (self._fetching.bound(self._place, which) for which in (EARLIEST, LATEST))
        if self._offset < low:
            self._lost += low - self._offset
            said = f"offsets {self._offset} to {low - 1} were deleted before they were read"
            self._offset = low
        elif self._offset > high:
            self._lost += self._offset - high
            said = f"it was read up to offset {self._offset} and ends at {high}"
            self._offset = high
            self._map = OffsetMap.beginning_at(high, self._map.last.target)
        else:
            said = f"offset {self._offset} was not there, and is there now"  # a leader that did not have it yet
        log.warning("mirror: %s-%d at the source: %s; going on with what is there", topic, partition, said)
        self._fetching.close_place(self._place)
        self._fetching.open(self._place, self._offset, self._topic_id)

    def behind(self) -> Behind | None:
        return Behind(records=max(0, self._end - self._offset)) if self._end is not None else None

    def close(self) -> None:
        self._fetching.close_place(self._place)


def _is_copy(record: WireRecord) -> bool:
    return any(name == ORIGIN_HEADER for name, _ in record.headers)


def _is_another(topic_id: str, known: str) -> bool:
    """Not where one is empty: a source that is upgraded gives ids to the topics it has, and its nodes may differ."""
    return bool(topic_id and known) and topic_id != known
