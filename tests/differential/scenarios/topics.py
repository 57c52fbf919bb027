"""Topics: metadata, create, delete, grow, describe."""

from __future__ import annotations

from typing import Any

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.support.wire import CREATE_PARTITIONS, CREATE_TOPICS, DELETE_TOPICS, DESCRIBE_TOPIC_PARTITIONS, METADATA

NO_ID = bytes(16)
BAD_NAMES = ("", ".", "..", "white space", "slash/es", "umläut", "x" * 250, "colon:")


def by_name(*names: str | None, create: bool = False, **more: Any) -> dict[str, Any]:
    return {"topics": [{"name": n, "topic_id": NO_ID} for n in names], "allow_auto_topic_creation": create, **more}


@scenario(METADATA)
def metadata(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("metadata"), 3)
    pair.call(METADATA, v, by_name(name), "one topic")
    pair.call(METADATA, v, {"topics": None if v else [], "allow_auto_topic_creation": False}, "all topics")
    if v >= 1:
        pair.call(METADATA, v, {"topics": []}, "no topics, only brokers")
    if v >= 4:  # before, asking for a topic could always create it
        pair.call(METADATA, v, by_name(pair.fresh("absent")), "an unknown topic, creation not allowed")
        pair.call(METADATA, v, by_name(name, pair.fresh("absent-beside")), "a known and an unknown topic")
    for bad in BAD_NAMES:
        pair.call(METADATA, v, by_name(bad), f"bad name {bad[:12]!r}")
    pair.call(METADATA, v, by_name(name, name), "the same topic twice")
    if v >= 8:
        more = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": v <= 10}
        pair.call(METADATA, v, by_name(name, **more), "with authorized operations")
    if v >= 12:
        pair.call(METADATA, v, lambda s: {"topics": [{"name": None, "topic_id": s[f"id of {name}"]}]}, "by topic id")
        pair.call(METADATA, v, {"topics": [{"name": None, "topic_id": b"\1" * 16}]}, "by an unknown topic id")
        pair.call(METADATA, v, {"topics": [{"name": None, "topic_id": NO_ID}]}, "neither name nor id")
        pair.call(METADATA, v, lambda s: {"topics": [{"name": name, "topic_id": s[f"id of {name}"]}]}, "name and id")
    if v in (10, 11):
        pair.call(
            METADATA, v, {"topics": [{"name": None, "topic_id": NO_ID}]}, "null name where ids are not yet allowed"
        )


@scenario(METADATA)
def metadata_creates_topics(pair: Pair, v: int) -> None:
    """Auto-creation: what the creating answer says is compared up to the moment the topic is there."""
    name = pair.fresh("auto-created")
    for side in pair.sides:
        side.ask(METADATA, v, by_name(name, create=True))
        pair.await_topic(side, name)
    pair.call(METADATA, v, by_name(name), "the topic that asking has created")
    pair.call(METADATA, v, by_name("bad name", create=True), "a bad name is not created")


def new(
    name: str, partitions: int = 1, replicas: int = 1, assignments: Any = (), **configs: str | None
) -> dict[str, Any]:
    entries = [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]
    placed = [{"partition_index": p, "broker_ids": list(brokers)} for p, brokers in assignments]
    return {
        "name": name,
        "num_partitions": partitions,
        "replication_factor": replicas,
        "assignments": placed,
        "configs": entries,
    }


@scenario(CREATE_TOPICS)
def create_topics(pair: Pair, v: int) -> None:
    def ask(question: str, *topics: dict[str, Any], **more: Any) -> None:
        pair.call(
            CREATE_TOPICS, v, {"topics": list(topics), "timeout_ms": 30000, "validate_only": False, **more}, question
        )

    name = pair.fresh("created")
    ask("one topic", new(name))
    pair.each(lambda s: pair.await_topic(s, name))
    ask("a topic that exists", new(name))
    ask("with settings", new(pair.fresh("configured"), 2, cleanup_policy="compact", retention_ms="1000"))
    if v >= 4:
        ask("defaults for partitions and replicas", new(pair.fresh("defaults"), -1, -1))
    ask("validate only", new(pair.fresh("validated"), 3), validate_only=True)
    ask("validate only, exists", new(name, 3), validate_only=True)
    for bad in BAD_NAMES:
        ask(f"bad name {bad[:12]!r}", new(bad))
    ask("no partitions", new(pair.fresh("bad"), 0))
    ask("minus two partitions", new(pair.fresh("bad"), -2))
    ask("no replicas", new(pair.fresh("bad"), 1, 0))
    ask("three replicas of one broker", new(pair.fresh("bad"), 1, 3))
    ask("unknown setting", new(pair.fresh("bad"), no_such_setting="1"))
    ask("bad number", new(pair.fresh("bad"), retention_ms="soon"))
    ask("bad choice", new(pair.fresh("bad"), cleanup_policy="burn"))
    ask("number out of range", new(pair.fresh("bad"), segment_bytes="1"))
    ask("null value", new(pair.fresh("bad"), retention_ms=None))
    ask("none", *())
    same = pair.fresh("twice")
    ask("the same twice", new(same), new(same))
    ask("one good, one bad", new(pair.fresh("good")), new("bad name"))
    dotted = pair.fresh("dot.ted")
    ask("with a dot", new(dotted))
    ask("clashing with it in metrics", new(dotted.replace("dot.ted", "dot_ted")))
    ask("an internal name", new("__consumer_offsets", 3))

    def placed(side: Side, topic: str, partitions: int = -1, **more: Any) -> dict[str, Any]:
        return {
            "topics": [new(topic, partitions, -1, [(0, [side.node_id]), (1, [side.node_id])])],
            "timeout_ms": 30000,
            **more,
        }

    by_hand, conflicting = pair.fresh("placed"), pair.fresh("conflict")
    pair.call(CREATE_TOPICS, v, lambda s: placed(s, by_hand), "placed by hand")
    pair.call(CREATE_TOPICS, v, lambda s: placed(s, conflicting, 2), "placed by hand and counted")
    ask("placed on nobody", new(pair.fresh("bad"), -1, -1, [(0, [77])]))
    ask("placed twice on the same", new(pair.fresh("bad"), -1, -1, [(0, [77, 77])]))
    ask("placed with a hole", new(pair.fresh("bad"), -1, -1, [(1, [77])]))
    ask("placed on an empty list", new(pair.fresh("bad"), -1, -1, [(0, [])]))


@scenario(DELETE_TOPICS)
def delete_topics(pair: Pair, v: int) -> None:
    def ask(question: str, *names: str) -> None:
        body = {
            "topic_names": list(names),
            "topics": [{"name": n, "topic_id": NO_ID} for n in names],
            "timeout_ms": 30000,
        }
        pair.call(DELETE_TOPICS, v, body, question)

    first, second = pair.topic(pair.fresh("deleted")), pair.topic(pair.fresh("deleted"), 3)
    ask("one", first)
    ask("the same again", first)
    ask("one that never was", pair.fresh("never"))
    ask("a bad name", "bad name")
    ask("the same twice in one request", second, second)
    ask("none", *())
    if v >= 6:
        third = pair.topic(pair.fresh("deleted"))
        pair.call(
            DELETE_TOPICS,
            v,
            lambda s: {"topics": [{"name": None, "topic_id": s[f"id of {third}"]}], "timeout_ms": 9000},
            "by id",
        )
        pair.call(
            DELETE_TOPICS,
            v,
            {"topics": [{"name": None, "topic_id": b"\2" * 16}], "timeout_ms": 9000},
            "by an unknown id",
        )
        pair.call(
            DELETE_TOPICS, v, {"topics": [{"name": None, "topic_id": NO_ID}], "timeout_ms": 9000}, "neither name nor id"
        )
        fourth = pair.topic(pair.fresh("kept"))
        pair.call(
            DELETE_TOPICS,
            v,
            lambda s: {"topics": [{"name": fourth, "topic_id": s[f"id of {fourth}"]}], "timeout_ms": 9000},
            "name and id",
        )


@scenario(CREATE_PARTITIONS)
def create_partitions(pair: Pair, v: int) -> None:
    name = pair.topic(pair.fresh("grown"), 2)

    def ask(question: str, *topics: tuple[str, int], **more: Any) -> None:
        asked = [{"name": n, "count": count, "assignments": None} for n, count in topics]
        pair.call(
            CREATE_PARTITIONS, v, {"topics": asked, "timeout_ms": 30000, "validate_only": False, **more}, question
        )

    ask("to three", (name, 3))
    pair.each(lambda s: pair.await_topic(s, name, 3))
    ask("to the same", (name, 3))
    ask("to fewer", (name, 1))
    ask("to none", (name, 0))
    ask("of an unknown topic", (pair.fresh("never"), 3))
    ask("of a bad name", ("bad name", 3))
    ask("only validated", (name, 5), validate_only=True)
    ask("the same topic twice", (name, 4), (name, 5))
    ask("one good, one bad", (name, 4), (pair.fresh("never"), 3))
    pair.each(lambda s: pair.await_topic(s, name, 4))

    def placed(brokers: list[list[Any]], count: int) -> Any:
        def body(side: Side) -> dict[str, Any]:
            lists = [{"broker_ids": [side.node_id if b == "self" else b for b in ids]} for ids in brokers]
            return {
                "topics": [{"name": name, "count": count, "assignments": lists}],
                "timeout_ms": 30000,
                "validate_only": False,
            }

        return body

    pair.call(CREATE_PARTITIONS, v, placed([["self"]], 5), "placed by hand")
    pair.each(lambda s: pair.await_topic(s, name, 5))
    pair.call(CREATE_PARTITIONS, v, placed([["self"]], 7), "placed by hand, too few places")
    pair.call(CREATE_PARTITIONS, v, placed([[77]], 6), "placed on nobody")
    pair.call(CREATE_PARTITIONS, v, placed([[]], 6), "placed on an empty list")


@scenario(DESCRIBE_TOPIC_PARTITIONS)
def describe_topic_partitions(pair: Pair, v: int) -> None:
    one, two = pair.topic(pair.fresh("described-a"), 3), pair.topic(pair.fresh("described-b"), 3)

    def ask(question: str, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None) -> None:
        at = None if cursor is None else {"topic_name": cursor[0], "partition_index": cursor[1]}
        body = {"topics": [{"name": n} for n in names], "response_partition_limit": limit, "cursor": at}
        pair.call(DESCRIBE_TOPIC_PARTITIONS, v, body, question)

    ask("one topic", one)
    ask("two topics", two, one)
    ask("an unknown topic", pair.fresh("never"))
    ask("a bad name", "bad name")
    ask("by two partitions", one, two, limit=2)
    ask("going on in the middle of the first", one, two, limit=2, cursor=(one, 2))
    ask("going on in the second", one, two, limit=2, cursor=(two, 1))
    ask("going on past the end", one, cursor=(one, 7))
    ask("a cursor before every topic", one, cursor=("a", 0))
    ask("a negative cursor", one, cursor=(one, -1))
    ask("limit zero", one, limit=0)
