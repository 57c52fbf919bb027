"""Looks through the batches of a fetch for what a finder finds. Pure: bytes in, records out.

A batch without a possible place costs its checksum, its decompression and one look at its bytes. Otherwise only the
records with a possible place are opened; the lengths in front of the records lead to them. A batch in which many places
turn out to be none is walked record by record from there on, which is faster then, and keeps every pattern to linear
time.
"""

from collections.abc import Iterator, Sequence

from barnabas.browse.record import Record, Unreadable, shown
from barnabas.browse.search.query import Finder
from barnabas.wire.batch import BatchHeader, crc_matches
from barnabas.wire.errors import ProtocolError
from barnabas.wire.records import Record as WireRecord
from barnabas.wire.records import iter_opened, open_payload
from barnabas.wire.varints import read_varint
from barnabas.wire.visible import visible_batches

FALSE_PLACES_MAX = 16  # of a pattern that looks ahead; of others, more than one in FALSE_PLACES_SHARE records
FALSE_PLACES_SHARE = 4


class Scan:
    """Of one fetch of one partition. `records` counts what was searched, `unreadable` what could not be."""

    def __init__(self, finder: Finder, topic: str, partition: int, start: int, end: int) -> None:
        self._finder = finder
        self._topic = topic
        self._partition = partition
        self._start = start
        self._end = end
        self.records = 0
        self.unreadable: list[Unreadable] = []

    def found(self, data: memoryview, aborted: Sequence[tuple[int, int]], *, whole: bool = False) -> Iterator[Record]:
        """Every record between the two offsets that matches, in order."""
        for at, header in visible_batches(data, aborted, self._start, self._end, check_crc=False):
            batch = data[at : at + header.size]
            try:
                if not crc_matches(batch, 0, header.size):
                    raise ProtocolError("its checksum does not match")
                payload = open_payload(batch, header)
                inside = self._start <= header.base_offset and header.last_offset < self._end
                places = self._finder.next_place if inside else None
                matching = self._all(payload, header) if places is None else self._some(payload, header)
                for record in matching:
                    yield shown(self._topic, self._partition, header, record, whole=whole)
            except ProtocolError as problem:
                reason = str(problem)
                self.unreadable.append(Unreadable(self._partition, header.base_offset, header.last_offset, reason))

    def _all(self, payload: bytes, header: BatchHeader) -> Iterator[WireRecord]:
        matches, partition = self._finder.matches, self._partition
        start, end, count = self._start, self._end, 0
        for record in iter_opened(payload, header.record_count, header):
            if start <= record.offset < end:
                count += 1
                if matches(partition, record):
                    yield record
        self.records += count

    def _some(self, payload: bytes, header: BatchHeader) -> Iterator[WireRecord]:
        next_place, matches, partition = self._finder.next_place, self._finder.matches, self._partition
        assert next_place is not None
        looks_ahead = self._finder.looks_ahead
        self.records += header.record_count
        place = next_place(payload, 0)
        position = walked = wrong = 0
        size = len(payload)
        try:
            while place >= 0:
                if wrong > FALSE_PLACES_MAX and (looks_ahead or wrong * FALSE_PLACES_SHARE > walked):
                    rest = iter_opened(payload[position:], header.record_count - walked, header)
                    yield from (record for record in rest if matches(partition, record))
                    return
                while True:  # to the record with the place
                    begun = position
                    length, position = read_varint(payload, position)
                    position += length
                    walked += 1
                    if length < 0 or position > size:
                        raise ProtocolError(f"a record of {length} bytes at {begun} of {size}")
                    if position > place:
                        break
                for record in iter_opened(payload[begun:position], 1, header):
                    if matches(partition, record):
                        yield record
                    else:
                        wrong += 1
                place = next_place(payload, position) if position < size else -1
        except IndexError:
            raise ProtocolError("a record is cut") from None
