"""A request about several groups: each coordinator gets its own part, and the answers stand in the order asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from barnabas.broker.api.permissions import GROUP, may
from barnabas.broker.coordinator.driver import request_info
from barnabas.core.coordinator.contract import B
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.api.roles import GroupsNode
    from barnabas.broker.coordinator.groups import GroupDriver
    from barnabas.broker.network.context import Answered, RequestContext
    from barnabas.wire.messages import Request

Item = TypeVar("Item")
Found = TypeVar("Found")


class Parts(NamedTuple, Generic[Item, B, Found]):
    """How such a request is taken apart: what it asks about, and what it is answered."""

    group_of: Callable[[Item], str]
    request: Callable[[list[Item]], Request[B]]  # the request about these only
    answers: Callable[[B], Sequence[Found]]  # one for each that was asked about, in the same order
    whole: Callable[[list[Found]], B]


def ask_each(
    groups: GroupDriver, items: Sequence[Item], parts: Parts[Item, B, Found], context: RequestContext
) -> Answered[B]:
    """A coordinator that refuses, or fails meanwhile, refuses its own part of the request, not the others'."""
    by_shard: dict[int, list[Item]] = {}
    for item in items:
        index = groups.index_of(parts.group_of(item)) if groups.partition_count else -1
        by_shard.setdefault(index, []).append(item)
    asked: list[tuple[list[Item], Request[B], B | asyncio.Future[B]]] = []
    for index, some in by_shard.items():
        request = parts.request(some)
        asked.append((some, request, _ask_shard(groups, index, request, context)))
    if any(isinstance(answer, asyncio.Future) for _, _, answer in asked):
        return _later(items, asked, parts, context)
    return _joined(
        items, [(some, answer) for some, _, answer in asked if not isinstance(answer, asyncio.Future)], parts
    )


def ask_permitted(
    node: GroupsNode,
    items: Sequence[Item],
    parts: Parts[Item, B, Found],
    context: RequestContext,
    operation: int,
    refusal: Callable[[Item], Found],
) -> Answered[B]:
    """The same about the groups to which whoever asks may do this; the others are refused, in their places."""
    if node.access is None:
        return ask_each(node.groups, items, parts, context)
    allowed = [may(node, context, operation, GROUP, parts.group_of(item)) for item in items]

    def whole(found: list[Found]) -> B:
        answers = iter(found)
        return parts.whole(
            [next(answers) if fine else refusal(item) for item, fine in zip(items, allowed, strict=True)]
        )

    some = [item for item, fine in zip(items, allowed, strict=True) if fine]
    return ask_each(node.groups, some, parts._replace(whole=whole), context)


def _ask_shard(groups: GroupDriver, index: int, request: Request[B], context: RequestContext) -> B | asyncio.Future[B]:
    try:
        if index < 0:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return groups.ask_shard(groups.at(index), request, request_info(context))
    except KafkaError as error:
        return _refusal(request, context, error)


def _refusal(request: Request[B], context: RequestContext, error: KafkaError) -> B:
    from barnabas.core.groups.refusals import refusal  # loaded when the first client comes to a group

    return refusal(context.api_key, request, context.api_version, error.code, error.message)


async def _later(
    items: Sequence[Item],
    asked: list[tuple[list[Item], Request[B], B | asyncio.Future[B]]],
    parts: Parts[Item, B, Found],
    context: RequestContext,
) -> B:
    done: list[tuple[list[Item], B]] = []
    for some, request, answer in asked:
        try:
            done.append((some, await answer if isinstance(answer, asyncio.Future) else answer))
        except KafkaError as error:
            done.append((some, _refusal(request, context, error)))
    return _joined(items, done, parts)


def _joined(items: Sequence[Item], done: list[tuple[list[Item], B]], parts: Parts[Item, B, Found]) -> B:
    by_group: dict[str, Found] = {}
    for some, answer in done:
        for item, found in zip(some, parts.answers(answer), strict=True):
            by_group[parts.group_of(item)] = found
    return parts.whole([by_group[parts.group_of(item)] for item in items])
