"""Options that sinks into tables share, and what follows from them."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec

from barnabas.connect.connectors.relational.kinds import Dialect
from barnabas.connect.contract import Delivered, Value
from barnabas.connect.errors import BadOption

# A type as a definition may name it: double precision, numeric(10,2), text[], timestamp(3) with time zone.
_TYPE = re.compile(r"[A-Za-z_][A-Za-z0-9_ ]*(\([0-9]+(, ?[0-9]+)?\))?[A-Za-z ]*(\[\])*")
_PREFIX = "kafka_"
_ERRORS_TOPIC = "__connect.errors.topic"  # a header of dead letters: where the record was at first
_PLACE = ("topic", "partition", "offset")
Metadata = Literal["topic", "partition", "offset", "timestamp", "key"]


class TableOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    table: str = "{topic}"
    mode: Literal["upsert", "append"] = "upsert"
    key_column: str | list[str] = "key"
    deletes: bool = True
    partial: bool = False
    create: bool = True
    evolve: bool = True
    types: dict[str, str] = {}
    metadata: list[Metadata] | None = None
    unique: bool = False
    max_columns: Annotated[int, msgspec.Meta(ge=1, le=1600)] = 1000


class Rules:
    """Options after they were checked."""

    def __init__(self, connector: str, options: TableOptions, dialect: Dialect) -> None:
        self.connector, self.dialect = connector, dialect
        self.upsert = options.mode == "upsert"
        self.key_columns = [options.key_column] if isinstance(options.key_column, str) else options.key_column
        self.deletes, self.create, self.evolve = options.deletes, options.create, options.evolve
        self.partial = options.partial and self.upsert
        self.types, self.max_columns = options.types, options.max_columns
        wanted = options.metadata if options.metadata is not None else ([] if self.upsert else list(_PLACE))
        self.metadata = tuple(dict.fromkeys(wanted))
        self.metadata_columns = frozenset(_PREFIX + name for name in self.metadata)
        self.unique: tuple[str, ...] = tuple(_PREFIX + name for name in _PLACE) if options.unique else ()
        self._template = _template(connector, options.table)
        for name, given in options.types.items():
            if not _TYPE.fullmatch(given):
                raise BadOption(f"option 'types' of {connector}: {given!r} of {name!r} is not a type of a column")
        if not all(self.key_columns):
            raise BadOption(f"option 'key_column' of {connector} is empty")
        if self.unique and (self.upsert or not set(_PLACE) <= set(self.metadata)):
            raise BadOption(
                f"option 'unique' of {connector} needs mode: append, and topic, partition, offset as metadata"
            )

    def table_of(self, topic: str) -> tuple[str, ...] | None:
        """(schema, table) or (table,); None: the database allows no name that long. A dot in a topic's name becomes an
        underscore, as it would name a schema; Kafka has no two topics that differ in that only."""
        name = tuple(part.replace("{topic}", topic.replace(".", "_")) for part in self._template)
        if any(len(part.encode()) > self.dialect.name_bytes for part in name):
            return None
        return name

    def fold(self, name: str) -> str:
        """A name as the database compares it."""
        return name.lower() if self.dialect.folds_case else name

    def metadata_of(self, topic: str, records: list[Delivered]) -> dict[str, list[Value]]:
        """Columns of where records stand. The topic is the one that is read: a transformation may have routed the
        record elsewhere, where its offset means nothing."""
        made: dict[str, list[Value]] = {
            "topic": [topic if record.redriven_at is None else _first_topic(record) for record in records],
            "partition": [record.partition for record in records],
            "offset": [record.offset for record in records],
        }
        if "timestamp" in self.metadata:
            made["timestamp"] = [_time(record.timestamp_ms) for record in records]
        if "key" in self.metadata:
            made["key"] = [record.key for record in records]
        return {_PREFIX + name: made[name] for name in self.metadata}


def _first_topic(record: Delivered) -> str:
    """Of a dead letter that is sent again."""
    found = dict(record.headers).get(_ERRORS_TOPIC)
    return found.decode(errors="replace") if found else record.topic


def _time(timestamp_ms: int) -> Value:
    from datetime import UTC, datetime, timedelta

    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=timestamp_ms)
    except OverflowError:  # a producer may write any number
        return None


def _template(connector: str, text: str) -> list[str]:
    parts = text.split(".")
    for part in parts:
        rest = part.replace("{topic}", "")
        if not part or "{" in rest or "}" in rest or "\0" in rest:
            raise BadOption(
                f"option 'table' of {connector}: {text!r} is not a table", 'Write it as "orders" or "sales.{topic}"'
            )
    if len(parts) > 2:
        raise BadOption(f"option 'table' of {connector}: {text!r} has more parts than schema.table")
    return parts
