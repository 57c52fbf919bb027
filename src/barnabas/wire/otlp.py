"""Metrics in OpenTelemetry's format (OTLP), as clients push them: the protobuf message MetricsData, read in place.

Only what Kafka's clients send is kept: numbers that are gauges or sums, with the attributes of their point and of their
resource. Histograms and summaries are skipped and counted. The message is nested to a fixed depth, and nothing here
follows what could be nested deeper (arrays and maps as attributes are skipped).

Bounds: the fields looked at (TELEMETRY_FIELDS_MAX), the points kept (`points_max`), lengths of texts. Bytes that are no
such message raise ProtocolError; a reader of protobuf has to accept fields that it does not know, so most garbage that
happens to be well-formed is an empty message.
"""

from collections.abc import Iterator
from enum import Enum
from struct import Struct
from typing import NamedTuple

from barnabas.model.limits import (
    TELEMETRY_FIELDS_MAX,
    TELEMETRY_LABEL_MAX_CHARS,
    TELEMETRY_LABELS_MAX,
    TELEMETRY_NAME_MAX_CHARS,
)
from barnabas.wire.errors import ProtocolError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DOUBLE, _INT64 = Struct("<d"), Struct("<q")
_DELTA = 1  # AggregationTemporality: since the push before; 2 is since the start
_VARINT_MAX_BYTES = 10

Attributes = tuple[tuple[str, str], ...]
Field = tuple[int, int, int, int]  # number, wire type, then where its bytes begin and end; of a varint: its value, 0


class Kind(Enum):
    GAUGE = "gauge"
    COUNTER = "counter"  # since the client's start
    INCREASE = "increase"  # of a counter, since the push before


class Point(NamedTuple):
    name: str
    kind: Kind
    attributes: Attributes
    value: float


class Metrics(NamedTuple):
    resource: Attributes  # what all points have in common: group_id, transactional_id, client_rack
    points: list[Point]
    dropped: int  # points that were too many or of a kind that is not kept


def read_metrics(data: bytes, points_max: int) -> Metrics:
    """What a MetricsData message says; raises ProtocolError for bytes that are none."""
    return _Reader(data, points_max).metrics()


class _Reader:
    def __init__(self, data: bytes, points_max: int) -> None:
        self._data = data
        self._fields_left = TELEMETRY_FIELDS_MAX
        self._points_max = points_max
        self._points: list[Point] = []
        self._dropped = 0

    def metrics(self) -> Metrics:
        resource: Attributes = ()
        try:
            for _, start, end in self._messages(0, len(self._data), (1,)):
                for number, inner, inner_end in self._messages(start, end, (1, 2)):
                    if number == 1:
                        resource = self._attributes(inner, inner_end, 1)
                    else:
                        self._scope(inner, inner_end)
        except IndexError:
            raise ProtocolError("metrics: the message is cut short") from None
        return Metrics(resource, self._points, self._dropped)

    def _scope(self, start: int, end: int) -> None:
        for _, inner, inner_end in self._messages(start, end, (2,)):
            self._metric(inner, inner_end)

    def _metric(self, start: int, end: int) -> None:
        name, found, gauge = "", (0, 0), False
        for number, inner, inner_end in self._messages(start, end, (1, 5, 7, 9, 10, 11)):
            if number == 1:
                name = self._text(inner, inner_end, TELEMETRY_NAME_MAX_CHARS)
            elif number in (5, 7):
                found, gauge = (inner, inner_end), number == 5
            else:
                self._dropped += 1
        if found == (0, 0):
            return
        if not name:
            raise ProtocolError("metrics: a metric without a name")
        self._numbers(name, *found, gauge)

    def _numbers(self, name: str, start: int, end: int, gauge: bool) -> None:
        """The points of a Gauge or a Sum. A sum that may fall is a gauge, where its points are the whole of it."""
        places: list[tuple[int, int]] = []
        temporality, monotonic = 0, False
        for number, wire_type, value, stop in self._fields(start, end):
            if number == 1 and wire_type == _BYTES:
                places.append((value, stop))
            elif number == 2 and wire_type == _VARINT:
                temporality = value
            elif number == 3 and wire_type == _VARINT:
                monotonic = value != 0
        kind = Kind.GAUGE
        if not gauge and monotonic:
            kind = Kind.INCREASE if temporality == _DELTA else Kind.COUNTER
        unknown = not gauge and not monotonic and temporality == _DELTA
        for place in places:
            if unknown or len(self._points) >= self._points_max:
                self._dropped += 1
            else:
                self._number(name, kind, *place)

    def _number(self, name: str, kind: Kind, start: int, end: int) -> None:
        data, value = self._data, None
        labels: list[tuple[str, str] | None] = []
        for number, wire_type, place, stop in self._fields(start, end):
            if wire_type == _FIXED64 and number == 4:
                value = _DOUBLE.unpack_from(data, place)[0]
            elif wire_type == _FIXED64 and number == 6:
                value = float(_INT64.unpack_from(data, place)[0])
            elif wire_type == _BYTES and number == 7 and len(labels) < TELEMETRY_LABELS_MAX:
                labels.append(self._attribute(place, stop))
        if value is None:
            self._dropped += 1  # a point without a value: nothing was recorded
        else:
            self._points.append(Point(name, kind, tuple(filter(None, labels)), value))

    def _attributes(self, start: int, end: int, number: int) -> Attributes:
        found = (self._attribute(inner, inner_end) for _, inner, inner_end in self._messages(start, end, (number,)))
        return tuple(attribute for attribute in found if attribute is not None)[:TELEMETRY_LABELS_MAX]

    def _attribute(self, start: int, end: int) -> tuple[str, str] | None:
        key, text = "", None
        for number, inner, inner_end in self._messages(start, end, (1, 2)):
            if number == 1:
                key = self._text(inner, inner_end, TELEMETRY_NAME_MAX_CHARS)
            else:
                text = self._any_value(inner, inner_end)
        return (key, text) if key and text is not None else None

    def _any_value(self, start: int, end: int) -> str | None:
        """As a label's text; None for arrays, maps and bytes."""
        found = None
        for number, wire_type, place, stop in self._fields(start, end):
            if number == 1 and wire_type == _BYTES:
                found = self._text(place, stop, TELEMETRY_LABEL_MAX_CHARS)
            elif number == 2 and wire_type == _VARINT:
                found = "true" if place else "false"
            elif number == 3 and wire_type == _VARINT:
                found = str(place - (1 << 64) if place >> 63 else place)
            elif number == 4 and wire_type == _FIXED64:
                found = repr(_DOUBLE.unpack_from(self._data, place)[0])
        return found

    def _text(self, start: int, end: int, max_chars: int) -> str:
        """Cut where it is too long: it is a name or a label of something that is shown."""
        try:
            return self._data[start : min(end, start + 4 * max_chars)].decode(
                "utf-8", "strict" if end - start <= 4 * max_chars else "ignore"
            )[:max_chars]
        except UnicodeDecodeError:
            raise ProtocolError("metrics: a text that is not UTF-8") from None

    # --- protobuf ---------------------------------------------------------------------------------------------------

    def _messages(self, start: int, end: int, wanted: tuple[int, ...]) -> Iterator[tuple[int, int, int]]:
        """Of a message's fields those with these numbers: number, where it begins and ends."""
        for number, wire_type, place, stop in self._fields(start, end):
            if wire_type == _BYTES and number in wanted:
                yield number, place, stop

    def _fields(self, position: int, end: int) -> Iterator[Field]:
        data = self._data
        while position < end:
            self._fields_left -= 1
            if self._fields_left < 0:
                raise ProtocolError(f"metrics: more than {TELEMETRY_FIELDS_MAX} fields")
            tag = data[position]
            position += 1
            if tag >= 0x80:
                tag, position = self._varint(position - 1)
            number, wire_type = tag >> 3, tag & 7
            if wire_type == _BYTES:
                size = data[position]
                position += 1
                if size >= 0x80:
                    size, position = self._varint(position - 1)
                start, position = position, position + size
                if position > end:
                    raise ProtocolError(f"metrics: a field of {size} bytes where {end - start} remain")
                yield number, wire_type, start, position
            elif wire_type == _VARINT:
                value, position = self._varint(position)
                yield number, wire_type, value, 0
            elif wire_type in (_FIXED64, _FIXED32):
                start, position = position, position + (8 if wire_type == _FIXED64 else 4)
                if position > end:
                    raise ProtocolError("metrics: a number is cut short")
                yield number, wire_type, start, position
            else:
                raise ProtocolError(f"metrics: a field of the unknown wire type {wire_type}")
        if position > end:
            raise ProtocolError("metrics: a field goes on behind its message")

    def _varint(self, position: int) -> tuple[int, int]:
        data, value = self._data, 0
        for shift in range(0, 7 * _VARINT_MAX_BYTES, 7):
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & 0xFFFFFFFFFFFFFFFF, position
        raise ProtocolError(f"metrics: a varint of more than {_VARINT_MAX_BYTES} bytes")
