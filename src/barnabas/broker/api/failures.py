"""The answer that says "no" to a whole request, in the shape each API has for it.

A handler that cannot do anything at all raises a KafkaError; here it becomes a body in which every item the client
asked about carries the code. Most APIs have one `error_code` on top; the others are listed below, item by item.
"""

from collections.abc import Callable, Iterable
from typing import Any

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.apis import SERVED

Item = dict[str, Any]


def failure_body(api_key: int, version: int, request: Any, error: KafkaError) -> Item:
    failed = {"error_code": int(error.code), "error_message": error.message}
    shape = _SHAPES.get(api_key)
    if shape is None:
        return {"error_code": int(error.code)} | ({"error_message": error.message} if SERVED[api_key].explains else {})
    return shape(request, version, failed)


def _code(failed: Item) -> Item:
    return {"error_code": failed["error_code"]}


def _each(items: Iterable[Any], fields: tuple[str, ...], extra: Item) -> list[Item]:
    return [{name: getattr(item, name) for name in fields} | extra for item in items]


def _by_partition(
    topics: str, names: tuple[str, ...], partitions: str, index: str, answer_topics: str, answer_partitions: str
) -> Callable[[Any, int, Item], Item]:
    """The usual shape: topics, in each its partitions, in each the code."""

    def body(request: Any, version: int, failed: Item) -> Item:
        return {
            answer_topics: [
                {name: getattr(topic, name) for name in names}
                | {answer_partitions: _each(getattr(topic, partitions), (index,), _code(failed))}
                for topic in getattr(request, topics)
            ]
        }

    return body


def _produce(request: Any, version: int, failed: Item) -> Item:
    nothing = failed | {"base_offset": -1}
    return {
        "responses": [
            {
                "name": topic.name,
                "topic_id": topic.topic_id,
                "partition_responses": _each(topic.partition_data, ("index",), nothing),
            }
            for topic in request.topic_data
        ]
    }


def _fetch(request: Any, version: int, failed: Item) -> Item:
    nothing = _code(failed) | {"high_watermark": -1, "aborted_transactions": [], "records": b""}
    topics = [
        {
            "topic": topic.topic,
            "topic_id": topic.topic_id,
            "partitions": [{"partition_index": p.partition} | nothing for p in topic.partitions],
        }
        for topic in request.topics
    ]
    return {"responses": topics if version < 13 else []} | (_code(failed) if version >= 7 else {})


def _of_group(api_key: int) -> Callable[[Any, int, Item], Item]:
    """What the coordinator itself would say: an older version may have no place for an error but each partition."""

    def body(request: Any, version: int, failed: Item) -> Item:
        from barnabas.core.groups.refusals import refusal  # loaded when the first client comes to a group

        return refusal(api_key, request, version, ErrorCode(failed["error_code"]), failed["error_message"])

    return body


def _find_coordinator(request: Any, version: int, failed: Item) -> Item:
    nowhere = failed | {"node_id": -1, "host": "", "port": -1}
    if version >= 4:
        return {"coordinators": [{"key": key} | nowhere for key in request.coordinator_keys]}
    return nowhere


def _metadata(request: Any, version: int, failed: Item) -> Item:
    topics = request.topics or []
    return {"topics": _each(topics, ("name", "topic_id"), _code(failed) | {"partitions": []})}


def _delete_topics(request: Any, version: int, failed: Item) -> Item:
    if version >= 6:
        return {"responses": _each(request.topics, ("name", "topic_id"), failed)}
    return {"responses": [{"name": name} | failed for name in request.topic_names]}


def _delete_records(request: Any, version: int, failed: Item) -> Item:
    gone = _code(failed) | {"low_watermark": -1}
    return {
        "topics": [
            {"name": topic.name, "partitions": _each(topic.partitions, ("partition_index",), gone)}
            for topic in request.topics
        ]
    }


def _alter_log_dirs(request: Any, version: int, failed: Item) -> Item:
    return {
        "results": [
            {"topic_name": t.name, "partitions": [{"partition_index": p} | _code(failed) for p in t.partitions]}
            for directory in request.dirs
            for t in directory.topics
        ]
    }


def _add_partitions_to_txn(request: Any, version: int, failed: Item) -> Item:
    """A client that finds no partition in the answer takes it for a yes: each must carry the no."""
    if version >= 4:
        results = [
            {"transactional_id": each.transactional_id, "topic_results": _refused_partitions(each.topics, failed)}
            for each in request.transactions
        ]
        return _code(failed) | {"results_by_transaction": results}
    return {"results_by_topic_v3_and_below": _refused_partitions(request.v3_and_below_topics, failed)}


def _refused_partitions(topics: Iterable[Any], failed: Item) -> list[Item]:
    code = failed["error_code"]
    return [
        {
            "name": topic.name,
            "results_by_partition": [{"partition_index": p, "partition_error_code": code} for p in topic.partitions],
        }
        for topic in topics
    ]


def _indexed(request: Any, version: int, failed: Item) -> Item:
    return {
        "topics": [
            {"name": t.name, "partitions": [{"partition_index": p} | _code(failed) for p in t.partition_indexes]}
            for t in request.topics
        ]
    }


def _write_txn_markers(request: Any, version: int, failed: Item) -> Item:
    markers = [{"producer_id": each.producer_id} | _indexed(each, version, failed) for each in request.markers]
    return {"markers": markers}


def _named(items: str, fields: tuple[str, ...], answer: str, says_why: bool) -> Callable[[Any, int, Item], Item]:
    def body(request: Any, version: int, failed: Item) -> Item:
        return {answer: _each(getattr(request, items), fields, failed if says_why else _code(failed))}

    return body


def _listed(items: str, field: str, answer: str) -> Callable[[Any, int, Item], Item]:
    def body(request: Any, version: int, failed: Item) -> Item:
        return {answer: [{field: value} | _code(failed) for value in getattr(request, items)]}

    return body


_RESOURCE = ("resource_type", "resource_name")
_SHAPES: dict[int, Callable[[Any, int, Item], Item]] = {
    0: _produce,
    1: _fetch,
    2: _by_partition("topics", ("name",), "partitions", "partition_index", "topics", "partitions"),
    3: _metadata,
    8: _by_partition("topics", ("name", "topic_id"), "partitions", "partition_index", "topics", "partitions"),
    9: _of_group(9),
    10: _find_coordinator,
    11: _of_group(11),
    15: _of_group(15),
    19: _named("topics", ("name",), "topics", True),
    20: _delete_topics,
    21: _delete_records,
    23: _by_partition("topics", ("topic",), "partitions", "partition", "topics", "partitions"),
    24: _add_partitions_to_txn,
    27: _write_txn_markers,
    28: _by_partition("topics", ("name",), "partitions", "partition_index", "topics", "partitions"),
    32: _named("resources", _RESOURCE, "results", True),
    33: _named("resources", _RESOURCE, "responses", True),
    34: _alter_log_dirs,
    37: _named("topics", ("name",), "results", True),
    42: _listed("groups_names", "group_id", "results"),
    44: _named("resources", _RESOURCE, "responses", True),
    61: _indexed,
    65: _listed("transactional_ids", "transactional_id", "transaction_states"),
    69: _of_group(69),
    75: _named("topics", ("name",), "topics", False),
}
