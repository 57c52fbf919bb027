"""Groups of the new protocol (KIP-848): heartbeats that carry everything, and their describing."""

from __future__ import annotations

import time
import uuid
from typing import Any

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.differential.scenarios.groups import join_body, stable
from tests.differential.scenarios.offsets import commit_body, fetch_offsets_body
from tests.support.wire import (
    CONSUMER_GROUP_DESCRIBE,
    CONSUMER_GROUP_HEARTBEAT,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    HEARTBEAT,
    JOIN_GROUP,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
)

HEART = CONSUMER_GROUP_HEARTBEAT


def beat(
    group: str, member: str, epoch: int, topics: list[str] | None = None, owned: list[Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A heartbeat; fields not given are null, which means unchanged."""
    return {
        "group_id": group,
        "member_id": member,
        "member_epoch": epoch,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": 30000 if topics is not None else -1,
        "subscribed_topic_names": topics,
        "subscribed_topic_regex": None,
        "server_assignor": None,
        "topic_partitions": owned,
        **more,
    }


def first(group: str, member: str, topics: list[str], **more: Any) -> dict[str, Any]:
    return beat(group, member, 0, topics, [], **more)


def keep(name: str) -> Any:
    def save(side: Side, answer: Any) -> None:
        if answer["member_id"]:
            side.save(name, answer["member_id"])

    return save


def member_id(v: int) -> str:
    """Since version 1 the member draws its own id; before, the server did."""
    return "" if v == 0 else str(uuid.UUID(int=time.time_ns()))


def joined(pair: Pair, v: int, base: str, partitions: int = 2, **more: Any) -> tuple[str, str]:
    """A group with one member that owns all partitions; the first heartbeat is compared."""
    topic, group, own = pair.topic(pair.fresh("subscribed"), partitions), pair.fresh(base), member_id(v)
    for side in pair.sides:
        _until_coordinated(side, topic, pair.fresh("probe"))
    pair.call(HEART, v, first(group, own, [topic], **more), "the first heartbeat", save=keep("member"))
    for side in pair.sides:
        side.saved.setdefault("member", own)
        side.saved["owned"] = [{"topic_id": side[f"id of {topic}"], "partitions": list(range(partitions))}]
    return topic, group


def _until_coordinated(side: Side, topic: str, group: str) -> None:
    """Kafka's coordinators hear of a new topic a moment after its metadata tells it: a member that comes before that is
    given nothing."""
    deadline = time.monotonic() + 10
    while True:
        member = str(uuid.uuid4())
        found = side.client.call(HEART, 1, first(group, member, [topic]))
        side.client.call(HEART, 1, beat(group, member, -1))
        given = found["assignment"]
        if (given and given["topic_partitions"]) or time.monotonic() >= deadline:
            return
        time.sleep(0.05)


@scenario(HEART)
def consumer_group_heartbeat(pair: Pair, v: int) -> None:
    topic, group = joined(pair, v, "new-style")

    def ask(question: str, epoch: int = 1, name: str = "member", named: str = group, **more: Any) -> None:
        def body(side: Side) -> dict[str, Any]:
            made = {key: value(side) if callable(value) else value for key, value in more.items()}
            return beat(named, side.saved.get(name, name), epoch, **made)

        pair.call(HEART, v, body, question)

    ask("with what it owns", owned=lambda s: s["owned"])
    ask("a sign of life")
    ask("an epoch of the past", 0, topics=None)
    ask("an epoch of the future", 9)
    ask("a member nobody knows", 1, "nobody")
    ask("a group nobody knows", 1, named=pair.fresh("unknown"))
    ask("an epoch below all", -3)
    ask("the same topics again", 1, topics=[topic])
    ask("an unknown topic beside", 1, topics=[topic, pair.fresh("never")])
    ask("then a sign of life", 1)
    ask("an assignor that is none", 1, server_assignor="clever")
    ask("the range assignor", 1, server_assignor="range")
    if v >= 1:
        ask("a bad regular expression", 1, subscribed_topic_regex="(")
    ask("no group", named="")
    pair.call(CONSUMER_GROUP_DESCRIBE, v, {"group_ids": [group]}, "described")
    ask("leaves", -1)
    ask("leaves again", -1)
    pair.call(CONSUMER_GROUP_DESCRIBE, v, {"group_ids": [group]}, "described when empty")
    pair.call(LIST_GROUPS, 5, {"types_filter": ["no-such-type"]}, "no groups of a type that is none")


@scenario(HEART)
def consumer_group_first_heartbeats(pair: Pair, v: int) -> None:
    """What the first heartbeat must carry."""
    topic = pair.topic(pair.fresh("subscribed"))

    def ask(question: str, **changes: Any) -> None:
        pair.call(HEART, v, {**first(pair.fresh("first"), member_id(v), [topic]), **changes}, question)

    ask("no topics", subscribed_topic_names=None)
    ask("an empty list of topics", subscribed_topic_names=[])
    ask("owned partitions null", topic_partitions=None)
    ask("owned partitions already", topic_partitions=[{"topic_id": b"\3" * 16, "partitions": [0]}])
    ask("no rebalance timeout", rebalance_timeout_ms=-1)
    ask("an empty instance", instance_id="")
    ask("an empty rack", rack_id="")
    ask("a rack", rack_id="rack-1")
    ask("an assignor that is none", server_assignor="clever")
    ask("an empty assignor", server_assignor="")
    ask("the uniform assignor", server_assignor="uniform")
    ask("an unknown topic", subscribed_topic_names=[pair.fresh("never")])
    ask("a bad topic name", subscribed_topic_names=["bad name"])
    ask("a member id that is no uuid", member_id="my-own")
    if v >= 1:
        ask("no member id", member_id="")
        ask("a regular expression that is none", subscribed_topic_names=None, subscribed_topic_regex="[")
        ask("an empty regular expression", subscribed_topic_names=None, subscribed_topic_regex="")
        ask("a look-ahead, which RE2 has not", subscribed_topic_names=None, subscribed_topic_regex="(?=x)")
        ask("a regular expression", subscribed_topic_names=None, subscribed_topic_regex="no-such-topic.*")


@scenario(HEART)
def consumer_group_static_members(pair: Pair, v: int) -> None:
    topic, group, own = pair.topic(pair.fresh("subscribed")), pair.fresh("static"), member_id(v)
    pair.call(HEART, v, first(group, own, [topic], instance_id="one"), "an instance joins", save=keep("member"))
    second = member_id(v)
    pair.call(HEART, v, first(group, second, [topic], instance_id="one"), "its double joins while it lives")
    pair.call(HEART, v, lambda s: beat(group, s["member"], -2, instance_id="one"), "it leaves for a while")
    pair.call(HEART, v, first(group, second, [topic], instance_id="one"), "its successor joins", save=keep("successor"))
    pair.call(HEART, v, lambda s: beat(group, s["member"], 1, instance_id="one"), "the old one is heard again")
    pair.call(HEART, v, lambda s: beat(group, s["successor"], 1, instance_id="one"), "the successor's sign of life")
    pair.call(HEART, v, lambda s: beat(group, s["successor"], -2), "leaves for a while without an instance")
    pair.call(HEART, v, lambda s: beat(group, s["successor"], -1, instance_id="one"), "leaves for ever")


@scenario(HEART)
def consumer_group_two_members(pair: Pair, v: int) -> None:
    """A partition is free only once its owner has said so."""
    topic, group = joined(pair, v, "two", 4)
    pair.call(HEART, v, lambda s: beat(group, s["member"], 1, owned=s["owned"]), "one owns all four")
    pair.call(HEART, v, first(group, member_id(v), [topic]), "the second comes", save=keep("second"))
    pair.call(
        HEART,
        v,
        lambda s: beat(group, s["member"], 1, owned=s["owned"]),
        "the first is asked to give two up",
        save=lambda s, a: s.saved.__setitem__("owned", a["assignment"]["topic_partitions"]),
    )
    pair.call(HEART, v, lambda s: beat(group, s["second"], 2), "the second has to wait")
    pair.call(HEART, v, lambda s: beat(group, s["member"], 1, owned=s["owned"]), "the first has given them up")
    pair.call(HEART, v, lambda s: beat(group, s["second"], 2), "the second gets them")
    pair.call(CONSUMER_GROUP_DESCRIBE, v, {"group_ids": [group]}, "described")
    pair.call(HEART, v, lambda s: beat(group, s["second"], -1), "the second leaves")
    pair.call(HEART, v, lambda s: beat(group, s["member"], 2, owned=s["owned"]), "the first gets all again")


@scenario(CONSUMER_GROUP_DESCRIBE)
def consumer_group_describe(pair: Pair, v: int) -> None:
    topic, group = joined(pair, 1, "described")
    _, classic = stable(pair, "classic")
    for question, names in (
        ("one", [group]),
        ("one nobody knows", [pair.fresh("unknown")]),
        ("a classic one", [classic]),
        ("no name", [""]),
        ("three", [group, "nobody", group]),
        ("none", []),
    ):
        pair.call(CONSUMER_GROUP_DESCRIBE, v, {"group_ids": names, "include_authorized_operations": False}, question)
    pair.call(
        CONSUMER_GROUP_DESCRIBE,
        v,
        {"group_ids": [group], "include_authorized_operations": True},
        "with authorized operations",
    )
    pair.call(DESCRIBE_GROUPS, 6, {"groups": [group]}, "by the old way of describing")
    pair.call(DELETE_GROUPS, 2, {"groups_names": [group]}, "deleted while it has a member")
    item = [{"name": topic, "partitions": [{"partition_index": 0}]}]
    pair.call(OFFSET_DELETE, 0, {"group_id": group, "topics": item}, "an offset deleted while it is read")
    pair.call(
        JOIN_GROUP, 9, join_body(group, "", topic, protocol_type="connect"), "a classic member of another type joins"
    )
    pair.call(
        HEARTBEAT,
        4,
        lambda s: {"group_id": group, "generation_id": 1, "member_id": s["member"]},
        "a classic heartbeat of a new member",
    )


@scenario(OFFSET_COMMIT, [9, 10])
def offset_commit_of_new_members(pair: Pair, v: int) -> None:
    topic, group = joined(pair, 1, "committing")

    def ask(question: str, epoch: int, name: str = "member") -> None:
        pair.call(
            OFFSET_COMMIT,
            v,
            lambda s: commit_body(s, group, topic, [(0, 5, "m")], s.saved.get(name, name), epoch),
            question,
        )

    ask("of the member", 1)
    ask("of an old epoch", 0)
    ask("of an epoch of the future", 7)
    ask("of a member nobody knows", 1, "nobody")
    ask("of nobody", -1, "")
    for question, name, epoch in (
        ("right", "member", 1),
        ("old", "member", 0),
        ("future", "member", 9),
        ("unknown member", "nobody", 1),
    ):

        def body(side: Side, name: str = name, epoch: int = epoch) -> dict[str, Any]:
            return fetch_offsets_body(
                side, group, [(topic, [0, 1])], member_id=side.saved.get(name, name), member_epoch=epoch
            )

        pair.call(OFFSET_FETCH, v, body, f"read back with an epoch: {question}")
