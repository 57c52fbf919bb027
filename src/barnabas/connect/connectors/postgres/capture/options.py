"""Options of the source, as they stand in a definition below `from: {postgres: ...}`."""

from __future__ import annotations

import re
import zlib
from typing import Literal

import msgspec

from barnabas.connect.connectors.postgres.capture.catalog import is_pattern, pattern_parts
from barnabas.connect.contract import Options
from barnabas.connect.errors import BadOption
from barnabas.connect.options import Secret, read_options

_NAME_MAX = 63  # bytes of a name in PostgreSQL
_SLOT = re.compile(r"[a-z0-9_]{1,63}")
_NOT_IN_TOPICS = re.compile(r"[^a-zA-Z0-9._-]")


class PostgresOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    url: str
    password: Secret = ""
    tables: list[str] = []
    publication: str = ""
    slot: str = ""
    snapshot: Literal["initial", "never"] = "initial"
    envelope: Literal["none", "debezium"] = "none"
    topic: str = ""
    truncate: Literal["ignore", "event"] = "ignore"
    toast_placeholder: str = "__debezium_unavailable_value"
    heartbeat_s: float = 10.0
    failover: bool = True


def read(name: str, given: Options) -> PostgresOptions:
    options = read_options("postgres", PostgresOptions, given)
    if not options.tables and not options.publication:
        raise BadOption(
            "postgres needs the option 'tables'",
            "tables: [public.orders], tables: [public.*], or publication: NAME for all tables of that publication",
        )
    for each in options.tables:
        pattern_parts(each)
    if options.slot and not _SLOT.fullmatch(options.slot):
        raise BadOption(f"option 'slot' of postgres: {options.slot!r} has other characters than a-z, 0-9 and _")
    if not 0.1 <= options.heartbeat_s <= 3600:
        raise BadOption(f"option 'heartbeat_s' of postgres is {options.heartbeat_s}", "It is from 0.1 to 3600")
    if options.truncate == "event" and options.envelope != "debezium":
        raise BadOption("option 'truncate' of postgres: event needs envelope: debezium", "A plain row cannot say it")
    try:
        options.topic.format(schema="", table="")
    except (LookupError, ValueError):
        raise BadOption(
            f"option 'topic' of postgres: {options.topic!r} has other fields than {{schema}} and {{table}}"
        ) from None
    if not options.topic and (len(options.tables) != 1 or is_pattern(options.tables[0])):
        options.topic = "{schema}.{table}"
    return options


def default_name(connector: str) -> str:
    """Of the slot and the publication."""
    clean = re.sub(r"[^a-z0-9_]", "_", f"barnabas_{connector}".lower())
    if clean != f"barnabas_{connector}" or len(clean) > _NAME_MAX:  # two connectors must not meet in one name
        clean = f"{clean[: _NAME_MAX - 9]}_{zlib.crc32(connector.encode()):08x}"
    return clean


def topic_of(options: PostgresOptions, schema: str, table: str) -> str | None:
    """None: the topic of the definition."""
    if not options.topic:
        return None
    return _NOT_IN_TOPICS.sub("_", options.topic.format(schema=schema, table=table))
