"""Options of the S3 sink, and the names of objects by its layout."""

from __future__ import annotations

import re
import string
from datetime import UTC, datetime
from typing import Literal

from barnabas.connect.connectors.s3.store import StoreOptions
from barnabas.connect.contract import Delivered, Options
from barnabas.connect.errors import BadOption
from barnabas.connect.options import read_options

FIELDS = ("topic", "partition", "offset", "year", "month", "day", "hour")
EXTENSIONS = {
    ("parquet", "zstd"): ".parquet",
    ("parquet", "snappy"): ".parquet",
    ("parquet", "none"): ".parquet",
    ("jsonl", "gzip"): ".jsonl.gz",
    ("jsonl", "zstd"): ".jsonl.zst",
    ("jsonl", "none"): ".jsonl",
}
_OFFSET = "\0"  # stands for the offset in a name until the batch has its first
_TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")
NAMES_KEPT = 1000


class SinkOptions(StoreOptions, kw_only=True, forbid_unknown_fields=True):
    format: Literal["parquet", "jsonl"] = "parquet"
    compression: Literal["", "none", "zstd", "snappy", "gzip"] = ""
    layout: str = "{topic}/day={day}/hour={hour}/{partition}-{offset}"
    object_bytes: int = 64_000_000
    object_records: int = 1_000_000
    object_seconds: float = 60
    memory_bytes: int = 256_000_000
    metadata: bool = False
    metadata_prefix: str = "_"
    nested: Literal["struct", "json"] = "struct"
    columns_max: int = 2000


def read_sink_options(given: Options) -> SinkOptions:
    options = read_options("s3", SinkOptions, given)
    options.compression = options.compression or ("zstd" if options.format == "parquet" else "gzip")
    if (options.format, options.compression) not in EXTENSIONS:
        fitting = ", ".join(name for kind, name in EXTENSIONS if kind == options.format)
        raise BadOption(f"s3 writes {options.format} without {options.compression}", f"It has: {fitting}")
    for name in ("object_bytes", "object_records", "object_seconds", "memory_bytes", "columns_max"):
        if getattr(options, name) <= 0:
            raise BadOption(f"option {name!r} of s3 must be above 0")
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(options.layout) if name is not None]
    except ValueError:
        raise BadOption(f"option 'layout' of s3: {options.layout!r} has a brace that is not closed") from None
    if unknown := [name for name in names if name not in FIELDS]:
        known = ", ".join(f"{{{name}}}" for name in FIELDS)
        raise BadOption(f"option 'layout' of s3 has no field {{{unknown[0]}}}", f"There are: {known}")
    if missing := [name for name in ("partition", "offset") if name not in names]:
        raise BadOption(f"option 'layout' of s3 needs {{{missing[0]}}}, or objects would have the same name")
    if options.layout.startswith(("/", "_")) or ".." in options.layout or "//" in options.layout:
        raise BadOption(f"option 'layout' of s3: {options.layout!r} is no name of an object", "Write FOLDER/NAME")
    return options


class Layout:
    """Which object a record belongs to. Objects of one batch differ by topic and time."""

    def __init__(self, options: SinkOptions, topic: str, partition: int) -> None:
        """Of a writer of this partition. A record that is named by another topic, since it was routed there or has been
        redriven, has the writer's topic in front of the partition: two writers may have records of one topic."""
        self._layout, self._topic, self._partition = options.layout, topic, partition
        self._end = EXTENSIONS[options.format, options.compression]
        self._places: dict[tuple[str, int], str] = {}

    def place(self, record: Delivered) -> str:
        """The name but for the offset. Raises ValueError."""
        hour = record.timestamp_ms // 3_600_000
        return self._places.get((record.topic, hour)) or self._make(record, hour)

    def _make(self, record: Delivered, hour: int) -> str:
        if not _TOPIC.fullmatch(record.topic):
            raise ValueError(f"{record.topic[:250]!r} is no name of a topic")
        try:
            at = datetime.fromtimestamp(hour * 3600, UTC)
        except (OverflowError, OSError, ValueError):
            raise ValueError(f"{record.timestamp_ms} is no time") from None
        partition = str(self._partition) if record.topic == self._topic else f"{self._topic}.{self._partition}"
        values = {"year": f"{at:%Y}", "month": f"{at:%m}", "day": f"{at:%Y-%m-%d}", "hour": f"{at:%H}"}
        made = self._layout.format(topic=record.topic, partition=partition, offset=_OFFSET, **values) + self._end
        if len(self._places) >= NAMES_KEPT:
            self._places.clear()
        self._places[record.topic, hour] = made
        return made

    @staticmethod
    def name(place: str, first: int) -> str:
        return place.replace(_OFFSET, f"{first:020}")
