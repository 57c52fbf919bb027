"""Lines of a bulk request, and what its answer means for each record.

The `_id` of a document is the record's key, or topic, partition and offset. By key, the document's external version is
the record's offset: OpenSearch keeps the highest, so a write that comes twice, late or out of order changes nothing and
is answered by 409. By offset, a document is only ever created, and 409 says that it is there.

Lines are joined bytes and not an encoded structure: it is what a record costs most.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from datetime import UTC, datetime

import msgspec

from barnabas.connect.connectors.opensearch.options import Settings
from barnabas.connect.contract import Delivered, Value

ID_BYTES_MAX = 512  # OpenSearch takes no longer `_id`
INDEXES_KEPT = 1000  # names of indexes by topic and hour

_JSON = msgspec.json.Encoder(decimal_format="number")
_SORTED = msgspec.json.Encoder(decimal_format="number", order="sorted")
NOT_JSON = (TypeError, ValueError, OverflowError, RecursionError)  # what encoding raises for a value that JSON has not


class Lines:
    """Makes the lines of each record of one partition."""

    def __init__(self, settings: Settings, source: str, typed: bool) -> None:
        """`source` is the topic that is read. It names documents, and not the record's topic: records of two topics may
        have been routed to one. `typed`: Elasticsearch 6, which wants a type."""
        self._options, self._by_offset, self._source = settings.options, settings.by_offset, source
        self._by_time = settings.options.version == "timestamp"
        self._timestamp = settings.options.timestamp_field or ("@timestamp" if settings.options.data_stream else "")
        self._timestamp_name = b"," + _JSON.encode(self._timestamp) + b':"'
        name = _JSON.encode(settings.options.metadata)
        self._metadata_start = b',%b:{"topic":' % name
        self._type = b',"_type":"_doc"' if typed else b""
        self._starts: dict[tuple[str, int], tuple[bytes, bytes, bytes]] = {}

    def of(self, record: Delivered) -> bytes | None:
        """None: nothing to do, a tombstone that no key names. Raises one of NOT_JSON."""
        hour = record.timestamp_ms // 3_600_000
        create, index, delete = self._starts.get((record.topic, hour)) or self._start(record.topic, hour)
        if self._by_offset or (record.key is None and self._options.id == "auto"):
            if record.value is None:
                return None
            topic = self._source if record.redriven_at is None else record.origin
            place = _JSON.encode(f"{topic}-{record.partition}-{record.offset}")
            return b"%b%b}}\n%b\n" % (create, place, self._document(record))
        if record.key is None:
            raise ValueError("the record has no key to be its _id")
        place = id_of(record.key)
        version = max(0, record.timestamp_ms) if self._by_time else record.offset
        if record.value is None:
            return b'%b%b,"version":%d}}\n' % (delete, place, version)
        return b'%b%b,"version":%d}}\n%b\n' % (index, place, version, self._document(record))

    def _start(self, topic: str, hour: int) -> tuple[bytes, bytes, bytes]:
        """The first parts of the action lines for one index."""
        at = datetime.fromtimestamp(hour * 3600, UTC)
        name = self._options.index.format(
            topic=topic.lower(),
            year=f"{at:%Y}",
            month=f"{at:%Y-%m}",
            day=f"{at:%Y-%m-%d}",
            hour=f"{at:%Y-%m-%d-%H}",
        )
        place = b'"_index":' + _JSON.encode(name) + self._type
        # By time, two records of one key may have the same version: the later one has to win.
        kind = b"external_gte" if self._by_time else b"external"
        versioned = place + b',"version_type":"%b","_id":' % kind
        made = (
            b'{"create":{%b,"_id":' % place,
            b'{"index":{%b' % versioned,
            b'{"delete":{%b' % versioned,
        )
        if len(self._starts) >= INDEXES_KEPT:
            self._starts.clear()
        self._starts[topic, hour] = made
        return made

    def _document(self, record: Delivered) -> bytes:
        value = record.value
        if not isinstance(value, dict):
            value = {"value": _as_text(value)}
        document = _JSON.encode(value)
        if not self._timestamp and not self._options.metadata:
            return document
        more = b""
        if self._timestamp and self._timestamp not in value:
            seconds, ms = divmod(record.timestamp_ms, 1000)
            at = datetime.fromtimestamp(seconds, UTC).isoformat()[:19]
            more = b'%b%b.%03dZ"' % (self._timestamp_name, at.encode(), ms)
        if self._options.metadata:
            if self._options.metadata in value:
                raise ValueError(f"the value has a field {self._options.metadata!r}, the name of option 'metadata'")
            where = (record.partition, record.offset, record.timestamp_ms)
            more += self._metadata_start + _JSON.encode(record.topic)
            more += b',"partition":%d,"offset":%d,"timestamp":%d}' % where
        return document[:-1] + (more if value else more[1:]) + b"}"


def id_of(key: Value) -> bytes:
    """A key as a JSON string. One that is too long for OpenSearch is named by its hash."""
    key = _as_text(key)
    text = key if isinstance(key, str) else _SORTED.encode(key).decode()
    if len(text) * 4 > ID_BYTES_MAX and len(coded := text.encode()) > ID_BYTES_MAX:
        text = "sha256:" + hashlib.sha256(coded).hexdigest()
    return _JSON.encode(text)


def _as_text(value: Value) -> Value:
    if isinstance(value, bytes | bytearray | memoryview):
        data = bytes(value)
        try:
            return data.decode()
        except UnicodeDecodeError:
            return b64encode(data).decode()
    return value
