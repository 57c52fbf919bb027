"""What two right answers may differ in, and why. Everything else must be equal, field by field.

A rule is (field name, APIs or None for all, what it becomes, reason). A value that one server chose (an id, a port)
becomes a name, so
that the same thing still has to be the same thing everywhere in the answers of that server.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.support.wire import (
    API_VERSIONS,
    CONSUMER_GROUP_DESCRIBE,
    CONSUMER_GROUP_HEARTBEAT,
    DESCRIBE_CONFIGS,
    DESCRIBE_GROUPS,
    DESCRIBE_LOG_DIRS,
    DESCRIBE_PRODUCERS,
    DESCRIBE_QUORUM,
    DESCRIBE_TRANSACTIONS,
    FETCH,
    GET_TELEMETRY_SUBSCRIPTIONS,
    LIST_OFFSETS,
    PRODUCE,
    read_batches,
)

_NOW_MS = 600_000  # how far apart two clock readings of one run may be


@dataclass(frozen=True)
class Rule:
    field: str
    apis: tuple[int, ...] | None
    become: Callable[[Any, Names], Any]
    reason: str


class Names:
    """The values one server made up, each with the name both servers share."""

    def __init__(self) -> None:
        self.by_value: dict[Any, str] = {}

    def give(self, value: Any, name: str) -> None:
        self.by_value[value] = f"<{name}>"

    def of(self, value: Any) -> Any:
        return self.by_value.get(value, value)


def _text_or_none(value: Any, _names: Names) -> Any:
    return None if value in (None, "") else "<text>"


def _positive(value: Any, _names: Names) -> Any:
    return "<positive>" if isinstance(value, int) and value > 0 else value


def _named(value: Any, names: Names) -> Any:
    return names.of(value)


def _time(value: Any, names: Names) -> Any:
    """Of a marker it is the server's clock; scenarios use times of their own that are long past or far ahead."""
    return "<now>" if abs(value - time.time() * 1000) < _NOW_MS else names.of(value)


def _topic_id(value: Any, names: Names) -> Any:
    return value if value == bytes(16) else names.by_value.get(value, "<an id>")


def _member(value: Any, names: Names) -> Any:
    """A member id not yet named is only known to be there."""
    return names.by_value.get(value, "<a member>" if value else value)


def _producer(value: Any, names: Names) -> Any:
    """Small numbers, as node ids are; scenarios that have several producers name each as a pair."""
    if value < 0:
        return value
    known = names.by_value.get(("producer", value)) or names.by_value.get(value)
    return "<a producer>" if known in (None, "<node>") else known


def _records(value: Any, names: Names) -> Any:
    """Whole batches, field by field. A fetch may end with part of a batch, which clients ignore (KIP-74). CRC and the
    bytes on the wire hold
    ids and times, so the fields are compared instead."""
    if value is None:
        return None
    out = []
    for batch in read_batches(value):
        shown = {k: v for k, v in batch.items() if k != "crc"}
        shown["producer_id"] = _producer(batch["producer_id"], names)
        if batch["attributes"] & 8:  # LogAppendTime: the server's clock
            shown["max_timestamp"] = "<now>"
        if batch["attributes"] & 32:  # a marker: written by the server, at its time
            shown["base_timestamp"] = shown["max_timestamp"] = "<now>"
        out.append(shown)
    return out


def _present(value: Any, _names: Names) -> Any:
    return "<text>" if value else value


RULES = [
    Rule("throttle_time_ms", None, lambda v, n: 0, "each server may ask for a pause when it is busy"),
    Rule("error_message", None, _text_or_none, "the words are ours; whether there are words is Kafka's"),
    Rule("batch_index_error_message", (PRODUCE,), _text_or_none, "the same"),
    Rule("message", (DESCRIBE_QUORUM,), _text_or_none, "the same"),
    Rule("port", (DESCRIBE_QUORUM,), _positive, "of the controller's listener"),
    Rule("port", None, _named, "each server has its own port"),
    Rule("node_id", None, _named, "each server has its own id in its cluster"),
    Rule("broker_id", None, _named, "the same"),
    Rule("client_instance_id", (GET_TELEMETRY_SUBSCRIPTIONS,), _named, "of a client that came without one"),
    Rule("subscription_id", (GET_TELEMETRY_SUBSCRIPTIONS,), _named, "it is made from the instance id"),
    Rule("controller_id", None, _named, "the same"),
    Rule("leader_id", None, _named, "the same"),
    Rule("replica_id", None, _named, "the same"),
    Rule("replica_nodes", None, lambda v, n: [n.of(i) for i in v], "the same"),
    Rule("isr_nodes", None, lambda v, n: [n.of(i) for i in v], "the same"),
    Rule("cluster_id", None, lambda v, n: "<cluster>" if v else v, "each cluster has its own id"),
    Rule("topic_id", None, _topic_id, "made up by the server when the topic is created"),
    Rule("member_id", None, _member, "made up by the server or by the client's own uuid"),
    Rule("leader", None, _member, "a member id in JoinGroup; elsewhere a number and untouched"),
    Rule("producer_id", None, _producer, "drawn by the server"),
    Rule("transaction_start_time_ms", None, _positive, "the server's clock; -1 where nothing was begun must stay -1"),
    Rule("partitions", (DESCRIBE_TRANSACTIONS,), lambda v, n: sorted(v), "a set: Kafka lists it as its hashes fall"),
    Rule("unknown_state_filters", None, lambda v, n: sorted(v), "the same"),
    Rule("last_timestamp", (DESCRIBE_PRODUCERS,), _positive, "of a marker it is the server's clock"),
    Rule("records", (FETCH,), _records, "see _records"),
    Rule("session_id", (FETCH,), lambda v, n: "<session>" if v else 0, "drawn by the server"),
    Rule("log_append_time_ms", (PRODUCE,), _positive, "the server's clock; -1 with CreateTime must stay -1"),
    Rule("timestamp", (LIST_OFFSETS,), _time, "of records stamped by the server: named by the scenario, or now"),
    Rule("log_dir", None, lambda v, n: "<folder>" if v else v, "where the data lies"),
    Rule("total_bytes", (DESCRIBE_LOG_DIRS,), _positive, "a disk's size, free space changes between the two questions"),
    Rule("usable_bytes", (DESCRIBE_LOG_DIRS,), _positive, "the same"),
    Rule("documentation", (DESCRIBE_CONFIGS,), _present, "our own words"),
    Rule(
        "finalized_features_epoch",
        (API_VERSIONS,),
        lambda v, n: "<epoch>" if v >= 0 else v,
        "an offset in the server's metadata log",
    ),
    Rule(
        "client_host",
        (DESCRIBE_GROUPS, CONSUMER_GROUP_DESCRIBE),
        _present,
        "text of the address as the server prints it",
    ),
    Rule("heartbeat_interval_ms", (CONSUMER_GROUP_HEARTBEAT,), _positive, "a setting"),
    Rule("log_end_offset", (DESCRIBE_QUORUM,), _positive, "how much metadata each server has written"),
    Rule("high_watermark", (DESCRIBE_QUORUM,), _positive, "the same"),
    Rule("leader_epoch", (DESCRIBE_QUORUM,), _positive, "how often the quorum has elected"),
    Rule("last_fetch_timestamp", (DESCRIBE_QUORUM,), _positive, "a clock"),
    Rule("last_caught_up_timestamp", (DESCRIBE_QUORUM,), _positive, "a clock"),
    Rule(
        "replica_directory_id",
        (DESCRIBE_QUORUM,),
        lambda v, n: "<an id>" if any(v) else v,
        "made up when the folder was formatted",
    ),
]
_BY_FIELD: dict[str, list[Rule]] = {}
for _rule in RULES:
    _BY_FIELD.setdefault(_rule.field, []).append(_rule)

# Lists whose order means nothing: sorted by these keys, in this order of preference, before they are compared.
_SORT_KEYS = (
    "name",
    "topic",
    "topic_name",
    "topic_id",
    "group_id",
    "transactional_id",
    "resource_name",
    "api_key",
    "node_id",
    "broker_id",
    "index",
    "partition",
    "partition_index",
    "partition_id",
    "instance_id",
    "client_id",
    "config_name",
    "key",
    "feature",
    "member_id",
)
_KEEP_ORDER = {"synonyms", "records"}  # synonyms stand in order of precedence


def _sort(items: list[Any]) -> list[Any]:
    if not all(isinstance(item, dict) for item in items):
        return items
    keys = [key for key in _SORT_KEYS if all(key in item for item in items)]
    return sorted(items, key=lambda item: tuple(str(item[key]) for key in keys))


def normalise(api_key: int, value: Any, names: Names, field: str = "") -> Any:
    """An answer with its server's own choices named."""
    for rule in _BY_FIELD.get(field, ()):
        if (rule.apis is None or api_key in rule.apis) and not isinstance(value, dict):
            if field == "leader" and not isinstance(value, str):
                continue
            return rule.become(value, names)
    if isinstance(value, dict):
        return {key: normalise(api_key, item, names, key) for key, item in value.items()}
    if isinstance(value, list):
        items = [normalise(api_key, item, names, field if not isinstance(item, dict) else "") for item in value]
        return items if field in _KEEP_ORDER else _sort(items)
    return value
