"""Committed offsets without members (as tools and simple consumers use them): commit, fetch, delete; coordinators;
listing groups."""

from __future__ import annotations

from typing import Any

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.support.wire import (
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    FIND_COORDINATOR,
    LIST_GROUPS,
    OFFSET_COMMIT,
    OFFSET_DELETE,
    OFFSET_FETCH,
)

Offsets = list[tuple[int, int, str | None]]


def commit_body(
    side: Side, group: str, topic: str, offsets: Offsets, member: str = "", generation: int = -1, **more: Any
) -> dict[str, Any]:
    listed = [
        {"partition_index": p, "committed_offset": o, "committed_leader_epoch": -1, "committed_metadata": m}
        for p, o, m in offsets
    ]
    ident = side.saved.get(f"id of {topic}", b"\3" * 16)
    return {
        "group_id": group,
        "generation_id_or_member_epoch": generation,
        "member_id": member,
        "retention_time_ms": -1,
        "topics": [{"name": topic, "topic_id": ident, "partitions": listed}],
        **more,
    }


def fetch_offsets_body(
    side: Side, group: str, topics: list[tuple[str, list[int]]] | None, **more: Any
) -> dict[str, Any]:
    """Versions to 7 ask for one group at the top, later ones for a list."""
    per_group = {key: more.pop(key) for key in ("member_id", "member_epoch") if key in more}
    listed = (
        None
        if topics is None
        else [
            {"name": t, "topic_id": side.saved.get(f"id of {t}", b"\3" * 16), "partition_indexes": p} for t, p in topics
        ]
    )
    return {
        "group_id": group,
        "topics": listed,
        "groups": [{"group_id": group, "topics": listed, "member_epoch": -1, **per_group}],
        **more,
    }


@scenario(OFFSET_COMMIT)
def offset_commit(pair: Pair, v: int) -> None:
    topic, group = pair.topic(pair.fresh("committed"), 3), pair.fresh("simple")

    def ask(question: str, offsets: Offsets, named: str = group, to: str = topic, **more: Any) -> None:
        pair.call(OFFSET_COMMIT, v, lambda s: commit_body(s, named, to, offsets, **more), question)

    ask("two partitions", [(0, 5, "note"), (1, 7, "")])
    ask("no metadata", [(2, 9, None)])
    ask("a partition that is none", [(7, 1, "")])
    ask("an unknown topic", [(0, 1, "")], to=pair.fresh("never"))
    ask("metadata as long as allowed", [(0, 6, "m" * 4096)])
    ask("metadata one too long", [(0, 6, "m" * 4097), (1, 8, "short")])
    ask("an offset below zero", [(0, -5, "")])
    ask("no group", [(0, 1, "")], named="")
    ask("a member nobody knows", [(0, 1, "")], member="nobody", generation=1)
    ask("a generation without a member", [(0, 1, "")], generation=3)
    ask(
        "a member nobody knows of a group nobody knows",
        [(0, 1, "")],
        named=pair.fresh("unknown"),
        member="nobody",
        generation=1,
    )
    if v >= 7:
        ask("an instance nobody knows", [(0, 1, "")], member="nobody", generation=1, group_instance_id="static")
    pair.call(OFFSET_COMMIT, v, lambda s: {**commit_body(s, group, topic, []), "topics": []}, "nothing")
    pair.call(OFFSET_FETCH, 8, lambda s: fetch_offsets_body(s, group, None), "afterwards")


@scenario(OFFSET_FETCH)
def offset_fetch(pair: Pair, v: int) -> None:
    topic, group = pair.topic(pair.fresh("committed"), 3), pair.fresh("simple")
    pair.each(lambda s: s.client.call(OFFSET_COMMIT, 8, commit_body(s, group, topic, [(0, 5, "note"), (1, 7, "")])))

    def ask(question: str, topics: list[tuple[str, list[int]]] | None, named: str = group, **more: Any) -> None:
        pair.call(OFFSET_FETCH, v, lambda s: fetch_offsets_body(s, named, topics, **more), question)

    ask("two partitions", [(topic, [0, 1])])
    ask("one that has none", [(topic, [2])])
    ask("a partition that is none", [(topic, [7])])
    ask("an unknown topic", [(pair.fresh("never"), [0])])
    ask("a group nobody knows", [(topic, [0])], pair.fresh("unknown"))
    ask("no group", [(topic, [0])], "")
    ask("no topics", [])
    if v >= 2:
        ask("all", None)
        ask("all of a group nobody knows", None, pair.fresh("unknown"))
    if v >= 7:
        ask("only stable ones", [(topic, [0, 1])], require_stable=True)
    if v >= 8:

        def several(side: Side) -> dict[str, Any]:
            groups = [
                fetch_offsets_body(side, g, t)["groups"][0]
                for g, t in ((group, None), ("nobody", None), (group, [(topic, [1])]))
            ]
            return {"groups": groups, "require_stable": False}

        pair.call(OFFSET_FETCH, v, several, "three groups")
        pair.call(OFFSET_FETCH, v, {"groups": []}, "no groups")
    if v >= 9:
        ask("a member nobody knows", [(topic, [0])], member_id="nobody", member_epoch=3)


@scenario(OFFSET_DELETE)
def offset_delete(pair: Pair, v: int) -> None:
    topic, group = pair.topic(pair.fresh("committed"), 3), pair.fresh("simple")
    pair.each(lambda s: s.client.call(OFFSET_COMMIT, 8, commit_body(s, group, topic, [(0, 5, "note"), (1, 7, "")])))

    def ask(question: str, named: str, to: str, *partitions: int) -> None:
        body = {"group_id": named, "topics": [{"name": to, "partitions": [{"partition_index": p} for p in partitions]}]}
        pair.call(OFFSET_DELETE, v, body, question)

    ask("one", group, topic, 0)
    ask("one that has none", group, topic, 2)
    ask("a partition that is none", group, topic, 9)
    ask("an unknown topic", group, pair.fresh("never"), 0)
    ask("a group nobody knows", pair.fresh("unknown"), topic, 0)
    ask("no group", "", topic, 0)
    pair.call(OFFSET_FETCH, 8, lambda s: fetch_offsets_body(s, group, None), "afterwards")
    ask("the last one", group, topic, 1)
    pair.call(OFFSET_FETCH, 8, lambda s: fetch_offsets_body(s, group, None), "after the last one")


@scenario(FIND_COORDINATOR)
def find_coordinator(pair: Pair, v: int) -> None:
    def ask(question: str, *keys: str, kind: int = 0) -> None:
        pair.call(
            FIND_COORDINATOR,
            v,
            {"key": keys[0] if keys else "", "key_type": kind, "coordinator_keys": list(keys)},
            question,
        )

    ask("of a group", "some-group")
    ask("of a group without a name", "")
    if v >= 1:
        ask("of a kind that is none", "x", kind=9)
        ask("of a negative kind", "x", kind=-1)
    if v >= 4:
        ask("of three groups", "a", "b", "c")
        ask("of none")


@scenario(LIST_GROUPS)
def list_groups(pair: Pair, v: int) -> None:
    topic, group = pair.topic(pair.fresh("listed")), pair.fresh("simple")
    pair.each(lambda s: s.client.call(OFFSET_COMMIT, 8, commit_body(s, group, topic, [(0, 5, "")])))

    def only_mine(answer: Any) -> Any:
        return (
            {**answer, "groups": [g for g in answer["groups"] if g["group_id"] == group]}
            if isinstance(answer, dict)
            else answer
        )

    def ask(question: str, **filters: Any) -> None:
        answers = [only_mine(s.ask(LIST_GROUPS, v, filters)) for s in pair.sides]
        pair.check(LIST_GROUPS, v, question, *answers)

    ask("all")
    if v >= 4:
        for state in ("Empty", "empty", "Stable", "PreparingRebalance", "Dead", "no-such-state"):
            ask(f"in state {state}", states_filter=[state])
        ask("in either of two states", states_filter=["Stable", "Empty"])
    if v >= 5:
        for kind in ("classic", "Classic", "consumer", "share", "streams", "no-such-type"):
            ask(f"of type {kind}", types_filter=[kind])
        ask("of a type in a state", types_filter=["classic"], states_filter=["Empty"])


@scenario(DESCRIBE_GROUPS)
def describe_simple_groups(pair: Pair, v: int) -> None:
    topic, group = pair.topic(pair.fresh("described")), pair.fresh("simple")
    pair.each(lambda s: s.client.call(OFFSET_COMMIT, 8, commit_body(s, group, topic, [(0, 5, "")])))
    for question, names in (
        ("one with offsets only", [group]),
        ("one nobody knows", [pair.fresh("unknown")]),
        ("without a name", [""]),
        ("three", [group, "nobody", group]),
        ("none", []),
    ):
        pair.call(DESCRIBE_GROUPS, v, {"groups": names}, question)
    if v >= 3:
        pair.call(
            DESCRIBE_GROUPS, v, {"groups": [group], "include_authorized_operations": True}, "with authorized operations"
        )


@scenario(DELETE_GROUPS)
def delete_groups(pair: Pair, v: int) -> None:
    topic, group = pair.topic(pair.fresh("deleted")), pair.fresh("simple")
    pair.each(lambda s: s.client.call(OFFSET_COMMIT, 8, commit_body(s, group, topic, [(0, 5, "")])))
    for question, names in (
        ("one nobody knows", [pair.fresh("unknown")]),
        ("without a name", [""]),
        ("one with offsets only, and one nobody knows", [group, "nobody"]),
        ("again", [group]),
        ("none", []),
    ):
        pair.call(DELETE_GROUPS, v, {"groups_names": names}, question)
    pair.call(OFFSET_FETCH, 8, lambda s: fetch_offsets_body(s, group, None), "its offsets afterwards")
