"""OffsetFetch (9), versions 1-10: where groups stand. Until v7 one group a request, then several.

Versions: 2 all topics (null) and an error for the whole answer, 3 throttle time, 4 throttling by the client (KIP-219),
5 leader epochs (KIP-320), 6 flexible, 7 waits for open transactions (KIP-447), 8 several groups (KIP-709), 9 member
epochs of the consumer protocol (KIP-848), 10 topics by id.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from barnabas.broker.coordinator.several import Parts, ask_each
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.wire import messages

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopics,
        OffsetFetchResponseBody,
        OffsetFetchResponseGroupBody,
        OffsetFetchResponseTopicsBody,
    )

_SEVERAL_GROUPS_SINCE = 8
_AT_ONCE = 2_000  # partitions looked at in one step, 1 us each


def handle(node: GroupsNode, request: OffsetFetchRequest, context: RequestContext) -> Answered[OffsetFetchResponseBody]:
    if context.api_version < _SEVERAL_GROUPS_SINCE:
        return node.groups.ask(request.group_id, request, context)
    if len(request.groups) + sum(map(_size, request.groups)) > _AT_ONCE:
        return _in_pieces(node, request, context)
    return _ask(node, request.groups, request.require_stable, context)


def _ask(
    node: GroupsNode, groups: list[OffsetFetchRequestGroup], require_stable: bool, context: RequestContext
) -> Answered[OffsetFetchResponseBody]:
    def part(some: list[OffsetFetchRequestGroup]) -> OffsetFetchRequest:
        return messages.OffsetFetchRequest(groups=some, require_stable=require_stable)

    return ask_each(node.groups, groups, Parts(attrgetter("group_id"), part, itemgetter("groups"), _whole), context)


def _whole(groups: list[OffsetFetchResponseGroupBody]) -> OffsetFetchResponseBody:
    return {"groups": groups}


def _size(group: OffsetFetchRequestGroup) -> int:
    return sum(1 + len(topic.partition_indexes) for topic in group.topics or ())


async def _in_pieces(node: GroupsNode, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponseBody:
    """Some partitions at a time, with others served in between: a group may be asked about all of a large cluster."""
    found: list[OffsetFetchResponseGroupBody] = []
    budget = LoopBudget()
    for group in request.groups:
        topics: list[OffsetFetchResponseTopicsBody] = []
        for some in _pieces(group.topics):
            answered = _ask(node, [replace(group, topics=some)], request.require_stable, context)
            answer = (await answered if isinstance(answered, Awaitable) else answered)["groups"][0]
            await budget.pause()
            if answer["error_code"]:
                found.append(answer)
                break
            _join(topics, answer["topics"])
        else:
            found.append({"group_id": group.group_id, "error_code": 0, "topics": topics})
    return {"groups": found}


def _pieces(topics: list[OffsetFetchRequestTopics] | None) -> Iterator[list[OffsetFetchRequestTopics] | None]:
    """Topics with at most `_AT_ONCE` partitions together, those of a large topic in several pieces."""
    if topics is None:  # all that the group has committed
        yield None
        return
    piece: list[OffsetFetchRequestTopics] = []
    room = _AT_ONCE
    for topic in topics:
        indexes = topic.partition_indexes
        for at in range(0, max(len(indexes), 1), _AT_ONCE):
            some = indexes[at : at + _AT_ONCE]
            if len(some) + 1 > room and piece:
                yield piece
                piece, room = [], _AT_ONCE
            piece.append(replace(topic, partition_indexes=some))
            room -= len(some) + 1
    yield piece


def _join(topics: list[OffsetFetchResponseTopicsBody], more: Sequence[OffsetFetchResponseTopicsBody]) -> None:
    """Behind those found so far; the last of them and the first of the others may be the same topic."""
    if topics and more and _name(topics[-1]) == _name(more[0]):
        last = topics[-1]
        topics[-1] = {**last, "partitions": [*last["partitions"], *more[0]["partitions"]]}
        more = more[1:]
    topics.extend(more)


def _name(topic: OffsetFetchResponseTopicsBody) -> tuple[str | None, bytes | None]:
    return topic.get("name"), topic.get("topic_id")
