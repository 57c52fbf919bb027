"""Groups of the classic protocol, from the first join to the last leave, and every answer to a member who is out
of step."""

from __future__ import annotations

from typing import Any

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.differential.scenarios.offsets import commit_body, fetch_offsets_body
from tests.differential.transactional import once_loaded
from tests.support import kio_codec
from tests.support.wire import (
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
    SYNC_GROUP,
)

MEMBER_ID_REQUIRED = 79


def subscription(*topics: str) -> bytes:
    body = {"topics": list(topics), "user_data": None, "owned_partitions": [], "generation_id": -1}
    return b"\0\1" + kio_codec.encode_data("consumer_protocol_subscription", 1, body)


def assignment(topic: str, *partitions: int) -> bytes:
    body = {"assigned_partitions": [{"topic": topic, "partitions": list(partitions)}], "user_data": None}
    return b"\0\1" + kio_codec.encode_data("consumer_protocol_assignment", 1, body)


def join_body(group: str, member: str, topic: str = "t", instance: str | None = None, **more: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout_ms": 10000,
        "rebalance_timeout_ms": 10000,
        "member_id": member,
        "group_instance_id": instance,
        "protocol_type": "consumer",
        "protocols": [
            {"name": "range", "metadata": subscription(topic)},
            {"name": "roundrobin", "metadata": subscription(topic)},
        ],
        **more,
    }


def member_of(name: str) -> Any:
    def keep(side: Side, answer: Any) -> None:
        if answer["member_id"]:
            side.save(name, answer["member_id"])

    return keep


def join(pair: Pair, v: int, group: str, topic: str, name: str = "member", instance: str | None = None) -> None:
    """Join as a client does: once more with the id given when the server asks for that (KIP-394)."""
    for side in pair.sides:
        side.saved.setdefault(name, "")
    kafka, _ = pair.call(
        JOIN_GROUP, v, lambda s: join_body(group, s[name], topic, instance), f"{name} joins", save=member_of(name)
    )
    if isinstance(kafka, dict) and kafka["error_code"] == MEMBER_ID_REQUIRED:
        pair.call(
            JOIN_GROUP,
            v,
            lambda s: join_body(group, s[name], topic, instance),
            f"{name} joins with its id",
            save=member_of(name),
        )


def sync_body(
    side: Side,
    group: str,
    generation: int,
    name: str = "member",
    topic: str = "t",
    instance: str | None = None,
    **more: Any,
) -> dict[str, Any]:
    member = side.saved.get(name, name)
    return {
        "group_id": group,
        "generation_id": generation,
        "member_id": member,
        "group_instance_id": instance,
        "protocol_type": "consumer",
        "protocol_name": "range",
        "assignments": [{"member_id": member, "assignment": assignment(topic, 0, 1)}],
        **more,
    }


def stable(pair: Pair, base: str, instance: str | None = None) -> tuple[str, str]:
    """A group with one member that has its assignment, generation 1. Not compared."""
    topic, group = pair.topic(pair.fresh("grouped"), 2), pair.fresh(base)
    for side in pair.sides:
        first = once_loaded(side, JOIN_GROUP, 5, join_body(group, "", topic, instance))
        if first["error_code"] == MEMBER_ID_REQUIRED:
            first = side.client.call(JOIN_GROUP, 5, join_body(group, first["member_id"], topic))
        assert first["error_code"] == 0, (side.label, first)
        assert first["generation_id"] == 1, (side.label, first)
        side.save("member", first["member_id"])
        done = side.client.call(SYNC_GROUP, 3, sync_body(side, group, 1, topic=topic, instance=instance))
        assert done["error_code"] == 0, (side.label, done)
    return topic, group


@scenario(JOIN_GROUP)
def join_group(pair: Pair, v: int) -> None:
    topic, group = pair.topic(pair.fresh("grouped"), 2), pair.fresh("joined")
    join(pair, v, group, topic)
    pair.call(SYNC_GROUP, min(v, 5), lambda s: sync_body(s, group, 1, topic=topic), "the leader's assignment")
    pair.call(JOIN_GROUP, v, lambda s: join_body(group, s["member"], topic), "the leader joins again: a new generation")
    pair.call(DESCRIBE_GROUPS, 5, {"groups": [group]}, "while its assignment is awaited")
    pair.call(SYNC_GROUP, min(v, 5), lambda s: sync_body(s, group, 2, topic=topic), "the leader's new assignment")

    def bad(question: str, named: str = group, member: str = "", **more: Any) -> None:
        pair.call(JOIN_GROUP, v, {**join_body(named, member, topic), **more}, question)

    bad("no group", named="")
    bad("a member nobody knows", member="nobody")
    bad("a member nobody knows of a group nobody knows", named=pair.fresh("unknown"), member="nobody")
    bad("a session too short", session_timeout_ms=1)
    bad("a session too long", session_timeout_ms=9_000_000)
    bad("no protocols", named=pair.fresh("new"), protocols=[])
    bad("no protocol type", named=pair.fresh("new"), protocol_type="")
    bad("another protocol type", protocol_type="connect")
    bad("a protocol nobody else has", protocols=[{"name": "special", "metadata": b""}])


@scenario(JOIN_GROUP, range(5, 10))
def join_group_statically(pair: Pair, v: int) -> None:
    """KIP-345: an instance keeps its place; whoever still uses its old member id is fenced."""
    topic, group = pair.topic(pair.fresh("grouped"), 2), pair.fresh("static")
    join(pair, v, group, topic, instance="one")
    pair.call(SYNC_GROUP, min(v, 5), lambda s: sync_body(s, group, 1, topic=topic, instance="one"), "its assignment")
    pair.each(lambda s: s.saved.__setitem__("old", s["member"]))
    pair.call(
        JOIN_GROUP,
        v,
        lambda s: join_body(group, "", topic, "one"),
        "it comes back without its id",
        save=member_of("member again"),
    )
    pair.call(
        HEARTBEAT,
        4,
        lambda s: {"group_id": group, "generation_id": 1, "member_id": s["old"], "group_instance_id": "one"},
        "the old one's heartbeat",
    )
    pair.call(JOIN_GROUP, v, lambda s: join_body(group, s["old"], topic, "one"), "the old one joins")
    pair.call(
        HEARTBEAT,
        4,
        lambda s: {"group_id": group, "generation_id": 1, "member_id": s["member again"], "group_instance_id": "one"},
        "the new one's heartbeat",
    )
    pair.call(
        HEARTBEAT,
        4,
        lambda s: {"group_id": group, "generation_id": 1, "member_id": s["member again"], "group_instance_id": "two"},
        "an instance nobody knows",
    )
    pair.call(JOIN_GROUP, v, join_body(group, "nobody", topic, "three"), "a new instance with a member id")
    pair.call(DESCRIBE_GROUPS, 5, {"groups": [group]}, "described")
    leave = {
        "group_id": group,
        "members": [{"member_id": "", "group_instance_id": "one"}, {"member_id": "", "group_instance_id": "two"}],
    }
    pair.call(LEAVE_GROUP, 5, leave, "removed by its instance, as an administrator does")


@scenario(SYNC_GROUP)
def sync_group(pair: Pair, v: int) -> None:
    topic, group = stable(pair, "synced")

    def ask(question: str, generation: int = 1, name: str = "member", named: str = group, **more: Any) -> None:
        pair.call(SYNC_GROUP, v, lambda s: sync_body(s, named, generation, name, topic, **more), question)

    ask("again")
    ask("an old generation", 0)
    ask("a generation of the future", 9)
    ask("a member nobody knows", name="nobody")
    ask("no member", name="")
    ask("a group nobody knows", named=pair.fresh("unknown"))
    ask("no group", named="")
    if v >= 3:
        ask("an instance nobody knows", instance="static")
    if v >= 5:
        ask("another protocol type", protocol_type="connect")
        ask("another protocol", protocol_name="roundrobin")


@scenario(HEARTBEAT)
def heartbeat(pair: Pair, v: int) -> None:
    _, group = stable(pair, "beating")

    def ask(question: str, generation: int = 1, name: str = "member", named: str = group, **more: Any) -> None:
        pair.call(
            HEARTBEAT,
            v,
            lambda s: {"group_id": named, "generation_id": generation, "member_id": s.saved.get(name, name), **more},
            question,
        )

    ask("alive")
    ask("an old generation", 0)
    ask("a generation of the future", 9)
    ask("a member nobody knows", name="nobody")
    ask("no member", name="")
    ask("a group nobody knows", named=pair.fresh("unknown"))
    ask("no group", named="")
    if v >= 3:
        ask("an instance nobody knows", group_instance_id="static")
    for side in pair.sides:  # a second member starts a rebalance, which the first one hears of here
        side.reconnect()
        second = side.client.call(JOIN_GROUP, 5, join_body(group, ""))
        side.save("second", second["member_id"])
        side.client.send(JOIN_GROUP, 5, join_body(group, second["member_id"]))
        side.saved["busy"] = side.client
        side.client = type(side.client)(side.bootstrap, 15)
        while side.client.call(DESCRIBE_GROUPS, 3, {"groups": [group]})["groups"][0]["group_state"] == "Stable":
            pass
    ask("while the group rebalances")
    pair.each(lambda s: s["busy"].close())


@scenario(LEAVE_GROUP)
def leave_group(pair: Pair, v: int) -> None:
    topic, group = stable(pair, "left")

    def ask(question: str, name: str = "member", named: str = group) -> None:
        def body(side: Side) -> dict[str, Any]:
            member = side.saved.get(name, name)
            return {
                "group_id": named,
                "member_id": member,
                "members": [{"member_id": member, "group_instance_id": None, "reason": "test"}],
            }

        pair.call(LEAVE_GROUP, v, body, question)

    ask("a member nobody knows", "nobody")
    ask("a group nobody knows", named=pair.fresh("unknown"))
    ask("no group", named="")
    ask("the member")
    ask("the member again")
    if v >= 3:
        pair.call(LEAVE_GROUP, v, {"group_id": group, "members": []}, "nobody")
        pair.call(
            LEAVE_GROUP,
            v,
            {"group_id": group, "members": [{"member_id": "", "group_instance_id": "x"}, {"member_id": "nobody"}]},
            "two nobody knows",
        )
    pair.call(DESCRIBE_GROUPS, 5, {"groups": [group]}, "afterwards")
    pair.call(
        OFFSET_COMMIT,
        8,
        lambda s: commit_body(s, group, topic, [(0, 4, "")]),
        "an offset is committed to the empty group",
    )


@scenario(DESCRIBE_GROUPS)
def describe_groups(pair: Pair, v: int) -> None:
    _, group = stable(pair, "described")
    pair.call(DESCRIBE_GROUPS, v, {"groups": [group]}, "one with a member")
    _, static = stable(pair, "described-static", "instance")
    pair.call(DESCRIBE_GROUPS, v, {"groups": [static]}, "one with a static member")


@scenario(LIST_GROUPS)
def list_live_groups(pair: Pair, v: int) -> None:
    _, group = stable(pair, "listed-live")
    filters: list[dict[str, Any]] = [{}]
    filters += [{"states_filter": ["Stable"]}, {"states_filter": ["Empty"]}] if v >= 4 else []
    filters += [{"types_filter": ["classic"]}, {"types_filter": ["consumer"]}] if v >= 5 else []
    for body in filters:
        answers = []
        for side in pair.sides:
            answer = side.ask(LIST_GROUPS, v, body)
            answers.append(
                {**answer, "groups": [g for g in answer["groups"] if g["group_id"] == group]}
                if isinstance(answer, dict)
                else answer
            )
        pair.check(LIST_GROUPS, v, f"with {body}", *answers)


@scenario(OFFSET_COMMIT)
def offset_commit_of_members(pair: Pair, v: int) -> None:
    topic, group = stable(pair, "committing")

    def ask(question: str, generation: int, name: str = "member", **more: Any) -> None:
        pair.call(
            OFFSET_COMMIT,
            v,
            lambda s: commit_body(s, group, topic, [(0, 5, "m")], s.saved.get(name, name), generation, **more),
            question,
        )

    ask("of the member", 1)
    ask("of an old generation", 0)
    ask("of a generation of the future", 7)
    ask("of a member nobody knows", 1, "nobody")
    ask("of nobody while the group has members", -1, "")
    ask("of a member without a generation", -1)
    pair.call(OFFSET_FETCH, 8, lambda s: fetch_offsets_body(s, group, [(topic, [0, 1])]), "afterwards")
    pair.call(
        OFFSET_DELETE,
        0,
        {"group_id": group, "topics": [{"name": topic, "partitions": [{"partition_index": 0}]}]},
        "of a topic still read",
    )


@scenario(DELETE_GROUPS)
def delete_live_groups(pair: Pair, v: int) -> None:
    _, group = stable(pair, "alive")
    pair.call(DELETE_GROUPS, v, {"groups_names": [group]}, "one with a member")
    pair.each(lambda s: s.client.call(LEAVE_GROUP, 1, {"group_id": group, "member_id": s["member"]}))
    pair.call(DELETE_GROUPS, v, {"groups_names": [group]}, "after the member has left")
