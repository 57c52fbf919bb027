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

from barnabas.broker.api.permissions import DESCRIBE, GROUP_REFUSED, TOPIC, TOPIC_REFUSED, may, require_group, sees
from barnabas.broker.coordinator.several import Parts, ask_each, ask_permitted
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.wire import messages

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.wire.messages import (
        OffsetFetchRequest,
        OffsetFetchRequestGroup,
        OffsetFetchRequestTopic,
        OffsetFetchRequestTopics,
        OffsetFetchResponseBody,
        OffsetFetchResponseGroupBody,
        OffsetFetchResponsePartitionsBody,
        OffsetFetchResponseTopicBody,
        OffsetFetchResponseTopicsBody,
    )

_SEVERAL_GROUPS_SINCE = 8
_TOPIC_IDS_SINCE = 10
_AT_ONCE = 2_000  # partitions looked at in one step, 1 us each


def handle(node: GroupsNode, request: OffsetFetchRequest, context: RequestContext) -> Answered[OffsetFetchResponseBody]:
    if context.api_version < _SEVERAL_GROUPS_SINCE:
        require_group(node, context, DESCRIBE, request.group_id)
        if node.access is not None:
            return _one_group(node, request, context)
        return node.groups.ask(request.group_id, request, context)
    if len(request.groups) + sum(map(_size, request.groups)) > _AT_ONCE:
        return _in_pieces(node, request, context)
    return _ask(node, request.groups, request.require_stable, context)


def _ask(
    node: GroupsNode, groups: list[OffsetFetchRequestGroup], require_stable: bool, context: RequestContext
) -> Answered[OffsetFetchResponseBody]:
    def part(some: list[OffsetFetchRequestGroup]) -> OffsetFetchRequest:
        return messages.OffsetFetchRequest(groups=some, require_stable=require_stable)

    parts = Parts(attrgetter("group_id"), part, itemgetter("groups"), _whole)
    if node.access is None:
        return ask_each(node.groups, groups, parts, context)
    views = [_TopicsSeen(node, context, group.topics) for group in groups]

    def whole(found: list[OffsetFetchResponseGroupBody]) -> OffsetFetchResponseBody:
        seen = zip(found, views, strict=True)
        return {
            "groups": [
                group if group["error_code"] else {**group, "topics": view.completed(group["topics"])}
                for group, view in seen
            ]
        }

    some = [replace(group, topics=view.allowed) for group, view in zip(groups, views, strict=True)]
    return ask_permitted(node, some, parts._replace(whole=whole), context, DESCRIBE, _refused)


def _whole(groups: list[OffsetFetchResponseGroupBody]) -> OffsetFetchResponseBody:
    return {"groups": groups}


def _refused(group: OffsetFetchRequestGroup) -> OffsetFetchResponseGroupBody:
    return {"group_id": group.group_id, "error_code": GROUP_REFUSED, "topics": []}


async def _one_group(node: GroupsNode, request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponseBody:
    def is_seen(name: str) -> bool:
        return sees(node, context, DESCRIBE, TOPIC, name)

    def is_allowed(topic: OffsetFetchRequestTopic) -> bool:
        return may(node, context, DESCRIBE, TOPIC, topic.name)

    some = None if request.topics is None else list(filter(is_allowed, request.topics))
    asked = node.groups.ask(request.group_id, replace(request, topics=some), context)
    answer = await asked if isinstance(asked, Awaitable) else asked
    if answer["error_code"]:
        return answer
    if some is None:
        return {**answer, "topics": [topic for topic in answer["topics"] if is_seen(topic["name"])]}
    refused: list[OffsetFetchResponseTopicBody] = [
        {"name": topic.name, "partitions": [_unseen(index) for index in topic.partition_indexes]}
        for topic in request.topics or ()
        if not is_seen(topic.name)
    ]
    return {**answer, "topics": [*answer["topics"], *refused]}


class _TopicsSeen:
    """Of a question about a group's topics what whoever asks may be told. Topics that were named are refused by name;
    of all that there are, those that may not be described are left out."""

    def __init__(
        self, node: GroupsNode, context: RequestContext, topics: list[OffsetFetchRequestTopics] | None
    ) -> None:
        self._node, self._context = node, context
        self._by_id = context.api_version >= _TOPIC_IDS_SINCE
        self._asked = topics or ()
        self.allowed = None if topics is None else [each for each in topics if self._is_allowed(each)]

    def _is_allowed(self, topic: OffsetFetchRequestTopics) -> bool:
        name = self._node.image.topic_names.get(topic.topic_id) if self._by_id else topic.name
        return name is None or may(self._node, self._context, DESCRIBE, TOPIC, name)

    def _is_seen(self, name: str | None, topic_id: bytes) -> bool:
        name = self._node.image.topic_names.get(topic_id) if self._by_id else name
        return name is None or sees(self._node, self._context, DESCRIBE, TOPIC, name)

    def completed(self, topics: Sequence[OffsetFetchResponseTopicsBody]) -> list[OffsetFetchResponseTopicsBody]:
        if self.allowed is None:
            return [topic for topic in topics if self._is_seen(topic.get("name"), topic.get("topic_id", b""))]
        refused: list[OffsetFetchResponseTopicsBody] = [
            {"name": each.name, "topic_id": each.topic_id, "partitions": list(map(_unseen, each.partition_indexes))}
            for each in self._asked
            if not self._is_seen(each.name, each.topic_id)
        ]
        return [*topics, *refused]


def _unseen(index: int) -> OffsetFetchResponsePartitionsBody:
    return {
        "partition_index": index,
        "committed_offset": -1,
        "committed_leader_epoch": -1,
        "metadata": "",
        "error_code": TOPIC_REFUSED,
    }


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
