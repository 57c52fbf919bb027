"""OffsetFetch (9), versions 1-10: where groups stand. Until v7 one group a request, then several."""

from collections.abc import Awaitable, Iterator
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.loop_budget import LoopBudget

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_SEVERAL_GROUPS_SINCE = 8
_AT_ONCE = 2_000  # partitions looked at in one step, 1 us each


def handle(node: "Node", request: Any, context: RequestContext) -> dict[str, Any] | Awaitable[dict[str, Any]]:
    if context.api_version < _SEVERAL_GROUPS_SINCE:
        return node.groups.ask(request.group_id, request, context)
    if len(request.groups) + sum(map(_size, request.groups)) > _AT_ONCE:
        return _in_pieces(node, request, context)
    return node.groups.ask_each(request, context, asked="groups", answered="groups")


def _size(group: Any) -> int:
    return sum(1 + len(topic.partition_indexes) for topic in group.topics or ())


async def _in_pieces(node: "Node", request: Any, context: RequestContext) -> dict[str, Any]:
    """Some partitions at a time, with others served in between: a group may be asked about all of a large cluster."""
    found: list[dict[str, Any]] = []
    budget = LoopBudget()
    for group in request.groups:
        whole: dict[str, Any] | None = None
        for topics in _pieces(group.topics):
            part = replace(request, groups=[group if topics is None else replace(group, topics=topics)])
            answered = node.groups.ask_each(part, context, asked="groups", answered="groups")
            answer = (await answered if isinstance(answered, Awaitable) else answered)["groups"][0]
            whole = answer if whole is None or answer["error_code"] else _joined(whole, answer)
            await budget.pause()
            if whole["error_code"]:
                break
        assert whole is not None
        found.append(whole)
    return {"groups": found}


def _pieces(topics: list[Any] | None) -> Iterator[list[Any] | None]:
    """Topics with at most `_AT_ONCE` partitions together, those of a large topic in several pieces."""
    if topics is None:  # all that the group has committed
        yield None
        return
    piece: list[Any] = []
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


def _joined(known: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    """Both answers' partitions; the last topic of the one and the first of the other may be the same."""
    topics, more = known["topics"], answer["topics"]
    if topics and more and _name(topics[-1]) == _name(more[0]):
        topics[-1]["partitions"].extend(more[0]["partitions"])
        more = more[1:]
    topics.extend(more)
    return known


def _name(topic: dict[str, Any]) -> tuple[Any, Any]:
    return topic.get("name"), topic.get("topic_id")
